"""The end of a command: its output, its report and its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

from bayplan.cli import output
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, has_errors
from bayplan.report import Batch

Write = Callable[[], tuple[Diagnostic, ...]]
"""Writes the output and returns the errors of writing."""

_COLOURS = {"error": "1;31", "warning": "1;33", "info": "1;36", "place": "1", "gutter": "2", "label": "1"}


def finish(args: Arguments, batches: Iterable[Batch], write: Write | None = None, *, to_stdout: bool = False) -> int:
    """Writes the output unless there are errors, and reports. Returns the exit code. `to_stdout`: where to report."""
    reported = list(batches)
    code = exit_code(args, reported)
    if write is not None and code == 0:
        reported.append(Batch(write()))
        code = exit_code(args, reported)
    return report(args, reported, to_stdout) or code


def exit_code(args: Arguments, batches: Sequence[Batch]) -> int:
    """0: no errors. 1: errors, or with --strict warnings. 2: errors in the command line."""
    reported = [each for batch in batches for each in batch.diagnostics]
    if any(each.severity == "error" and each.route[:1] == ("argument",) for each in reported):
        return 2
    strict = args.has("strict") and any(each.severity == "warning" for each in reported)
    return 1 if strict or has_errors(reported) else 0


def report(args: Arguments, batches: Sequence[Batch], to_stdout: bool) -> int:
    """Writes the report. 1: writing to standard output failed."""
    form = args.value("diagnostics", "text")
    quiet = form in ("text", "github") and not any(batch.diagnostics for batch in batches)
    if quiet:
        return 0
    from bayplan.report.findings import findings
    from bayplan.report.formats import plain, render, summary

    listed = findings(batches)
    text = render(listed, form, paint if coloured(sys.stdout if to_stdout else sys.stderr) else plain)
    failed = to_stdout and output.write([text])
    if failed:
        text = render(findings([Batch(failed)]), form)
    if failed or not to_stdout:
        write_stderr(text)
    if form == "text":
        write_stderr(f"{summary(listed)}\n")
    return 1 if failed else 0


def write_stderr(text: str) -> None:
    """Writes to standard error, and ignores errors of writing."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, AttributeError):
        pass


def coloured(stream: TextIO | None) -> bool:
    """Whether to write colors: only on a terminal, and unless NO_COLOR is set (no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream is not None and stream.isatty()


def paint(role: str, text: str) -> str:
    """The text in the color of its role."""
    return f"\x1b[{_COLOURS[role]}m{text}\x1b[0m"
