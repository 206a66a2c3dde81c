"""Reads regular files and standard input. Other files might block or never end."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import IO

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.report import Batch
from bayplan.text.document import Document, read
from bayplan.text.source import RAISE, limits, text_of

STDIN = "<stdin>"
"""The name of standard input in reports."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def load(path: str, subject: str, *, own: bool = True) -> tuple[tuple[Document, ...], Batch]:
    """The documents of a file and its diagnostics. `-` is standard input."""
    name = STDIN if path == "-" else path
    raw = raw_of(path, subject)
    if raw.value is None:
        return (), Batch(raw.diagnostics, {subject: Document(name, "", 0, None)})
    documents = read(name, raw.value, subject, own=own)
    text = text_of(raw.value) if documents.diagnostics else ""
    return documents.value or (), Batch(documents.diagnostics, {subject: Document(name, text, 0, None)})


def stdin_twice(paths: Sequence[str | None]) -> tuple[Diagnostic, ...]:
    """A920: several paths are standard input."""
    if paths.count("-") < 2:
        return ()
    message = "several arguments are `-`, and a command reads standard input only once"
    return (error("A920", ("argument", "-"), message, hint="write all but one of them to files"),)


def raw_of(path: str, subject: str) -> Outcome[bytes]:
    """The bytes of a file. R101: it cannot be read or is not a regular file. R103: it is too large."""
    most = limits().bytes
    try:
        with open_regular(path, (subject,)) as file:
            large = path != "-" and os.stat(path).st_size > most
            raw = b"" if large else file.read(most + 1)
    except UnreadableError as problem:
        return Outcome(None, problem.diagnostics)
    except (OSError, ValueError) as problem:
        return Outcome(None, (unreadable(problem, (subject,)),))
    return Outcome(None, (too_large((subject,), "bytes"),)) if large or len(raw) > most else Outcome(raw)


class UnreadableError(Exception):
    """Not all of the file can be read."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics


def open_regular(path: str, route: Route) -> AbstractContextManager[IO[bytes]]:
    """A regular file or standard input. OSError; ValueError: the name has a NUL byte, or standard input is closed."""
    if path == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed")
        return nullcontext(sys.stdin.buffer)
    wrong = irregular(path, route)
    if wrong:
        raise UnreadableError(wrong)
    return open(path, "rb")


def unreadable(problem: OSError | ValueError, route: Route) -> Diagnostic:
    """R101: the operating system refuses to read the file."""
    from bayplan.cli.failures import reason

    return error("R101", route, f"cannot read the file: {reason(problem)}")


def irregular(path: str, route: Route) -> Diagnostic | None:
    """R101: the path is not a regular file, so that reading it might block or never end."""
    mode = os.stat(path).st_mode
    kind = next((word for test, word in _KINDS if test(mode)), "")
    if not kind:
        return None
    hint = _of_folder(path) if kind == "a folder" else "pass - and pipe the text into standard input"
    return error("R101", route, f"this is {kind}, not a regular file", hint=hint)


def _of_folder(path: str) -> str:
    """The hint for a folder, such as a Helm chart."""
    from bayplan.kube.other_files import FOLDERS, in_folder

    found = (in_folder(base, path) for base in FOLDERS if os.path.isfile(os.path.join(path, base)))
    return next((f"it is {each.title}: {each.hint}" for each in found), "name the files in the folder")


def too_large(route: Route, key: str) -> Diagnostic:
    """R103: the file has more bytes than this limit."""
    message = f"the file has more than {getattr(limits(), key):,} bytes"
    return error("R103", route, message, hint=RAISE.format(key=key))
