"""Policies and annotations: which workloads that others wrote are placed, and how."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "A940": "an unknown annotation",
    "A941": "an annotation's value in the wrong form",
    "A942": "groups that nobody can tell apart",
    "A943": "a rule that matches nothing",
    "A944": "a later rule that matches too",
    "A945": "a hook is to be placed",
    "A946": "a group of no podSet",
    "A947": "two groups of one name",
    "A948": "an annotation in the wrong place",
}
"""Code -> what it is about."""
