"""Random cases: small clusters with holes, and workflows that about fill them. The same seed gives the same case.

Seeds from `RICHER` on have more: optional groups and pods, also inside a required level, a level required twice,
preferences finer than requirements, pods without requests, unlike pods, and nodes that others use. In those from `BUSY`
on, pods of others take about half of the cluster. Those from `TIGHT` on fit just about (`tight_cases`).
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from random import Random
from typing import Any

from e2e import tight_cases
from e2e.others import PORTS, half, some
from e2e.scheduler import Case, Other

Object = dict[str, Any]
LEVELS = (("zone", "topology.kubernetes.io/zone"), ("spine", "example.com/spine"), ("rack", "nvidia.com/gpu.clique"))
KINDS = {
    "counted": {"vendor": "nvidia", "allocator": "device-plugin"},
    "claimed": {"vendor": "nvidia", "allocator": "dra", "deviceClass": "gpu.nvidia.com"},
}

PREFIX = "random-"
RICHER = 100_000
BUSY = 200_000
TIGHT = 300_000


def seeds(first: int, last: int) -> list[int]:
    """Seeds number `first` to `last`, without the last: by turns from 0 on and from `RICHER` on."""
    return [number // 2 + (RICHER if number % 2 else 0) for number in range(first, last)]


def busy_seeds(first: int, last: int) -> list[int]:
    """The same of half-busy clusters."""
    return list(range(BUSY + first, BUSY + last))


def richer(case: Case) -> bool:
    """Whether the case is a random one from `RICHER` on."""
    return case.name.startswith(PREFIX) and int(case.name.removeprefix(PREFIX)) >= RICHER


def tight_seeds(first: int, last: int) -> list[int]:
    """The same of cases that fit, and just about."""
    return list(range(TIGHT + first, TIGHT + last))


def case(seed: int) -> Case:
    """The case of a seed."""
    if seed >= TIGHT:
        return tight_cases.case(seed)
    draw = Random(seed)
    topology = _topology(draw)
    pools = topology["spec"]["pools"]
    others: list[Other] = []
    if seed >= BUSY:
        others += half(draw, pools)
    workflow = _workflow(draw, topology, 0.35 if seed >= BUSY else 1.0)
    if BUSY > seed >= RICHER:
        others += (each for pool in pools for each in _busy(draw, pool))
    if seed >= RICHER:
        _enrich(draw, workflow, pools, {each.node for each in others} if seed < BUSY else set())
    if seed >= BUSY and draw.random() < 0.1:
        _open_port(draw, workflow)
    return Case(f"{PREFIX}{seed}", workflow, topology, others=tuple(others))


def _busy(draw: Random, pool: Object) -> Iterator[Other]:
    """In some pools, pods of others on some of the usable nodes."""
    names = [name for domain in pool["domains"] for name in domain["nodes"].split(",")]
    out = {name for each in pool.get("unusable", {}).values() for name in each.split(",")}
    free = [name for name in names if name not in out]
    if len(free) > 2 and draw.random() < 0.3:
        chosen = draw.sample(free, draw.randint(1, len(free) // 2))
        yield from some(Random(str(chosen)), pool, chosen)


def _open_port(draw: Random, workflow: Object) -> None:
    """One podSet whose pods use a port of their node."""
    spec = draw.choice([each for gang in workflow["spec"]["gangs"] for each in _specs(gang)])
    spec |= {"ports": {"http": PORTS[0]}, "template": {"spec": {"hostNetwork": True}}}


def _enrich(draw: Random, workflow: Object, pools: list[Object], busy: Set[str]) -> None:
    levels = [each["name"] for each in pools[0].get("levels", ())]
    for gang in workflow["spec"]["gangs"]:
        _enrich_unit(draw, gang, levels, "", pools[0]["node"]["count"])
    _add_optional_groups(draw, workflow["spec"]["gangs"][0], pools[0], busy)
    if draw.random() < 0.6:  # Volcano does not place pods with nothing but claims
        for spec in (spec for gang in workflow["spec"]["gangs"] for spec in _specs(gang) if "accelerator" in spec):
            spec.setdefault("resources", {"cpu": "1"})


def _add_optional_groups(draw: Random, gang: Object, pool: Object, busy: Set[str]) -> None:
    """In half of the cases with room: optional groups, mostly inside a required level, up to its largest domain."""
    levels = [each["name"] for each in pool.get("levels", ())]
    out = {name for each in pool.get("unusable", {}).values() for name in each.split(",")} | busy
    rooms: dict[tuple[str, ...], int] = {}
    for row in pool["domains"] if levels else ():
        path = tuple(row["path"].split("/"))
        free = len([name for name in row["nodes"].split(",") if name not in out])
        for depth in range(1, len(path) + 1):
            rooms[path[:depth]] = rooms.get(path[:depth], 0) + free
    outer = draw.randint(1, max(1, len(levels)))
    sizes = [free for path, free in rooms.items() if len(path) == outer]
    if len(sizes) < 2 or max(sizes) < 3 or draw.random() < 0.5:
        return
    replicas = draw.randint(2, min(4, max(sizes)))
    pods = {
        "name": "w",
        "image": "registry.example.com/x:1",
        "command": ["run"],
        "replicas": draw.randint(1, max(sizes) // replicas),
        "accelerator": {"count": pool["node"]["count"]},
        "pool": pool["name"],
    }
    group = {"name": "u", "replicas": replicas, "minReplicas": draw.randint(1, replicas - 1), "podSets": [pods]}
    if draw.random() < 0.5:
        group["placement"] = {"required": levels[-1]}
    for key in ("podSets", "groups"):
        gang.pop(key, None)
    gang |= {"placement": {"required": levels[outer - 1]}, "groups": [group]}
    if draw.random() < 0.3:
        del gang["placement"]


def _enrich_unit(draw: Random, unit: Object, levels: list[str], around: str, cards: int) -> None:
    placement = dict(unit.get("placement", {}))
    if around and draw.random() < 0.2:
        placement["required"] = around
    required = placement.get("required", around)
    finer = levels[levels.index(required) + 1 :] if required else levels
    if finer and draw.random() < 0.3:
        placement["preferred"] = draw.choice(finer)
    if placement.get("preferred") not in (None, *finer):
        del placement["preferred"]
    if placement:
        unit["placement"] = placement
    for group in unit.get("groups", ()):
        if group["replicas"] > 1 and draw.random() < 0.3:
            group["minReplicas"] = draw.randint(1, group["replicas"] - 1)
        _enrich_unit(draw, group, levels, required, cards)
    if unit.get("podSets"):
        _enrich_pods(draw, unit["podSets"], cards)


def _enrich_pods(draw: Random, sets: list[Object], cards: int) -> None:
    if draw.random() < 0.2:
        sets.append({**sets[0], "name": "y", "replicas": 1, "accelerator": {"count": draw.randint(1, cards)}})
        sets[-1].pop("minReplicas", None)
    if draw.random() < 0.1:
        sets.append({key: sets[0][key] for key in ("image", "command")} | {"name": "z", "replicas": draw.randint(1, 2)})
    for each in sets:
        if each["replicas"] > 1 and draw.random() < 0.15:
            each["minReplicas"] = draw.randint(1, each["replicas"])


def _topology(draw: Random) -> Object:
    levels = LEVELS[draw.choice((0, 0, 1, 1, 1, 2)) :]
    pools = [_pool(draw, "gb", levels, draw.choice((1, 2, 4, 4)))]
    if draw.random() < 0.25:
        pools.append(_pool(draw, "cpu", draw.choice((levels, levels, levels[-1:], ())), 0))
    if len(pools) > 1:
        for pool in pools:
            pool["node"]["nodeSelector"] = {"example.com/pool": pool["name"]}
    return {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": "hall"},
        "spec": {
            "versions": {"kubernetes": "1.34", "kai": "0.13", "draDriver": "25.12", "jobset": "0.12"},
            "defaults": {"scheduler": "kai", "queue": "research", "namespace": "ml"},
            "pools": pools,
            "accelerators": {"gb200": KINDS[draw.choice(("counted", "counted", "claimed"))]},
        },
    }


def _pool(draw: Random, name: str, levels: tuple[tuple[str, str], ...], cards: int) -> Object:
    """Some racks of uneven size; in a tenth of the cases just one, in some a domain around a single one."""
    racks = draw.choice((1, 1, 2, 3, 3, 4, 5, 6)) if levels else 1
    node: Object = {"cpu": str(draw.choice((8, 16, 64))), "memory": "64Gi"}
    if cards:
        node = {"accelerator": "gb200", "count": cards, **node}
    if draw.random() < 0.1:
        node["pods"] = draw.choice((2, 4))
    domains, names = [], []
    even = draw.choice((0, 0, 2, 4))
    spines = draw.choice((1, 2, 2, 3))
    for rack in range(racks):
        count = even or draw.randint(1, 5)
        spine = rack * spines // racks
        path = [f"z{spine // 2}", f"s{spine}", f"r{rack}"][3 - len(levels) :]
        nodes = [f"{name}-{rack}-{number}" for number in range(count)]
        names += nodes
        domains.append({**({"path": "/".join(path)} if path else {}), "nodes": ",".join(nodes)})
    pool: Object = {"name": name, "node": node, "domains": domains}
    if levels:
        pool["levels"] = [{"name": each, "label": label} for each, label in levels]
        if cards:
            pool["levels"][-1]["nvlink"] = True
    out = [each for each in names if draw.random() < draw.choice((0, 0, 0.1, 0.3))]
    if out and len(out) < len(names):
        half = draw.randint(0, len(out))
        pool["unusable"] = {
            key: ",".join(each) for key, each in (("cordoned", out[:half]), ("spare", out[half:])) if each
        }
    return pool


def _workflow(draw: Random, topology: Object, room: float) -> Object:
    """`room`: the part of the cluster that may be free."""
    pools = topology["spec"]["pools"]
    count = draw.choice((1, 1, 1, 1, 2, 2, 3))
    gangs = [_gang(draw, f"g{number}", pools, room / count) for number in range(count)]
    return {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "wf", "namespace": "ml"},
        "spec": {"queue": "research", "gangs": gangs},
    }


def _gang(draw: Random, name: str, pools: list[Object], room: float) -> Object:
    levels = [each["name"] for each in pools[0].get("levels", ())]
    share = draw.choice((0.2, 0.4, 0.5, 0.7, 0.9, 1.0)) * room
    nodes = sum(len(each["nodes"].split(",")) for each in pools[0]["domains"])
    placement, floor = _placement(draw, levels, 0)
    gang: Object = {"name": name, "rendezvous": "none", "workload": draw.choice(("pods", "pods", "jobset", "job"))}
    gang |= placement
    gang |= _contents(draw, levels, floor, draw.choice((0, 1, 1, 2)), max(1, round(share * nodes)), pools)
    if len({tuple(each["label"] for each in pool.get("levels", ())) for pool in pools}) > 1 and "'placement'" in str(
        gang
    ):
        for spec in _specs(gang):  # a placement is over pools with the same levels (W323, P502)
            spec.pop("pool", None)
            spec["pool"] = pools[0]["name"]
    cards = pools[0]["node"]["count"]
    if draw.random() < 0.3 or any(spec.get("accelerator", {}).get("count", cards) < cards for spec in _specs(gang)):
        gang["computeDomain"] = "never"  # a channel is for pods that take whole nodes (P506)
    return gang


def _specs(part: Object) -> Iterator[Object]:
    yield from part.get("podSets", ())
    for group in part.get("groups", ()):
        yield from _specs(group)


def _placement(draw: Random, levels: list[str], floor: int) -> tuple[Object, int]:
    """A required level, a preferred one, both or none; never coarser than what is around."""
    found: Object = {}
    if floor < len(levels) and draw.random() < 0.55:
        floor = draw.randint(floor, len(levels) - 1)
        found["required"] = levels[floor]
    if floor + bool(found) < len(levels) and draw.random() < 0.3:
        found["preferred"] = levels[draw.randint(floor + bool(found), len(levels) - 1)]
    return ({"placement": found} if found else {}), floor


def _contents(draw: Random, levels: list[str], floor: int, depth: int, nodes: int, pools: list[Object]) -> Object:
    if depth == 0:
        return {"podSets": _pod_sets(draw, nodes, pools)}
    groups = []
    kinds = draw.choice((1, 1, 2)) if nodes > 1 else 1
    for number in range(kinds):
        placement, inner = _placement(draw, levels, floor)
        mine = max(1, nodes // kinds)
        replicas = draw.randint(1, min(4, mine))
        below = draw.choice((0, depth - 1))
        inside = _contents(draw, levels, inner, below, max(1, mine // replicas), pools)
        groups.append({"name": f"u{number}", "replicas": replicas, **placement, **inside})
    return {"groups": groups}


def _pod_sets(draw: Random, nodes: int, pools: list[Object]) -> list[Object]:
    """About so many nodes' worth of pods: whole nodes, parts of nodes, or parts beside pods without cards."""
    cards = pools[0]["node"]["count"]
    cpu = int(pools[0]["node"]["cpu"])
    each = draw.choice((cards, cards, max(1, cards // 2), 1))
    first: Object = {"name": "w", "replicas": nodes * (cards // each), "accelerator": {"count": each}}
    if draw.random() < 0.5:
        first["resources"] = {"cpu": str(max(1, cpu * each // cards - draw.choice((0, 1, 2))))}
    made = [first]
    if draw.random() < 0.25:
        side = draw.choice(pools)
        made.append({"name": "c", "replicas": draw.randint(1, 3), "resources": {"cpu": draw.choice(("1", "2", "4"))}})
        made[-1]["pool"] = side["name"]
    if draw.random() < 0.2:
        made.append({"name": "x", "replicas": draw.randint(1, 2), "accelerator": {"count": draw.randint(1, cards)}})
    if draw.random() < 0.1:
        first["minReplicas"] = draw.randint(1, first["replicas"])
    for spec in made:
        spec |= {"image": "registry.example.com/x:1", "command": ["run"]}
    return made
