"""Findings as programs read them: json (our own, stable), GitHub's workflow commands, SARIF 2.1.0."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan import __version__
from bayplan.diagnostics import SEVERITIES
from bayplan.report.codes import title
from bayplan.report.findings import Finding, Place
from bayplan.report.text import escape, where

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
    return "".join(f"{line}\n" for line in _github_lines(findings))


def _github_lines(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        command = {"error": "error", "warning": "warning", "info": "notice"}[finding.severity]
        fields = {**_github_place(finding.place), "title": f"{finding.code} {title(finding.code)}"}
        shown = ",".join(f"{name}={escape(str(value)).translate(_ESCAPED_PROPERTY)}" for name, value in fields.items())
        yield f"::{command} {shown}::{_with_notes(finding).translate(_ESCAPED_DATA)}"


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
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    location = {"artifactLocation": {"uri": uri(place.file)}, **({"region": region} if place.line else {})}
    return {"physicalLocation": location}


def uri(file: str) -> str:
    """A file name as a relative or absolute URI reference (RFC 3986): what is not unreserved is percent-encoded."""
    raw = file.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _URI else f"%{byte:02X}" for byte in raw)
