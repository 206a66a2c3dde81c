"""Read what the command line names: regular files and standard input, nothing that could block or never end."""

from __future__ import annotations

import os
import stat
import sys

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.report import Batch
from bayplan.text.document import Document, read
from bayplan.text.source import LARGEST, text_of

STDIN = "<stdin>"
"""The name under which standard input is reported."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def load(path: str, subject: str, *, own: bool = True) -> tuple[tuple[Document, ...], Batch]:
    """The documents of a file, `-` being standard input, and what is wrong with it."""
    name = STDIN if path == "-" else path
    raw = raw_of(path, subject)
    if raw.value is None:
        return (), Batch(raw.diagnostics, {subject: Document(name, "", 0, None)})
    found = read(name, raw.value, subject, own=own)
    text = text_of(raw.value) if found.diagnostics else ""
    return found.value or (), Batch(found.diagnostics, {subject: Document(name, text, 0, None)})


def raw_of(path: str, subject: str) -> Outcome[bytes]:
    """The bytes of a file. R101: it cannot be read; R102: it is no regular file; R103: it is too large."""
    try:
        return _stdin(subject) if path == "-" else _file(path, subject)
    except (OSError, ValueError) as problem:  # ValueError: a name with a NUL
        from bayplan.cli.failures import reason

        return Outcome(None, (_unreadable(subject, reason(problem)),))


def _unreadable(subject: str, why: str) -> Diagnostic:
    return error("R101", (subject,), f"the file cannot be read: {why}")


def _stdin(subject: str) -> Outcome[bytes]:
    if sys.stdin is None:
        return Outcome(None, (_unreadable(subject, "standard input is closed"),))
    return _limited(sys.stdin.buffer.read(LARGEST + 1), subject)


def _file(path: str, subject: str) -> Outcome[bytes]:
    wrong = irregular(path, (subject,))
    if wrong:
        return Outcome(None, (wrong,))
    if os.stat(path).st_size > LARGEST:
        return Outcome(None, (_too_large(subject),))
    with open(path, "rb") as file:
        return _limited(file.read(LARGEST + 1), subject)


def irregular(path: str, route: Route) -> Diagnostic | None:
    """R102 where the path is something else than a regular file: reading it could block or never end."""
    mode = os.stat(path).st_mode
    kind = next((word for test, word in _KINDS if test(mode)), "")
    hint = "name the files in it" if kind == "a folder" else "pass - and pipe the text into standard input"
    return error("R102", route, f"a file is wanted here, and this is {kind}", hint=hint) if kind else None


def _limited(raw: bytes, subject: str) -> Outcome[bytes]:
    return Outcome(raw) if len(raw) <= LARGEST else Outcome(None, (_too_large(subject),))


def _too_large(subject: str) -> Diagnostic:
    message = f"the file has more than {LARGEST:,} bytes, the most that is read"
    return error("R103", (subject,), message, hint="is it the right file?")
