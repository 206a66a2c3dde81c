"""F704 and F718: where Slurm keeps nodes together that may be apart, and no block has room for them; its limits.

Without segments all nodes of a job stay in one block of the smallest planning size that takes them, in as few of the
next smaller ones as these would fill; so does each segment, and consolidated segments stay in one block of the smallest
size that takes them all (Slurm 24.11 to 25.11, `eval_nodes_block.c`).
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.slurm.jobs import Cluster, clusters, job
from bayplan.backends.slurm.sections import Job, Section
from bayplan.backends.slurm.tasks import task
from bayplan.core.diagnostics import Diagnostic, error, warning
from bayplan.core.values import NamedTuple
from bayplan.model.plan import GangPlan, Plan
from bayplan.model.target import Target
from bayplan.model.topology import Domain, Pool
from bayplan.topologies.slurm.layout import Laid
from bayplan.topologies.slurm.units import BLOCK

Rows = list[Domain]


class Network(NamedTuple):
    """A pool as Slurm plans it."""

    pool: Pool
    laid: Laid
    gone: frozenset[str]  # unusable nodes


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """Jobs that fit the cluster, but no block that Slurm would keep them in."""
    known = clusters(plan, target)
    firsts = [job(plan, gang, known) for gang in plan.gangs if gang.copy == 0]
    beyond = tuple(found for each in firsts for found in _beyond(each))
    if beyond:
        return beyond
    networks = {name: _network(each) for name, each in known.items() if each.laid.plugin == BLOCK}
    sections = ((each.gang, section) for each in firsts for section in each.sections if section.first.pool in networks)
    return tuple(found for gang, section in sections for found in _of(gang, section, networks[section.first.pool]))


def _network(cluster: Cluster) -> Network:
    gone = frozenset(node for names in cluster.pool.unusable.values() for node in names)
    return Network(cluster.pool, cluster.laid, gone)


MOST_SECTIONS = 128
"""MAX_HET_JOB_COMPONENTS (Slurm 25.11, `slurm.h`)."""
LONGEST_WORD = 131_072
"""Bytes of one argument of a program (Linux, MAX_ARG_STRLEN): the text of a task is one of srun's."""


def _beyond(made: Job) -> Iterator[Diagnostic]:
    """Jobs of more sections, or of more podSets in one section, than Slurm and Linux take."""
    name, at = f'gang "{made.gang.gang.name}"', (*made.gang.route, "name")
    if len(made.sections) > MOST_SECTIONS:
        message = f"{name} takes {len(made.sections)} sections of a heterogeneous job; Slurm takes {MOST_SECTIONS}"
        yield error("F718", at, message, hint="make its podSets alike, or split it into several gangs")
    for number in range(len(made.steps)):
        size = len(task(made, number).encode())
        if size >= LONGEST_WORD:
            message = (
                f"{name} would tell its tasks {size} bytes of what to run; one argument has {LONGEST_WORD} at most"
            )
            yield error("F718", at, message, hint="make its podSets alike, or put long commands into files")


def _of(gang: GangPlan, section: Section, network: Network) -> Iterator[Diagnostic]:
    pool = network.pool
    nodes, segment = section.nodes, section.segment or section.nodes
    areas = _parts(network, list(pool.domains), _size(network, nodes)) if section.consolidate else [list(pool.domains)]
    most = max(_segments(network, area, segment, section.spread) for area in areas)
    if most * segment >= nodes:
        return
    parts = f"{nodes // segment} segments of {segment} nodes" if segment < nodes else f"{nodes} nodes"
    where = f" in one block of {_size(network, nodes) or 'all'} planned nodes" if section.consolidate else ""
    each = f"each segment in one block of {_size(network, segment) or 'all'}"
    kept = f"{where}, {each}" if segment < nodes else f" in one block of {_size(network, nodes) or 'all'} planned nodes"
    message = f'gang "{gang.gang.name}": Slurm keeps {parts}{kept}, and nowhere are so many nodes usable'
    hint = "let Slurm wait for repairs, or cut the job into smaller groups with a level of their own"
    yield warning("F704", (*gang.route, "name"), message, hint=hint)


def _size(network: Network, nodes: int) -> int:
    """The smallest planning size that takes so many nodes; 0 where none does, and the whole pool counts."""
    return next((size for size in network.laid.sizes if size >= nodes), 0)


def _segments(network: Network, area: Rows, nodes: int, apart: bool) -> int:
    """How many segments of so many nodes an area takes, one by one."""
    lower = max((size for size in network.laid.sizes if size < nodes), default=0)
    total = 0
    for block in _parts(network, area, _size(network, nodes)):
        counts = [
            sum(node not in network.gone for row in part for node in row.nodes)
            for part in _parts(network, block, lower)
        ]
        counts = sorted(counts, reverse=True) if lower else [sum(counts)]
        first = sum(counts[: -(-nodes // lower)] if lower else counts)
        here = sum(counts) // nodes if first >= nodes else 0
        total += min(here, 1) if apart else here
    return total


def _parts(network: Network, rows: Rows, size: int) -> list[Rows]:
    """The domains that blocks of a planning size stand for; all of them together where no level has that size."""
    levels = enumerate(network.pool.levels, 1)
    depth = max((n for n, level in levels if size and network.laid.planned.get(level.name) == size), default=0)
    parts: dict[tuple[str, ...], Rows] = {}
    for row in rows:
        parts.setdefault(row.path[:depth], []).append(row)
    return list(parts.values())
