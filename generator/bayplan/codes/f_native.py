"""Fidelity: native."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F670": "placed groups that start together",
    "F671": "trees of groups that are too deep",
    "F672": "too many templates in a Workload",
    "F673": "names too long for templates",
    "F674": "work that is never preempted",
    "F675": "minimums of several podSets",
    "F676": "a level whose values repeat",
    "F677": "pods of different size under one level",
    "F678": "levels as objects of their own",
}
