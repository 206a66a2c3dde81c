"""Errors of the operating system as diagnostics."""

from __future__ import annotations

import errno
import os
import sys

from bayplan.core.diagnostics import Diagnostic, error

FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class OutsideError(PermissionError):
    """The sandbox does not contain a file, or the file is in a folder of git. `foreign`: so is its name."""

    def __init__(self, path: str, why: str, *, foreign: bool) -> None:
        super().__init__(errno.EACCES, why, path)
        self.path, self.foreign = path, foreign

    def __str__(self) -> str:
        return str(self.strerror)


def unwritable(name: str, problem: OSError | ValueError) -> Diagnostic:
    """O802. A name with a NUL byte raises ValueError. A990: the sandbox does not contain the file."""
    if isinstance(problem, OutsideError):
        message = f'bayplan does not write "{problem.path}": {problem}'
        return error("A990", (), message, hint="choose another place in the repository")
    why = reason(problem)
    if isinstance(problem, OSError) and problem.errno in FULL:
        return error("O802", (), f'cannot write all of "{name}": {why}', hint="make room, and run the command again")
    return error("O802", (), f'cannot write "{name}": {why}')


def reason(problem: OSError | ValueError) -> str:
    """`no such file or directory`."""
    text = (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
    return f"{text[:1].lower()}{text[1:]}"


def discard_stdout() -> None:
    """Redirects standard output to nothing, because the interpreter's last flush would fail again."""
    if sys.stdout is None:
        return
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
