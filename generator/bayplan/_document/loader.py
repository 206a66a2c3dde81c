"""Events -> data, in one loop: the fast way to read YAML in Python, and the one that sees every key."""

from collections.abc import Callable, Iterator
from typing import Any

from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from bayplan._document.faults import Fault, Faults
from bayplan._document.jsontext import deeper
from bayplan._document.scalars import MERGE, Memo
from bayplan.diagnostics import Note
from bayplan.values import NamedTuple
from bayplan.words import shorten

DEEPEST = 100
"""Collections within collections."""
MOST_EXPANDED = 100_000
"""Nodes that all aliases of a document may stand for."""

_NO_KEY, _ITEM, _ROOT = object(), object(), object()  # states of the open collection
_BROUGHT = object()  # among the marks of a mapping: what its `<<` have brought so far
_UNRENDERED = ("this looks like a template: render it first", "put a value that begins with {{ in quotes")
_CORE = "tag:yaml.org,2002:"
_TYPES: dict[str, tuple[type, ...]] = {"null": (type(None),), "bool": (bool,), "int": (int,), "float": (int, float)}


class Rules(NamedTuple):
    """How plain scalars are read, and whether the text is in one of our own formats.

    `tagged` is what reads scalars with a tag where everything is as in PyYAML: a key may be any scalar, the last of
    equal keys wins (with a warning of that code), and a mapping's own keys win over those of `<<`.
    """

    values: Memo
    keys: Memo
    own: bool
    tagged: Callable[[str, str], Any] | None = None
    twice: str = "R110"


class Anchored(NamedTuple):
    """What an anchor names, and how many nodes that is."""

    value: Any
    nodes: int


def documents(events: Iterator[Any], rules: Rules, faults: Faults) -> Iterator[Any]:
    """The data of every document, None for an empty one."""
    surrogates = "\\u" in faults.text or "\\U" in faults.text
    for event in events:
        if event.__class__ is DocumentStartEvent:
            yield _Tree(rules, faults, surrogates).read(events)


class _Tree:
    """One document in the making."""

    def __init__(self, rules: Rules, faults: Faults, surrogates: bool) -> None:
        self.rules, self.faults, self.surrogates = rules, faults, surrogates
        self.anchors: dict[str, Any] = {}  # Anchored, or the start of what is still open
        self.expanded = 0

    def read(self, events: Iterator[Any]) -> Any:  # one function, for a call a node would double the time
        """Consumes the events of one document up to the end of its root node."""
        values, keys, surrogates = self.rules.values, self.rules.keys, self.surrogates
        node: Any = None  # the open collection
        key: Any = _ROOT  # where in it the next value goes
        marks: dict[Any, Any] = {}  # its keys so far
        stack: list[tuple[Any, Any, dict[Any, Any], Any, int]] = []
        nodes = 0
        for event in events:
            kind = event.__class__
            if kind is ScalarEvent:
                nodes += 1
                value = event.value
                if key is _NO_KEY:
                    key = keys[value] if event.implicit[0] else None
                    if key.__class__ is str and key not in marks and event.anchor is None:
                        marks[key] = event.start_mark
                    else:
                        key = self.key(event, keys, marks)
                    continue
                if event.implicit[0]:
                    value = values[value]
                    if value.__class__ is Fault:
                        self.faults.add(value.code, event.start_mark, value.message, value.hint)
                elif event.tag is not None:
                    value = self.tagged(event)
                elif surrogates:
                    self.check_text(event)
                if event.anchor is not None:
                    self.anchors[event.anchor] = Anchored(value, 1)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self.check_start(event, key is _NO_KEY, len(stack))
                mapping = kind is MappingStartEvent
                value = {} if mapping else []
                stack.append((node, key, marks, event, nodes))
                nodes += 1
                if key is _ITEM:
                    node.append(value)
                elif key is not _ROOT and key is not MERGE:
                    node[key] = value
                node, key, marks = value, _NO_KEY if mapping else _ITEM, {} if mapping else marks
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                value = node
                node, key, marks, start, before = stack.pop()
                if start.anchor is not None and self.anchors[start.anchor] is start:
                    self.anchors[start.anchor] = Anchored(value, nodes - before)
                if key is MERGE:
                    self.merge(node, value, marks, start)
                    key = _NO_KEY
                elif key is _ROOT:
                    return self.checked(value, start)
                elif key is not _ITEM:
                    key = _NO_KEY
                continue
            elif kind is AliasEvent:
                value, size = self.alias(event)
                nodes += size
                if key is _NO_KEY:
                    key = self.alias_key(value, event, marks)
                    continue
            else:
                continue
            if key is _ITEM:
                node.append(value)
            elif key is MERGE:
                self.merge(node, value, marks, event)
                key = _NO_KEY
            elif key is _ROOT:
                return value
            else:
                node[key] = value
                key = _NO_KEY
        return None

    def key(self, event: Any, keys: Memo, marks: dict[Any, Any]) -> Any:
        """A mapping's next key, noted in `marks`."""
        key = event.value
        if event.implicit[0]:
            key = keys[key]
            if key.__class__ is Fault:
                self.faults.add(key.code, event.start_mark, key.message, key.hint)
                key = event.value
        elif event.tag is not None:
            key = self.tagged(event)
        elif self.surrogates:
            self.check_text(event)
        key = self.note_key(key, event, marks)
        if event.anchor is not None:
            self.anchors[event.anchor] = Anchored(key, 1)
        return key

    def note_key(self, key: Any, event: Any, marks: dict[Any, Any]) -> Any:
        """The key, which must be a text and new in its mapping."""
        if key is not MERGE and not isinstance(key, str) and not self.rules.tagged:
            self.faults.add("R112", event.start_mark, "a key must be a text", "write it in quotes")
            key = event.value if isinstance(event, ScalarEvent) else ""
        if key in marks:
            name = "<<" if key is MERGE else shorten(str(key))
            first = Note("it was first given here", self.faults.route(marks[key]))
            hint = "write <<: [*first, *second]" if key is MERGE else "remove or rename one of them"
            message = f'key "{name}" is given twice in one mapping'
            if self.rules.tagged:
                self.faults.warn(self.rules.twice, event.start_mark, f"{message}; the last one counts", hint, first)
                marks[key] = event.start_mark
            else:
                self.faults.add(self.rules.twice, event.start_mark, message, hint, first)
        else:
            marks[key] = event.start_mark
        return key

    def alias_key(self, value: Any, event: Any, marks: dict[Any, Any]) -> Any:
        """A key that is an alias of a text."""
        if isinstance(value, dict | list):
            value = None
            if self.rules.tagged:
                self.faults.stop("R112", event.start_mark, "a key must be a text, this one is a collection")
        return self.note_key(value, event, marks)

    def tagged(self, event: Any) -> Any:
        """A scalar with a tag: only those of JSON's types are known."""
        if self.rules.tagged:
            value = self.rules.tagged(event.tag, event.value)
            if isinstance(value, Fault):
                self.faults.add(value.code, event.start_mark, value.message, value.hint)
            return value
        name = event.tag.removeprefix(_CORE)
        if event.tag.startswith(_CORE) and name == "str":
            return event.value
        if event.tag.startswith(_CORE) and name in _TYPES:
            value = self.rules.values[event.value]
            if type(value) in _TYPES[name]:
                return value
            self.faults.add(
                "R113", event.start_mark, f'"{shorten(event.value)}" is not of type {name}', "remove the tag"
            )
        else:
            self.unknown_tag(event)
        return event.value

    def unknown_tag(self, event: Any) -> None:
        """A tag that has no meaning in JSON."""
        name = event.tag.replace(_CORE, "!!")
        self.faults.add("R113", event.start_mark, f'tag "{shorten(name)}" has no meaning here', "remove the tag")

    def check_text(self, event: Any) -> None:
        """Half of a surrogate pair is no character and cannot be written as UTF-8."""
        if any("\ud800" <= c <= "\udfff" for c in event.value):
            hint = "write both halves of the pair, or the character itself"
            self.faults.add("R117", event.start_mark, "half of a surrogate pair is not a character", hint)

    def check_start(self, event: Any, as_key: bool, depth: int) -> None:
        """A collection may begin here."""
        if depth >= DEEPEST:
            message = f"more than {DEEPEST} mappings and lists stand within each other"
            self.faults.stop("R115", event.start_mark, message, "is it the right file?")
        if as_key:
            index = event.start_mark.index
            template = "{{" in self.faults.text[max(index - 1, 0) : index + 2]
            hint = _UNRENDERED[self.rules.tagged is not None] if template else "write the key as a text"
            self.faults.stop("R112", event.start_mark, "a key must be a text, this one is a collection", hint)
        if event.tag is not None and event.tag not in (_CORE + "map", _CORE + "seq"):
            self.unknown_tag(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = event

    def alias(self, event: Any) -> Any:
        """What an alias stands for."""
        found = self.anchors.get(event.anchor)
        if isinstance(found, CollectionStartEvent):
            self.faults.stop("R116", event.start_mark, f'alias "*{shorten(event.anchor)}" contains itself')
        if found is None:
            hint = f'define "&{shorten(event.anchor)}" above, or put a text that begins with "*" in quotes'
            self.faults.stop("R116", event.start_mark, f'alias "*{shorten(event.anchor)}" has no anchor', hint)
        self.expanded += found.nodes
        if self.expanded > MOST_EXPANDED:
            limit = f"the aliases stand for more than {MOST_EXPANDED:,} values"
            self.faults.stop("R118", event.start_mark, limit, "write the data without so many aliases")
        return found

    def merge(self, node: dict[str, Any], value: Any, marks: dict[Any, Any], event: Any) -> None:
        """`<<`: own formats keep what is there; kubectl lets a later merge win over an earlier key."""
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            self.faults.add("R119", event.start_mark, "<< takes a mapping or a list of mappings", "use <<: *anchor")
            return
        merged = {key: item for part in reversed(parts) for key, item in part.items()}
        if self.rules.tagged:
            own = {key: item for key, item in node.items() if key in marks}
            brought = marks.setdefault(_BROUGHT, {})
            brought |= merged
            node.clear()
            node |= {**brought, **own}
            return
        clash = next((key for key in merged if key in marks), None)
        if clash is not None and self.rules.own:
            message = f'<< stands below key "{shorten(clash)}", which it also brings: readers disagree on who wins'
            self.faults.add("R119", event.start_mark, message, "write << as the first key")
        node.update(merged)

    def checked(self, value: Any, start: Any) -> Any:
        """The whole document; aliases may have made it deeper than any of its parts."""
        if self.expanded and deeper(value, DEEPEST):
            message = f"with its aliases, more than {DEEPEST} mappings and lists stand within each other"
            self.faults.stop("R115", start.start_mark, message, "write the data without so many aliases")
        return value
