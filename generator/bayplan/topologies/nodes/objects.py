"""Node objects out of a text of JSON that comes in pieces: one at a time, never all of them in memory.

`kubectl get nodes -o json` (a List), `--raw /api/v1/nodes` (a NodeList, whose items have no kind), a Node, a list of
Nodes, or several of these one after the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from bayplan.core.diagnostics import AT, Diagnostic, Route, error
from bayplan.kube.objects import get, is_kind, mapping
from bayplan.topologies.nodes.census import Counting
from bayplan.topologies.nodes.offers import add

LARGEST = 1 << 26
"""Characters of one value; an object in Kubernetes has at most some MiB."""
MOST = 20
"""Nodes that are complained of."""
_NEAR = 64
"""An error so near to the end of what is read may be that end."""
_BLANKS = re.compile(r"[ \t\n\r]*")
_DECODE = json.JSONDecoder(strict=False).raw_decode


class WrongError(Exception):
    """The text is no JSON, from a place in it, or no whole list."""

    def __init__(self, message: str, line: int, column: int, code: str = "T501", hint: str = "") -> None:
        self.message, self.line, self.column, self.code = message, line, column, code
        self.hint = hint or "is it cut off? Write it again with `kubectl get nodes -o json`"


def read(chunks: Iterable[str], at: Route, counting: Counting) -> Iterator[Diagnostic]:
    """Counts the nodes; yields an error for every one that is none, and for the end of what can be read."""
    wrong = 0
    try:
        for line, column, node in _nodes(_Pieces(chunks)):
            try:
                add(counting, (*at, AT, line, column), node)
            except ValueError as problem:
                wrong += 1
                if wrong <= MOST:
                    yield unread(node, problem, (*at, AT, line, column))
        if wrong > MOST:
            yield error("T501", at, f"{wrong - MOST} more nodes cannot be read")
    except WrongError as problem:
        yield error(problem.code, (*at, AT, problem.line, problem.column), problem.message, hint=problem.hint)


PAGES = "ask for all: `kubectl get nodes -o json` does, and `--raw` with a limit does not"


def goes_on(metadata: Any) -> str:
    """What is wrong with a list that says of itself that more nodes follow; empty where it does not."""
    rest = get(metadata, "remainingItemCount")
    more = f"{rest} more nodes" if isinstance(rest, int) and rest > 0 else "more nodes"
    if get(metadata, "continue") or more != "more nodes":
        return f"the list goes on: {more} are not in the file, as its metadata say"
    return ""


def unread(node: Any, problem: Exception, place: Route) -> Diagnostic:
    """T501: an object that does not say what a node must."""
    name = str(get(node, "metadata", "name") or "")[:80]
    message = f'node "{name}" cannot be read: {problem}' if name else f"a node cannot be read: {problem}"
    return error("T501", place, message, hint="is it what kubectl wrote?")


def _nodes(pieces: _Pieces) -> Iterator[tuple[int, int, Any]]:
    """Line, column and data of every object that is a Node."""
    while first := pieces.peek():
        if first == "{":
            yield from _document(pieces)
        elif first == "[":
            yield from ((*where, each) for *where, each in _elements(pieces) if is_kind(each, "", "Node"))
        else:
            raise pieces.wrong("this is neither an object nor a list")


def _document(pieces: _Pieces) -> Iterator[tuple[int, int, Any]]:
    """The nodes in the items of an object, or itself if it is one."""
    line, column = pieces.place()
    head: dict[str, Any] = {}
    pieces.take("{")
    while pieces.peek() != "}":
        key = str(pieces.value()) if pieces.peek() == '"' else ""
        pieces.take(":" if key else '"')
        if key == "items" and pieces.peek() == "[":
            for *where, each in _elements(pieces):
                if is_kind(each, "", "Node") or (get(each, "kind") is None and _bare(each, head)):
                    yield where[0], where[1], each
        else:
            place = pieces.place()
            head[key] = pieces.value()
            if key == "metadata" and (message := goes_on(head[key])):
                raise WrongError(message, place[0], place[1], "T529", PAGES)
        if pieces.peek() != "}":
            pieces.take(",")
    pieces.take("}")
    if is_kind(head, "", "Node"):
        yield line, column, head


def _bare(data: Any, head: Any) -> bool:
    """Whether an item without a kind is a Node: the list says so, or its status does."""
    kind = head.get("kind")
    return kind == "NodeList" or (kind is None and "allocatable" in mapping(data, "status"))


def _elements(pieces: _Pieces) -> Iterator[tuple[int, int, Any]]:
    pieces.take("[")
    while pieces.peek() != "]":
        place = pieces.place()
        yield (*place, pieces.value())
        if pieces.peek() != "]":
            pieces.take(",")
    pieces.take("]")


class _Pieces:
    """A text of which only what is needed next is kept. Knows at which line and column it stands."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self.chunks = iter(chunks)
        self.kept, self.position = "", 0
        self.line, self.column, self.counted = 1, 1, 0  # of kept[counted]

    def place(self) -> tuple[int, int]:
        """Line and column."""
        lines = self.kept.count("\n", self.counted, self.position)
        start = self.kept.rfind("\n", self.counted, self.position) if lines else -1
        self.column = self.position - start if lines else self.column + self.position - self.counted
        self.line += lines
        self.counted = self.position
        return self.line, self.column

    def peek(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            self.position = _BLANKS.match(self.kept, self.position).end()  # type: ignore[union-attr]
            if self.position < len(self.kept):
                return self.kept[self.position]
            if not self._more():
                return ""

    def take(self, character: str) -> None:
        """Steps over the character, which must come next."""
        found = self.peek()
        if found != character:
            raise self.wrong(f"{character} is expected, not {found}" if found else "the text ends too early")
        self.position += 1

    def value(self) -> Any:
        """The value that comes next."""
        self.peek()
        while True:
            try:
                data, end = _DECODE(self.kept, self.position)
            except json.JSONDecodeError as problem:
                self._extend(problem)
            except (ValueError, RecursionError) as problem:  # a number of thousands of digits, or too deep
                raise self.wrong(f"this cannot be read: {str(problem)[:80]}") from None
            else:
                if end < len(self.kept) or not self._more():  # the rest of a number may follow
                    self.position = end
                    return data

    def wrong(self, message: str) -> WrongError:
        """What is wrong here."""
        return WrongError(message, *self.place())

    def _extend(self, problem: json.JSONDecodeError) -> None:
        """Reads on, where the value may only not be there as a whole."""
        inside = problem.pos < len(self.kept) - _NEAR and not problem.msg.startswith("Unterminated")
        long = len(self.kept) - self.position > LARGEST
        if not inside and not long and self._more():
            return
        if inside:
            self.position = problem.pos
            raise self.wrong(f"this is no JSON: {problem.msg}")
        raise self.wrong("this value is larger than any node" if long else "the text ends inside this value")

    def _more(self) -> bool:
        """Keeps twice as much, so that a large value is looked at few times."""
        self.place()
        rest = self.kept[self.position :]
        held, size = [rest], 0
        for chunk in self.chunks:
            held.append(chunk)
            size += len(chunk)
            if size >= max(len(rest), 1):
                break
        self.kept, self.position, self.counted = "".join(held), 0, 0
        return size > 0
