"""Places in a template, as far as Jinja tells them: lines; and lines of what it wrote."""

from __future__ import annotations

import re

from bayplan.diagnostics import AT, Route
from bayplan.workflows.osmo.text.sections import Section

BREAK = re.compile(r"\r\n?|\n")
"""What ends a line. The file's text has line feeds only, but a template may write the others."""


def head(section: Section, subject: str) -> Route:
    """The key of a section."""
    return (subject, AT, section.line, 1, section.line, len(section.key) + 1)


def place(text: str, line: int, subject: str, name: str = "") -> Route | None:
    """The name in a line of the template, else the only thing there that is Jinja's, else all of the line."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    source = lines[line - 1]
    blank = len(source) - len(source.lstrip())
    first, last = _named(source, name) or _only(source) or (blank + 1, max(len(source.rstrip()), blank + 1) + 1)
    return (subject, AT, line, first, line, last)


def _named(source: str, name: str) -> tuple[int, int] | None:
    """A name in what is Jinja's of a line; of an expression of several lines, anywhere in it. `.name`: a part."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)" if name[:1] != "." else rf"{re.escape(name)}(?!\w)")
    parts = [part.span() for part in re.finditer(r"{[{%].*?(?:[%}]}|$)", source)] or [(0, len(source))]
    found = (pattern.search(source, start, end) for start, end in parts if name)
    return next(((each.start() + 1, each.end() + 1) for each in found if each), None)


def _only(source: str) -> tuple[int, int] | None:
    """The expression, statement or comment of a line with one of them."""
    found = [each.span() for each in re.finditer(r"{[{%#].*?(?:[%#}]}|$)", source)]
    return (found[0][0] + 1, found[0][1] + 1) if len(found) == 1 else None
