"""Failures that no command handles: streams that fail, and bugs of bayplan."""

from __future__ import annotations

import os

from bayplan.cli.failures import discard_stdout
from bayplan.cli.finish import write_stderr
from bayplan.report.findings import escape

DEBUG = "BAYPLAN_DEBUG"
"""If this variable is 1, bayplan prints the traceback of a bug."""

READER_GONE, BUG = 141, 3
"""Exit codes. The first is the exit code of shells for SIGPIPE."""


def exit_code_of(problem: Exception) -> int:
    """Reports an exception that no command caught."""
    if isinstance(problem, BrokenPipeError):
        discard_stdout()
        return READER_GONE
    if os.environ.get(DEBUG) == "1":
        from traceback import format_exc

        write_stderr(format_exc())
    else:
        write_stderr(_bug(problem))
    return BUG


def _bug(problem: Exception) -> str:
    """The report of an unexpected exception."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    lines = (
        f"bayplan: this is a bug in bayplan, not in your files: {type(problem).__name__}: {problem}{where}",
        "  note: do not use the output of this run",
        "  hint: please report it with the command line, and with your files if you may share them",
        f"  hint: add the output of `bayplan --version`, and that of a run with {DEBUG}=1",
    )
    return "".join(f"{escape(line)}\n" for line in lines)
