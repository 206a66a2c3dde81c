"""What Slurm's files do not hold, with the names that their readers find in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Domain, Level, NodeShape, Pool
from bayplan.topologies.kueue.source import dns_label
from bayplan.topologies.losses.rows import Loss, Path, of_pools
from bayplan.topologies.slurm.layout import Laid, name_rules, one_layout, plugin_of, slurm_name, topology_name
from bayplan.topologies.slurm.native import PLACEHOLDER, label_value
from bayplan.topologies.slurm.units import BLOCK, FLAT

CONF = "default"
"""What the one topology of a topology.conf is called."""

pools = of_pools(
    "names of pools (Slurm's topologies have others)",
    lambda topology, pool: pool._replace(name=dns_label(topology_name(topology, pool))),
)


def _nodes(topology: ClusterTopology, _: Target) -> ClusterTopology:
    rules = name_rules(topology)
    if not rules:
        return topology

    def called(row: Domain) -> Domain:
        return row._replace(nodes=tuple(slurm_name(node, rules) for node in row.nodes))

    made = (pool._replace(domains=tuple(map(called, pool.domains))) for pool in topology.pools)
    return topology._replace(pools=tuple(made))


nodes = Loss("names of nodes (Slurm has others)", _nodes)


def _plan(topology: ClusterTopology, target: Target) -> ClusterTopology:
    made = (_planned(topology, pool, target) if pool.levels else pool for pool in topology.pools)
    return topology._replace(pools=tuple(made))


def _planned(topology: ClusterTopology, pool: Pool, target: Target) -> Pool:
    """The base size of blocks is the plan, if some block has more nodes."""
    sizes = [len(row.nodes) for row in pool.domains if row.nodes] or [1]
    smallest = max(sizes) if target.since("slurm", "25.05") else min(sizes)
    base = pool.levels[-1].plan or smallest
    kept = base if plugin_of(topology, pool) == BLOCK and base < max(sizes) else None
    return pool._replace(levels=(*pool.levels[:-1], pool.levels[-1]._replace(plan=kept)))


plan = Loss("`plan` (the base size of blocks)", _plan)


def _one(topology: ClusterTopology, target: Target) -> ClusterTopology:
    """A topology.conf of one pool knows its levels; of several, the units by which it stands for them."""
    if [plugin_of(topology, pool) != FLAT for pool in topology.pools] == [True]:
        return topology
    laid = one_layout(topology, target)
    pool = _of_blocks(laid) if laid.plugin == BLOCK else _of_switches(laid)
    return topology._replace(pools=(pool,))


called = of_pools("names of pools", lambda _, pool: pool._replace(name=CONF))
one = Loss("pools with their levels (all share one topology)", _one)


def _of_blocks(laid: Laid) -> Pool:
    rows = tuple(Domain((label_value(unit.original or unit.name),), unit.nodes) for unit in laid.units if unit.nodes)
    base = laid.base if laid.base < max((len(row.nodes) for row in rows), default=0) else None
    return Pool(CONF, NodeShape(), (Level(BLOCK, f"{PLACEHOLDER}/{BLOCK}", plan=base),), rows)


def _of_switches(laid: Laid) -> Pool:
    """A leaf less deep than others repeats its name."""
    called = {unit.name: label_value((unit.original or unit.name).rpartition("/")[2]) for unit in laid.units}
    above = {child: unit.name for unit in laid.units for child in unit.children}
    ways = {unit.name: tuple(_upwards(unit.name, above))[::-1] for unit in laid.units if unit.nodes}
    depth = max(map(len, ways.values()), default=0)
    rows = (_row(unit.nodes, ways[unit.name], depth, called) for unit in laid.units if unit.nodes)
    names = (f"switch-{depth - 1 - number}" for number in range(depth))
    return Pool(CONF, NodeShape(), tuple(Level(name, f"{PLACEHOLDER}/{name}") for name in names), tuple(rows))


def _row(held: Path, way: Path, depth: int, called: Mapping[str, str]) -> Domain:
    path = (*way, *(way[-1:] * (depth - len(way))))
    return Domain(tuple(called[name] for name in path), held)


def _upwards(name: str, above: Mapping[str, str]) -> Iterator[str]:
    while name:
        yield name
        name = above.get(name, "")
