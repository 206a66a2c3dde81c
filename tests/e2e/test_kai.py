"""bayplan and KAI's own scheduling code agree, release by release."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import Any

import pytest

from e2e import degenerate
from e2e.cases import Regression, examples, regressions
from e2e.degenerate import Degenerate
from e2e.random_cases import case
from e2e.releases import RELEASES, Release
from e2e.run import judge
from e2e.scene import Case
from e2e.spoiled import SPOILED, Spoiled
from tools.effort import sample

FIXED = range(60)
"""Seeds of the random cases that a full run of the tests repeats. `python -m e2e` runs more."""


def replayed(items: Sequence[Any], names: Sequence[str], every: int = 1) -> pytest.MarkDecorator:
    """Each item at each release; by default one in `every`, and others at each release."""
    numbers = [(n, item) for n in range(len(RELEASES)) for item in sample(range(len(items)), every, n)]
    ids = [f"{RELEASES[n].version}-{names[item]}" for n, item in numbers]
    return pytest.mark.parametrize(("release", "each"), [(RELEASES[n], items[item]) for n, item in numbers], ids=ids)


@pytest.fixture(autouse=True)
def _built(release: Release) -> None:
    missing = release.missing()
    if missing and os.environ.get("CI") == "true" and shutil.which("go"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)


@replayed(examples(), [each.name for each in examples()], every=4)
def test_examples_are_placed(each: Case, release: Release) -> None:
    assert {verdict.outcome for verdict in judge(each, release)} == {"placed"}


@replayed(degenerate.CASES, [each.meaning for each in degenerate.CASES], every=2)
def test_degenerate_constraints(each: Degenerate, release: Release) -> None:
    assert degenerate.places(each, release) == degenerate.expected(each, release)


@replayed(SPOILED, [each.name for each in SPOILED])
def test_wrong_manifests_are_noticed(each: Spoiled, release: Release) -> None:
    assert {verdict.outcome for verdict in judge(each.case, release)} == {each.right}
    assert {verdict.outcome for verdict in judge(each.case, release, each.change)} == {each.wrong}


@replayed(regressions(), [each.case.name for each in regressions()])
def test_what_once_differed(each: Regression, release: Release) -> None:
    assert [verdict.outcome for verdict in judge(each.case, release)] == list(each.outcomes[RELEASES.index(release)])


@replayed(FIXED, list(map(str, FIXED)), every=8)
def test_random_cases(each: int, release: Release) -> None:
    verdicts = judge(case(each), release)
    assert all(verdict.agrees for verdict in verdicts), verdicts
