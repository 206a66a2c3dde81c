"""Quantities: every spelling of Kubernetes, exactly."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.kube.quantity import BINARY, DECIMAL, LARGEST, SMALL, parse, show


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [
        ("0", 0),
        ("4", 4000),
        ("+4", 4000),
        ("-4", -4000),
        ("0.5", 500),
        (".5", 500),
        ("5.", 5000),
        ("1.5", 1500),
        ("500m", 500),
        ("1500m", 1500),
        ("100u", 1),
        ("1n", 1),
        ("-1n", -1),
        ("1000001u", 1001),
        ("1k", 10**6),
        ("1.5k", 1500 * 1000),
        ("1M", 10**9),
        ("2G", 2 * 10**12),
        ("1T", 10**15),
        ("1P", 10**18),
        ("1E", 10**21),
        ("1Ki", 1024 * 1000),
        ("1.5Gi", 3 * 2**29 * 1000),
        ("900Gi", 900 * 2**30 * 1000),
        ("1Ti", 2**40 * 1000),
        ("2Pi", 2**51 * 1000),
        ("1Ei", 2**60 * 1000),
        ("1e3", 10**6),
        ("12E2", 1200 * 1000),
        ("1e+3", 10**6),
        ("1E-2", 10),
        ("1.25e2", 125 * 1000),
        ("1e-6", 1),
        ("0e0", 0),
        (str(2**63 - 1), LARGEST),
    ],
)
def test_spellings(text: str, thousandths: int) -> None:
    assert parse(text) == thousandths


WORDS = "- . +. m Gi 1.5.5 1K 1GB 1GiB 1gi 1_000 0x10 1,5 1e 1e+ 1E1.5 1e99999999 1ki --1 +-1 ١ ½ 1² 1e² inf nan 1mm"
BAD = (*WORDS.split(" "), "", " 1", "1\n", "1 Gi", "1e30", "9" * 65, "9223372036854775808", "10Ei", "1Kim")


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantity|large"):
        parse(text)


SUFFIXES = {**BINARY, **DECIMAL, **{name: Decimal(10) ** power for name, power in SMALL.items()}, "": 1}


@given(
    st.decimals(min_value=0, max_value=10**6, allow_nan=False, places=4).map(lambda d: format(d, "f")),
    st.sampled_from(sorted(SUFFIXES)),
)
def test_parsing_agrees_with_decimals(number: str, suffix: str) -> None:
    exact = Decimal(number) * Decimal(SUFFIXES[suffix]) * 1000
    if exact <= LARGEST:
        assert parse(number + suffix) == int(exact.to_integral_value(ROUND_UP))


@given(st.integers(min_value=-LARGEST, max_value=LARGEST))
def test_shown_amounts_are_read_back(amount: int) -> None:
    assert parse(show(amount)) == amount


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (500, "500m"),
        (140_000, "140"),
        (1_024_000, "1024"),
        (900 * 2**30 * 1000, "900Gi"),
        (10**9, "1M"),
        (-4000, "-4"),
        (1_048_577_000, "1048577"),
    ],
)
def test_the_usual_spelling(amount: int, text: str) -> None:
    assert show(amount) == text
