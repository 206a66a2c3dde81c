"""What bash starts for a script is what the imported workflow starts, or bayplan refuses the script with its line."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import random_scripts
from bayplan.plugins.slurm.sbatch.expansion import _matched_end, _replace
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


def test_patterns_cut_and_replace_what_bash_does() -> None:
    """They take one pass over the text, for suffixes over the reversed text."""
    numbers = random.Random(1)
    script, found = "", []
    for number in range(400):
        text = "".join(numbers.choices("aab-", k=number % 8))
        pattern = "".join(numbers.choices(["a", "b", "*", "*", "?", "[ab]", "[!a]"], k=1 + number % 5))
        for form in ("#", "##", "%", "%%"):
            start, end = _matched_end(pattern, text, form[0], shortest=len(form) == 1) or (0, 0)
            found.append(text[:start] + text[end:])
            script += f"x='{text}'; echo \"${{x{form}{pattern}}}\"\n"
        for form in ("/", "//"):
            found.append(_replace(pattern, text, "R", once=form == "/"))
            script += f'echo "${{x{form}{pattern}/R}}"\n'
    done = subprocess.run(["bash"], input=script, capture_output=True, text=True, check=True)
    assert found == done.stdout.removesuffix("\n").split("\n")
