"""`bayplan explain`: the section of a diagnostic's code, or what a field of a format means."""

from __future__ import annotations

import os

from bayplan.cli import fields, stdout
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.codes import CODES
from bayplan.data import data_path, data_text
from bayplan.diagnostics import Diagnostic, error
from bayplan.report.batch import Batch
from bayplan.words import did_you_mean


def run(given: Given) -> int:
    """Prints the text, or guesses what was meant."""
    asked = given.words[0]
    text = section(asked.upper()) if asked.upper() in CODES else fields.explain(asked)
    if text is None:
        return finish(given, [Batch((_unknown(asked),))])
    return finish(given, (), lambda: stdout.write([text]))


def section(code: str) -> str:
    """The code's section of docs/diagnostics, which has one or more pages a letter."""
    pages = sorted(name for name in os.listdir(data_path("docs", "diagnostics")) if name[0] == code[0].lower())
    page = "".join(data_text("docs", "diagnostics", name) + "\n" for name in pages)
    _, _, rest = page.partition(f"\n## {code}: ")
    title, _, body = rest.partition("\n")
    return f"{code}: {title}\n\n{body.partition(chr(10) + '## ')[0].strip()}\n"


def _unknown(asked: str) -> Diagnostic:
    message = f'"{asked}" is neither the code of a diagnostic nor a field of a format'
    last = asked.rpartition(".")[2]
    hint = did_you_mean(asked, CODES) or did_you_mean(asked, fields.names()) or did_you_mean(last, fields.last_names())
    return error("A928", ("argument", "CODE|FIELD"), message, hint=hint or "write fields like spec.gangs.placement")
