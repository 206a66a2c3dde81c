"""Put marks on an existing workload: it keeps all of its fields, and contradictions to a mark are reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import eq
from typing import Any, NamedTuple

from bayplan.kube import cards
from bayplan.kube.kinds import GANG_LABEL
from bayplan.kube.networks import same
from bayplan.kube.objects import get, items, mapping, put, text
from bayplan.kube.owners import FIELDS, Mark
from bayplan.kube.pod import EXCLUSIVE, HOST_DNS, NETWORKS, joined_affinity
from bayplan.kube.pod_fields import covers
from bayplan.manifests.assemble import CHANNEL
from bayplan.model.augment import Path, TemplateSlot, WorkloadTemplates
from bayplan.model.manifest import Absent, Manifest, Marks, Meta, Object, PodParts
from bayplan.model.topology import ClusterTopology


class RequiredValue(NamedTuple):
    """A value that a path must have. `join`: how it merges with an existing value; None: both must be the same, by
    `alike`."""

    path: Path
    value: Any
    join: Callable[[Any, Any], Any] | None = None
    alike: Callable[[Any, Any], bool] = eq


class Conflict(NamedTuple):
    """An existing value that contradicts a required one. `wanted`: None if the field must be absent."""

    path: Path
    found: Any
    wanted: Any


class SlotMarks(NamedTuple):
    """The marks of one pod template. `channel`: the claim template of its ComputeDomain; `gang`: its label; `fabric`:
    its parts for a secondary network, without variables."""

    slot: TemplateSlot
    marks: Marks
    pool: PodParts
    channel: str = ""
    gang: str = ""
    fabric: PodParts = PodParts()


class Injected(NamedTuple):
    """An object, its data with all marks, the contradictions, and those that `adopt` has replaced."""

    object: Object
    data: Manifest
    conflicts: tuple[Conflict, ...]
    replaced: tuple[Conflict, ...] = ()


def inject(
    templates: WorkloadTemplates,
    slot_marks: Sequence[SlotMarks],
    topology: ClusterTopology,
    adopt: bool,
    removed: Sequence[Mark] = (),
) -> tuple[Injected, ...]:
    """The workload with all marks, and the other object if that has its pod templates. With `adopt`, marks replace
    values that contradict them, and the marks of other schedulers are `removed` first."""
    own = [requirement for each in slot_marks for requirement in _owner(each)]
    inside = [requirement for each in slot_marks for requirement in _template(templates.object.data, each, topology)]
    if templates.placed is templates.object:
        return (_injected(templates.object, (*own, *inside), adopt, removed),)
    return (
        _injected(templates.placed, own, adopt, removed),
        _injected(templates.object, inside, adopt, removed),
    )


def _cleared(one: Object, removed: Iterable[Mark]) -> Any:
    """The object without the marks of other schedulers, and without labels and annotations that are empty then."""
    data: Any = one.data
    for mark in removed:
        if mark.object.route == one.route and get(data, *mark.path) is not None:
            data = _cut(data, mark.path)
    return data


def _cut(data: Any, path: Path) -> Any:
    """The data without a value, and without labels or annotations that are empty then."""
    data = _without(data, path)
    emptied = path[-2:-1] and path[-2] in FIELDS and not get(data, *path[:-1])
    return _without(data, path[:-1]) if emptied else data


def _injected(
    one: Object, requirements: Iterable[RequiredValue], adopt: bool, removed: Iterable[Mark] = ()
) -> Injected:
    data = _cleared(one, removed)
    conflicts: list[Conflict] = []
    replaced: list[Conflict] = []
    for requirement in requirements:
        current, blocked = _current(data, requirement)
        if blocked:
            conflicts.append(blocked)
        elif isinstance(requirement.value, Absent):
            if current is not None and current not in requirement.value.but:
                (replaced if adopt else conflicts).append(Conflict(requirement.path, current, None))
                data = _cut(data, requirement.path) if adopt else data
        elif current is not None and not requirement.join and requirement.alike(current, requirement.value):
            continue
        elif current is None or requirement.join or adopt:
            value = (
                requirement.join(current, requirement.value)
                if requirement.join and current is not None
                else requirement.value
            )
            if current is not None and not requirement.join:
                replaced.append(Conflict(requirement.path, current, value))
            data = data if value == current else put(data, requirement.path, value)
        else:
            conflicts.append(Conflict(requirement.path, current, requirement.value))
    return Injected(one, data, tuple(conflicts), tuple(replaced))


API_DEFAULTS: Mapping[str | int, str] = {"schedulerName": "default-scheduler"}
"""Fields with the value that the API server gives them if they are missing (PodSpec, Kubernetes 1.37)."""


def _current(data: Any, requirement: RequiredValue) -> tuple[Any, Conflict | None]:
    """The existing value at the place, and a value of another type that blocks it and would be lost."""
    for length, key in enumerate(requirement.path):
        if data is None:
            return None, None
        if not isinstance(data, list if isinstance(key, int) else dict):
            free = isinstance(requirement.value, Absent)
            return None, None if free else Conflict(requirement.path[:length], data, {key: requirement.value})
        data = get(data, key)
    if not isinstance(requirement.value, Absent) and API_DEFAULTS.get(requirement.path[-1]) == data:
        return None, None
    lost = data is not None and not isinstance(requirement.value, Absent) and not _same_type(data, requirement.value)
    return data, Conflict(requirement.path, data, requirement.value) if lost else None


def _same_type(current: Any, wanted: Any) -> bool:
    """Whether both are mappings with alike values of their common keys, or both lists, or both plain values."""
    if isinstance(wanted, Mapping):
        pairs = ((current.get(key), value) for key, value in wanted.items()) if isinstance(current, dict) else ()
        return isinstance(current, dict) and all(own is None or _same_type(own, value) for own, value in pairs)
    if isinstance(wanted, list | tuple):
        return isinstance(current, list)
    return not isinstance(current, dict | list)


def _owner(each: SlotMarks) -> Iterator[RequiredValue]:
    yield from _meta((), each.marks.owner)
    yield from _no_exclusive_placement(())
    yield from _fields(("spec",), each.marks.owner.spec)


def _template(data: Any, each: SlotMarks, topology: ClusterTopology) -> Iterator[RequiredValue]:
    if each.slot.job is not None:
        yield from _meta(each.slot.job, each.marks.job)
        yield from _no_exclusive_placement(each.slot.job)
        yield from _fields(each.slot.job, each.marks.job.spec)
    parts, at = each.marks.pod, each.slot.path
    gang = {GANG_LABEL: each.gang} if each.gang else {}
    yield from _meta(at, Meta({**gang, **parts.labels}, parts.annotations))
    yield from _fields((*at, "spec"), {key: value for key, value in parts.spec.items() if key != "affinity"})
    yield from _fields((*at, "spec", "nodeSelector"), each.pool.node_selector)
    if "affinity" in parts.spec:
        yield RequiredValue((*at, "spec", "affinity"), parts.spec["affinity"], _affinity)
    if tolerations := [dict(one) for one in (*each.pool.tolerations, *parts.tolerations)]:
        yield RequiredValue((*at, "spec", "tolerations"), tolerations, _tolerations)
    yield from _network_requirements(data, each, topology)
    # a limit contradicts a resource that must not have one
    containers = (*at, "spec", "containers")
    for number, container in enumerate(items(data, *containers)):
        for name in sorted(parts.unlimited.intersection(mapping(container, "resources", "limits"))):
            yield RequiredValue((*containers, number, "resources", "limits", name), Absent())
    if each.channel:
        yield from _claims(data, each, topology)


def _no_exclusive_placement(at: Path) -> Iterator[RequiredValue]:
    return _fields((*at, "metadata", "annotations"), dict.fromkeys(EXCLUSIVE, Absent()))


def _meta(at: Path, meta: Meta) -> Iterator[RequiredValue]:
    yield from _fields((*at, "metadata", "labels"), meta.labels)
    yield from _fields((*at, "metadata", "annotations"), meta.annotations)


def _fields(at: Path, fields: Mapping[str, Any]) -> Iterator[RequiredValue]:
    return (RequiredValue((*at, key), value) for key, value in fields.items())


def _network_requirements(data: Any, each: SlotMarks, topology: ClusterTopology) -> Iterator[RequiredValue]:
    """The parts for a secondary network, for every container that has cards, or for the first."""
    parts, at = each.fabric, each.slot.path
    for key, value in parts.annotations.items():
        alike = same if key == NETWORKS else eq  # there are several ways to write networks
        yield RequiredValue((*at, "metadata", "annotations", key), value, alike=alike)
    yield from _fields((*at, "spec"), parts.spec)
    if parts.spec.get("hostNetwork"):
        yield RequiredValue((*at, "spec", "dnsPolicy"), HOST_DNS, lambda current, _: current)
    if parts.claims:
        yield RequiredValue((*at, "spec", "resourceClaims"), [dict(one) for one in parts.claims], _named)
    chosen = _with_cards(data, at, topology)
    bare = [n for n in chosen if not _has(get(data, *at, "spec", "containers", n), parts.mounts)]
    if parts.volumes and bare:
        yield RequiredValue((*at, "spec", "volumes"), [dict(one) for one in parts.volumes], _named)
    yield from _device_requirements(data, (*at, "spec", "containers", chosen[0], "resources"), parts.resources)
    for number in chosen:
        own = (*at, "spec", "containers", number)
        if parts.claims:
            yield RequiredValue((*own, "resources", "claims"), [{"name": one["name"]} for one in parts.claims], _named)
        if parts.mounts and number in bare:
            yield RequiredValue((*own, "volumeMounts"), [dict(one) for one in parts.mounts], _union)
        if parts.capabilities:
            yield RequiredValue((*own, "securityContext", "capabilities", "add"), list(parts.capabilities), _union)
        if parts.privileged:
            yield RequiredValue((*own, "securityContext", "privileged"), True)


def _has(container: Any, mounts: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the path is already mounted."""
    paths = {text(each, "mountPath") for each in items(container, "volumeMounts")}
    return all(each["mountPath"] in paths for each in mounts)


def _device_requirements(data: Any, at: Path, resources: Mapping[str, str]) -> Iterator[RequiredValue]:
    """The devices of one container. Attachments belong to the pod, and each uses one of the pod's devices."""
    for key in ("requests", "limits"):
        for name, amount in resources.items():
            if str(get(data, *at, key, name)) != amount:
                yield RequiredValue((*at, key, name), amount)


def _with_cards(data: Any, at: Path, topology: ClusterTopology) -> list[int]:
    """Containers with accelerators, as a resource or a claim; the first if there are none."""
    containers = items(data, *at, "spec", "containers")
    claims = [items(container, "resources", "claims") for container in containers]
    claiming = [n for n, own in enumerate(claims) if any(text(each, "name") != CHANNEL for each in own)]
    return [n for n, container in enumerate(containers) if cards.asks(container, topology)] or claiming or [0]


def _claims(data: Any, each: SlotMarks, topology: ClusterTopology) -> Iterator[RequiredValue]:
    """The claim, and its use by every container with cards, or by the first if there are none."""
    at = (*each.slot.path, "spec")
    yield RequiredValue((*at, "resourceClaims"), [{"name": CHANNEL, "resourceClaimTemplateName": each.channel}], _named)
    for number in _with_cards(data, each.slot.path, topology):
        yield RequiredValue((*at, "containers", number, "resources", "claims"), [{"name": CHANNEL}], _named)


def _affinity(current: Any, wanted: Mapping[str, Any]) -> Any:
    """The terms of both. Preferred affinities stay as they are."""
    return {**current, **joined_affinity({kind: current.get(kind) or {} for kind in wanted}, wanted)}


def _union(current: Any, wanted: list[Any]) -> list[Any]:
    own = list(current) if isinstance(current, list) else []
    return [*own, *(each for each in wanted if each not in own)]


def _tolerations(current: Any, wanted: list[Any]) -> list[Any]:
    """The workload's tolerations, and those that they do not cover."""
    own = list(current) if isinstance(current, list) else []
    return [*own, *(each for each in wanted if not any(covers(one, each) for one in own))]


def _named(current: Any, wanted: list[Any]) -> list[Any]:
    """Entries by their names: existing ones stay."""
    own = list(current) if isinstance(current, list) else []
    names = {each.get("name") for each in own if isinstance(each, dict)}
    return [*own, *(each for each in wanted if each["name"] not in names)]


def _without(data: Any, path: Path) -> Any:
    """A copy without the value at the path, which exists and is in a mapping."""
    return put(data, path[:-1], {key: value for key, value in get(data, *path[:-1]).items() if key != path[-1]})
