"""Segments and switches of Slurm -> levels of the topology.

A segment of at most one base block stays in one block (Slurm 25.11, `eval_nodes_block.c`), and blocks are the finest
domains; a longer one stays in the smallest level that holds it. --consolidate-segments keeps all of them in the next
level that holds the job. Without a topology the levels have the names that bayplan's reading of Slurm files gives.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.model.topology import ClusterTopology, Pool
from bayplan.values import NamedTuple

BLOCK, TOGETHER = "block", "aggregated-block"


class Levels(NamedTuple):
    """The names of levels for a segment, for all of a job, and for a leaf switch. `assumed`: no topology said them."""

    segment: str = BLOCK
    job: str = TOGETHER
    leaf: str = BLOCK
    assumed: bool = True


def pool_of(topology: ClusterTopology | None, name: str, kind: str, gpus: int) -> Pool | None:
    """The pool that a section is likely to run in: the named one, else the only one that could hold it."""
    if topology is None:
        return None
    if name:
        return topology.pool(name)
    pools = [pool for pool in topology.pools if bool(pool.node.accelerators) == bool(gpus)] or list(topology.pools)
    named = [pool for pool in pools if kind and pool.node.accelerator == kind]
    found = named or pools
    return found[0] if len(found) == 1 else None


def partition_pool(topology: ClusterTopology | None, partition: str) -> str:
    """The pool that a partition of Slurm stands for, where the topology says so."""
    own = topology.schedulers.get("slurm", {}).get("pools", {}) if topology else {}
    found = [name for name, settings in own.items() if settings.get("partition") == partition]
    if not found and topology and topology.pool(partition) and partition not in (topology.queues or ()):
        found = [partition]
    return found[0] if len(found) == 1 else ""


def levels(pool: Pool | None, segment: int, nodes: int) -> Levels:
    """The levels for segments of so many nodes in a job of so many."""
    if pool is None or not pool.levels:
        return Levels()
    sizes = _sizes(pool)
    names = [level.name for level in pool.levels]
    own = next((n for n in reversed(range(len(names))) if sizes[n] >= segment), 0)
    whole = next((n for n in reversed(range(own)) if sizes[n] >= nodes), max(0, own - 1))
    return Levels(names[own], names[whole], names[-1], False)


def _sizes(pool: Pool) -> list[int]:
    """For each level, coarse to fine: the nodes that its largest domain may give."""
    plan = pool.levels[-1].plan
    found = []
    for depth in range(len(pool.levels)):
        held: dict[tuple[str, ...], int] = {}
        for row in pool.domains:
            key = row.path[: depth + 1]
            held[key] = held.get(key, 0) + (min(plan, len(row.nodes)) if plan else len(row.nodes))
        found.append(max(held.values(), default=0))
    return found


def largest_block(pools: Iterable[Pool]) -> int:
    """The nodes of the largest finest domain."""
    return max((_sizes(pool)[-1] for pool in pools if pool.levels), default=0)
