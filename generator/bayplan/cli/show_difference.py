"""A comparison of two topologies as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bayplan.cli.output import table
from bayplan.core.phrases import count
from bayplan.topologies.alignment import Unit
from bayplan.topologies.comparing import Comparison, Group, Place, Renamed
from bayplan.topologies.hostlist import compress

FATAL = "slurmctld does not start while a saved node is on a unit whose name is gone"


def as_text(comparison: Comparison, old: str, new: str) -> Iterator[str]:
    """Sections with one line per difference."""
    if comparison.equal:
        return
    yield f"--- {old}\n+++ {new}\n"
    for title, lines in _sections(comparison):
        if lines:
            yield f"\n{title}\n"
            yield from (f"  {line}\n" for line in table(lines, widest=WIDEST))


def _sections(comparison: Comparison) -> Iterator[tuple[str, Sequence[Sequence[str]]]]:
    renamed = [each for each in comparison.renamed if each.value]
    shifted = [each for each in comparison.renamed if not each.value]
    yield "pools", [*_pools(comparison)]
    yield f"renamed domains ({FATAL})", [_renamed(each) for each in renamed]
    yield "domains under other parents", [_renamed(each) for each in shifted]
    yield f"domains that are gone ({FATAL})", [*_units(comparison.units_gone)]
    yield "new domains", [*_units(comparison.units_new)]
    yield "nodes that have moved", [_group(each) for each in comparison.moved]
    yield "nodes that are gone", [_group(each) for each in comparison.gone]
    yield "new nodes", [_group(each) for each in comparison.new]
    yield "states", [(compress(s.nodes), f"{s.before or 'usable'} -> {s.after or 'usable'}") for s in comparison.states]
    yield (
        "settings",
        [(each.key, f"{each.before or 'not set'} -> {each.after or 'not set'}") for each in comparison.settings],
    )


def _pools(comparison: Comparison) -> Iterator[Sequence[str]]:
    yield from ((name, "new") for name in comparison.pools_new)
    yield from ((name, "gone") for name in comparison.pools_gone)
    yield from ((old, f"is {new} now") for old, new in comparison.pools_renamed)


def _renamed(each: Renamed) -> Sequence[str]:
    return f"{each.pool} {each.level}", f"{'/'.join(each.before)} -> {'/'.join(each.after)}", count(each.nodes, "node")


def _units(units: Iterable[tuple[str, Unit]]) -> Iterator[Sequence[str]]:
    """The units whose parents are not listed."""
    listed: set[tuple[str, tuple[str, ...]]] = set()
    for pool, unit in units:
        listed.add((pool, unit.path))
        if (pool, unit.path[:-1]) not in listed:
            yield f"{pool} {unit.level}", "/".join(unit.path), count(unit.nodes, "node")


def _group(each: Group) -> Sequence[str]:
    ends = (_place(place) for place in (each.before, each.after) if place is not None)
    return compress(each.nodes), " -> ".join(ends)


def _place(place: Place) -> str:
    return f"{place.pool} {'/'.join(place.path)}".rstrip()


WIDEST = 60
"""The maximum width of a column."""


def as_json(comparison: Comparison) -> str:
    """The same as JSON, with all keys."""
    import json

    data = {
        "equal": comparison.equal,
        "pools": {
            "new": comparison.pools_new,
            "gone": comparison.pools_gone,
            "renamed": [{"before": old, "after": new} for old, new in comparison.pools_renamed],
        },
        "domains": {
            "renamed": [_renamed_data(each) for each in comparison.renamed if each.value],
            "underOtherParents": [_renamed_data(each) for each in comparison.renamed if not each.value],
            "gone": [*map(_unit_data, comparison.units_gone)],
            "new": [*map(_unit_data, comparison.units_new)],
        },
        "nodes": {
            "moved": [*map(_group_data, comparison.moved)],
            "gone": [*map(_group_data, comparison.gone)],
            "new": [*map(_group_data, comparison.new)],
            "states": [
                {**_nodes(each.nodes), "before": each.before or None, "after": each.after or None}
                for each in comparison.states
            ],
        },
        "settings": [
            {"key": each.key, "before": each.before or None, "after": each.after or None}
            for each in comparison.settings
        ],
    }
    return json.dumps(data, indent=2) + "\n"


def _renamed_data(each: Renamed) -> dict[str, Any]:
    ends = {"before": "/".join(each.before), "after": "/".join(each.after)}
    return {"pool": each.pool, "level": each.level, **ends, "nodes": each.nodes}


def _unit_data(each: tuple[str, Unit]) -> dict[str, Any]:
    pool, unit = each
    return {"pool": pool, "level": unit.level, "path": "/".join(unit.path), "nodes": unit.nodes}


def _group_data(each: Group) -> dict[str, Any]:
    return {**_nodes(each.nodes), "before": _place_data(each.before), "after": _place_data(each.after)}


def _nodes(nodes: Sequence[str]) -> dict[str, Any]:
    return {"nodes": compress(nodes), "count": len(nodes)}


def _place_data(place: Place | None) -> dict[str, str] | None:
    return None if place is None else {"pool": place.pool, "path": "/".join(place.path)}
