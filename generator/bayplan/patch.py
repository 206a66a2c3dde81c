"""The text of a document -> the same text with other data in it; whatever is not changed keeps its bytes.

Comments, quotes, flow style, indentation and line breaks stay as they are. Keys and items come and go by lines of their
own; a value that cannot be changed so is written anew, at worst the whole document. Every result is read back before it
is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from bayplan import document
from bayplan._document import jsontext
from bayplan._document.outline import Node
from bayplan._patch.draft import CannotError, Draft, Edit, Site, aliases_in
from bayplan._patch.equal import same
from bayplan._patch.writing import Writer

__all__ = ["rewrite", "rewrite_all", "same"]


_MOST_ROUNDS = 8
"""Of writing aliases out, each of which may hold the anchors of others."""


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


def _retried(text: str, old: Any, new: Any) -> str:
    """The smallest edits that do; at worst the whole document anew."""
    found = _attempts(text, old, new)
    return next((each for each in found if same(_data(each), new)), None) or _anew(text, new)


def _attempts(text: str, old: Any, new: Any) -> Iterator[str]:
    """Texts to try, the one with the smallest edits first."""
    root = document.outline(text)
    if root is None:
        return
    writer = Writer(text, json=jsontext.begins(text))
    site = Site("root", root.start, 0)
    for coarse in (False, True):
        edits = _edits(text, root, writer, coarse, (site, old, new))
        if edits is not None:
            yield _applied(text, edits)
        if not coarse and not text.endswith("\n"):  # a block of lines may have to end the text
            yield next(_attempts(f"{text}{writer.newline}", old, new), "")
    draft = Draft(text, writer, frozenset(), True)
    draft.replace(root, site, new)
    yield _applied(text, draft.edits)


def _edits(text: str, root: Node, writer: Writer, coarse: bool, work: tuple[Site, Any, Any]) -> list[Edit] | None:
    """The edits; aliases of what they change are written out. None where edits are in each other's way."""
    referred = aliases_in(root) if "*" in text else set()
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


_NOTHING = object()


def _anew(text: str, new: Any) -> str:
    """The whole document, without its comments."""
    from bayplan.emit import emit

    return ("---\n" if text.startswith("---") else "") + "".join(emit([new]))
