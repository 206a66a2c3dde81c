"""Amounts, durations, exit codes and names as OSMO 6.4 writes them, and the data in the types that OSMO converts to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

from bayplan.plugin import quantity as kube_quantity

# Each of these functions takes a value of the data, and returns None if OSMO would refuse it.

_POWERS = {"T": 40, "G": 30, "M": 20, "K": 10}
UNITS: Mapping[str, int] = {
    **{f"{unit}{suffix}": power for unit, power in _POWERS.items() for suffix in ("", "i", "iB")},
    "B": 0,
    "": 0,
    "m": -10,
}
"""Unit -> power of two in bytes. OSMO treats decimal units as binary too (src/lib/utils/resource_quantities.py)."""

DECIMAL_UNITS = tuple(_POWERS)
"""Units that mean powers of ten to Kubernetes and to most readers."""

_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)([a-zA-Z]*)")

_LEAST = Fraction(1024, 10_000)
"""OSMO writes a number without a unit in Ki, and cannot read the exponent that a number below 0.0001 has in Python."""

MICRO = 1_000_000

_STEPS: Mapping[str, int] = {"d": 86_400 * MICRO, "h": 3_600 * MICRO, "m": 60 * MICRO, "s": MICRO, "ms": 1_000, "us": 1}
"""Unit -> microseconds, the finest resolution of Python's durations."""

LONGEST = 10**9 * 86_400 * MICRO
"""Python's durations are shorter than this number of microseconds (datetime.timedelta.max)."""

_DURATION = re.compile(r"\s*\+?(\d(?:_?\d){0,17})\s*(d|h|ms|us|m|s)")
"""OSMO reads the number with Python's `int`, which accepts the digits of all scripts."""

_ISO_8601 = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")

_CODES = re.compile(r"\d{1,9}(-\d{1,9})?")


def k8s_name(name: str) -> str:
    """A name as OSMO compares names: in lower case, with `-` for `_` (src/utils/job/kb_objects.py)."""
    return name.lower().replace("_", "-")


def split_amount(value: Any) -> tuple[Fraction, str] | None:
    """`"1.5Gi"` -> (3/2, "Gi"), `16` -> (16, ""). None for anything that is not an amount of memory or storage."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    written = text(value)
    match = _AMOUNT.fullmatch(written) if len(written) <= 64 else None
    if match is None or match[2] not in UNITS:
        return None
    number = Fraction(match[1])
    return None if not match[2] and 0 < number < _LEAST else (number, match[2])


def quantity(value: Any) -> str | None:
    """A Kubernetes quantity of the same number of bytes, rounded up; units are binary.

    `"64Gi"` -> "64Gi", `"1G"` -> "1Gi", `16` -> "16" (bytes). None if it is not an amount, or too large for Kubernetes.
    """
    parts = split_amount(value)
    if parts is None:
        return None
    number, unit = parts
    size = number * Fraction(2) ** UNITS[unit]
    thousandths = -(-size.numerator // size.denominator) * 1000
    return kube_quantity.show(thousandths) if thousandths <= kube_quantity.LARGEST else None


def is_percentage(value: str) -> bool:
    """Whether a cache size is a percentage from 0 to 100. OSMO reads the number with Python's `float`, and omits the
    digits after the point."""
    try:
        return value[-1:] == "%" and 0 <= float(value[:-1]) < 101
    except ValueError:
        return False


def seconds(value: Any) -> int | None:
    """A duration in seconds, rounded up (src/utils/job/workflow.py, src/lib/utils/common.py).

    A number means seconds. A string is an integer with d, h, m, s, ms or us, or an ISO 8601 duration of days, hours,
    minutes and seconds. None for other values, for values below zero, and for durations too long for Python.
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
    match = _DURATION.fullmatch(value)
    return int(match[1]) * _STEPS[match[2]] if match else None


def _iso_8601(text: str) -> int | None:
    match = _ISO_8601.fullmatch(text.removesuffix("\n")[:100])  # `$` in OSMO's pattern also accepts the line break
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, rest = (Fraction(match[number] or "0") for number in range(1, 5))
    return round((((days * 24 + hours) * 60 + minutes) * 60 + rest) * MICRO)


def exit_codes(codes: Any) -> tuple[tuple[int, int], ...] | None:
    """`"0-10,16"` -> ((0, 10), (16, 16)). None if it is not such a list.

    A range with the larger code first, such as `"9-3"`, matches no code. The result omits it.
    """
    parts = text(codes).split(",")
    if isinstance(codes, bool) or not all(_CODES.fullmatch(part) for part in parts):
        return None
    ranges = tuple((int(part.split("-")[0]), int(part.split("-")[-1])) for part in parts)
    return tuple((first, last) for first, last in ranges if first <= last)


# The data in the types that OSMO converts to (pydantic 2.12 with `coerce_numbers_to_str`, OSMO 6.4).
#
# OSMO accepts numbers as strings, words as flags and strings as counts. This module converts them once, so that rules
# and translation see one type per field. It omits keys without a value (null), which mean the same as absent keys.

Make = Callable[[Any], Any]


def plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data that the schema accepted, at the same paths, with strings, bools for flags, and ints for counts."""
    return {"workflow": _fields(WORKFLOW, data["workflow"])}


def text(value: Any) -> str:
    """A scalar as OSMO writes it: 0.5 -> "0.5", True -> "True"."""
    try:
        return value if isinstance(value, str) else str(value)
    except ValueError:  # Python refuses to write integers of more than 4,300 digits in decimal
        return hex(value)


def flag(value: Any) -> bool:
    """True for true, 1 and the words yes, y, on, true and t. The schema has refused values that are not flags."""
    return value.lower() in ("1", "on", "t", "true", "y", "yes") if isinstance(value, str) else bool(value)


def whole(value: Any) -> int:
    """A count: 4, 4.0, "4" or "4.0"."""
    return int(float(value))


def _fields(table: Mapping[str, Make], data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: table[key](value) if key in table else value for key, value in data.items() if value is not None}


def _all_of(make: Make) -> Make:
    return lambda values: [make(value) for value in values]


def _each(make: Make) -> Make:
    return lambda mapping: {key: make(value) for key, value in mapping.items()}


def _record(table: Mapping[str, Make]) -> Make:
    return lambda data: _fields(table, data)


RESOURCE: Mapping[str, Make] = {
    "cpu": whole,
    "gpu": whole,
    "memory": text,
    "storage": text,
    "platform": text,
    "nodesExcluded": _all_of(text),
}


def _absolute(path: Any) -> str:
    """The path of a file. The kubelet mounts a relative path below the root (pkg/volume/util, MakeAbsolutePath)."""
    written = text(path)
    return f"/{written}" if written[:1] not in ("", "/") else written


FILE: Mapping[str, Make] = {"path": _absolute, "contents": text, "base64": flag}
TASK: Mapping[str, Make] = {
    "image": text,
    "command": _all_of(text),
    "args": _all_of(text),
    "lead": flag,
    "environment": _each(text),
    "resource": text,
    "files": _all_of(_record(FILE)),
    "credentials": _each(lambda value: _each(text)(value) if isinstance(value, dict) else text(value)),
    "volumeMounts": _all_of(text),
    "privileged": flag,
    "hostNetwork": flag,
    "exitActions": _each(text),
    "kpis": _all_of(_record({"index": text, "path": text})),
    "cacheSize": text,
    "resources": _record(RESOURCE),
    "backend": text,
}
GROUP: Mapping[str, Make] = {"barrier": flag, "ignoreNonleadStatus": flag, "tasks": _all_of(_record(TASK))}
WORKFLOW: Mapping[str, Make] = {
    "tasks": _all_of(_record(TASK)),
    "groups": _all_of(_record(GROUP)),
    "resources": _each(_record(RESOURCE)),
    "timeout": _record({}),
}
"""Key -> the function that converts its value. Other keys have their type already."""
