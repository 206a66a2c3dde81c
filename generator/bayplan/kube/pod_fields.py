"""Fields of a PodTemplateSpec that Kubernetes does not know: a strict apply refuses them, another apply drops them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.core.diagnostics import KEY, Diagnostic, Route, error
from bayplan.core.package_data import data_text
from bayplan.core.phrases import did_you_mean
from bayplan.kube.objects import get, text
from bayplan.model.target import Target

TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}
Tables = Mapping[str, Mapping[str, Any]]


class Fields(NamedTuple):
    """The table of fields (schemas/pod-template.json), and the target."""

    tables: Tables
    target: Target


def load(target: Target) -> Fields:
    """The packaged table. bayplan reads it only if there is a template."""
    import json

    return Fields(json.loads(data_text("schemas", "pod-template.json")), target)


def faults(fields: Fields, template: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """All unknown fields and wrong types, and fields that are newer than the target (W381)."""
    yield from _object(fields, "PodTemplateSpec", template, route)


def _object(fields: Fields, name: str, value: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    table = {key.partition("@")[0]: (key.partition("@")[2], kind) for key, kind in fields.tables[name].items()}
    for key, each in value.items():
        if key not in table:
            hint = did_you_mean(str(key), list(table)) or "remove it"
            yield error("W381", (*route, key, KEY), f'a {name} has no field "{key}"', hint=hint)
            continue
        since, kind = table[key]
        if since and not fields.target.since("kubernetes", since):
            version = fields.target.version("kubernetes")
            message = f'"{key}" needs Kubernetes {since} or later, and the target is {version}'
            yield error("W381", (*route, key, KEY), message, hint="remove it, or target a later Kubernetes")
        if each is not None:
            yield from _value(fields, kind, each, (*route, key))


def _value(fields: Fields, kind: Any, value: Any, route: Route) -> Iterator[Diagnostic]:
    """`kind` is [KIND] for a list, {"*": KIND} for a map, otherwise the name of a table or of a plain type."""
    is_map, is_list = isinstance(kind, dict), isinstance(kind, list)
    is_object = not is_map and not is_list and kind in fields.tables
    if is_list and not isinstance(value, list):
        yield _wrong("a list", value, route)
    elif (is_map or is_object) and not isinstance(value, Mapping):
        yield _wrong("an object", value, route)
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
        article = "an" if kind == "integer" else "a"
        yield _wrong(f"{article} {kind}", value, route)  # Python's True is an int; Kubernetes' is not


_BARE = ("an integer", "a number", "a boolean")


def _wrong(expected: str, value: Any, route: Route) -> Diagnostic:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "an integer"}
    actual = names.get(type(value), "a number" if isinstance(value, float) else "null")
    hint = "put it in quotes" if expected == "a string" and actual not in ("an object", "a list") else ""
    hint = "write it without quotes" if actual == "a string" and expected in _BARE else hint
    return error("W381", route, f"expected {expected}, found {actual}", hint=hint)


def covers(one: Any, other: Any) -> bool:
    """Whether a toleration accepts every taint that another one accepts, and for as long (Kubernetes 1.37,
    component-helpers/scheduling/corev1/helpers.go, `ToleratesTaint`)."""
    if one == other:
        return True
    exists, key, effect = get(one, "operator") == "Exists", text(one, "key"), text(other, "effect")
    if get(one, "tolerationSeconds") is not None or (text(one, "effect") or effect) != effect:
        return False
    return (exists and not key) or (
        bool(key) and key == text(other, "key") and (exists or _taint_value(one) == _taint_value(other))
    )


def _taint_value(toleration: Any) -> str | None:
    """The value of a taint that the toleration accepts; None: any."""
    return None if get(toleration, "operator") == "Exists" else text(toleration, "value")
