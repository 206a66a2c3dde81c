"""The text of a document -> the same text with changed data. The rest keeps its bytes.

Comments, quotes, flow style, indentation and line breaks stay the same. It adds and removes keys and items as lines.
`rewrite_all` takes new data. It rewrites a value that it cannot change in this way, at worst the whole document, and
reads back every result. `edited` takes edits. It has no result if they need more than changes of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.text import document, scalars
from bayplan.text.buffer import Buffer, Site, UnpatchableError, Writer, newline_of
from bayplan.text.edits import Edit, Step, Work, changed, grouped, inserted, removes, staying
from bayplan.text.positions import Node, compose
from bayplan.text.scalars import MERGE

_MOST_ROUNDS = 8
"""The most rounds of expanding aliases, each of which may contain anchors of others."""

_NOTHING = object()


def edited(text: str, data: Any, edits: Sequence[Edit]) -> str | None:
    """The text of one document with this data after the edits. None if they need more than changes of lines.

    New rows are one line each if the rows next to them are.
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


def rewrite_all(tasks: Sequence[tuple[str, Any, Any]]) -> list[str]:
    """Changes documents, so that `document.read` reads the new data instead of the old.

    Tasks are (text, old data, new data). It reads the results back together.
    """
    drafts = list(_drafts(tasks))
    data = _data_of_all(drafts) if len(drafts) > 1 else None
    if data is None:
        data = [_NOTHING if draft is task[0] else _data(draft) for draft, task in zip(drafts, tasks, strict=True)]
    return [
        draft if draft is text or same(read, new) else _retried(text, old, new)
        for draft, read, (text, old, new) in zip(drafts, data, tasks, strict=True)
    ]


def _drafts(tasks: Iterable[tuple[str, Any, Any]]) -> Iterator[str]:
    """The text of each task with the smallest edits. Objects that differ only in their names get the same edits."""
    known: dict[tuple[str, ...], str] = {}
    for text, old, new in tasks:
        if same(old, new):
            yield text
            continue
        names = _names(new)
        key = _with_holes(text, names), *("0" * len(each) for each in names)
        draft = known.get(key) if names else None
        if draft is None:
            draft = next(_attempts(text, old, new), "")
            known[key] = _with_holes(draft, names)
        else:
            for hole, name in zip(_HOLES, names, strict=False):
                draft = draft.replace(hole, name)
        yield draft


_HOLES = tuple(f"\0{chr(0xE000 + number)}" for number in range(10))
"""In place of names. No YAML has NUL, and no name has the other characters."""

_PLAIN = re.compile("[a-z][a-z0-9]*-[-a-z0-9]*[a-z0-9]")
"""Names that never need quotes."""


def _names(data: Any) -> list[str]:
    """The name of an object, and its strings that begin with it, the longest first. Empty if one may need quotes."""
    metadata = data.get("metadata") if isinstance(data, Mapping) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str) or not _PLAIN.fullmatch(name):
        return []
    found = {*filter(_PLAIN.fullmatch, _beginning(data, name))}
    return sorted(found, key=lambda each: (-len(each), each))[: len(_HOLES)] if name in found else []


def _beginning(data: Any, name: str) -> Iterator[str]:
    if isinstance(data, str):
        if data.startswith(name):
            yield data
    elif isinstance(data, Mapping):
        for each in data.values():
            yield from _beginning(each, name)
    elif isinstance(data, list):
        for each in data:
            yield from _beginning(each, name)


def _with_holes(text: str, names: Sequence[str]) -> str:
    for hole, name in zip(_HOLES, names, strict=False):
        text = text.replace(name, hole)
    return text


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same YAML data. The order of keys does not matter, and `true` is not 1."""
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
    """The result with the smallest edits that work; at worst the whole document without its comments."""
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
        changed_text = _expanding(text, root, site, old, new, coarse)
        if changed_text is not None:
            yield changed_text
        if not coarse and not text.endswith("\n"):  # a block of lines may come at the end of the text
            yield next(_attempts(f"{text}{newline_of(text)}", old, new), "")
    patch = _Patch(text)
    patch.replace(root, site, new)
    yield patch.applied() or ""


def _expanding(text: str, root: Node, site: Site, old: Any, new: Any, coarse: bool) -> str | None:
    """The text with aliases of changed values expanded. None if edits overlap."""
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
    """The data of the text. If it is not one document, an object that differs from all data."""
    documents_read = document.read("", text.encode(), "manifest", own=False).value
    return documents_read[0].data if documents_read and len(documents_read) == 1 else _NOTHING


def _data_of_all(texts: Sequence[str]) -> list[Any] | None:
    """The data of many documents. None if they must be read one by one."""
    if not all(t.startswith("---") and t.endswith("\n") and "\n..." not in t and "\n%" not in t for t in texts):
        return None  # one of them does not begin and end a document, or affects the next one
    documents_read = document.read("", "".join(texts).encode(), "manifest", own=False).value or ()
    data = {each.index: each.data for each in documents_read}
    return [data.get(number, _NOTHING) for number in range(len(texts))]


class _Patch(Buffer):
    """Finds the edits of the text of one document.

    `expand`: anchors whose aliases it expands. `coarse`: it rewrites values. `strict`: it never rewrites the document.
    """

    def __init__(
        self, text: str, expand: frozenset[str] = frozenset(), coarse: bool = False, strict: bool = False
    ) -> None:
        super().__init__(text, Writer(text, scalars.looks_like_json(text) and not strict), rows=strict)
        self.expand, self.coarse, self.strict = expand, coarse, strict

    def change(self, node: Node, site: Site, old: Any, new: Any, work: Work = ()) -> None:
        """Changes the text of a value to `new`. `work`: the edits from `old` to `new`, if they are known."""
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
            elif node.kind == "sequence" and isinstance(new, Sequence) and not isinstance(new, str) and new:
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
        """Expands the aliases in an unchanged value."""
        if (node.kind == "alias" and node.anchor in self.expand) or (node.merges and _merged(node) & self.expand):
            self.replace(node, site, value)
        elif node.kind == "mapping":
            for key, item in zip(node.keys, node.items, strict=True):
                if key.name is not MERGE and key.name in value:
                    self.expanded(item, self.site_of(node, key, item), value[key.name])
        elif node.kind == "sequence" and _aliases_in(node) & self.expand:
            for item, its, each in zip(node.items, self.item_sites(node), value, strict=True):
                self.expanded(item, its, each)

    # Mappings

    def mapping(self, node: Node, old: Mapping[str, Any], new: Mapping[str, Any], steps: Mapping[Step, Work]) -> None:
        """Removes, changes and adds keys, in this order."""
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
        merged = [name for name in new if node.merges and name in old and same(old[name], new[name])]
        added = {name: value for name, value in new.items() if name not in pairs and name not in merged}
        if added:
            self.touch()
            self.append(node, added)

    def holds_merges(self, node: Node, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Whether the merges may stay: they come first, and all of their keys stay."""
        names = [key.name for key in node.keys]
        first = next(number for number, name in enumerate([*names, None]) if name is not MERGE)
        return MERGE not in names[first:] and all(name in new or name in names for name in old)

    # Sequences

    def sequence(self, node: Node, old: Sequence[Any], new: Sequence[Any], steps: Mapping[Step, Work]) -> None:
        """Removes, changes and adds items, in this order."""
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
            self.insert(node, number, extra, aligned.kept)


def _aliases_in(node: Node) -> set[str]:
    """The anchors of the aliases in a value."""
    found = {node.anchor} if node.kind == "alias" and node.anchor else set()
    return found.union(*map(_aliases_in, node.items))


def _merged(node: Node) -> set[str]:
    """The anchors that a mapping merges."""
    return set().union(
        *(_aliases_in(item) for key, item in zip(node.keys, node.items, strict=True) if key.name is MERGE)
    )


class _Alignment(NamedTuple):
    """The changes of a list. `kept`: number of an item -> new value. `extra`: new items before the item of a number."""

    kept: Mapping[int, Any]
    extra: Sequence[tuple[int, Sequence[Any]]]


def _aligned(old: Sequence[Any], new: Sequence[Any]) -> _Alignment:
    """Keeps the common beginning and end. It changes the items between them in pairs, and adds or removes the rest."""
    least = min(len(old), len(new))
    if not least:
        raise UnpatchableError
    head = _shared(old, new, least)
    tail = _shared(old[::-1], new[::-1], least - head)
    pairs = {**{n: new[n] for n in range(least - tail)}, **{len(old) - n: new[-n] for n in range(tail, 0, -1)}}
    extra = new[least - tail : len(new) - tail]
    return _Alignment(pairs, [(least - tail, extra)] if extra else [])


def _aligned_by_edits(size: int, new: Sequence[Any], steps: Mapping[Step, Work]) -> _Alignment | None:
    """The alignment by the edits. None if no item stays."""
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
    """The length of the common beginning, at most `most`."""
    return next((number for number in range(most) if not same(left[number], right[number])), most)
