"""The levels of each pool as a tree: every domain has one parent, and there are more of them further down."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.nodes import POOLS
from bayplan.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.model.topology import ClusterTopology, Level, Pool
from bayplan.words import count


def check(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T403; without that, T402, T405, T408 and T428."""
    for index, pool in enumerate(topology.pools):
        route: Route = (*POOLS, index)
        wrong = tuple(_lengths(pool, route))
        yield from wrong
        if not wrong:
            yield from _same_path(pool, route)
            yield from _order(pool, route)
            for depth, level in enumerate(pool.levels):
                yield from _parents(pool, route, level, depth)
            yield from _one_node_each(pool, route)


def _lengths(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    names = "/".join(level.name for level in pool.levels)
    for index, domain in enumerate(pool.domains):
        if len(domain.path) != len(pool.levels):
            parts = count(len(domain.path), "part")
            found = f'path "{"/".join(domain.path)}" has {parts}' if domain.path else "there is no path"
            message = f'{found}; pool "{pool.name}" has {count(len(pool.levels), "level")}'
            hint = f'write it as "{names}"' if names else "remove it: the pool has no levels"
            place: Route = (*route, "domains", index)
            yield error("T403", (*place, "path") if domain.path else place, message, hint=hint)


def _same_path(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    first: dict[tuple[str, ...], int] = {}
    for index, domain in enumerate(pool.domains):
        if first.setdefault(domain.path, index) != index:
            what = (
                f'the domain "{"/".join(domain.path)}"' if domain.path else "the only domain of a pool without levels"
            )
            message = f"{what} has two lines"
            notes = (Note("the first is here", (*route, "domains", first[domain.path])),)
            yield error("T428", (*route, "domains", index), message, hint="join their nodes in one line", notes=notes)


def _order(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    """Values are counted, not paths: paths grow downwards even where the levels are upside down."""
    counts = [len({domain.path[depth] for domain in pool.domains}) for depth in range(len(pool.levels))]
    for depth in range(1, len(counts)):
        coarse, fine = pool.levels[depth - 1], pool.levels[depth]
        if counts[depth] < counts[depth - 1] and fine.unique == coarse.unique == "global":
            message = (
                f'"{fine.name}" has {count(counts[depth], "domain")}, "{coarse.name}" above it {counts[depth - 1]}'
            )
            hint = "write levels from coarse to fine, and `unique: parent` where values repeat"
            yield error("T405", (*route, "levels", depth), message, hint=hint)


def _parents(pool: Pool, route: Route, level: Level, depth: int) -> Iterator[Diagnostic]:
    if level.unique == "parent":
        return
    first: dict[str, int] = {}
    told: set[tuple[str, ...]] = set()
    for index, domain in enumerate(pool.domains):
        here, other = (
            domain.path[: depth + 1],
            pool.domains[first.setdefault(domain.path[depth], index)].path[: depth + 1],
        )
        if here != other and here not in told:
            told.add(here)
            message = f'{level.name} "{here[-1]}" lies in "{"/".join(here[:-1])}" and in "{"/".join(other[:-1])}"'
            notes = (Note("the other line", (*route, "domains", first[here[-1]], "path")),)
            hint = f'correct one of them, or write `unique: parent` on the level "{level.name}" if its values repeat'
            yield error("T402", (*route, "domains", index, "path"), message, hint=hint, notes=notes)


def _one_node_each(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    if pool.levels and len(pool.domains) > 1 and all(len(domain.nodes) == 1 for domain in pool.domains):
        message = f'every "{pool.levels[-1].name}" of pool "{pool.name}" has one node'
        hint = 'leave the level out: every pool ends in the level "host" by itself'
        yield warning("T408", (*route, "levels", len(pool.levels) - 1), message, hint=hint)
