"""The writer of standard output and of files, in UTF-8 and large writes, and the layout of tables and trees."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

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
        sys.stdout.flush()
        write_whole(sys.stdout.buffer, pieces)
        sync(sys.stdout.buffer)
    except BrokenPipeError:
        raise
    except OSError as problem:
        from bayplan.cli.failures import discard_stdout, unwritable

        discard_stdout()
        return (unwritable("<stdout>", problem),)
    return ()


def write_whole(stream: BinaryIO, pieces: Iterable[bytes]) -> None:
    """Writes all pieces without a buffer. OSError.

    A system call may write only the first bytes: if a disk has little room, or if a pipe does not block. With
    PYTHONUNBUFFERED, Python loses the others.
    """
    raw: Any = getattr(stream, "raw", stream)
    for piece in pieces:
        left = memoryview(piece)
        while left:
            written = raw.write(left)
            if written is None:  # the pipe is full
                import select

                select.select((), (raw,), ())
                continue
            if not written:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            left = left[written:]


def sync(stream: BinaryIO) -> None:
    """Waits until the disk has the file. OSError: a file system may report a full disk only now."""
    try:
        number = stream.fileno()
    except OSError:  # a stream in memory
        return
    if stat.S_ISREG(os.fstat(number).st_mode):
        try:
            os.fsync(number)
        except OSError as problem:
            if problem.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot
                raise


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
