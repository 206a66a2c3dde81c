"""`matrix` of a gang: the variables of each copy, from lists of values or from the rows of a CSV file beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

from bayplan.core.diagnostics import AT, KEY, Diagnostic, Outcome, Route, error, has_errors, warning
from bayplan.core.phrases import count, shorten
from bayplan.kube.ranks import OWN, OWN_PREFIXES
from bayplan.text.document import Document, spans_of
from bayplan.text.scalars import without_exponent
from bayplan.text.source import Lines

MOST = 10_000
"""The most copies that a matrix makes: as many as gangs in a workflow."""

FILE, ROWS = "file", "rows"
"""Keys of a matrix that do not name a variable."""

SHELL = {"BASHOPTS", "BASHPID", "BASH_VERSINFO", "EUID", "GROUPS", "IFS", "LINENO", "OPTIND", "PATH", "PPID", "RANDOM"}
SHELL |= {"SECONDS", "SHELLOPTS", "UID", "_"}
"""Variables with which a shell works, or that keep a value of their own (bash 5.2, `man bash`,
"Shell Variables"). A shell sets those of a matrix."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,252}")
_ANCHOR = re.compile(r"^&\S+\s+")

Rows = tuple[Mapping[str, str], ...]


def subject(path: str) -> str:
    """The subject of a CSV file, in `Document.beside` and in routes."""
    return f"matrix:{path}"


def files(data: Any) -> Iterator[tuple[str, Route]]:
    """The CSV files that a Workflow document names, and where. The data may have any form."""
    spec = data.get("spec") if isinstance(data, Mapping) else None
    gangs = spec.get("gangs") if isinstance(spec, Mapping) else None
    for number, gang in enumerate(gangs if isinstance(gangs, list) else ()):
        matrix = gang.get("matrix") if isinstance(gang, Mapping) else None
        path = matrix.get(FILE) if isinstance(matrix, Mapping) else None
        if isinstance(path, str) and path:
            yield path, ("spec", "gangs", number, "matrix", FILE)


def rows(gang: Mapping[str, Any], route: Route, beside: Mapping[str, Document]) -> Outcome[Rows]:
    """The variables of each copy of a gang with a matrix. W355, W353 to W359."""
    matrix, at = gang["matrix"], (*route, "matrix")
    if "replicas" in gang:
        message, hint = "the gang has both `matrix` and `replicas`", "remove `replicas`: the matrix makes the copies"
        return Outcome(None, (error("W355", (*route, "replicas"), message, hint=hint),))
    form = next((name for name in (FILE, ROWS) if name in matrix), "")
    if form and len(matrix) > 1:
        other = next(name for name in matrix if name != form)
        hint = f"write all variables into `{form}`, or remove it; no variable can have the name `{form}`"
        return Outcome(None, (error("W355", (*at, other, KEY), f"the matrix has `{form}` and {other}", hint=hint),))
    if not form:
        return _product(matrix, at)
    if form == ROWS:
        return _written(matrix[ROWS], (*at, ROWS))
    document = beside.get(subject(matrix[FILE]))
    if document is None:
        message = f'bayplan does not read "{matrix[FILE]}" here: the workflow comes without files beside it'
        return Outcome(None, (error("R134", (*at, FILE), message, hint="write the values as `rows`"),))
    return _table(document, subject(matrix[FILE]), (*at, FILE))


def _written(listed: Sequence[Mapping[str, Any]], at: Route) -> Outcome[Rows]:
    """Rows in the workflow itself: a mapping for each copy."""
    first = listed[0]
    wrong = [found for name in first for found in named(name, (*at, 0, name, KEY))]
    for number, row in enumerate(listed):
        if set(row) != set(first):
            missing, more = [n for n in first if n not in row], [n for n in row if n not in first]
            what = f"lacks {missing[0]}" if missing else f"also has {more[0]}"
            hint = "give all rows the same variables"
            wrong.append(error("W355", (*at, number), f"this row {what}, unlike the first one", hint=hint))
        wrong += [found for name, value in row.items() for found in _unusable(name, _text(value), (*at, number, name))]
    return Outcome(None if wrong else tuple({name: _text(row[name]) for name in first} for row in listed), tuple(wrong))


def _product(matrix: Mapping[str, Sequence[Any]], at: Route) -> Outcome[Rows]:
    """The combinations of the lists: the last variable changes fastest."""
    wrong = [found for name in matrix for found in named(name, (*at, name, KEY))]
    copies = prod(map(len, matrix.values()))
    wrong += [_too_many(copies, at)] if copies > MOST else []
    texts = {name: [*map(_text, values)] for name, values in matrix.items()}
    wrong += [
        found
        for name, values in texts.items()
        for number, value in enumerate(values)
        for found in _unusable(name, value, (*at, name, number))
    ]
    if wrong:
        return Outcome(None, tuple(wrong))
    return Outcome(tuple(dict(zip(texts, values, strict=True)) for values in product(*texts.values())))


def _text(value: str | float | bool) -> str:
    """A value as YAML's core schema writes it; a number in its shortest form without an exponent."""
    if isinstance(value, float):
        return without_exponent(value)
    return value if isinstance(value, str) else str(value).lower()


def respelled(document: Document) -> Iterator[Diagnostic]:
    """W359, a warning: numbers and booleans of a valid Workflow that copies get with another text than the file has."""
    values: dict[Route, str] = {}
    for number, gang in enumerate(document.data["spec"]["gangs"]):
        for key, listed in gang.get("matrix", {}).items():
            for place, each in enumerate(listed if isinstance(listed, list) else ()):
                route: Route = ("spec", "gangs", number, "matrix", key, place)
                cells = [((*route, name), value) for name, value in each.items()] if key == ROWS else [(route, each)]
                values.update((at, _text(value)) for at, value in cells if not isinstance(value, str))
    if not values or document.source_map:
        return
    lines, spans = Lines(document.text), spans_of(document, values)
    for at, text in values.items():
        span = spans[at][0]
        written = _ANCHOR.sub("", lines.line(span.line)[span.column - 1 : span.end_column - 1])
        if written != text and not written.startswith("*"):  # an alias
            message, hint = f'copies get the text "{text}" of {written}', f'write "{written}" in quotes to keep it'
            yield warning("W359", ("workflow", *at), message, hint=hint)


def named(name: str, route: Route) -> Iterator[Diagnostic]:
    """W353: a name that no variable of a copy can have."""
    if not name.strip():
        yield error("W353", route, "this column has no name", hint="name it, or remove it")
    elif not _NAME.fullmatch(name):
        message = f'"{shorten(name)}" is not a name that a shell can set: it has letters, digits and underscores'
        several = any(mark in name for mark in ";\t|")
        hint = "separate the columns with commas" if several else "rename it"
        yield error("W353", route, message, hint="remove the spaces around it" if name != name.strip() else hint)
    elif name in OWN or name.startswith(OWN_PREFIXES):
        yield error("W353", route, f"{name} has a value of its own in every pod", hint="rename it")
    elif name in SHELL:
        yield error("W353", route, f"{name} belongs to the shell that sets the variables", hint="rename it")


def _too_many(copies: int, at: Route) -> Diagnostic:
    message = f"the matrix makes {copies:,} copies; bayplan makes at most {MOST:,}"
    return error("W309", at, message, hint="divide it into several workflows")


LONGEST = 2**17
"""Bytes of a variable with its name and a NUL (Linux, MAX_ARG_STRLEN in include/uapi/linux/binfmts.h, pages of 4 KiB).
No container starts with a longer one."""


def _unusable(name: str, value: str, route: Route) -> Iterator[Diagnostic]:
    """W359: a value that no environment variable can have."""
    size = len(f"{name}={value}".encode("utf-8", "surrogatepass")) + 1
    if "\0" in value:
        message = f"a value of {name} has a NUL character, which no environment variable can have"
        yield error("W359", route, message, hint="remove it")
    elif size > LONGEST:
        message = (
            f"{name} with this value has {size:,} bytes; Linux starts programs with at most {LONGEST:,} a variable"
        )
        yield error("W359", route, message, hint="write the value to a file, and its path into the matrix")


# CSV (RFC 4180): commas, quotes around a field, two quotes for one. A line break may be inside quotes.


class Cell(NamedTuple):
    """A field of a CSV file with its place: lines and columns from 1, the end exclusive."""

    text: str
    line: int
    column: int
    end_line: int
    end_column: int


class MalformedError(Exception):
    """Text that is not CSV: why, and where."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


_PIECE = re.compile(r'"(?:[^"]|"")*"(?!")|[^,"\n]*')


def cells(text: str) -> Iterator[list[Cell]]:
    """The rows of a CSV text, without empty lines. MalformedError: a quote is inside a field, or has no end."""
    at, line, start, row = 0, 1, 0, list[Cell]()
    while at < len(text) or row:
        piece = _PIECE.match(text, at)
        raw = piece[0] if piece else ""
        place, end = (line, at - start + 1), at + len(raw)
        if raw.startswith('"') and "\n" in raw:
            line, start = line + raw.count("\n"), at + raw.rindex("\n") + 1
        after = text[end : end + 1]
        if after not in ("", ",", "\n"):
            why = "this quote has no end" if not raw else "a field has text beside its quotes"
            raise MalformedError(why, line, end - start + 1)
        value = raw[1:-1].replace('""', '"') if raw.startswith('"') else raw
        row.append(Cell(value, *place, line, end - start + 1))
        at = end + 1
        if after != ",":
            if len(row) > 1 or row[0].text or raw:
                yield row
            line, start, row = line + 1, at, []


def _table(document: Document, name: str, route: Route) -> Outcome[Rows]:
    """The rows of a CSV file by the names in the first one."""
    found: list[list[Cell]] = []
    try:
        for row in cells(document.text):
            found.append(row)
            if len(found) > MOST + 1:
                break
    except MalformedError as problem:
        hint = 'put the field in quotes, and write "" for a quote in it'
        return Outcome(None, (error("W359", (name, AT, problem.line, problem.column), problem.message, hint=hint),))
    if len(found) < 2:
        message = f'"{document.name}" has no rows' + (" below the names of its columns" if found else "")
        return Outcome(None, (error("W355", route, message, hint="write the names first, and a row for each copy"),))
    if len(found) > MOST + 1:
        message = f'"{document.name}" has more than {MOST:,} rows'
        return Outcome(None, (error("W309", route, message, hint="divide it into several workflows"),))
    head, *below = found
    wrong = [*_heads(head, name), *_unequal(head, below, name)]
    wrong += [
        found
        for row in below
        for column, cell in zip(head, row, strict=False)
        for found in _unusable(column.text, cell.text, _at(name, cell))
    ]
    if has_errors(wrong):
        return Outcome(None, tuple(wrong))
    names = [cell.text for cell in head]
    return Outcome(tuple(dict(zip(names, (cell.text for cell in row), strict=True)) for row in below))


def _at(name: str, cell: Cell) -> Route:
    return (name, AT, *cell[1:])


def _heads(head: Sequence[Cell], name: str) -> Iterator[Diagnostic]:
    """W353, W355: the names of columns."""
    seen: set[str] = set()
    for cell in head:
        yield from named(cell.text, _at(name, cell))
        if cell.text in seen:
            yield error("W355", _at(name, cell), f"two columns have the name {cell.text}", hint="rename one of them")
        seen.add(cell.text)


def _unequal(head: Sequence[Cell], below: Sequence[Sequence[Cell]], name: str) -> Iterator[Diagnostic]:
    """W355: a row with more or fewer fields than there are names."""
    for row in below:
        if len(row) != len(head):
            place = row[len(head)] if len(row) > len(head) else row[-1]
            message = f"this row has {count(len(row), 'field')}, but the first row names {count(len(head), 'column')}"
            hint = "put a field with commas in quotes" if len(row) > len(head) else "add the missing fields"
            yield error("W355", _at(name, place), message, hint=hint)
