"""The table of the annotations that new objects take over, in docs/explanation/gitops.md."""

from __future__ import annotations

from pathlib import Path

from bayplan.kube.life_cycle import LIFE_CYCLE
from tools.docs import filled as filled_in

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "gitops.md"
HEAD = """\
| annotation | what it decides | who reads it |
|---|---|---|
"""


def filled(text: str) -> str:
    """The page with its table as it is now."""
    rows = (f"| `{row.annotation}` | {row.meaning} | {row.source} |" for row in LIFE_CYCLE)
    return filled_in(text, {"life-cycle": HEAD + "\n".join(rows)})
