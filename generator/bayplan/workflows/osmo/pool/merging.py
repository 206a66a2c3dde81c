"""How OSMO and Helm lay one mapping over another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Path = tuple[str | int, ...]


def lay(base: Any, over: Mapping[str, Any], clashes: list[Path], path: Path = ()) -> dict[str, Any]:
    """`over` on `base`, as OSMO does it (src/lib/utils/common.py, recursive_dict_update with merge_lists_on_name).

    Mappings merge, lists merge by `name` where both have one and follow each other else, anything else is replaced.
    A mapping over something that is none makes OSMO fail; its path goes to `clashes`, and the mapping stands.
    """
    if not isinstance(base, Mapping):
        clashes.append(path)
        base = {}
    made = dict(base)
    for key, value in over.items():
        here: Path = (*path, key)
        if isinstance(value, Mapping):
            made[key] = lay(made.get(key, {}), value, clashes, here)
        elif isinstance(value, list) and isinstance(made.get(key), list):
            made[key] = lay_list(made[key], value, clashes, here)
        else:
            made[key] = value
    return made


def lay_list(base: list[Any], over: Iterable[Any], clashes: list[Path], path: Path = ()) -> list[Any]:
    """Entries with the name of one in `base` are laid over that (the last of several), all others follow."""
    made = list(base)
    places = {name: place for place, each in enumerate(base) for name in _names(each)}
    for each in over:
        found = [places[name] for name in _names(each) if name in places]
        if found:
            place = found[0]
            made[place] = lay(made[place], each, clashes, (*path, place))
        else:
            made.append(each)
    return made


def _names(entry: Any) -> tuple[Any, ...]:
    """The name of an entry, if it has one; also null is a name to OSMO."""
    named = isinstance(entry, Mapping) and "name" in entry and not isinstance(entry["name"], Mapping | list)
    return (entry["name"],) if named else ()


def helm(chart: Any, values: Any) -> Any:
    """Values of a user over those of a chart, as Helm does it: mappings merge, null deletes, the rest is replaced."""
    if not (isinstance(chart, Mapping) and isinstance(values, Mapping)):
        return values
    merged = {key: helm(chart[key], value) if key in chart else value for key, value in values.items()}
    both = {**chart, **merged}
    return {key: value for key, value in both.items() if not (key in chart and value is None)}
