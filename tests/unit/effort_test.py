"""By default a property tries a share of its examples, and a share of the seeds is drawn."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tools.effort import LONG, seeds

TRIED: list[int] = []


@settings(max_examples=80)
@given(st.integers(0, 10**9))
def test_a_property(number: int) -> None:
    TRIED.append(number)


def test_its_share() -> None:
    TRIED.clear()
    test_a_property()
    assert len(TRIED) == (80 if LONG else 6)


def test_seeds() -> None:
    assert [len(seeds(each)) for each in (400, 40, 4)] == ([400, 40, 4] if LONG else [20, 6, 4])
