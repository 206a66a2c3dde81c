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
    start = 0
    for border in re.finditer(_BORDER, raw):
        if b"%" in raw[start : border.end()] and _only_directives(raw[start : border.end()]):
            for ended in re.finditer(_ENDED, raw[start : border.end()]):
                yield raw[start : start + ended.end()]
                start += ended.end()
                break
            continue
        yield raw[start : border.end()]
        start = border.end()
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
