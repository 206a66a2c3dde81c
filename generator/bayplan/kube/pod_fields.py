"""Fields of a PodTemplateSpec that Kubernetes does not know: strict apply refuses them, other apply drops them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import KEY, Diagnostic, Route, error
from bayplan.core.package_data import data_text
from bayplan.core.phrases import did_you_mean
from bayplan.core.values import NamedTuple
from bayplan.model.target import Target

TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}
Tables = Mapping[str, Mapping[str, Any]]


class Fields(NamedTuple):
    """The table of fields (schemas/pod-template.json), the target, and the codes to report with."""

    tables: Tables
    target: Target
    unknown: str = "W381"
    wrong: str = "W381"
    newer: str = "W383"


def load(target: Target) -> Fields:
    """The packaged table. It is read only where somebody wrote a template."""
    import json

    return Fields(json.loads(data_text("schemas", "pod-template.json")), target)


def faults(fields: Fields, template: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """All unknown fields, wrong types and fields newer than the target, with their places."""
    yield from _object(fields, "PodTemplateSpec", template, route)


def _object(fields: Fields, name: str, value: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    table = {key.partition("@")[0]: (key.partition("@")[2], kind) for key, kind in fields.tables[name].items()}
    for key, each in value.items():
        if key not in table:
            near = did_you_mean(str(key), list(table))
            yield error(fields.unknown, (*route, key, KEY), f'a {name} has no field "{key}"', hint=near)
            continue
        since, kind = table[key]
        if since and not fields.target.since("kubernetes", since):
            message = f'"{key}" came with Kubernetes {since}; the target is {fields.target.version("kubernetes")}'
            yield error(fields.newer, (*route, key, KEY), message, hint="leave it out, or target a later Kubernetes")
        if each is not None:
            yield from _value(fields, kind, each, (*route, key))


def _value(fields: Fields, kind: Any, value: Any, route: Route) -> Iterator[Diagnostic]:
    """`kind` is [KIND] for a list, {"*": KIND} for a map, else the name of a table or of a plain type."""
    is_map, is_list = isinstance(kind, dict), isinstance(kind, list)
    is_object = not is_map and not is_list and kind in fields.tables
    if is_list and not isinstance(value, list):
        yield _wrong(fields, "a list", value, route)
    elif (is_map or is_object) and not isinstance(value, Mapping):
        yield _wrong(fields, "an object", value, route)
    elif is_list:
        for number, each in enumerate(value):
            yield from _value(fields, kind[0], each, (*route, number))
    elif is_map:
        for key, each in value.items():
            if each is not None:
                yield from _value(fields, kind["*"], each, (*route, key))
    elif is_object:
        yield from _object(fields, kind, value, route)
    elif kind in TYPES and not (isinstance(value, TYPES[kind]) and isinstance(value, bool) == (kind == "boolean")):
        yield _wrong(fields, f"a {kind}", value, route)  # Python's True is an int; Kubernetes' is not


def _wrong(fields: Fields, expected: str, value: Any, route: Route) -> Diagnostic:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "an integer"}
    actual = names.get(type(value), "a number" if isinstance(value, float) else "null")
    hint = "put it in quotes" if expected == "a string" and actual not in ("an object", "a list") else ""
    return error(fields.wrong, route, f"expected {expected}, found {actual}", hint=hint)
