"""Kubernetes quantities as exact integers, in thousandths of their unit (apimachinery pkg/api/resource/quantity.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

BINARY: Mapping[str, int] = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
DECIMAL: Mapping[str, int] = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
SMALL: Mapping[str, int] = {"n": -9, "u": -6, "m": -3}
LARGEST = (2**63 - 1) * 1000
"""Kubernetes reduces larger amounts to 2^63-1; bayplan refuses them."""


def whole(text: str, digits: int) -> int:
    """The integer that at most so many ASCII digits write; 0 for any other string."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else 0


def parse(text: str) -> int:
    """`"1.5"` -> 1500, `"64Gi"` -> 64 * 2**30 * 1000, `"1e3"` -> 1000000.

    Amounts below a thousandth are rounded up, away from zero, as Kubernetes does. ValueError for anything else.
    """
    number = text[1:] if text[:1] in ("+", "-") else text
    digits = number.lstrip("0123456789")
    whole = number[: len(number) - len(digits)]
    fraction = ""
    if digits.startswith("."):
        suffix = digits[1:].lstrip("0123456789")
        fraction = digits[1 : len(digits) - len(suffix)]
    else:
        suffix = digits
    if not (whole or fraction) or len(text) > 64:
        raise ValueError(f'"{text[:64]}" is not a quantity')
    factor, exponent = _scale(suffix)
    value, exponent = int(whole + fraction) * factor, exponent - len(fraction) + 3
    power: int = 10 ** abs(exponent)
    amount = value * power if exponent >= 0 else -(-value // power)
    if amount > LARGEST:
        raise ValueError(f'"{text}" is too large')
    return -amount if text.startswith("-") else amount


_parsed = lru_cache(100_000)(parse)  # a cluster has few different amounts


def _scale(suffix: str) -> tuple[int, int]:
    """A suffix as a factor and a power of ten."""
    if not suffix:
        return 1, 0
    if suffix in SMALL:
        return 1, SMALL[suffix]
    if suffix in BINARY or suffix in DECIMAL:
        return BINARY.get(suffix) or DECIMAL[suffix], 0
    sign, digits = (suffix[1:2], suffix[2:]) if suffix[1:2] in ("+", "-") else ("", suffix[1:])
    if suffix[0] in "eE" and digits.isascii() and digits.isdigit() and len(digits) < 4:
        return 1, int(f"{sign}{digits}")
    raise ValueError(f'"{suffix}" is not a unit of a quantity')


def show(amount: int) -> str:
    """The shortest usual spelling of an amount in thousandths; `parse(show(n)) == n`."""
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if size % 1000:
        return f"{sign}{size}m"
    whole = size // 1000
    spellings = [str(whole)]
    for suffix, unit in (*BINARY.items(), *DECIMAL.items()):
        if unit > 1024 and whole >= unit and whole % unit == 0:
            spellings.append(f"{whole // unit}{suffix}")
    return sign + min(spellings, key=len)


# What pods request: resource name -> thousandths.

Amounts = Mapping[str, int]


def amounts(texts: Mapping[str, Any]) -> dict[str, int]:
    """Resource name -> thousandths. ValueError for anything that is not a quantity."""
    return {name: _parsed(str(text)) for name, text in texts.items()}


def requested(owner: Mapping[str, Any]) -> dict[str, int]:
    """Requests of a container, or of a whole pod. A limit without a request counts: the API server copies it."""
    resources = owner.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def added(parts: Iterable[Amounts]) -> dict[str, int]:
    """The sums."""
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def of_containers(
    containers: Iterable[Mapping[str, Any]],
    init_containers: Iterable[Mapping[str, Any]],
    asks: Callable[[Mapping[str, Any]], Amounts],
) -> dict[str, int]:
    """What the containers of a pod request together, as the scheduler and the kubelet count it.

    An init container runs beside the sidecars before it (component-helpers 0.37, `AggregateContainerRequests`).
    """
    total, peak, sidecars = added(map(asks, containers)), dict[str, int](), dict[str, int]()
    for container in init_containers:
        running = added((sidecars, asks(container)))
        if container.get("restartPolicy") == "Always":
            sidecars = running
        peak = highest((peak, running))
    return highest((added((total, sidecars)), peak))


def highest(parts: Iterable[Amounts]) -> dict[str, int]:
    """The largest amount of each resource."""
    most: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            most[name] = max(most.get(name, amount), amount)
    return most
