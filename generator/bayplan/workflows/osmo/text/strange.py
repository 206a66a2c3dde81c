"""What a template wrote and no workflow should hold: tokens that Jinja did not see."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.diagnostics import AT, Diagnostic, Note, warning
from bayplan.text.document import SourceMap, Span
from bayplan.workflows.osmo.text.spots import BREAK
from bayplan.workflows.osmo.text.tokens import TOKEN

_MOST = 100
"""Tokens whose places are looked for."""


def in_raw(made: SourceMap, starts: Sequence[int], subject: str) -> tuple[Diagnostic, ...]:
    """R138: OSMO's variable for a token stays a variable in a raw block. `starts`: where these tokens stand."""
    found: dict[Span, str] = {}
    for start in starts[:_MOST]:
        token = TOKEN.match(made.text, start)
        span, remark = made.back(_span(made.text, start, token.end() if token else start + 1))
        found.setdefault(span, remark)
    more = (Note(f"{len(starts) - _MOST} more like it"),) if len(starts) > _MOST else ()
    message = "a runtime token stands in a raw block or a text of Jinja's, where OSMO loses it; here it is kept"
    hint = "take it out of there: tokens need no raw block"
    told = [warning("R138", (subject, AT, *span), message, hint=hint, notes=_notes(found[span])) for span in found]
    return (*told[:-1], *(each._replace(notes=(*each.notes, *more)) for each in told[-1:]))


def _notes(remark: str) -> tuple[Note, ...]:
    return (Note(remark),) if remark else ()


def _span(text: str, start: int, end: int) -> Span:
    """The first line of a piece of text."""
    before = BREAK.split(text[:start])
    line, column = len(before), len(before[-1]) + 1
    return Span(line, column, line, column + len(BREAK.split(text[start:end])[0]))
