"""A queue holds what bayplan says, by the schedulers' own code: a gang that needs just its limit starts, and one more
card does not."""

from __future__ import annotations

from typing import Any

import pytest

from e2e import hand
from e2e.releases import BY_NAME
from e2e.run import judge
from e2e.scene import RefusedError
from e2e.scheduler import Case, Change, Object, Release, edited

CARDS = 8
LESS: dict[str, tuple[str, Any]] = {
    "kai": ("Queue spec resources gpu limit", lambda limit: limit - 1 if limit > 0 else limit),
    "kueue": ("ClusterQueue spec resourceGroups * flavors * resources *", lambda row: _one_card_less(row)),
    "volcano": ("Queue spec capability", lambda held: {**held, "nvidia.com/gpu": str(CARDS - 1)}),
}
"""The limits of the rendered queues, one card lower."""


def _one_card_less(row: Object) -> Object:
    return {**row, "nominalQuota": str(CARDS - 1)} if row["name"] == "nvidia.com/gpu" else row


def at(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("release", [BY_NAME[name] for name in names], ids=lambda each: each.name)


@pytest.fixture(autouse=True)
def _built(request: pytest.FixtureRequest) -> None:
    release = request.node.callspec.params["release"]
    if release.missing():
        pytest.skip(release.missing())


def case(*queues: Object, **gang: Any) -> Case:
    """A gang of eight cards on a cluster of sixteen."""
    topology = hand.cluster({"r0": 2, "r1": 2})
    topology["spec"]["queues"] = [*queues]
    made = hand.case("quota", topology, hand.pods("w", CARDS // 4))
    (only,) = made.workflow["spec"]["gangs"]
    only.update(gang)
    return made


def queue(name: str, limit: int = 0, guaranteed: int = 0, **more: str) -> Object:
    amounts = {key: number for key, number in (("limit", limit), ("guaranteed", guaranteed)) if number}
    return {"name": name, "quotas": [{"resource": "gpu", **amounts}], **more}


def outcomes(made: Case, release: Release, spoil: Change | None = None) -> set[str]:
    return {verdict.outcome for verdict in judge(made, release, spoil)}


@at("kai 0.13.1", "kai 0.14.7", "kai 0.17.0", "kueue 0.19.2", "volcano 1.15.1")
def test_a_gang_of_just_the_limit_starts(release: Release) -> None:
    path, less = LESS[release.scheduler.name]
    made = case(queue("research", CARDS))
    assert outcomes(made, release) == {"placed"}
    assert "placed" not in outcomes(made, release, lambda documents: edited(documents, path, less))
    with pytest.raises(RefusedError, match="P563"):
        judge(case(queue("research", CARDS - 1)), release)


@at("kai 0.13.1", "kai 0.14.7", "kai 0.17.0")
def test_the_limit_of_a_parent(release: Release) -> None:
    made = case(queue("all", CARDS), {"name": "research", "parent": "all"})
    path, less = LESS["kai"]
    assert outcomes(made, release) == {"placed"}
    assert "placed" not in outcomes(made, release, lambda documents: edited(documents, path, less))
    with pytest.raises(RefusedError, match="P563"):
        judge(case(queue("all", CARDS - 1), {"name": "research", "parent": "all"}), release)


@at("kai 0.17.0")
def test_what_is_not_preemptible_stays_below_the_quota(release: Release) -> None:
    made = case(queue("research", 0, CARDS), preemptible=False)
    path, less = "Queue spec resources gpu quota", lambda quota: quota - 1
    assert outcomes(made, release) == {"placed"}
    assert "placed" not in outcomes(made, release, lambda documents: edited(documents, path, less))
    with pytest.raises(RefusedError, match="P563"):
        judge(case(queue("research", 0, CARDS - 1), preemptible=False), release)
    assert outcomes(case(queue("research", 0, CARDS - 1)), release) == {"placed"}


@at("kueue 0.19.2")
def test_a_cluster_queue_borrows_from_its_cohort(release: Release) -> None:
    others = queue("batch", 0, CARDS // 2, parent="all")
    made = case({"name": "all"}, others, queue("research", CARDS, CARDS // 2, parent="all"))
    assert outcomes(made, release) == {"placed"}
    path = "ClusterQueue spec resourceGroups * flavors * resources * borrowingLimit"
    assert "placed" not in outcomes(made, release, lambda documents: edited(documents, path, lambda _: "3"))
