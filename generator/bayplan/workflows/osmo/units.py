"""Amounts, durations, exit codes and names as OSMO 6.4 writes them.

Each function takes a value as it stands in the data and gives None where OSMO would refuse it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

from bayplan.kube import quantity as kube_quantity
from bayplan.workflows.osmo.plain import text

UNITS: Mapping[str, int] = {
    "T": 40,
    "Ti": 40,
    "TiB": 40,
    "G": 30,
    "Gi": 30,
    "GiB": 30,
    "M": 20,
    "Mi": 20,
    "MiB": 20,
    "K": 10,
    "Ki": 10,
    "KiB": 10,
    "B": 0,
    "": 0,
    "m": -10,
}
"""Unit -> power of two in bytes. Decimal units are binary ones too (src/lib/utils/resource_quantities.py)."""

DECIMAL_UNITS = ("T", "G", "M", "K")
"""Units that mean powers of ten to Kubernetes and to most readers."""

_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)([a-zA-Z]*)")

MICRO = 1_000_000

_STEPS: Mapping[str, int] = {
    "d": 86_400 * MICRO,
    "h": 3_600 * MICRO,
    "m": 60 * MICRO,
    "s": MICRO,
    "ms": 1_000,
    "us": 1,
}
"""Unit -> microseconds, the finest that Python's durations hold."""

LONGEST = 10**9 * 86_400 * MICRO
"""Python's durations end below so many microseconds (datetime.timedelta.max)."""

_DURATION = re.compile(r"([0-9]{1,18})(d|h|ms|us|m|s)")

_ISO_8601 = re.compile(r"P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?")

_CODES = re.compile(r"[0-9]{1,9}(-[0-9]{1,9})?")


def k8s_name(name: str) -> str:
    """A name as OSMO compares names: in lower case, with `-` for `_` (src/utils/job/kb_objects.py)."""
    return name.lower().replace("_", "-")


def split_amount(value: Any) -> tuple[Fraction, str] | None:
    """`"1.5Gi"` -> (3/2, "Gi"), `16` -> (16, ""). None for anything that is no amount of memory or storage."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    written = text(value)
    found = _AMOUNT.fullmatch(written) if len(written) <= 64 else None
    return (Fraction(found[1]), found[2]) if found and found[2] in UNITS else None


def quantity(value: Any) -> str | None:
    """A Kubernetes quantity of the same number of bytes, rounded up to whole ones; units are binary.

    `"64Gi"` -> "64Gi", `"1G"` -> "1Gi", `16` -> "16" (bytes). None where it is no amount, or too large for Kubernetes.
    """
    parts = split_amount(value)
    if parts is None:
        return None
    number, unit = parts
    size = number * Fraction(2) ** UNITS[unit]
    thousandths = -(-size.numerator // size.denominator) * 1000
    return kube_quantity.show(thousandths) if thousandths <= kube_quantity.LARGEST else None


def seconds(value: Any) -> int | None:
    """A duration in seconds, rounded up (src/utils/job/workflow.py, src/lib/utils/common.py).

    A number is seconds; a text is a whole number and one of d, h, m, s, ms and us, or an ISO 8601 duration of days,
    hours, minutes and seconds. None for anything else, and for what is below zero or longer than Python can count.
    """
    micros = _duration(value)
    return None if micros is None or not 0 <= micros < LONGEST else -(-micros // MICRO)


def _duration(value: Any) -> int | None:
    """Microseconds."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(Fraction(value) * MICRO) if isinstance(value, int) or isfinite(value) else None
    if not isinstance(value, str):
        return None
    if value.startswith("P"):
        return _iso_8601(value)
    found = _DURATION.fullmatch(value)
    return int(found[1]) * _STEPS[found[2]] if found else None


def _iso_8601(text: str) -> int | None:
    found = _ISO_8601.fullmatch(text[:100])
    if found is None or not any(found.groups()):
        return None
    days, hours, minutes, rest = (Fraction(found[number] or "0") for number in range(1, 5))
    return round((((days * 24 + hours) * 60 + minutes) * 60 + rest) * MICRO)


def exit_codes(codes: Any) -> tuple[tuple[int, int], ...] | None:
    """`"0-10,16"` -> ((0, 10), (16, 16)). None where it is no such list.

    A range that runs backwards, as in `"9-3"`, matches no code and is left out.
    """
    parts = text(codes).split(",")
    if isinstance(codes, bool) or not all(_CODES.fullmatch(part) for part in parts):
        return None
    ranges = tuple((int(part.split("-")[0]), int(part.split("-")[-1])) for part in parts)
    return tuple((first, last) for first, last in ranges if first <= last)
