"""What runs in a world before a case starts, and what starts again: pods of others, and parts of running gangs."""

from __future__ import annotations

import pytest

from bayplan.backends.kai import prove
from e2e import restart
from e2e.random_cases import case
from e2e.releases import BY_NAME
from e2e.run import judge
from e2e.scene import RefusedError, Scene
from e2e.scheduler import Release, World

BUSY = (200_001, 200_002)
"""Half-busy cases whose pods would go to other nodes if nothing ran there."""

FULL = 200_064
"""One that KAI's estimate misses only because nodes of others are full (F690)."""

OPTIONAL = (100_012, 100_026, 100_035)
"""Random cases with optional groups inside a required level, which KAI 0.17 puts into two of its domains (F604)."""

RESTARTED = (20, 24)
"""Random cases of which a part starts again, and which KAI 0.17 then puts into another domain."""


@pytest.fixture(autouse=True)
def _built(request: pytest.FixtureRequest) -> None:
    release = request.node.callspec.params["release"]
    if release.missing():
        pytest.skip(release.missing())


def at(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("release", [BY_NAME[name] for name in names], ids=lambda each: each.name)


def outcomes(seed: int, release: Release) -> set[str]:
    return {verdict.outcome for verdict in judge(case(seed), release)}


@at("kai 0.17.0", "volcano 1.15.1", "kueue 0.19.2", "native 1.37.0")
@pytest.mark.parametrize("seed", BUSY)
def test_pods_of_others_fill_their_nodes(release: Release, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = outcomes(seed, release)
    monkeypatch.setattr(
        Scene, "world", lambda made, documents, pods: World(made.plan.topology, made.nodes, pods, documents)
    )
    assert busy <= {"placed", "refused"}
    assert not outcomes(seed, release) <= busy


@at("kai 0.17.0")
def test_kai_counts_no_room_where_others_run(release: Release) -> None:
    assert outcomes(FULL, release) == {"known"}
    empty = release.scheduler._replace(known=lambda plan, target: prove(plan._replace(occupied={}), target))
    assert outcomes(FULL, release._replace(scheduler=empty)) == {"may fail"}


@at("kai 0.17.0")
@pytest.mark.parametrize("seed", OPTIONAL)
def test_kai_scatters_optional_groups(release: Release, seed: int) -> None:
    with pytest.raises(RefusedError, match="F604"):
        judge(case(seed), release)
    accepting = release._replace(scheduler=release.scheduler._replace(firm=lambda _: frozenset()))
    assert outcomes(seed, accepting) == {"may fail"}


@at("kai 0.14.7", "kai 0.17.0", "volcano 1.15.1", "native 1.37.0")
@pytest.mark.parametrize("seed", RESTARTED)
def test_parts_that_start_again(release: Release, seed: int) -> None:
    """As the page of KAI says, since 0.15 they may start outside the domain that their gang requires."""
    found = {verdict.outcome for verdict in restart.judge(case(seed), release)}
    assert found <= ({"broken", "placed"} if release.name == "kai 0.17.0" else {"placed"})
    assert release.name != "kai 0.17.0" or "broken" in found
