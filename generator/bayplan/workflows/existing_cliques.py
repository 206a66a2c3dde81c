"""PodCliqueSets and DynamoGraphDeployments as Workflows: a gang for each PodGang that Grove makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.core.phrases import listing
from bayplan.core.values import NamedTuple
from bayplan.kube import grove
from bayplan.kube.objects import name, namespace, title
from bayplan.model.augment import TemplateSlot, WorkloadTemplates
from bayplan.model.encoding import camel_case
from bayplan.model.workflow import GANGS, Gang, Group, Placement, PodSet, Workflow
from bayplan.workflows.existing import Selected, _owner, _place, _pod_sets, _priority, _unused_groups
from bayplan.workflows.requests import GroupRequest, PlacementRequest


class Unit(NamedTuple):
    """A scaling group, or a clique outside all of them. `request`: for it; `inside`: for its cliques, by their names.

    `extra`: the replicas that are gangs of their own.
    """

    name: str
    slots: tuple[TemplateSlot, ...]
    copies: int
    extra: int
    request: GroupRequest | None
    inside: Mapping[str, GroupRequest]


def build_cliques(templates: WorkloadTemplates, request: PlacementRequest) -> Outcome[Selected]:
    """The workflow. Its first gang has the replicas of scaling groups up to `minAvailable`; each further replica is a
    gang of its own.

    A942: a group without podSets. W518: a group that is neither a scaling group nor a clique.
    """
    units = list(_units(templates, request))
    wrong = (*_misfits(templates, request, units), *_unused(templates, request))
    if wrong:
        return Outcome(None, wrong)
    values = {key: each.value for key, each in request.fields.items()}
    fabric = values.pop("fabric", "")
    whole = {key: values[key] for key in ("placement", "compute_domain", "pool") if key in values}
    sets = {each.name: each for each in _pod_sets(templates, templates.slots, fabric)}
    flat = all(len(unit.slots) == 1 and not unit.slots[0].group and not unit.request for unit in units)
    own = name(templates.placed)
    base = Gang(
        own,
        workload=templates.kind,
        replicas=templates.gangs,
        at_once=templates.gangs,
        rendezvous="none",
        pod_sets=tuple(_pods(unit.slots[0], sets) for unit in units) if flat else (),
        groups=() if flat else tuple(_group(unit, sets, request) for unit in units),
        **whole,
    )
    gangs = [base]
    for unit in (each for each in units if each.extra):
        group = _group(unit._replace(copies=1, extra=0), sets, request)
        more = {**whole, "placement": group.placement} if group.placement != Placement() else whole
        copies = templates.gangs * unit.extra
        gangs.append(
            base._replace(
                name=f"{own}-{unit.name}",
                replicas=copies,
                at_once=copies,
                groups=group.groups,
                pod_sets=group.pod_sets,
                **more,
            )
        )
    workflow = Workflow(
        own,
        namespace(templates.placed),
        scheduler=values.get("scheduler", ""),
        queue=values.get("queue", ""),
        priority_class=_priority(templates),
        gangs=tuple(gangs),
    )
    origins = dict(_origins(templates, request, units, flat, len(gangs)))
    return Outcome(Selected(templates, workflow, origins, request.adopt))


def _units(templates: WorkloadTemplates, request: PlacementRequest) -> Iterator[Unit]:
    groups = {each.name: each for each in grove.layout(templates.object.data).groups}
    owners = {slot.name: _owner(slot, request.groups) for slot in templates.slots}
    done: set[str] = set()
    for slot in templates.slots:
        if slot.group in done:
            continue
        done.update(filter(None, (slot.group,)))
        slots = tuple(each for each in templates.slots if slot.group and each.group == slot.group) or (slot,)
        wanted = [owners[each.name] for each in slots]
        one = len(set(wanted)) == 1 and wanted[0] is not None
        inside = {} if one else {each.name: request.groups[n] for each in slots if (n := owners[each.name]) is not None}
        least = groups[slot.group].least or 0 if slot.group else 1
        copies = slot.copies if slot.group else 1
        own = request.groups[wanted[0]] if one and wanted[0] is not None else None
        yield Unit(slot.group or slot.name, slots, min(least, copies), max(0, copies - least), own, inside)


def _pods(slot: TemplateSlot, sets: Mapping[str, PodSet]) -> PodSet:
    least = slot.least if slot.least is not None and slot.least < slot.replicas else None
    return sets[slot.name]._replace(replicas=slot.replicas, min_replicas=least)


def _group(unit: Unit, sets: Mapping[str, PodSet], request: PlacementRequest) -> Group:
    each = {"compute_domain": request.every_group.value} if request.every_group else {}
    pods = tuple(_pods(slot, sets) for slot in unit.slots)
    if unit.inside:
        groups = tuple(
            Group(own.name, pod_sets=(own,), **_values(unit.inside.get(own.name)))  # a gang has groups or podSets
            for own in pods
        )
        return Group(unit.name, unit.copies, groups=groups, **each)
    return Group(unit.name, unit.copies, pod_sets=pods, **{**each, **_values(unit.request)})


def _values(request: GroupRequest | None) -> dict[str, Any]:
    fields = request.fields if request else {}
    return {key: each.value for key, each in fields.items() if key != "name"}


def _misfits(templates: WorkloadTemplates, request: PlacementRequest, units: Sequence[Unit]) -> Iterator[Diagnostic]:
    """W518."""
    for number, group in enumerate(request.groups):
        mine = [slot for slot in templates.slots if _owner(slot, request.groups) == number]
        whole = any(list(unit.slots) == mine for unit in units)
        if mine and "size" in group.fields:
            message = f"Grove has no parts of a clique, but the group of {title(templates.placed)} has a `size`"
            hint = "remove `size`, and set `replicas` of the clique and of its scaling group"
            yield error("W518", group.fields["size"].route, message, hint=hint)
        elif mine and len(mine) > 1 and not whole:
            names = listing([slot.name for slot in mine], "and")
            message = f"{names} of {title(templates.placed)} are neither one clique nor a whole scaling group"
            hint = "correct `podSets`: name all cliques of one scaling group, or one clique"
            yield error("W518", (*group.route, "podSets"), message, hint=hint)


def _unused(templates: WorkloadTemplates, request: PlacementRequest) -> Iterator[Diagnostic]:
    return _unused_groups(templates, request, [_owner(slot, request.groups) for slot in templates.slots])


def _origins(
    templates: WorkloadTemplates, request: PlacementRequest, units: Sequence[Unit], flat: bool, gangs: int
) -> Iterator[tuple[Route, Route]]:
    """Workflow route -> the place of its request, or the part of the workload."""
    placed = templates.placed.route
    for number in range(gangs):
        gang: Route = (*GANGS, number)
        for key, each in request.fields.items():
            top = ("workflow", "spec") if key in ("scheduler", "queue") else gang
            yield (*top, camel_case(key)), each.route
            yield from (((*gang, "placement", word), each.route) for word in Placement._fields if key == "placement")
        scaled = [each for each in units if each.extra]
        parts = units if number == 0 else (scaled[number - 1],)
        for index, unit in enumerate(parts):
            at = gang if flat or number else (*gang, "groups", index)
            for key, each in (unit.request.fields if unit.request else {}).items():
                yield (*at, camel_case(key)), each.route
                yield from (((*at, "placement", word), each.route) for word in Placement._fields if key == "placement")
            for position, slot in enumerate(unit.slots):
                place = _place(templates, slot)
                route: Route = (*at, "groups", position, "podSets", 0) if unit.inside else (*at, "podSets", position)
                if flat and not number:
                    route = (*gang, "podSets", index)
                yield from ((here, place) for here in (route, (*route, "template"), (*route, "name")))
                yield (*route, "replicas"), (*place, "podClique", "replicas")
            yield at, placed if number or flat else _place(templates, unit.slots[0])
        yield gang, (*placed, "metadata", "name")
    for key in ("name", "namespace"):
        yield ("workflow", "metadata", key), (*placed, "metadata", key)
    for top in (("workflow",), ("workflow", "spec"), GANGS):
        yield top, (*placed, "metadata", "name")
