"""Fidelity: kueue."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F650": "two podSets that are no pair for Kueue",
    "F651": "groups that are no slices for Kueue",
    "F652": "nested slices",
    "F653": "nested slices behind a gate",
    "F654": "slices that should share a domain",
    "F655": "bare pods of several podSets",
    "F656": "gangs that are admitted together",
    "F657": "a pool with too many labels or tolerations",
    "F658": "more pools than a queue has flavors",
    "F659": "gangs that do not fit at once",
}
