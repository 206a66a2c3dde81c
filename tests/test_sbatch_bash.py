"""What bash starts for a script is what the imported workflow starts, or bayplan refuses the script with its line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import random_scripts
from tools.bash_judge import Judge
from tools.effort import LONG, sample, seeds

SNIPPETS = (Path(__file__).parent / "sbatch_snippets.txt").read_text(encoding="utf-8").rstrip().split("\n\n")
MOST_REFUSED = 66
"""Snippets that bayplan refuses, at most. Most of them use what only a running script knows."""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as made:
        yield made


def test_snippets_start_what_bash_starts(judge: Judge) -> None:
    verdicts = {text: judge.judge(f"{text}\n").result for text in sample(SNIPPETS, 8)}
    assert {text: result for text, result in verdicts.items() if result not in ("equal", "refused")} == {}
    assert not LONG or list(verdicts.values()).count("refused") <= MOST_REFUSED


def test_random_scripts_start_what_bash_starts(judge: Judge) -> None:
    verdicts = {seed: judge.judge(random_scripts.body(seed)).result for seed in (seeds(4000) if LONG else range(40))}
    assert [seed for seed, result in verdicts.items() if result == "different"] == []
