"""What a refresh does to a topology file, for the one who reads its diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bayplan.core.diagnostics import Diagnostic, Note, Route, info, warning
from bayplan.core.phrases import count
from bayplan.kube import quantity
from bayplan.model.topology import ClusterTopology, NodeShape, Pool
from bayplan.topologies import hostlist
from bayplan.topologies.comparing.compare import Comparison, Group, Place, Renamed
from bayplan.topologies.comparing.units import Path

POOLS: Route = ("topology", "spec", "pools")
FATAL = (
    "slurmctld does not start with a saved node whose unit is gone: see that none has the old name before it restarts"
)
MOST = 50
"""Lines of a table in a diagnostic; `bayplan topology diff` shows all."""


def report(
    old: ClusterTopology, new: ClusterTopology, compared: Comparison, known: frozenset[int]
) -> tuple[Diagnostic, ...]:
    """T570 to T573, T575 to T577. `known`: the pools of the file that sources know, by number."""
    found: list[Diagnostic] = []
    pools = {new.pools[pair.after].name: pair.before for pair in compared.pairs if pair.before in known}
    for name, index in pools.items():
        pool, route = old.pools[index], (*POOLS, index)
        found += _renamed(pool, [each for each in compared.renamed if each.pool == name and each.value], route)
        found += _dropped(
            pool, [unit.path for owner, unit in compared.units_gone if owner == name and unit.nodes], route
        )
        found += _gone(pool, [each for each in compared.gone if _in(each.before, pool.name)], route)
        found += _moved(pool, [each for each in compared.moved if _in(each.before, pool.name)], route)
        found += _new(pool, [each for each in compared.new if _in(each.after, name)], route)
    found += _unknown(old, known)
    found += _pools(new, compared)
    shapes = [(pair.before, pair.after) for pair in compared.pairs if pair.before in known]
    found += (each for i, j in shapes for each in _shape(old.pools[i], new.pools[j].node, (*POOLS, i, "node")))
    return tuple(found)


def _in(place: Place | None, pool: str) -> bool:
    return place is not None and place.pool == pool


def _renamed(pool: Pool, renamed: Sequence[Renamed], route: Route) -> Iterator[Diagnostic]:
    """T570."""
    rows = _rows(pool)
    for level in dict.fromkeys(each.level for each in renamed):
        table = [each for each in renamed if each.level == level]
        lines = [
            (f'"{"/".join(each.before)}" is "{"/".join(each.after)}" now', rows.get(each.before)) for each in table
        ]
        message = f'{count(len(table), "domain")} of level "{level}" in pool "{pool.name}" {_has(table)} now'
        yield warning("T570", (*route, "domains"), message, hint=FATAL, notes=_notes(lines, route))


def _has(table: Sequence[object]) -> str:
    return "has another name" if len(table) == 1 else "have other names"


def _rows(pool: Pool) -> dict[Path, int]:
    """Unit -> the number of its first row. Only where the file's levels are all known do paths agree."""
    rows: dict[Path, int] = {}
    for index, domain in enumerate(pool.domains):
        for depth in range(1, len(domain.path) + 1):
            rows.setdefault(domain.path[:depth], index)
    return rows


def _notes(lines: Sequence[tuple[str, int | None]], route: Route) -> tuple[Note, ...]:
    shown = [Note(text, (*route, "domains") if row is None else (*route, "domains", row)) for text, row in lines[:MOST]]
    rest = [Note(f"and {len(lines) - MOST} more: bayplan topology diff shows all")] if len(lines) > MOST else []
    return (*shown, *rest)


def _dropped(pool: Pool, paths: Sequence[Path], route: Route) -> Iterator[Diagnostic]:
    """T571."""
    if paths:
        message = f'{count(len(paths), "domain")} of pool "{pool.name}" {"is" if len(paths) == 1 else "are"} gone'
        rows = _rows(pool)
        lines = [(f'"{"/".join(path)}" is in no source', rows.get(path)) for path in paths]
        yield warning("T571", (*route, "domains"), message, hint=FATAL, notes=_notes(lines, route))


def _gone(pool: Pool, groups: Sequence[Group], route: Route) -> Iterator[Diagnostic]:
    """T572."""
    if groups:
        message = f"{_nodes(groups, pool)} in no source, and taken out: {_named(groups)}"
        hint = "a node that was left out of a source is taken for gone; read the difference before you keep it"
        yield warning("T572", (*route, "domains"), message, hint=hint)


def _new(pool: Pool, groups: Sequence[Group], route: Route) -> Iterator[Diagnostic]:
    """T576."""
    if groups:
        yield info("T576", (*route, "domains"), f"{_nodes(groups, pool)} new: {_named(groups)}")


def _moved(pool: Pool, groups: Sequence[Group], route: Route) -> Iterator[Diagnostic]:
    """T577."""
    if groups:
        lines = [
            (f"{_listed(each.nodes)}: from {_place(each.before)} to {_place(each.after)}", None) for each in groups
        ]
        message = f"{_nodes(groups, pool)} in another place now: {_named(groups)}"
        yield info("T577", (*route, "domains"), message, notes=_notes(lines, route))


def _nodes(groups: Iterable[Group], pool: Pool) -> str:
    """`2 nodes of pool "gb200" are`."""
    number = sum(len(each.nodes) for each in groups)
    return f'{count(number, "node")} of pool "{pool.name}" {"is" if number == 1 else "are"}'


def _named(groups: Iterable[Group]) -> str:
    return _listed([node for each in groups for node in each.nodes])


def _listed(nodes: Sequence[str]) -> str:
    text = hostlist.compress(nodes)
    return text if len(text) <= 160 else f"{text[:157]}..."


def _place(place: Place | None) -> str:
    return "nowhere" if place is None else f'"{"/".join(place.path)}"' if place.path else f'pool "{place.pool}"'


def _unknown(old: ClusterTopology, known: frozenset[int]) -> Iterator[Diagnostic]:
    """T573."""
    for index, pool in enumerate(old.pools):
        if index not in known:
            message = f'no source knows a node of pool "{pool.name}"; it stays as it is'
            yield warning("T573", (*POOLS, index, "name"), message, hint="remove it if its nodes are gone")


def _pools(new: ClusterTopology, compared: Comparison) -> Iterator[Diagnostic]:
    """T576 for whole pools."""
    for name in compared.pools_new:
        pool = new.pool(name)
        nodes = sum(len(domain.nodes) for domain in pool.domains) if pool else 0
        if nodes:
            yield info("T576", POOLS, f'pool "{name}" with {count(nodes, "node")} is new; it is put at the end')


def _shape(pool: Pool, found: NodeShape, route: Route) -> Iterator[Diagnostic]:
    """T575: where the file promises more than nodes have. Less is a decision."""
    own = pool.node
    if own.described and found.accelerators and own.accelerators != found.accelerators:
        message = f'pool "{pool.name}" says {own.accelerators} cards a node, and the sources say {found.accelerators}'
        yield warning("T575", (*route, "count"), message, hint=KEPT)
    for name, amount in own.resources.items():
        there = found.resources.get(name)
        if there is not None and there < amount:
            have = f"{quantity.show(amount)} of {name} a node, and the sources say {quantity.show(there)}"
            place = (*route, name) if name in ("cpu", "memory", "pods") else (*route, "resources", name)
            yield warning("T575", place, f'pool "{pool.name}" says {have}', hint=KEPT)


KEPT = "the file is left as it is: a node's shape is written by hand; correct it if it is wrong"
