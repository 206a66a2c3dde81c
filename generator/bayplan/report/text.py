"""Findings as people read them: place, message, the line of the file with what is meant underlined, notes, a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bayplan.report.findings import Finding, Place

Paint = Callable[[str, str], str]
"""(role, text) -> text. Roles: error warning info (severities), place, gutter, label."""

WIDEST = 120
"""Characters of a source line that are shown, around the place that is meant."""

BEFORE = 40
"""Characters before that place, where a line must be cut."""


def plain(role: str, text: str) -> str:
    """No colours."""
    return text


def render(findings: Sequence[Finding], paint: Paint = plain) -> str:
    """One block a finding; ends in a newline unless there is nothing to say."""
    return "".join(f"{line}\n" for finding in findings for line in _lines(finding, paint))


def _lines(finding: Finding, paint: Paint) -> Iterator[str]:
    label = paint(finding.severity, f"{finding.severity}[{finding.code}]:")
    yield f"{paint('place', where(finding.place, 'bayplan'))}: {label} {escape(finding.message)}"
    if finding.place and finding.place.source.strip():
        yield from _snippet(finding.place, finding.severity, paint)
    for note in finding.notes:
        place = f"{where(note.place)}: " if note.place else ""
        yield f"  {paint('label', 'note:')} {place}{escape(note.message)}"
    if finding.hint:
        yield f"  {paint('label', 'hint:')} {escape(finding.hint)}"


def where(place: Place | None, nowhere: str = "") -> str:
    """`workflow.yaml:14:17`, or `workflow.yaml` for the file as a whole."""
    if place is None:
        return nowhere
    return f"{escape(place.file)}:{place.line}:{place.column}" if place.line else escape(place.file)


def escape(text: str) -> str:
    """The text without characters that move the cursor or cannot be seen."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _snippet(place: Place, severity: str, paint: Paint) -> Iterator[str]:
    source, underline = excerpt(place)
    yield paint("gutter", f"{place.line:>5} | ") + source
    yield paint("gutter", f"{'':>5} | ") + paint(severity, underline)


def excerpt(place: Place) -> tuple[str, str]:
    """The source line, cut where it is very long, and what underlines the place in it."""
    line, first = place.source, place.column - 1
    last = place.end_column - 1 if place.end_line == place.line else len(line.rstrip())
    start = max(0, first - BEFORE) if len(line) > WIDEST else 0
    end = start + WIDEST
    left, right = "..." if start else "", "..." if end < len(line) else ""
    cells = [_cell(c) for c in line[start:end]]
    pad = len(left) + sum(_width(cell) for cell in cells[: first - start])
    length = sum(_width(cell) for cell in cells[first - start : last - start])
    return f"{left}{''.join(cells)}{right}".rstrip(), " " * pad + "^" + "~" * (length - 1)


def _cell(character: str) -> str:
    """What stands for a character of a source line."""
    if character.isprintable() or character == "\u00a0":
        return character
    return "    " if character == "\t" else "\ufffd"


def _width(cell: str) -> int:
    """Columns of a terminal that a cell takes."""
    if cell.isascii():
        return len(cell)
    from unicodedata import combining, east_asian_width

    return 0 if combining(cell) else 2 if east_asian_width(cell) in "WF" else 1
