"""Groups whose tasks share nodes: a ComputeDomain would give the one channel of each node to one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.diagnostics import Diagnostic, warning
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.workflows.osmo.translate.gangs import Gang, Node, tasks
from bayplan.workflows.osmo.translate.portion import Portion
from bayplan.workflows.osmo.translate.source import Task


def on_parts(gang: Gang, portions: Mapping[str, Portion], topology: ClusterTopology | None) -> Task | None:
    """The first task that must share an NVLink domain with others and asks for some of its node's GPUs only."""
    if topology is None:
        return None
    return next((task for task in _bound(gang.node, topology) if _is_part(portions[task.name], topology)), None)


def _bound(node: Node, topology: ClusterTopology) -> Iterator[Task]:
    """The tasks whose required level lies inside NVLink."""
    if node.placement.required and any(_inside(pool, node.placement.required) for pool in topology.pools):
        yield from tasks(node)
    else:
        for each in node.nodes:
            yield from _bound(each, topology)


def _inside(pool: Pool, level: str) -> bool:
    linked = [number for number, each in enumerate(pool.levels) if each.nvlink]
    return pool.level(level) is not None and bool(linked) and pool.depth(level) >= linked[0]


def _is_part(portion: Portion, topology: ClusterTopology) -> bool:
    named = topology.pool(portion.pool) if portion.pool else None
    pools = [named] if named else [pool for pool in topology.pools if pool.node.accelerator]
    return 0 < portion.accelerators < min((pool.node.accelerators for pool in pools), default=0)


def findings(found: Mapping[str, Task]) -> Iterator[Diagnostic]:
    """W456, by the name of the group."""
    for name, task in found.items():
        message = f'group "{name}" gets no ComputeDomain: task "{task.name}" asks for some of its node\'s GPUs only'
        hint = "ask for all GPUs of a node in one task to have NVLink between nodes"
        yield warning("W456", (*task.resource_route, "gpu"), message, hint=hint)
