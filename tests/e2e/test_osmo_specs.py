"""OSMO's own workflows on the KAI that OSMO installs, and on the newest one."""

from __future__ import annotations

from functools import partial

import pytest

from e2e import osmo
from e2e.kai import GROUP
from e2e.osmo import LAYOUTS, RELEASES, Layout
from e2e.releases import require
from e2e.scheduler import Release, edited, removed
from tools.effort import sample

NAMES = list(osmo.files())
CASES = [
    (release, layout, name)
    for first, release in enumerate(RELEASES)
    for layout, name in sample([(layout, name) for layout in LAYOUTS for name in NAMES], 25, 12 * first)
]
"""By default one in 25, and others at each release."""

pytestmark = pytest.mark.skipif(not NAMES, reason=f"no OSMO workflows at {osmo.EXAMPLES}")


@pytest.fixture(autouse=True)
def _built(release: Release) -> None:
    require(release)


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_all_pods_of_all_files_start_in_one_cluster(release: Release) -> None:
    found = osmo.together(release)
    assert list(found) == NAMES
    assert {
        name: verdicts for name, verdicts in found.items() if {each.outcome for each in verdicts} != {"placed"}
    } == {}


@pytest.mark.parametrize(
    ("release", "layout", "name"),
    CASES,
    ids=[f"{release.name}-{layout.name}-{name}" for release, layout, name in CASES],
)
def test_a_file_starts_on_just_enough_nodes_and_not_on_one_fewer(release: Release, layout: Layout, name: str) -> None:
    found = osmo.sized(osmo.read(name), layout, release)
    assert osmo.outcomes(found, found.counts, release) == {"placed"}
    pools = [pool for pool, count in found.counts.items() if count]
    assert pools
    for pool in pools:
        fewer = {**found.counts, pool: found.counts[pool] - 1}
        outcomes = osmo.outcomes(found, fewer, release)
        assert "refused" in outcomes
        assert outcomes <= {"refused", "placed"}  # gangs that need less of the pool start


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_a_lost_level_is_noticed(release: Release) -> None:
    found = osmo.sized(osmo.read("cookbook__dnn_training__torchrun_multinode__train"), LAYOUTS[-1], release)
    fewer = {pool: max(count - 1, 0) for pool, count in found.counts.items()}
    assert osmo.outcomes(found, fewer, release, partial(edited, path=GROUP, change=removed)) == {"found"}
