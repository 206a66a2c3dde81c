"""The end of a command: its output, its report and its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from bayplan.cli import output
from bayplan.cli.options import Arguments, fail_on
from bayplan.core.diagnostics import Diagnostic, has_errors
from bayplan.report import Batch

if TYPE_CHECKING:
    from bayplan.model.manifest import Item
    from bayplan.model.plan import Plan
    from bayplan.planning.fit import Fits
    from bayplan.report.findings import Finding
    from bayplan.report.formats import Repository

Write = Callable[[], tuple[Diagnostic, ...]]
"""Writes the output and returns the errors of writing."""


class Success(NamedTuple):
    """What a run without errors achieved. `documents`: what it wrote; `result` says more, or it in other words.

    `proofs`: those of the plans, if the run has them.
    """

    plans: Sequence[Plan] = ()
    documents: Sequence[Item] = ()
    result: str = ""
    proofs: Sequence[Fits | None] = ()


_COLOURS = {"error": "1;31", "warning": "1;33", "info": "1;36", "place": "1", "gutter": "2", "label": "1"}


def finish(
    args: Arguments,
    batches: Iterable[Batch],
    write: Write | None = None,
    *,
    to_stdout: bool = False,
    success: Success | None = None,
    despite: bool = False,
) -> int:
    """Writes the output unless there are errors, and reports. Returns the exit code. `to_stdout`: where to report.

    The code is 0 only if the whole output and the whole report are written. `despite`: the output shows the errors, so
    it is also written if there are any.
    """
    reported = [*batches, Batch(fail_on(args).diagnostics)]
    code = exit_code(args, reported)
    if write is not None and (code == 0 or (despite and code == 1)):
        reported.append(Batch(write()))
        code = exit_code(args, reported)
    failed = report(args, reported, to_stdout, success if code == 0 else None)
    return code or failed


def exit_code(args: Arguments, batches: Sequence[Batch]) -> int:
    """0: no errors. 1: errors, with --strict warnings, or codes of --fail-on. 2: errors in the command line."""
    reported = [each for batch in batches for each in batch.diagnostics]
    if any(each.severity == "error" and each.route[:1] == ("argument",) for each in reported):
        return 2
    strict = args.has("strict") and any(each.severity == "warning" for each in reported)
    fatal = fail_on(args).value or ()
    return 1 if strict or has_errors(reported) or any(each.code in fatal for each in reported) else 0


VISIBLE = ("F690", "P568")
"""Infos that say that a job may not start: the text shows them without -v."""

ASSUMED = "A913"
"""Infos of which a report without -v has one line: the versions that bayplan assumes."""


def report(args: Arguments, batches: Sequence[Batch], to_stdout: bool, success: Success | None = None) -> int:
    """Writes the report. In text, -v shows infos and -q only what fails. 1: it cannot be written."""
    form = args.value("diagnostics", "text")
    to_stdout = to_stdout or only_reports(args)
    if form in ("text", "github") and not any(batch.diagnostics for batch in batches):
        _speak(args, success)
        return 0
    from bayplan.report.findings import findings

    listed = findings(batches)
    hidden = _hidden_severities(args) if form == "text" else ()
    fatal = fail_on(args).value or ()
    fatal = fatal if args.has("quiet") else (*fatal, *VISIBLE)
    shown = [each for each in listed if each.severity not in hidden or each.code in fatal]
    failed = (shown or form != "text") and _write_report(args, shown, form, to_stdout)
    _speak(args, None if failed else success)
    silent = [each for each in listed if each.severity == "info" and each.code not in fatal]
    assumed = dict.fromkeys(each.message for each in silent if each.code == ASSUMED)
    infos = len(silent) - len(assumed)
    if hidden and not args.has("quiet"):
        write_stderr("".join(f"{message}\n" for message in assumed))
    if infos and hidden and not args.has("quiet"):
        write_stderr(f"{infos} info{'s' if infos > 1 else ''} hidden; -v shows {'them' if infos > 1 else 'it'}\n")
    return 1 if failed else 0


def only_reports(args: Arguments) -> bool:
    """Whether the report is all that the command writes: `generate --check` shows programs no differences."""
    programs = args.value("diagnostics") in ("json", "sarif", "gitlab")
    return programs and args.command.name == "generate" and args.has("check")


def _write_report(args: Arguments, shown: Sequence[Finding], form: str, to_stdout: bool) -> bool:
    """Writes the findings and, in text, their number. True: bayplan cannot write the findings."""
    from bayplan.report.findings import findings, plain
    from bayplan.report.formats import render, summary

    how = paint if coloured(sys.stdout if to_stdout else sys.stderr) else plain
    text = render(shown, form, how, *([_repository(args)] if form in ("github", "sarif", "gitlab") else ()))
    failed = to_stdout and output.write([text])
    if failed:
        text = render(findings([Batch(failed)]), form)
    lost = (failed or not to_stdout) and not write_stderr(text)
    if form == "text" and not args.has("quiet"):
        write_stderr(f"{summary(shown)}\n")
    return bool(failed or lost)


def _repository(args: Arguments) -> Repository:
    """The git repository of the current folder, and a file of the command line for findings that are about no file."""
    from bayplan.cli.files import current_folder, found, repository
    from bayplan.report.formats import Repository

    here = current_folder() or os.sep
    root = repository(here) or here
    named = (each for each in (*args.words, args.value("topology")) if found(each))
    return Repository(root, os.path.relpath(here, root), next(named, "bayplan.yaml"))


def _hidden_severities(args: Arguments) -> tuple[str, ...]:
    """The severities that the text omits."""
    if args.has("quiet"):
        return ("info",) if args.has("strict") else ("info", "warning")
    return () if args.has("verbose") else ("info",)


def _speak(args: Arguments, success: Success | None) -> None:
    """Says what was achieved, but only to a person: on a terminal, without -q and in text."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if success and terminal and not args.has("quiet") and args.value("diagnostics", "text") == "text":
        from bayplan.cli.success import lines

        write_stderr("".join(f"{line}\n" for line in lines(args, *success)))


def write_stderr(text: str) -> bool:
    """Writes to standard error. False: it is closed or full, or nothing reads it."""
    stream = sys.stderr
    try:
        stream.flush()
        output.write_whole(stream.buffer, [text.encode(stream.encoding, stream.errors or "strict")])
    except (OSError, AttributeError):
        return False
    return True


def coloured(stream: TextIO | None) -> bool:
    """Whether to write colors: only on a terminal, and unless NO_COLOR is set (no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream is not None and stream.isatty()


def paint(role: str, text: str) -> str:
    """The text in the color of its role."""
    return f"\x1b[{_COLOURS[role]}m{text}\x1b[0m"
