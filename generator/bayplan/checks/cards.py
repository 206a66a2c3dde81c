"""What the topology says of cards: their memory, their slices, how they hang together."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.kube import quantity
from bayplan.model.topology import AcceleratorKind, ClusterTopology


def check(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T630 to T632."""
    for name, kind in topology.accelerators.items():
        route: Route = ("topology", "spec", "accelerators", name)
        if kind.memory:
            yield from _memory(kind.memory, (*route, "memory"))
        yield from _unfit(kind, route)
        if kind.link_zones:
            yield from _zones(topology, kind, (*route, "linkZones"))


def _memory(text: str, route: Route) -> Iterator[Diagnostic]:
    try:
        fault = "" if quantity.parse(text) > 0 else f'"{text}" is no memory'
    except ValueError as reason:
        fault = str(reason)
    if fault:
        yield error("T632", route, fault, hint='write it like "80Gi"')


def _unfit(kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    """Settings that only one vendor's cards have."""
    if kind.profile and kind.vendor != "nvidia":
        message = f'accelerator "{kind.name}" is of {kind.vendor}, whose cards have no MIG profiles'
        yield error("T631", (*route, "profile"), message, hint="remove it")
    elif kind.profile and set(kind.allocators) != {"device-plugin"}:
        message = "slices of one profile are counted, which a device plugin does; DRA and HAMi cut cards themselves"
        yield error("T631", (*route, "profile"), message, hint="write `allocator: device-plugin`, or remove `profile`")
    if kind.topology_annotated is not None and kind.vendor != "metax":
        message = f'accelerator "{kind.name}" is of {kind.vendor}; only nodes with cards of MetaX have such annotations'
        yield error("T631", (*route, "topologyAnnotated"), message, hint="remove it")


def _zones(topology: ClusterTopology, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    """Each card in one zone, and no card that the nodes do not have."""
    pools = [pool for pool in topology.pools if pool.node.accelerator == kind.name]
    most = max((pool.node.accelerators for pool in pools), default=0)
    seen: set[int] = set()
    for number, zone in enumerate(kind.link_zones):
        for place, card in enumerate(zone):
            at = (*route, number, place)
            if card in seen:
                yield error("T630", at, f"card {card} stands in two zones, or twice in one", hint="name each once")
            elif most and card >= most:
                message = f"there is no card {card}: a node has {most}, and they are counted from 0"
                yield error("T630", at, message, hint=f"use numbers up to {most - 1}")
            seen.add(card)
