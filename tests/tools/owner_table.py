"""The table of what gives a workload to a scheduler, in docs/reference/policy.md."""

from __future__ import annotations

from pathlib import Path

from bayplan.kube.owners import OWNERS, Owner
from tools.docs import filled as filled_in

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "policy.md"
HEAD = """\
| scheduler | `schedulerName` | labels and annotations | fields of the pod | objects that they name |
|---|---|---|---|---|
"""


def filled(text: str) -> str:
    """The page with its table as it is now."""
    return filled_in(text, {"owners": (HEAD + "".join(map(_row, OWNERS.values()))).rstrip("\n")})


def _row(owner: Owner) -> str:
    keys = [f"`{each}*`" if each.endswith("/") else f"`{each}`" for each in owner.keys]
    keys += [f"`{each}`" for each in owner.names if isinstance(each, str)]
    fields = [f"`{each[0]}`" for each in owner.names if isinstance(each, tuple)]
    objects = [f"`{kind}.{group}`" for group, kind in owner.names.values()]
    cells = [owner.title, f"`{owner.scheduler}`" if owner.scheduler else "", *map(", ".join, (keys, fields, objects))]
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |").replace("|  |", "| |")
