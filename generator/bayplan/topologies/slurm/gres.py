"""`Gres=gpu:gb200:4(S:0-1),nic:2`: the GPUs of a Slurm node (Slurm 25.11, `src/interfaces/gres.c`)."""

from __future__ import annotations

import re
from functools import cache

from bayplan.core.diagnostics import Diagnostic, Route, error, warning

_COUNT = re.compile(r"([0-9]{1,9})([KkMmGgTtPp]?)")
MOST = 1024


def cards(text: str, route: Route, found: list[Diagnostic]) -> tuple[str, int]:
    """Type and number of the GPUs in a list of generic resources; a type may be unsaid."""
    made, faults = _cards(text)
    found += (error("T560", route, message, hint="write it like gpu:gb200:4") for message in faults)
    if len(made) > 1:
        said = " and ".join(f"{count} {kind or 'others'}" for kind, count in made)
        message = f"the nodes have {said}: a pool has one kind of GPU, so they are counted together"
        found.append(warning("T553", route, message, hint="describe such nodes by hand"))
    return made[0][0] if len(made) == 1 else "gpu" if made else "", sum(count for _, count in made)


@cache
def _cards(text: str) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """Number of GPUs by type, and what is wrong."""
    kinds: dict[str, int] = {}
    faults: list[str] = []
    for each in re.sub(r"\([^)]*\)", "", text).split(","):
        name, *parts = each.strip().split(":")
        if name.lower() == "gpu":
            kind, count = _read([part for part in parts if part.lower() != "no_consume"])
            if count is None or count > MOST:
                faults.append(f'"{each.strip()[:60]}" is no number of GPUs of a node')
            kinds[kind] = kinds.get(kind, 0) + (count or 0)
    return tuple((kind, count) for kind, count in kinds.items() if count), tuple(faults)


def _read(parts: list[str]) -> tuple[str, int | None]:
    """`gb200:4`, `4`, `gb200` or nothing; what names no number is one."""
    last = _COUNT.fullmatch(parts[-1]) if parts else None
    if not last:
        return (parts[0] if parts else ""), (1 if len(parts) < 2 else None)
    count = int(last[1]) * 1024 ** " kmgtp".find(last[2].lower() or " ")
    return (parts[0] if len(parts) > 1 else ""), count if len(parts) < 3 else None
