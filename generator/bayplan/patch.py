"""The text of a document -> the same text with other data in it; whatever is not changed keeps its bytes.

Comments, quotes, flow style, indentation and line breaks stay as they are. Keys and items come and go by lines of their
own; a value that cannot be changed so is written anew, at worst the whole document. Every result is read back before it
is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from bayplan import document
from bayplan._document import jsontext
from bayplan._document.outline import Node
from bayplan._patch.draft import CannotError, Draft, Edit, Site, aliases_in
from bayplan._patch.equal import same
from bayplan._patch.writing import Writer

__all__ = ["rewrite", "same"]


_MOST_ROUNDS = 8
"""Of writing aliases out, each of which may hold the anchors of others."""


def rewrite(text: str, old: Any, new: Any) -> str:
    """The text of one document, whose data `document.read` finds to be `old`, changed so that they are `new`."""
    if same(old, new):
        return text
    root = document.outline(text)
    for found in _attempts(text, root, old, new) if root is not None else ():
        if same(_data(found), new):
            return found
    return _anew(text, new)


def _attempts(text: str, root: Node, old: Any, new: Any) -> Iterator[str]:
    """Texts to try, the one with the smallest edits first."""
    writer = Writer(text, json=jsontext.begins(text))
    site = Site("root", root.start, 0)
    for coarse in (False, True):
        edits = _edits(text, root, writer, coarse, (site, old, new))
        if edits is not None:
            yield _applied(text, edits)
    draft = Draft(text, writer, frozenset(), True)
    draft.replace(root, site, new)
    yield _applied(text, draft.edits)


def _edits(text: str, root: Node, writer: Writer, coarse: bool, work: tuple[Site, Any, Any]) -> list[Edit] | None:
    """The edits; aliases of what they change are written out. None where edits are in each other's way."""
    referred = aliases_in(root)
    expand: frozenset[str] = frozenset()
    for _ in range(_MOST_ROUNDS):
        draft = Draft(text, writer, expand, coarse)
        try:
            draft.change(root, *work)
        except CannotError:
            return None
        more = (draft.dirty & referred) - expand
        if not more:
            edits = sorted(draft.edits, key=lambda edit: edit.start)
            return None if any(one.stop > other.start for one, other in pairwise(edits)) else edits
        expand |= more
    return None


def _applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits, which are in order."""
    pieces: list[str] = []
    place = 0
    for edit in edits:
        pieces += (text[place : edit.start], edit.text)
        place = edit.stop
    return "".join([*pieces, text[place:]])


def _data(text: str) -> Any:
    """What a text reads as, or something that nothing else is the same as."""
    found = document.read("", text.encode(), "manifest", own=False).value
    return found[0].data if found and len(found) == 1 else _NOTHING


_NOTHING = object()


def _anew(text: str, new: Any) -> str:
    """The whole document, without its comments."""
    from bayplan.emit import emit

    return ("---\n" if text.startswith("---") else "") + "".join(emit([new]))
