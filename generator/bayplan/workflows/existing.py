"""Existing workloads as Workflows: only the workloads whose annotations or policy request a placement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors
from bayplan.core.phrases import listing, single_line
from bayplan.kube import grove, workloads
from bayplan.kube.kinds import SINGLE
from bayplan.kube.life_cycle import waiting_tool
from bayplan.kube.objects import get, group, kind, mapping, name, namespace, text, title
from bayplan.kube.workloads.parts import related
from bayplan.kube.workloads.training import GROUPED
from bayplan.model.augment import TemplateSlot, WorkloadTemplates
from bayplan.model.encoding import camel_case
from bayplan.model.manifest import Object
from bayplan.model.policy import RULES, Policy
from bayplan.model.workflow import GANGS, OF_GROVE, Attachment, Gang, Group, Placement, PodSet, Workflow
from bayplan.workflows import requests
from bayplan.workflows.requests import (
    GroupRequest,
    PlacementRequest,
    devices,
    placement_request,
    without_left_out,
)

GANG: Route = (*GANGS, 0)


class Selected(NamedTuple):
    """A workload to place, as a Workflow with one gang.

    `origins`: route of the workflow -> the annotation, the rule, or the part of the workload that it comes from.
    `adopt`: the placement may replace existing fields of the workload. `rule`: the index of its policy rule.
    """

    templates: WorkloadTemplates
    workflow: Workflow
    origins: Mapping[Route, Route]
    adopt: bool = False
    rule: int | None = None


class GroupPart(NamedTuple):
    """A group and its podSets. `request`: None without a request."""

    group: Group
    slots: tuple[TemplateSlot, ...]
    request: GroupRequest | None


def build(templates: WorkloadTemplates, request: PlacementRequest) -> Outcome[Selected]:
    """The workflow. A940: a group without podSets, or two groups with the same name."""
    if templates.kind in OF_GROVE:
        return _build_cliques(templates, request)
    if (asked := request.fields.get("replicas")) and asked.value == "apart":
        if templates.kind != SINGLE or request.groups:
            message = (
                f"only the pods of a Deployment without groups can be apart, and not those of {title(templates.placed)}"
            )
            return Outcome(None, (error("A940", asked.route, message, hint="remove `replicas`"),))
        slot = templates.slots[0]
        templates = templates._replace(slots=(slot._replace(replicas=1, late=None),), gangs=slot.total)
    parts, wrong = _parts(templates, request) if request.groups else ((), ())
    if wrong:
        return Outcome(None, wrong)
    values = {key: each.value for key, each in request.fields.items()}
    fabric, apart = values.pop("fabric", ""), values.pop("replicas", "") == "apart"
    whole = {key: values[key] for key in ("placement", "compute_domain", "pool") if key in values}
    inside = {"groups": tuple(each.group._replace(pod_sets=_pod_sets(templates, each.slots, fabric)) for each in parts)}
    gang = Gang(
        name(templates.placed),
        workload=templates.kind,
        replicas=templates.gangs,
        at_once=templates.gangs,
        lifecycle="service" if apart else "job",
        rendezvous="none",
        **whole,
        **(inside if parts else {"pod_sets": _pod_sets(templates, templates.slots, fabric)}),
    )
    workflow = Workflow(
        name(templates.placed),
        namespace(templates.placed),
        scheduler=values.get("scheduler", ""),
        queue=values.get("queue", ""),
        priority_class=_priority(templates),
        gangs=(gang,),
    )
    return Outcome(Selected(templates, workflow, dict(_origins(templates, request, parts)), request.adopt))


def _pod_sets(templates: WorkloadTemplates, slots: Sequence[TemplateSlot], fabric: str) -> tuple[PodSet, ...]:
    """The podSets of template slots. Their templates have the containers, which request the resources."""
    attached: Sequence[TemplateSlot] = ()
    if fabric:  # launchers and parameter servers without devices need none
        attached = [each for each in templates.slots if devices(templates, each)] or templates.slots
    pod_sets = []
    for slot in slots:
        spec = mapping(templates.object.data, *slot.path, "spec")
        template = {"spec": {key: spec[key] for key in ("containers", "initContainers") if spec.get(key)}}
        attachment = Attachment(fabric) if slot in attached else None
        pod_sets.append(PodSet(slot.name, slot.total, fabric=attachment, template=template))
    return tuple(pod_sets)


def _priority(templates: WorkloadTemplates) -> str:
    """The PriorityClass that all pods have."""
    names = {text(templates.object.data, *slot.path, "spec", "priorityClassName") for slot in templates.slots}
    return names.pop() if len(names) == 1 else ""


def _parts(
    templates: WorkloadTemplates, request: PlacementRequest
) -> tuple[tuple[GroupPart, ...], tuple[Diagnostic, ...]]:
    """Each podSet belongs to the first group whose patterns match it. A podSet without a match is a separate group."""
    owners = [_owner(slot, request.groups) for slot in templates.slots]
    parts: list[GroupPart] = []
    for index, (slot, owner) in enumerate(zip(templates.slots, owners, strict=True)):
        group = None if owner is None else request.groups[owner]
        if group is None:
            parts.append(GroupPart(Group(slot.name), (slot,), None))
        elif "size" in group.fields:
            parts.append(GroupPart(_group(group, slot.name, owners.count(owner)), (slot,), group))
        elif owner not in owners[:index]:
            slots = tuple(each for each, other in zip(templates.slots, owners, strict=True) if other == owner)
            parts.append(GroupPart(_group(group, "", 1), slots, group))
    if request.every_group:
        parts = [each._replace(group=each.group._replace(compute_domain=request.every_group.value)) for each in parts]
    return tuple(parts), (*_unused_groups(templates, request, owners), *_duplicate_groups(templates, parts))


def _owner(slot: TemplateSlot, groups: Sequence[GroupRequest]) -> int | None:
    numbered = enumerate(groups)
    return next((n for n, each in numbered if any(fnmatchcase(slot.name, p) for p in each.pod_sets)), None)


def _group(request: GroupRequest, slot: str, sharing: int) -> Group:
    """`sharing`: the number of podSets that the request splits; each one then has separate groups."""
    values = {key: each.value for key, each in request.fields.items()}
    name = values.pop("name")
    return Group(f"{name}-{slot}" if sharing > 1 else name, **values)


def _unused_groups(
    templates: WorkloadTemplates, request: PlacementRequest, owners: Sequence[int | None]
) -> Iterator[Diagnostic]:
    names = listing([slot.name for slot in templates.slots], "and")
    for number, each in enumerate(request.groups):
        if number not in owners:
            own = each.fields["name"].value
            message = f'no podSet of {title(templates.placed)} belongs to group "{own}"; its podSets are {names}'
            hint = "correct `podSets`: a podSet belongs to the first group that matches its name"
            yield error("A940", (*each.route, "podSets"), message, hint=hint)


def _duplicate_groups(templates: WorkloadTemplates, parts: Sequence[GroupPart]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for part in sorted(parts, key=lambda each: each.request is not None):
        if part.group.name in seen and part.request:
            message = f'{title(templates.placed)} would have two groups with the name "{part.group.name}"'
            hint = "rename the group; a podSet outside all groups is a group with the podSet's name"
            yield error("A940", part.request.fields["name"].route, message, hint=hint)
        seen.add(part.group.name)


def _origins(
    templates: WorkloadTemplates, request: PlacementRequest, parts: Sequence[GroupPart]
) -> Iterator[tuple[Route, Route]]:
    """Workflow route -> the place of its request, or the part of the workload. Requests come first."""
    for key, each in request.fields.items():
        top = ("workflow", "spec") if key in ("scheduler", "queue") else GANG
        yield from _requested((*top, camel_case(key)), each.route)
    for number, part in enumerate(parts):
        yield from _group_origins((*GANG, "groups", number), templates, request, part)
    if not parts:
        yield from _pod_set_origins(GANG, templates, request, templates.slots)
    whole = templates.placed.route
    for key in ("name", "namespace"):
        yield ("workflow", "metadata", key), (*whole, "metadata", key)
    for top in (("workflow",), ("workflow", "spec"), GANGS, GANG):
        yield top, (*whole, "metadata", "name")


def _group_origins(
    group: Route, templates: WorkloadTemplates, request: PlacementRequest, part: GroupPart
) -> Iterator[tuple[Route, Route]]:
    for key, each in (part.request.fields if part.request else {}).items():
        yield from _requested((*group, camel_case(key)), each.route)
    if request.every_group:
        yield (*group, "computeDomain"), request.every_group.route
    yield from _pod_set_origins(group, templates, request, part.slots)
    yield group, part.request.route if part.request else _place(templates, part.slots[0])


def _requested(route: Route, where: Route) -> Iterator[tuple[Route, Route]]:
    """An annotation is one string, which has both levels of a placement."""
    yield route, where
    if where[0] != "policy" and route[-1] == "placement":
        yield (*route, "required"), where
        yield (*route, "preferred"), where


def _pod_set_origins(
    owner: Route, templates: WorkloadTemplates, request: PlacementRequest, slots: Sequence[TemplateSlot]
) -> Iterator[tuple[Route, Route]]:
    for index, slot in enumerate(slots):
        route, place = (*owner, "podSets", index), _place(templates, slot)
        yield route, place
        yield (*route, "template"), place
        if "fabric" in request.fields:
            yield (*route, "fabric"), request.fields["fabric"].route
        for key in ("name", "replicas"):
            there = (*slot.path[:-1], key)
            yield (*route, key), (*templates.object.route, *there) if get(templates.object.data, *there) else place


def _place(templates: WorkloadTemplates, slot: TemplateSlot) -> Route:
    return (*templates.object.route, *slot.path)


def select(
    objects: Sequence[Object],
    policy: Policy | None = None,
    hooks: bool = False,
    namespace: str = "",
    shared: bool = False,
) -> Outcome[tuple[Selected, ...]]:
    """The workloads to place, in the order of the objects. None if one of them has an error.

    `hooks`: whether to place Helm hooks; `namespace`: the namespace of objects without one; `shared`: whether the
    policy is also for other manifests, and may match nothing here.
    """
    selected: list[Selected] = []
    reported: list[Diagnostic] = []
    matches: list[tuple[Object, tuple[int, ...]]] = []
    index, beside = requests.indexed(policy or Policy()), related(objects)
    for one in objects:
        rules = requests.matching(one, index, namespace)
        matches.append((one, rules))
        if rules or requests.first_annotation(one):
            outcome = _selected(one, beside, policy, rules[0] if rules else None, hooks)
            reported += outcome.diagnostics
            selected += [outcome.value] if outcome.value else []
        elif (group(one), kind(one)) in workloads.WORKLOADS:
            reported += requests.misplaced(one)
    reported += (
        (*requests.findings(policy, matches, shared), *requests.passed_over(index, objects, namespace))
        if policy
        else ()
    )
    return Outcome(None if has_errors(reported) else tuple(selected), tuple(map(single_line, reported)))


def _selected(
    one: Object, beside: Sequence[Object], policy: Policy | None, rule: int | None, hooks: bool
) -> Outcome[Selected]:
    annotations, early = requests.read(one), (*requests.misplaced(one), *_hook(one, rule, hooks))
    templates = workloads.read(one, beside)
    made = _made(templates.value) if templates.value else ()
    reported = (*annotations.diagnostics, *early, *templates.diagnostics, *made)
    if has_errors(reported) or annotations.value is None or templates.value is None or templates.value.idle:
        return Outcome(None, reported)
    left = without_left_out(templates.value, policy, rule, annotations.value)
    if left.value is None:
        return Outcome(None, (*reported, *left.diagnostics))
    request = placement_request(left.value, policy, rule, annotations.value)
    built = build(left.value, request.value) if request.value else Outcome[Selected](None)
    selected = built.value._replace(rule=rule) if built.value else None
    return Outcome(selected, (*reported, *request.diagnostics, *built.diagnostics))


def _made(templates: WorkloadTemplates) -> Iterator[Diagnostic]:
    """A950: a second PodGroup."""
    if templates.made:
        message = f"{title(templates.object)} creates its own PodGroup for {title(templates.placed)}, "
        message += "and a pod belongs to only one gang"
        hint = "remove `podGroupPolicy`, or remove the placement"
        yield error("A950", (*templates.object.route, *GROUPED), message, hint=hint)


def _hook(one: Object, rule: int | None, hooks: bool) -> Iterator[Diagnostic]:
    """A945."""
    tool = "" if hooks else waiting_tool(mapping(one.data, "metadata", "annotations"))
    if tool:
        annotation = requests.first_annotation(one)
        message = f"{title(one)} is a hook: {tool} waits for it, so it must not wait for a gang"
        hint = (
            "remove its bayplan.dev annotations"
            if annotation
            else "change the rule's `match` so that it excludes hooks"
        )
        hint += ", or add `--include-hooks` to place hooks too"
        yield error("A945", annotation or (*RULES, rule or 0), message, hint=hint)


# PodCliqueSets and DynamoGraphDeployments: a gang for each PodGang that Grove makes.


class CliqueUnit(NamedTuple):
    """A scaling group, or a clique outside all of them. `request`: for it; `inside`: for its cliques, by their names.

    `extra`: the replicas that are gangs of their own.
    """

    name: str
    slots: tuple[TemplateSlot, ...]
    copies: int
    extra: int
    request: GroupRequest | None
    inside: Mapping[str, GroupRequest]


def _build_cliques(templates: WorkloadTemplates, request: PlacementRequest) -> Outcome[Selected]:
    """The workflow. Its first gang has the replicas of scaling groups up to `minAvailable`; each further replica is a
    gang of its own.

    A940: a group without podSets. W518: a group that is neither a scaling group nor a clique.
    """
    units = list(_clique_units(templates, request))
    wrong = (*_misfits(templates, request, units), *_unused_cliques(templates, request))
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
        pod_sets=tuple(_clique_pods(unit.slots[0], sets) for unit in units) if flat else (),
        groups=() if flat else tuple(_clique_group(unit, sets, request) for unit in units),
        **whole,
    )
    gangs = [base]
    for unit in (each for each in units if each.extra):
        group = _clique_group(unit._replace(copies=1, extra=0), sets, request)
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
    origins = dict(_clique_origins(templates, request, units, flat, len(gangs)))
    return Outcome(Selected(templates, workflow, origins, request.adopt))


def _clique_units(templates: WorkloadTemplates, request: PlacementRequest) -> Iterator[CliqueUnit]:
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
        yield CliqueUnit(slot.group or slot.name, slots, min(least, copies), max(0, copies - least), own, inside)


def _clique_pods(slot: TemplateSlot, sets: Mapping[str, PodSet]) -> PodSet:
    least = slot.least if slot.least is not None and slot.least < slot.replicas else None
    return sets[slot.name]._replace(replicas=slot.replicas, min_replicas=least)


def _clique_group(unit: CliqueUnit, sets: Mapping[str, PodSet], request: PlacementRequest) -> Group:
    each = {"compute_domain": request.every_group.value} if request.every_group else {}
    pods = tuple(_clique_pods(slot, sets) for slot in unit.slots)
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


def _misfits(
    templates: WorkloadTemplates, request: PlacementRequest, units: Sequence[CliqueUnit]
) -> Iterator[Diagnostic]:
    """W518."""
    for number, wanted in enumerate(request.groups):
        mine = [slot for slot in templates.slots if _owner(slot, request.groups) == number]
        whole = any(list(unit.slots) == mine for unit in units)
        if mine and "size" in wanted.fields:
            message = f"Grove has no parts of a clique, but the group of {title(templates.placed)} has a `size`"
            hint = "remove `size`, and set `replicas` of the clique and of its scaling group"
            yield error("W518", wanted.fields["size"].route, message, hint=hint)
        elif mine and len(mine) > 1 and not whole:
            names = listing([slot.name for slot in mine], "and")
            message = f"{names} of {title(templates.placed)} are neither one clique nor a whole scaling group"
            hint = "correct `podSets`: name all cliques of one scaling group, or one clique"
            yield error("W518", (*wanted.route, "podSets"), message, hint=hint)


def _unused_cliques(templates: WorkloadTemplates, request: PlacementRequest) -> Iterator[Diagnostic]:
    return _unused_groups(templates, request, [_owner(slot, request.groups) for slot in templates.slots])


def _clique_origins(
    templates: WorkloadTemplates, request: PlacementRequest, units: Sequence[CliqueUnit], flat: bool, gangs: int
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
