"""Schema: what a document may hold."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "S201": "unknown key",
    "S202": "the wrong type",
    "S203": "not one of the known words",
    "S204": "a key is missing",
    "S205": "out of range",
    "S206": "not in the expected form",
    "S207": "listed twice",
    "S208": "nested too deeply",
    "S209": "too many errors",
    "S210": "against the schema",
}
