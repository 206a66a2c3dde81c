"""The fabrics of a topology by themselves: what no operator, plugin or network could carry out."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow


def check(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T600 to T612. What it takes is loaded where there is a fabric."""
    if topology.fabrics:
        from bayplan.checks import fabrics as kinds
        from bayplan.checks import fabrics as names
        from bayplan.checks import fabrics as nodes
        from bayplan.checks import fabrics as rails
        from bayplan.checks import network_addresses as addresses

        for each in topology.fabrics.values():
            yield from kinds.check_kinds(each)
            yield from names.check_names(each)
            yield from rails.check_rails(each)
        yield from nodes.check_fabric_nodes(topology)
        yield from addresses.check_addresses(topology)


def check_room(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T606 of a workflow, where fabrics have ranges for the whole cluster, or blocks for nodes."""
    if any(each.ipam.kind in ("whereabouts", "nv-ipam") for each in topology.fabrics.values()):
        from bayplan.checks import network_addresses as room

        yield from room.check_address_room(workflow, topology)
