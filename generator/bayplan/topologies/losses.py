"""What each format of `topology export` cannot represent: declared here, reported on every export, proven by tests.

A loss is a function that removes something from a topology. Export and import give the topology without all losses of
the format: `minus(word, read(write(t))) == minus(word, t)` (tests/test_round_trips.py). So one table gives the
documentation, the messages for users, and the differences that tests allow. The tests apply a loss to both sides, so a
loss can also replace something by a known value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Route, info, warning
from bayplan.core.phrases import listing
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Domain, Fabric, Level, NodeShape, Pool
from bayplan.topologies import SOURCES, grouping, kai, koordinator, kueue, native
from bayplan.topologies.grouping import PLACEHOLDER, upwards
from bayplan.topologies.hypernodes.writing import place
from bayplan.topologies.slurm import BLOCK, FLAT
from bayplan.topologies.slurm.layout import (
    SlurmLayout,
    name_rules,
    one_layout,
    plugin_of,
    siblings_together,
    slurm_name,
    topology_name,
)
from bayplan.topologies.slurm.reading import at_depth, label_value

Path = tuple[str, ...]
Drop = Callable[[ClusterTopology, Target], ClusterTopology]


class Loss(NamedTuple):
    """Something that a format cannot represent."""

    title: str
    drop: Drop


def _topology(title: str, change: Callable[[ClusterTopology], ClusterTopology]) -> Loss:
    return Loss(title, lambda topology, _: change(topology))


def _settings(title: str, **nothing: Any) -> Loss:
    return _topology(title, lambda topology: topology._replace(**nothing))


def _fabrics(title: str, change: Callable[[Fabric], Fabric | None]) -> Loss:
    def drop(topology: ClusterTopology) -> ClusterTopology:
        changed = {name: change(each) for name, each in topology.fabrics.items()}
        return topology._replace(fabrics={name: each for name, each in changed.items() if each is not None})

    return _topology(title, drop)


def _named_pools(title: str, name: Callable[[ClusterTopology, Pool], str]) -> Loss:
    def drop(topology: ClusterTopology) -> ClusterTopology:
        return topology._replace(pools=tuple(pool._replace(name=name(topology, pool)) for pool in topology.pools))

    return _topology(title, drop)


def _pools(title: str, change: Callable[[Pool], Pool]) -> Loss:
    return _topology(title, lambda topology: topology._replace(pools=tuple(map(change, topology.pools))))


def _node(title: str, **nothing: Any) -> Loss:
    return _pools(title, lambda pool: pool._replace(node=pool.node._replace(**nothing)))


def _levels(title: str, change: Callable[[Level], Level]) -> Loss:
    return _pools(title, lambda pool: pool._replace(levels=tuple(map(change, pool.levels))))


def _domains(title: str, change: Callable[[tuple[Domain, ...]], Any]) -> Loss:
    return _pools(title, lambda pool: pool._replace(domains=tuple(change(pool.domains))))


PODS: dict[str, Any] = {"env": {}, "memlock": "", "injector": False, "ipc_lock": None, "privileged": False, "shm": ""}
DEVICES: dict[str, Any] = {"hca": "", "interface": "", "gpu": None, "numa": None, "selectors": ()}
CLOUD = ("efa", "gke", "hostnetwork")


def _without_data(topology: ClusterTopology) -> ClusterTopology:
    nothing: dict[str, Any] = {"data_movers": {}, "data_store": ""}
    return topology._replace(**nothing, pools=tuple(pool._replace(**nothing) for pool in topology.pools))


def _default_queue(topology: ClusterTopology) -> ClusterTopology:
    """The export writes an object for a single default queue, and the import reads it as the only queue."""
    return topology._replace(queues=topology.queues_or_default or None)


def _level_names(pool: Pool) -> Pool:
    count: dict[str, int] = {}
    result = []
    for level in pool.levels:
        stem = kueue.level_name(level.label)
        count[stem] = count.get(stem, 0) + 1
        result.append(level._replace(name=stem if count[stem] == 1 else f"{stem}-{count[stem]}"))
    return pool._replace(levels=tuple(result))


def _every_node(pool: Pool) -> Pool:
    selects_all = pool.node.node_selector == kueue.EVERY_NODE
    return pool._replace(node=pool.node._replace(node_selector={})) if selects_all else pool


def _layers(topology: ClusterTopology) -> ClusterTopology:
    layers = koordinator.chain(topology)[:-1]
    levels = tuple(Level(koordinator.level_name(each.name), each.labels[0]) for each in layers)
    return topology._replace(pools=(Pool("nodes", NodeShape(), levels),))


def _usable(pool: Pool) -> Pool:
    out = {node for nodes in pool.unusable.values() for node in nodes}
    if not out:
        return pool
    rows = (row._replace(nodes=tuple(node for node in row.nodes if node not in out)) for row in pool.domains)
    return pool._replace(domains=tuple(rows), unusable={})


def _one_tree(topology: ClusterTopology) -> ClusterTopology:
    """All pools as one, if they have the same number of levels. Otherwise an import cannot join them."""
    if len({len(pool.levels) for pool in topology.pools}) != 1:
        return topology
    rows: dict[tuple[tuple[str, str], ...], Path] = {}
    for pool in topology.pools:
        for row in pool.domains:
            key = tuple(zip((level.label for level in pool.levels), row.path, strict=True))
            rows[key] = rows.get(key, ()) + row.nodes
    result = tuple(Domain(tuple(value for _, value in key), nodes) for key, nodes in rows.items())
    return topology._replace(pools=(Pool("nodes", NodeShape(), topology.pools[0].levels, result),))


def _lists(topology: ClusterTopology) -> ClusterTopology:
    """The first of the pools with the same labels, sorted by levels."""
    kept = {tuple(level.label for level in pool.levels): pool for pool in reversed(topology.pools)}
    pools = [pool for pool in topology.pools if kept[tuple(level.label for level in pool.levels)] is pool]
    return topology._replace(pools=tuple(sorted(pools, key=lambda pool: pool.levels)))


def _units_only(pool: Pool) -> Pool:
    rows = tuple(Domain(row.path[-1:], row.nodes) for row in pool.domains)
    return pool._replace(levels=(Level("unit", "unit"),), domains=rows)


def _applied(topology: ClusterTopology) -> ClusterTopology:
    marked = any(level.apply for pool in topology.pools for level in pool.levels)
    return topology._replace(pools=tuple(map(_applied_levels, topology.pools))) if marked else topology


def _applied_levels(pool: Pool) -> Pool:
    kept = [depth for depth, level in enumerate(pool.levels) if level.apply]
    rows = (row._replace(path=tuple(row.path[depth] for depth in kept)) for row in pool.domains)
    return pool._replace(levels=tuple(pool.levels[depth] for depth in kept), domains=tuple(rows))


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
    "name": _settings("the topology's name", name=""),
    "read": _settings("`read`", read=""),
    "versions": _settings("versions", versions={}),
    "images": _settings("images", images={}),
    "data": _topology("data movers and stores", _without_data),
    "priorities": _settings("PriorityClasses", priority_classes={}),
    "defaults": _settings("defaults", defaults={}),
    "schedulers": _settings("scheduler settings", schedulers={}),
    "queues": _settings("queues", queues=None),
    "accelerators": _settings("accelerators", accelerators={}),
    "fabrics": _settings("fabrics", fabrics={}),
    "namespaces": _settings("namespaces", namespaces={}),
    "every_pool": _settings("pools and their nodes", pools=()),
    "fabric_pods": _fabrics("pod settings of fabrics", lambda fabric: fabric._replace(**PODS)),
    "rail_devices": _fabrics(
        "RDMA devices, interfaces and GPUs of rails",
        lambda fabric: fabric._replace(rails=tuple(rail._replace(**DEVICES) for rail in fabric.rails)),
    ),
    "cloud_fabrics": _fabrics(
        "fabrics of the kinds efa, gke and hostnetwork", lambda fabric: None if fabric.kind in CLOUD else fabric
    ),
    "unattached": _fabrics(
        "fabrics of the kinds dranet and none, except a DeviceClass and the parts of a policy",
        lambda fabric: None if fabric.kind in ("dranet", "none") else fabric,
    ),
    "cards": _node("accelerators of nodes", accelerator="", accelerators=0),
    "resources": _node("resources of nodes", resources={"pods": native.PODS * 1000}),
    "selectors": _node("node selectors", node_selector={}),
    "tolerations": _node("tolerations", tolerations=()),
    "template": _pools("pod templates", lambda pool: pool._replace(template={})),
    "every_node": _pools("selectors that match every node", _every_node),
    "flavors": _named_pools(
        "names of pools (flavors have other names)",
        lambda topology, pool: grouping.dns_label(kueue.flavor_name(topology, pool.name)),
    ),
    "numbered": _named_pools("names of pools", lambda topology, pool: f"pool-{topology.pools.index(pool)}"),
    "kai_quotas": Loss("quotas of single pools, and of other resources than GPUs, CPU and memory", kai.as_written),
    "kueue_quotas": Loss("numbers that ClusterQueues have in another form (or without numbers, all)", kueue.as_written),
    "default_queue": _topology("permission for any queue", _default_queue),
    "nvlink": _levels("`nvlink`", lambda level: level._replace(nvlink=False)),
    "nvlink_unknown": _levels("`nvlink`", lambda level: level._replace(nvlink=level.label == grouping.CLIQUE)),
    "plan": _levels("`plan`", lambda level: level._replace(plan=None)),
    "unique": _levels("`unique`", lambda level: level._replace(unique="global")),
    "apply": _levels("`apply`", lambda level: level._replace(apply=False)),
    "level_names": _pools("names of levels (replaced by the ends of labels)", _level_names),
    "layers": _topology("pools (only one list of levels remains)", _layers),
    "unlevelled": _topology(
        "pools without levels",
        lambda topology: topology._replace(pools=tuple(pool for pool in topology.pools if pool.levels)),
    ),
    "lists": _topology("pools (equal lists of levels merge)", _lists),
    "places": _pools("levels and their labels (nodes only have the names of their units)", _units_only),
    "carried": _topology("levels without `apply`, whose labels nodes already have", _applied),
    "domains": _domains("nodes and domains", lambda rows: ()),
    "unusable": _pools("`unusable`", lambda pool: pool._replace(unusable={})),
    "unusable_nodes": _pools("unusable nodes", _usable),
    "nvlink_domains": _domains("`nvlinkDomain`", lambda rows: (row._replace(nvlink_domain="") for row in rows)),
    "leaves": _domains("`leaves`", lambda rows: (row._replace(leaves=()) for row in rows)),
    "empty": _domains("domains without nodes", lambda rows: (row for row in rows if row.nodes)),
    "order": _domains("the order of domains (siblings are together)", siblings_together),
    "by_name": _domains("the order of domains (sorted by name)", lambda rows: sorted(rows, key=place)),
    "by_path": _domains(
        "the order of domains and nodes",
        lambda rows: sorted(row._replace(nodes=tuple(sorted(row.nodes))) for row in rows),
    ),
    "one_tree": _topology("pools (all become one tree)", _one_tree),
    "slurm_pools": _named_pools(
        "names of pools (Slurm's topologies have other names)",
        lambda topology, pool: grouping.dns_label(topology_name(topology, pool)),
    ),
    "slurm_called": _named_pools("names of pools", lambda *_: CONF),
    "slurm_one": Loss("pools and their levels (all share one topology)", _slurm_one),
    "slurm_nodes": _topology("names of nodes (Slurm has other names)", _slurm_nodes),
    "slurm_plan": Loss("`plan` (replaced by the base size of blocks)", _slurm_plan),
}
"""By their names in `SOURCES`."""

DISCOVERED = "volcano-discovery"
"""The format of `--to volcano` if Volcano discovers its HyperNodes by labels."""

LOST: Mapping[str, tuple[Loss, ...]] = {
    each.to: tuple(LOSSES[name] for name in each.losses.split()) for each in SOURCES if each.to
}
"""Word after --to -> the losses of that format, in the order of their removal."""


def lost(word: str, topology: ClusterTopology, target: Target) -> tuple[Loss, ...]:
    """The losses of a format. Before 25.05, Slurm has a topology.conf."""
    if word == "slurm" and not target.since("slurm", "25.05"):
        word = "slurm-conf"
    if word == "volcano" and topology.schedulers.get("volcano", {}).get("hyperNodes") == "discovered":
        word = DISCOVERED
    return LOST.get(word, ())


def minus(word: str, topology: ClusterTopology, target: Target) -> ClusterTopology:
    """The topology without the losses of the format."""
    for loss in lost(word, topology, target):
        topology = loss.drop(topology, target)
    return topology


def report(word: str, topology: ClusterTopology, target: Target, written: bool) -> Iterator[Diagnostic]:
    """T580: losses of this file; T581: nothing to write; T582: labels that other software may set."""
    route: Route = ("topology", "metadata", "name")
    titles = [loss.title for loss in lost(word, topology, target) if loss.drop(topology, target) != topology]
    if not written:
        message = f"wrote no file, because {word} cannot represent anything in this topology"
        what = "fabrics with networks" if word == "network-operator" else "nodes in pools with levels"
        yield warning("T581", route, message, hint=f"add {what}")
    elif titles:
        message = f"{word} cannot represent all of this file; lost: {'; '.join(titles)}"
        yield info("T580", route, message, hint="keep this file as the source; an import restores the other facts")
    levels = [level for pool in topology.pools for level in pool.levels]
    if written and word == "node-labels" and not any(level.apply for level in levels):
        labels = listing(dict.fromkeys(level.label for level in levels), "and", most=5)
        message = f"no level has `apply: true`, so bayplan writes the labels of all levels: {labels}"
        hint = "set `apply: true` on levels whose labels nodes do not have yet, to write only these"
        yield info("T582", ("topology", "spec", "pools", 0), message, hint=hint)
