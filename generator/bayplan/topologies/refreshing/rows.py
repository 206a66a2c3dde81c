"""The rows of a pool as the sources have them, each where its unit stood in the file."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, error
from bayplan.core.values import NamedTuple
from bayplan.model.topology import Domain, Pool
from bayplan.topologies import hostlist
from bayplan.topologies.comparing.units import Path, Units


class Rows(NamedTuple):
    """`kept`: what becomes of each row of the file, None where it goes. `inserted`: new ones, each before a row."""

    kept: tuple[Domain | None, ...]
    inserted: tuple[tuple[int, Domain], ...] = ()

    @property
    def all(self) -> tuple[Domain, ...]:
        """The rows of the file to be."""
        before: dict[int, list[Domain]] = {}
        for index, row in self.inserted:
            before.setdefault(index, []).append(row)
        kept = ((*before.get(index, ()), row) for index, row in enumerate((*self.kept, None)))
        return tuple(row for each in kept for row in each if row is not None)


def rows(old: Pool, new: Pool, units: Units, route: Route, found: list[Diagnostic]) -> Rows:
    """The rows of `old` brought up to date. T574: nodes that a level is missing for, which only the file has."""
    wanted = _by_unit(new, units)
    owners: dict[Path, list[int]] = {}
    for index, domain in enumerate(old.domains):
        now = units.known.get(units.old(domain.path))
        if now is not None:
            owners.setdefault(now, []).append(index)
    kept: list[Domain | None] = [None if domain.nodes else domain for domain in old.domains]  # placeholders stay
    for now, indices in owners.items():
        if now in wanted:
            _fill(kept, old, indices, _Found(now, wanted[now], units), route, found)
    missing = [(now, domain) for now, domain in wanted.items() if now not in owners]
    return Rows(tuple(kept), tuple(_inserted(old, kept, missing, units, route, found)))


class _Found(NamedTuple):
    """A unit as the sources have it."""

    path: Path
    domain: Domain
    units: Units


def _by_unit(new: Pool, units: Units) -> dict[Path, Domain]:
    """Unit on the common levels -> its nodes; levels that the file lacks are folded."""
    wanted: dict[Path, Domain] = {}
    for domain in new.domains:
        path = units.now(domain.path)
        if path in wanted:
            folded = wanted[path]
            nodes, leaves = (*folded.nodes, *domain.nodes), dict.fromkeys((*folded.leaves, *domain.leaves))
            wanted[path] = folded._replace(nodes=nodes, nvlink_domain="", leaves=tuple(leaves))
        else:
            wanted[path] = domain
    return wanted


def _fill(
    kept: list[Domain | None], old: Pool, indices: Sequence[int], unit: _Found, route: Route, found: list[Diagnostic]
) -> None:
    """The rows of one unit. Where the file tells finer levels apart than the sources, nodes stay where they were."""
    nodes = unit.domain.nodes
    if len(indices) > 1:
        there = {node for index in indices for node in old.domains[index].nodes}
        if more := [node for node in nodes if node not in there]:
            found.append(_placeless(old, unit.units, more, (*route, "domains", indices[-1])))
    for index in indices:
        row = old.domains[index]
        path = _renamed(row.path, unit.path, unit.units)
        mine = nodes if len(indices) == 1 else tuple(node for node in row.nodes if node in set(nodes))
        kept[index] = row._replace(path=path, nodes=_ordered(row.nodes, mine))
        if len(indices) == 1:
            marks = unit.domain.nvlink_domain or row.nvlink_domain, unit.domain.leaves or row.leaves
            kept[index] = Domain(path, _ordered(row.nodes, mine), *marks)


def _renamed(path: Path, now: Path, units: Units) -> Path:
    """The path with the values that the sources have for the levels that they know."""
    values = list(path)
    for (depth, _), value in zip(units.levels, now, strict=False):
        if depth < len(values) and depth not in units.foreign:
            values[depth] = value
    return tuple(values)


def _ordered(old: Sequence[str], new: tuple[str, ...]) -> tuple[str, ...]:
    """The new nodes in the order of the sources, unless the file has another: then what is new comes last."""
    there, here = set(old), set(new)
    staying = [node for node in old if node in here]
    if staying == [node for node in new if node in there]:
        return new
    return (*staying, *(node for node in new if node not in there))


def _inserted(
    old: Pool,
    kept: Sequence[Domain | None],
    missing: Sequence[tuple[Path, Domain]],
    units: Units,
    route: Route,
    found: list[Diagnostic],
) -> Iterator[tuple[int, Domain]]:
    """Rows for units that the file lacks, beside those that share most of their parents."""
    if not missing:
        return
    shelf = _shelf(kept)
    made: list[tuple[int, Path, Domain]] = []
    for now, domain in missing:
        path = _completed(old, now, units, kept)
        if path is None:
            found.append(_placeless(old, units, domain.nodes, (*route, "domains")))
        else:
            made.append((_place(path, shelf), path, domain._replace(path=path)))
    yield from ((index, row) for index, _, row in sorted(made, key=lambda each: each[:2]))


Shelf = Mapping[Path, tuple[list[str], list[int], bool]]
"""Parent, of any level -> the values below it, where the last row of each stands, and whether they are in order."""


def _shelf(kept: Sequence[Domain | None]) -> Shelf:
    ends: dict[Path, dict[str, int]] = {(): {}}
    for index, row in enumerate(kept):
        for depth, value in enumerate(row.path if row and row.nodes else ()):
            assert row is not None
            ends.setdefault(row.path[:depth], {})[value] = index
    return {parent: ([*below], [*below.values()], sorted(below) == [*below]) for parent, below in ends.items()}


def _place(path: Path, shelf: Shelf) -> int:
    """The number of the row before which a new one stands: in order where there is one, else behind its like."""
    depth = next(depth for depth in range(len(path) - 1, -1, -1) if path[:depth] in shelf) if path else 0
    values, ends, in_order = shelf[path[:depth]]
    after = bisect(values, path[depth]) if path and in_order else len(values)
    if after:
        return ends[after - 1] + 1
    return _before(path[:depth], shelf)


def _before(parent: Path, shelf: Shelf) -> int:
    """The row in front of all of a parent: behind the one before that, if there is one."""
    while parent:
        parent, value = parent[:-1], parent[-1]
        values, ends, _ = shelf[parent]
        if place := values.index(value):
            return ends[place - 1] + 1
    return 0


def _completed(old: Pool, now: Path, units: Units, kept: Sequence[Domain | None]) -> Path | None:
    """The full path of a unit: levels whose values the sources lack have the one that all its like have."""
    found = {depth: value for (depth, _), value in zip(units.levels, now, strict=False) if depth not in units.foreign}
    finest = max((depth for depth, _ in units.levels), default=-1)
    for depth in range(len(old.levels)):
        if depth not in found:
            value = _common(depth, now, units, old, kept) if depth < finest else None
            if value is None:
                return None
            found[depth] = value
    return tuple(found[depth] for depth in range(len(old.levels)))


def _common(depth: int, now: Path, units: Units, old: Pool, kept: Sequence[Domain | None]) -> str | None:
    """The one value that the nearest rows have at a depth."""
    pairs = [(units.known.get(units.old(row.path)), row.path) for row in old.domains if len(row.path) > depth]
    there = [(where, path) for (where, path), row in zip(pairs, kept, strict=False) if where is not None and row]
    inside = sum(1 for i, _ in units.levels if i <= depth) if depth in units.foreign else 0
    for much in range(len(now) - 1, inside - 1, -1):
        found = {path[depth] for where, path in there if where is not None and where[:much] == now[:much]}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _placeless(old: Pool, units: Units, nodes: Sequence[str], route: Route) -> Diagnostic:
    depths = {depth for depth, _ in units.levels} - units.foreign
    names = " and ".join(f'"{level.name}"' for depth, level in enumerate(old.levels) if depth not in depths)
    shown = hostlist.compress(nodes)
    message = f'nothing says in which {names} of pool "{old.name}" the new nodes {shown[:200]} are'
    return error("T574", route, message, hint="add a source that knows the level, or put the nodes in by hand")
