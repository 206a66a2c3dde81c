"""bayplan and KAI's own scheduling code agree, release by release."""

from __future__ import annotations

import os
import shutil

import pytest

from e2e import degenerate
from e2e.cases import Regression, examples, regressions
from e2e.degenerate import Degenerate
from e2e.random_cases import case
from e2e.releases import RELEASES, Release
from e2e.run import judge
from e2e.scene import Case
from e2e.spoiled import SPOILED, Spoiled

FIXED = 60
"""Random cases that each run of the tests repeats. `python -m e2e` runs more."""

releases = pytest.mark.parametrize("release", RELEASES, ids=[each.version for each in RELEASES])


@pytest.fixture(autouse=True)
def _built(release: Release) -> None:
    missing = release.missing()
    if missing and os.environ.get("CI") == "true" and shutil.which("go"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)


@releases
@pytest.mark.parametrize("example", examples(), ids=[each.name for each in examples()])
def test_examples_are_placed(example: Case, release: Release) -> None:
    assert {each.outcome for each in judge(example, release)} == {"placed"}


@releases
@pytest.mark.parametrize("each", degenerate.CASES, ids=[each.meaning for each in degenerate.CASES])
def test_degenerate_constraints(each: Degenerate, release: Release) -> None:
    assert degenerate.places(each, release) == degenerate.expected(each, release)


@releases
@pytest.mark.parametrize("spoiled", SPOILED, ids=[each.name for each in SPOILED])
def test_wrong_manifests_are_noticed(spoiled: Spoiled, release: Release) -> None:
    assert {each.outcome for each in judge(spoiled.case, release)} == {spoiled.right}
    assert {each.outcome for each in judge(spoiled.case, release, spoiled.change)} == {spoiled.wrong}


@releases
@pytest.mark.parametrize("each", regressions(), ids=[each.case.name for each in regressions()])
def test_what_once_differed(each: Regression, release: Release) -> None:
    assert [verdict.outcome for verdict in judge(each.case, release)] == list(each.outcomes[RELEASES.index(release)])


@releases
@pytest.mark.parametrize("seed", range(FIXED))
def test_random_cases(seed: int, release: Release) -> None:
    verdicts = judge(case(seed), release)
    assert all(verdict.agrees for verdict in verdicts), verdicts
