"""The edits of the text of one document. They add, remove and rewrite values at the places of nodes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bayplan.text.emit import Blocks, block_header, quoted, scalar
from bayplan.text.positions import Key, Node

_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*|[&!][^\s,\[\]{}]*)*")
_COLON = re.compile(r"[ \t]*:")
_COMMA = re.compile(r"[ \t\r\n]*,")
_PLAIN_IN_FLOW = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./=+-]*").fullmatch
_WIDEST = 1000
"""The most characters to look back for the indentation of a value: one line may be the whole text."""


class UnpatchableError(Exception):
    """Such small edits cannot make this change, so the value around it must be rewritten."""


class TextEdit(NamedTuple):
    """Characters to replace."""

    start: int
    stop: int
    text: str


class Site(NamedTuple):
    """The site of a value in its parent: the place after its colon or dash, and the indentation below it."""

    kind: str  # root | key | item | flow
    after: int
    indent: int


class Buffer:
    """The text of a document and its edits.

    `rows`: new items are one line each if the items next to them are. `dirty`: anchors with changed values.
    """

    def __init__(self, text: str, writer: Writer, rows: bool) -> None:
        self.text, self.writer, self.rows = text, writer, rows
        self.edits: list[TextEdit] = []
        self.dirty: set[str] = set()
        self.inside: list[str] = []  # anchors of the enclosing values

    def applied(self) -> str | None:
        """The text with the edits. None if they overlap."""
        edits = sorted(self.edits, key=lambda edit: (edit.start, edit.stop))
        if any(one.stop > other.start for one, other in pairwise(edits)):
            return None
        pieces: list[str] = []
        place = 0
        for edit in edits:
            pieces += (self.text[place : edit.start], edit.text)
            place = edit.stop
        return "".join([*pieces, self.text[place:]])

    # Mappings

    def site_of(self, node: Node, key: Key, item: Node) -> Site:
        """The site of the value of a key."""
        if not node.block:
            return Site("flow", item.start, 0)
        colon = _COLON.match(self.text, key.end)
        if colon is None or self.explicit(key.start):
            raise UnpatchableError
        return Site("key", colon.end(), self.column(key.start))

    def append(self, node: Node, added: Mapping[str, Any]) -> None:
        """Adds keys at the end of a mapping that keeps some of its keys."""
        if node.block:
            first = node.keys[0].start
            column = self.column(first) - (2 if self.explicit(first) else 0)
            self.below(node.items[-1].stop, self.writer.lines(added, column))
            return
        text = (f"{self.writer.flow(name)}: {self.writer.flow(value)}" for name, value in added.items())
        self.more(node, [key.start for key in node.keys], text)

    # Sequences

    def item_sites(self, node: Node) -> list[Site]:
        """The sites of the items."""
        if not node.block:
            return [Site("flow", item.start, 0) for item in node.items]
        return [Site("item", dash + 1, self.column(dash)) for dash in self.dashes(node)]

    def dashes(self, node: Node) -> list[int]:
        """The places of the dashes of a block sequence."""
        places: list[int] = []
        place = node.start
        for item in node.items:
            gap = _GAP.match(self.text, place)
            dash = gap.end() if gap else place
            if self.text[dash : dash + 1] != "-":
                raise UnpatchableError
            places.append(dash)
            place = max(item.stop, dash + 1)
        return places

    def insert(self, node: Node, number: int, extra: Sequence[Any], kept: Collection[int]) -> None:
        """Adds items before the item of this number, or at the end. `kept`: numbers of items that stay."""
        if not node.block:
            while number and number - 1 not in kept:
                number -= 1
            if number == len(node.items):
                self.more(node, [item.start for item in node.items], map(self.writer.flow, extra))
            elif number and number not in kept:
                place = node.items[number - 1].stop
                self.edits.append(TextEdit(place, place, "".join(f", {self.writer.flow(each)}" for each in extra)))
            else:
                place = node.items[number or min(kept)].start
                self.edits.append(TextEdit(place, place, "".join(f"{self.writer.flow(each)}, " for each in extra)))
            return
        number = number or min(kept)  # the first items may be removed
        dash = self.dashes(node)[0]
        pad = self.column(dash)
        if self.rows and not node.items[min(number, len(node.items) - 1)].block:
            lines = self.writer.newline.join(f"{' ' * pad}- {self.writer.flow(each)}" for each in extra)
        else:
            lines = self.writer.lines(extra, pad)
        if number:
            self.below(node.items[number - 1].stop, lines)
        else:
            self.edits.append(TextEdit(dash, dash, f"{lines[pad:]}{self.writer.newline}{' ' * pad}"))

    # Both

    def more(self, node: Node, starts: Sequence[int], texts: Any) -> None:
        """Adds to a collection in flow style that is not empty, on separate lines if its values are."""
        text, last = self.text, node.items[-1].stop
        _, broken, indentation = text[max(starts[-1] - _WIDEST, 0) : starts[-1]].rpartition("\n")
        between = self.writer.newline + indentation if broken and not indentation.strip() else " "
        comma = _COMMA.match(text, last)
        joined = f",{between}".join(texts)
        place = comma.end() if comma else last
        self.edits.append(TextEdit(place, place, f"{'' if comma else ','}{between}{joined}"))

    def without(self, node: Node, gone: Sequence[bool]) -> None:
        """Removes pairs or items."""
        if not any(gone):
            return
        self.touch()
        starts = [key.start for key in node.keys] if node.kind == "mapping" else [item.start for item in node.items]
        if node.block and node.kind == "sequence":
            starts = self.dashes(node)
        elif node.block and any(map(self.explicit, starts)):
            raise UnpatchableError
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
        """Removes consecutive entries, with their lines if they are on separate lines."""
        start, stop = starts[first], node.items[end - 1].stop
        line = self.line(start)
        if node.block and not self.text[line:start].strip() and line:
            for number in range(first, end):  # comments between them stay
                self.remove_lines(self.line(starts[number]), node.items[number].stop)
        elif end < len(starts):
            self.edits.append(TextEdit(start, starts[end], ""))
        elif first and not node.block:
            self.edits.append(TextEdit(node.items[first - 1].stop, stop, ""))
        else:
            raise UnpatchableError

    def remove_lines(self, line: int, stop: int) -> None:
        """Removes lines with the line break before them."""
        before = line - 2 if self.text[line - 2 : line] == "\r\n" else line - 1
        self.edits.append(TextEdit(before, self.end_of_line(stop), ""))

    def below(self, stop: int, lines: str) -> None:
        """Adds lines after the line in which a value ends."""
        place = self.end_of_line(stop)
        self.edits.append(TextEdit(place, place, self.writer.newline + lines))

    def replace(self, node: Node, site: Site, value: Any) -> None:
        """Rewrites a value."""
        self.touch()
        self.lost(node)
        if site.kind == "flow":
            space = " " if node.start == node.stop and self.text[node.start - 1 : node.start] == ":" else ""
            self.edits.append(TextEdit(node.start, node.stop, space + self.writer.flow(value)))
        elif value and isinstance(value, Mapping | list | tuple):
            self.replace_by_lines(node, site, value)
        else:
            self.replace_by_scalar(node, site, value)

    def replace_by_scalar(self, node: Node, site: Site, value: Any) -> None:
        """Replaces a value with a scalar or an empty collection."""
        end = self.end_of_line(node.stop)
        single = bool(self.text[node.stop : end].strip())
        quote = "" if node.anchor or node.style not in ("'", '"') else node.style
        text = self.writer.inline(value, site.indent + 2, single=single, quote=quote)
        if node.block:
            self.edits.append(TextEdit(site.after, end, f" {text}" if site.kind != "root" else text))
        else:
            space = " " if node.start == site.after else ""
            self.edits.append(TextEdit(node.start, node.stop, space + text))

    def replace_by_lines(self, node: Node, site: Site, value: Any) -> None:
        """Replaces a value with a collection in block style."""
        if site.kind == "root":
            pad = self.column(node.start) if node.block else 0
            lines = self.writer.lines(value, pad)[pad:]
            first = not node.block and self.text[self.line(node.start) : node.start].strip()
            stop = self.end_of_line(node.stop) if node.block else node.stop
            flow = not node.block and (self.writer.json or not first)
            text = self.writer.flow(value) if flow else (self.writer.newline if first else "") + lines
            self.edits.append(TextEdit(node.start, stop, text))
        elif site.kind == "item":
            pad = site.indent + 2
            stop = self.end_of_line(node.stop) if node.block else node.stop
            self.edits.append(TextEdit(site.after, stop, " " + self.writer.lines(value, pad)[pad:]))
        else:
            pad = site.indent + (2 if isinstance(value, Mapping) else 0)
            self.edits.append(TextEdit(site.after, self.end_of_line(node.stop) if node.block else node.stop, ""))
            self.below(node.stop, self.writer.lines(value, pad))

    # Anchors

    def touch(self) -> None:
        """Marks the anchors of the enclosing values as changed."""
        self.dirty.update(self.inside)

    def lost(self, node: Node) -> None:
        """Marks the anchors in a removed value as changed."""
        if node.anchor and node.kind != "alias":
            self.dirty.add(node.anchor)
        for item in node.items:
            self.lost(item)

    # Places

    def explicit(self, key: int) -> bool:
        """Whether a key has the explicit form `? key`."""
        return self.text.endswith("? ", max(key - 2, 0), key)

    def line(self, place: int) -> int:
        """The place at which the line begins."""
        return self.text.rfind("\n", 0, place) + 1

    def column(self, place: int) -> int:
        """The number of characters before a place in its line."""
        return place - self.line(place)

    def end_of_line(self, place: int) -> int:
        """The place before the line break."""
        end = self.text.find("\n", place)
        if end < 0:
            return len(self.text)
        return end - 1 if end > place and self.text[end - 1] == "\r" else end


class Writer:
    """Writes values for one document: with its line breaks, and as JSON if the document is JSON."""

    def __init__(self, text: str, json: bool) -> None:
        self.json = json
        self.newline = newline_of(text)

    def lines(self, value: Any, pad: int) -> str:
        """A collection that is not empty, in block style with indentation, and without the last line break."""
        text = Blocks([]).text(value).removesuffix("\n")
        space = " " * pad
        return self.newline.join(space + line if line else line for line in text.split("\n"))

    def inline(self, value: Any, pad: int, *, single: bool, quote: str = "") -> str:
        """A scalar or an empty collection. `single`: on one line. `pad`: the indentation of further lines."""
        if not isinstance(value, str):
            return Blocks([]).leaf(value, 0)
        if "\n" in value:
            header = None if single else block_header(value)
            if header is None:
                return quoted(value)
            body = (" " * pad + line if line else "" for line in value.removesuffix("\n").split("\n"))
            return self.newline.join([header, *body])
        if quote == '"' or (quote == "'" and ("'" in value or not value.isprintable())):
            return quoted(value)
        return f"'{value}'" if quote == "'" else scalar(value)

    def flow(self, value: Any) -> str:
        """Any value in flow style, on one line."""
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{self.flow(key)}: {self.flow(item)}' for key, item in value.items())}}}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self.flow, value))}]"
        if not isinstance(value, str):
            return Blocks([]).leaf(value, 0)
        if self.json:
            from json import dumps

            return dumps(value, ensure_ascii=False)
        return value if _PLAIN_IN_FLOW(value) and scalar(value) == value else quoted(value)


def newline_of(text: str) -> str:
    """The line break of the text."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
