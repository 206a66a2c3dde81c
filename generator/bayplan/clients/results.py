"""Findings -> the `results` of a ResourceList, for callers that read them (kpt, `kustomize fn run --results-dir`).

A result has a file and no line: line and column stand among its tags. Source: kyaml/fn/framework/result.go at 5.8.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bayplan.report.findings import Finding


def results(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """One result a finding."""
    return [_result(each) for each in found]


def _result(found: Finding) -> dict[str, Any]:
    place = found.place
    where = {"line": str(place.line), "column": str(place.column)} if place and place.line else {}
    hint = {"hint": found.hint} if found.hint else {}
    return {
        "message": found.message,
        "severity": found.severity,
        **({"file": {"path": place.file}} if place else {}),
        "tags": {"code": found.code, **where, **hint},
    }
