"""The single losses: a title, and a function that takes just that out of a topology.

Each is the same on what was written and on what came back, so it may put something known in the place of what is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bayplan.core.values import NamedTuple
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Domain, Fabric, Level, NodeShape, Pool
from bayplan.topologies import koordinator, native
from bayplan.topologies.hypernodes.source import place
from bayplan.topologies.kueue import objects as kueue_objects
from bayplan.topologies.kueue import source as kueue

Path = tuple[str, ...]


class Loss(NamedTuple):
    """Something that a format cannot hold."""

    title: str
    drop: Callable[[ClusterTopology, Target], ClusterTopology]


def _settings(title: str, **nothing: Any) -> Loss:
    return Loss(title, lambda topology, _: topology._replace(**nothing))


def of_pools(title: str, change: Callable[[ClusterTopology, Pool], Pool]) -> Loss:
    def drop(topology: ClusterTopology, _: Target) -> ClusterTopology:
        return topology._replace(pools=tuple(change(topology, pool) for pool in topology.pools))

    return Loss(title, drop)


def _shape(title: str, **nothing: Any) -> Loss:
    return of_pools(title, lambda _, pool: pool._replace(node=pool.node._replace(**nothing)))


def _levels(title: str, change: Callable[[Level], Level]) -> Loss:
    return of_pools(title, lambda _, pool: pool._replace(levels=tuple(map(change, pool.levels))))


def _rows(title: str, change: Callable[[Domain], Domain]) -> Loss:
    return of_pools(title, lambda _, pool: pool._replace(domains=tuple(map(change, pool.domains))))


name = _settings("its name", name="")
read = _settings("when it was read", read="")
versions = _settings("versions", versions={})
images = _settings("images", images={})
defaults = _settings("defaults", defaults={})
schedulers = _settings("settings of schedulers", schedulers={})
queues = _settings("queues", queues=None)
accelerators = _settings("accelerators", accelerators={})
fabrics = _settings("fabrics", fabrics={})
namespaces = _settings("namespaces", namespaces={})
every_pool = _settings("pools with their nodes", pools=())


def _of_fabrics(title: str, change: Callable[[Fabric], Fabric]) -> Loss:
    def drop(topology: ClusterTopology, _: Target) -> ClusterTopology:
        return topology._replace(fabrics={name: change(each) for name, each in topology.fabrics.items()})

    return Loss(title, drop)


PODS: dict[str, Any] = {"env": {}, "memlock": "", "injector": False, "ipc_lock": None, "privileged": False, "shm": ""}
DEVICES: dict[str, Any] = {"hca": "", "interface": "", "gpu": None, "numa": None, "selectors": ()}
CLOUD = ("efa", "gke", "hostnetwork")
fabric_pods = _of_fabrics("what pods on fabrics carry", lambda fabric: fabric._replace(**PODS))
rail_devices = _of_fabrics(
    "RDMA devices, interfaces and GPUs of rails",
    lambda fabric: fabric._replace(rails=tuple(rail._replace(**DEVICES) for rail in fabric.rails)),
)
cloud_fabrics = Loss(
    "fabrics of the kinds efa, gke and hostnetwork",
    lambda topology, _: topology._replace(
        fabrics={name: each for name, each in topology.fabrics.items() if each.kind not in CLOUD}
    ),
)
unattached = Loss(
    "fabrics of the kinds dranet and none, but for a DeviceClass and the parts of a policy",
    lambda topology, _: topology._replace(
        fabrics={name: each for name, each in topology.fabrics.items() if each.kind not in ("dranet", "none")}
    ),
)

cards = _shape("the accelerator of nodes", accelerator="", accelerators=0)
resources = _shape("resources of nodes", resources={"pods": native.PODS * 1000})
selectors = _shape("node selectors", node_selector={})
tolerations = _shape("tolerations", tolerations=())
template = of_pools("pod templates", lambda _, pool: pool._replace(template={}))

nvlink = _levels("which level is NVLink", lambda level: level._replace(nvlink=False))
nvlink_unknown = _levels(
    "which level is NVLink", lambda level: level._replace(nvlink=level.label == kueue.NVLINK_LABEL)
)
plan = _levels("`plan`", lambda level: level._replace(plan=None))
unique = _levels("`unique`", lambda level: level._replace(unique="global"))
apply = _levels("`apply`", lambda level: level._replace(apply=False))

domains = of_pools("nodes and domains", lambda _, pool: pool._replace(domains=()))
unusable = of_pools("which nodes are unusable", lambda _, pool: pool._replace(unusable={}))
nvlink_domains = _rows("`nvlinkDomain`", lambda row: row._replace(nvlink_domain=""))
leaves = _rows("`leaves`", lambda row: row._replace(leaves=()))
empty = of_pools(
    "domains without nodes",
    lambda _, pool: pool._replace(domains=tuple(row for row in pool.domains if row.nodes)),
)


def _default_queue(topology: ClusterTopology, _: Target) -> ClusterTopology:
    own = topology.defaults.get("queue")
    return topology._replace(queues=topology.queues or ((own,) if own else None))


default_queue = Loss("that any queue is accepted", _default_queue)
"""Of a default queue alone an object is written, and read back as the only one."""


def _level_names(_: ClusterTopology, pool: Pool) -> Pool:
    taken: dict[str, int] = {}
    made = []
    for level in pool.levels:
        stem = kueue.level_name(level.label)
        taken[stem] = taken.get(stem, 0) + 1
        made.append(level._replace(name=stem if taken[stem] == 1 else f"{stem}-{taken[stem]}"))
    return pool._replace(levels=tuple(made))


level_names = of_pools("names of levels (labels end otherwise)", _level_names)
every_node = of_pools(
    "selectors that every node fits",
    lambda _, pool: (
        pool._replace(node=pool.node._replace(node_selector={}))
        if pool.node.node_selector == kueue_objects.EVERY_NODE
        else pool
    ),
)
flavors = of_pools(
    "names of pools (the flavors have others)",
    lambda topology, pool: pool._replace(name=kueue.dns_label(kueue_objects.flavor_name(topology, pool.name))),
)


def _layers(topology: ClusterTopology, _: Target) -> ClusterTopology:
    layers = koordinator.chain(topology)[:-1]
    levels = tuple(Level(koordinator.level_name(each.name), each.labels[0]) for each in layers)
    return topology._replace(pools=(Pool("nodes", NodeShape(), levels),))


layers = Loss("all pools but one list of levels", _layers)


def _unlevelled(topology: ClusterTopology, _: Target) -> ClusterTopology:
    return topology._replace(pools=tuple(pool for pool in topology.pools if pool.levels))


unlevelled = Loss("pools without levels", _unlevelled)


def _usable(_: ClusterTopology, pool: Pool) -> Pool:
    out = {node for nodes in pool.unusable.values() for node in nodes}
    if not out:
        return pool
    rows = (row._replace(nodes=tuple(node for node in row.nodes if node not in out)) for row in pool.domains)
    return pool._replace(domains=tuple(rows), unusable={})


unusable_nodes = of_pools("unusable nodes (left out)", _usable)


def grouped(rows: Iterable[Domain]) -> tuple[Domain, ...]:
    """The rows in their order, those of one parent together."""
    first: dict[Path, int] = {}
    listed = list(rows)
    for number, row in enumerate(listed):
        for depth in range(len(row.path) + 1):
            first.setdefault(row.path[:depth], number)
    return tuple(sorted(listed, key=lambda row: [first[row.path[: depth + 1]] for depth in range(len(row.path))]))


order = of_pools(
    "the order of domains (siblings come together)",
    lambda _, pool: pool._replace(domains=grouped(pool.domains)),
)


by_name = of_pools(
    "the order of domains (they come in that of their names)",
    lambda _, pool: pool._replace(domains=tuple(sorted(pool.domains, key=place))),
)


by_path = of_pools(
    "the order of domains and of their nodes",
    lambda _, pool: pool._replace(
        domains=tuple(sorted(row._replace(nodes=tuple(sorted(row.nodes))) for row in pool.domains))
    ),
)


def _one_tree(topology: ClusterTopology, _: Target) -> ClusterTopology:
    """One pool of all, where all have as many levels: else there is no reading them back as one."""
    if len({len(pool.levels) for pool in topology.pools}) != 1:
        return topology
    rows: dict[tuple[tuple[str, str], ...], Path] = {}
    for pool in topology.pools:
        for row in pool.domains:
            key = tuple(zip((level.label for level in pool.levels), row.path, strict=True))
            rows[key] = rows.get(key, ()) + row.nodes
    made = tuple(Domain(tuple(value for _, value in key), nodes) for key, nodes in rows.items())
    return topology._replace(pools=(Pool("nodes", NodeShape(), topology.pools[0].levels, made),))


one_tree = Loss("pools (all are one tree)", _one_tree)


def _lists(topology: ClusterTopology, _: Target) -> ClusterTopology:
    kept = {tuple(level.label for level in pool.levels): pool for pool in reversed(topology.pools)}
    pools = [pool for pool in topology.pools if kept[tuple(level.label for level in pool.levels)] is pool]
    return topology._replace(pools=tuple(sorted(pools, key=lambda pool: pool.levels)))


def _numbered(topology: ClusterTopology, _: Target) -> ClusterTopology:
    return topology._replace(pools=tuple(p._replace(name=f"pool-{n}") for n, p in enumerate(topology.pools)))


numbered = Loss("names of pools", _numbered)
lists = Loss("pools (those of one list of levels are one)", _lists)


def _places(topology: ClusterTopology, _: Target) -> ClusterTopology:
    def placed(pool: Pool) -> Pool:
        rows = tuple(Domain(row.path[-1:], row.nodes) for row in pool.domains)
        return pool._replace(levels=(Level("unit", "unit"),), domains=rows)

    return topology._replace(pools=tuple(map(placed, topology.pools)))


places = Loss("levels with their labels (nodes know the names of their units)", _places)


def _carried(topology: ClusterTopology, _: Target) -> ClusterTopology:
    marked = any(level.apply for pool in topology.pools for level in pool.levels)
    return topology._replace(pools=tuple(map(_marked, topology.pools))) if marked else topology


def _marked(pool: Pool) -> Pool:
    kept = [depth for depth, level in enumerate(pool.levels) if level.apply]
    rows = (row._replace(path=tuple(row.path[depth] for depth in kept)) for row in pool.domains)
    return pool._replace(levels=tuple(pool.levels[depth] for depth in kept), domains=tuple(rows))


carried = Loss("levels whose labels nodes carry already (only those marked `apply` are written)", _carried)
