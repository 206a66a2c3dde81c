"""How much the campaigns try: a small fixed sample by default, and all of it with BAYPLAN_LONG=1."""

from __future__ import annotations

import os

LONG = os.environ.get("BAYPLAN_LONG") == "1"
"""Whether the long campaigns run."""


def examples(default: int, full: int) -> int:
    """How many examples a random test tries."""
    return full if LONG else default
