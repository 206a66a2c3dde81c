"""`docs/explanation/proof.md`: what the replays came to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from e2e import degenerate
from e2e.campaign import Tally
from e2e.cases import regressions
from e2e.releases import RELEASES, ROOT

PATH = ROOT / "docs" / "explanation" / "proof.md"
TEXT = Path(__file__).parent / "proof.md"
"""What stands around the tables."""


def proof(tallies: Sequence[Tally]) -> str:
    """The page."""
    parts = {
        "{cases}": _table(_cases(tallies)),
        "{random}": _table(_random(tallies)),
        "{kept}": _table(_kept()),
        "{degenerate}": _table(_degenerate()),
    }
    text = TEXT.read_text(encoding="utf-8")
    for mark, table in parts.items():
        text = text.replace(mark, table)
    return text


def page_tables() -> list[str]:
    """The tables that say what is expected, whatever a run finds."""
    return [_table(_kept()), _table(_degenerate())]


def _table(rows: Iterator[Sequence[str]]) -> str:
    first, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join((first, "|---" * (first.count("|") - 1) + "|", *rest))


def _versions() -> list[str]:
    return [f"KAI {each.version}" for each in RELEASES]


def _cases(tallies: Sequence[Tally]) -> Iterator[Sequence[str]]:
    yield "cases replayed", *_versions()
    for kind in tallies[0].cases:
        yield kind, *(str(each.cases[kind]) for each in tallies)
    yield "disagreements", *(str(len(each.differing)) for each in tallies)


def _random(tallies: Sequence[Tally]) -> Iterator[Sequence[str]]:
    yield "sets of gangs in the random cases", *_versions()
    for outcome, meaning in OUTCOMES.items():
        yield meaning, *(str(each.outcomes["random cases"][outcome]) for each in tallies)


OUTCOMES = {
    "placed": "fits, and KAI places all of it in the planned domains",
    "refused": "does not fit, and KAI does not place it",
    "known": "fits, but KAI misses it, as bayplan reports (F690, F691)",
    "order": "fits, and KAI places each part, but not all of them one by one",
    "open": "bayplan cannot decide",
    "missed": "fits, but KAI does not place it",
    "alarm": "bayplan reports that KAI misses it, but KAI places it",
    "found": "does not fit, but KAI places it",
    "broken": "KAI violates the plan",
    "crashed": "the program fails",
}


def _kept() -> Iterator[Sequence[str]]:
    yield "case", "what it shows", *_versions()
    for each in regressions():
        yield f"`{each.case.name}`", each.why, *(", ".join(outcomes) for outcomes in each.outcomes)


def _degenerate() -> Iterator[Sequence[str]]:
    yield "constraint", *_versions()
    for each in degenerate.CASES:
        yield each.meaning, *("placed" if placed else "not placed" for placed in each.placed)
