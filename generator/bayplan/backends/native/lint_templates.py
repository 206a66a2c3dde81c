"""M781 and M784: templates that groups name, and what a Workload may hold (validation.go, 1.35 to 1.37)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.native.found import COMPOSITE, WORKLOAD, Group, Template, templates
from bayplan.backends.native.scene import DEEPEST, Scene
from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.kube.objects import get, items, mapping, text

MOST = 8
LISTS = ("podGroups", "podGroupTemplates", "compositePodGroupTemplates")
REPEATED = ("schedulingPolicy", "schedulingConstraints", "disruptionMode", "priorityClassName", "resourceClaims")
"""What a group must say again, because the scheduler never reads the template."""


def rules(scene: Scene) -> Iterator[Diagnostic]:
    """Each Workload, and each group with the template that it names."""
    for group in scene.groups:
        if group.kind == WORKLOAD:
            yield from _limits(group)
        else:
            yield from _reference(scene, group)


def _limits(workload: Group) -> Iterator[Diagnostic]:
    found = list(templates(workload))
    yield from _lists(workload.spec, workload.route)
    for each in found:
        yield from _lists(each.spec, each.route)
        yield from _inside(each)
    deep = next((each for each in found if each.depth > DEEPEST), None)
    if deep:
        message = f"{workload.title} nests templates {max(each.depth for each in found)} deep; {DEEPEST} is the most"
        yield error("M784", deep.route, message, hint="leave out a level")
    yield from _names(found)
    yield from _priorities(workload, found)


def _lists(spec: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    for word in LISTS:
        if (count := len(items(spec, word))) > MOST:
            message = f"{count} entries in one list of templates; {MOST} is the most"
            hint = "many groups may be made from one template; only different ones need their own"
            yield error("M784", (*route, word, MOST), message, hint=hint)


def _inside(template: Template) -> Iterator[Diagnostic]:
    """A composite has children; where it is disrupted as a whole, so are they (KEP-6012)."""
    children = [*items(template.spec, "podGroupTemplates"), *items(template.spec, "compositePodGroupTemplates")]
    if template.composite and not children:
        message = f'the composite template "{template.name}" has no templates inside'
        yield error("M784", template.route, message, hint="give it podGroupTemplates, or make it one of them")
    if get(template.spec, "disruptionMode", "all") is None:
        return
    for child in children:
        if get(child, "disruptionMode", "all") is None:
            name = text(child, "name")
            message = f'the template "{template.name}" is disrupted as a whole, but "{name}" inside it is not'
            hint = "write `all: {}` in both, or in none"
            yield warning("M784", (*template.route, "disruptionMode"), message, hint=hint)


def _names(found: Sequence[Template]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for each in found:
        if each.name in seen:
            message = f'two templates of one Workload are called "{each.name}"'
            yield error("M784", (*each.route, "name"), message, hint="names are unique in the whole tree of templates")
        seen.add(each.name)


def _priorities(workload: Group, found: Sequence[Template]) -> Iterator[Diagnostic]:
    classes = {text(each.spec, "priorityClassName") for each in found}
    if len(classes) > 1:
        named = ", ".join(f'"{each}"' if each else "none" for each in sorted(classes))
        message = f"templates of {workload.title} differ in their priority class: {named}"
        yield error("M784", workload.route, message, hint="all templates of a Workload have one priority")


def _reference(scene: Scene, group: Group) -> Iterator[Diagnostic]:
    """kube-apiserver refuses a group whose template is missing (admission plugin PodGroupWorkloadExists)."""
    path, name, wanted = group.template
    workload, template = scene.made_from(group)
    if not name:
        if group.parent or group.kind == COMPOSITE:
            hint = "write workloadRef with workloadName and templateName"
            yield error("M781", group.route, f"{group.title} is part of a tree and names no template", hint=hint)
    elif workload is None:
        message = f'{group.title} is made from the Workload "{name}", which is not there'
        yield error("M781", (*group.route, *path, "workloadName"), message, hint="name a Workload of its namespace")
    elif template is None:
        last = "templateName" if path == ("workloadRef",) else "podGroupTemplateName"
        kind = "composite template" if group.kind == COMPOSITE else "pod group template"
        known = ", ".join(
            f'"{each.name}"' for each in templates(workload) if each.composite == (group.kind == COMPOSITE)
        )
        message = f'{workload.title} has no {kind} "{wanted}", which {group.title} is made from'
        hint = f"name one of {known}" if known else "give the Workload such a template"
        yield error("M781", (*group.route, *path, last), message, hint=hint)
    else:
        yield from _differences(group, template)


def _differences(group: Group, template: Template) -> Iterator[Diagnostic]:
    for word in REPEATED:
        own, meant = get(group.spec, word), get(template.spec, word)
        if meant is not None and own != meant and not _count_alone(word, own, meant):
            message = f'{group.title} does not say what its template "{template.name}" says in {word}'
            hint = "the scheduler reads the group alone: repeat it there"
            yield warning("M781", (*group.route, *((word,) if own is not None else ())), message, hint=hint)


def _count_alone(word: str, own: Any, meant: Any) -> bool:
    """minCount may be changed later, so a difference there is meant."""
    return word == "schedulingPolicy" and bool(mapping(own, "gang")) and bool(mapping(meant, "gang"))
