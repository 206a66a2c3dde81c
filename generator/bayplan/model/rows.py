"""Tables that say which key of a document is which field of a value, read in both directions."""

from collections.abc import Callable, Mapping
from typing import Any

Row = tuple[str, str, Callable[[Any], Any]]
"""Key in the document, field of the value, and what makes the field of what stands under the key."""

Table = tuple[Row, ...]


class Short(tuple[Row, ...]):
    """A table whose first key, where it stands alone, is written without the mapping around it."""

    __slots__ = ()


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
        made, table = keys(tables, value), tables[type(value)]
        return made[table[0][0]] if isinstance(table, Short) and set(made) == {table[0][0]} else made
    if isinstance(value, tuple | list):
        return [plain(tables, each) for each in value]
    if isinstance(value, Mapping):
        return {key: plain(tables, each) for key, each in value.items()}
    return value


def text(value: Any) -> str:
    """Text, or the text of a whole number (YAML reads `cpu: 4` as a number)."""
    return value if isinstance(value, str) else str(int(value))


def texts(value: Mapping[str, Any]) -> dict[str, str]:
    """The same for every value of a mapping."""
    return {key: text(each) for key, each in sorted(value.items())}


def numbers(value: Mapping[str, Any]) -> dict[str, int]:
    """Whole numbers by key (a schema takes 1.0 for a whole number)."""
    return {key: int(each) for key, each in sorted(value.items())}


def ordered(value: Any) -> Any:
    """Data whose mappings are in the order of their keys: how a user orders keys shall not show in what is written."""
    if isinstance(value, dict):
        return {key: ordered(each) for key, each in sorted(value.items())}
    return [ordered(each) for each in value] if isinstance(value, list) else value
