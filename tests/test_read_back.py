"""The way back: what KAI manifests say is what the plan meant."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from bayplan.model.target import Target
from bayplan.text.emit import emit
from oracle import ORACLES, copies, single
from oracle.intent import UnitIntent
from tools import golden
from tools.data import parse, parse_all
from tools.effort import LONG, examples, thorough

VERSIONS = golden.VERSIONS["kai"]
KAI = ORACLES["kai"]
COVERS = {"M707"}
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
NAMES = {"W301"}  # random names may meet; that they are refused is tested elsewhere


def as_pods(flow: dict[str, Any]) -> dict[str, Any]:
    """The same workflow in bare pods, the one kind that KAI takes below 0.15."""
    gangs = [{**gang, "workload": "pods"} for gang in flow["spec"]["gangs"]]
    return {**flow, "spec": {**flow["spec"], "gangs": gangs}}


@settings(max_examples=examples(12, 100), deadline=None, suppress_health_check=SLOW)
@given(flow=random_workflows.workflows(), topology=random_workflows.topologies, version=st.sampled_from(VERSIONS))
def test_kai_manifests_read_back_as_the_plans_intent(
    flow: dict[str, Any], topology: dict[str, Any], version: str
) -> None:
    old = not Target({"kai": version}).since("kai", "0.15")
    check(as_pods(flow) if old else flow, version, random_workflows.TOPOLOGY if old else topology)


@settings(max_examples=examples(12, 60), deadline=None, suppress_health_check=SLOW)
@given(flow=random_workflows.workflows(elastic=True))
def test_minimums_read_back_too(flow: dict[str, Any]) -> None:
    check(flow, "0.17")


def check(flow: dict[str, Any], version: str, topology: dict[str, Any] = random_workflows.TOPOLOGY) -> None:
    result = support.run(flow, topology, target={"kai": version}, accept=frozenset({"F604"}))
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
    result = support.run(support.workflow(support.pretrain()))
    assert result.compiled
    text = "".join(emit(result.compiled.documents)).replace(old, new)
    found = KAI.read(list(parse_all(text))).diagnostics
    assert [each.code for each in found] == ["M707"]


def test_a_gang_may_choose_its_topology() -> None:
    gang = {**support.pretrain(), "backends": {"kai": {"topology": "other"}}}
    result = support.run(support.workflow(gang))
    assert result.compiled is not None, result.diagnostics
    planned = result.compiled.planned
    assert [each.topology for each in KAI.intent(planned.plan, planned.target)] == ["other"]
    assert KAI.read(result.documents).value == KAI.intent(planned.plan, planned.target)


def test_pods_belong_to_the_group_of_their_namespace() -> None:
    """One name in two namespaces makes two gangs."""
    flow = support.workflow(support.pretrain())
    documents = [d for name in ("a", "b") for d in support.run(flow, namespace=name, target={"kai": "0.17"}).documents]
    for each in documents:
        text = yaml.safe_dump(each)
        each.update(parse(re.sub(r"train-[0-9a-f]{8}\b", "train", text)))
    first, second = KAI.read(documents).value or ()
    assert (first.namespace, second.namespace) == ("a", "b")
    assert first == second._replace(namespace="a")
    assert _size(first.root) == 64


@pytest.mark.parametrize("backend", sorted(set(ORACLES) - {*golden.SCRIPTS}))
def test_every_golden_says_what_its_plan_meant(backend: str) -> None:
    assert [str(case) for case in readable(backend) if not says_its_plan(case)] == []


def readable(backend: str) -> list[golden.Case]:
    """The goldens with manifests; by default one of those that are the same at several versions."""
    cases = golden.cases() if LONG else golden.distinct(backend)
    return [case for case in cases if case.backend == backend and (read := golden.documents(case)) and not _grove(read)]


def _grove(documents: Iterable[Mapping[str, Any]]) -> bool:
    """Whether Grove makes the PodGroups. `test_plan_manifests.py` and `test_grove.py` read PodCliqueSets."""
    return any(each.get("kind") == "PodCliqueSet" for each in documents)


def says_its_plan(case: golden.Case) -> bool:
    """Whether a golden file reads back as what was planned."""
    accepted = frozenset(golden.ACCEPTED.get(case.backend, ())[1:])
    target = {case.component: case.version}
    result = support.run(*golden.sources(case.example), scheduler=case.backend, target=target, accept=accepted)
    assert result.compiled is not None, (str(case), result.diagnostics)
    planned, oracle, documents = result.compiled.planned, ORACLES[case.backend], golden.documents(case)
    parted = support.of_objects(planned)
    alone = single.intent(parted, planned.shape, case.backend, planned.target)
    read = oracle.read(copies.apart(single.others(documents), case.backend, planned.target))
    plans = single.grouped(parted, planned.shape)
    intents = (gang for plan in plans for gang in oracle.intent(plan, planned.target))
    meant = sorted(intents, key=lambda gang: gang.name)
    some = bool(read.value or alone) and single.read(documents, case.backend) == alone
    return not read.diagnostics and some and list(read.value or ()) == meant


def test_most_goldens_hold_manifests() -> None:
    """Nothing is read back of those that were refused. SUNK knows no gangs, so it renders only examples of single pods;
    scripts are no manifests and have tests of their own."""
    found = {backend: readable(backend) for backend in ORACLES}
    assert {backend for backend, cases in found.items() if cases} == set(ORACLES) - {*golden.SCRIPTS}
    assert {case.example for cases in found.values() for case in cases} == set(golden.examples()) - {"disaggregated"}


@thorough
def test_the_way_back_of_thousands_of_groups_is_short() -> None:
    replica = {"name": "replica", "replicas": 3000, "podSets": [{**support.WORKER, "replicas": 1}]}
    gangs = [{"name": "train", "workload": "pods", "groups": [replica]}]
    topology = {**random_workflows.TOPOLOGY, "spec": {**random_workflows.TOPOLOGY["spec"]}}
    pool = topology["spec"]["pools"][0]
    domains = [{"path": f"z/s/r{rack}", "nodes": f"n{rack}-[001-400]"} for rack in range(16)]
    topology["spec"]["pools"] = [{**pool, "domains": domains}]
    result = support.run(support.workflow(*gangs, queue="research"), topology)
    assert result.compiled is not None, result.diagnostics
    before = time.process_time()
    assert len((KAI.read(result.documents).value or ())[0].root.units) == 3000
    assert time.process_time() - before < 2
