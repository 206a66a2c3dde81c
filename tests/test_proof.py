"""`python -m e2e` writes docs/explanation/proof.md. Its tables are those of the suite, and it has no disagreements."""

from __future__ import annotations

import re

import pytest

from e2e import degenerate
from e2e.cases import examples, regressions
from e2e.proof import OUTCOMES, PATH, TEXT, page_tables
from e2e.releases import RELEASES, ROOT
from e2e.spoiled import SPOILED

PAGE = PATH.read_text(encoding="utf-8")


def row(first: str) -> list[int]:
    """The numbers of a row, one a release."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {first} |"))
    return [int(cell) for cell in re.findall(r"\| (\d+) (?=\|)", line)]


def test_it_is_written_around_the_tables() -> None:
    for part in re.split(r"\{\w+\}", TEXT.read_text(encoding="utf-8")):
        assert part in PAGE


def test_enough_random_cases_at_two_releases_or_more() -> None:
    assert len(row("random cases")) == len(RELEASES) >= 2
    assert min(row("random cases")) >= 500


def test_it_is_about_the_cases_of_today() -> None:
    counts = {
        "examples": len(examples()),
        "kept cases": len(regressions()),
        "wrong manifests": len(SPOILED),
        "degenerate constraints": len(degenerate.CASES),
    }
    assert {first: row(first) for first in counts} == {first: [each] * len(RELEASES) for first, each in counts.items()}


@pytest.mark.parametrize("table", page_tables())
def test_tables_that_need_no_run(table: str) -> None:
    assert table in PAGE


@pytest.mark.parametrize("outcome", ["open", "missed", "alarm", "found", "broken", "crashed"])
def test_nothing_disagrees(outcome: str) -> None:
    assert row(OUTCOMES[outcome]) == [0] * len(RELEASES)
    assert row("disagreements") == [0] * len(RELEASES)


def test_each_release_is_pinned() -> None:
    """A folder with the tool, the sums of every module, and no place to fetch from."""
    folders = {path.name for path in (ROOT / "tests" / "e2e" / "go").iterdir()}
    assert folders == {f"v{each.version}" for each in RELEASES}
    for folder in folders:
        text = (ROOT / "tests" / "e2e" / "go" / folder / "go.mod").read_text(encoding="utf-8")
        (tool,) = re.findall(r"^tool (\S+)/cmd/snapshot-tool$", text, re.MULTILINE)
        assert f"{tool} {folder} // indirect" in text
        assert f"{tool} {folder} h1:" in (ROOT / "tests" / "e2e" / "go" / folder / "go.sum").read_text(encoding="utf-8")
