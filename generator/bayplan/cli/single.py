"""One output file: written beside its place and moved there, unless the same bytes are there already."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from bayplan.cli import differences, stdout
from bayplan.cli.failures import unwritable
from bayplan.diagnostics import Diagnostic


def write(path: str, pieces: Iterable[str]) -> tuple[Diagnostic, ...]:
    """All pieces or nothing; a link stays a link, the file keeps its mode, devices and pipes are written directly."""
    try:
        real = os.path.realpath(path)
        if os.path.exists(real) and not os.path.isfile(real):
            pour(real, pieces)
        else:
            replace(real, pieces)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as problem:  # ValueError: a name with a NUL
        return (unwritable(path, problem),)
    return ()


def pour(path: str, pieces: Iterable[str]) -> None:
    """Writes into what is there, or into a new file. OSError, also of what the disk says only at the end."""
    with open(path, "wb") as file:
        for chunk in stdout.chunks(pieces):
            file.write(chunk)


def replace(path: str, pieces: Iterable[str]) -> None:
    """Moves a new file into the place of an old one that differs; nothing is left behind when it fails."""
    beside = os.path.join(os.path.dirname(path), f".bayplan-{os.getpid()}.tmp")
    try:
        pour(beside, pieces)
        if not same(beside, path):
            if os.path.exists(path):
                os.chmod(beside, stat.S_IMODE(os.stat(path).st_mode))
            os.replace(beside, path)
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)


def same(left: str, right: str) -> bool:
    """Whether both files are there with the same bytes."""
    if not os.path.isfile(right) or os.path.getsize(left) != os.path.getsize(right):
        return False
    with open(left, "rb") as one, open(right, "rb") as other:
        while chunk := one.read(stdout.CHUNK):
            if chunk != other.read(stdout.CHUNK):
                return False
    return True


def compare(path: str, pieces: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Shows on standard output how the file differs from what would be written."""
    return differences.show(path, {path: "".join(pieces)}, ())
