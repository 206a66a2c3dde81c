"""The table of losses in docs/reference/topology-losses.md: `python tests/tools/refresh_docs.py` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

from bayplan.topologies.losses import LOST, Loss

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "topology-losses.md"
START, END = "Every format loses", "\n\n`none`,"


def table() -> str:
    """What all lack, and a row for each format with the rest."""
    common = [loss for loss in LOST["volcano"] if all(loss in losses for losses in LOST.values())]
    told = f"{START}: {_titles(common)}. Each format also loses:\n\n| `--to` | lost |\n|---|---|\n"
    rows = (f"| `{word}` | {_titles([e for e in LOST[word] if e not in common])} |" for word in sorted(LOST))
    return told + "\n".join(rows)


def _titles(losses: list[Loss]) -> str:
    return "; ".join(loss.title for loss in losses)


def renewed(page: str) -> str:
    """The page with the table as it is now."""
    return re.sub(re.escape(START) + r"[\s\S]*?(?=" + re.escape(END) + ")", lambda _: table(), page)
