"""A stream of documents -> pieces, one a document, and what a glance tells of each."""

from __future__ import annotations

import re
from collections.abc import Iterator

MARK = b"bayplan.dev"
"""What annotations, labels and files of ours have in them."""

_BORDER = rb"\n(?=---(?:[ \t\r\n]|\Z))"
_ENDED = rb"\n\.\.\.(?:[ \t][^\n]*)?\r?\n"
_TOP = rb"""(?:\A|\n)["']?kind["']?[ \t]*:[ \t]*["']?(\w+)"""
_ANY = rb"""\bkind["']?\s*:\s*["']?(\w+)"""
"""Patterns that most runs do not need are compiled when they are."""


def split(raw: bytes) -> Iterator[bytes]:
    """The pieces, of which most begin with a line `---`; together they are the stream.

    Helm and kubectl cut at these lines too. A directive (`%YAML`) stays with the document that it is about, and the one
    before it, which ends with a line `...`, is a piece of its own.
    """
    start = before = 0
    for border in re.finditer(_BORDER, raw):
        chunk, offset, before = raw[before : border.end()], before, border.end()
        if b"%" in chunk and _only_directives(chunk):
            ended = re.search(_ENDED, chunk)
            if ended:
                yield raw[start : offset + ended.end()]
                start = offset + ended.end()
            continue
        yield raw[start:before]
        start = before
    if start < len(raw):
        yield raw[start:]


def _only_directives(piece: bytes) -> bool:
    """Whether a piece ends with a directive, so that its document is still to come."""
    lines = [line for line in piece.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    return bool(lines) and lines[-1].removeprefix(b"\xef\xbb\xbf").startswith(b"%")


def kinds(piece: bytes) -> set[str]:
    """The kinds of the objects that a piece may hold, by a glance.

    A `kind` at the beginning of a line is that of the document, and decides unless it is a List; without one, as in
    JSON, any `kind` may be.
    """
    top = set(re.findall(_TOP, piece))
    found = top if top and not any(kind.endswith(b"List") for kind in top) else set(re.findall(_ANY, piece))
    return {kind.decode() for kind in found}
