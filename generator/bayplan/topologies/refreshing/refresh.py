"""A topology file brought up to date: what the sources know replaces what the file said of it, and nothing else does.

Rows of domains change, come and go; states that sources know are refreshed. Levels, node shapes, templates, spares,
what is reserved, and everything that is not about nodes stay as somebody wrote them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, has_errors
from bayplan.model.topology import ClusterTopology, Domain, NodeShape, Pool
from bayplan.text.edits import Edit
from bayplan.topologies import hostlist, native
from bayplan.topologies.comparing.compare import Comparison, Pair, compare
from bayplan.topologies.refreshing import report as refresh_report
from bayplan.topologies.refreshing.rows import rows

STATES = ("cordoned", "notReady", "unhealthy")
"""Reasons why a node is unusable that a source can know. The others are decisions."""


def edits(old: ClusterTopology, new: ClusterTopology, *, states: Collection[str] = STATES) -> Outcome[tuple[Edit, ...]]:
    """What makes the file say what the sources say. `states`: those that the sources speak of at all.

    T574 where new nodes cannot be placed; T570 to T577 say what becomes of the file. Routes are the file's.
    """
    compared = compare(old, new)
    found: list[Diagnostic] = []
    homes = {node: name for name, pool in _pools(new) for node in pool.nodes()}
    made: list[Edit] = []
    paired = {pair.before: pair for pair in compared.pairs if new.pools[pair.after].domains}
    for index, pool in enumerate(old.pools):
        pair = paired.get(index)
        if pair is None:
            made += _left(index, pool, homes)
        else:
            made += _pool(pair, pool, new.pools[pair.after], states, found)
    made += _added(old, new, compared)
    told = refresh_report.report(old, new, compared, frozenset(paired))
    return Outcome(None if has_errors(found) else tuple(made), (*found, *told))


def _pools(topology: ClusterTopology) -> Iterator[tuple[str, Pool]]:
    return ((pool.name, pool) for pool in topology.pools)


def _pool(pair: Pair, pool: Pool, new: Pool, states: Collection[str], found: list[Diagnostic]) -> Iterator[Edit]:
    """The rows and the states of a pool that the sources know; what nobody had said of it is filled in."""
    route: Route = ("spec", "pools", pair.before)
    yield from _described(route, pool, new)
    if _labelled(pool, new):
        yield from _relabelled(route, pool, new, states)
        return
    after = rows(pool, new, pair.units, ("topology", *route), found)
    for index, (domain, row) in enumerate(zip(pool.domains, after.kept, strict=True)):
        yield from _row((*route, "domains", index), domain, row)
    for index, row in after.inserted:
        yield Edit((*route, "domains", index), _row_data(row), insert=True)
    nodes = [node for row in after.all for node in row.nodes]
    yield from _unusable((*route, "unusable"), pool.unusable, _refreshed(pool, new, nodes, states))


def _described(route: tuple[str | int, ...], pool: Pool, new: Pool) -> Iterator[Edit]:
    """What nodes offer, where the file says nothing of that."""
    if new.node.described and not pool.node.described:
        made = pool._replace(node=new.node._replace(tolerations=pool.node.tolerations or new.node.tolerations))
        data = native.write(ClusterTopology("", (made,)))["spec"]["pools"][0]["node"]
        yield from (Edit((*route, "node", key), value) for key, value in data.items())


def _labelled(pool: Pool, new: Pool) -> bool:
    """Whether the sources know the labels of levels that the file could only promise."""
    promised = {level.label for level in pool.levels if level.apply}
    as_many = len(new.levels) >= len(pool.levels)
    return bool(promised) and as_many and not promised & {level.label for level in new.levels}


def _relabelled(route: tuple[str | int, ...], pool: Pool, new: Pool, states: Collection[str]) -> Iterator[Edit]:
    """Levels and rows as the sources have them: the file's had no labels, so nothing can refer to their values yet."""
    data = native.write(ClusterTopology("", (new,)))["spec"]["pools"][0]
    yield Edit((*route, "levels"), data["levels"])
    yield Edit((*route, "domains"), data["domains"])
    nodes = list(new.nodes())
    yield from _unusable((*route, "unusable"), pool.unusable, _refreshed(pool, new, nodes, states))


def _row(path: tuple[str | int, ...], domain: Domain, row: Domain | None) -> Iterator[Edit]:
    """What changes in a row: its path, its nodes, its partition or switches where a source says them."""
    if row is None:
        yield Edit(path, remove=True)
    elif row != domain:
        before, after = _row_data(domain), _row_data(row)
        yield from (Edit((*path, key), after[key]) for key in after if after[key] != before.get(key))


def _row_data(row: Domain) -> dict[str, Any]:
    """A row as the native format writes it."""
    document = native.write(ClusterTopology("", (Pool("", NodeShape(), domains=(row,)),)))
    data: dict[str, Any] = document["spec"]["pools"][0]["domains"][0]
    return data


def _refreshed(pool: Pool, new: Pool, nodes: list[str], states: Collection[str]) -> dict[str, list[str]]:
    """Reason -> nodes, in the order of the rows. What somebody decided comes before what a source found.

    A source that does not know all states of its nodes can only add to what the file says.
    """
    place = {node: number for number, node in enumerate(nodes)}
    decided = {reason: place.keys() & names for reason, names in pool.unusable.items() if reason not in STATES}
    out = set().union(*decided.values())
    found: dict[str, Collection[str]] = {**decided}
    for reason in STATES:
        kept = () if reason in states else pool.unusable.get(reason, ())
        found[reason] = (place.keys() & {*kept, *new.unusable.get(reason, ())}) - out
        out |= set(found[reason])
    return {reason: sorted(names, key=place.__getitem__) for reason, names in found.items()}


def _unusable(
    path: tuple[str | int, ...], old: Mapping[str, tuple[str, ...]], new: Mapping[str, list[str]]
) -> Iterator[Edit]:
    """A reason that is written stays, with an empty list where it holds for no node any more."""
    for reason, names in new.items():
        if set(names) != set(old.get(reason, ())):
            yield Edit((*path, reason), hostlist.compress(names))


def _left(index: int, pool: Pool, homes: Mapping[str, str]) -> Iterator[Edit]:
    """A pool that no source knows stays, without the nodes that are in another one now."""
    route: tuple[str | int, ...] = ("spec", "pools", index)
    for number, domain in enumerate(pool.domains):
        staying = [node for node in domain.nodes if node not in homes]
        if len(staying) != len(domain.nodes):
            yield Edit((*route, "domains", number, "nodes"), hostlist.compress(staying))
    for reason, names in pool.unusable.items():
        kept = [node for node in names if node not in homes]
        if len(kept) != len(names):
            yield Edit((*route, "unusable", reason), hostlist.compress(kept))


def _added(old: ClusterTopology, new: ClusterTopology, compared: Comparison) -> Iterator[Edit]:
    """Pools that the file lacks, at its end, and the accelerators that they name."""
    pools = tuple(pool for pool in new.pools if pool.name in compared.pools_new and pool.domains)
    spec = native.write(new._replace(pools=pools))["spec"]
    for pool in spec["pools"]:
        yield Edit(("spec", "pools", len(old.pools)), pool, insert=True)
    filled = [new.pools[p.after] for p in compared.pairs if not old.pools[p.before].node.described]
    named = {pool.node.accelerator for pool in (*pools, *filled)} - {""}
    for name, kind in spec.get("accelerators", {}).items():
        if name in named and name not in old.accelerators:
            yield Edit(("spec", "accelerators", name), kind)
