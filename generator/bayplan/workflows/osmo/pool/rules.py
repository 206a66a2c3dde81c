"""Resource validations: comparisons of what a task asks for with numbers and with what nodes have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, warning
from bayplan.words import listing
from bayplan.workflows.osmo.pool.library import Library, names
from bayplan.workflows.osmo.pool.shapes import Part
from bayplan.workflows.osmo.pool.values import Rule

OPERATORS = ("GT", "GE", "LT", "LE", "EQ")

ARITHMETIC = re.compile(r"\}\}\s*[-+*/]|[-+*/]\s*\{\{")
"""Arithmetic outside of the braces is text to OSMO, which then compares text with numbers and fails."""


def read(owner: Part, key: str, library: Library) -> tuple[Rule, ...]:
    """The rules that a pool or platform names. W475; W481 for rules that OSMO could not evaluate."""
    parsed = owner.data.get("parsed_resource_validations")
    if parsed and not library.has("resource_validations"):
        parts = [Part(parsed, (*owner.route, "parsed_resource_validations"))]
    else:
        parts = library.entries("resource_validations", names(owner.data, key, owner.route))
    listed = [(each, *_place(part, index)) for part in parts for index, each in enumerate(part.data or ())]
    made = []
    for data, route, in_file in listed:
        wrong = tuple(_wrong(data, route))
        library.found.extend(wrong if in_file else ())
        if not wrong:
            fields = (data["operator"], data["left_operand"], data["right_operand"], data["assert_message"])
            made.append(Rule(*fields, route=route))
    return tuple(made)


def _place(part: Part, index: int) -> tuple[Route, bool]:
    """Where a rule stands; one that the chart brings stands where it is named."""
    borrowed = isinstance(part.route[-1], int)
    return (part.route, False) if borrowed else ((*part.route, index), True)


def _wrong(data: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    if data["operator"] not in OPERATORS:
        message = f'OSMO has no operator "{data["operator"]}", whatever its documentation says; the rule is left out'
        yield warning("W481", (*route, "operator"), message, hint=f"it has {listing(OPERATORS, 'and')}")
    for side in ("left_operand", "right_operand"):
        if ARITHMETIC.search(data[side]):
            message = f'OSMO does not calculate outside of braces, so "{data[side]}" is no number; the rule is left out'
            yield warning("W481", (*route, side), message, hint="calculate within the braces, or give a number")
