"""Events -> the places of values: those of some paths for diagnostics, or those of all values for edits.

For diagnostics, it keeps only the nodes on these paths, and nodes with anchors for aliases and merge keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from yaml import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from bayplan.core.diagnostics import KEY
from bayplan.text.scalars import MERGE, Memo, key_name, pyyaml_key_name

Path = tuple[str | int, ...]
_LEAF = object()  # in a tree of wanted steps: a path ends here
_DEEPEST = 150
"""Readable documents have fewer levels, and libyaml needs quadratic time for more."""


class _FoundAllError(Exception):
    """The search has found all paths, or cannot find more."""


class Key(NamedTuple):
    """A key of a mapping: its name in the data (MERGE for `<<`), and its extent."""

    name: Any
    start: int
    end: int


class Node:
    """A value. `start` is the place of its anchor, its tag or its first character, `end` the end of its last event.

    `stop` is the place after its last character, without blank lines and comments below it. For a block scalar that
    keeps blank lines, it is the place before the last line break. A value without text has no extent.
    """

    __slots__ = ("anchor", "block", "end", "items", "key", "keys", "kind", "start", "stop", "style", "target")

    def __init__(self, event: Any, key: Key | None) -> None:
        self.kind = _KINDS.get(event.__class__, "alias")
        self.start, self.end, self.anchor = event.start_mark.index, event.end_mark.index, event.anchor
        self.stop: int = self.end
        self.key = key  # for a mapping without a key: its first key
        self.style = ""  # of a scalar: "" (plain), ', ", | or >
        self.block = self.kind in ("mapping", "sequence") and not event.flow_style
        self.keys: list[Key] = []
        self.items: list[Node | Any] = []  # None for an item on no wanted path
        self.target: Node | None = None  # of an alias

    @property
    def merges(self) -> bool:
        """Whether a mapping has merge keys."""
        return any(key.name is MERGE for key in self.keys)


_KINDS = {ScalarEvent: "scalar", MappingStartEvent: "mapping", SequenceStartEvent: "sequence"}


def compose(events: Iterator[Any], text: str) -> Node | None:
    """The root of the first document that is not empty. `document.read` must accept the text."""
    for event in events:
        if event.__class__ is DocumentStartEvent:
            event = next(events)
            root = Node(event, None)
            _Composer(text).fill(root, event, events, None, 0)
            return root
    return None


def find(
    text: str, events: Iterator[Any], paths: Iterable[tuple[int, Path]], *, loaded: bool = False
) -> dict[tuple[int, Path], tuple[int, int]]:
    """The extent of every (document, path), or of its nearest ancestor. Some are missing if the text is invalid.

    `loaded`: keys have the names of `document.load`, and the last duplicate key wins.
    """
    paths_wanted = set(paths)
    composer = _Composer(text, pyyaml_key_name if loaded else key_name, loaded)
    roots = composer.documents(events, paths_wanted)
    return {(index, path): composer.extent(roots[index], path) for index, path in paths_wanted if index in roots}


class _Composer:
    """Makes nodes of events by recursive descent, and finds paths in them."""

    def __init__(self, text: str, name: Callable[[str], Any] = key_name, last: bool = False) -> None:
        self.text, self.names = text, Memo(name)
        self.last = last  # the last duplicate key wins
        self.plain = "&" not in text and "<<" not in text  # no anchors: nodes on no wanted path can be skipped
        self.missing = -1  # wanted paths that are not found yet
        self.anchors: dict[str, Node] = {}

    def documents(self, events: Iterator[Any], paths: Iterable[tuple[int, Path]]) -> dict[int, Node]:
        """The root node of every wanted document that exists."""
        trees: dict[int, dict[Any, Any]] = {}
        for index, path in paths:
            branch = trees.setdefault(index, {})
            for step in path[:-1] if path[-1:] == (KEY,) else path:
                branch = branch.setdefault(step, {})
            branch[_LEAF] = True
        roots: dict[int, Node] = {}
        last = max(trees, default=-1)
        starts = (event for event in events if isinstance(event, DocumentStartEvent))
        try:
            for index, _ in zip(range(last + 1), starts, strict=False):
                tree, event = trees.get(index, {}), next(events)
                self.anchors, self.missing = {}, _leaves(tree) if index == last else -1
                roots[index] = Node(event, None)
                self.fill(roots[index], event, events, tree, 0)
        except (YAMLError, _FoundAllError, StopIteration):
            pass
        return roots

    def fill(self, node: Node, event: Any, events: Iterator[Any], tree: dict[Any, Any] | None, depth: int) -> None:
        """Reads to the end of a node. `tree`: the wanted paths below it. None: all."""
        if event.anchor is not None:
            tree = None
            self.anchors[event.anchor] = node
        if depth > _DEEPEST:
            raise _FoundAllError
        if node.kind == "scalar":
            if event.style:
                node.style = event.style
                if event.style in "|>":
                    node.stop = _end_of_block(self.text, node.start, node.end)
        else:
            read = self.pairs if node.kind == "mapping" else self.entries
            node.end = read(node, events, tree, depth)
            node.stop = node.items[-1].stop if node.block and node.items and node.items[-1] else node.end
        if tree is not None and _LEAF in tree:
            self.missing -= 1
            if self.missing == 0 and not self.last:
                raise _FoundAllError

    def pairs(self, node: Node, events: Iterator[Any], tree: dict[Any, Any] | None, depth: int) -> Any:
        """Reads the pairs of a mapping. Returns the offset of its end."""
        for event in events:
            if event.__class__ is MappingEndEvent:
                end: Any = event.end_mark
                return end.index
            scalar = isinstance(event, ScalarEvent)
            name = None if not scalar else self.names[event.value] if event.implicit[0] else event.value
            key = Key(name, event.start_mark.index, event.end_mark.index)
            node.key = node.key or key
            if not self.plain and not isinstance(event, AliasEvent):
                self.fill(Node(event, key), event, events, {}, depth + 1)
            value = next(events)
            if self.plain and tree is not None and name not in tree:
                _skip(value, events)
            else:
                self.value(node, key, name, value, events, tree, depth)
        raise _FoundAllError

    def entries(self, node: Node, events: Iterator[Any], tree: dict[Any, Any] | None, depth: int) -> Any:
        """Reads the items of a sequence. Returns the offset of its end."""
        for number, event in enumerate(events):
            if event.__class__ is SequenceEndEvent:
                end: Any = event.end_mark
                return end.index
            if self.plain and tree is not None and number not in tree:
                _skip(event, events)
                node.items.append(None)
            else:
                self.value(node, None, number, event, events, tree, depth)
        raise _FoundAllError

    def value(
        self, parent: Node, key: Key | None, step: Any, event: Any, events: Iterator[Any], tree: Any, depth: int
    ) -> None:
        """Reads one value, and adds it to its parent if it is wanted."""
        child = Node(event, key)
        everything = tree is None or step is MERGE
        if everything or step in tree:
            parent.items.append(child)
            if key:
                parent.keys.append(key)
        elif not key:
            parent.items.append(None)
        if child.kind == "alias":
            child.target = self.anchors.get(event.anchor)
        else:
            self.fill(child, event, events, None if everything else tree.get(step, {}), depth + 1)

    def extent(self, node: Node, path: Path) -> tuple[int, int]:
        """The extent for a path in a report."""
        for step in path:
            below = None if step == KEY else self.child(node, step)
            if below is None:
                return node.key[1:] if node.key else _place(node)
            node = below
        return _place(node)

    def child(self, node: Node, step: str | int) -> Node | None:
        """The value of a key or number, also in merged mappings. The first mapping wins."""
        if node.kind == "sequence":
            item = node.items[step] if isinstance(step, int) and 0 <= step < len(node.items) else None
            return _resolved(item)
        pairs = [(key.name, item) for key, item in zip(node.keys, node.items, strict=True)]
        found = next((item for name, item in (pairs[::-1] if self.last else pairs) if name == step), None)
        if _resolved(found):
            return _resolved(found)
        merged = next((_resolved(item) for name, item in reversed(pairs) if name is MERGE), None)
        if merged is None:
            return None
        parts = [merged, *map(_resolved, merged.items)] if merged.kind == "sequence" else [merged]
        return next((found for part in parts if part and (found := self.child(part, step)) is not None), None)


def _resolved(node: Node | None) -> Node | None:
    """The target of an alias, or the node itself."""
    return node.target if node and node.kind == "alias" else node


def _place(node: Node) -> tuple[int, int]:
    """The extent for a value in a report."""
    if not node.block:
        return node.start, node.end
    return node.key[1:] if node.key else (node.start, node.start + 1)


def _end_of_block(text: str, start: int, end: int) -> int:
    """The end of the last line of a block scalar. One that keeps blank lines (`|+`) ends with the last of them."""
    header = text[start : text.find("\n", start, end) + 1 or end].partition("#")[0]
    body = text[start:end]
    if "+" in header:
        return start + len(body.removesuffix("\n").removesuffix("\r"))
    return start + len(body.rstrip("\r\n"))


def _skip(event: Any, events: Iterator[Any]) -> None:
    """Reads to the end of a value."""
    depth = 0
    while True:
        kind = event.__class__
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            depth += 1
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            depth -= 1
        if not depth:
            return
        if depth > _DEEPEST:
            raise _FoundAllError
        event = next(events)


def _leaves(tree: dict[Any, Any]) -> int:
    return sum(1 if step is _LEAF else _leaves(branch) for step, branch in tree.items())
