"""Pools as blocks or switches of Slurm: names, sizes, and placeholders that keep the tree aligned.

Slurm aggregates aligned runs of 2^k blocks in the order of the file (24.11 to 25.11, `block_record.c`). A spine with
six racks therefore needs eight blocks, and two empty blocks follow it. Slurm 24.11 refuses empty blocks and blocks
smaller than the base, so a level that would need them is not aggregated there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.plugin import (
    ClusterTopology,
    Domain,
    NameRule,
    Pool,
    Target,
    known_units,
    name_rules,
    settings,
    siblings_together,
    slurm_name,
    unit_name,
)
from bayplan.plugins.slurm.topology import BLOCK, FLAT, LEVELS, TREE

Path = tuple[str, ...]


class LayoutUnit(NamedTuple):
    """A block or switch to write. `original`: its path, if its name differs."""

    name: str
    nodes: Path = ()
    children: Path = ()
    original: str = ""


class SlurmLayout(NamedTuple):
    """One topology to write. `planned`: level -> the block size that equals the size of its domains."""

    name: str
    plugin: str
    units: tuple[LayoutUnit, ...] = ()
    sizes: tuple[int, ...] = ()
    planned: Mapping[str, int] = {}
    comments: tuple[str, ...] = ()
    padded: frozenset[str] = frozenset()  # levels that need placeholders to be aligned

    @property
    def base(self) -> int:
        """The planning size of a block; 0 for other plugins."""
        return self.sizes[0] if self.sizes else 0


def plugin_of(topology: ClusterTopology, pool: Pool) -> str:
    """The topology plugin of a pool; a pool without levels is flat."""
    return str(settings(topology, pool.name).get("plugin", BLOCK)) if pool.levels else FLAT


class Names:
    """The names of units: known names, and new names that are unique."""

    def __init__(self, known: Mapping[str, Mapping[str, str]]) -> None:
        self._known = known
        self._taken = {name for units in known.values() for name in units.values()}

    def of(self, pool: Pool, path: Path) -> str:
        """The unit of a domain of that pool."""
        return self._known[pool.name].get("/".join(path)) or self.free(path[-1])

    def free(self, text: str) -> str:
        """A unique name like the string."""
        name = free = unit_name(text)
        number = 1
        while free in self._taken:
            number += 1
            free = f"{name}-{number}"
        self._taken.add(free)
        return free


def layouts(topology: ClusterTopology, target: Target) -> tuple[SlurmLayout, ...]:
    """The layouts that bayplan plans with, one for each pool."""
    return tuple(layout(topology, pool, target) for pool in topology.pools)


def all_layouts(topology: ClusterTopology, target: Target) -> tuple[SlurmLayout, ...]:
    """The layouts of a topology.yaml: one for each pool, and further ones of the same nodes (25.05 and later).

    Pools may share a topology by its name, such as a tree above the blocks of several pools.
    """
    by_name: dict[str, SlurmLayout] = {}
    for pool in topology.pools:
        own = settings(topology, pool.name)
        found = [] if "levels" in own else [layout(topology, pool, target)]
        for each in (
            *([{**own, "topology": topology_name(topology, pool)}] if not found else []),
            *own.get("also", ()),
        ):
            further = with_levels(pool, each["levels"])
            slurm = {"names": own.get("names", ()), **each}
            found.append(layout(topology._replace(pools=(further,), schedulers={"slurm": slurm}), further, target))
        for one in found:
            by_name[one.name] = _joined(by_name[one.name], one) if one.name in by_name else one
    return tuple(by_name.values())


def _joined(one: SlurmLayout, other: SlurmLayout) -> SlurmLayout:
    """The units of both. A switch in both has the children and nodes of both."""
    units = {unit.name: unit for unit in one.units}
    for unit in other.units:
        mine = units.get(unit.name, unit)
        nodes = tuple(dict.fromkeys((*mine.nodes, *unit.nodes)))
        units[unit.name] = mine._replace(nodes=nodes, children=tuple(dict.fromkeys((*mine.children, *unit.children))))
    return one._replace(units=tuple(units.values()), sizes=tuple(sorted({*one.sizes, *other.sizes})))


def with_levels(pool: Pool, names: Sequence[str]) -> Pool:
    """The pool with only some of its levels."""
    kept = [depth for depth, level in enumerate(pool.levels) if level.name in names]
    nodes: dict[Path, list[str]] = {}
    for row in pool.domains:
        nodes.setdefault(tuple(row.path[depth] for depth in kept), []).extend(row.nodes)
    domains = tuple(Domain(path, tuple(held)) for path, held in nodes.items())
    return pool._replace(levels=tuple(pool.levels[depth] for depth in kept), domains=domains)


def layout(topology: ClusterTopology, pool: Pool, target: Target) -> SlurmLayout:
    """The topology of one pool."""
    name = topology_name(topology, pool)
    plugin = plugin_of(topology, pool)
    if plugin == FLAT:
        return SlurmLayout(name, FLAT)
    rules = name_rules(topology)
    names = Names({pool.name: known_units(topology, pool)})
    result = _blocks(pool, rules, names, target) if plugin == BLOCK else _switches(pool, rules, names, name)
    levels = " ".join(f"{each.name}={each.label}{',nvlink' if each.nvlink else ''}" for each in pool.levels)
    return result._replace(name=name, comments=(f"# levels of {name}: {levels}",))


def topology_name(topology: ClusterTopology, pool: Pool) -> str:
    """The name in the file, or the name of the pool. Slurm only requires that names differ."""
    own = topology.schedulers.get("slurm", {})
    shared = own.get("topology") if len(topology.pools) == 1 else None
    return str(own.get("pools", {}).get(pool.name, {}).get("topology") or shared or pool.name)


def one_layout(topology: ClusterTopology, target: Target) -> SlurmLayout:
    """The layout of a topology.conf: one topology for all pools.

    Several pools share only the base size. A pool without levels is one block or switch, because Slurm never uses nodes
    that are not in its topology.
    """
    pool_layouts = layouts(topology, target)
    if len(pool_layouts) == 1 and pool_layouts[0].plugin != FLAT:
        return pool_layouts[0]._replace(
            comments=(pool_layouts[0].comments[0].replace(f"levels of {pool_layouts[0].name}", "levels of default"),)
        )
    plugin = next((each.plugin for each in pool_layouts if each.plugin != FLAT), BLOCK)
    rules, names = name_rules(topology), Names({pool.name: known_units(topology, pool) for pool in topology.pools})
    units: list[LayoutUnit] = []
    for pool in topology.pools:
        each = _blocks(pool, rules, names, target) if plugin == BLOCK else _switches(pool, rules, names, pool.name)
        units += (unit for unit in each.units if unit.nodes or unit.children)
    bases = [len(unit.nodes) for unit in units if unit.nodes]
    bases_set = [each.base for each in pool_layouts if each.base]
    base = (
        min([*bases_set, *bases])
        if not target.since("slurm", "25.05")
        else max(bases_set, default=max(bases, default=1))
    )
    return SlurmLayout("default", plugin, tuple(units), _sizes(units, [base]) if plugin == BLOCK else ())


def _blocks(pool: Pool, rules: tuple[NameRule, ...], names: Names, target: Target) -> SlurmLayout:
    placeholders = target.since("slurm", "25.05")
    rows = siblings_together(pool.domains)
    base = _base(pool, rows, placeholders)
    slots, padded = _slots(pool, rows)
    units: list[LayoutUnit] = []
    for before, row in zip([None, *rows], rows, strict=False):
        if placeholders and before:
            units += _filler(before.path, row.path, slots, len(units), names)
        nodes = tuple(slurm_name(node, rules) for node in row.nodes)
        path = row.path or (pool.name,)
        units.append(_unit(names.of(pool, path), path, nodes))
    aligned = {name: slot for name, slot in slots.items() if placeholders or name not in padded}
    planned = {name: base * slot for name, slot in aligned.items() if slot.bit_length() - 1 <= LEVELS}
    sizes = _sizes(units, [base, *planned.values()])
    finest = {pool.levels[-1].name: base} if pool.levels else {}
    return SlurmLayout("", BLOCK, tuple(units), sizes, {**planned, **finest}, padded=frozenset(padded))


def _sizes(units: Sequence[LayoutUnit], planned: Sequence[int]) -> tuple[int, ...]:
    """The planning sizes, and one for all blocks and all nodes together: Slurm starts no job with more nodes than the
    largest size (25.11, `eval_nodes_block.c`)."""
    base = planned[0]
    blocks = max(len(units), -(-sum(len(unit.nodes) for unit in units) // base))
    whole = base << min((blocks - 1).bit_length(), LEVELS)
    return tuple(sorted({*planned, whole} if whole > max(planned) else {*planned}))


def _base(pool: Pool, rows: Iterable[Domain], placeholders: bool) -> int:
    """The `plan` of the finest level, or the size of its largest domain. Before 25.05 no block can be smaller."""
    sizes = [len(row.nodes) for row in rows if row.nodes] or [1]
    planned = pool.levels[-1].plan if pool.levels else None
    return planned or (max(sizes) if placeholders else min(sizes))


def _slots(pool: Pool, rows: list[Domain]) -> tuple[dict[str, int], set[str]]:
    """Level above the finest -> number of blocks of each domain; and the levels that need placeholders."""
    slots: dict[str, int] = {}
    padded: set[str] = set()
    below = 1
    for depth in range(len(pool.levels) - 1, 0, -1):
        children: dict[Path, set[Path]] = {}
        for row in rows:
            children.setdefault(row.path[:depth], set()).add(row.path[: depth + 1])
        most = max((len(each) for each in children.values()), default=1)
        slot = below << (most - 1).bit_length()
        filled = [len(each) * below == slot for each in children.values()]
        finer = [pool.levels[n].name for n in range(depth, len(pool.levels) - 1)]
        if not all(filled[:-1]) or any(name in padded for name in finer):
            padded.add(pool.levels[depth - 1].name)
        slots[pool.levels[depth - 1].name] = below = slot
    return slots, padded


def _filler(before: Path, path: Path, slots: Mapping[str, int], result: int, names: Names) -> Iterator[LayoutUnit]:
    """Empty blocks up to the boundary where the outermost domain that starts here must start."""
    differ = next((n for n, (mine, theirs) in enumerate(zip(path, before, strict=True)) if mine != theirs), len(path))
    steps = list(slots.values())[::-1]  # coarse to fine
    missing = -result % steps[differ] if differ < len(steps) else 0
    stem = "-".join(before[: differ + 1])
    for number in range(missing):
        yield LayoutUnit(names.free(f"{stem}-none{number + 1}"))


def _unit(name: str, path: Path, nodes: Path = (), children: Path = ()) -> LayoutUnit:
    """The block or switch of a domain."""
    whole = "/".join(path)
    return LayoutUnit(name, nodes, children, whole if whole != name else "")


def _switches(pool: Pool, rules: tuple[NameRule, ...], units_of: Names, name: str) -> SlurmLayout:
    """A switch for each domain, the leaves last. If there are several at the top, one is above all, because jobs cannot
    span switches without a common one. Slurm accepts no switch without children or nodes."""
    leaves = {row.path or (pool.name,): row for row in siblings_together(pool.domains) if row.nodes}
    names: dict[Path, str] = {}
    below: dict[Path, list[str]] = {}
    for depth in range(1, max(len(pool.levels), 1) + 1):
        for path in dict.fromkeys(path[:depth] for path in leaves):
            names[path] = units_of.of(pool, path)
            below.setdefault(path[:-1], []).append(names[path])
    tops = tuple(below[()])
    units = [LayoutUnit(units_of.free(f"{name}-all"), children=tops)] if len(tops) > 1 else []
    for path, switch in names.items():
        held = tuple(slurm_name(node, rules) for node in leaves[path].nodes) if path in leaves else ()
        units.append(_unit(switch, path, held, tuple(below.get(path, ()))))
    return SlurmLayout("", TREE, tuple(units))
