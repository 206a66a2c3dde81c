"""The table of report formats, and the line that sums up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bayplan import __version__
from bayplan.core.diagnostics import SEVERITIES
from bayplan.report.codes import title
from bayplan.report.findings import Finding, Place

# Findings as people read them: place, message, the line of the file with what is meant underlined, notes, a hint.

Paint = Callable[[str, str], str]
"""(role, text) -> text. Roles: error warning info (severities), place, gutter, label."""

WIDEST = 120
"""Characters of a source line that are shown, around the place that is meant."""

BEFORE = 40
"""Characters before that place, where a line must be cut."""


def plain(role: str, text: str) -> str:
    """No colours."""
    return text


def _lines(finding: Finding, paint: Paint) -> Iterator[str]:
    label = paint(finding.severity, f"{finding.severity}[{finding.code}]:")
    yield f"{paint('place', where(finding.place, 'bayplan'))}: {label} {escape(finding.message)}"
    if finding.place and finding.place.source.strip():
        source, underline = excerpt(finding.place)
        yield paint("gutter", f"{finding.place.line:>5} | ") + source
        yield paint("gutter", f"{'':>5} | ") + paint(finding.severity, underline)
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


def render(findings: Sequence[Finding], form: str, paint: Paint = plain) -> str:
    """The report in one of FORMATS. `text` and `github` are empty without findings; `paint` colours text only."""
    if form == "text":
        return "".join(f"{line}\n" for finding in findings for line in _lines(finding, paint))
    return {"json": json_report, "github": github, "sarif": sarif}[form](findings)


def summary(findings: Sequence[Finding]) -> str:
    """`1 error, 2 warnings`; empty when nothing was found."""
    counts = [(sum(each.severity == severity for each in findings), severity) for severity in SEVERITIES]
    return ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)


# Findings as programs read them: json (our own, stable), GitHub's workflow commands, SARIF 2.1.0.

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
"""Severity -> SARIF level; GitHub's word for the last is `notice`."""

_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_ESCAPED_DATA = str.maketrans(_DATA)
_ESCAPED_PROPERTY = str.maketrans({**_DATA, ":": "%3A", ",": "%2C"})
_URI = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def json_report(findings: Sequence[Finding]) -> str:
    """One object: `diagnostics` in order, and `summary` with a count for each severity."""
    counts = {f"{severity}s": sum(each.severity == severity for each in findings) for severity in SEVERITIES}
    return _dump({"diagnostics": [_json_finding(each) for each in findings], "summary": counts})


def _dump(value: Any) -> str:
    import json

    return json.dumps(value, indent=2) + "\n"


def _json_finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "title": title(finding.code),
        "severity": finding.severity,
        "message": finding.message,
        **_json_place(finding.place),
        "notes": [{"message": note.message, **_json_place(note.place)} for note in finding.notes],
        "hint": finding.hint or None,
    }


def _json_place(place: Place | None) -> dict[str, Any]:
    """All keys always; null where there is no file or no line. Columns count characters, ends are exclusive."""
    line, column, end_line, end_column = place[1:5] if place and place.line else (None,) * 4
    file = place.file if place else None
    return {"file": file, "line": line, "column": column, "endLine": end_line, "endColumn": end_column}


def github(findings: Sequence[Finding]) -> str:
    """`::error file=...,line=...::message`, one line a finding (actions/toolkit, core/src/command.ts)."""
    return "".join(map(_github_line, findings))


def _github_line(finding: Finding) -> str:
    command = {"error": "error", "warning": "warning", "info": "notice"}[finding.severity]
    fields = {**_github_place(finding.place), "title": f"{finding.code} {title(finding.code)}"}
    shown = ",".join(f"{name}={escape(str(value)).translate(_ESCAPED_PROPERTY)}" for name, value in fields.items())
    return f"::{command} {shown}::{_with_notes(finding).translate(_ESCAPED_DATA)}\n"


def _github_place(place: Place | None) -> dict[str, str | int]:
    if place is None:
        return {}
    if not place.line:
        return {"file": place.file}
    lines = {"line": place.line, "endLine": place.end_line}
    columns = {"col": place.column, "endColumn": place.end_column} if place.line == place.end_line else {}
    return {"file": place.file, **lines, **columns}


def _with_notes(finding: Finding) -> str:
    """The message with its notes and hint, a line each."""
    notes = [
        f"note: {where(note.place)}: {note.message}" if note.place else f"note: {note.message}"
        for note in finding.notes
    ]
    lines = "\n".join([finding.message, *notes, *([f"hint: {finding.hint}"] if finding.hint else [])])
    return "\n".join(map(escape, lines.split("\n")))


def sarif(findings: Sequence[Finding]) -> str:
    """A SARIF 2.1.0 log of one run."""
    codes = sorted({each.code for each in findings})
    rules = [{"id": code, "shortDescription": {"text": title(code)}} for code in codes]
    driver = {"name": "bayplan", "version": __version__, "rules": rules}
    results = [_sarif_result(each, codes.index(each.code)) for each in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return _dump({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _sarif_result(finding: Finding, rule: int) -> dict[str, Any]:
    text = f"{finding.message}\nhint: {finding.hint}" if finding.hint else finding.message
    related = [
        {"id": number, "message": {"text": note.message}, **_sarif_place(note.place)}
        for number, note in enumerate(finding.notes)
    ]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": LEVELS[finding.severity],
        "message": {"text": text},
        **({"locations": [_sarif_place(finding.place)]} if finding.place else {}),
        **({"relatedLocations": related} if related else {}),
    }


def _sarif_place(place: Place | None) -> Mapping[str, Any]:
    if place is None:
        return {}
    region = dict(zip(("startLine", "startColumn", "endLine", "endColumn"), place[1:5], strict=True))
    location = {"artifactLocation": {"uri": uri(place.file)}, **({"region": region} if place.line else {})}
    return {"physicalLocation": location}


def uri(file: str) -> str:
    """A file name as a relative or absolute URI reference (RFC 3986): what is not unreserved is percent-encoded."""
    raw = file.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _URI else f"%{byte:02X}" for byte in raw)
