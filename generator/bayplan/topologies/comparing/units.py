"""Which units (racks, spines, ...) of a pool are the same ones, whatever they are called now.

A unit is found again under its name below the same parent; else it is the one that holds most of its nodes, if most of
that one's nodes come from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from bayplan.core.values import NamedTuple
from bayplan.model.topology import Pool
from bayplan.topologies.comparing.levels import Alike, levels, never

Path = tuple[str, ...]


class Unit(NamedTuple):
    """A domain of a level. The path has the values of the levels that both pools have."""

    level: str
    path: Path
    nodes: int


class Units(NamedTuple):
    """The units of two pools. `levels`: pairs of depths, of the levels that both have.

    `foreign`: depths of the first, of levels whose domains both know under names of their own.
    `known`: path before -> path after, on those levels. `same`: level, nodes, path before, path after.
    """

    levels: tuple[tuple[int, int], ...]
    known: Mapping[Path, Path]
    same: tuple[tuple[str, int, Path, Path], ...] = ()
    new: tuple[Unit, ...] = ()
    gone: tuple[Unit, ...] = ()
    foreign: frozenset[int] = frozenset()

    def old(self, path: Path) -> Path:
        """A full path of the pool before, on the levels that both have."""
        return tuple(path[i] for i, _ in self.levels if i < len(path))

    def now(self, path: Path) -> Path:
        """The same of the pool after."""
        return tuple(path[j] for _, j in self.levels if j < len(path))

    def together(self, before: Path, after: Path) -> bool:
        """Whether two full paths lead to one unit."""
        return self.known.get(self.old(before)) == self.now(after)


def match(before: Pool, after: Pool, alike: Alike = never) -> Units:
    """The units of a pool found again in another, coarse to fine."""
    pairs, foreign = levels(before, after, alike)
    frame = Units(pairs, {(): ()})
    known: dict[Path, Path] = {(): ()}
    found, new, gone = [], [], []
    shared = _shared(before, after, frame)
    for depth, (i, _) in enumerate(frame.levels, 1):
        level = before.levels[i].name
        left, right = _sizes(before, frame.old, depth), _sizes(after, frame.now, depth)
        here = _below(left, right, _cut(shared, depth), known)
        known.update(here)
        found += [(level, left[old], old, now) for old, now in here.items()]
        taken = set(here.values())
        gone += [Unit(level, path, size) for path, size in left.items() if path not in here]
        new += [Unit(after.levels[frame.levels[depth - 1][1]].name, p, n) for p, n in right.items() if p not in taken]
    return Units(frame.levels, known, tuple(found), tuple(new), tuple(gone), foreign)


def _sizes(pool: Pool, path: Callable[[Path], Path], depth: int) -> dict[Path, int]:
    """Nodes of each unit at a depth."""
    sizes: dict[Path, int] = {}
    for domain in pool.domains:
        unit = path(domain.path)[:depth]
        sizes[unit] = sizes.get(unit, 0) + len(domain.nodes)
    return sizes


def _shared(before: Pool, after: Pool, frame: Units) -> Counter[tuple[Path, Path]]:
    """Nodes that two finest units have in common."""
    homes = {node: frame.now(domain.path) for domain in after.domains for node in domain.nodes}
    shared: Counter[tuple[Path, Path]] = Counter()
    for domain in before.domains:
        old = frame.old(domain.path)
        for now, size in Counter(map(homes.get, domain.nodes)).items():
            if now is not None:
                shared[old, now] += size
    return shared


def _cut(shared: Counter[tuple[Path, Path]], depth: int) -> Counter[tuple[Path, Path]]:
    """The same of the units above, at a depth."""
    cut: Counter[tuple[Path, Path]] = Counter()
    for (old, now), size in shared.items():
        cut[old[:depth], now[:depth]] += size
    return cut


def _below(
    left: Mapping[Path, int],
    right: Mapping[Path, int],
    shared: Counter[tuple[Path, Path]],
    known: Mapping[Path, Path],
) -> dict[Path, Path]:
    """The units of one depth that are the same, given those above."""
    here = {old: now for old, now in _called(left, known) if now in right}
    taken = set(here.values())
    kept, come = _totals(shared)
    for (old, now), size in shared.most_common():
        if old not in here and now not in taken and 2 * size > kept[old] and 2 * size > come[now]:
            here[old] = now
            taken.add(now)
    return {old: here[old] for old in left if old in here}


def _called(left: Mapping[Path, int], known: Mapping[Path, Path]) -> Iterator[tuple[Path, Path]]:
    """Each unit with the path that it has if nothing but its parents was renamed."""
    return ((old, (*known[old[:-1]], old[-1])) for old in left if old and old[:-1] in known)


def _totals(shared: Counter[tuple[Path, Path]]) -> tuple[Counter[Path], Counter[Path]]:
    """How many nodes of each unit are in the other pool at all."""
    kept: Counter[Path] = Counter()
    come: Counter[Path] = Counter()
    for (old, now), size in shared.items():
        kept[old] += size
        come[now] += size
    return kept, come
