"""Paths in data -> places in the text it came from, in one pass over the events.

Only what is asked for is kept, and whatever has an anchor, so that aliases and merge keys can be followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

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

from bayplan._document.scalars import MERGE, spelled
from bayplan.diagnostics import KEY
from bayplan.values import NamedTuple

Path = tuple[str | int, ...]
_LEAF = object()  # in a tree of wanted steps: a path ends here
_DEEPEST = 150
"""Nothing that could be read nests deeper; libyaml takes quadratic time there."""


class _DoneError(Exception):
    """Nothing more is wanted."""


class Extent(NamedTuple):
    """A piece of text, as offsets of its first character and of the one after its last."""

    start: int
    end: int


class _Node:
    """A value: where it and its key are (of a block without one: its first key), and what is kept of its children."""

    __slots__ = ("block", "children", "extent", "key", "merged")

    def __init__(self, event: Any, key: Extent | None) -> None:
        self.key, self.extent = key, _extent(event)
        self.block = not isinstance(event, ScalarEvent) and not event.flow_style
        self.children: dict[str | int, _Node] = {}
        self.merged: _Node | None = None

    def child(self, step: str | int) -> _Node | None:
        """The value under a key or number, merged mappings included: the first of several wins."""
        found = self.children.get(step)
        if found is None and self.merged is not None:
            parts = (self.merged, *self.merged.children.values()) if 0 in self.merged.children else (self.merged,)
            found = next((found for part in parts if (found := part.child(step)) is not None), None)
        return found

    def place(self) -> Extent:
        """Where to point at."""
        return self.key or Extent(self.extent.start, self.extent.start + 1) if self.block else self.extent


def _extent(event: Any) -> Extent:
    return Extent(event.start_mark.index, event.end_mark.index)


def find(
    events: Iterator[Any], asked: Iterable[tuple[int, Path]], *, plain: bool, loaded: bool = False
) -> dict[tuple[int, Path], Extent]:
    """The extent of every (document, path), or of its nearest ancestor; fewer where the text is broken.

    `plain`: there are no anchors, so that what is not wanted can be skipped. `loaded`: keys are spelled as
    `document.load` spells them, and the last of equal ones counts.
    """
    wanted = set(asked)
    roots = _Keeper(wanted, plain, _loaded_key if loaded else _key, loaded).roots_of(events)
    return {(index, path): _lookup(roots[index], path) for index, path in wanted if index in roots}


def _lookup(node: _Node, path: Path) -> Extent:
    for step in path:
        found = None if step == KEY else node.child(step)
        if found is None:
            return node.key or node.place()
        node = found
    return node.place()


class _Keeper:
    """Reads events by recursive descent and keeps the nodes on the wanted paths."""

    def __init__(self, asked: set[tuple[int, Path]], plain: bool, name: Callable[[Any], Any], last: bool) -> None:
        self.plain, self.name, self.last = plain, name, last
        self.trees: dict[int, dict[Any, Any]] = {}
        for index, path in asked:
            branch = self.trees.setdefault(index, {})
            for step in path[:-1] if path[-1:] == (KEY,) else path:
                branch = branch.setdefault(step, {})
            branch[_LEAF] = True
        self.missing = 0
        self.anchors: dict[str, _Node] = {}

    def roots_of(self, events: Iterator[Any]) -> dict[int, _Node]:
        """The root node of every wanted document that is there."""
        roots: dict[int, _Node] = {}
        last = max(self.trees, default=-1)
        starts = (event for event in events if isinstance(event, DocumentStartEvent))
        try:
            for index, _ in zip(range(last + 1), starts, strict=False):
                tree, event = self.trees.get(index, {}), next(events)
                self.anchors, self.missing = {}, _leaves(tree) if index == last else -1
                roots[index] = _Node(event, None)
                self.fill(roots[index], event, events, tree, 0)
        except (YAMLError, _DoneError, StopIteration):
            pass
        return roots

    def fill(self, node: _Node, event: Any, events: Iterator[Any], tree: dict[Any, Any] | None, depth: int) -> None:
        """Reads on to the end of a node. `tree` is what is wanted below it, None everything."""
        if event.anchor is not None:
            tree = None
            self.anchors[event.anchor] = node
        if depth > _DEEPEST:
            raise _DoneError
        if isinstance(event, MappingStartEvent):
            node.extent = Extent(node.extent.start, self.mapping(node, events, tree, depth))
        elif not isinstance(event, ScalarEvent):
            node.extent = Extent(node.extent.start, self.sequence(node, events, tree, depth))
        if tree is not None and _LEAF in tree:
            self.missing -= 1
            if self.missing == 0 and not self.last:
                raise _DoneError

    def mapping(self, node: _Node, events: Iterator[Any], tree: dict[Any, Any] | None, depth: int) -> int:
        """Reads the pairs of a mapping; the offset of its end."""
        for event in events:
            if isinstance(event, MappingEndEvent):
                return _extent(event).end
            name, place = self.name(event), _extent(event)
            node.key = node.key or place
            if not self.plain and not isinstance(event, AliasEvent):
                self.fill(_Node(event, place), event, events, {}, depth + 1)
            child = self.value(node, name, place, events, next(events), tree, depth)
            if name is MERGE:
                node.merged = child
        raise _DoneError

    def sequence(self, node: _Node, events: Iterator[Any], tree: dict[Any, Any] | None, depth: int) -> int:
        """Reads the items of a sequence; the offset of its end."""
        for number, event in enumerate(events):
            if isinstance(event, SequenceEndEvent):
                return _extent(event).end
            self.value(node, number, None, events, event, tree, depth)
        raise _DoneError

    def value(
        self, parent: _Node, step: Any, key: Extent | None, events: Iterator[Any], event: Any, tree: Any, depth: int
    ) -> _Node | None:
        """Reads one value and hangs it below its parent if it is wanted."""
        if self.plain and tree is not None and step not in tree:
            _skip(event, events)
            return None
        alias = isinstance(event, AliasEvent)
        child = self.anchors.get(event.anchor) if alias else _Node(event, key)
        everything = tree is None or step is MERGE
        if child is not None and (everything or step in tree):
            if self.last:
                parent.children.pop(step, None)
            parent.children.setdefault(step, child)
        if child is not None and not alias:
            self.fill(child, event, events, None if everything else tree.get(step, {}), depth + 1)
        return child


def _skip(event: Any, events: Iterator[Any]) -> None:
    """Reads on to the end of a value."""
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
            raise _DoneError
        event = next(events)


def _leaves(tree: dict[Any, Any]) -> int:
    return sum(1 if step is _LEAF else _leaves(branch) for step, branch in tree.items())


def _key(event: Any) -> Any:
    """A mapping key as it is in the data."""
    if not isinstance(event, ScalarEvent):
        return None
    return spelled(event.value) if event.implicit[0] else event.value


def _loaded_key(event: Any) -> Any:
    """The same, where the data were read as PyYAML does."""
    from bayplan._document import pyyaml

    if not isinstance(event, ScalarEvent):
        return None
    return pyyaml.spelled(event.value) if event.implicit[0] else event.value
