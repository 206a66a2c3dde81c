"""What is worth knowing of a topology, and only said when one asks for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bayplan.checks.nodes import POOLS
from bayplan.diagnostics import Diagnostic, Route, info
from bayplan.model.topology import ClusterTopology, Pool

WALLS = frozenset({"crusoe.ai/ib.partition.id"})
"""Labels of levels whose domains no network of jobs joins (Crusoe: InfiniBand partitions)."""


def check(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T404, T410, T449."""
    for index, pool in enumerate(topology.pools):
        yield from _walls(pool, (*POOLS, index, "levels"))
        if all(len(domain.path) == len(pool.levels) for domain in pool.domains):
            for depth in range(len(pool.levels)):
                yield from _level(pool, depth, (*POOLS, index, "levels", depth))


def _walls(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    """Several roots: of most levels nobody says whether jobs may cross their domains, of these the label does."""
    for depth, level in enumerate(pool.levels if pool.domains else ()):
        sizes: Counter[tuple[str, ...]] = Counter()
        for domain in pool.domains:
            sizes[domain.path[: depth + 1]] += len(domain.nodes)
        if level.label in WALLS and len(sizes) > 1:
            message = (
                f'no job can span two domains of "{level.name}" in pool "{pool.name}": there are {len(sizes)}, the'
                f" largest with {max(sizes.values())} nodes"
            )
            yield info("T449", (*route, depth), message, hint="a gang has to fit into one of them")


def _level(pool: Pool, depth: int, route: Route) -> Iterator[Diagnostic]:
    sizes: Counter[tuple[str, ...]] = Counter()
    for domain in pool.domains:
        sizes[domain.path[: depth + 1]] += len(domain.nodes)
    name = pool.levels[depth].name
    if len(sizes) == 1 and not pool.levels[depth].nvlink:
        yield info(
            "T404",
            route,
            f'there is only one "{name}" in pool "{pool.name}"',
            hint="leave it out, unless another pool needs it",
        )
    elif len(set(sizes.values())) > 1:
        groups = sorted(Counter(sizes.values()).items(), reverse=True)
        shown = ", ".join(f"{count} with {size} nodes" for size, count in groups[:10])
        yield info(
            "T410",
            route,
            f'the domains of "{name}" differ in size: {shown}',
            hint="a group that must fit anywhere has to fit the smallest",
        )
