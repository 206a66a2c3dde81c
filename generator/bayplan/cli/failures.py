"""What the operating system says of a read or a write, in our words."""

from __future__ import annotations

import errno
import os
import sys

from bayplan.core.diagnostics import Diagnostic, error

FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def unwritable(name: str, problem: OSError | ValueError) -> Diagnostic:
    """O802 where there is no room, else O802. ValueError is what a name with a NUL in it gives."""
    why = reason(problem)
    if isinstance(problem, OSError) and problem.errno in FULL:
        return error("O802", (), f'"{name}" cannot be written whole: {why}', hint="make room and run it again")
    return error("O802", (), f'"{name}" cannot be written: {why}')


def reason(problem: OSError | ValueError) -> str:
    """`no such file or directory`."""
    text = (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
    return f"{text[:1].lower()}{text[1:]}"


def discard_stdout() -> None:
    """Lets the interpreter's last flush go nowhere: it would complain a second time."""
    if sys.stdout is None:
        return
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
