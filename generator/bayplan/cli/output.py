"""-o: a file or a folder, replaced as a whole, touched only where bytes differ; --check: compared instead."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from errno import EISDIR
from typing import TYPE_CHECKING

from bayplan.cli.options import Given
from bayplan.core.diagnostics import Diagnostic, error

if TYPE_CHECKING:
    from bayplan.model.manifest import Item

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


def option_errors(given: Given) -> tuple[Diagnostic, ...]:
    """What can be told of the options before there is anything to write."""
    if given.on("check") and given.one("output", "-") == "-":
        message = "--check compares with what -o names, and -o names no file or folder"
        return (error("A930", ("argument", "--check"), message, hint="add -o FILE or -o DIR/"),)
    return ()


def writer(given: Given, documents: Iterable[Item]) -> Callable[[], tuple[Diagnostic, ...]]:
    """The function that writes (or compares) the documents as the options have it."""
    path = given.one("output", "-")
    if path != "-" and _is_folder(path):
        from bayplan.cli import output_folder as folder

        into = folder.compare_folder if given.on("check") else folder.write_folder
        return lambda: into(path, folder.files(documents))
    from bayplan.text.emit import emit

    found = tuple(documents)
    option_errors = several_files(found)
    return (lambda: option_errors) if option_errors else file_writer(given, emit(found))


def several_files(documents: Sequence[Item], hint: str = "write them into a folder: -o DIR/") -> tuple[Diagnostic, ...]:
    """O808 where one text would have to hold more than one file."""
    from bayplan.model.manifest import File

    names = ", ".join(each.name for each in documents if isinstance(each, File))
    if len(documents) < 2 or not names:
        return ()
    message = f"there are several files, and one text holds one: {names}"
    return (error("O808", ("argument", "--output"), message, hint=hint),)


def file_writer(given: Given, pieces: Iterable[str]) -> Callable[[], tuple[Diagnostic, ...]]:
    """The same for a text that goes into one file."""
    path = given.one("output", "-")
    if path == "-":
        return lambda: write(pieces)
    if _is_folder(path):
        from bayplan.cli.failures import unwritable

        return lambda: (unwritable(path, IsADirectoryError(EISDIR, os.strerror(EISDIR))),)
    from bayplan.cli import output_folder as single

    onto = single.compare_single if given.on("check") else single.write_single
    return lambda: onto(path, pieces)


def _is_folder(path: str) -> bool:
    return path.endswith(os.sep) or os.path.isdir(path)
