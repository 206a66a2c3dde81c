"""Reads block style YAML of programs line by line, in half the time of libyaml.

It understands block collections, collections in flow style on one line, scalars on one line and literal blocks. It
passes an unusual collection in flow style to the parser, once for all of its occurrences. It returns None, and leaves
the document to the parser, for anything else: anchors, tags, escapes, scalars over several lines, tabs, characters
outside ASCII, and errors. It also returns None if it would call the parser too often.
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.core import regex as re
from bayplan.core.typing import Any
from bayplan.text.scalars import Memo
from bayplan.text.source import InvalidScalar

_PLAIN = r"(?:[A-Za-z0-9_./$(+=~^]|-++(?=[^\s-]))[^\s:#]*+(?:(?::+(?=[^\s:])|\#| +(?=[^#\s]))[^\s:#]*+)*+"
_LINE = re.compile(
    r"( *+)((?:-(?: ++|$))*)"  # indentation, dashes
    r"(?:([A-Za-z0-9_./$(][^\s:#,\[\]{}\"']*|\"[^\"\\]*\"|'[^']*'):(?= |$))?"  # a key
    rf"(?: *+({_PLAIN}|\"[^\"\\]*\"|'[^']*'|\|-?|[\[{{][^#]*[\]}}]))?"  # a value
    r"(?: ++\#.*| *+)$"
).match
_QUICK = re.compile(r"( *)((?:- )?)([A-Za-z][A-Za-z0-9_./-]*):(?: ([A-Za-z0-9][A-Za-z0-9_./-]*))?$").match
_WORD = (
    r"(?:[A-Za-z0-9_./$(+=~^]|-++(?=[A-Za-z0-9_./$(+=]))[^\s:#,\[\]{}?]*+"
    r"(?:(?::(?=[A-Za-z0-9_./])| ++(?=[^\s:#,\[\]{}?]))[^\s:#,\[\]{}?]*+)*+"
)
_SCALAR = rf"{_WORD}|\"[^\"\\]*\"|'[^']*'"
_ENTRY = re.compile(rf"(?:({_SCALAR}): ++)?(?:({_SCALAR})|([\[{{])) *+((?:[\]}}] *+)*+)(,?) *+").match
"""An entry of a collection in flow style: key, value or opening bracket, closing brackets, comma."""
_MARKER = re.compile(r"\n(?=---(?: |\n))")
_DEEPEST = 50
DEEPEST = 2 * _DEEPEST
"""The most nested collections that this module reads: half of them in block style, half in flow style."""
_MOST_FLOWS = 1000
_LONGEST_KEY = 1000
_CREDIT, _CALL = 4_000, 300
"""The initial credit for calls of the parser, and the cost of a call, in characters read line by line."""

_NONE = object()  # no block is expected


def documents(text: str, values: Memo, keys: Memo, parse: Callable[[str], list[Any]]) -> list[Any] | None:
    """The data of every document, None for an empty one. None instead of the list if the parser must read the text.

    `parse` reads a document or a flow collection that this module does not understand. ValueError: it has errors.
    """
    if not text.endswith("\n") or not text.isascii() or "\r" in text or "\n..." in text or "\n%" in text:
        return None
    if text.startswith(("%", "...")):
        return None
    data: list[Any] = []
    parser = _Parser(parse)
    pieces = _MARKER.split(text)
    try:
        for left, piece in zip(range(len(pieces) - 1, -1, -1), pieces, strict=True):
            try:
                data += _read(piece.split("\n"), values, keys, parser)
                parser.credit += len(piece)
            except _UnusualError:
                data += parser.read(f"{piece}\n" if left else piece)
    except (_NoCreditError, ValueError):
        return None
    return data


class _UnusualError(Exception):
    """The parser must read this document."""


class _NoCreditError(Exception):
    """The parser must read all documents."""


class _Parser:
    """The parser for all other documents, with a credit for its calls. Documents read line by line add credit."""

    def __init__(self, parse: Callable[[str], list[Any]]) -> None:
        self.parse, self.credit = parse, _CREDIT
        self.flows: dict[str, Any] = {}

    def read(self, text: str) -> list[Any]:
        """The documents of the text. ValueError: it has errors."""
        self.credit -= _CALL + len(text)
        if self.credit < 0:
            raise _NoCreditError
        return self.parse(text)

    def flow(self, text: str, values: Memo, keys: Memo) -> Any:
        """A collection in flow style on one line."""
        found = self.flows.get(text)
        if found is None:
            if text.count("[") + text.count("{") > _DEEPEST:
                raise _UnusualError
            found = flow(text, values, keys)
            if found is None:
                try:
                    (found,) = self.read(text + "\n")
                except ValueError:
                    raise _UnusualError from None
            if len(self.flows) < _MOST_FLOWS:
                self.flows[text] = found
        if type(found) is not (list if text[0] == "[" else dict):
            raise _UnusualError
        return found


def flow(text: str, values: Memo, keys: Memo) -> Any:
    """The collection in flow style that is this text. None: it is unusual, or wrong."""
    root: Any = None
    node: Any = None  # the open collection
    stack: list[Any] = []
    place = 0
    while match := _ENTRY(text, place):
        key, value, bracket, closing, comma = match.groups()
        place = match.end()
        if bracket:
            value = [] if bracket == "[" else {}
        elif value[0] in "\"'":
            value = value[1:-1]
        else:
            value = values[value]
            if value.__class__ is InvalidScalar:
                return None
        if node.__class__ is dict:
            if key is None:
                return None
            key = key[1:-1] if key[0] in "\"'" else keys[key]
            if key.__class__ is not str or key in node or len(key) > _LONGEST_KEY:
                return None
            node[key] = value
        elif key is not None:
            return None
        elif root is None:
            root = value
        else:
            node.append(value)
        if bracket:
            stack.append(node)
            node = value
        for each in closing:
            if each != " ":
                if node is None or (each == "]") is not (node.__class__ is list):
                    return None
                node = stack.pop()
        if node is None:
            return root if place == len(text) and not comma else None
        if bool(comma) is bool(bracket and not closing):
            return None
    return None


def _read(lines: list[str], values: Memo, keys: Memo, parser: _Parser) -> list[Any]:
    """The data of the document in these lines, if there is one. It is one loop, because calls would double the time.

    It removes each line that it has read, because the lines of a large document need as much memory as its data.
    """
    root: Any = None
    explicit = lines[0].startswith("---")
    if explicit and (lines[0][3:4] not in ("", " ") or lines[0][3:].strip(" ")[:1] not in ("", "#")):
        raise _UnusualError
    lines.reverse()
    if explicit:
        lines.pop()
    stack: list[tuple[int, Any, bool]] = []  # column, collection, whether it is a sequence at the column of its key
    awaited: Any = _NONE  # the key or index whose value may follow on the next lines
    holder: Any = None
    edge = 0  # the column of that key or dash
    while lines:
        line = lines.pop()
        match = _QUICK(line) or _LINE(line)
        if match is None:
            if line.lstrip(" ")[:1] == "#":
                continue
            raise _UnusualError
        pad, dashes, key, value = match.groups()
        if not dashes and key is None:
            if value is None:
                continue
            raise _UnusualError
        column = len(pad)
        sequence = bool(dashes)
        # The collection of the line
        if awaited is not _NONE and (column > edge or (column == edge and sequence and type(holder) is dict)):
            node: Any = [] if sequence else {}
            holder[awaited] = node
            stack.append((column, node, column == edge))
            awaited = _NONE
        else:
            awaited = _NONE
            while stack and (stack[-1][0] > column or (stack[-1][0] == column and stack[-1][2] and not sequence)):
                stack.pop()
            if not stack:
                if root is not None:
                    raise _UnusualError
                root = [] if sequence else {}
                stack.append((column, root, False))
            if stack[-1][0] != column:
                raise _UnusualError
            node = stack[-1][1]
        if sequence is not (type(node) is list) or len(stack) > _DEEPEST:
            raise _UnusualError
        # Its dashes
        if sequence:
            rest = dashes
            while True:
                edge = column
                step = len(rest) - len(rest[1:].lstrip(" "))
                column += step
                rest = rest[step:]
                if not rest:
                    break
                deeper: list[Any] = []
                node.append(deeper)
                stack.append((column, deeper, False))
                node = deeper
            if key is not None:
                inner: dict[str, Any] = {}
                node.append(inner)
                stack.append((column, inner, False))
                node = inner
            elif value is None:
                node.append(None)
                holder, awaited = node, len(node) - 1
                continue
        # Its key
        if key is not None:
            edge = column
            key = key[1:-1] if key[0] in "\"'" else keys[key]
            if key.__class__ is not str or key in node or len(key) > _LONGEST_KEY:
                raise _UnusualError
            if value is None:
                node[key] = None
                holder, awaited = node, key
                continue
        # Its value
        first = value[0]
        if first in "\"'":
            value = value[1:-1]
        elif first == "|":
            value = _literal(lines, edge, value)
        elif first in "[{":
            value = parser.flow(value, values, keys)
        else:
            value = values[value]
            if value.__class__ is InvalidScalar:
                raise _UnusualError
        if key is not None:
            node[key] = value
        else:
            node.append(value)
    return [root] if explicit or root is not None else []


def _literal(lines: list[str], edge: int, header: str) -> str:
    """A literal block, whose lines it removes. `edge`: its lines begin to the right of this column."""
    body: list[str] = []
    while lines and not lines[-1]:
        body.append(lines.pop())
    width = len(lines[-1]) - len(lines[-1].lstrip(" ")) if lines else 0
    if lines and lines[-1][width : width + 1] in ("", "\t"):
        raise _UnusualError
    if width <= edge:
        return ""
    pad = " " * width
    while lines and (lines[-1].startswith(pad) or not lines[-1].strip(" ")):
        body.append(lines.pop()[width:])
    text = "\n".join(body).rstrip("\n")
    return text if header == "|-" else f"{text}\n"
