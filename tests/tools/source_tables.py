"""The table of formats in docs/reference/topology-formats.md: `python tests/tools/refresh_docs.py` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from bayplan.backends import BACKENDS
from bayplan.topologies import SOURCES, WRITTEN

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "topology-formats.md"
HEAD = "| format | `--from` | `--to` | contains | lacks |\n|---|---|---|---|---|\n"


def table() -> str:
    """A row for each format, by title."""
    described = sorted((each for each in SOURCES if each.doc), key=lambda each: each.doc.title.strip("`").lower())
    rows = []
    for each in described:
        to = each.to if each.to in {*WRITTEN, *BACKENDS} else ""
        words = (f"`{word}`" if word else "" for word in (each.reader and each.name, to))
        rows.append(f"| {' | '.join((each.doc.title, *words, each.doc.contains, each.doc.lacks))} |\n")
    return HEAD + "".join(rows).replace("|  |", "| |")


def renewed(text: str) -> str:
    """The page with its table as it is now."""
    return re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: table(), text)
