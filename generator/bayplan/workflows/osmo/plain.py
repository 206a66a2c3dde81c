"""The data in the types that OSMO makes of them (pydantic 2.12 with `coerce_numbers_to_str`, OSMO 6.4).

OSMO takes numbers for texts, words for flags and texts for counts; here that is made good once, so that rules and
translation see one type a field. Keys without a value (null) are left out: each says the same as its absence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Make = Callable[[Any], Any]


def plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """What the schema accepted, with the same paths: texts for texts, bools for flags, ints for counts."""
    return {"workflow": _fields(WORKFLOW, data["workflow"])}


def text(value: Any) -> str:
    """A scalar as OSMO writes it: 0.5 -> "0.5", True -> "True"."""
    try:
        return value if isinstance(value, str) else str(value)
    except ValueError:  # Python refuses to write integers of more than 4,300 digits in decimal
        return hex(value)


def flag(value: Any) -> bool:
    """True for true, 1 and the words yes, y, on, true and t; a schema has refused what is no flag."""
    return value.lower() in ("1", "on", "t", "true", "y", "yes") if isinstance(value, str) else bool(value)


def whole(value: Any) -> int:
    """A count: 4, 4.0, "4" or "4.0"."""
    return int(float(value))


def _fields(table: Mapping[str, Make], data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: table[key](value) if key in table else value for key, value in data.items() if value is not None}


def _all_of(make: Make) -> Make:
    return lambda values: [make(value) for value in values]


def _each(make: Make) -> Make:
    return lambda mapping: {key: make(value) for key, value in mapping.items()}


def _record(table: Mapping[str, Make]) -> Make:
    return lambda data: _fields(table, data)


def _credential(value: Any) -> Any:
    return _each(text)(value) if isinstance(value, dict) else text(value)


RESOURCE: Mapping[str, Make] = {
    "cpu": whole,
    "gpu": whole,
    "memory": text,
    "storage": text,
    "platform": text,
    "nodesExcluded": _all_of(text),
}
FILE: Mapping[str, Make] = {"path": text, "contents": text, "base64": flag}
TASK: Mapping[str, Make] = {
    "image": text,
    "command": _all_of(text),
    "args": _all_of(text),
    "lead": flag,
    "environment": _each(text),
    "resource": text,
    "files": _all_of(_record(FILE)),
    "credentials": _each(_credential),
    "volumeMounts": _all_of(text),
    "privileged": flag,
    "hostNetwork": flag,
    "exitActions": _each(text),
    "kpis": _all_of(_record({"index": text, "path": text})),
    "cacheSize": text,
    "resources": _record(RESOURCE),
}
GROUP: Mapping[str, Make] = {"barrier": flag, "ignoreNonleadStatus": flag, "tasks": _all_of(_record(TASK))}
WORKFLOW: Mapping[str, Make] = {
    "tasks": _all_of(_record(TASK)),
    "groups": _all_of(_record(GROUP)),
    "resources": _each(_record(RESOURCE)),
    "timeout": _record({}),
}
"""Key -> what makes its type; a key that is not listed has one already."""
