"""`topology import --update`: the edits that bring a topology file up to date, and the diagnostics about them.

It adds, changes and removes domains, and replaces node states that the sources know. Levels, node shapes, templates,
spares, reservations, and everything that does not concern nodes stay as the user wrote them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, Route, error, has_errors, info, warning
from bayplan.core.phrases import count
from bayplan.core.values import grouped
from bayplan.kube import quantity
from bayplan.model.topology import ClusterTopology, Domain, NodeShape, Pool
from bayplan.text.edits import Edit
from bayplan.topologies import hostlist, native
from bayplan.topologies.alignment import Path, Units
from bayplan.topologies.comparing import Comparison, Group, Pair, Place, Renamed, compare

POOLS: Route = ("topology", "spec", "pools")
FATAL = "before slurmctld restarts, make sure that its saved state has no old name: otherwise it does not start"
MOST = 50
"""Lines of a table in a diagnostic; `bayplan topology diff` shows all."""


def report(
    old: ClusterTopology, new: ClusterTopology, compared: Comparison, known: frozenset[int]
) -> tuple[Diagnostic, ...]:
    """T439, T571, T444, T576. `known`: the pools of the file that sources know, by number."""
    issues: list[Diagnostic] = []
    pools = {new.pools[pair.after].name: pair.before for pair in compared.pairs if pair.before in known}
    for name, index in pools.items():
        pool, route = old.pools[index], (*POOLS, index)
        issues += _report_renamed(pool, [each for each in compared.renamed if each.pool == name and each.value], route)
        issues += _report_gone_units(
            pool, [unit.path for owner, unit in compared.units_gone if owner == name and unit.nodes], route
        )
        gone, moved = (
            [each for each in groups if _in(each.before, pool.name)] for groups in (compared.gone, compared.moved)
        )
        new_nodes = [each for each in compared.new if _in(each.after, name)]
        issues += _report_nodes(pool, gone, moved, new_nodes, route)
    issues += _report_unknown(old, known)
    issues += _report_pools(new, compared)
    shapes = [(pair.before, pair.after) for pair in compared.pairs if pair.before in known]
    issues += (each for i, j in shapes for each in _report_shape(old.pools[i], new.pools[j].node, (*POOLS, i, "node")))
    return tuple(issues)


def _in(place: Place | None, pool: str) -> bool:
    return place is not None and place.pool == pool


def _report_renamed(pool: Pool, renamed: Sequence[Renamed], route: Route) -> Iterator[Diagnostic]:
    """T571."""
    rows = _first_rows(pool)
    for level in dict.fromkeys(each.level for each in renamed):
        table = [each for each in renamed if each.level == level]
        lines = [
            (f'"{"/".join(each.before)}" is now "{"/".join(each.after)}"', rows.get(each.before)) for each in table
        ]
        message = f'renamed {count(len(table), "domain")} of level "{level}" in pool "{pool.name}"'
        yield warning("T571", (*route, "domains"), message, hint=FATAL, notes=_notes(lines, route))


def _first_rows(pool: Pool) -> dict[Path, int]:
    """Unit -> the number of its first row. Paths agree only if the sources know all levels of the file."""
    rows: dict[Path, int] = {}
    for index, domain in enumerate(pool.domains):
        for depth in range(1, len(domain.path) + 1):
            rows.setdefault(domain.path[:depth], index)
    return rows


def _notes(lines: Sequence[tuple[str, int | None]], route: Route) -> tuple[Note, ...]:
    shown = [Note(text, (*route, "domains") if row is None else (*route, "domains", row)) for text, row in lines[:MOST]]
    rest = [Note(f"and {len(lines) - MOST} more; `bayplan topology diff` shows all")] if len(lines) > MOST else []
    return (*shown, *rest)


def _report_gone_units(pool: Pool, paths: Sequence[Path], route: Route) -> Iterator[Diagnostic]:
    """T571."""
    if paths:
        message = f'removed {count(len(paths), "domain")} of pool "{pool.name}"'
        rows = _first_rows(pool)
        lines = [(f'"{"/".join(path)}" is in no source', rows.get(path)) for path in paths]
        yield warning("T571", (*route, "domains"), message, hint=FATAL, notes=_notes(lines, route))


def _report_nodes(
    pool: Pool, gone: Sequence[Group], moved: Sequence[Group], new: Sequence[Group], route: Route
) -> Iterator[Diagnostic]:
    """T571 and T576."""
    place = (*route, "domains")
    if gone:
        message = f"removed {_count_nodes(gone, pool)}, which no source has: {_node_names(gone)}"
        hint = "check the difference before you keep it: a truncated source looks the same"
        yield warning("T571", place, message, hint=hint)
    if moved:
        lines = [
            (f"{_listed(each.nodes)}: from {_place_name(each.before)} to {_place_name(each.after)}", None)
            for each in moved
        ]
        message = f"moved {_count_nodes(moved, pool)} to another place: {_node_names(moved)}"
        yield info("T576", place, message, notes=_notes(lines, route))
    if new:
        yield info("T576", place, f"added {_count_nodes(new, pool)}: {_node_names(new)}")


def _count_nodes(groups: Iterable[Group], pool: Pool) -> str:
    """`2 nodes of pool "gb200"`."""
    number = sum(len(each.nodes) for each in groups)
    return f'{count(number, "node")} of pool "{pool.name}"'


def _node_names(groups: Iterable[Group]) -> str:
    return _listed([node for each in groups for node in each.nodes])


def _listed(nodes: Sequence[str]) -> str:
    text = hostlist.compress(nodes)
    return text if len(text) <= 160 else f"{text[:157]}..."


def _place_name(place: Place | None) -> str:
    return "nowhere" if place is None else f'"{"/".join(place.path)}"' if place.path else f'pool "{place.pool}"'


def _report_unknown(old: ClusterTopology, known: frozenset[int]) -> Iterator[Diagnostic]:
    """T439."""
    for index, pool in enumerate(old.pools):
        if index not in known:
            message = f'kept pool "{pool.name}", although no source knows any of its nodes'
            yield warning("T439", (*POOLS, index, "name"), message, hint="remove it by hand if its nodes are gone")


def _report_pools(new: ClusterTopology, compared: Comparison) -> Iterator[Diagnostic]:
    """T576 for whole pools."""
    for name in compared.pools_new:
        pool = new.pool(name)
        nodes = sum(len(domain.nodes) for domain in pool.domains) if pool else 0
        if nodes:
            yield info("T576", POOLS, f'added pool "{name}" with {count(nodes, "node")} at the end')


def _report_shape(pool: Pool, actual: NodeShape, route: Route) -> Iterator[Diagnostic]:
    """T444: the file promises more than nodes have. A smaller amount is the user's decision."""
    own = pool.node
    if own.described and actual.accelerators and own.accelerators != actual.accelerators:
        message = f'pool "{pool.name}" has {own.accelerators} GPUs per node, but {actual.accelerators} in the sources'
        yield warning("T444", (*route, "count"), message, hint=KEPT)
    for name, amount in own.resources.items():
        there = actual.resources.get(name)
        if there is not None and there < amount:
            have = f"{quantity.show(amount)} of {name} per node, but {quantity.show(there)} in the sources"
            place = (*route, name) if name in ("cpu", "memory", "pods") else (*route, "resources", name)
            yield warning("T444", place, f'pool "{pool.name}" has {have}', hint=KEPT)


KEPT = "correct the file if it is wrong: --update never changes what nodes offer"


# The domains of a pool from the sources, each at its position in the file.


class Rows(NamedTuple):
    """`kept`: the new form of each row of the file, or None to remove it. `inserted`: new rows, each before a row."""

    kept: tuple[Domain | None, ...]
    inserted: tuple[tuple[int, Domain], ...] = ()

    @property
    def all(self) -> tuple[Domain, ...]:
        """The rows of the new file."""
        before = grouped(self.inserted)
        kept = ((*before.get(index, ()), row) for index, row in enumerate((*self.kept, None)))
        return tuple(row for each in kept for row in each if row is not None)


def refresh_rows(old: Pool, new: Pool, units: Units, route: Route, issues: list[Diagnostic]) -> Rows:
    """The up-to-date rows of `old`. T440 for nodes without a value of a level that only the file has."""
    by_unit = _by_unit(new, units)
    paths = ((units.paths.get(units.old(domain.path)), index) for index, domain in enumerate(old.domains))
    owners = grouped((now, index) for now, index in paths if now is not None)
    kept: list[Domain | None] = [None if domain.nodes else domain for domain in old.domains]  # placeholders stay
    for now, indices in owners.items():
        if now in by_unit:
            _fill(kept, old, indices, _Unit(now, by_unit[now], units), route, issues)
    missing = [(now, domain) for now, domain in by_unit.items() if now not in owners]
    return Rows(tuple(kept), tuple(_new_rows(old, kept, missing, units, route, issues)))


class _Unit(NamedTuple):
    """A unit in the sources."""

    path: Path
    domain: Domain
    units: Units


def _by_unit(new: Pool, units: Units) -> dict[Path, Domain]:
    """Unit on the common levels -> its nodes; levels that the file lacks are folded."""
    by_unit: dict[Path, Domain] = {}
    for domain in new.domains:
        path = units.now(domain.path)
        if path in by_unit:
            folded = by_unit[path]
            nodes, leaves = (*folded.nodes, *domain.nodes), dict.fromkeys((*folded.leaves, *domain.leaves))
            by_unit[path] = folded._replace(nodes=nodes, nvlink_domain="", leaves=tuple(leaves))
        else:
            by_unit[path] = domain
    return by_unit


def _fill(
    kept: list[Domain | None], old: Pool, indices: Sequence[int], unit: _Unit, route: Route, issues: list[Diagnostic]
) -> None:
    """The rows of one unit. If the file has finer levels than the sources, nodes keep their place in these."""
    nodes = unit.domain.nodes
    if len(indices) > 1:
        there = {node for index in indices for node in old.domains[index].nodes}
        if more := [node for node in nodes if node not in there]:
            issues.append(_unplaceable(old, unit.units, more, (*route, "domains", indices[-1])))
    for index in indices:
        row = old.domains[index]
        path = _renamed_path(row.path, unit.path, unit.units)
        mine = nodes if len(indices) == 1 else tuple(node for node in row.nodes if node in set(nodes))
        kept[index] = row._replace(path=path, nodes=_ordered(row.nodes, mine))
        if len(indices) == 1:
            marks = unit.domain.nvlink_domain or row.nvlink_domain, unit.domain.leaves or row.leaves
            kept[index] = Domain(path, _ordered(row.nodes, mine), *marks)


def _renamed_path(path: Path, now: Path, units: Units) -> Path:
    """The path with the values that the sources have for the levels that they know."""
    values = list(path)
    for (depth, _), value in zip(units.levels, now, strict=False):
        if depth < len(values) and depth not in units.own_names:
            values[depth] = value
    return tuple(values)


def _ordered(old: Sequence[str], new: tuple[str, ...]) -> tuple[str, ...]:
    """The new nodes in the order of the sources, unless the file has another: then what is new comes last."""
    there, here = set(old), set(new)
    staying = [node for node in old if node in here]
    if staying == [node for node in new if node in there]:
        return new
    return (*staying, *(node for node in new if node not in there))


def _new_rows(
    old: Pool,
    kept: Sequence[Domain | None],
    missing: Sequence[tuple[Path, Domain]],
    units: Units,
    route: Route,
    issues: list[Diagnostic],
) -> Iterator[tuple[int, Domain]]:
    """Rows for units that the file lacks, next to rows that share most of their parents."""
    if not missing:
        return
    row_index = _row_index(kept)
    result: list[tuple[int, Path, Domain]] = []
    for now, domain in missing:
        path = _full_path(old, now, units, kept)
        if path is None:
            issues.append(_unplaceable(old, units, domain.nodes, (*route, "domains")))
        else:
            result.append((_insert_at(path, row_index), path, domain._replace(path=path)))
    yield from ((index, row) for index, _, row in sorted(result, key=lambda each: each[:2]))


RowIndex = Mapping[Path, tuple[list[str], list[int], bool]]
"""Parent, of any level -> the values below it, the position of the last row of each, and whether they are in order."""


def _row_index(kept: Sequence[Domain | None]) -> RowIndex:
    ends: dict[Path, dict[str, int]] = {(): {}}
    for index, row in enumerate(kept):
        for depth, value in enumerate(row.path if row and row.nodes else ()):
            assert row is not None
            ends.setdefault(row.path[:depth], {})[value] = index
    return {parent: ([*below], [*below.values()], sorted(below) == [*below]) for parent, below in ends.items()}


def _insert_at(path: Path, row_index: RowIndex) -> int:
    """The number of the row after a new row: in order if the rows are in order, otherwise after similar rows."""
    depth = next(depth for depth in range(len(path) - 1, -1, -1) if path[:depth] in row_index) if path else 0
    values, ends, in_order = row_index[path[:depth]]
    after = bisect(values, path[depth]) if path and in_order else len(values)
    if after:
        return ends[after - 1] + 1
    return _before_parent(path[:depth], row_index)


def _before_parent(parent: Path, row_index: RowIndex) -> int:
    """The position of the first row of a parent: after the parent before it, if there is one."""
    while parent:
        parent, value = parent[:-1], parent[-1]
        values, ends, _ = row_index[parent]
        if place := values.index(value):
            return ends[place - 1] + 1
    return 0


def _full_path(old: Pool, now: Path, units: Units, kept: Sequence[Domain | None]) -> Path | None:
    """The full path of a unit. For levels that the sources lack, it has the value of all similar rows."""
    values = {
        depth: value for (depth, _), value in zip(units.levels, now, strict=False) if depth not in units.own_names
    }
    finest = max((depth for depth, _ in units.levels), default=-1)
    for depth in range(len(old.levels)):
        if depth not in values:
            value = _common_value(depth, now, units, old, kept) if depth < finest else None
            if value is None:
                return None
            values[depth] = value
    return tuple(values[depth] for depth in range(len(old.levels)))


def _common_value(depth: int, now: Path, units: Units, old: Pool, kept: Sequence[Domain | None]) -> str | None:
    """The one value of the nearest rows at a depth."""
    pairs = [(units.paths.get(units.old(row.path)), row.path) for row in old.domains if len(row.path) > depth]
    there = [(where, path) for (where, path), row in zip(pairs, kept, strict=False) if where is not None and row]
    inside = sum(1 for i, _ in units.levels if i <= depth) if depth in units.own_names else 0
    for much in range(len(now) - 1, inside - 1, -1):
        values = {path[depth] for where, path in there if where is not None and where[:much] == now[:much]}
        if values:
            return values.pop() if len(values) == 1 else None
    return None


def _unplaceable(old: Pool, units: Units, nodes: Sequence[str], route: Route) -> Diagnostic:
    depths = {depth for depth, _ in units.levels} - units.own_names
    names = " and ".join(f'"{level.name}"' for depth, level in enumerate(old.levels) if depth not in depths)
    shown = hostlist.compress(nodes)
    message = f'no source gives the {names} of the new nodes {shown[:200]} in pool "{old.name}"'
    return error("T440", route, message, hint="add a source that knows the level, or add the nodes by hand first")


STATES = ("cordoned", "notReady", "unhealthy")
"""Reasons why a node is unusable that a source can know. Other reasons are decisions of users."""


def edits(old: ClusterTopology, new: ClusterTopology, *, states: Collection[str] = STATES) -> Outcome[tuple[Edit, ...]]:
    """The edits that bring the file up to date. `states`: the states that the sources know.

    T440 if new nodes have no place; T571 to T576 report the changes. Routes are routes of the file.
    """
    compared = compare(old, new)
    issues: list[Diagnostic] = []
    placed = {node for pool in new.pools for node in pool.nodes()}
    result: list[Edit] = []
    paired = {pair.before: pair for pair in compared.pairs if new.pools[pair.after].domains}
    for index, pool in enumerate(old.pools):
        pair = paired.get(index)
        if pair is None:
            result += _unknown_pool_edits(index, pool, placed)
        else:
            result += _pool_edits(pair, pool, new.pools[pair.after], states, issues)
    result += _new_pool_edits(old, new, compared)
    reported = report(old, new, compared, frozenset(paired))
    return Outcome(None if has_errors(issues) else tuple(result), (*issues, *reported))


def _pool_edits(pair: Pair, pool: Pool, new: Pool, states: Collection[str], issues: list[Diagnostic]) -> Iterator[Edit]:
    """The rows and states of a pool that the sources know, and what nodes offer if the file does not have it."""
    route: Route = ("spec", "pools", pair.before)
    yield from _shape_edits(route, pool, new)
    if _has_real_labels(pool, new):
        yield from _relabel_edits(route, pool, new, states)
        return
    after = refresh_rows(pool, new, pair.units, ("topology", *route), issues)
    for index, (domain, row) in enumerate(zip(pool.domains, after.kept, strict=True)):
        yield from _row_edits((*route, "domains", index), domain, row)
    for index, row in after.inserted:
        yield Edit((*route, "domains", index), native.domain_document(row), insert=True)
    nodes = [node for row in after.all for node in row.nodes]
    yield from _state_edits((*route, "unusable"), pool.unusable, _refreshed_states(pool, new, nodes, states))


def _shape_edits(route: tuple[str | int, ...], pool: Pool, new: Pool) -> Iterator[Edit]:
    """What nodes offer, if the file does not describe it."""
    if new.node.described and not pool.node.described:
        tolerations = pool.node.tolerations or new.node.tolerations
        data = native.node_document(new.node._replace(tolerations=tolerations))
        yield from (Edit((*route, "node", key), value) for key, value in data.items())


def _has_real_labels(pool: Pool, new: Pool) -> bool:
    """Whether the sources know the labels of levels that the file only has placeholders for."""
    promised = {level.label for level in pool.levels if level.apply}
    as_many = len(new.levels) >= len(pool.levels)
    return bool(promised) and as_many and not promised & {level.label for level in new.levels}


def _relabel_edits(route: tuple[str | int, ...], pool: Pool, new: Pool, states: Collection[str]) -> Iterator[Edit]:
    """Levels and rows of the sources. The file's levels had placeholder labels, so nothing refers to their values."""
    data = native.pool_document(new)
    yield Edit((*route, "levels"), data["levels"])
    yield Edit((*route, "domains"), data["domains"])
    nodes = list(new.nodes())
    yield from _state_edits((*route, "unusable"), pool.unusable, _refreshed_states(pool, new, nodes, states))


def _row_edits(path: tuple[str | int, ...], domain: Domain, row: Domain | None) -> Iterator[Edit]:
    """The changes of a row: its path, its nodes, and its partition or switches if a source has them."""
    if row is None:
        yield Edit(path, remove=True)
    elif row != domain:
        before, after = native.domain_document(domain), native.domain_document(row)
        yield from (Edit((*path, key), after[key]) for key in after if after[key] != before.get(key))


def _refreshed_states(pool: Pool, new: Pool, nodes: list[str], states: Collection[str]) -> dict[str, list[str]]:
    """Reason -> nodes, in the order of the rows. A user's decision wins over a state in a source.

    A source that does not know all states of its nodes only adds to the file.
    """
    place = {node: number for number, node in enumerate(nodes)}
    decided = {reason: place.keys() & names for reason, names in pool.unusable.items() if reason not in STATES}
    out = set().union(*decided.values())
    by_reason: dict[str, Collection[str]] = {**decided}
    for reason in STATES:
        kept = () if reason in states else pool.unusable.get(reason, ())
        by_reason[reason] = (place.keys() & {*kept, *new.unusable.get(reason, ())}) - out
        out |= set(by_reason[reason])
    return {reason: sorted(names, key=place.__getitem__) for reason, names in by_reason.items()}


def _state_edits(
    path: tuple[str | int, ...], old: Mapping[str, tuple[str, ...]], new: Mapping[str, list[str]]
) -> Iterator[Edit]:
    """The edits of `unusable`. An existing reason stays, with an empty list if it no longer applies to any node."""
    for reason, names in new.items():
        if set(names) != set(old.get(reason, ())):
            yield Edit((*path, reason), hostlist.compress(names))


def _unknown_pool_edits(index: int, pool: Pool, placed: Collection[str]) -> Iterator[Edit]:
    """A pool that no source knows stays, without nodes that are now in another pool."""
    route: tuple[str | int, ...] = ("spec", "pools", index)
    for number, domain in enumerate(pool.domains):
        staying = [node for node in domain.nodes if node not in placed]
        if len(staying) != len(domain.nodes):
            yield Edit((*route, "domains", number, "nodes"), hostlist.compress(staying))
    for reason, names in pool.unusable.items():
        kept = [node for node in names if node not in placed]
        if len(kept) != len(names):
            yield Edit((*route, "unusable", reason), hostlist.compress(kept))


def _new_pool_edits(old: ClusterTopology, new: ClusterTopology, compared: Comparison) -> Iterator[Edit]:
    """Pools that the file lacks, at its end, and their accelerators."""
    pools = tuple(pool for pool in new.pools if pool.name in compared.pools_new and pool.domains)
    spec = native.write(new._replace(pools=pools))["spec"]
    for pool in spec["pools"]:
        yield Edit(("spec", "pools", len(old.pools)), pool, insert=True)
    filled = [new.pools[p.after] for p in compared.pairs if not old.pools[p.before].node.described]
    named = {pool.node.accelerator for pool in (*pools, *filled)} - {""}
    for name, kind in spec.get("accelerators", {}).items():
        if name in named and name not in old.accelerators:
            yield Edit(("spec", "accelerators", name), kind)
