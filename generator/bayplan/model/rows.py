"""Tables that say which key of a document is which field of a value, read in both directions."""

from collections.abc import Callable, Mapping
from typing import Any

from bayplan.model.encoding import ordered as ordered
from bayplan.model.encoding import text as text

Row = tuple[str, str, Callable[[Any], Any]]
"""Key in the document, field of the value, and what makes the field of what stands under the key."""

Table = tuple[Row, ...]


def fields(table: Table, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the data gives."""
    return {field: make(data[key]) for key, field, make in table if key in data}


def keys(tables: Mapping[type, Table], value: Any) -> dict[str, Any]:
    """The document of a NamedTuple: what is not its default, in the order of its table. `fields` gives it back."""
    defaults = type(value)._field_defaults
    given = ((key, getattr(value, field), defaults.get(field)) for key, field, _ in tables[type(value)])
    return {key: plain(tables, here) for key, here, default in given if here != default}


def plain(tables: Mapping[type, Table], value: Any) -> Any:
    """A value as JSON can hold it: NamedTuples by their tables, tuples as lists."""
    if type(value) in tables:
        return keys(tables, value)
    if isinstance(value, tuple | list):
        return [plain(tables, each) for each in value]
    if isinstance(value, Mapping):
        return {key: plain(tables, each) for key, each in value.items()}
    return value


def texts(value: Mapping[str, Any]) -> dict[str, str]:
    """Text for every value of a mapping."""
    return {key: text(each) for key, each in sorted(value.items())}
