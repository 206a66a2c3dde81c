"""The tables of topology sources in docs/: `python tests/tools/source_tables.py` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path

from bayplan.topologies import SOURCES

DOCS = Path(__file__).parents[2] / "docs"
PAGES = tuple(sorted({each.doc.page for each in SOURCES if each.doc}))
HEAD = "| source | `--from` |"


def table(page: str) -> str:
    """A row for each source that the page describes."""
    rows = [(each.name, each.doc) for each in SOURCES if each.doc and each.doc.page == page]
    columns = [("source", [doc.title for _, doc in rows]), ("`--from`", [f"`{name}`" for name, _ in rows])]
    columns += [("what it tells", [doc.tells for _, doc in rows])]
    columns += [("what it lacks", [doc.lacks for _, doc in rows])] if any(doc.lacks for _, doc in rows) else []
    lines = [[name for name, _ in columns], *zip(*(held for _, held in columns), strict=True)]
    made = [f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines]
    return "\n".join((made[0], f"|{'---|' * len(columns)}", *made[1:]))


def renewed(page: str, text: str) -> str:
    """The text of a page with its table as it is now."""
    return re.sub(re.escape(HEAD) + r".*\n(\|.*\n)*", lambda _: table(page) + "\n", text)


if __name__ == "__main__":
    for name in PAGES:
        path = DOCS / f"{name}.md"
        path.write_text(renewed(name, path.read_text(encoding="utf-8")), encoding="utf-8")
