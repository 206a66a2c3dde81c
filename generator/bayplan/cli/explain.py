"""`bayplan explain`: the section of a diagnostic's code, or what a field of a format means."""

from __future__ import annotations

from bayplan.cli import fields, stdout
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.diagnostics import Diagnostic, error
from bayplan.report.batch import Batch
from bayplan.report.codes import sections
from bayplan.words import did_you_mean


def run(given: Given) -> int:
    """Prints the text, or guesses what was meant."""
    asked = given.words[0]
    code = asked.upper()
    text = section(code) if code in sections() else fields.explain(asked)
    if text is None:
        return finish(given, [Batch((_unknown(asked),))])
    return finish(given, (), lambda: stdout.write([text]))


def section(code: str) -> str:
    """The code, its title and its text."""
    title, text = sections()[code]
    return f"{code}: {title}\n\n{text}\n"


def _unknown(asked: str) -> Diagnostic:
    message = f'"{asked}" is neither the code of a diagnostic nor a field of a format'
    guess = did_you_mean(asked, sections()) or did_you_mean(asked, fields.names())
    hint = guess or did_you_mean(asked.rpartition(".")[2], fields.last_names())
    return error("A928", ("argument", "CODE|FIELD"), message, hint=hint or "write fields like spec.gangs.placement")
