"""What bayplan reports when no command can: streams that fail, and bugs of bayplan."""

from __future__ import annotations

import os

from bayplan.cli.failures import discard_stdout, unwritable
from bayplan.cli.finish import finish, write_stderr
from bayplan.cli.options import Arguments, Command
from bayplan.report import Batch

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
        found = unwritable("<stdout>", problem.reason)
        return finish(Arguments(Command("", "", ""), (), {}), [Batch((found,))])
    if os.environ.get(DEBUG) == "1":
        from traceback import format_exc

        write_stderr(format_exc())
    else:
        write_stderr(_bug(problem))
    return BUG


class HelpFailedError(Exception):
    """Standard output does not take what click writes."""

    def __init__(self, reason: OSError) -> None:
        self.reason = reason


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
