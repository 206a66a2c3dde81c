"""What each format of `topology export` cannot represent: declared here, reported on every export, proven by tests.

A loss is a function that removes something from a topology. Export and import give the topology without all losses of
the format: `minus(word, read(write(t))) == minus(word, t)` (tests/test_round_trips.py). So one table gives the
documentation, the messages for users, and the differences that tests allow. The tests apply a loss to both sides, so a
loss can also replace something by a known value.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from bayplan import plugins
from bayplan.core.diagnostics import Diagnostic, Route, info, warning
from bayplan.core.phrases import listing
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Domain, Fabric, Level, NodeShape, Pool
from bayplan.topologies import SOURCES, grouping, kai, koordinator, kueue, native
from bayplan.topologies.hypernodes.writing import place
from bayplan.topologies.unit_names import siblings_together

Path = tuple[str, ...]
Drop = Callable[[ClusterTopology, Target], ClusterTopology]


class Loss(NamedTuple):
    """Something that a format cannot represent."""

    title: str
    drop: Drop


def whole_topology(title: str, change: Callable[[ClusterTopology], ClusterTopology]) -> Loss:
    """A loss that does not depend on versions."""
    return Loss(title, lambda topology, _: change(topology))


def _settings(title: str, **nothing: Any) -> Loss:
    return whole_topology(title, lambda topology: topology._replace(**nothing))


def _fabrics(title: str, change: Callable[[Fabric], Fabric | None]) -> Loss:
    def drop(topology: ClusterTopology) -> ClusterTopology:
        changed = {name: change(each) for name, each in topology.fabrics.items()}
        return topology._replace(fabrics={name: each for name, each in changed.items() if each is not None})

    return whole_topology(title, drop)


def named_pools(title: str, name: Callable[[ClusterTopology, Pool], str]) -> Loss:
    """Pools get other names. `name`: the name of a pool after the loss."""

    def drop(topology: ClusterTopology) -> ClusterTopology:
        return topology._replace(pools=tuple(pool._replace(name=name(topology, pool)) for pool in topology.pools))

    return whole_topology(title, drop)


def _pools(title: str, change: Callable[[Pool], Pool]) -> Loss:
    return whole_topology(title, lambda topology: topology._replace(pools=tuple(map(change, topology.pools))))


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
    out = pool.unusable_nodes()
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


_OF_CORE: Mapping[str, Loss] = {
    "name": _settings("the topology's name", name=""),
    "read": _settings("`read`", read=""),
    "versions": _settings("versions", versions={}),
    "images": _settings("images", images={}),
    "data": whole_topology("data movers and stores", _without_data),
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
    "flavors": named_pools(
        "names of pools (flavors have other names)",
        lambda topology, pool: grouping.dns_label(kueue.flavor_name(topology, pool.name)),
    ),
    "numbered": named_pools("names of pools", lambda topology, pool: f"pool-{topology.pools.index(pool)}"),
    "kai_quotas": Loss("quotas of single pools, and of other resources than GPUs, CPU and memory", kai.as_written),
    "kueue_quotas": Loss("numbers that ClusterQueues have in another form (or without numbers, all)", kueue.as_written),
    "default_queue": whole_topology("permission for any queue", _default_queue),
    "nvlink": _levels("`nvlink`", lambda level: level._replace(nvlink=False)),
    "nvlink_unknown": _levels("`nvlink`", lambda level: level._replace(nvlink=level.label == grouping.CLIQUE)),
    "plan": _levels("`plan`", lambda level: level._replace(plan=None)),
    "unique": _levels("`unique`", lambda level: level._replace(unique="global")),
    "apply": _levels("`apply`", lambda level: level._replace(apply=False)),
    "level_names": _pools("names of levels (replaced by the ends of labels)", _level_names),
    "layers": whole_topology("pools (only one list of levels remains)", _layers),
    "unlevelled": whole_topology(
        "pools without levels",
        lambda topology: topology._replace(pools=tuple(pool for pool in topology.pools if pool.levels)),
    ),
    "lists": whole_topology("pools (equal lists of levels merge)", _lists),
    "places": _pools("levels and their labels (nodes only have the names of their units)", _units_only),
    "carried": whole_topology("levels without `apply`, whose labels nodes already have", _applied),
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
    "one_tree": whole_topology("pools (all become one tree)", _one_tree),
}

DISCOVERED = "volcano-discovery"
"""The format of `--to volcano` if Volcano discovers its HyperNodes by labels."""


@cache
def losses_by_name() -> Mapping[str, Loss]:
    """The losses by their names in `SOURCES`."""
    return {**_OF_CORE, **ChainMap(*(module.LOSSES for module in plugins.loaded("losses")))}


@cache
def losses_by_word() -> Mapping[str, tuple[Loss, ...]]:
    """Word after --to -> the losses of that format, in the order of their removal."""
    losses = losses_by_name()
    return {row.to: tuple(losses[name] for name in row.losses.split()) for row in SOURCES if row.to}


def lost(word: str, topology: ClusterTopology, target: Target) -> tuple[Loss, ...]:
    """The losses of a format, which may depend on the version of its scheduler."""
    row = next((source for source in SOURCES if source.to == word), None)
    if row and row.older[0] and not target.since(word, row.older[0]):
        word = row.older[1]
    if word == "volcano" and topology.schedulers.get("volcano", {}).get("hyperNodes") == "discovered":
        word = DISCOVERED
    return losses_by_word().get(word, ())


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
