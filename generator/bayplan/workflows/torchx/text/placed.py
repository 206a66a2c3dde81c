"""Data that were made from a text, with the way back to the places that they came from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayplan.text.document import Document, Path, SourceMap, Span, spans_of
from bayplan.values import NamedTuple

Place = Callable[[Path], Span]

_LONGEST = 500
"""Characters of a key that YAML readers take without a question mark in front; places below longer ones are its own."""


class Made(NamedTuple):
    """Data, and path in them -> path in the document that they were made from."""

    data: Any
    origins: Mapping[Path, Path]


def source_map(data: Any, place: Place) -> SourceMap:
    """The source map of data whose values have these places: a text with one value a line stands for them."""
    lines, paths = [], []
    for path, line in _lines(data, (), "", ""):
        paths.append(path)
        lines.append(line)

    def back(span: Span) -> tuple[Span, str]:
        return place(paths[min(span.line, len(paths)) - 1]), ""

    return SourceMap("\n".join(lines), back)


def _lines(value: Any, path: Path, head: str, tail: str) -> Iterator[tuple[Path, str]]:
    """The values do not matter, only where they stand."""
    below: list[tuple[str | int, Any]] = []
    if isinstance(value, Mapping):
        below = [(key, each) for key, each in value.items() if isinstance(key, str) and len(key) <= _LONGEST]
    elif isinstance(value, list):
        below = list(enumerate(value))
    if not below:
        yield path, f"{head}0{tail}"
        return
    opening, closing = ("{", "}") if isinstance(value, Mapping) else ("[", "]")
    yield path, f"{head}{opening}"
    for number, (key, each) in enumerate(below, 1):
        word = f"{json.dumps(key)}: " if isinstance(key, str) else ""
        yield from _lines(each, (*path, key), word, "," if number < len(below) else "")
    yield path, f"{closing}{tail}"


def nearest(path: Path, known: Mapping[Path, Any]) -> tuple[Any, Path] | None:
    """What is known of a path or of the longest part of it, and what is left of it."""
    for cut in range(len(path), -1, -1):
        if path[:cut] in known:
            return known[path[:cut]], path[cut:]
    return None


def from_spans(spans: Mapping[Path, Span], otherwise: Span) -> Place:
    """Places that are known one by one."""

    def place(path: Path) -> Span:
        found = nearest(path, spans)
        return found[0] if found else otherwise

    return place


def from_document(document: Document, origins: Mapping[Path, Path]) -> Place:
    """Places in the document that the data were made from."""

    def place(path: Path) -> Span:
        found = nearest(path, origins)
        at: Path = (*found[0], *found[1]) if found else ()
        return spans_of(document, [at])[at][0]

    return place


def made(document: Document, value: Made) -> Document:
    """The document with other data, made from its own."""
    return document._replace(data=value.data, source_map=source_map(value.data, from_document(document, value.origins)))
