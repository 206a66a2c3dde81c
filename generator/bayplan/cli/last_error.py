"""`bayplan last-error`: what post-render said last."""

from __future__ import annotations

from bayplan.cli import keeping, stdout
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.diagnostics import info
from bayplan.report.batch import Batch


def run(given: Given) -> int:
    """Prints what is kept."""
    try:
        with open(keeping.path(), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return finish(given, [Batch((info("O820", (), "no post-render has had anything to say"),))])
    return finish(given, [], lambda: stdout.write([text]))
