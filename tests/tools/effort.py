"""How hard the tests try: a share by default, everything with `BAYPLAN_LONG=1`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest

Item = TypeVar("Item")

LONG = os.environ.get("BAYPLAN_LONG") == "1"
"""Whether the long campaigns run as well: every example of every property, and every random case."""

SHARE = 20
"""By default one in so many random cases runs."""

FEWEST = 6

SPARSER = 4
"""A sample of a list has one in so many of the items that the test names."""


thorough = pytest.mark.skipif(not LONG, reason="takes BAYPLAN_LONG=1")
"""A test whose like runs by default."""


def tries(count: int) -> int:
    """How many of `count` random cases run."""
    return count if LONG else min(count, max(FEWEST, count // SHARE))


def seeds(count: int) -> range:
    """The seeds of the random cases that run."""
    return range(tries(count))


def examples(default: int, full: int) -> int:
    """How many examples a property tries whose share is not `SHARE`, or how large they are."""
    return full if LONG else max(FEWEST, default // 2)


def sample(items: Sequence[Item], every: int, first: int = 0) -> Sequence[Item]:
    """One in `SPARSER` times `every` items by default. Callers with another `first` get others."""
    step = SPARSER * every
    return items if LONG else items[first % step :: step]
