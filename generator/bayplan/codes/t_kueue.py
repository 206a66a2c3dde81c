"""Topology: kueue."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T460": "Kueue's objects without a Topology",
    "T461": "a Topology or flavor that Kueue refuses",
    "T462": "a flavor of an unknown Topology",
}
