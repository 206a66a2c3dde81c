"""Durations (OSMO 6.4, src/utils/job/workflow.py, src/lib/utils/common.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.words import shorten
from bayplan.workflows.osmo.plain import text
from bayplan.workflows.osmo.rules.places import ROOT, Workflow, entries
from bayplan.workflows.osmo.units import seconds

FORMS = "write seconds as a number, a whole number with d, h, m, s, ms or us (90m), or ISO 8601 (PT1H30M)"


def check_forms(workflow: Workflow) -> Iterator[Diagnostic]:
    """W427: a duration."""
    for value, route in _durations(workflow):
        if seconds(value) is None:
            yield error("W427", route, f"{_shown(value)} is no duration", hint=_hint(value))


def _hint(value: Any) -> str:
    written = text(value).replace(" ", "")
    if re.fullmatch(r"([0-9]+h)?([0-9]+m)?([0-9.]+s)?", written) and seconds(f"PT{written.upper()}"):
        return f'write "PT{written.upper()}"'
    return f'write "{written}s" for seconds, or no quotes' if re.fullmatch(r"[0-9]{1,9}", written) else FORMS


def _shown(value: Any) -> str:
    return f'"{shorten(value)}"' if isinstance(value, str) else f"the number {shorten(text(value))}"


def _durations(workflow: Workflow) -> Iterator[tuple[Any, Route]]:
    yield from ((value, (*ROOT, "timeout", key)) for key, value in workflow.get("timeout", {}).items())
    for entry, route in entries(workflow, "checkpoint"):
        yield entry["frequency"], (*route, "frequency")


def check_zero(workflow: Workflow) -> Iterator[Diagnostic]:
    """W428: a timeout of zero. OSMO takes the pool's default for it."""
    for key, value in workflow.get("timeout", {}).items():
        if seconds(value) == 0:
            message = "a timeout of zero is none: OSMO takes the default of the pool"
            yield warning("W428", (*ROOT, "timeout", key), message, hint="remove it, or say how long")
