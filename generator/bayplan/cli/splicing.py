"""Edits of a YAML text, made in the text: every line that is not edited keeps its bytes. Rows stay one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from bayplan import document
from bayplan._document.outline import Node
from bayplan._patch.draft import CannotError, Draft, Site, aliases_in
from bayplan._patch.draft import Edit as Piece
from bayplan._patch.writing import Writer
from bayplan.topologies.edits import Edit, Step, Work, changed, grouped, inserted, removes, staying


def spliced(text: str, data: Any, edits: Sequence[Edit]) -> str | None:
    """The text of one document with the edits; None where that takes more than changing lines of it."""
    whole = text if text.endswith("\n") else f"{text}\n"
    root = document.outline(whole)
    if root is None:
        return None
    draft = Draft(whole, Writer(whole, json=False), frozenset(), False)
    try:
        _value(draft, root, Site("root", root.start, 0), data, [(edit.path, edit) for edit in edits])
    except CannotError:
        return None
    return None if "*" in whole and draft.dirty & aliases_in(root) else _applied(draft)


def _applied(draft: Draft) -> str | None:
    """The text with the edits; None where they are in each other's way."""
    edits = sorted(draft.edits, key=lambda edit: (edit.start, edit.stop))
    if any(one.stop > other.start for one, other in pairwise(edits)):
        return None
    pieces: list[str] = []
    place = 0
    for edit in edits:
        pieces += (draft.text[place : edit.start], edit.text)
        place = edit.stop
    return "".join([*pieces, draft.text[place:]])


def _value(draft: Draft, node: Node, site: Site, data: Any, work: Work) -> None:
    """Edits of a value: of what is in it where only that changes, else of the whole."""
    steps = grouped(work)
    whole = any(not path for path, _ in work)
    before, depth = len(draft.edits), len(draft.inside)
    if node.anchor and node.kind != "alias":
        draft.inside.append(node.anchor)
    try:
        if whole or node.kind not in ("mapping", "sequence") or not node.items or node.merges:
            raise CannotError
        (_mapping if node.kind == "mapping" else _sequence)(draft, node, data, steps)
    except CannotError:
        if site.kind == "root":
            raise
        del draft.edits[before:], draft.inside[depth:]
        draft.change(node, site, data, changed(data, work))
    del draft.inside[depth:]


def _mapping(draft: Draft, node: Node, data: Mapping[str, Any], steps: Mapping[Step, Work]) -> None:
    gone = [removes(steps.get(key.name, ())) for key in node.keys]
    if all(gone):
        raise CannotError
    draft.without(node, gone)
    for key, item, going in zip(node.keys, node.items, gone, strict=True):
        if key.name in steps and not going:
            _value(draft, item, draft.site_of(node, key, item), data[key.name], steps[key.name])
    there = {key.name for key in node.keys}
    added = {str(step): changed(None, work) for step, work in steps.items() if step not in there and not removes(work)}
    if added:
        draft.touch()
        draft.append(node, added)


def _sequence(draft: Draft, node: Node, data: Sequence[Any], steps: Mapping[Step, Work]) -> None:
    gone = [removes(steps.get(number, ())) for number in range(len(data))]
    if len(node.items) != len(data) or all(gone):
        raise CannotError
    draft.without(node, gone)
    sites = draft.item_sites(node)
    for number, item in enumerate(node.items):
        work = staying(steps.get(number, ()))
        if work and not gone[number]:
            _value(draft, item, sites[number], data[number], work)
    first = draft.dashes(node)[0] if node.block else 0
    for number in range(len(data) + 1):
        if extra := inserted(steps.get(number, ())):
            draft.touch()
            _insert(draft, node, _standing(gone, number), extra, first)


def _standing(gone: Sequence[bool], number: int) -> int:
    """Where items are put that come before that one: the place before the first line may go with it."""
    return number or next(place for place, going in enumerate(gone) if not going)


def _insert(draft: Draft, node: Node, number: int, extra: Sequence[Any], first: int) -> None:
    """Puts items before that one, below a line that stays or goes; in flow style where their neighbours are."""
    if not node.block:
        draft.insert(node, number, extra)
        return
    pad = draft.column(first)
    if node.items[min(number, len(node.items) - 1)].block:
        lines = draft.writer.lines(extra, pad)
    else:
        lines = draft.writer.newline.join(f"{' ' * pad}- {draft.writer.flow(each)}" for each in extra)
    if number:
        draft.below(node.items[number - 1].stop, lines)
    else:
        draft.edits.append(Piece(first, first, f"{lines[pad:]}{draft.writer.newline}{' ' * pad}"))
