"""Existing workloads as Workflows: only the workloads whose annotations or policy request a placement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors
from bayplan.core.phrases import listing, single_line
from bayplan.core.values import NamedTuple
from bayplan.kube import workloads
from bayplan.kube.objects import get, group, kind, mapping, name, namespace, text, title
from bayplan.model.augment import TemplateSlot, WorkloadTemplates
from bayplan.model.encoding import camel_case
from bayplan.model.existing import OF_GROVE
from bayplan.model.manifest import Object
from bayplan.model.policy import RULES, Policy
from bayplan.model.workflow import GANGS, Attachment, Gang, Group, PodSet, Workflow
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
    `adopt`: the placement may replace existing fields of the workload.
    """

    templates: WorkloadTemplates
    workflow: Workflow
    origins: Mapping[Route, Route]
    adopt: bool = False


class GroupPart(NamedTuple):
    """A group and its podSets. `request`: None without a request."""

    group: Group
    slots: tuple[TemplateSlot, ...]
    request: GroupRequest | None


def build(templates: WorkloadTemplates, request: PlacementRequest) -> Outcome[Selected]:
    """The workflow. A942: a group without podSets, or two groups with the same name."""
    if templates.kind in OF_GROVE:
        from bayplan.workflows.existing_cliques import build_cliques  # few manifests have its kinds

        return build_cliques(templates, request)
    parts, wrong = _parts(templates, request) if request.groups else ((), ())
    if wrong:
        return Outcome(None, wrong)
    values = {key: each.value for key, each in request.fields.items()}
    fabric = values.pop("fabric", "")
    whole = {key: values[key] for key in ("placement", "compute_domain", "pool") if key in values}
    inside = {"groups": tuple(each.group._replace(pod_sets=_pod_sets(templates, each.slots, fabric)) for each in parts)}
    gang = Gang(
        name(templates.placed),
        workload=templates.kind,
        replicas=templates.gangs,
        at_once=templates.gangs,
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
            yield error("A942", (*each.route, "podSets"), message, hint=hint)


def _duplicate_groups(templates: WorkloadTemplates, parts: Sequence[GroupPart]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for part in sorted(parts, key=lambda each: each.request is not None):
        if part.group.name in seen and part.request:
            message = f'{title(templates.placed)} would have two groups with the name "{part.group.name}"'
            hint = "rename the group; a podSet outside all groups is a group with the podSet's name"
            yield error("A942", part.request.fields["name"].route, message, hint=hint)
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
    for one in objects:
        rules = requests.matching(one, policy, namespace) if policy else ()
        matches.append((one, rules))
        if rules or requests.first_annotation(one):
            outcome = _selected(one, objects, policy, rules[0] if rules else None, hooks)
            reported += outcome.diagnostics
            selected += [outcome.value] if outcome.value else []
        elif (group(one), kind(one)) in workloads.WORKLOADS:
            reported += requests.misplaced(one)
    reported += requests.findings(policy, matches, shared) if policy else ()
    return Outcome(None if has_errors(reported) else tuple(selected), tuple(map(single_line, reported)))


def _selected(
    one: Object, objects: Sequence[Object], policy: Policy | None, rule: int | None, hooks: bool
) -> Outcome[Selected]:
    annotations, early = requests.read(one), (*requests.misplaced(one), *_hook(one, rule, hooks))
    templates = workloads.read(one, objects)
    reported = (*annotations.diagnostics, *early, *templates.diagnostics)
    if has_errors(reported) or annotations.value is None or templates.value is None or templates.value.idle:
        return Outcome(None, reported)
    left = without_left_out(templates.value, policy, rule, annotations.value)
    if left.value is None:
        return Outcome(None, (*reported, *left.diagnostics))
    request = placement_request(left.value, policy, rule, annotations.value)
    built = build(left.value, request.value) if request.value else Outcome[Selected](None)
    return Outcome(built.value, (*reported, *request.diagnostics, *built.diagnostics))


def _hook(one: Object, rule: int | None, hooks: bool) -> Iterator[Diagnostic]:
    """A945."""
    if "helm.sh/hook" in mapping(one.data, "metadata", "annotations") and not hooks:
        annotation = requests.first_annotation(one)
        message = f"{title(one)} is a Helm hook: the release waits for it, so it must not wait for a gang"
        hint = (
            "remove its bayplan.dev annotations"
            if annotation
            else "change the rule's `match` so that it excludes hooks"
        )
        hint += ", or add `--include-hooks` to place hooks too"
        yield error("A945", annotation or (*RULES, rule or 0), message, hint=hint)
