"""Services as LeaderWorkerSets: what schedulers read of them, what their controller makes of them, and their proof."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import all_backends
import random_workflows
import support
from bayplan.augment import reading
from bayplan.model.augment import AugmentRequest
from bayplan.model.manifest import Object
from bayplan.model.plan import all_pods
from bayplan.planning.fit import Fits
from bayplan.text.document import Document
from judges import TOGETHER, UPSTREAM, judge
from oracle import ORACLES, copies, single
from oracle.intent import claimed_domains
from test_read_back_everywhere import passes_lint
from tools.effort import examples

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
SERVED = [backend for backend in ORACLES if backend != "slurm"]
VERSIONS = random_workflows.TOPOLOGY["spec"]["versions"]
REFUSED = {
    "F615",
    "F626",
    "F631",
    "F638",
    "F643",
    "F681",
    "F683",
    "F690",
    "F740",  # the version places no LeaderWorkerSets
    "F741",  # groups of neighbouring ranks, or a number of copies that varies
    "F769",  # groups that do not fold into one podSet
    "F771",
    "F774",
    "F775",
}
"""The codes for which a random service may be refused."""


@pytest.mark.parametrize("backend", SERVED)
def test_services_read_back_and_start(backend: str) -> None:
    tally = all_backends.Tally()

    @settings(max_examples=examples(12, 60), derandomize=True, deadline=None, suppress_health_check=SLOW)
    @given(at=all_backends.at_any_version(backend), flow=random_workflows.services())
    def check(at: all_backends.At, flow: dict[str, Any]) -> None:
        result = all_backends.run(flow, at)
        if tally.refused(result):
            wrong = {each.code for each in result.diagnostics if each.severity == "error"}
            assert wrong <= REFUSED, (str(at), flow, result.diagnostics)
            return
        reads_back(at, result)
        plans_alike(at, result)
        controller_makes_the_planned_pods(result)
        if "F626" not in result.codes:  # one ComputeDomain over several NVLink domains, of which lint warns too
            passes_lint(at, result)
        judged(at, result)

    check()
    assert tally["carried"] or backend == "sunk", tally


def reads_back(at: all_backends.At, result: support.Result) -> None:
    """The manifests say what the plan means, copy by copy."""
    assert result.compiled is not None
    planned, oracle = result.compiled.planned, ORACLES[at.backend]
    read = oracle.read(copies.apart(single.others(result.documents), at.backend, result.compiled.planned.target))
    assert read.diagnostics == ()
    plans = single.grouped(planned.plan, planned.shape)
    meant = (each for plan in plans for each in oracle.intent(plan, planned.target))
    claimed = (each._replace(compute_domains=claimed_domains(each.root)) for each in meant)
    found = (each._replace(compute_domains=claimed_domains(each.root)) for each in read.value or ())
    assert sorted(found, key=lambda each: each.name) == sorted(claimed, key=lambda each: each.name)


def judged(at: all_backends.At, result: support.Result) -> None:
    """Upstream's CRDs accept every object, and the schedulers' rules all of them with the pods of each copy."""
    if not (UPSTREAM / "crds").is_dir():
        return
    target = {**VERSIONS, **at.target}
    assert [text for each in result.documents for text in judge(each, target)] == [], str(at)
    others = [each for each in result.documents if each["kind"] != "LeaderWorkerSet"]
    made = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": pod.name,
                "namespace": "ml",
                "labels": dict(pod.labels),
                "annotations": dict(pod.annotations),
            },
            "spec": pod.spec,
        }
        for pod in support.pods(result.documents)
    ]
    assert [text for rules in TOGETHER for text in rules([*others, *made], target)] == [], str(at)


def plans_alike(at: all_backends.At, result: support.Result) -> None:
    """`bayplan plan` of the manifests has as many copies, with the same levels and pods."""
    assert result.compiled is not None
    objects = tuple(Object(("m", n), each) for n, each in enumerate(result.documents))
    topology = Document("topology.yaml", "", 0, all_backends.TOPOLOGY)
    found = reading.plans(AugmentRequest(objects, topology, target=at.target))[0].value or ()
    assert [each.diagnostics for each in found if each.planned is None] == []
    mine = Counter(_summary(gang) for gang in result.compiled.planned.plan.gangs)
    read = Counter(_summary(gang) for each in found if each.planned for gang in each.planned.plan.gangs)
    assert read == mine, str(at)


def _summary(gang: Any) -> tuple[Any, ...]:
    return sum(pods.replicas for pods in all_pods(gang.root)), len({pods.spec.name for pods in all_pods(gang.root)})


def controller_makes_the_planned_pods(result: support.Result) -> None:
    """Each copy has all of its pods, once; its ranks are 0 to n - 1, and their master is its rank 0."""
    assert result.compiled is not None
    gangs = result.compiled.planned.plan.gangs
    made = list(support.pods(result.documents))
    scaled = any(gang.gang.autoscale for gang in gangs)
    total = sum(pods.replicas for gang in gangs for pods in all_pods(gang.root))
    assert len(made) == total or scaled
    assert len({pod.name for pod in made}) == len(made)
    ranked: dict[str, list[int]] = {}
    hosts = {(pod.env["MASTER_ADDR"], pod.env["NODE_RANK"]): pod.host for pod in made if "MASTER_ADDR" in pod.env}
    for pod in made:
        assert pod.spec["restartPolicy"] == "Always"
        if "MASTER_ADDR" in pod.env:
            ranked.setdefault(pod.env["MASTER_ADDR"], []).append(int(pod.env["NODE_RANK"]))
            assert pod.env["NNODES"] == str(sum(master == pod.env["MASTER_ADDR"] for master, _ in hosts))
            assert hosts[pod.env["MASTER_ADDR"], "0"] == pod.env["MASTER_ADDR"]
    for ranks in ranked.values():
        assert sorted(ranks) == list(range(len(ranks)))


SMALL = {
    **random_workflows.TOPOLOGY,
    "spec": {
        **random_workflows.TOPOLOGY["spec"],
        "pools": [
            {**random_workflows.TOPOLOGY["spec"]["pools"][0], "domains": [{"path": "z/s/r", "nodes": "n[01-12]"}]}
        ],
    },
}
"""Twelve nodes of four GPUs."""


@given(replicas=st.integers(1, 7), surge=st.integers(0, 4), pods=st.integers(2, 4))
@settings(max_examples=examples(20, 80), deadline=None)
def test_a_rollout_is_refused_if_and_only_if_its_copies_do_not_fit(replicas: int, surge: int, pods: int) -> None:
    gang = {
        "name": "serve",
        "lifecycle": "service",
        "replicas": replicas,
        "rollout": {"surge": surge},
        "podSets": [
            {"name": "worker", "replicas": pods, "image": "x:1", "command": ["run"], "accelerator": {"count": 4}}
        ],
    }
    result = support.run(support.workflow(gang, queue="research"), SMALL)
    if replicas * pods > 12:
        assert result.compiled is None
        assert "P570" not in result.codes
    else:
        assert ("P570" in result.codes) == ((replicas + surge) * pods > 12)
        assert (result.compiled is None) == ("P570" in result.codes)


@given(most=st.integers(1, 20), pods=st.integers(2, 4))
@settings(max_examples=examples(20, 80), deadline=None)
def test_a_warning_says_how_many_copies_an_autoscaler_may_start(most: int, pods: int) -> None:
    gang = {
        "name": "serve",
        "lifecycle": "service",
        "autoscale": {"maxReplicas": most, "cpuPercent": 80},
        "podSets": [
            {
                "name": "worker",
                "replicas": pods,
                "image": "x:1",
                "command": ["run"],
                "accelerator": {"count": 4},
                "resources": {"cpu": "8"},
            }
        ],
    }
    result = support.run(support.workflow(gang, queue="research"), SMALL)
    assert result.compiled is not None
    assert isinstance(result.compiled.planned.fits, Fits)
    told = [each.message for each in result.diagnostics if each.code == "P556"]
    fits = 12 // pods
    assert told == (
        [f'{fits} of the {most} copies of gang "serve" that its autoscaler may start fit'] if fits < most else []
    )


REPLICAS = {"replicas": 4, "command": ["serve"], "image": "x:1", "ports": {"http": 8000}, "accelerator": {"count": 4}}
ALONE = {"podSets": [{"name": "worker", **REPLICAS}]}
GROUPS = {"groups": [{"name": "part", "replicas": 3, "podSets": [{"name": "worker", **REPLICAS}]}]}
TWO_GROUPS = {
    "groups": [
        {"name": name, "podSets": [{"name": "worker", **REPLICAS, "replicas": n}]} for name, n in (("a", 4), ("b", 1))
    ]
}
SPLIT = {"groups": [{"name": "part", "size": 3, "podSets": [{"name": "worker", **REPLICAS}]}]}
LEADER = {"podSets": [{"name": "leader", **REPLICAS, "replicas": 1}, {"name": "worker", **REPLICAS}]}
FIRST_TWO = {"podSets": [{"name": "leader", **REPLICAS, "replicas": 2}, {"name": "worker", **REPLICAS}]}
SERVERS = {"lifecycle": "service", "replicas": 2}
GROUPWISE = {"rendezvous": "group"}


@pytest.mark.parametrize(
    ("kind", "gang"),
    [
        ("lws", {**SERVERS, **ALONE}),
        ("lws", {**SERVERS, **LEADER}),
        ("statefulset", {**SERVERS, **ALONE}),
        ("jobset", ALONE),
        ("jobset", {**GROUPS, "replicas": 2}),
        ("jobset", {**GROUPS, **GROUPWISE}),
        ("jobset", {**TWO_GROUPS, **GROUPWISE}),
        ("jobset", {**SPLIT, **GROUPWISE}),
        ("jobset", TWO_GROUPS),
        ("jobset", FIRST_TWO),
        ("job", ALONE),
        ("job", GROUPS),
        ("job", FIRST_TWO),
        ("job", {**TWO_GROUPS, **GROUPWISE}),
        ("job", {**GROUPS, **GROUPWISE}),
        ("pods", ALONE),
        ("pods", {**GROUPS, "replicas": 2}),
        ("pods", {**SPLIT, **GROUPWISE}),
        ("volcano-job", {**ALONE, "replicas": 2}),
        ("volcano-job", GROUPS),
    ],
)
def test_clients_reach_rank_0_and_no_other_rank(kind: str, gang: dict[str, Any]) -> None:
    scheduler = "volcano" if kind == "volcano-job" else "kai" if kind not in ("job", "pods") else "none"
    result = support.run(
        support.workflow({"name": "serve", "workload": kind, "service": {}, **gang}), scheduler=scheduler
    )
    assert result.compiled is not None, result.diagnostics
    assert "W371" not in result.codes
    selector = next(each["spec"]["selector"] for each in result.kinds("Service") if "ports" in each["spec"])
    pods = list(support.pods(result.documents))
    firsts = [pod.name for pod in pods if pod.env["NODE_RANK"] == "0"]
    assert firsts
    assert [pod.name for pod in pods if selector.items() <= pod.labels.items()] == firsts


@pytest.mark.parametrize("kind", ["statefulset", "jobset", "pods"])
def test_clients_reach_all_pods_without_ranks(kind: str) -> None:
    gang = {"name": "serve", "workload": kind, "service": {}, "rendezvous": "none", **ALONE}
    if kind == "statefulset":
        gang |= SERVERS
    result = support.run(support.workflow(gang), scheduler="none")
    (service,) = (each for each in result.kinds("Service") if "ports" in each["spec"])
    pods = list(support.pods(result.documents))
    assert pods
    assert all(service["spec"]["selector"].items() <= pod.labels.items() for pod in pods)


def test_no_label_tells_the_ranks_0_of_several_groups_in_one_task() -> None:
    gang = {"name": "serve", "workload": "volcano-job", "service": {}, **GROUPS, **GROUPWISE}
    result = support.run(support.workflow(gang), scheduler="volcano")
    (service,) = (each for each in result.kinds("Service") if "ports" in each["spec"])
    assert "W371" in result.codes
    assert all(service["spec"]["selector"].items() <= pod.labels.items() for pod in support.pods(result.documents))


def test_a_leader_of_its_own_needs_no_label_of_its_number() -> None:
    gang = {"name": "serve", "service": {"podSet": "leader"}, **SERVERS, **LEADER}
    (service,) = support.run(support.workflow(gang)).kinds("Service")
    assert sorted(service["spec"]["selector"]) == ["bayplan.dev/service", "bayplan.dev/workflow"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"lifecycle": "service"}, "W373"),
        ({"lifecycle": "service", "replicas": 2}, ""),
        ({"lifecycle": "service", "placement": {"required": "rack"}}, ""),
        ({"lifecycle": "service", "autoscale": {"maxReplicas": 3}}, ""),
        ({"lifecycle": "service", "workload": "statefulset"}, ""),
        ({"service": {}}, "W371"),
        ({"service": {}, "workload": "jobset"}, ""),
        ({}, ""),
    ],
)
def test_an_info_says_how_a_number_of_pods_or_a_service_may_be_misread(fields: dict[str, Any], code: str) -> None:
    found = set(support.run(support.workflow({"name": "serve", **fields, **ALONE}), scheduler="none").codes)
    assert found & {"W373", "W371"} == ({code} if code else set())


@pytest.mark.parametrize(
    ("command", "warned"),
    [
        (["serve", "--rank=$NODE_RANK"], True),
        (["serve", "--rank=${NODE_RANK}"], True),
        (["serve", "--rank=$(NODE_RANK)"], False),
        (["serve", "--cost=$5", "--of=$OTHER", "$$NODE_RANK", "\\$NODE_RANK"], False),
        (["/bin/bash", "-ec", "serve --rank=$NODE_RANK"], False),
        (["env", "A=1", "sh", "run.sh", "$NODE_RANK"], False),
        (["python", "-c", "print('$NODE_RANK')"], False),
        (["interpret", "run with $NODE_RANK"], False),
        ([], False),
    ],
)
def test_only_a_shell_expands_dollars(command: list[str], warned: bool) -> None:
    pods = {"name": "worker", **REPLICAS, "command": command, "args": ["$NODE_RANK"] if not command else []}
    result = support.run(support.workflow({"name": "serve", "podSets": [pods]}), scheduler="none")
    assert ("W394" in result.codes) == warned
