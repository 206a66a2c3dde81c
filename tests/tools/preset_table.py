"""The table of presets in docs/reference/node-labels.md: `python tests/tools/refresh_docs.py` writes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from bayplan.topologies.kubernetes_nodes.levels import PRESETS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "node-labels.md"
HEAD = "| preset | labels, coarse to fine | NVLink labels |\n|---|---|---|\n"
MOST = 5


def table() -> str:
    """A row for each preset."""
    rows = []
    for name, tiers in PRESETS.items():
        tree = [tier.label for tier in tiers if not tier.accelerator]
        nvlink = [tier.label for tier in tiers if tier.accelerator]
        rows.append(f"| `{name}` | {_labels(tree)} | {_labels(nvlink)} |\n".replace("|  |", "| |"))
    return HEAD + "".join(rows)


def _labels(labels: Sequence[str]) -> str:
    """The first label, and of the others what follows its prefix."""
    prefix = labels[0].rpartition("/")[0] + "/" if labels else ""
    shown = [f"`{label.removeprefix(prefix) if number else label}`" for number, label in enumerate(labels)]
    return ", ".join(shown) if len(shown) <= MOST else f"{shown[0]} to {shown[-1]}"


def renewed(text: str) -> str:
    """The page with its table as it is now."""
    return re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: table(), text)
