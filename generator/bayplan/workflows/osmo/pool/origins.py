"""What a task gets of its platform -> where the pool's templates say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.diagnostics import Route

Fill = Callable[[Any], Any]
"""A piece of a template, as it is written -> filled in."""

CONTAINERS: Route = ("spec", "containers")


def origins(template: Any, sources: Sequence[tuple[Any, Route]], container: str, fill: Fill) -> dict[Route, Route]:
    """Routes in a task's pod template -> routes in the pool configuration.

    `sources` are the templates that were merged for it, each with its place. Where several say a thing the last one
    counts. Entries of lists stand by their names, the user's container by an empty one, and by their number where they
    have no name or share it.
    """
    found: dict[Route, Route] = {}
    for data, place in sources:
        found.update(_traced(template, data, (), place, fill))
    own = (*CONTAINERS, container)
    return {(*CONTAINERS, "", *at[3:]) if at[:3] == own else at: place for at, place in found.items()}


def _traced(made: Any, raw: Any, route: Route, place: Route, fill: Fill) -> Iterator[tuple[Route, Route]]:
    """The places of a value and of everything in it that both the template and its source have."""
    yield route, place
    if isinstance(made, Mapping) and isinstance(raw, Mapping):
        for key in raw:
            if key in made:
                yield from _traced(made[key], raw[key], (*route, key), (*place, key), fill)
    elif isinstance(made, list) and isinstance(raw, list):
        steps = _steps(made)
        for number, each in enumerate(raw):
            for index in _same(made, each, fill):
                yield from _traced(made[index], each, (*route, steps[index]), (*place, number), fill)


def _same(made: list[Any], raw: Any, fill: Fill) -> list[int]:
    """The entries that have the name of one; where none or several have it, those that are the same."""
    name = name_of({"name": fill(raw["name"])}) if name_of(raw) else ""
    alike = [index for index, entry in enumerate(made) if name and name_of(entry) == name]
    if len(alike) == 1:
        return alike
    whole = fill(raw)
    return [index for index, entry in enumerate(made) if entry == whole] or alike


def _steps(entries: list[Any]) -> list[str | int]:
    names = [name_of(each) for each in entries]
    return [name if name and names.count(name) == 1 else index for index, name in enumerate(names)]


def name_of(entry: Any) -> str:
    """The name of an entry of a list, or an empty text."""
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return name if isinstance(name, str) else ""
