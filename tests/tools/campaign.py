"""How much the campaigns try: a small fixed sample by default, and all of it with BAYPLAN_LONG=1."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")

LONG = os.environ.get("BAYPLAN_LONG") == "1"
"""Whether the long campaigns run."""


def examples(default: int, full: int) -> int:
    """How many examples a random test tries, or how large they are."""
    return full if LONG else default


def sample(items: Sequence[Item], every: int, first: int = 0) -> Sequence[Item]:
    """One in `every` items by default. Callers with another `first` get others."""
    return items if LONG else items[first % every :: every]
