"""Counts a topology: the units of every level with their usable nodes, and how many groups fit.

A group of pods fits a unit by its planned nodes: the usable nodes of each finest domain, at most its `plan`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.values import grouped
from bayplan.fabrics import pools_of
from bayplan.kube.objects import non_empty
from bayplan.model.plan import ONE
from bayplan.model.topology import ClusterTopology, Fabric, Level, Pool
from bayplan.topologies import hostlist

Path = tuple[str, ...]

GROUPS = (1, 2, 4, 8, 16, 18, 32, 64, 128, 256, 512, 1024)
"""Usual sizes of groups: powers of two, and the nodes of an NVL72 rack."""


class Amount(NamedTuple):
    """Nodes of a unit: all nodes, usable nodes, planned nodes of these, and unusable nodes by reason."""

    nodes: int = 0
    usable: int = 0
    planned: int = 0
    unusable: Mapping[str, int] = {}


class Unit(NamedTuple):
    """One domain of a level. `members`: its nodes, only for the finest level; `below`: the units inside."""

    level: str
    path: Path
    amount: Amount
    below: tuple[Unit, ...] = ()
    members: tuple[str, ...] = ()
    nvlink_domain: str = ""


class Fit(NamedTuple):
    """How many groups of a size fit the units of a level, one group in one unit, and the planned nodes left over."""

    size: int
    groups: int
    stranded: int


class LevelCount(NamedTuple):
    """The units of one level. `sizes`, `usable`: nodes of a unit -> how many units have so many, the largest first."""

    name: str
    label: str
    units: int
    sizes: Mapping[int, int]
    usable: Mapping[int, int]
    fits: tuple[Fit, ...]
    nvlink: bool = False
    plan: int | None = None


class Taken(NamedTuple):
    """What one workload takes of a unit: thousandths of cards, and a part of how many nodes."""

    name: str
    accelerators: int
    nodes: int


class Free(NamedTuple):
    """The usable nodes of a unit: free ones, those with some free cards, full ones; thousandths of all cards.

    Without cards, a node is full if anything runs there. `planned`: the free nodes that may be planned now.
    """

    free: int
    planned: int
    partly: int
    full: int
    accelerators: int
    free_accelerators: int
    takers: tuple[Taken, ...]  # the largest first


class PoolCount(NamedTuple):
    """One pool."""

    pool: Pool
    amount: Amount
    levels: tuple[LevelCount, ...]
    units: tuple[Unit, ...]
    reasons: Mapping[str, str]  # node -> why it is unusable
    free: Mapping[Path, Free] = {}  # path of each unit -> what is free; () is the pool
    taken: Mapping[str, tuple[Taken, ...]] = {}  # node -> what runs there


def count(topology: ClusterTopology) -> tuple[PoolCount, ...]:
    """Every pool, counted."""
    return tuple(map(_pool, topology.pools))


def with_free(counted: PoolCount, taken: Mapping[str, tuple[Taken, ...]], planned: Mapping[Path, int]) -> PoolCount:
    """The same with what is free, and groups of free nodes.

    `taken`: node -> what runs there; `planned`: path of a unit -> its free nodes that may be planned.
    """
    pool, free = counted.pool, dict[Path, list[tuple[str, ...]]]()
    for domain in pool.domains:
        usable = tuple(node for node in domain.nodes if node not in counted.reasons)
        for depth in range(len(domain.path) + 1):
            free.setdefault(domain.path[:depth], []).append(usable)
    found = {path: _free(pool, nodes, taken, planned.get(path, 0)) for path, nodes in free.items()}
    levels = []
    for depth, level in enumerate(counted.levels, 1):
        units = [each.planned for path, each in found.items() if len(path) == depth]
        levels.append(level._replace(fits=tuple(_fit(fit.size, units) for fit in level.fits)))
    return counted._replace(levels=tuple(levels), free=found, taken=taken)


def _free(pool: Pool, groups: list[tuple[str, ...]], taken: Mapping[str, tuple[Taken, ...]], planned: int) -> Free:
    cards = pool.node.accelerators * ONE
    states, left, takers = Counter[str](), 0, dict[str, Taken]()
    for node in (node for nodes in groups for node in nodes):
        here = taken.get(node, ())
        unused = max(0, cards - sum(each.accelerators for each in here))
        free = unused == cards and (cards or not here)
        states["free" if free else "partly" if unused else "full"] += 1
        left += unused
        for name, accelerators, _ in here:
            before = takers.get(name, Taken(name, 0, 0))
            takers[name] = Taken(name, before.accelerators + accelerators, before.nodes + 1)
    ordered = sorted(takers.values(), key=lambda each: (-each.accelerators, -each.nodes, each.name))
    total = cards * states.total()
    return Free(states["free"], planned, states["partly"], states["full"], total, left, tuple(ordered))


def _pool(pool: Pool) -> PoolCount:
    reasons = {node: reason for reason, names in reversed([*pool.unusable.items()]) for node in names}
    plan = pool.levels[-1].plan if pool.levels else None
    rows = [(domain.path, _amount(domain.nodes, reasons, plan)) for domain in pool.domains]
    total = total_of([amount for _, amount in rows])
    sizes = _group_sizes(pool, total)
    amounts = [_amounts(rows, depth) for depth in range(1, len(pool.levels) + 1)]
    levels = (_level(level, [*units.values()], sizes) for level, units in zip(pool.levels, amounts, strict=True))
    return PoolCount(pool, total, tuple(levels), _units(pool, amounts), reasons)


def _amount(nodes: Sequence[str], reasons: Mapping[str, str], plan: int | None) -> Amount:
    unusable = Counter(reasons[node] for node in nodes if node in reasons) if reasons else Counter[str]()
    usable = len(nodes) - unusable.total()
    return Amount(len(nodes), usable, usable if plan is None else min(plan, usable), unusable)


def total_of(amounts: Sequence[Amount]) -> Amount:
    """Several units as one."""
    unusable: Counter[str] = Counter()
    for amount in amounts:
        unusable.update(amount.unusable)
    return Amount(
        sum(each.nodes for each in amounts),
        sum(each.usable for each in amounts),
        sum(each.planned for each in amounts),
        unusable,
    )


def _amounts(rows: Sequence[tuple[Path, Amount]], depth: int) -> dict[Path, Amount]:
    """The units of a depth."""
    inside = grouped((path[:depth], amount) for path, amount in rows)
    return {path: total_of(below) if len(below) > 1 else below[0] for path, below in inside.items()}


def _level(level: Level, units: Sequence[Amount], sizes: Sequence[int]) -> LevelCount:
    return LevelCount(
        level.name,
        level.label,
        len(units),
        _counted(each.nodes for each in units),
        _counted(each.usable for each in units),
        tuple(_fit(size, [each.planned for each in units]) for size in sizes),
        level.nvlink,
        level.plan,
    )


def _counted(numbers: Iterator[int]) -> dict[int, int]:
    return dict(sorted(Counter(numbers).items(), reverse=True))


def _fit(size: int, planned: Sequence[int]) -> Fit:
    """`planned`: the nodes of each unit that may be planned."""
    groups = sum(nodes // size for nodes in planned)
    return Fit(size, groups, sum(planned) - groups * size)


def _group_sizes(pool: Pool, total: Amount) -> tuple[int, ...]:
    """The usual sizes up to the largest unit, the plan, and the size of a whole finest domain."""
    whole = Counter(len(domain.nodes) for domain in pool.domains if pool.levels).most_common(1)
    own = {pool.levels[-1].plan or 0 if pool.levels else 0, *(size for size, _ in whole)}
    tops: Counter[Path] = Counter()
    for domain in pool.domains:
        tops[domain.path[:1]] += len(domain.nodes)
    most = max(tops.values(), default=0)
    return tuple(sorted(size for size in {*GROUPS, *own} if 0 < size <= min(most, total.nodes)))


def _units(pool: Pool, amounts: Sequence[Mapping[Path, Amount]]) -> tuple[Unit, ...]:
    """The tree, its roots first."""
    below: dict[Path, list[Unit]] = {}
    members: dict[Path, tuple[str, ...]] = {}
    marks: dict[Path, str] = {}
    for domain in pool.domains:
        members[domain.path] = (*members.get(domain.path, ()), *domain.nodes)
        marks[domain.path] = domain.nvlink_domain
    for depth in range(len(amounts), 0, -1):
        level, finest = pool.levels[depth - 1].name, depth == len(amounts)
        for path, amount in amounts[depth - 1].items():
            nodes = members.get(path, ()) if finest else ()
            mark = marks.get(path, "") if finest else ""
            below.setdefault(path[:-1], []).append(
                Unit(level, path, amount, tuple(below.get(path, ())) if not finest else (), nodes, mark)
            )
    if not amounts and pool.domains:
        return (Unit("", (), total_of([_amount(each.nodes, {}, None) for each in pool.domains]), (), members[()]),)
    return tuple(below.get((), ()))


# The counts as JSON data.


def data(topology: ClusterTopology, counted: tuple[PoolCount, ...], level: str) -> dict[str, Any]:
    """The whole cluster with its units down to a level, or all units if `level` is empty."""
    return {
        "topology": topology.name,
        **_amount_data(total_of([each.amount for each in counted])),
        "pools": [_pool_data(each, level) for each in counted],
        **non_empty(fabrics=[_fabric_data(topology, each) for each in topology.fabrics.values()]),
    }


def _fabric_data(topology: ClusterTopology, fabric: Fabric) -> dict[str, Any]:
    return {
        "name": fabric.name,
        "kind": fabric.kind,
        "linkType": fabric.link_type or None,
        "rails": len(fabric.rails),
        "pools": [pool.name for pool in pools_of(topology, fabric.name)],
    }


def _pool_data(counted: PoolCount, level: str) -> dict[str, Any]:
    pool = counted.pool
    depth = next((n for n, each in enumerate(pool.levels, 1) if each.name == level), len(pool.levels))
    return {
        "name": pool.name,
        "accelerator": pool.node.accelerator or None,
        "accelerators": pool.node.accelerators * counted.amount.nodes,
        **_amount_data(counted.amount),
        **_free_data(counted, ()),
        "levels": list(map(_level_data, counted.levels)),
        "domains": [_unit_data(counted, each, depth) for each in counted.units],
        "unusableNodes": {reason: hostlist.compress(names) for reason, names in pool.unusable.items()},
    }


def _amount_data(amount: Amount) -> dict[str, Any]:
    return {
        "nodes": amount.nodes,
        "usable": amount.usable,
        "planned": amount.planned,
        "unusable": dict(sorted(amount.unusable.items())),
    }


def _level_data(level: LevelCount) -> dict[str, Any]:
    return {
        "name": level.name,
        "label": level.label,
        "nvlink": level.nvlink,
        "plan": level.plan,
        "domains": level.units,
        "sizes": _sizes_data(level.sizes, "nodes"),
        "usable": _sizes_data(level.usable, "usable"),
        "groups": [fit._asdict() for fit in level.fits],
    }


def _sizes_data(sizes: Mapping[int, int], word: str) -> list[dict[str, int]]:
    return [{word: size, "domains": units} for size, units in sizes.items()]


def _unit_data(counted: PoolCount, unit: Unit, depth: int) -> dict[str, Any]:
    below = unit.below if len(unit.path) < depth else ()
    return {
        "level": unit.level or None,
        "path": "/".join(unit.path),
        **_amount_data(unit.amount),
        **_free_data(counted, unit.path),
        **non_empty(nvlinkDomain=unit.nvlink_domain, nodeNames=hostlist.compress(unit.members)),
        **non_empty(domains=[_unit_data(counted, each, depth) for each in below]),
    }


def _free_data(counted: PoolCount, path: Path) -> dict[str, Any]:
    if path not in counted.free:
        return {}
    free = counted.free[path]
    return {
        "free": {
            "nodes": free.free,
            "planned": free.planned,
            "partlyFree": free.partly,
            "full": free.full,
            "accelerators": free.free_accelerators / ONE,
            "occupants": [
                {"name": each.name, "accelerators": each.accelerators / ONE, "nodes": each.nodes}
                for each in free.takers
            ],
        }
    }
