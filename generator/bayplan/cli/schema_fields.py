"""The fields of bayplan's formats and of those that it reads, from their JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from bayplan import plugins
from bayplan.core.package_data import json_schema, resolved

FORMATS = {"workflow": "workflow", "topology": "cluster-topology", "project": "project"}
"""First word of the path of a field -> schema."""

SOURCES = {
    **plugins.words("schemas"),
    "policy": "policy",
    "expand": "expand-workflows",
    "place": "place-workloads",
    "validate": "validate-workloads",
}
"""The same for the other formats, in which `find` looks if the native formats have no such field."""

Json = Mapping[str, Any]


class Field(NamedTuple):
    """One field: its path from the format on, without list indices, and its resolved schema."""

    path: tuple[str, ...]
    schema: Json

    @property
    def name(self) -> str:
        """`workflow.spec.gangs.placement`."""
        return ".".join(self.path)


def all_fields() -> tuple[Field, ...]:
    """Every field of every format. A field that contains itself appears once."""
    return (*fields_of(native=True), *fields_of(native=False))


@cache
def fields_of(native: bool) -> tuple[Field, ...]:
    fields: list[Field] = []
    for word, name in (FORMATS if native else SOURCES).items():
        root = json_schema(name)
        fields += _walk((word,), root, root, ())
    return tuple(fields)


def _walk(path: tuple[str, ...], schema: Json, root: Json, within: tuple[str, ...]) -> Iterator[Field]:
    """The field and all below it. Fields of list items and of map values come directly below the list or map."""
    refs, whole = resolved(schema, root)
    yield Field(path, whole)
    if set(refs) & set(within):
        return
    for key, value in _children(whole):
        below = _walk((*path, key) if key else path, value, root, (*within, *refs))
        yield from below if key else list(below)[1:]


def _children(schema: Json) -> Iterator[tuple[str, Json]]:
    yield from schema.get("properties", {}).items()
    inner = [schema.get(key) for key in ("items", "additionalProperties", *schema.get("patternProperties", {}))]
    inner += [*schema.get("patternProperties", {}).values(), *schema.get("oneOf", ()), *schema.get("anyOf", ())]
    yield from (("", each) for each in inner if isinstance(each, dict))
