"""Pods and the PodGroups that they name: four schedulers have such a thing, each with a mark of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.kube.safe import items, number, text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.schedulers import asked
from bayplan.linting.world import World, beside, grouped, name, named, namespace, title
from bayplan.model.manifest import Object
from bayplan.values import NamedTuple
from bayplan.words import did_you_mean


class Mark(NamedTuple):
    """How pods name their PodGroup: `path` in the template, `group` of its API, `minimum` where it says how many."""

    scheduler: str
    group: str
    path: tuple[str, ...]
    minimum: tuple[str, ...]


MARKS = (
    Mark("KAI", "scheduling.run.ai", ("metadata", "annotations", "pod-group-name"), ("minMember",)),
    Mark(
        "Volcano", "scheduling.volcano.sh", ("metadata", "annotations", "scheduling.k8s.io/group-name"), ("minMember",)
    ),
    Mark(
        "Koordinator",
        "scheduling.sigs.k8s.io",
        ("metadata", "labels", "pod-group.scheduling.sigs.k8s.io"),
        ("minMember",),
    ),
    Mark(
        "Kubernetes",
        "scheduling.k8s.io",
        ("spec", "schedulingGroup", "podGroupName"),
        ("schedulingPolicy", "gang", "minCount"),
    ),
)
"""In the order of the facts: KAI pod_info, Volcano job_info, Koordinator coscheduling, Kubernetes 1.36 core types."""


class Gang(NamedTuple):
    """The pods that name one PodGroup."""

    mark: Mark
    name: str
    namespace: str
    templates: Sequence[PodTemplate]


def gangs(world: World) -> Iterator[Gang]:
    """Pods by the PodGroup that they name; templates may say nothing of their namespace."""
    for mark in MARKS:
        marked = [each for each in world.templates if text(each.data, *mark.path)]
        for (where, called), found in grouped(
            lambda each: (namespace(each.object), text(each.data, *mark.path)),  # noqa: B023
            marked,
        ).items():
            yield Gang(mark, called, where, found)


def check(world: World) -> Iterator[Diagnostic]:
    """M706 to M708."""
    for gang in gangs(world):
        groups = world.of(gang.mark.group, "PodGroup")
        mine = world.called(gang.mark.group, "PodGroup", gang.name, gang.namespace)
        yield from _mixed(gang)
        if mine:
            yield from _too_few(gang, mine[0])
        else:
            yield from _missing(gang, groups)


def _mixed(gang: Gang) -> Iterator[Diagnostic]:
    """No scheduler starts a gang of which it sees a part."""
    first = gang.templates[0]
    for other in gang.templates[1:]:
        if asked(other) != asked(first):
            message = f'pods of PodGroup "{gang.name}" are given to "{asked(other)}", others of it to "{asked(first)}"'
            note = Note("the others are here", _scheduler(first))
            hint = "one scheduler must see the whole gang: write the same `schedulerName` everywhere"
            yield error("M706", _scheduler(other), message, hint=hint, notes=(note,))
            return


def _scheduler(template: PodTemplate) -> Route:
    return (*template.spec_route, "schedulerName") if text(template.spec, "schedulerName") else template.spec_route


def _missing(gang: Gang, groups: Sequence[Object]) -> Iterator[Diagnostic]:
    """Pods wait silently for a PodGroup that does not come."""
    route: Route = (*gang.templates[0].route, *gang.mark.path)
    elsewhere = [each for each in groups if name(each) == gang.name]
    if elsewhere:
        message = f'PodGroup "{gang.name}" is in namespace "{namespace(elsewhere[0])}", its pods in "{gang.namespace}"'
        note = Note("the PodGroup is here", named(elsewhere[0]))
        yield error("M707", route, message, hint="a PodGroup and its pods share a namespace", notes=(note,))
        return
    message = f'no PodGroup "{gang.name}" of {gang.mark.scheduler} is among the manifests'
    near = did_you_mean(gang.name, {name(each) for each in beside(groups, gang.namespace)})
    if groups:
        yield warning("M707", route, message, hint=near or "the pods wait until there is one")
    else:
        yield info("M707", route, message, hint="the pods wait until there is one; pass its file too")


def _too_few(gang: Gang, group: Object) -> Iterator[Diagnostic]:
    """A gang that is waited for in vain. Subgroups have minimums of their own, and KAI looks at no others."""
    least = number(group.data, "spec", *gang.mark.minimum)
    counts = [each.pods for each in gang.templates]
    if least is None or None in counts or items(group.data, "spec", "subGroups"):
        return
    total = sum(each for each in counts if each is not None)
    if total < least:
        key = gang.mark.minimum[-1]
        message = f"{title(group)} waits for {least} pods, and the manifests make {total}"
        note = Note("pods that name it are here", (*gang.templates[0].route, *gang.mark.path))
        route: Route = (*group.route, "spec", *gang.mark.minimum)
        yield error("M708", route, message, hint=f"the gang never starts: lower `{key}`, or add pods", notes=(note,))
