"""Two values and the extents of the first -> the edits that make the second of its text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bayplan._document.outline import Key, Node
from bayplan._document.scalars import MERGE
from bayplan._patch.equal import same
from bayplan._patch.writing import Writer, empty, is_sequence
from bayplan.values import NamedTuple

_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*|[&!][^\s,\[\]{}]*)*")
_COLON = re.compile(r"[ \t]*:")
_WIDEST = 1000
"""Spaces before the values of a flow collection that has them on lines of their own: one line may be the whole text."""
_COMMA = re.compile(r"[ \t\r\n]*,")


class CannotError(Exception):
    """This is not done by edits so small; the value around it has to be written anew."""


class Edit(NamedTuple):
    """Characters to replace."""

    start: int
    stop: int
    text: str


class Site(NamedTuple):
    """How a value stands in its parent: the place after its colon or dash, and the indentation of what is below it."""

    kind: str  # root | key | item | flow
    after: int
    indent: int


class Draft:
    """Collects the edits of one document.

    `expand`: anchors whose aliases are written out. `dirty`: anchors whose values are not what they were.
    """

    def __init__(self, text: str, writer: Writer, expand: frozenset[str], coarse: bool) -> None:
        self.text, self.writer, self.expand, self.coarse = text, writer, expand, coarse
        self.edits: list[Edit] = []
        self.dirty: set[str] = set()
        self.inside: list[str] = []  # anchors of the values that are open

    def change(self, node: Node, site: Site, old: Any, new: Any) -> None:
        """Makes `new` of the text of a value."""
        if same(old, new):
            if self.expand:
                self.expanded(node, site, new)
            return
        if self.coarse and site.kind != "root":
            self.replace(node, site, new)
            return
        before, depth = len(self.edits), len(self.inside)
        if node.anchor and node.kind != "alias":
            self.inside.append(node.anchor)
        try:
            if node.kind == "mapping" and isinstance(new, Mapping) and new:
                self.mapping(node, old, new)
            elif node.kind == "sequence" and is_sequence(new) and new:
                self.sequence(node, old, new)
            else:
                raise CannotError
        except CannotError:
            del self.edits[before:], self.inside[depth:]
            self.replace(node, site, new)
        del self.inside[depth:]

    def expanded(self, node: Node, site: Site, value: Any) -> None:
        """Writes out the aliases in a value that stays what it is."""
        if (node.kind == "alias" and node.anchor in self.expand) or (node.merges and _merged(node) & self.expand):
            self.replace(node, site, value)
        elif node.kind == "mapping":
            for key, item in zip(node.keys, node.items, strict=True):
                if key.name is not MERGE and key.name in value:
                    self.expanded(item, self.site_of(node, key, item), value[key.name])
        elif node.kind == "sequence":
            sites = self.item_sites(node) if aliases_in(node) & self.expand else ()
            for item, its, each in zip(node.items, sites, value, strict=False):
                self.expanded(item, its, each)

    # Mappings

    def mapping(self, node: Node, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        """Keys that go, keys that change, keys that come, in that order."""
        pairs = {key.name: (key, item) for key, item in zip(node.keys, node.items, strict=True)}
        if node.merges and (_merged(node) & self.expand or not self.holds_merges(node, old, new)):
            raise CannotError
        kept = [name for name in pairs if name is MERGE or name in new]
        if not kept:
            raise CannotError
        self.without(node, [name is not MERGE and name not in new for name in pairs])
        for name in kept:
            key, item = pairs[name]
            if name is not MERGE and (self.expand or not same(old[name], new[name])):
                self.change(item, self.site_of(node, key, item), old[name], new[name])
        added = {name: value for name, value in new.items() if name not in pairs and not _merges(node, old, new, name)}
        if added:
            self.touch()
            self.append(node, added)

    def holds_merges(self, node: Node, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Whether the merges may stay: they stand first, and nothing that they bring has to go."""
        names = [key.name for key in node.keys]
        first = next(number for number, name in enumerate([*names, None]) if name is not MERGE)
        return MERGE not in names[first:] and all(name in new or name in names for name in old)

    def site_of(self, node: Node, key: Key, item: Node) -> Site:
        """Where the value of a key stands."""
        if not node.block:
            return Site("flow", item.start, 0)
        colon = _COLON.match(self.text, key.end)
        if colon is None or self.explicit(key.start):
            raise CannotError
        return Site("key", colon.end(), self.column(key.start))

    def append(self, node: Node, added: Mapping[str, Any]) -> None:
        """Puts new keys at the end of a mapping that keeps some."""
        if node.block:
            first = node.keys[0].start
            column = self.column(first) - (2 if self.explicit(first) else 0)
            self.below(node.items[-1].stop, self.writer.lines(added, column))
            return
        text = (f"{self.writer.flow_key(name)}: {self.writer.flow(value)}" for name, value in added.items())
        self.more(node, [key.start for key in node.keys], text)

    # Sequences

    def sequence(self, node: Node, old: Sequence[Any], new: Sequence[Any]) -> None:
        """What both begin and end with stays; what is between is changed pair by pair, then shortened or extended."""
        head = _shared(old, new, min(len(old), len(new)))
        tail = _shared(old[::-1], new[::-1], min(len(old), len(new)) - head)
        pairs = min(len(old), len(new)) - head - tail
        if len(node.items) != len(old) or head + tail + pairs == 0:
            raise CannotError
        cut = head + pairs, len(old) - tail
        self.without(node, [cut[0] <= number < cut[1] for number in range(len(old))])
        first = 0 if self.expand else head
        sites = self.item_sites(node) if pairs or self.expand else ()
        for number, item in enumerate(node.items):
            if first <= number < cut[0]:
                self.change(item, sites[number], old[number], new[number])
            elif number >= cut[1] and self.expand:
                self.change(item, sites[number], old[number], new[number - len(old)])
        extra = new[head + pairs : len(new) - tail]
        if extra:
            self.touch()
            self.insert(node, head + pairs, extra)

    def item_sites(self, node: Node) -> list[Site]:
        """Where the items stand."""
        if not node.block:
            return [Site("flow", item.start, 0) for item in node.items]
        return [Site("item", dash + 1, self.column(dash)) for dash in self.dashes(node)]

    def dashes(self, node: Node) -> list[int]:
        """The places of a block sequence's dashes."""
        found: list[int] = []
        place = node.start
        for item in node.items:
            gap = _GAP.match(self.text, place)
            dash = gap.end() if gap else place
            if self.text[dash : dash + 1] != "-":
                raise CannotError
            found.append(dash)
            place = max(item.stop, dash + 1)
        return found

    def insert(self, node: Node, number: int, extra: Sequence[Any]) -> None:
        """Puts items before the item of that number, or behind the last one."""
        if not node.block:
            if number != len(node.items):
                place = node.items[number].start
                self.edits.append(Edit(place, place, "".join(f"{self.writer.flow(each)}, " for each in extra)))
            else:
                self.more(node, [item.start for item in node.items], map(self.writer.flow, extra))
            return
        dashes = self.dashes(node)
        pad = self.column(dashes[0])
        lines = self.writer.lines(extra, pad)
        if number:
            self.below(node.items[number - 1].stop, lines)
        else:
            self.edits.append(Edit(dashes[0], dashes[0], lines[pad:] + self.writer.newline + " " * pad))

    # Both

    def more(self, node: Node, starts: Sequence[int], texts: Any) -> None:
        """Puts more into a collection in flow style that is not empty: on lines of their own where all are."""
        text, last = self.text, node.items[-1].stop
        _, broken, indentation = text[max(starts[-1] - _WIDEST, 0) : starts[-1]].rpartition("\n")
        between = self.writer.newline + indentation if broken and not indentation.strip() else " "
        comma = _COMMA.match(text, last)
        joined = f",{between}".join(texts)
        place = comma.end() if comma else last
        self.edits.append(Edit(place, place, f"{'' if comma else ','}{between}{joined}"))

    def without(self, node: Node, gone: Sequence[bool]) -> None:
        """Takes pairs or items out."""
        if not any(gone):
            return
        self.touch()
        starts = [key.start for key in node.keys] if node.kind == "mapping" else [item.start for item in node.items]
        if node.block and node.kind == "sequence":
            starts = self.dashes(node)
        elif node.block and any(map(self.explicit, starts)):
            raise CannotError
        for item, going in zip(node.items, gone, strict=True):
            if going:
                self.lost(item)
        number = 0
        while number < len(gone):
            end = next((each for each in range(number, len(gone)) if not gone[each]), len(gone))
            if gone[number]:
                self.cut(node, starts, number, end)
            number = max(end, number + 1)

    def cut(self, node: Node, starts: Sequence[int], first: int, end: int) -> None:
        """Takes out neighbours: their lines where they have lines of their own."""
        start, stop = starts[first], node.items[end - 1].stop
        line = self.line(start)
        if node.block and not self.text[line:start].strip() and line:
            for number in range(first, end):  # comments between them stay
                self.remove_lines(self.line(starts[number]), node.items[number].stop)
        elif end < len(starts):
            self.edits.append(Edit(start, starts[end], ""))
        elif first and not node.block:
            self.edits.append(Edit(node.items[first - 1].stop, stop, ""))
        else:
            raise CannotError

    def remove_lines(self, line: int, stop: int) -> None:
        """With the line break before them."""
        before = line - 2 if self.text[line - 2 : line] == "\r\n" else line - 1
        self.edits.append(Edit(before, self.end_of_line(stop), ""))

    def below(self, stop: int, lines: str) -> None:
        """Puts lines below the line in which a value ends."""
        place = self.end_of_line(stop)
        self.edits.append(Edit(place, place, self.writer.newline + lines))

    def replace(self, node: Node, site: Site, value: Any) -> None:
        """Writes a value anew."""
        self.touch()
        self.lost(node)
        if site.kind == "flow":
            space = " " if node.start == node.stop and self.text[node.start - 1 : node.start] == ":" else ""
            self.edits.append(Edit(node.start, node.stop, space + self.writer.flow(value)))
        elif isinstance(value, Mapping | list | tuple) and not empty(value):
            self.replace_by_lines(node, site, value)
        else:
            self.replace_by_scalar(node, site, value)

    def replace_by_scalar(self, node: Node, site: Site, value: Any) -> None:
        """By a scalar, or by an empty collection."""
        end = self.end_of_line(node.stop)
        single = bool(self.text[node.stop : end].strip())
        quote = "" if node.anchor or node.style not in ("'", '"') else node.style
        text = self.writer.inline(value, site.indent + 2, single=single, quote=quote)
        if node.block:
            self.edits.append(Edit(site.after, end, f" {text}" if site.kind != "root" else text))
        else:
            space = " " if node.start == site.after else ""
            self.edits.append(Edit(node.start, node.stop, space + text))

    def replace_by_lines(self, node: Node, site: Site, value: Any) -> None:
        """By a collection in block style."""
        if site.kind == "root":
            pad = self.column(node.start) if node.block else 0
            lines = self.writer.lines(value, pad)[pad:]
            first = not node.block and self.text[self.line(node.start) : node.start].strip()
            stop = self.end_of_line(node.stop) if node.block else node.stop
            flow = not node.block and (self.writer.json or not first)
            text = self.writer.flow(value) if flow else (self.writer.newline if first else "") + lines
            self.edits.append(Edit(node.start, stop, text))
        elif site.kind == "item":
            pad = site.indent + 2
            stop = self.end_of_line(node.stop) if node.block else node.stop
            self.edits.append(Edit(site.after, stop, " " + self.writer.lines(value, pad)[pad:]))
        else:
            pad = site.indent + (2 if isinstance(value, Mapping) else 0)
            self.edits.append(Edit(site.after, self.end_of_line(node.stop) if node.block else node.stop, ""))
            self.below(node.stop, self.writer.lines(value, pad))

    # Anchors

    def touch(self) -> None:
        """The values that are open are not what they were."""
        self.dirty.update(self.inside)

    def lost(self, node: Node) -> None:
        """The anchors in a value that goes."""
        if node.anchor and node.kind != "alias":
            self.dirty.add(node.anchor)
        for item in node.items:
            self.lost(item)

    # Places

    def explicit(self, key: int) -> bool:
        """Whether a key is written `? key`."""
        return self.text.endswith("? ", max(key - 2, 0), key)

    def line(self, place: int) -> int:
        """Where the line begins."""
        return self.text.rfind("\n", 0, place) + 1

    def column(self, place: int) -> int:
        """Characters before it in its line."""
        return place - self.line(place)

    def end_of_line(self, place: int) -> int:
        """The place before the line break."""
        found = self.text.find("\n", place)
        if found < 0:
            return len(self.text)
        return found - 1 if found > place and self.text[found - 1] == "\r" else found


def aliases_in(node: Node) -> set[str]:
    """The anchors that a value refers to."""
    found = {node.anchor} if node.kind == "alias" and node.anchor else set()
    return found.union(*map(aliases_in, node.items))


def _merged(node: Node) -> set[str]:
    """The anchors that a mapping merges."""
    return set().union(
        *(aliases_in(item) for key, item in zip(node.keys, node.items, strict=True) if key.name is MERGE)
    )


def _merges(node: Node, old: Mapping[str, Any], new: Mapping[str, Any], name: str) -> bool:
    """Whether a merge brings that key with that value already."""
    return node.merges and name in old and same(old[name], new[name])


def _shared(left: Sequence[Any], right: Sequence[Any], most: int) -> int:
    """How many items both begin with, at most so many."""
    return next((number for number in range(most) if not same(left[number], right[number])), most)
