"""What the operating system says of a read or a write, in our words."""

from __future__ import annotations

import errno
import os
import sys

from bayplan.cli.finish import finish, write_stderr
from bayplan.cli.options import Command, Given
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.report import Batch

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


# What is said when no command can: streams that fail, bugs of ours.

DEBUG = "BAYPLAN_DEBUG"
"""Set to 1, this variable lets a bug of ours end in its traceback."""

READER_GONE, BUG = 141, 3
"""Exit codes; the first is what shells make of SIGPIPE."""


def exit_code_of(problem: Exception) -> int:
    """Answers an exception that no command has caught."""
    if isinstance(problem, BrokenPipeError):
        discard_stdout()
        return READER_GONE
    if isinstance(problem, HelpFailedError):
        discard_stdout()
        return _finish(unwritable("<stdout>", problem.reason))
    write_stderr(_traceback() if os.environ.get(DEBUG) == "1" else _bug(problem))
    return BUG


class HelpFailedError(Exception):
    """Standard output does not take what click writes."""

    def __init__(self, reason: OSError) -> None:
        self.reason = reason


def _finish(found: Diagnostic) -> int:
    return finish(Given(Command("", "", ""), (), {}), [Batch((found,))])


def _traceback() -> str:
    from traceback import format_exc

    return format_exc()


def _bug(problem: Exception) -> str:
    """What to say of an exception that nobody expected."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return (
        f"bayplan: this is a bug of bayplan, not of your files: {type(problem).__name__}: {problem}{where}\n"
        "  note: nothing that was written can be relied on\n"
        f"  hint: please report it with the command line, the files if you may share them, the output of"
        f" `bayplan --version` and that of a run with {DEBUG}=1\n"
    )


def discard_stdout() -> None:
    """Lets the interpreter's last flush go nowhere: it would complain a second time."""
    if sys.stdout is None:
        return
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
