"""Standard output, always as UTF-8 and in large writes, and the layout of tables and trees."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic

CHUNK = 1 << 20
"""Characters per write."""


def write(pieces: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Writes all pieces, and returns the errors. BrokenPipeError: the reader is gone; `run` handles it."""
    return write_bytes(chunks(pieces))


def write_bytes(pieces: Iterable[bytes]) -> tuple[Diagnostic, ...]:
    """The same with bytes."""
    try:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        for chunk in pieces:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        from bayplan.cli.failures import discard_stdout, unwritable

        discard_stdout()
        return (unwritable("<stdout>", problem),)
    return ()


def chunks(pieces: Iterable[str]) -> Iterable[bytes]:
    """The same text in pieces of about CHUNK characters."""
    gathered: list[str] = []
    size = 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield "".join(gathered).encode()
            gathered, size = [], 0
    yield "".join(gathered).encode()


def table(rows: Sequence[Sequence[str]], *, right: bool = False, widest: int = 1_000_000) -> Iterator[str]:
    """The rows with aligned columns. `right`: all columns after the first are aligned right.

    `widest`: the maximum width of a column; a longer cell moves the cells after it.
    """
    columns = zip(*rows, strict=True)
    widths = [max((len(text) for text in column if len(text) <= widest), default=0) for column in columns]
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        if right:
            cells[1:] = [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()


Branches = Iterable[tuple[str, Any]]
"""The nodes of a tree: the line of each, and its children."""


def tree(nodes: Branches, indent: str = "") -> Iterator[str]:
    """The lines of a tree with its branches."""
    found = [*nodes]
    for number, (line, below) in enumerate(found, 1):
        last = number == len(found)
        yield f"{indent}{'└─ ' if last else '├─ '}{line}"
        yield from tree(below, indent + ("   " if last else "│  "))
