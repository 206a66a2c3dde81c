"""Times, sizes and counts as Slurm writes them (src/common/parse_time.c, src/common/slurm_opt.c). None: it is none."""

from __future__ import annotations

import re

from bayplan.values import NamedTuple

_TIME = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?")
UNITS = {"": 1, "K": 0, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
"""Unit -> mebibytes; K is cut below."""

LARGEST = 10**7
"""Of anything that is counted."""


def seconds(text: str) -> int | None:
    """`90` is minutes; `1:30` minutes and seconds; `2-12` days and hours. 0: no limit."""
    if text.upper() in ("INFINITE", "UNLIMITED", "-1"):
        return 0
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    days, *parts = (None if each is None else int(each) for each in found.groups())
    one, two, three = parts[0] or 0, parts[1], parts[2]
    if days is not None:
        return ((days * 24 + one) * 60 + (two or 0)) * 60 + (three or 0)
    if two is None:
        return one * 60
    return one * 60 + two if three is None else (one * 60 + two) * 60 + three


def mebibytes(text: str) -> int | None:
    """`64G`, `512` (mebibytes), rounded up. 0 is Slurm's word for all of a node."""
    found = re.fullmatch(r"([0-9]{1,12})([KMGTP]?)B?", text.upper())
    if found is None:
        return None
    number = int(found[1])
    return -(-number // 1024) if found[2] == "K" else number * UNITS[found[2]]


def quantity(size: int) -> str:
    """Mebibytes in the words of Kubernetes: `64Gi`, `1500Mi`."""
    return f"{size // 1024}Gi" if size % 1024 == 0 else f"{size}Mi"


def count(text: str, least: int = 1) -> int | None:
    """A whole number; Slurm takes `2k` for 2048 nodes."""
    found = re.fullmatch(r"([0-9]{1,9})([kKmM]?)", text)
    if found is None:
        return None
    number = int(found[1]) * {"": 1, "k": 1024, "m": 1024**2}[found[2].lower()]
    return number if least <= number <= LARGEST else None


def span(text: str) -> tuple[int, int] | None:
    """`4` or `2-4`."""
    low, dash, high = text.partition("-")
    first, last = count(low), count(high if dash else low)
    return (first, last) if first and last and first <= last else None


class Cards(NamedTuple):
    """A number of GPUs, and the type where one is named."""

    number: int
    kind: str = ""


def cards(text: str) -> Cards | None:
    """`8`, `h100:8`, and `h100` for one of them."""
    kind, colon, number = text.rpartition(":")
    if not colon and not text[:1].isdigit():
        kind, number = text, "1"
    many = count(number, 0)
    return Cards(many, kind) if many is not None and "," not in text and ":" not in kind else None


def gres(text: str) -> tuple[Cards | None, list[str]] | None:
    """The GPUs in a list of generic resources, and what else is in it: `gpu:h100:8(S:0),nvme:2`."""
    found: Cards | None = None
    others: list[str] = []
    for part in re.sub(r"\([^()]*\)", "", text).split(","):
        name, _, rest = part.strip().removeprefix("gres/").replace("=", ":").partition(":")
        if name == "gpu":
            found = cards(rest or "1")
            if found is None:
                return None
        elif name and name != "none":
            others.append(name)
    return found, others
