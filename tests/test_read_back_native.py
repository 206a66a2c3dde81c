"""The way back: what Workloads, CompositePodGroups and PodGroups say is what the plan meant."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from bayplan.report.codes import sections
from bayplan.text.emit import emit
from judges import judge, native
from oracle import ORACLES
from oracle.intent import UnitIntent
from tools import golden
from tools.data import parse_all
from tools.effort import examples

NATIVE = ORACLES["native"]
VERSIONS = golden.VERSIONS["native"][1:]
COVERS = {"M707"}
REFUSED = {"W301", "F631", "F638", "F615", "F614", "F683", "F680"}
"""What old versions and flat trees cannot say; names that meet are refused elsewhere."""
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def without_kai(flow: dict[str, Any]) -> dict[str, Any]:
    """The workflow with nothing that only KAI knows, and preemptible where it says anything of that."""
    gangs = [
        {key: value for key, value in gang.items() if key not in ("backends", "preemptible")} for gang in spec(flow)
    ]
    return {**flow, "spec": {**flow["spec"], "gangs": gangs}}


def spec(flow: dict[str, Any]) -> list[dict[str, Any]]:
    gangs: list[dict[str, Any]] = flow["spec"]["gangs"]
    return gangs


def unplaced(node: Any) -> Any:
    """The same tree without any placement, as 1.35 needs it."""
    if isinstance(node, dict):
        return {key: unplaced(value) for key, value in node.items() if key not in ("placement", "computeDomain")}
    return [unplaced(each) for each in node] if isinstance(node, list) else node


def compiled(flow: dict[str, Any], version: str, topology: dict[str, Any]) -> support.Result:
    result = support.run(without_kai(flow), topology, scheduler="native", target={"kubernetes": version})
    assume(not REFUSED & {each.code for each in result.diagnostics if each.severity == "error"})
    assert result.compiled is not None, result.diagnostics
    return result


def check(flow: dict[str, Any], version: str, topology: dict[str, Any] = random_workflows.TOPOLOGY) -> None:
    result = compiled(flow, version, topology)
    assert result.compiled
    planned = result.compiled.planned
    read = NATIVE.read(result.documents)
    assert read.diagnostics == ()
    wanted = sorted(NATIVE.intent(support.of_objects(planned), planned.target), key=lambda gang: gang.name)
    assert list(read.value or ()) == wanted
    assert sum(_size(gang.root) for gang in wanted) == len(list(support.pods(result.documents)))
    own = [each for each in result.documents if each["apiVersion"].startswith("scheduling.k8s.io/")]
    assert [complaint for each in own for complaint in judge(each, {"kubernetes": version})] == []
    assert native.together(result.documents) == []


def _size(unit: UnitIntent) -> int:
    return sum(pods.replicas for pods in unit.pods) + sum(map(_size, unit.units))


@settings(max_examples=examples(10, 40), deadline=None, suppress_health_check=QUIET)
@given(flow=random_workflows.workflows(), topology=random_workflows.topologies)
def test_trees_read_back_as_the_plans_intent(flow: dict[str, Any], topology: dict[str, Any]) -> None:
    check(flow, "1.37", topology)


PLACED_INSIDE = support.workflow(
    {
        "name": "a",
        "groups": [
            {
                "name": "a",
                "replicas": 2,
                "minReplicas": 1,
                "groups": [{"name": "a", "placement": {"required": "zone"}, "podSets": [support.WORKER]}],
            }
        ],
    },
    queue="research",
)
"""An optional group that says nothing itself and holds one that does."""


@settings(max_examples=examples(10, 40), deadline=None, suppress_health_check=QUIET)
@given(flow=random_workflows.workflows(elastic=True))
@example(flow=PLACED_INSIDE)
def test_minimums_read_back_too(flow: dict[str, Any]) -> None:
    check(flow, "1.37")


@settings(max_examples=examples(8, 25), deadline=None, suppress_health_check=QUIET)
@given(flow=random_workflows.workflows())
def test_one_level_reads_back(flow: dict[str, Any]) -> None:
    check(flow, "1.36")


@settings(max_examples=examples(8, 25), deadline=None, suppress_health_check=QUIET)
@given(flow=random_workflows.workflows(), kind=st.sampled_from(["job", "pods"]))
def test_counts_read_back(flow: dict[str, Any], kind: str) -> None:
    gangs = [{**gang, "workload": kind} for gang in spec(unplaced(flow))]
    check({**flow, "spec": {**flow["spec"], "gangs": gangs}}, "1.35")


ALL = frozenset(code for code in sections() if code.startswith("F"))


@settings(max_examples=examples(8, 25), deadline=None, suppress_health_check=QUIET)
@given(flow=random_workflows.workflows(elastic=True), version=st.sampled_from(VERSIONS))
def test_whatever_gaps_are_accepted_there_are_manifests_that_the_judges_take(
    flow: dict[str, Any], version: str
) -> None:
    gangs = [{**gang, "workload": "pods"} for gang in spec(flow)]
    target = {"kubernetes": version}
    whole = {**flow, "spec": {**flow["spec"], "gangs": gangs}}
    result = support.run(without_kai(whole), random_workflows.TOPOLOGY, scheduler="native", target=target, accept=ALL)
    assume(not {"W301", "F614"} & {each.code for each in result.diagnostics if each.severity == "error"})
    assert result.compiled is not None, result.diagnostics
    own = [each for each in result.documents if each["apiVersion"].startswith("scheduling.k8s.io/")]
    assert [complaint for each in own for complaint in judge(each, target)] == []
    assert native.together(result.documents) == []


def test_pods_of_a_group_that_is_not_there_are_found() -> None:
    result = support.run(support.workflow(support.pretrain()), scheduler="native", target={"kubernetes": "1.37"})
    assert result.compiled
    text = "".join(emit(result.compiled.documents)).replace("podGroupName: train-replica-0", "podGroupName: train-O")
    found = NATIVE.read(list(parse_all(text))).diagnostics
    assert [each.code for each in found] == ["M707"]


def test_groups_without_a_tree_over_them_are_gangs_of_their_own() -> None:
    """Below 1.37 an accepted gap leaves each placed group alone, and reading says so."""
    gang = {key: value for key, value in support.pretrain().items() if key != "placement"}
    accept = frozenset({"F615"})
    result = support.run(support.workflow(gang), scheduler="native", target={"kubernetes": "1.36"}, accept=accept)
    assert [each.name for each in NATIVE.read(result.documents).value or ()] == [f"train-replica-{n}" for n in range(4)]
