"""Events -> the extents of every value of a document: what an edit of the text has to know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from bayplan._document.scalars import MERGE, Memo, spelled
from bayplan.values import NamedTuple

_NAMES = Memo(spelled)


class Key(NamedTuple):
    """A mapping's key: its text in the data (MERGE for `<<`), and its extent."""

    name: Any
    start: int
    end: int


class Node:
    """A value. `start` is where its anchor, its tag or its first character stands.

    `stop` is the place after its last character, blank lines and comments below it left out; of a block scalar that
    keeps blank lines, the place before its last line break. A value that is not written has no extent.
    """

    __slots__ = ("anchor", "block", "items", "keys", "kind", "start", "stop", "style")

    def __init__(self, kind: str, start: int, stop: int, anchor: str | None) -> None:
        self.kind, self.start, self.stop, self.anchor = kind, start, stop, anchor
        self.style = ""  # of a scalar: "" (plain), ', ", | or >
        self.block = False  # a collection in block style
        self.keys: list[Key] = []
        self.items: list[Node] = []

    @property
    def merges(self) -> bool:
        """Whether some of a mapping's keys come from elsewhere."""
        return any(key.name is MERGE for key in self.keys)


def outline(events: Iterator[Any], text: str) -> Node | None:
    """The root of the first document that is not empty. The text must be one that `document.read` takes."""
    for event in events:
        if event.__class__ is DocumentStartEvent:
            return _node(next(events), events, text)
    return None


def _node(event: Any, events: Iterator[Any], text: str) -> Node:
    kind, start, end = event.__class__, event.start_mark.index, event.end_mark.index
    if kind is ScalarEvent:
        node = Node("scalar", start, end, event.anchor)
        style = event.style
        if style is not None and style != "":
            node.style = style
            if style in "|>":
                node.stop = _end_of_block(text, start, end)
        return node
    if kind is AliasEvent:
        return Node("alias", start, end, event.anchor)
    node = Node("mapping" if kind is MappingStartEvent else "sequence", start, end, event.anchor)
    node.block = not event.flow_style
    last = _pairs(node, events, text) if kind is MappingStartEvent else _items(node, events, text)
    node.stop = node.items[-1].stop if node.block and node.items else last
    return node


def _pairs(node: Node, events: Iterator[Any], text: str) -> int:
    """Reads the pairs of a mapping; the offset of its end."""
    keys, items = node.keys, node.items
    for event in events:
        if event.__class__ is MappingEndEvent:
            return _index(event.end_mark)
        keys.append(Key(_name(event), event.start_mark.index, event.end_mark.index))
        items.append(_node(next(events), events, text))
    raise AssertionError("a mapping that does not end")


def _items(node: Node, events: Iterator[Any], text: str) -> int:
    """Reads the items of a sequence; the offset of its end."""
    for event in events:
        if event.__class__ is SequenceEndEvent:
            return _index(event.end_mark)
        node.items.append(_node(event, events, text))
    raise AssertionError("a sequence that does not end")


def _index(mark: Any) -> int:
    """The offset of a place."""
    index: int = mark.index
    return index


def _name(event: Any) -> Any:
    """A key as it is in the data; None for one that is an alias."""
    if not isinstance(event, ScalarEvent):
        return None
    return _NAMES[event.value] if event.implicit[0] else event.value


def _end_of_block(text: str, start: int, end: int) -> int:
    """Where a block scalar's last line ends; one that keeps blank lines (`|+`) ends with the last of them."""
    header = text[start : text.find("\n", start, end) + 1 or end].partition("#")[0]
    body = text[start:end]
    if "+" in header:
        return start + len(body.removesuffix("\n").removesuffix("\r"))
    return start + len(body.rstrip("\r\n"))
