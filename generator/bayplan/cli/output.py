"""-o: a file or a folder, replaced as a whole, touched only where bytes differ; --check: compared instead."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bayplan.core.diagnostics import Diagnostic

if TYPE_CHECKING:
    pass

# Standard output, as UTF-8 whatever the locale, in large writes.

CHUNK = 1 << 20
"""Characters that are gathered before a write."""


def write(pieces: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Writes all pieces; what prevented it. A reader that went away is a BrokenPipeError, which `run` knows."""
    return write_bytes(chunks(pieces))


def write_bytes(pieces: Iterable[bytes]) -> tuple[Diagnostic, ...]:
    """The same with bytes."""
    try:
        if sys.stdout is None:
            raise OSError("it is closed")
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
    """The same text in pieces of some CHUNK characters."""
    gathered: list[str] = []
    size = 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield "".join(gathered).encode()
            gathered, size = [], 0
    yield "".join(gathered).encode()
