"""Workloads that others wrote, as Workflows: those that annotations or a policy ask to be placed, and no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors
from bayplan.core.phrases import lined, listing
from bayplan.core.values import NamedTuple
from bayplan.kube import workloads
from bayplan.kube.objects import get, group, kind, mapping, name, namespace, text, title
from bayplan.model.augment import TemplateSlot, WorkloadTemplates
from bayplan.model.encoding import camel_case
from bayplan.model.manifest import Object
from bayplan.model.policy import RULES, Policy
from bayplan.model.workflow import GANGS, Attachment, Gang, Group, PodSet, Workflow
from bayplan.workflows import requests
from bayplan.workflows.requests import GroupWish, RequiredValue, devices, wish

__all__ = ["Selected", "select"]


# A workload and what is asked for it, as a Workflow of one gang.

GANG: Route = (*GANGS, 0)


class Built(NamedTuple):
    """A workflow, and where each of its routes comes from."""

    workflow: Workflow
    origins: Mapping[Route, Route]


class Part(NamedTuple):
    """A group to be, and the podSets in it. `wish`: None where none asks for anything."""

    group: Group
    slots: tuple[TemplateSlot, ...]
    wish: GroupWish | None


def build(templates: WorkloadTemplates, wish: RequiredValue) -> Outcome[Built]:
    """The workflow. A946: a group of no podSet; A947: two groups of one name."""
    parts, wrong = _parts(templates, wish) if wish.groups else ((), ())
    if wrong:
        return Outcome(None, wrong)
    said = {key: each.value for key, each in wish.said.items()}
    fabric = said.pop("fabric", "")
    whole = {key: said[key] for key in ("placement", "compute_domain", "pool") if key in said}
    inside = {"groups": tuple(_filled(each, templates, fabric) for each in parts)}
    gang = Gang(
        name(templates.placed),
        workload=templates.kind,
        replicas=templates.gangs,
        rendezvous="none",
        **whole,
        **(inside if parts else {"pod_sets": _pod_sets(templates, templates.slots, fabric)}),
    )
    workflow = Workflow(
        name(templates.placed),
        namespace(templates.placed),
        scheduler=said.get("scheduler", ""),
        queue=said.get("queue", ""),
        priority_class=_priority(templates),
        gangs=(gang,),
    )
    return Outcome(Built(workflow, dict(_origins(templates, wish, parts))))


def _pod_sets(templates: WorkloadTemplates, slots: Sequence[TemplateSlot], fabric: str) -> tuple[PodSet, ...]:
    attached = _attached(templates) if fabric else ()
    return tuple(
        PodSet(s.name, s.total, fabric=Attachment(fabric) if s in attached else None, template=_template(templates, s))
        for s in slots
    )


def _attached(templates: WorkloadTemplates) -> Sequence[TemplateSlot]:
    """Launchers and parameter servers beside pods with devices need no fabric."""
    return [each for each in templates.slots if devices(templates, each)] or templates.slots


def _template(templates: WorkloadTemplates, slot: TemplateSlot) -> dict[str, Any]:
    """What of the pod template says which resources the pods ask for."""
    spec = mapping(templates.object.data, *slot.path, "spec")
    return {"spec": {key: spec[key] for key in ("containers", "initContainers") if spec.get(key)}}


def _priority(templates: WorkloadTemplates) -> str:
    """The PriorityClass that all pods have."""
    found = {text(templates.object.data, *slot.path, "spec", "priorityClassName") for slot in templates.slots}
    return found.pop() if len(found) == 1 else ""


def _filled(part: Part, templates: WorkloadTemplates, fabric: str) -> Group:
    return part.group._replace(pod_sets=_pod_sets(templates, part.slots, fabric))


def _parts(templates: WorkloadTemplates, wish: RequiredValue) -> tuple[tuple[Part, ...], tuple[Diagnostic, ...]]:
    """Each podSet goes to the first group whose patterns take it; what none takes stands in a group of its own."""
    owners = [_owner(slot, wish.groups) for slot in templates.slots]
    parts: list[Part] = []
    for index, slot in enumerate(templates.slots):
        owner = owners[index]
        if owner is None:
            parts.append(Part(Group(slot.name), (slot,), None))
        elif "size" in wish.groups[owner].said:
            parts.append(Part(_group(wish.groups[owner], slot.name, owners.count(owner)), (slot,), wish.groups[owner]))
        elif owner not in owners[:index]:
            slots = tuple(each for each, taken in zip(templates.slots, owners, strict=True) if taken == owner)
            parts.append(Part(_group(wish.groups[owner], "", 1), slots, wish.groups[owner]))
    if wish.every_group:
        parts = [each._replace(group=each.group._replace(compute_domain=wish.every_group.value)) for each in parts]
    return tuple(parts), (*_unused(templates, wish, owners), *_same(templates, parts))


def _owner(slot: TemplateSlot, groups: Sequence[GroupWish]) -> int | None:
    numbered = enumerate(groups)
    return next((n for n, each in numbered if any(fnmatchcase(slot.name, p) for p in each.pod_sets)), None)


def _group(wish: GroupWish, slot: str, shared: int) -> Group:
    """`shared`: how many podSets are cut alike; each then has groups of its own."""
    said = {key: each.value for key, each in wish.said.items()}
    called = f"{said.pop('name')}-{slot}" if shared > 1 else said.pop("name")
    return Group(called, **said)


def _unused(templates: WorkloadTemplates, wish: RequiredValue, owners: Sequence[int | None]) -> Iterator[Diagnostic]:
    names = listing([slot.name for slot in templates.slots], "and")
    for number, each in enumerate(wish.groups):
        if number not in owners:
            message = (
                f'group "{each.said["name"].value}" takes none of the podSets of {title(templates.placed)}: {names}'
            )
            hint = "a podSet belongs to the first group whose `podSets` match its name"
            yield error("A946", (*each.route, "podSets"), message, hint=hint)


def _same(templates: WorkloadTemplates, parts: Sequence[Part]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for part in sorted(parts, key=lambda each: each.wish is not None):
        if part.group.name in seen and part.wish:
            message = f'{title(templates.placed)} would have two groups "{part.group.name}"'
            hint = "podSets outside all groups are groups of their own name: choose another"
            yield error("A947", part.wish.said["name"].route, message, hint=hint)
        seen.add(part.group.name)


def _origins(templates: WorkloadTemplates, wish: RequiredValue, parts: Sequence[Part]) -> Iterator[tuple[Route, Route]]:
    """Workflow route -> where it was said, or what of the workload it is about. What was said comes first."""
    for key, each in wish.said.items():
        top = ("workflow", "spec") if key in ("scheduler", "queue") else GANG
        yield from _said((*top, camel_case(key)), each.route)
    for number, part in enumerate(parts):
        yield from _of_part((*GANG, "groups", number), templates, wish, part)
    if not parts:
        yield from _seats(GANG, templates, wish, templates.slots)
    whole = templates.placed.route
    for key in ("name", "namespace"):
        yield ("workflow", "metadata", key), (*whole, "metadata", key)
    for top in (("workflow",), ("workflow", "spec"), GANGS, GANG):
        yield top, (*whole, "metadata", "name")


def _of_part(
    group: Route, templates: WorkloadTemplates, wish: RequiredValue, part: Part
) -> Iterator[tuple[Route, Route]]:
    for key, each in (part.wish.said if part.wish else {}).items():
        yield from _said((*group, camel_case(key)), each.route)
    if wish.every_group:
        yield (*group, "computeDomain"), wish.every_group.route
    yield from _seats(group, templates, wish, part.slots)
    yield group, part.wish.route if part.wish else _place(templates, part.slots[0])


def _said(route: Route, where: Route) -> Iterator[tuple[Route, Route]]:
    """An annotation is one text: both levels of a placement stand in it."""
    yield route, where
    if where[0] != "policy" and route[-1] == "placement":
        yield (*route, "required"), where
        yield (*route, "preferred"), where


def _seats(
    owner: Route, templates: WorkloadTemplates, wish: RequiredValue, slots: Sequence[TemplateSlot]
) -> Iterator[tuple[Route, Route]]:
    for index, slot in enumerate(slots):
        route, place = (*owner, "podSets", index), _place(templates, slot)
        yield route, place
        yield (*route, "template"), place
        if "fabric" in wish.said:
            yield (*route, "fabric"), wish.said["fabric"].route
        for key in ("name", "replicas"):
            there = (*slot.path[:-1], key)
            yield (*route, key), (*templates.object.route, *there) if get(templates.object.data, *there) else place


def _place(templates: WorkloadTemplates, slot: TemplateSlot) -> Route:
    return (*templates.object.route, *slot.path)


class Selected(NamedTuple):
    """A workload that is to be placed.

    `origins`: route of the workflow -> the annotation, the rule, or the part of the workload that it comes from.
    `adopt`: what the workload says already may be replaced.
    """

    templates: WorkloadTemplates
    workflow: Workflow
    origins: Mapping[Route, Route]
    scheduler: str = ""
    queue: str = ""
    adopt: bool = False


def select(
    objects: Sequence[Object],
    policy: Policy | None = None,
    hooks: bool = False,
    namespace: str = "",
    shared: bool = False,
) -> Outcome[tuple[Selected, ...]]:
    """The workloads to place, in the order of the objects. None of them where anything is wrong with one.

    `hooks`: whether those that Helm runs as hooks may be placed; `namespace`: that of objects that name none;
    `shared`: whether the policy is for other manifests too, and may select nothing here.
    """
    found: list[Selected] = []
    said: list[Diagnostic] = []
    matched: list[tuple[Object, tuple[int, ...]]] = []
    for one in objects:
        numbers = requests.matching(one, policy, namespace) if policy else ()
        matched.append((one, numbers))
        if numbers or requests.first(one):
            made = _selected(one, objects, policy, numbers[0] if numbers else None, hooks)
            said += made.diagnostics
            found += [made.value] if made.value else []
        elif (group(one), kind(one)) in workloads.WORKLOADS:
            said += requests.misplaced(one)
    said += requests.findings(policy, matched, shared) if policy else ()
    return Outcome(None if has_errors(said) else tuple(found), tuple(map(lined, said)))


def _selected(
    one: Object, objects: Sequence[Object], policy: Policy | None, rule: int | None, hooks: bool
) -> Outcome[Selected]:
    asked, early = requests.read(one), (*requests.misplaced(one), *_hook(one, rule, hooks))
    templates = workloads.read(one, objects)
    said = (*asked.diagnostics, *early, *templates.diagnostics)
    if has_errors(said) or asked.value is None or templates.value is None or templates.value.idle:
        return Outcome(None, said)
    wanted = wish(templates.value, policy, rule, asked.value)
    built = build(templates.value, wanted.value) if wanted.value else None
    said = (*said, *wanted.diagnostics, *(built.diagnostics if built else ()))
    if wanted.value is None or built is None or built.value is None:
        return Outcome(None, said)
    workflow, origins = built.value
    adopt = wanted.value.adopt
    return Outcome(Selected(templates.value, workflow, origins, workflow.scheduler, workflow.queue, adopt), said)


def _hook(one: Object, rule: int | None, hooks: bool) -> Iterator[Diagnostic]:
    """A945."""
    if requests.hook(one) and not hooks:
        asked = requests.first(one) or (*RULES, rule or 0)
        message = f"{title(one)} is a hook of Helm, which runs it alone and waits for it"
        yield error("A945", asked, message, hint="leave it out, or place hooks too with `--include-hooks`")
