"""The way back: what Koordinator's manifests say is what the plan meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from bayplan.text.emit import emit
from oracle import ORACLES
from oracle.intent import UnitIntent
from test_koordinator_planner import gangs, topologies
from tools import golden
from tools.data import parse_all
from tools.effort import examples

KOORDINATOR = ORACLES["koordinator"]
NAMES = {"W301", "P551", "P552"}
GAPS = frozenset({"F602", "F604", "F605", "F626", "F639", "F631", "F690", "F680", "F681"})
VERSIONS = golden.VERSIONS["koordinator"]


@settings(max_examples=examples(10, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(gang=gangs(), topology=topologies(), version=st.sampled_from(VERSIONS))
def test_placed_gangs_read_back(gang: dict[str, Any], topology: dict[str, Any], version: str) -> None:
    check(support.workflow(gang, queue="research", priorityClassName="train"), topology, version)


@settings(max_examples=examples(10, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    flow=random_workflows.workflows(elastic=True),
    topology=random_workflows.topologies,
    version=st.sampled_from(VERSIONS),
)
def test_any_workflow_reads_back_less_its_gaps(flow: dict[str, Any], topology: dict[str, Any], version: str) -> None:
    check(flow, topology, version)


def check(flow: dict[str, Any], topology: dict[str, Any], version: str) -> None:
    target = {"koordinator": version}
    result = support.run(flow, topology, scheduler="koordinator", target=target, accept=GAPS)
    assume(not NAMES & set(result.codes))
    assert result.compiled is not None, result.diagnostics
    planned = result.compiled.planned
    read = KOORDINATOR.read(result.documents)
    assert read.diagnostics == ()
    wanted = sorted(KOORDINATOR.intent(planned.plan, planned.target), key=lambda gang: gang.name)
    assert list(read.value or ()) == wanted
    total = sum(size(gang.root) for gang in wanted)
    assert len(list(support.pods(result.documents))) == total


def size(unit: UnitIntent) -> int:
    return sum(pods.replicas for pods in unit.pods) + sum(map(size, unit.units))


def documents(**changes: Any) -> list[dict[str, Any]]:
    """The 64 pods, with some text replaced."""
    flow = support.workflow(support.pretrain(), queue="research")
    result = support.run(flow, scheduler="koordinator", accept=GAPS)
    assert result.compiled, result.diagnostics
    text = "".join(emit(result.compiled.documents))
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return list(parse_all(text))


def test_the_64_pods_are_four_groups_of_16_in_racks_under_one_spine() -> None:
    (gang,) = KOORDINATOR.read(documents()).value or ()
    assert (gang.name, gang.queue, gang.root.required) == ("train", "research", "SpineLayer")
    assert [(unit.required, size(unit)) for unit in gang.root.units] == [("RackLayer", 16)] * 4
    assert [unit.name for unit in gang.root.units] == [f"replica-{number}-worker" for number in range(4)]
    assert len(gang.compute_domains) == 4


def test_another_multiple_is_another_intent() -> None:
    changed = documents(**{'podCountMultiple\\":16': 'podCountMultiple\\":8'})
    (gang,) = KOORDINATOR.read(changed).value or ()
    assert [size(unit) for unit in gang.root.units] == [8] * 8


def test_pods_without_their_pod_group_are_found() -> None:
    lost = [each for each in documents() if each["kind"] != "PodGroup"]
    found = KOORDINATOR.read(lost)
    assert [each.code for each in found.diagnostics] == ["M707"]
    assert found.value == ()


def test_elastic_pods_of_several_kinds_are_a_gang_group() -> None:
    """A PodGroup has one minimum, so each podSet instance has a PodGroup, and they start together."""
    sets = [
        {**support.WORKER, "name": name, "replicas": 4, "minReplicas": least} for name, least in (("a", 1), ("b", 3))
    ]
    result = support.run(support.workflow({"name": "train", "podSets": sets}), scheduler="koordinator")
    assert result.compiled, result.diagnostics
    groups = result.kinds("PodGroup")
    assert [(each["metadata"]["name"], each["spec"]["minMember"]) for each in groups] == [
        ("train-a", 1),
        ("train-b", 3),
    ]
    for each in groups:
        annotations = each["metadata"]["annotations"]
        assert json.loads(annotations["gang.scheduling.koordinator.sh/groups"]) == ["ml/train-a", "ml/train-b"]
        assert annotations["gang.scheduling.koordinator.sh/total-number"] == "4"
        assert annotations["gang.scheduling.koordinator.sh/match-policy"] == "waiting-and-running"
    (gang,) = KOORDINATOR.read(result.documents).value or ()
    assert [(pods.name, pods.replicas, pods.minimum) for pods in gang.root.pods] == [("a", 4, 1), ("b", 4, 3)]


@pytest.mark.parametrize("preemptible", [True, False])
def test_preemptibility_is_a_label(preemptible: bool) -> None:
    gang = {"name": "train", "preemptible": preemptible, "podSets": [{**support.WORKER, "replicas": 2}]}
    result = support.run(support.workflow(gang), scheduler="koordinator")
    (read,) = KOORDINATOR.read(result.documents).value or ()
    assert read.preemptible is preemptible
