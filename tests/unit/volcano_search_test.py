"""Volcano's search, by the cases in which its own code was seen to start no pod, and those in which it does."""

from __future__ import annotations

import pytest
from fit_scene import cluster, gang, plan, pods, pool, replicas

from bayplan.backends.volcano import prove as prove_volcano
from bayplan.backends.volcano.domains import may_scatter
from bayplan.backends.volcano.pod_group import ordered_policies, pod_group, pod_marks
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.planning.fit import Fits, prove

TARGET = Target({"volcano": "1.15.1"})


def groups(racks: dict[str, int], *sizes: int) -> Plan:
    """Groups of whole nodes, each in a rack."""
    members = (
        replicas(f"u{number}", 1, pods("w", size, cpu="4"), required="rack") for number, size in enumerate(sizes)
    )
    return plan(cluster(pool(racks, resources={"cpu": 64000})), gang("t", *members, required="spine"))


def test_subgroups_are_named_in_an_order_in_which_volcano_finds_domains() -> None:
    """By their own names, the two groups of two nodes would take two racks, and the group of three finds none."""
    asked = groups({"z/s/q": 4, "z/s/r": 3}, 2, 2, 3)
    names = [policy.name for policy in ordered_policies(asked, asked.gangs[0])]
    assert names == ["1-u0", "2-u1", "0-u2"]
    document = pod_group(asked, asked.gangs[0])
    marked = {marks.pod.labels["bayplan.dev/subgroup-policy"] for _, marks in pod_marks(asked, asked.gangs[0])}
    assert {policy["name"] for policy in document["spec"]["subGroupPolicy"]} == marked == set(names)
    assert not list(prove_volcano(asked, TARGET))


def test_names_stay_if_volcano_finds_domains_by_them() -> None:
    asked = groups({"z/s/q": 4, "z/s/r": 3}, 3, 2, 2)
    assert [policy.name for policy in ordered_policies(asked, asked.gangs[0])] == ["u0", "u1", "u2"]


def test_groups_that_no_order_helps_are_an_error() -> None:
    asked = groups({"z/s/q": 5, "z/s/r": 6, "z/s/t": 5}, 1, 4, 4, 2, 2, 3)
    assert isinstance(prove(asked), Fits)
    assert [(each.code, each.severity) for each in prove_volcano(asked, TARGET)] == [("F690", "error")]


@pytest.mark.parametrize(
    ("large", "small", "scattered"),
    [((2, 3), (2, 1), True), ((2, 3), (1, 1), False), ((2, 4), (1, 1), False), ((3, 2), (2, 1), True)],
)
def test_small_pods_may_take_the_places_of_large_ones(
    large: tuple[int, int], small: tuple[int, int], scattered: bool
) -> None:
    """How many pods of how many cards, on two nodes of four. Two small ones on one node block a pod of three cards."""
    sets = (pods(name, n, gpus=cards, route=(name,)) for name, (n, cards) in (("train", large), ("eval", small)))
    lone = gang("t", *sets, required="rack")
    assert may_scatter(plan(cluster(pool({"z/s/r": 2})), lone), lone.root) is scattered
