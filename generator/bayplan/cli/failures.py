"""What the operating system says of a read or a write, in our words."""

from __future__ import annotations

import errno

from bayplan.diagnostics import Diagnostic, error

FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def unwritable(name: str, problem: OSError | ValueError) -> Diagnostic:
    """O803 where there is no room, else O802. ValueError is what a name with a NUL in it gives."""
    why = reason(problem)
    if isinstance(problem, OSError) and problem.errno in FULL:
        return error("O803", (), f'"{name}" cannot be written whole: {why}', hint="make room and run it again")
    return error("O802", (), f'"{name}" cannot be written: {why}')


def reason(problem: OSError | ValueError) -> str:
    """`no such file or directory`."""
    text = (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
    return f"{text[:1].lower()}{text[1:]}"
