"""The table of report formats, and the line that sums up."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.diagnostics import SEVERITIES
from bayplan.report import text
from bayplan.report.findings import Finding
from bayplan.report.text import Paint, plain


def render(findings: Sequence[Finding], form: str, paint: Paint = plain) -> str:
    """The report in one of FORMATS. `text` and `github` are empty without findings; `paint` colours text only."""
    if form == "text":
        return text.render(findings, paint)
    from bayplan.report import machine

    return {"json": machine.json_report, "github": machine.github, "sarif": machine.sarif}[form](findings)


def summary(findings: Sequence[Finding]) -> str:
    """`1 error, 2 warnings`; empty when nothing was found."""
    counts = [(sum(each.severity == severity for each in findings), severity) for severity in SEVERITIES]
    return ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)
