"""Topology exports: what is lost on the way, and what cannot be written."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T580": "what a format cannot hold",
    "T581": "an export of nothing",
    "T582": "labels that others may have set",
}
