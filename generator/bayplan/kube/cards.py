"""The cards that a pod template requests, as an extended resource or with a claim through DRA."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.kube import quantity
from bayplan.kube.kinds import GANG_LABEL
from bayplan.kube.objects import is_kind, items, mapping, number_in, text
from bayplan.kube.objects import name as name_of
from bayplan.kube.objects import namespace as namespace_of
from bayplan.kube.vendors import names
from bayplan.model.manifest import Object
from bayplan.model.topology import AcceleratorKind, ClusterTopology
from bayplan.model.workflow import Accelerator

PLUGIN, CLAIMED, HAMI = "device-plugin", "dra", "hami"

Claims = Mapping[tuple[str, str], Mapping[str, int]]
"""(namespace, name of a claim template) -> how many devices of each device class it requests."""


def claims(objects: Iterable[Object]) -> Claims:
    """The requests of the claim templates among some objects (`resource.k8s.io` v1beta1 to v1)."""
    by_template: dict[tuple[str, str], dict[str, int]] = {}
    for one in objects:
        if is_kind(one.data, "resource.k8s.io", "ResourceClaimTemplate"):
            counts = by_template.setdefault((namespace_of(one), name_of(one)), {})
            for request in items(one.data, "spec", "spec", "devices", "requests"):
                exact = mapping(request, "exactly") or request
                name = text(exact, "deviceClassName")
                counts[name] = counts.get(name, 0) + (number_in(exact, "count") or 1)
    return by_template


def accelerator(
    spec: Mapping[str, Any], namespace: str, topology: ClusterTopology, known_claims: Claims
) -> Accelerator | None:
    """The cards of one pod. If one resource matches several kinds, the pool decides the kind."""
    counted = _counted(spec, resources(topology))
    amount = counted or _claimed(spec, namespace, topology, known_claims)
    if not amount:
        return None
    kinds = list(topology.accelerators.values())
    name = kinds[0].name if len(kinds) == 1 else ""
    if not counted:
        return Accelerator(name, amount, allocator=CLAIMED)
    asking = [each for each in items(spec, "containers") if _amount(each, resources(topology))]
    offering = [kind for kind in kinds if asking and _amount(asking[0], frozenset({_count(kind)}))]
    if any(HAMI in kind.allocators for kind in offering):
        return _shared(Accelerator(name, amount), offering[0], asking[0])
    return Accelerator(name, amount, allocator=PLUGIN)


def _shared(accelerator: Accelerator, kind: AcceleratorKind, container: Any) -> Accelerator:
    """Cards of HAMi, and the share of each. Without a share, the kind decides the allocator."""
    own, limits = names(kind), mapping(container, "resources", "limits")

    def amount(name: str) -> int:
        return quantity.whole(str(limits.get(name, "")) if name else "", 11)

    memory, percentage, cores = (amount(name) for name in (own.memory, own.percentage, own.cores))
    memory_share = str(memory * own.unit) if memory else f"{percentage}%" if 0 < percentage <= 100 else ""
    share = str(cores * 100 // own.parts) if 0 < cores <= own.parts else ""
    return accelerator._replace(memory=memory_share, cores=share, allocator=HAMI if memory_share or share else "")


def _count(kind: AcceleratorKind) -> str:
    return kind.count_resource


def resources(topology: ClusterTopology) -> frozenset[str]:
    """The extended resources that are cards."""
    return frozenset(map(_count, topology.accelerators.values()))


def _counted(spec: Mapping[str, Any], names: frozenset[str]) -> int:
    """Init containers run before the others, so the larger amount counts; those that always restart run beside them
    (Kubernetes, "Sidecar Containers")."""
    steady = sum(_amount(each, names) for each in items(spec, "containers"))
    beside = peak = 0
    for each in items(spec, "initContainers"):
        if text(each, "restartPolicy") == "Always":
            beside += _amount(each, names)
        else:
            peak = max(peak, beside + _amount(each, names))
    return max(steady + beside, peak)


def _amount(container: Any, names: frozenset[str]) -> int:
    """Requests equal limits for extended resources, and one of them may be missing."""
    both = {**mapping(container, "resources", "limits"), **mapping(container, "resources", "requests")}
    return sum(
        int(str(both[name]))
        for name in names
        if str(both.get(name, "")).isascii() and str(both.get(name, "")).isdigit()
    )


def _claimed(spec: Mapping[str, Any], namespace: str, topology: ClusterTopology, known_claims: Claims) -> int:
    classes = {kind.device_class for kind in topology.accelerators.values() if kind.device_class}
    names = [text(claim, "resourceClaimTemplateName") for claim in items(spec, "resourceClaims")]
    matching = (each for (where, name), each in known_claims.items() if name in names and meets(namespace, where))
    return sum(count for each in matching for name, count in each.items() if name in classes)


def asks(container: Any, topology: ClusterTopology) -> bool:
    """Whether a container requests cards by an extended resource."""
    return bool(_amount(container, resources(topology)))


def without(container: Any, topology: ClusterTopology) -> dict[str, Any]:
    """The container without its cards, which a plan has in another place."""
    names = resources(topology)
    own = {
        key: {name: amount for name, amount in mapping(container, "resources", key).items() if name not in names}
        for key in ("requests", "limits")
    }
    return {**mapping(container), "resources": {key: amounts for key, amounts in own.items() if amounts}}


def channels(objects: Iterable[Object], *, ours: bool = False) -> frozenset[tuple[str, str]]:
    """(namespace, claim template) of existing ComputeDomains: the driver creates the template for their pods.

    `ours`: those of bayplan too.
    """
    return frozenset(
        (namespace_of(one), text(one.data, "spec", "channel", "resourceClaimTemplate", "name"))
        for one in objects
        if is_kind(one.data, "resource.nvidia.com", "ComputeDomain")
        and (ours or GANG_LABEL not in mapping(one.data, "metadata", "labels"))
    )


def claims_channel(spec: Mapping[str, Any], namespace: str, channels: frozenset[tuple[str, str]]) -> bool:
    """Whether a pod claims a channel of one of these ComputeDomains."""
    names = {text(claim, "resourceClaimTemplateName") for claim in items(spec, "resourceClaims")}
    return any(name in names and meets(namespace, where) for where, name in channels)


def meets(namespace: str, other: str) -> bool:
    """Whether two objects may be in one namespace: charts often leave the namespace to the release."""
    return namespace == other or not (namespace and other)
