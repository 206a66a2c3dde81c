"""Kubernetes documents -> YAML text: block style, streamed, and the same to every reader.

No YAML library for Python writes what kubectl, kustomize, YAML 1.1 and YAML 1.2 all read back the same: hence this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan._emit.blocks import Blocks
from bayplan._emit.scalars import scalar
from bayplan._emit.skeletons import fill, template
from bayplan.model.manifest import File, Item, Many

__all__ = ["emit", "scalar"]

_CHARACTERS = 1_000_000
_PIECES = 32_768  # some 30 characters each


def emit(items: Iterable[Item]) -> Iterator[str]:
    """The documents with `---` lines between them, in pieces of about a megabyte; files as they are.

    Data may hold mappings with string keys, sequences, strings, numbers, booleans and None. TypeError for anything
    else; ValueError for NaN, infinities, halves of surrogate pairs, and names in a `Many` that are not DNS-1123.
    """
    pieces: list[str] = []
    blocks = Blocks(pieces)
    between = ""
    for item in items:
        if isinstance(item, Many):
            yield from _take(pieces)
            for text in fill(template(item.skeleton, blocks.text), item.rows, _CHARACTERS):
                yield between + text
                between = "---\n"
            continue
        if isinstance(item, File):
            pieces.append(item.text)
            continue
        pieces.append(between)
        blocks.document(item)
        between = "---\n"
        if len(pieces) >= _PIECES:
            yield from _take(pieces)
    yield from _take(pieces)


def _take(pieces: list[str]) -> Iterator[str]:
    """What there is, as one text."""
    if pieces:
        yield "".join(pieces)
        pieces.clear()
