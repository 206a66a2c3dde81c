"""Objects -> JSON in one line that YAML readers take for the same: what is written into a ResourceList.

The package `json` costs a fifth of a bare interpreter start; its encoder in C is all that is needed of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.model.manifest import Item, Many, Slot

Piece = str | Slot


class UnfitError(ValueError):
    """JSON has no such value."""


def _plain(value: Any) -> Any:
    """What the encoder knows of what it does not: mappings that are no dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise UnfitError(f"a {type(value).__name__} is nothing that JSON knows")


try:  # as json.JSONEncoder makes it (CPython 3.11 to 3.14, Lib/json/encoder.py)
    from _json import encode_basestring, make_encoder

    _encode: Any = make_encoder(None, _plain, encode_basestring, None, ": ", ", ", False, False, False)
    _encode({"a": [1]}, 0)
except (ImportError, TypeError):
    from json.encoder import JSONEncoder

    _encode = JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, default=_plain).iterencode


def lines(item: Item) -> Iterator[str]:
    """The object, or each of many, without a line feed. UnfitError: an infinity or no number; a file."""
    if isinstance(item, Many):
        pieces = _merged(_pieces(item.skeleton))
        for row in item.rows:
            yield "".join(piece if isinstance(piece, str) else str(row[piece.column]) for piece in pieces)
    else:
        yield line(item)


def line(value: Any) -> str:
    """Plain data in one line."""
    try:
        text = "".join(_encode(value, 0))
    except (ValueError, TypeError) as problem:
        raise UnfitError(str(problem)) from None
    return text if text.isprintable() else "".join(map(_escaped, text))


def _merged(pieces: Iterator[Piece]) -> list[Piece]:
    """The same with one string between two slots."""
    merged: list[Piece] = []
    for piece in pieces:
        if merged and isinstance(piece, str) and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def _pieces(value: Any) -> Iterator[Piece]:
    """The line of a skeleton, cut where something is filled in."""
    if isinstance(value, Slot):
        yield from (value,) if value.form == "number" else ('"', value, '"')
    elif isinstance(value, Mapping):
        yield from _mapping(value)
    elif isinstance(value, tuple) and any(isinstance(part, Slot) for part in value):
        yield from _joined(value)
    elif isinstance(value, list | tuple):
        yield from _list(value)
    else:
        yield line(value)


def _mapping(value: Mapping[Any, Any]) -> Iterator[Piece]:
    between = "{"
    for key, item in value.items():
        yield between
        yield from _joined((key,)) if isinstance(key, Slot) else _pieces(key)
        yield ": "
        yield from _pieces(item)
        between = ", "
    yield "}" if value else "{}"


def _list(value: list[Any] | tuple[Any, ...]) -> Iterator[Piece]:
    between = "["
    for item in value:
        yield between
        yield from _pieces(item)
        between = ", "
    yield "]" if value else "[]"


def _joined(parts: tuple[str | Slot, ...]) -> Iterator[Piece]:
    """Texts and slots that make one string. Slots hold names and numbers, which need no escapes."""
    yield '"'
    for part in parts:
        yield part if isinstance(part, Slot) else line(part)[1:-1]
    yield '"'


def _escaped(character: str) -> str:
    """What YAML would not take raw, or take for the end of a line: controls, NEL, separators, the byte order mark."""
    code = ord(character)
    raw = character.isprintable() or code > 0xFFFF or not (code < 0xA0 or code in _NOT_RAW)
    return character if raw else f"\\u{code:04x}"


_NOT_RAW = frozenset({0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)})
