"""The table of report formats, and the line that sums up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import join, normpath, relpath
from typing import Any, NamedTuple

from bayplan import __version__
from bayplan.core.diagnostics import SEVERITIES
from bayplan.report.codes import sections, title
from bayplan.report.findings import Finding, Paint, Place, escape, plain, text_lines, where


class Repository(NamedTuple):
    """Where GitHub, SARIF and GitLab have their paths from. `root`: the absolute folder of the repository.

    `folder`: the current folder in it. `file`: for findings that are about no file.
    """

    root: str = ""
    folder: str = ""
    file: str = "bayplan.yaml"


ANYWHERE = Repository()


def render(findings: Sequence[Finding], form: str, paint: Paint = plain, where: Repository = ANYWHERE) -> str:
    """The report in one of FORMATS. `text` and `github` are empty without findings; `paint` colours text only."""
    if form == "text":
        return "".join(f"{line}\n" for finding in findings for line in text_lines(finding, paint))
    if form == "json":
        return json_report(findings)
    return {"github": github, "sarif": sarif, "gitlab": gitlab}[form](findings, where)


def summary(findings: Sequence[Finding]) -> str:
    """`1 error, 2 warnings`; empty when nothing was found."""
    counts = [(sum(each.severity == severity for each in findings), severity) for severity in SEVERITIES]
    return ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)


# Findings as programs read them: json (our own, stable), GitHub's commands, SARIF 2.1.0, GitLab's Code Quality.

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
"""Severity -> SARIF level; GitHub's word for the last is `notice`."""

LONGEST = 1000
"""Characters of a source line in a fingerprint."""

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


def github(findings: Sequence[Finding], where: Repository) -> str:
    """`::error file=...,line=...::message`, one line a finding (actions/toolkit, core/src/command.ts)."""
    return "".join(_github_line(finding, where) for finding in findings)


def _github_line(finding: Finding, where: Repository) -> str:
    command = {"error": "error", "warning": "warning", "info": "notice"}[finding.severity]
    fields = {**_github_place(finding.place, where), "title": f"{finding.code} {title(finding.code)}"}
    shown = ",".join(f"{name}={escape(str(value)).translate(_ESCAPED_PROPERTY)}" for name, value in fields.items())
    return f"::{command} {shown}::{_with_notes(finding).translate(_ESCAPED_DATA)}\n"


def _github_place(place: Place | None, where: Repository) -> dict[str, str | int]:
    if place is None:
        return {}
    file = {"file": _from_root(place.file, where)}
    if not place.line:
        return {**file}
    lines = {"line": place.line, "endLine": place.end_line}
    columns = {"col": place.column, "endColumn": place.end_column} if place.line == place.end_line else {}
    return {**file, **lines, **columns}


def _with_notes(finding: Finding) -> str:
    """The message with its notes and hint, a line each."""
    notes = [
        f"note: {where(note.place)}: {note.message}" if note.place else f"note: {note.message}"
        for note in finding.notes
    ]
    lines = "\n".join([finding.message, *notes, *([f"hint: {finding.hint}"] if finding.hint else [])])
    return "\n".join(map(escape, lines.split("\n")))


def sarif(findings: Sequence[Finding], where: Repository) -> str:
    """A SARIF 2.1.0 log of one run, with all properties that GitHub's code scanning requires.

    Source: GitHub, "SARIF support for code scanning".
    """
    codes = sorted({each.code for each in findings})
    driver = {"name": "bayplan", "version": __version__, "rules": [_sarif_rule(code) for code in codes]}
    results = [_sarif_result(each, codes.index(each.code), where) for each in findings]
    lines = [each.place.source[:LONGEST].strip() if each.place else "" for each in findings]
    keys = _fingerprints(
        (result["ruleId"], _sarif_uri(result), line or result["message"]["text"])
        for result, line in zip(results, lines, strict=True)
    )
    for result, key in zip(results, keys, strict=True):
        result["partialFingerprints"] = {"primaryLocationLineHash": key}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return _dump({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _fingerprints(results: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A fingerprint of each result. It has no line number, so that alerts follow a line that moves."""
    from hashlib import sha256

    counts: dict[str, int] = {}
    for texts in results:
        key = sha256("\0".join(texts).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        counts[key] = counts.get(key, 0) + 1
        yield f"{key}:{counts[key]}"


def _sarif_uri(result: Mapping[str, Any]) -> str:
    return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])


def _sarif_rule(code: str) -> dict[str, Any]:
    """A rule with the section of its code as help. GitHub shows no relative links, and at most 1024 characters."""
    section = sections()[code]
    markdown = re.sub(r"\[([^][]*)\]\([^()]*\)", r"\1", section.text)
    text = " ".join(markdown.split())
    return {
        "id": code,
        "shortDescription": {"text": section.title},
        "fullDescription": {"text": text[:1024]},
        "help": {"text": text, "markdown": markdown},
    }


def _sarif_result(finding: Finding, rule: int, where: Repository) -> dict[str, Any]:
    placed = [(note.message, note.place) for note in finding.notes if note.place]
    unplaced = [f"note: {note.message}" for note in finding.notes if not note.place]
    text = "\n".join([finding.message, *unplaced, *([f"hint: {finding.hint}"] if finding.hint else [])])
    related = [
        {"id": number, "message": {"text": message}, **_sarif_place(place, where)}
        for number, (message, place) in enumerate(placed)
    ]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_sarif_place(finding.place or Place(where.file), where)],
        **({"relatedLocations": related} if related else {}),
    }


def _sarif_place(place: Place, where: Repository) -> Mapping[str, Any]:
    """A location. The region of a whole file is its beginning."""
    numbers = place[1:5] if place.line else (1, 1, 1, 1)
    region = dict(zip(("startLine", "startColumn", "endLine", "endColumn"), numbers, strict=True))
    return {"physicalLocation": {"artifactLocation": {"uri": uri(_from_root(place.file, where))}, "region": region}}


def _from_root(file: str, where: Repository) -> str:
    """The path of a file from the root of the repository. A file outside of it stays as it is."""
    whole = normpath(join(where.root, where.folder, file))
    if not where.root or file.startswith("<") or not whole.startswith(join(where.root, "")):
        return file
    return relpath(whole, where.root)


def uri(file: str) -> str:
    """A file name as a relative or absolute URI reference (RFC 3986): what is not unreserved is percent-encoded."""
    raw = file.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _URI else f"%{byte:02X}" for byte in raw)


GITLAB = {"error": "major", "warning": "minor", "info": "info"}
"""Severity -> severity of GitLab."""


def gitlab(findings: Sequence[Finding], where: Repository) -> str:
    """A report of GitLab's Code Quality: a list, in which each finding has a fingerprint of its own.

    Source: GitLab 18, doc/ci/testing/code_quality.md, "Code Quality report format". It shows no notes, so that the
    description has them.
    """
    places = [each.place or Place(where.file) for each in findings]
    files = [_from_root(place.file, where) for place in places]
    lines = [place.source[:LONGEST].strip() for place in places]
    keys = _fingerprints(
        (each.code, file, line or each.message) for each, file, line in zip(findings, files, lines, strict=True)
    )
    return _dump(
        [
            {
                "description": f"{each.code}: {_with_notes(each)}",
                "check_name": each.code,
                "fingerprint": key,
                "severity": GITLAB[each.severity],
                "location": {"path": file, "lines": {"begin": place.line or 1}},
            }
            for each, place, file, key in zip(findings, places, files, keys, strict=True)
        ]
    )
