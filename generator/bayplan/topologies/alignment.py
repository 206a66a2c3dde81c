"""Compares two topologies: which pools, levels and units (racks, spines, ...) of one are equal to those of the other.

Everything follows from the nodes that both have. `merging`, `comparing` and `refreshing` use this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.model.topology import Domain, Level, Pool

Path = tuple[str, ...]
Shared = Counter[tuple[Path, Path]]
"""A domain of the first pool and one of the second -> how many nodes are in both."""

LEAST_LIKENESS = 0.8
"""Two levels are equal if at least this share of the common nodes is in domains that match each other best."""

SameNames = Callable[[Level, Level], bool]
"""Whether the domains of two equal levels should also have the same names."""


def never(_before: Level, _after: Level) -> bool:
    """For a level with labels and a level with another system's names of domains."""
    return False


class Relation(NamedTuple):
    """How a level of the first pool and a level of the second divide the common nodes."""

    finer: bool  # each domain of the first level is in one domain of the second
    coarser: bool

    @property
    def equal(self) -> bool:
        """Whether both divide the nodes in the same way."""
        return self.finer and self.coarser

    @property
    def crossing(self) -> bool:
        """Whether each level divides domains of the other."""
        return not (self.finer or self.coarser)


class Alignment(NamedTuple):
    """Two pools side by side. `left`, `right`: node -> its domain in the first and in the second pool.

    `shared` counts the nodes of each pair of finest domains; `nodes` names the first of them.
    """

    before: Pool
    after: Pool
    left: Mapping[str, Domain]
    right: Mapping[str, Domain]
    shared: Shared
    nodes: Mapping[tuple[Path, Path], str]

    def likeness(self, i: int, j: int) -> float:
        """The share of nodes in pairs of domains that share more nodes with each other than with any other domain."""
        coarse = _cut(self.shared, i + 1, j + 1)
        first: dict[Path, Path] = {}
        second: dict[Path, Path] = {}
        for (old, new), _ in coarse.most_common():
            first.setdefault(old, new)
            second.setdefault(new, old)
        mutual = sum(size for (old, new), size in coarse.items() if first[old] == new and second[new] == old)
        return mutual / coarse.total() if coarse else 0


def align(before: Pool, after: Pool) -> Alignment:
    """The pools, with the nodes that both have."""
    left, right = ({node: row for row in pool.domains for node in row.nodes} for pool in (before, after))
    shared = Counter((row.path, right[node].path) for node, row in left.items() if node in right)
    nodes = {(left[node].path, right[node].path): node for node in reversed(left) if node in right}
    return Alignment(before, after, left, right, shared, nodes)


def relation(shared: Shared, i: int, j: int) -> Relation:
    """How two levels divide nodes, by their depths."""
    coarse = _cut(shared, i + 1, j + 1)
    return Relation(len(coarse) == len({one for one, _ in coarse}), len(coarse) == len({two for _, two in coarse}))


def _cut(shared: Shared, i: int, j: int) -> Shared:
    """The shared nodes of the first so many levels."""
    coarse: Shared = Counter()
    for (old, new), size in shared.items():
        coarse[old[:i], new[:j]] += size
    return coarse


def pair_pools(before: Sequence[Pool], after: Sequence[Pool]) -> Iterator[tuple[int, int]]:
    """The numbers of equal pools: by name, then by the place of most nodes of a pool."""
    names = {pool.name: j for j, pool in enumerate(after)}
    pairs = {i: names[pool.name] for i, pool in enumerate(before) if pool.name in names}
    taken = set(pairs.values())
    homes = {node: j for j, pool in enumerate(after) if j not in taken for node in pool.nodes()}
    for i, pool in enumerate(before if homes else ()):
        nodes = [homes[node] for node in pool.nodes() if node in homes] if i not in pairs else []
        best = max(sorted(set(nodes) - taken), key=nodes.count, default=None)
        if best is not None and 2 * nodes.count(best) > sum(1 for _ in pool.nodes()):
            pairs[i] = best
            taken.add(best)
    return ((i, pairs[i]) for i in sorted(pairs))


def pair_levels(aligned: Alignment, same_names: SameNames) -> tuple[tuple[tuple[int, int], ...], frozenset[int]]:
    """Pairs of depths, and depths of the first pool whose domains have other names in the second.

    Levels are equal by name or label, or if they divide the nodes in the same way. In the second case, the domains have
    other names: a source without labels has its own names of racks, and a file keeps the values of node labels.
    """
    before, after = aligned.before.levels, aligned.after.levels
    pairs = _levels_by_name(before, after)
    left = [i for i in range(len(before)) if i not in pairs] if len(pairs) < len(after) else []
    own_names: set[int] = set()
    for i in reversed(left):  # of two levels with equal domains, the finer one matches
        likeness = {j: aligned.likeness(i, j) for j in _between(i, pairs, len(after))}
        best = max(likeness, key=lambda j: (likeness[j], j), default=None)
        if best is not None and likeness[best] >= LEAST_LIKENESS:
            pairs[i] = best
            own_names |= set() if same_names(before[i], after[best]) else {i}
    return tuple(sorted(pairs.items())), frozenset(own_names)


def _levels_by_name(before: Sequence[Level], after: Sequence[Level]) -> dict[int, int]:
    """Levels with the same label or name, if their order is the same."""
    labels = {level.label: j for j, level in enumerate(after)}
    names = {level.name: j for j, level in enumerate(after)}
    pairs: dict[int, int] = {}
    for i, level in enumerate(before):
        j = labels.get(level.label, names.get(level.name))
        if j is not None and all(j > other for other in pairs.values()):
            pairs[i] = j
    return pairs


def _between(depth: int, pairs: Mapping[int, int], deepest: int) -> range:
    """Depths of the second pool that can match a level: finer than the level above, coarser than the level below."""
    above = max((j for i, j in pairs.items() if i < depth), default=-1)
    below = min((j for i, j in pairs.items() if i > depth), default=deepest)
    return range(above + 1, below)


class Unit(NamedTuple):
    """A domain of a level. The path has the values of the levels that both pools have."""

    level: str
    path: Path
    nodes: int


class Units(NamedTuple):
    """The units of two pools. `levels`: pairs of depths, of the levels that both have.

    `own_names`: depths of the first pool whose domains have different names in both.
    `paths`: path before -> path after, on those levels. `same`: level, nodes, path before, path after.
    """

    levels: tuple[tuple[int, int], ...]
    paths: Mapping[Path, Path]
    same: tuple[tuple[str, int, Path, Path], ...] = ()
    new: tuple[Unit, ...] = ()
    gone: tuple[Unit, ...] = ()
    own_names: frozenset[int] = frozenset()

    def old(self, path: Path) -> Path:
        """A full path of the pool before, on the levels that both have."""
        return tuple(path[i] for i, _ in self.levels if i < len(path))

    def now(self, path: Path) -> Path:
        """A full path of the pool after, on the levels that both have."""
        return tuple(path[j] for _, j in self.levels if j < len(path))

    def together(self, before: Path, after: Path) -> bool:
        """Whether two full paths lead to one unit."""
        return self.paths.get(self.old(before)) == self.now(after)


def match_units(before: Pool, after: Pool, same_names: SameNames = never) -> Units:
    """Finds the units of a pool in another pool, coarse to fine, even under other names.

    A unit keeps its name below the same parent. Otherwise it is the unit with most of its nodes, if most of the nodes
    of that unit come from it.
    """
    aligned = align(before, after)
    levels, own_names = pair_levels(aligned, same_names)
    units = Units(levels, {(): ()})
    paths: dict[Path, Path] = {(): ()}
    same, new, gone = [], [], []
    shared: Shared = Counter()
    for (old, now), size in aligned.shared.items():
        shared[units.old(old), units.now(now)] += size
    for depth, (i, j) in enumerate(levels, 1):
        left, right = _sizes(before, units.old, depth), _sizes(after, units.now, depth)
        here = _match(left, right, _cut(shared, depth, depth), paths)
        paths.update(here)
        same += [(before.levels[i].name, left[old], old, now) for old, now in here.items()]
        taken = set(here.values())
        gone += [Unit(before.levels[i].name, path, size) for path, size in left.items() if path not in here]
        new += [Unit(after.levels[j].name, path, size) for path, size in right.items() if path not in taken]
    return Units(levels, paths, tuple(same), tuple(new), tuple(gone), own_names)


def _sizes(pool: Pool, path: Callable[[Path], Path], depth: int) -> Counter[Path]:
    """Nodes of each unit at a depth."""
    sizes: Counter[Path] = Counter()
    for domain in pool.domains:
        sizes[path(domain.path)[:depth]] += len(domain.nodes)
    return sizes


def _match(
    left: Mapping[Path, int], right: Mapping[Path, int], shared: Shared, paths: Mapping[Path, Path]
) -> dict[Path, Path]:
    """The equal units of one depth, given the units above."""
    unmoved = ((old, (*paths[old[:-1]], old[-1])) for old in left if old and old[:-1] in paths)
    here = {old: now for old, now in unmoved if now in right}
    taken = set(here.values())
    kept: Counter[Path] = Counter()
    come: Counter[Path] = Counter()
    for (old, now), size in shared.items():
        kept[old] += size
        come[now] += size
    for (old, now), size in shared.most_common():
        if old not in here and now not in taken and 2 * size > kept[old] and 2 * size > come[now]:
            here[old] = now
            taken.add(now)
    return {old: here[old] for old in left if old in here}
