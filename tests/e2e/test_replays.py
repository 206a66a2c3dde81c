"""bayplan and the schedulers' own code agree, release by release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from bayplan.model.plan import GangPlan, Plan
from bayplan.model.topology import NodeShape
from bayplan.planning.fit.search import answers
from e2e import degenerate, random_cases
from e2e.cases import Regression, examples, regressions
from e2e.compare import Verdict
from e2e.degenerate import Degenerate
from e2e.mutations import noticed
from e2e.random_cases import case
from e2e.releases import BY_NAME, NEWEST, RELEASES, require
from e2e.run import judge
from e2e.scene import RefusedError
from e2e.scheduler import Case, Mutation, Release
from tools.effort import sample

SEEDS = [*random_cases.seeds(0, 120), *random_cases.busy_seeds(0, 60), *random_cases.tight_seeds(0, 60)]
"""The random cases of a full run of the tests. `python -m e2e` runs more."""


def replayed(items: Sequence[Any], names: Sequence[str], every: int = 1) -> pytest.MarkDecorator:
    """Each item at each release; by default one in `every`, and others at each release."""
    pairs = [(r, items[n], names[n]) for i, r in enumerate(RELEASES) for n in sample(range(len(items)), every, i)]
    ids = [f"{release.name}-{name}" for release, _, name in pairs]
    return pytest.mark.parametrize(("release", "each"), [(release, item) for release, item, _ in pairs], ids=ids)


@pytest.fixture(autouse=True)
def _built(release: Release) -> None:
    require(release)


@replayed(examples(), [each.name for each in examples()], every=6)
def test_examples(each: Case, release: Release) -> None:
    _agrees(each, release)


@replayed(SEEDS, list(map(str, SEEDS)), every=24)
def test_random_cases(each: int, release: Release) -> None:
    _agrees(case(each), release)


def _agrees(each: Case, release: Release) -> None:
    try:
        verdicts = judge(each, release)
    except RefusedError:  # bayplan renders nothing for this scheduler
        return
    assert all(verdict.agrees for verdict in verdicts), verdicts


HAND = [(release, each) for release in RELEASES for each in degenerate.CASES if release.name in each.placed]


@pytest.mark.parametrize(("release", "each"), sample(HAND, 3), ids=lambda each: getattr(each, "name", None))
def test_constraints_by_hand(each: Degenerate, release: Release) -> None:
    assert degenerate.places(each, release) == each.placed[release.name]


KEPT = [(release, each) for release in RELEASES for each in regressions() if release.name in each.outcomes]


@pytest.mark.parametrize(("release", "each"), KEPT, ids=lambda each: getattr(each, "name", None))
def test_what_once_differed(each: Regression, release: Release) -> None:
    assert tuple(verdict.outcome for verdict in judge(each.case, release)) == each.outcomes[release.name]


NEWEST_RELEASES = [BY_NAME[name] for name in NEWEST]
WRONG = [(release, each) for release in NEWEST_RELEASES for each in release.scheduler.mutations]


@pytest.mark.parametrize(("release", "each"), WRONG, ids=lambda each: each.name)
def test_wrong_manifests_are_noticed(each: Mutation, release: Release) -> None:
    assert noticed(each, release)


@pytest.mark.parametrize("release", NEWEST_RELEASES, ids=lambda each: each.name)
def test_a_proof_that_is_too_generous_is_noticed(release: Release) -> None:
    """A planner for which each node has one more GPU: pods that are pinned to its nodes do not start."""
    verdicts = (verdict for seed in release.scheduler.seeds for verdict in _verdicts(seed, release))
    assert "false" in (verdict.outcome for verdict in verdicts)


def _verdicts(seed: int, release: Release) -> list[Verdict]:
    try:
        return judge(case(seed), release, planner=_generous)
    except RefusedError:
        return []


def _generous(plan: Plan) -> Iterable[tuple[tuple[GangPlan, ...], object]]:
    """The proof for nodes with one more GPU each."""
    pools = tuple(pool._replace(node=_larger(pool.node)) for pool in plan.topology.pools)
    return answers(plan._replace(topology=plan.topology._replace(pools=pools)))


def _larger(node: NodeShape) -> NodeShape:
    return node._replace(accelerators=node.accelerators + 1) if node.accelerators else node
