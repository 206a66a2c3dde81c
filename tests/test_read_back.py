"""The way back: what KAI manifests say is what the plan meant."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from bayplan.backends import BACKENDS
from bayplan.model.intent import UnitIntent

VERSIONS = ["0.10", "0.12", "0.13", "0.14", "0.15", "0.16", "0.17"]
KAI = BACKENDS["kai"]
COVERS = {"M701"}
NAMES = {"P510"}  # random names may meet; that they are refused is tested elsewhere


def as_pods(flow: dict[str, Any]) -> dict[str, Any]:
    """The same workflow in bare pods, the one kind that KAI takes below 0.15."""
    gangs = [{**gang, "workload": "pods"} for gang in flow["spec"]["gangs"]]
    return {**flow, "spec": {**flow["spec"], "gangs": gangs}}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(flow=random_workflows.workflows(), version=st.sampled_from(VERSIONS))
def test_kai_manifests_read_back_as_the_plans_intent(flow: dict[str, Any], version: str) -> None:
    flow = flow if version in VERSIONS[4:] else as_pods(flow)
    check(flow, version)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(flow=random_workflows.workflows(elastic=True))
def test_minimums_read_back_too(flow: dict[str, Any]) -> None:
    check(flow, "0.17")


def check(flow: dict[str, Any], version: str) -> None:
    result = support.run(flow, random_workflows.TOPOLOGY, target={"kai": version})
    assume(not NAMES & set(result.codes))
    assert result.compiled is not None, result.diagnostics
    planned = result.compiled.planned
    read = KAI.read(result.documents)
    assert read.diagnostics == ()
    wanted = sorted(KAI.intent(planned.plan, planned.target), key=lambda gang: gang.name)
    assert list(read.value or ()) == wanted
    _pods_agree_with(result, sum(map(_size, (gang.root for gang in wanted))))


def _size(unit: UnitIntent) -> int:
    return sum(pods.replicas for pods in unit.pods) + sum(map(_size, unit.units))


def _pods_agree_with(result: support.Result, total: int) -> None:
    """As many pods as planned, each name once, each claim declared, one host each."""
    pods = list(support.pods(result.documents))
    assert len(pods) == total
    assert max(Counter(pod.name for pod in pods).values()) == 1
    for pod in pods:
        declared = {claim["name"] for claim in pod.spec.get("resourceClaims", ())}
        used = {c["name"] for c in pod.spec["containers"][0].get("resources", {}).get("claims", ())}
        assert declared == used
    ranked: dict[str, list[int]] = {}
    for pod in pods:
        if "MASTER_ADDR" in pod.env:
            ranked.setdefault(pod.env["MASTER_ADDR"], []).append(int(pod.env["NODE_RANK"]))
    assert all(sorted(ranks) == list(range(len(ranks))) for ranks in ranked.values())


BROKEN = {
    "a subgroup that is misspelt": ("kai.scheduler/subgroup-name: replica-0", "kai.scheduler/subgroup-name: replica-O"),
}


@pytest.mark.parametrize(("old", "new"), BROKEN.values(), ids=BROKEN)
def test_pods_that_kai_would_never_count_are_found(old: str, new: str) -> None:
    import yaml

    from bayplan.emit import emit

    result = support.run(support.workflow(support.pretrain()))
    assert result.compiled
    text = "".join(emit(result.compiled.documents)).replace(old, new)
    found = KAI.read(list(yaml.safe_load_all(text))).diagnostics
    assert [each.code for each in found] == ["M701"]
