"""The table of losses in docs/reference/topology-losses.md: `python tests/tools/refresh_docs.py` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

from bayplan.topologies.losses import losses_by_word

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "topology-losses.md"
START, END = "Every format loses", "\n\n`none`,"
EXCEPTIONS = 2
"""How many formats may not lose what most formats do."""


def table() -> str:
    """What all formats lose, what most lose, and a row for each format with the rest."""
    losers: dict[str, set[str]] = {}
    for word, losses in losses_by_word().items():
        for loss in losses:
            losers.setdefault(loss.title, set()).add(word)
    spared: dict[tuple[str, ...], list[str]] = {}
    for title, words in losers.items():
        spared.setdefault(tuple(sorted(losses_by_word().keys() - words)), []).append(title)
    every = "; ".join(spared[()])
    most = {words: titles for words, titles in spared.items() if 0 < len(words) <= EXCEPTIONS}
    also = "".join(f"\n- except {_code(words)}: {'; '.join(titles)}" for words, titles in sorted(most.items()))
    told = {title for words in ((), *most) for title in spared[words]}
    rows = (
        f"\n| `{word}` | {'; '.join(e.title for e in losses_by_word()[word] if e.title not in told)} |"
        for word in sorted(losses_by_word())
    )
    return f"{START}: {every}.\n\nMost formats also lose:\n{also}\n\n| `--to` | also lost |\n|---|---|{''.join(rows)}"


def _code(words: tuple[str, ...]) -> str:
    return " and ".join(f"`{word}`" for word in words)


def renewed(page: str) -> str:
    """The page with the table as it is now."""
    return re.sub(re.escape(START) + r"[\s\S]*?(?=" + re.escape(END) + ")", lambda _: table(), page)
