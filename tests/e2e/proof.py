"""`docs/explanation/proof.md`: what the replays came to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from e2e import degenerate
from e2e.campaign import Tally
from e2e.cases import regressions
from e2e.scheduler import ROOT

PATH = ROOT / "docs" / "explanation" / "proof.md"
TEXT = Path(__file__).parent / "proof.md"
"""What stands around the tables."""

COLUMNS = ("placed", "unpreferred", "refused", "known", "may fail", "order")
DISAGREEMENTS = ("false", "missed", "alarm", "found", "broken", "crashed")


def proof(tallies: Sequence[Tally]) -> str:
    """The page."""
    parts = {
        "{random}": table(_random(tallies, "random cases")),
        "{busy}": table(_random([each for each in tallies if each.results["half-busy cases"]], "half-busy cases")),
        "{others}": table(_others(tallies)),
        "{differing}": "\n".join(_differing(tallies)) or "None.",
        "{kept}": table(_kept()),
        "{degenerate}": table(_degenerate()),
        "{mutations}": table(_mutations(tallies)),
    }
    text = TEXT.read_text(encoding="utf-8")
    for mark, each in parts.items():
        text = text.replace(mark, each)
    return text


def page_tables() -> list[str]:
    """The tables that say what is expected, whatever a run finds."""
    return [table(_kept()), table(_degenerate())]


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as Markdown."""
    first, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join((first, "|---" * (first.count("|") - 1) + "|", *rest))


def _random(tallies: Sequence[Tally], kind: str) -> Iterator[Sequence[str]]:
    yield "release", kind, *COLUMNS, *DISAGREEMENTS
    for each in tallies:
        found = each.outcomes(kind)
        numbers = (found[outcome] for outcome in (*COLUMNS, *DISAGREEMENTS))
        yield each.release.name, str(len(each.results[kind])), *map(str, numbers)


def _others(tallies: Sequence[Tally]) -> Iterator[Sequence[str]]:
    kinds = ("examples", "kept cases", "mutations", "constraints by hand", "restarts")
    yield "release", *kinds, "disagreements"
    for each in tallies:
        differing = [one for kind in kinds for one in each.results[kind] if not one.agrees]
        yield each.release.name, *(str(len(each.results[kind])) for kind in kinds), str(len(differing))


def _differing(tallies: Sequence[Tally]) -> Iterator[str]:
    for each in tallies:
        for one in each.differing:
            yield f"- {each.release.name}, `{one.name}`: {', '.join(one.outcomes or ())}"


def _kept() -> Iterator[Sequence[str]]:
    names = degenerate.NAMES
    yield "case", "what it shows", *names
    for each in regressions():
        yield f"`{each.case.name}`", each.why, *(", ".join(each.outcomes.get(name, ())) or "-" for name in names)


def _degenerate() -> Iterator[Sequence[str]]:
    yield "constraint", *degenerate.NAMES
    for each in degenerate.CASES:
        yield each.meaning, *("placed" if each.placed[name] else "not placed" for name in degenerate.NAMES)


def _mutations(tallies: Sequence[Tally]) -> Iterator[Sequence[str]]:
    yield "scheduler", "what is wrong in the manifests"
    found = {each.release.scheduler.name: each.release.scheduler.mutations for each in tallies}
    for name, mutations in found.items():
        yield name, ", ".join(each.name for each in mutations)
