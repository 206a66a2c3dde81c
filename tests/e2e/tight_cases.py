"""Random cases that fit, and just about: unlike groups cut from the domains of a cluster, and pods cut from its nodes.

Their pools have nodes that are reserved, broken or cordoned. Their pods have templates, extended resources, huge pages,
scratch space and ports of their node. The same seed gives the same case.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from e2e.others import PORTS
from e2e.scheduler import Case, Other

Object = dict[str, Any]
PREFIX = "random-"
LEVELS = (("zone", "topology.kubernetes.io/zone"), ("spine", "example.com/spine"), ("rack", "nvidia.com/gpu.clique"))
CARDS = 4
OUT = ("reserved", "reserved", "notReady", "unhealthy", "cordoned")
EXTRAS = {
    "rdma/ib": "8",
    "hugepages-2Mi": "64Gi",
    "ephemeral-storage": "512Gi",
}
"""Resource -> what a node has of it. A pod with all of its cards requests all of it."""


def case(seed: int) -> Case:
    """The case of a seed."""
    draw = Random(seed)
    depth = draw.choice((2, 2, 3))
    pools = [_pool(draw, "gb", depth)]
    if draw.random() < 0.3:
        pools.append(_pool(draw, "h", depth))
    kind = draw.choice(("groups", "groups", "groups", "pods", "groups of pods"))
    gang: Object = {"name": "g0", "rendezvous": "none", "computeDomain": "never", "workload": "pods"}
    gang |= _of_pods(draw, pools[0], depth) if kind == "pods" else _of_groups(draw, pools, depth, kind)
    for spec in _specs(gang):
        spec |= {"image": "registry.example.com/x:1", "command": ["run"]}
        spec.setdefault("pool", "gb")
        spec.setdefault("resources", {"cpu": "1"})
    _add_extras(draw, pools, list(_specs(gang)))
    return Case(f"{PREFIX}{seed}", _workflow(gang), _topology(draw, pools), others=tuple(_in_reserved(draw, pools)))


def _workflow(gang: Object) -> Object:
    head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": "wf", "namespace": "ml"}}
    return {**head, "spec": {"queue": "research", "gangs": [gang]}}


def _topology(draw: Random, pools: list[Object]) -> Object:
    allocators: tuple[Object, ...] = (
        {"allocator": "device-plugin"},
        {"allocator": "device-plugin"},
        {"allocator": "dra", "deviceClass": "gpu.nvidia.com"},
    )
    return {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": "hall"},
        "spec": {
            "versions": {"kubernetes": "1.34", "kai": "0.13", "draDriver": "25.12", "jobset": "0.12"},
            "defaults": {"scheduler": "kai", "queue": "research", "namespace": "ml"},
            "pools": pools,
            "accelerators": {"gb200": {"vendor": "nvidia", **draw.choice(allocators)}},
        },
    }


def _pool(draw: Random, name: str, depth: int) -> Object:
    """Racks of 2 to 6 nodes below one or two spines. Some nodes are out."""
    spines = draw.choice((1, 1, 2))
    domains, out = [], dict[str, list[str]]()
    for rack in range(draw.choice((2, 3, 3, 4, 5))):
        nodes = [f"{name}-{rack}-{number}" for number in range(draw.randint(2, 6))]
        spine = draw.randrange(spines)
        path = ["z0", f"s{spine}", f"{name}r{rack}"][3 - depth :]
        domains.append({"path": "/".join(path), "nodes": ",".join(nodes)})
        if draw.random() < 0.3:
            out.setdefault(draw.choice(OUT), []).append(nodes[-1])
    pool: Object = {
        "name": name,
        "node": {
            "accelerator": "gb200",
            "count": CARDS,
            "cpu": "64",
            "memory": "512Gi",
            "nodeSelector": {"example.com/pool": name},
        },
        "levels": [{"name": level, "label": label} for level, label in LEVELS[3 - depth :]],
        "domains": domains,
    }
    return {**pool, **({"unusable": {why: ",".join(names) for why, names in out.items()}} if out else {})}


def _usable(pool: Object) -> dict[tuple[str, ...], list[str]]:
    out = {name for names in pool.get("unusable", {}).values() for name in names.split(",")}
    rows = ((row["path"].split("/"), row["nodes"].split(",")) for row in pool["domains"])
    return {tuple(path): [name for name in nodes if name not in out] for path, nodes in rows}


def _of_groups(draw: Random, pools: list[Object], depth: int, kind: str) -> Object:
    """Groups that fill the racks of one spine of a pool, in a random order; those of another pool beside them."""
    groups: list[Object] = []
    for pool in pools:
        rooms = _usable(pool)
        spine = draw.choice(sorted({path[:-1] for path in rooms}))
        sizes = [size for path, nodes in rooms.items() if path[:-1] == spine for size in _cut(draw, len(nodes))]
        draw.shuffle(sizes)
        for size in sizes[: draw.choice((3, 4, 6))]:
            pods = {"name": "w", "replicas": size, "accelerator": {"count": CARDS}, "pool": pool["name"]}
            sets = _divided(draw, pods) if kind == "groups of pods" else [pods]
            group = {"name": f"u{len(groups)}", "replicas": 1, "podSets": sets}
            groups.append(group | ({"placement": {"required": "rack"}} if draw.random() < 0.9 else {}))
    outer = draw.choice((None, "spine", "spine", LEVELS[3 - depth][0]))
    return {"groups": groups, **({"placement": {"required": outer}} if outer and len(pools) == 1 else {})}


def _cut(draw: Random, room: int) -> Iterator[int]:
    """Sizes that add up to the room, or to a little less."""
    while room:
        size = draw.randint(1, min(room, 4))
        yield size
        room -= size
        if draw.random() < 0.15:
            return


def _divided(draw: Random, pods: Object) -> list[Object]:
    """Pods of a part of their node in place of those of whole nodes."""
    large = draw.choice((2, 3))
    count = pods["replicas"]
    small = {**pods, "name": "x", "replicas": count * (CARDS - large), "accelerator": {"count": 1}}
    return [{**pods, "accelerator": {"count": large}}, small]


def _of_pods(draw: Random, pool: Object, depth: int) -> Object:
    """Large and small pods that must share the nodes of one rack."""
    room = len(draw.choice([nodes for nodes in _usable(pool).values() if nodes]))
    large = draw.choice((2, 3, 3))
    small = draw.randint(1, CARDS - large)
    counts = {"train": (room, large), "eval": (draw.randint(1, room * ((CARDS - large) // small)), small)}
    names = sorted(counts, reverse=draw.random() < 0.5)
    sets = [{"name": n, "replicas": counts[n][0], "accelerator": {"count": counts[n][1]}} for n in names]
    return {"podSets": sets, "placement": {"required": draw.choice(("rack", "rack", LEVELS[3 - depth][0]))}}


def _specs(part: Object) -> Iterator[Object]:
    yield from part.get("podSets", ())
    for group in part.get("groups", ()):
        yield from _specs(group)


def _add_extras(draw: Random, pools: list[Object], specs: list[Object]) -> None:
    """In most cases one or two things beside CPUs and cards."""
    for name in draw.sample(sorted(EXTRAS), draw.choice((0, 0, 1, 2))):
        for pool in pools:
            pool["node"].setdefault("resources", {})[name] = EXTRAS[name]
        some = specs if draw.random() < 0.5 else draw.sample(specs, draw.randint(1, len(specs)))
        for spec in some:
            number, unit = int(EXTRAS[name].removesuffix("Gi")), EXTRAS[name].lstrip("0123456789")
            amount = number * spec["accelerator"]["count"] // CARDS
            spec["resources"] = {**spec["resources"], name: f"{amount}{unit}"}
            if name.startswith("hugepages"):
                spec["resources"].setdefault("memory", "1Gi")
    if draw.random() < 0.3:
        draw.choice(specs)["template"] = {"metadata": {"annotations": {"example.com/team": "vision"}}}
    if draw.random() < 0.1:
        chosen = draw.choice(specs)
        chosen |= {"ports": {"http": PORTS[0]}, "template": {"spec": {"hostNetwork": True}}}


def _in_reserved(draw: Random, pools: list[Object]) -> Iterator[Other]:
    """What others run on reserved nodes: mostly something that takes all cards, now and then nothing."""
    for pool in pools:
        for name in filter(None, pool.get("unusable", {}).get("reserved", "").split(",")):
            if draw.random() < 0.7:
                yield Other("team-a/train-1", name, cards=CARDS, cpu=1000)
