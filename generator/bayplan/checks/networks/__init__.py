"""The fabrics of a topology by themselves: what no operator, plugin or network could carry out."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow


def check(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T600 to T612. What it takes is loaded where there is a fabric."""
    if topology.fabrics:
        from bayplan.checks.networks import addresses, kinds, names, nodes, rails

        for each in topology.fabrics.values():
            yield from kinds.check(each)
            yield from names.check(each)
            yield from rails.check(each)
        yield from nodes.check(topology)
        yield from addresses.check(topology)


def check_room(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T606 of a workflow, where fabrics have ranges for the whole cluster, or blocks for nodes."""
    if any(each.ipam.kind in ("whereabouts", "nv-ipam") for each in topology.fabrics.values()):
        from bayplan.checks.networks import room

        yield from room.check(workflow, topology)
