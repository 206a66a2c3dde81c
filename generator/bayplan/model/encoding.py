"""Documents from values and back: a field's key is its name in camel case, and its type says how it is read.

    class PodSet(NamedTuple):           podSets:
        name: str                       - name: worker
        min_replicas: int | None = None   minReplicas: 4

`Annotated[TYPE, Encoded(...)]` says what is otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin

T = TypeVar("T")


class Encoded(NamedTuple):
    """How a document has a field, if its name and type do not show it."""

    key: str | None = None  # None: the name in camel case; "": no document has the field
    alone: bool = False  # the first field: documents may write only its value if there is no other field
    read: Callable[[Any], Any] | None = None  # creates the value


class Field(NamedTuple):
    """One field of a class: its name, its key, its reader, and whether documents may write only its value."""

    name: str
    key: str
    read: Callable[[Any], Any]
    alone: bool


def decode(kind: Callable[..., T], data: Any, **others: Any) -> T:
    """The NamedTuple of a mapping; it ignores unknown keys. Any other data is the first field.

    The schema has accepted the data, so this never fails. `others`: fields that the data does not hold.
    """
    if not isinstance(data, Mapping):
        return kind(data)
    return kind(**others, **{each.name: each.read(data[each.key]) for each in fields(kind) if each.key in data})


def decode_named(kind: Callable[..., T], data: Mapping[str, Any]) -> dict[str, T]:
    """A mapping whose keys are the field `name` of its values."""
    return {name: decode(kind, each, name=name) for name, each in sorted(data.items())}


def encode(value: Any) -> Any:
    """A value as JSON. A NamedTuple becomes its fields without defaults, in their order."""
    if isinstance(value, Mapping):
        return {key: encode(each) for key, each in value.items()}
    if hasattr(value, "_fields"):
        return _encode_fields(value)
    return [encode(each) for each in value] if isinstance(value, tuple | list) else value


def _encode_fields(value: Any) -> Any:
    defaults, own_fields = value._field_defaults, fields(value.__class__)
    present = ((each, getattr(value, each.name)) for each in own_fields if each.key)
    encoded = {each.key: encode(own) for each, own in present if own != defaults.get(each.name)}
    first = own_fields[0]
    return encoded[first.key] if first.alone and set(encoded) == {first.key} else encoded


@cache
def fields(kind: Any) -> tuple[Field, ...]:
    """The fields of a NamedTuple, in its order. Its module does not import annotations from the future."""
    return tuple(_field(name, hint) for name, hint in kind.__annotations__.items())


def _field(name: str, hint: Any) -> Field:
    kind, how = get_args(hint) if get_origin(hint) is Annotated else (hint, Encoded())
    return Field(name, camel_case(name) if how.key is None else how.key, how.read or _reader(kind), how.alone)


def camel_case(name: str) -> str:
    """`min_replicas` -> `minReplicas`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """The function that creates a value of a type from a document's data."""
    if kind in READERS:
        return READERS[kind]
    if isinstance(kind, UnionType):
        return _either(*(each for each in kind.__args__ if each is not NoneType))
    if isinstance(kind, GenericAlias) and kind.__origin__ is tuple:
        return partial(_tuple, _reader(kind.__args__[0]))
    if isinstance(kind, GenericAlias):
        return partial(_mapping, _reader(kind.__args__[1]))
    return partial(decode, kind)


def _either(first: Any, second: Any = None) -> Callable[[Any], Any]:
    """The reader of the only type, or of a string and a NamedTuple."""
    if second is None:
        return _reader(first)
    short, long = _reader(first), _reader(second)
    return lambda data: long(data) if isinstance(data, Mapping) else short(data)


def _tuple(read: Callable[[Any], Any], data: Any) -> tuple[Any, ...]:
    return tuple(map(read, data))


def _mapping(read: Callable[[Any], Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: read(each) for key, each in sorted(data.items())}


def ordered(value: Any) -> Any:
    """Data with mappings in the order of their keys, so that the user's order of keys does not change the output."""
    if isinstance(value, dict):
        return _mapping(ordered, value)
    return [ordered(each) for each in value] if isinstance(value, list) else value


def text(value: Any) -> str:
    """A string, or an integer as a string (YAML reads `cpu: 4` as a number)."""
    return value if isinstance(value, str) else str(int(value))


def _name_or_number(value: Any) -> str | int:
    """A name or a number."""
    return value if isinstance(value, str) else int(value)


READERS: Mapping[Any, Callable[[Any], Any]] = {
    str: text,
    int: int,
    bool: bool,
    str | int: _name_or_number,
    Any: ordered,
}
"""Readers of plain types. A schema accepts 1.0 as an integer."""
