"""The text of a document -> the same text with other data in it; whatever is not changed keeps its bytes.

Comments, quotes, flow style, indentation and line breaks stay as they are. Keys and items come and go by lines of their
own. `rewrite` is told the new data: a value that cannot be changed so is written anew, at worst the whole document, and
every result is read back before it is believed. `edited` is told the edits, and has no text where that takes more than
changing lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bayplan.text import document, json
from bayplan.text.edits import Edit, Step, Work, changed, grouped, inserted, removes, staying
from bayplan.text.emit import Blocks, block_header, numeral, quoted, scalar
from bayplan.text.positions import Key, Node, compose
from bayplan.text.scalars import MERGE
from bayplan.values import NamedTuple

_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*|[&!][^\s,\[\]{}]*)*")
_COLON = re.compile(r"[ \t]*:")
_COMMA = re.compile(r"[ \t\r\n]*,")
_PLAIN_IN_FLOW = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./=+-]*").fullmatch
_WIDEST = 1000
"""Spaces before the values of a flow collection that has them on lines of their own: one line may be the whole text."""

_MOST_ROUNDS = 8
"""Of writing aliases out, each of which may hold the anchors of others."""

_NOTHING = object()


class UnpatchableError(Exception):
    """This is not done by edits so small; the value around it has to be written anew."""


class TextEdit(NamedTuple):
    """Characters to replace."""

    start: int
    stop: int
    text: str


class Site(NamedTuple):
    """How a value stands in its parent: the place after its colon or dash, and the indentation of what is below it."""

    kind: str  # root | key | item | flow
    after: int
    indent: int


def edited(text: str, data: Any, edits: Sequence[Edit]) -> str | None:
    """The text of one document, whose data are `data`, with the edits; None where that takes more than changing lines.

    New rows stay one line each where those beside them are.
    """
    whole = text if text.endswith("\n") else f"{text}\n"
    root = compose(document.events(whole), whole)
    if root is None:
        return None
    work = [(edit.path, edit) for edit in edits]
    patch = _Patch(whole, strict=True)
    try:
        patch.change(root, Site("root", root.start, 0), data, changed(data, work), work)
    except UnpatchableError:
        return None
    if "*" in whole and patch.dirty & _aliases_in(root):
        return None
    return patch.applied()


def rewrite(text: str, old: Any, new: Any) -> str:
    """The text of one document, whose data `document.read` finds to be `old`, changed so that they are `new`."""
    return rewrite_all([(text, old, new)])[0]


def rewrite_all(tasks: Sequence[tuple[str, Any, Any]]) -> list[str]:
    """The same for many documents, which are read back together."""
    drafts = [text if same(old, new) else next(_attempts(text, old, new), "") for text, old, new in tasks]
    data = _data_of_all(drafts) if len(drafts) > 1 else None
    if data is None:
        data = [_NOTHING if draft is task[0] else _data(draft) for draft, task in zip(drafts, tasks, strict=True)]
    return [
        draft if draft is text or same(read, new) else _retried(text, old, new)
        for draft, read, (text, old, new) in zip(drafts, data, tasks, strict=True)
    ]


def same(left: Any, right: Any) -> bool:
    """Whether a reader of YAML finds the same data. The order of keys does not count; `true` is not 1."""
    if left is right:
        return True
    kind = type(left)
    if kind is str or kind is bool or left is None or type(right) is bool:
        return type(right) is kind and bool(left == right)
    if kind is dict or isinstance(left, Mapping):
        if (type(right) is not dict and not isinstance(right, Mapping)) or len(left) != len(right):
            return False
        return all(key in right and same(item, right[key]) for key, item in left.items())
    if isinstance(left, list | tuple):
        return isinstance(right, list | tuple) and len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def _retried(text: str, old: Any, new: Any) -> str:
    """The smallest edits that do; at worst the whole document anew, without its comments."""
    for draft in _attempts(text, old, new):
        if same(_data(draft), new):
            return draft
    from bayplan.text.emit import emit

    return ("---\n" if text.startswith("---") else "") + "".join(emit([new]))


def _attempts(text: str, old: Any, new: Any) -> Iterator[str]:
    """Texts to try, the one with the smallest edits first."""
    root = compose(document.events(text), text)
    if root is None:
        return
    site = Site("root", root.start, 0)
    for coarse in (False, True):
        found = _expanding(text, root, site, old, new, coarse)
        if found is not None:
            yield found
        if not coarse and not text.endswith("\n"):  # a block of lines may have to end the text
            yield next(_attempts(f"{text}{_newline(text)}", old, new), "")
    patch = _Patch(text)
    patch.replace(root, site, new)
    yield patch.applied() or ""


def _expanding(text: str, root: Node, site: Site, old: Any, new: Any, coarse: bool) -> str | None:
    """The text; aliases of what changes are written out. None where edits are in each other's way."""
    referred = _aliases_in(root) if "*" in text else set()
    expand: frozenset[str] = frozenset()
    for _ in range(_MOST_ROUNDS):
        patch = _Patch(text, expand, coarse)
        try:
            patch.change(root, site, old, new)
        except UnpatchableError:
            return None
        more = (patch.dirty & referred) - expand
        if not more:
            return patch.applied()
        expand |= more
    return None


def _data(text: str) -> Any:
    """What a text reads as, or something that nothing else is the same as."""
    found = document.read("", text.encode(), "manifest", own=False).value
    return found[0].data if found and len(found) == 1 else _NOTHING


def _data_of_all(texts: Sequence[str]) -> list[Any] | None:
    """What each of many texts reads as; None where that takes reading them one by one."""
    if not all(map(_joins, texts)):
        return None
    found = document.read("", "".join(texts).encode(), "manifest", own=False).value or ()
    data = {each.index: each.data for each in found}
    return [data.get(number, _NOTHING) for number in range(len(texts))]


def _joins(text: str) -> bool:
    """Whether a text begins a document of its own, ends it, and holds nothing that reaches beyond it."""
    return text.startswith("---") and text.endswith("\n") and "\n..." not in text and "\n%" not in text


class _Patch:
    """Collects the edits of one document's text.

    `expand`: anchors whose aliases are written out. `coarse`: values are written anew. `strict`: the document is not.
    `dirty`: anchors whose values are not what they were.
    """

    def __init__(
        self, text: str, expand: frozenset[str] = frozenset(), coarse: bool = False, strict: bool = False
    ) -> None:
        self.text, self.expand, self.coarse, self.strict = text, expand, coarse, strict
        self.writer = _Writer(text, json.begins(text) and not strict)
        self.edits: list[TextEdit] = []
        self.dirty: set[str] = set()
        self.inside: list[str] = []  # anchors of the values that are open

    def applied(self) -> str | None:
        """The text with the edits; None where they are in each other's way."""
        edits = sorted(self.edits, key=lambda edit: (edit.start, edit.stop))
        if any(one.stop > other.start for one, other in pairwise(edits)):
            return None
        pieces: list[str] = []
        place = 0
        for edit in edits:
            pieces += (self.text[place : edit.start], edit.text)
            place = edit.stop
        return "".join([*pieces, self.text[place:]])

    def change(self, node: Node, site: Site, old: Any, new: Any, work: Work = ()) -> None:
        """Makes `new` of the text of a value. `work`: the edits that made it of `old`, where they are known."""
        if same(old, new):
            if self.expand:
                self.expanded(node, site, new)
            return
        if self.coarse and site.kind != "root":
            self.replace(node, site, new)
            return
        steps = grouped(work) if all(path for path, _ in work) else {}
        before, depth = len(self.edits), len(self.inside)
        if node.anchor and node.kind != "alias":
            self.inside.append(node.anchor)
        try:
            if node.kind == "mapping" and isinstance(new, Mapping) and new:
                self.mapping(node, old, new, steps)
            elif node.kind == "sequence" and _is_sequence(new) and new:
                self.sequence(node, old, new, steps)
            else:
                raise UnpatchableError
        except UnpatchableError:
            if self.strict and site.kind == "root":
                raise
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
            sites = self.item_sites(node) if _aliases_in(node) & self.expand else ()
            for item, its, each in zip(node.items, sites, value, strict=False):
                self.expanded(item, its, each)

    # Mappings

    def mapping(self, node: Node, old: Mapping[str, Any], new: Mapping[str, Any], steps: Mapping[Step, Work]) -> None:
        """Keys that go, keys that change, keys that come, in that order."""
        pairs = {key.name: (key, item) for key, item in zip(node.keys, node.items, strict=True)}
        if node.merges and (_merged(node) & self.expand or not self.holds_merges(node, old, new)):
            raise UnpatchableError
        kept = [name for name in pairs if name is MERGE or name in new]
        if not kept:
            raise UnpatchableError
        self.without(node, [name is not MERGE and name not in new for name in pairs])
        for name in kept:
            key, item = pairs[name]
            if name is not MERGE and (self.expand or not same(old[name], new[name])):
                self.change(item, self.site_of(node, key, item), old[name], new[name], steps.get(name, ()))
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
            raise UnpatchableError
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

    def sequence(self, node: Node, old: Sequence[Any], new: Sequence[Any], steps: Mapping[Step, Work]) -> None:
        """Items that go, items that change, items that come, in that order."""
        if len(node.items) != len(old):
            raise UnpatchableError
        aligned = _aligned_by_edits(len(old), new, steps) if steps else None
        if aligned is None:
            aligned, steps = _aligned(old, new), {}
        self.without(node, [number not in aligned.kept for number in range(len(old))])
        kept = [(n, each) for n, each in aligned.kept.items() if self.expand or not same(old[n], each)]
        sites = self.item_sites(node) if kept else ()
        for number, each in kept:
            self.change(node.items[number], sites[number], old[number], each, staying(steps.get(number, ())))
        for number, extra in aligned.extra:
            self.touch()
            self.insert(node, number or min(aligned.kept), extra)  # the first lines may go

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
                raise UnpatchableError
            found.append(dash)
            place = max(item.stop, dash + 1)
        return found

    def insert(self, node: Node, number: int, extra: Sequence[Any]) -> None:
        """Puts items before the item of that number, or behind the last one."""
        if not node.block:
            if number != len(node.items):
                place = node.items[number].start
                self.edits.append(TextEdit(place, place, "".join(f"{self.writer.flow(each)}, " for each in extra)))
            else:
                self.more(node, [item.start for item in node.items], map(self.writer.flow, extra))
            return
        dash = self.dashes(node)[0]
        pad = self.column(dash)
        if self.strict and not node.items[min(number, len(node.items) - 1)].block:
            lines = self.writer.newline.join(f"{' ' * pad}- {self.writer.flow(each)}" for each in extra)
        else:
            lines = self.writer.lines(extra, pad)
        if number:
            self.below(node.items[number - 1].stop, lines)
        else:
            self.edits.append(TextEdit(dash, dash, f"{lines[pad:]}{self.writer.newline}{' ' * pad}"))

    # Both

    def more(self, node: Node, starts: Sequence[int], texts: Any) -> None:
        """Puts more into a collection in flow style that is not empty: on lines of their own where all are."""
        text, last = self.text, node.items[-1].stop
        _, broken, indentation = text[max(starts[-1] - _WIDEST, 0) : starts[-1]].rpartition("\n")
        between = self.writer.newline + indentation if broken and not indentation.strip() else " "
        comma = _COMMA.match(text, last)
        joined = f",{between}".join(texts)
        place = comma.end() if comma else last
        self.edits.append(TextEdit(place, place, f"{'' if comma else ','}{between}{joined}"))

    def without(self, node: Node, gone: Sequence[bool]) -> None:
        """Takes pairs or items out."""
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
        """Takes out neighbours: their lines where they have lines of their own."""
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
        """With the line break before them."""
        before = line - 2 if self.text[line - 2 : line] == "\r\n" else line - 1
        self.edits.append(TextEdit(before, self.end_of_line(stop), ""))

    def below(self, stop: int, lines: str) -> None:
        """Puts lines below the line in which a value ends."""
        place = self.end_of_line(stop)
        self.edits.append(TextEdit(place, place, self.writer.newline + lines))

    def replace(self, node: Node, site: Site, value: Any) -> None:
        """Writes a value anew."""
        self.touch()
        self.lost(node)
        if site.kind == "flow":
            space = " " if node.start == node.stop and self.text[node.start - 1 : node.start] == ":" else ""
            self.edits.append(TextEdit(node.start, node.stop, space + self.writer.flow(value)))
        elif isinstance(value, Mapping | list | tuple) and not _empty(value):
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
            self.edits.append(TextEdit(site.after, end, f" {text}" if site.kind != "root" else text))
        else:
            space = " " if node.start == site.after else ""
            self.edits.append(TextEdit(node.start, node.stop, space + text))

    def replace_by_lines(self, node: Node, site: Site, value: Any) -> None:
        """By a collection in block style."""
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


def _aliases_in(node: Node) -> set[str]:
    """The anchors that a value refers to."""
    found = {node.anchor} if node.kind == "alias" and node.anchor else set()
    return found.union(*map(_aliases_in, node.items))


def _merged(node: Node) -> set[str]:
    """The anchors that a mapping merges."""
    return set().union(
        *(_aliases_in(item) for key, item in zip(node.keys, node.items, strict=True) if key.name is MERGE)
    )


def _merges(node: Node, old: Mapping[str, Any], new: Mapping[str, Any], name: str) -> bool:
    """Whether a merge brings that key with that value already."""
    return node.merges and name in old and same(old[name], new[name])


class _Alignment(NamedTuple):
    """What becomes of a list: number of an item that stays -> its new value; what comes before the item of a number."""

    kept: Mapping[int, Any]
    extra: Sequence[tuple[int, Sequence[Any]]]


def _aligned(old: Sequence[Any], new: Sequence[Any]) -> _Alignment:
    """What both begin and end with stays; what is between is changed pair by pair, then shortened or extended."""
    least = min(len(old), len(new))
    if not least:
        raise UnpatchableError
    head = _shared(old, new, least)
    tail = _shared(old[::-1], new[::-1], least - head)
    pairs = {**{n: new[n] for n in range(least - tail)}, **{len(old) - n: new[-n] for n in range(tail, 0, -1)}}
    extra = new[least - tail : len(new) - tail]
    return _Alignment(pairs, [(least - tail, extra)] if extra else [])


def _aligned_by_edits(size: int, new: Sequence[Any], steps: Mapping[Step, Work]) -> _Alignment | None:
    """What the edits say; None where no item stays."""
    kept: dict[int, Any] = {}
    extra: list[tuple[int, Sequence[Any]]] = []
    place = 0
    for number in range(size + 1):
        work = steps.get(number, ())
        more = inserted(work)
        if more:
            extra.append((number, more))
        place += len(more)
        if number < size and not removes(work):
            kept[number] = new[place]
            place += 1
    return _Alignment(kept, extra) if kept else None


def _shared(left: Sequence[Any], right: Sequence[Any], most: int) -> int:
    """How many items both begin with, at most so many."""
    return next((number for number in range(most) if not same(left[number], right[number])), most)


class _Writer:
    """Writes values into one document: with its line breaks, and as JSON where that is what it is."""

    def __init__(self, text: str, json: bool) -> None:
        self.json = json
        self.newline = _newline(text)

    def lines(self, value: Any, pad: int) -> str:
        """A collection that is not empty, in block style, each line indented; without the last line break."""
        text = Blocks([]).text(value).removesuffix("\n")
        space = " " * pad
        return self.newline.join(space + line if line else line for line in text.split("\n"))

    def inline(self, value: Any, pad: int, *, single: bool, quote: str = "") -> str:
        """A scalar or an empty collection. `single`: it must stay on one line; `pad`: of the lines of a longer text."""
        if not isinstance(value, str):
            return _plain(value)
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
            return f"{{{', '.join(f'{self.flow_key(key)}: {self.flow(item)}' for key, item in value.items())}}}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self.flow, value))}]"
        return self._text(value) if isinstance(value, str) else _plain(value)

    def flow_key(self, key: str) -> str:
        """A key in flow style."""
        return self._text(key)

    def _text(self, text: str) -> str:
        if self.json:
            from json import dumps

            return dumps(text, ensure_ascii=False)
        return text if _PLAIN_IN_FLOW(text) and scalar(text) == text else quoted(text)


def _empty(value: Any) -> bool:
    """Whether it is a collection without anything in it."""
    return isinstance(value, Mapping | list | tuple) and not value


def _is_sequence(value: Any) -> bool:
    """Whether it is a list, of whatever type."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def _plain(value: Any) -> str:
    """What has no quotes, in JSON either."""
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    if _empty(value):
        return "{}" if isinstance(value, Mapping) else "[]"
    return numeral(value)


def _newline(text: str) -> str:
    """The line break of a text."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
