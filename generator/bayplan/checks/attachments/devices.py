"""Networks that a template attaches by hand, against the devices that its pods ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.checks.attachments.said import Layer
from bayplan.checks.places import Place
from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.fabrics import amounts
from bayplan.fabrics.hanging import MOVING
from bayplan.kube import quantity
from bayplan.kube.safe import items, mapping
from bayplan.model.topology import ClusterTopology
from bayplan.words import count


def check(
    place: Place, topology: ClusterTopology, found: tuple[Layer, ...], titles: Sequence[str], route: Route
) -> Iterator[Diagnostic]:
    """W547: Multus hands each of these networks a device that the pod asked for, and without one the pod never
    starts."""
    taking = _taking(topology)
    needed = Counter(taking[title] for title in titles if title in taking)
    given = _given(place, topology, found) if needed else {}
    for resource, networks in needed.items():
        devices = given.get(resource, 0)
        if devices < networks:
            verb = "takes" if networks == 1 else "take"
            message = f'{count(networks, "network")} here {verb} a device of "{resource}", and pods ask for {devices}'
            hint = f"attach them with `fabric:`, which asks for what they take, or add {resource}: {networks}"
            yield error("W547", route, message, hint=hint)


def _taking(topology: ClusterTopology) -> Mapping[str, str]:
    """Network -> the resource of which each of its attachments takes a device, unless the injector asks for it."""
    fabrics = (each for each in topology.fabrics.values() if each.kind in MOVING and not each.injector)
    return {rail.network: rail.resource for each in fabrics for rail in each.rails if rail.network and rail.resource}


def _given(place: Place, topology: ClusterTopology, found: tuple[Layer, ...]) -> Mapping[str, int]:
    """Extended resources that a pod asks for: the podSet's, its fabric's, and those of containers in templates."""
    total: Counter[str] = Counter(amounts(place.pods, topology))
    texts: list[Mapping[str, Any]] = [place.pods.resources]
    texts += [
        mapping(each, "resources", "limits") for one in found for each in items(one.template, "spec", "containers")
    ]
    for each in texts:
        total.update({name: quantity.parse(str(text)) // 1000 for name, text in each.items() if _counted(name, text)})
    return total


def _counted(name: Any, text: Any) -> bool:
    """Whether it is an amount of an extended resource; null takes one away."""
    return isinstance(name, str) and "/" in name and text is not None
