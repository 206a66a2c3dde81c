"""The memory of a refused text grows by at most ten times its size.

`python -m tools.memory` prints the growth of all shapes, of 15 MB each.
"""

from __future__ import annotations

import os
import sys

import pytest

from tools import memory
from tools.memory import MORE, SHAPES, TIMES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/self/status")

LONG = bool(os.environ.get("BAYPLAN_LONG"))
SIZE = memory.SIZE if LONG else 4 * memory.MEGABYTE
WORST = (
    "lists of lists",
    "mappings with a key",
    "one key",
    "many keys",
    "anchors",
    "a ResourceList of strings",
)
"""Shapes that took from 30 to 2,000 times their size."""


@pytest.mark.parametrize("name", SHAPES if LONG else WORST)
def test_a_refused_text_needs_little_memory(name: str) -> None:
    grown, refused = memory.growth(SHAPES[name], SIZE)
    assert refused.code == 1, refused.report
    assert grown <= TIMES * SIZE + MORE, f"{grown / SIZE:.1f} times"
