"""Places in a template, as far as Jinja tells them: lines."""

from __future__ import annotations

import re

from bayplan.diagnostics import AT, Route
from bayplan.workflows.osmo.text.sections import Section


def head(section: Section, subject: str) -> Route:
    """The key of a section."""
    return (subject, AT, section.line, 1, section.line, len(section.key) + 1)


def place(text: str, line: int, subject: str, name: str = "") -> Route | None:
    """The name in a line of the template, else the first thing there that is Jinja's, else all of the line."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    source = lines[line - 1]
    extent = _named(source, name) or _extent(source, r"{[{%#].*?(?:[%#}]}|$)") or _extent(source, r"\S(?:.*\S)?")
    first, last = extent or (1, 2)
    return (subject, AT, line, first, line, last)


def _named(source: str, name: str) -> tuple[int, int] | None:
    """A name in what is Jinja's of a line; of an expression of several lines, anywhere in it. `.name`: a part."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)" if name[:1] != "." else rf"{re.escape(name)}(?!\w)")
    parts = [part.span() for part in re.finditer(r"{[{%].*?(?:[%}]}|$)", source)] or [(0, len(source))]
    found = (pattern.search(source, start, end) for start, end in parts if name)
    return next(((each.start() + 1, each.end() + 1) for each in found if each), None)


def _extent(source: str, pattern: str) -> tuple[int, int] | None:
    found = re.search(pattern, source)
    return (found.start() + 1, found.end() + 1) if found else None
