"""Which levels of two pools are the same ones: those of one name or label, else those that cut the nodes alike.

Of the latter only the cuts agree: a source without labels has names of its own for racks, and a file keeps the values
that its nodes carry as labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from bayplan.model.topology import Level, Pool

ALIKE = 0.8
"""Share of the nodes that both know which stand in domains that are each other's likest."""


Alike = Callable[[Level, Level], bool]
"""Whether the domains of two levels that cut the nodes alike should be called alike too."""


def never(_before: Level, _after: Level) -> bool:
    """Labels and the names that another system has for the same domains."""
    return False


def levels(before: Pool, after: Pool, alike: Alike = never) -> tuple[tuple[tuple[int, int], ...], frozenset[int]]:
    """Pairs of depths, and those depths of the first pool whose domains have names of their own in the second."""
    pairs = _called(before.levels, after.levels)
    left = [i for i in range(len(before.levels)) if i not in pairs]
    foreign: set[int] = set()
    if left and len(pairs) < len(after.levels):
        homes = {node: domain.path for domain in after.domains for node in domain.nodes}
        shared = _shared(before, homes)
        for i in reversed(left):  # where one level cuts as another does, the finer one is meant
            best = max(_between(i, pairs, len(after.levels)), key=lambda j: (_likeness(shared, i, j), j), default=None)
            if best is not None and _likeness(shared, i, best) >= ALIKE:
                pairs[i] = best
                foreign |= set() if alike(before.levels[i], after.levels[best]) else {i}
    return tuple(sorted(pairs.items())), frozenset(foreign)


def _called(before: Sequence[Level], after: Sequence[Level]) -> dict[int, int]:
    """Levels of one label, else of one name, as far as their order is one."""
    labels = {level.label: j for j, level in enumerate(after)}
    names = {level.name: j for j, level in enumerate(after)}
    pairs: dict[int, int] = {}
    for i, level in enumerate(before):
        j = labels.get(level.label, names.get(level.name))
        if j is not None and all(j > other for other in pairs.values()):
            pairs[i] = j
    return pairs


def _between(depth: int, pairs: Mapping[int, int], deepest: int) -> range:
    """Depths of the second pool that a level may be: finer than what is above it, coarser than what is below."""
    above = max((j for i, j in pairs.items() if i < depth), default=-1)
    below = min((j for i, j in pairs.items() if i > depth), default=deepest)
    return range(above + 1, below)


Shared = Counter[tuple[tuple[str, ...], tuple[str, ...]]]
"""Nodes of two finest domains that they have in common."""


def _shared(before: Pool, homes: Mapping[str, tuple[str, ...]]) -> Shared:
    shared: Shared = Counter()
    for domain in before.domains:
        for path, size in Counter(homes[node] for node in domain.nodes if node in homes).items():
            shared[domain.path, path] += size
    return shared


def _likeness(shared: Shared, i: int, j: int) -> float:
    """The share of nodes in pairs of domains that have more in common with each other than with any other."""
    cut: Shared = Counter()
    for (old, new), size in shared.items():
        cut[old[: i + 1], new[: j + 1]] += size
    first: dict[tuple[str, ...], tuple[str, ...]] = {}
    second: dict[tuple[str, ...], tuple[str, ...]] = {}
    for (old, new), _ in cut.most_common():
        first.setdefault(old, new)
        second.setdefault(new, old)
    total = cut.total()
    return (
        sum(size for (old, new), size in cut.items() if first[old] == new and second[new] == old) / total
        if total
        else 0
    )
