"""Common parts for reading output and objects of TorchX, and the APPLICATION section of a dry run."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import AT, Diagnostic, Outcome, Route, error
from bayplan.kube import quantity
from bayplan.kube.objects import items
from bayplan.text.document import Document, Path, SourceMap, Span, spans_of


def mappings(value: Any, *keys: str | int) -> list[Mapping[str, Any]]:
    """The mappings in the list at a path."""
    return [each for each in items(value, *keys) if isinstance(each, Mapping)]


def whole(value: Any) -> int:
    """An integer, also from a string; 0 if it is not one."""
    return quantity.whole(str(value), 9)


# Data with the place in the source that each value comes from.

Place = Callable[[Path], Span]

_LONGEST = 500
"""YAML readers need a question mark before longer keys. Values below such keys get the place of the mapping."""


def route_of(document: Document, path: Path, subject: str) -> Route:
    """The route to the place of a path in the document's source."""
    return (subject, AT, *spans_of(document, [path])[path][0])


class Translated(NamedTuple):
    """Data, and path in the data -> path in the source document."""

    data: Any
    origins: Mapping[Path, Path]


def source_map(data: Any, place: Place) -> SourceMap:
    """The source map of data with these places, with one value on each line of a synthetic text."""
    lines, paths = [], []
    for path, line in _lines(data, (), "", ""):
        paths.append(path)
        lines.append(line)

    def back(span: Span) -> tuple[Span, str]:
        return place(paths[min(span.line, len(paths)) - 1]), ""

    return SourceMap("\n".join(lines), back)


def _lines(value: Any, path: Path, head: str, tail: str) -> Iterator[tuple[Path, str]]:
    """The lines of the synthetic text. Only the places of values matter."""
    entries: list[tuple[str | int, Any]] = []
    if isinstance(value, Mapping):
        entries = [(key, each) for key, each in value.items() if isinstance(key, str) and len(key) <= _LONGEST]
    elif isinstance(value, list):
        entries = list(enumerate(value))
    if not entries:
        yield path, f"{head}0{tail}"
        return
    opening, closing = ("{", "}") if isinstance(value, Mapping) else ("[", "]")
    yield path, f"{head}{opening}"
    for number, (key, each) in enumerate(entries, 1):
        word = f"{json.dumps(key)}: " if isinstance(key, str) else ""
        yield from _lines(each, (*path, key), word, "," if number < len(entries) else "")
    yield path, f"{closing}{tail}"


def nearest(path: Path, listed: Mapping[Path, Any]) -> tuple[Any, Path] | None:
    """The entry for the longest listed prefix of a path, and the rest of the path."""
    cut = next((n for n in range(len(path), -1, -1) if path[:n] in listed), None)
    return None if cut is None else (listed[path[:cut]], path[cut:])


def from_spans(spans: Mapping[Path, Span], otherwise: Span) -> Place:
    """Places from a mapping."""

    def place(path: Path) -> Span:
        part = nearest(path, spans)
        return part[0] if part else otherwise

    return place


def translated_document(document: Document, value: Translated) -> Document:
    """The document with data that come from its own data."""

    def place(path: Path) -> Span:
        part = nearest(path, value.origins)
        at: Path = (*part[0], *part[1]) if part else ()
        return spans_of(document, [at])[at][0]

    return document._replace(data=value.data, source_map=source_map(value.data, place))


# The strings that the replicas of a role share, with TorchX macros where they differ.

RANK0 = re.compile(r"\b(?:TORCHX_RANK0_HOST|(?:VC|TORCHX_MCAD)_[A-Z0-9_]+_0_HOSTS)\b")
"""The variable with the host of rank 0, in replica 0 and in the others (TorchX 0.7 and 0.8)."""


def words(container: Mapping[str, Any]) -> list[str]:
    """The command of a container."""
    return [each for each in (*items(container, "command"), *items(container, "args")) if isinstance(each, str)]


def macros(text: str, app: str) -> str:
    """A string in the form of an AppDef: a template, with macros for the application's ID and the host of rank 0."""
    escaped = RANK0.sub("${rank0_env}", text.replace("$", "$$"))
    return escaped.replace(app, "${app_id}") if app else escaped


def common_text(texts: Sequence[str], numbers: Sequence[int]) -> str | None:
    """The template of all replicas' strings. None: they differ in more than the number of the replica."""
    if len(set(texts)) == 1:
        return texts[0]
    pieces = [re.split(r"([0-9]+)", text) for text in texts]
    if len({len(each) for each in pieces}) > 1:
        return None
    texts_in_common = []
    for spread in zip(*pieces, strict=True):
        if len(set(spread)) == 1:
            texts_in_common.append(spread[0])
        elif list(spread) == [str(number) for number in numbers]:
            texts_in_common.append("${replica_id}")
        else:
            return None
    return "".join(texts_in_common)


def environment(container: Mapping[str, Any], app: str) -> dict[str, str] | None:
    """The variables in the form of a role. None: one has a source other than a field of the pod."""
    variables: dict[str, str] = {}
    for entry in mappings(container, "env"):
        name, source = entry.get("name"), entry.get("valueFrom")
        reference = source.get("fieldRef") if isinstance(source, Mapping) else None
        if not isinstance(name, str) or not (source is None or isinstance(reference, Mapping)):
            return None
        field = f"[FIELD_PATH]{reference.get('fieldPath', '')}" if reference is not None else ""
        variables[name] = field or str(entry.get("value") or "")
    return {
        name: macros(value, app)
        for name, value in variables.items()
        if name not in OWN_VARIABLES and not RANK0.fullmatch(name)
    }


OWN_VARIABLES = ("TORCHX_RANK0_HOST", "TORCHX_IMAGE")
"""Variables that the Kubernetes scheduler of TorchX adds."""


# The APPLICATION section of a dry run: `pprint` of a dictionary (TorchX 0.7 and 0.8, cli/cmd_run.py).
#
# It is a Python literal. Python's parser reads it without running it.

ENUM = re.compile(r"(?<='retry_policy': )<RetryPolicy\.[A-Z]+: ('[A-Z]+')>")
"""The only value that is not a literal."""


class Literal(NamedTuple):
    """Data, and the places of all values."""

    data: Any
    spans: dict[Path, Span]


class _NotPlainError(Exception):
    """A node that is not a plain value."""


def read(text: str, first: int, subject: str) -> Outcome[Literal]:
    """The value of a literal whose first line has this number. R140: not a literal, or not a plain value."""
    plain = ENUM.sub(lambda match: f"{' ' * (len(match[0]) - len(match[1]))}{match[1]}", text).lstrip("\n")
    first += len(text) - len(text.lstrip("\n"))
    try:
        tree = ast.parse(plain, mode="eval")
        reader = _Reader(plain.split("\n"), first, {})
        return Outcome(Literal(reader.value(tree.body, ()), reader.spans))
    except _NotPlainError as odd:
        node, reader = odd.args
        span = reader.span(node)
        message = "the application has a value that is not a string, number, list or dictionary"
        wrong = error(
            "R140", (subject, AT, *span), message, hint="copy the section unchanged from `torchx run --dryrun`"
        )
        return Outcome(None, (wrong,))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return Outcome(None, (_broken(problem, first, subject),))


def _broken(problem: BaseException, first: int, subject: str) -> Diagnostic:
    line = (getattr(problem, "lineno", None) or 1) - 1 + first
    column = max(getattr(problem, "offset", None) or 1, 1)
    message = "the application is incomplete, or is not the output of `torchx run --dryrun`"
    return error("R140", (subject, AT, line, column), message, hint="save its complete output, without colors")


class _Reader(NamedTuple):
    lines: list[str]
    first: int
    spans: dict[Path, Span]

    def value(self, node: ast.AST, path: Path) -> Any:
        self.spans[path] = self.span(node)
        if isinstance(node, ast.Dict):
            return {key: self.value(each, (*path, key)) for key, each in self.entries(node)}
        if isinstance(node, ast.List | ast.Tuple):
            return [self.value(each, (*path, number)) for number, each in enumerate(node.elts)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            node = node.operand
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
                return -node.value
        elif isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
            return node.value
        raise _NotPlainError(node, self)

    def entries(self, node: ast.Dict) -> Iterator[tuple[str, ast.AST]]:
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise _NotPlainError(key or value, self)
            yield key.value, value

    def span(self, node: Any) -> Span:
        line, start = node.lineno - 1 + self.first, self.column(node.lineno, node.col_offset)
        end = self.column(node.lineno, node.end_col_offset) if node.end_lineno == node.lineno else start + 1
        return Span(line, start, line, end)

    def column(self, line: int, offset: int) -> int:
        """Python counts bytes."""
        return len(self.lines[line - 1].encode()[:offset].decode("utf-8", "replace")) + 1
