"""Clusters that others half fill: what bayplan reads of the pods, and what it reports because of them."""

from __future__ import annotations

import pytest

from bayplan import pipeline
from bayplan.kube import quantity
from bayplan.text.document import Document
from e2e import others
from e2e.random_cases import BUSY, RICHER, case
from e2e.releases import BY_NAME
from e2e.scene import scene
from e2e.scheduler import Case
from tools.effort import seeds


@pytest.mark.parametrize("first", [RICHER, BUSY])
def test_the_reader_counts_what_runs(first: int) -> None:
    """Init containers, sidecars, overhead, claims, ports of nodes, pods of DaemonSets, and pods that have ended."""
    for seed in seeds(300):
        each = case(first + seed)
        hall, _ = pipeline.check_topology(Document("topology.yaml", "", 0, each.topology))
        assert hall.value
        found = others.occupied(each.others, hall.value)
        sums = {node: quantity.added(one.amounts for one in running) for node, running in found.items()}
        assert sums == others.drawn(each.others, hall.value), each.name


REPORTED = (
    ("kai 0.17.0", 200_007),
    ("kai 0.17.0", 200_064),
    ("volcano 1.15.1", 200_012),
    ("volcano 1.15.1", 200_059),
    ("kueue 0.19.2", 200_010),
    ("kueue 0.19.2", 200_027),
    ("native 1.37.0", 200_010),
    ("native 1.37.0", 200_059),
    ("koordinator 1.8.0", 200_059),
)
"""Cases that fit, and that the scheduler may miss only because of what runs."""


@pytest.mark.parametrize(("release", "seed"), REPORTED)
def test_estimates_count_what_others_leave(release: str, seed: int) -> None:
    each = case(seed)
    assert "F690" in _reported(each, release)
    assert "F690" not in _reported(each._replace(others=()), release)


def _reported(each: Case, release: str) -> set[str]:
    stages = scene(each, BY_NAME[release]).stages
    assert {stage.verdict for stage in stages} == {"fits"}
    return {code for stage in stages for codes in (*stage.blind.values(), stage.doubted) for code in codes}


@pytest.mark.parametrize("seed", [200_049, 200_105])
def test_gangs_that_kai_places_in_the_wrong_order_are_reported(seed: int) -> None:
    kai = BY_NAME["kai 0.17.0"]
    (stage,) = scene(case(seed), kai).stages
    assert stage.verdict == "fits"
    assert stage.doubted
