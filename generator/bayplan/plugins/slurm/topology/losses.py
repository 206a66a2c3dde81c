"""What Slurm's topology files cannot represent."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.plugin import (
    PLACEHOLDER,
    ClusterTopology,
    Domain,
    Level,
    Loss,
    NodeShape,
    Pool,
    Target,
    grouping,
    name_rules,
    named_pools,
    slurm_name,
    upwards,
    whole_topology,
)
from bayplan.plugins.slurm.topology import BLOCK, FLAT
from bayplan.plugins.slurm.topology.layout import SlurmLayout, one_layout, plugin_of, topology_name
from bayplan.plugins.slurm.topology.reading import at_depth, label_value


def _slurm_nodes(topology: ClusterTopology) -> ClusterTopology:
    rules = name_rules(topology)
    if not rules:
        return topology
    names = {node: slurm_name(node, rules) for pool in topology.pools for node in pool.nodes()}
    return topology._replace(pools=tuple(pool.renamed(names) for pool in topology.pools))


def _slurm_plan(topology: ClusterTopology, target: Target) -> ClusterTopology:
    result = (_base_as_plan(topology, pool, target) if pool.levels else pool for pool in topology.pools)
    return topology._replace(pools=tuple(result))


def _base_as_plan(topology: ClusterTopology, pool: Pool, target: Target) -> Pool:
    """The base size of blocks is the plan, if some block has more nodes."""
    sizes = [len(row.nodes) for row in pool.domains if row.nodes] or [1]
    smallest = max(sizes) if target.since("slurm", "25.05") else min(sizes)
    base = pool.levels[-1].plan or smallest
    kept = base if plugin_of(topology, pool) == BLOCK and base < max(sizes) else None
    return pool._replace(levels=(*pool.levels[:-1], pool.levels[-1]._replace(plan=kept)))


CONF = "default"
"""The name of the one topology of a topology.conf."""


def _slurm_one(topology: ClusterTopology, target: Target) -> ClusterTopology:
    """A topology.conf of one pool has its levels. For several pools it has only their units."""
    if [plugin_of(topology, pool) != FLAT for pool in topology.pools] == [True]:
        return topology
    layout = one_layout(topology, target)
    return topology._replace(pools=(_of_blocks(layout) if layout.plugin == BLOCK else _of_switches(layout),))


def _of_blocks(layout: SlurmLayout) -> Pool:
    rows = tuple(Domain((label_value(unit.original or unit.name),), unit.nodes) for unit in layout.units if unit.nodes)
    base = layout.base if layout.base < max((len(row.nodes) for row in rows), default=0) else None
    return Pool(CONF, NodeShape(), (Level(BLOCK, f"{PLACEHOLDER}/{BLOCK}", plan=base),), rows)


def _of_switches(layout: SlurmLayout) -> Pool:
    """A leaf at a smaller depth than others repeats its name."""
    names_of = {unit.name: label_value((unit.original or unit.name).rpartition("/")[2]) for unit in layout.units}
    above = {child: unit.name for unit in layout.units for child in unit.children}
    paths = [(upwards(unit.name, above), unit.nodes) for unit in layout.units if unit.nodes]
    depth = max((len(path) for path, _ in paths), default=0)
    rows = (Domain(tuple(names_of[name] for name in at_depth(path, depth)), nodes) for path, nodes in paths)
    names = (f"switch-{depth - 1 - number}" for number in range(depth))
    return Pool(CONF, NodeShape(), tuple(Level(name, f"{PLACEHOLDER}/{name}") for name in names), tuple(rows))


LOSSES: Mapping[str, Loss] = {
    "slurm_pools": named_pools(
        "names of pools (Slurm's topologies have other names)",
        lambda topology, pool: grouping.dns_label(topology_name(topology, pool)),
    ),
    "slurm_called": named_pools("names of pools", lambda *_: CONF),
    "slurm_one": Loss("pools and their levels (all share one topology)", _slurm_one),
    "slurm_nodes": whole_topology("names of nodes (Slurm has other names)", _slurm_nodes),
    "slurm_plan": Loss("`plan` (replaced by the base size of blocks)", _slurm_plan),
}
"""By their names in the rows of `plugin.json`."""
