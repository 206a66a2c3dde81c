"""Values in a template that would make no pod: amounts that are none, cards counted twice, nulls that delete ours."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.kube import quantity
from bayplan.model.topology import ClusterTopology

SPEC = ("containers", "resourceClaims", "volumes", "nodeSelector", "affinity")
MAIN = ("name", "env", "resources", "volumeMounts")
RESOURCES = ("requests", "limits", "claims")
"""Fields that bayplan writes: of a PodSpec, of its main container, of that container's resources."""

COUNT = "nvidia.com/gpu"
"""What a device plugin calls cards where the topology gives no name."""

AMOUNT, COUNTED = 'write it like "4", "500m" or "64Gi"', 'write it like "1"'
"""What to write for a resource of Kubernetes, and for an extended one."""

Amount = tuple[str, Any, Route]


def amounts(code: str, spec: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """Requests and limits of containers and of the pod, and its overhead, are quantities of nothing less than zero."""
    owners = [(spec, route), *_containers(spec, route, "containers"), *_containers(spec, route, "initContainers")]
    found = [each for owner, at in owners for each in _amounts(owner, at)]
    for name, value, at in (*found, *_entries(spec.get("overhead"), (*route, "overhead"))):
        reason = _fault(str(value), whole="/" in name)
        if reason:
            yield error(code, at, reason, hint=COUNTED if "/" in name else AMOUNT)


def _fault(text: str, *, whole: bool) -> str:
    try:
        amount = quantity.parse(text)
    except ValueError as reason:
        return str(reason)
    if amount < 0:
        return f'"{text}" is less than nothing'
    return f'"{text}": extended resources are counted in whole numbers' if whole and amount % 1000 else ""


def cards(code: str, spec: Mapping[str, Any], route: Route, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """No container that runs beside the others asks for cards: these are asked for once, with `accelerator`."""
    kinds = topology.accelerators.values()
    counted = {name: kind.name for kind in kinds for name in {"count": COUNT, **kind.resources}.values()}
    beside = [
        (each, at)
        for each, at in _containers(spec, route, "initContainers")
        if each.get("restartPolicy") == "Always"  # others end before, so they ask for cards in their turn
    ]
    for owner, place in ((spec, route), *_containers(spec, route, "containers"), *beside):
        for name, _, at in _amounts(owner, place):
            if name in counted:
                message = f'"{name}" belongs to the accelerator "{counted[name]}", and a template may not ask for it'
                hint = f"write `accelerator: {{name: {counted[name]}, count: ...}}` on the podSet instead"
                yield error(code, at, message, hint=hint)


def nulls(code: str, spec: Mapping[str, Any], route: Route, main: Collection[str | None]) -> Iterator[Diagnostic]:
    """Nulls delete, so none may stand where bayplan writes. `main`: names of the main container; none: any name."""
    yield from _nulls(code, spec, SPEC, route)
    selector = spec.get("nodeSelector") or {}
    yield from _nulls(code, selector, selector, (*route, "nodeSelector"))
    for container, at in _containers(spec, route, "containers"):
        if not main or container.get("name") in main:
            yield from _nulls(code, container, MAIN, at)
            yield from _nulls(code, container.get("resources") or {}, RESOURCES, (*at, "resources"))


def _nulls(code: str, owner: Mapping[str, Any], keys: Collection[str], route: Route) -> Iterator[Diagnostic]:
    for key in keys:
        if owner.get(key, key) is None:
            message = f'null would delete what bayplan writes to "{key}"'
            yield error(code, (*route, key), message, hint="remove it, or write what to add")


def _containers(spec: Mapping[str, Any], route: Route, key: str) -> list[tuple[Mapping[str, Any], Route]]:
    return [(each, (*route, key, index)) for index, each in enumerate(spec.get(key) or ())]


def _amounts(owner: Mapping[str, Any], route: Route) -> Iterator[Amount]:
    for key in ("requests", "limits"):
        yield from _entries((owner.get("resources") or {}).get(key), (*route, "resources", key))


def _entries(amounts: Any, route: Route) -> Iterator[Amount]:
    """The entries of a map that delete nothing."""
    for name, value in amounts.items() if isinstance(amounts, Mapping) else ():
        if value is not None:
            yield name, value, (*route, name)
