"""The controllers take what bayplan renders for them, and schedulers start the pods that they make of it as planned."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import support
from e2e.cases import CONTROLLED
from e2e.nodes import nodes
from e2e.pods import without_claims
from e2e.releases import BY_NAME
from e2e.releases import require as require_release
from e2e.scheduler import Object, World, ask
from e2e.test_workloads import hall
from e2e.volcano import CONFIGURATION
from e2e.workloads import grouped, made, members
from judges import UPSTREAM
from tools.data import parse
from tools.golden import Case, distinct, documents
from tools.run import EXAMPLES

OPERATED = frozenset({"LeaderWorkerSet", "MPIJob", "TrainJob", "StatefulSet", "Deployment", "PodCliqueSet"})
BACKENDS = ("kai", "volcano", "kueue", "koordinator", "native", "none")
GROUP = "scheduling.k8s.io/group-name"
BUILT_IN = frozenset({"Deployment", "StatefulSet"})

GANGS = {
    "vllm": ([[f"llama-{n}", f"llama-{n}-1"] for n in range(2)], 1),
    "disaggregated-lws": (
        [
            *([f"deepseek-prefill-{n}-0", *(f"deepseek-prefill-{n}-0-{pod}" for pod in range(1, 4))] for n in range(3)),
            ["deepseek-decode-0", *(f"deepseek-decode-0-{pod}" for pod in range(1, 8))],
        ],
        None,
    ),
    "stateful-server": ([[f"llm-{n}-{pod}" for pod in range(4)] for n in range(2)], None),
    "all-reduce": ([["all-reduce-launcher-00000", *(f"all-reduce-worker-{n}" for n in range(3))]], None),
}
"""Example -> the pods of each gang on KAI, and how many of a domain's levels, from the outermost, they must share."""


SERVER = {"name": "worker", "replicas": 4, "image": "x:1", "command": ["serve"], "ports": {"http": 8000}}
HEAD = [{**SERVER, "name": "head", "replicas": 1}, {**SERVER, "ports": {}}]
GROUPS = [{"name": "g", "replicas": 2, "podSets": [SERVER]}]
COPIES = {"lifecycle": "service", "replicas": 2}


def served(scheduler: str, gang: Object) -> tuple[Object, list[Object]]:
    """The selector of the Service for clients, and the documents."""
    body = {"name": "serve", "service": {}, **gang}
    result = support.run(
        support.workflow({"podSets": [SERVER], **body} if "groups" not in body else body), scheduler=scheduler
    )
    (service,) = (each for each in result.kinds("Service") if "ports" in each["spec"])
    return dict(service["spec"]["selector"]), list(result.documents)


@pytest.mark.parametrize(
    ("gang", "reached"),
    [
        ({"workload": "job"}, {"train-worker-0-replay"}),
        ({"workload": "jobset"}, {"train-worker-0-0-replay"}),
        ({"workload": "jobset", "replicas": 2}, {"train-0-worker-0-0-replay", "train-1-worker-0-0-replay"}),
        ({"workload": "jobset", "podSets": HEAD}, {"train-head-0-0-replay"}),
        ({"workload": "jobset", "groups": GROUPS}, {"train-g-0-worker-0-0-replay"}),
        (
            {"workload": "jobset", "groups": GROUPS, "rendezvous": "group"},
            {"train-g-0-worker-0-0-replay", "train-g-1-worker-0-0-replay"},
        ),
        ({"workload": "trainjob"}, {"train-node-0-0-replay"}),
        ({"workload": "mpijob", "podSets": [{**SERVER, "launcher": "mpi"}]}, {"train-launcher-00000"}),
        ({"workload": "lws", **COPIES}, {"train-0-0", "train-1-0"}),
        ({"workload": "lws", **COPIES, "podSets": HEAD}, {"train-0-0", "train-1-0"}),
        ({"workload": "statefulset", **COPIES}, {"train-0-0", "train-1-0"}),
        (
            {"workload": "deployment", **COPIES, "podSets": [{**SERVER, "replicas": 1}]},
            {"train-replay-00000", "train-replay-00001"},
        ),
    ],
)
def test_a_service_for_clients_selects_rank_0_of_the_pods_that_the_controllers_make(
    gang: Object, reached: set[str]
) -> None:
    selector, documents = served("none", gang)
    answer = made(documents)
    named = {each["metadata"]["name"]: each["metadata"]["labels"] for each in answer.pods}
    assert answer.refused == []
    assert {name for name, labels in named.items() if selector.items() <= labels.items()} == reached
    assert reached < named.keys() or gang["workload"] == "deployment"


@pytest.mark.parametrize(
    ("gang", "reached"),
    [
        ({"workload": "volcano-job"}, {"train-worker-0"}),
        ({"workload": "volcano-job", "podSets": HEAD}, {"train-head-0"}),
        ({"workload": "volcano-job", "replicas": 2}, {"train-0-worker-0", "train-1-worker-0"}),
        ({"workload": "volcano-job", "groups": GROUPS}, {"train-g-worker-0"}),
    ],
)
def test_a_service_for_clients_selects_rank_0_of_volcano_jobs(gang: Object, reached: set[str]) -> None:
    """The labels are those of the job controller's own code."""
    release = BY_NAME["volcano 1.15.1"]
    require_release(release)
    selector, documents = served("volcano", gang)
    jobs = [each for each in documents if each["kind"] == "Job"]
    case = {"configuration": CONFIGURATION, "sessions": 0, "restarted": [], "objects": jobs}
    named = ask(release.program, case)["labels"]
    assert {name for name, labels in named.items() if selector.items() <= labels.items()} == reached
    assert reached < named.keys()


@cache
def workloads(case: Case) -> list[Object]:
    return [each for each in documents(case) if each["kind"] in OPERATED]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_controllers_take_what_is_rendered(backend: str) -> None:
    found = [case for case in distinct(backend) if workloads(case)]
    assert found
    for case in found:
        kinds = {each["kind"] for each in workloads(case)}
        if kinds - BUILT_IN and not (UPSTREAM / "crds").is_dir():
            continue
        answer = made(documents(case))
        assert (str(case), answer.refused) == (str(case), [])
        assert answer.pods or kinds == {"TrainJob"}, case


def test_each_example_of_other_controllers_is_replayed_here() -> None:
    assert {case.example for case in distinct("kai") if workloads(case)} == CONTROLLED


def placed(case: Case, release_name: str) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Pod -> node, and node -> its domain."""
    topology = parse((EXAMPLES / case.example / "topology.yaml").read_text("utf-8"))
    known, release, written = hall(topology), BY_NAME[release_name], documents(case)
    require_release(release)
    found = made(written)
    pods, groups = found.pods, []
    if case.backend == "kai":
        marked = grouped(found)
        assert marked.errors == {}
        pods, groups = marked.pods, marked.groups
    if case.backend == "volcano":  # its controller, which is not here, makes the PodGroups of other pods
        pods = [each for each in pods if GROUP in each["metadata"].get("annotations", {})]
    hidden: list[Any] = [each._replace(body=without_claims(each.body)) for each in members(pods)]
    where = dict(release.scheduler.bind(World(known, list(nodes(known)), hidden, [*written, *groups]), release))
    domains = {name: domain.path for pool in known.pools for domain in pool.domains for name in domain.nodes}
    assert sorted(where) == sorted(each["metadata"]["name"] for each in pods)
    return where, domains


@pytest.mark.parametrize("example", sorted(GANGS))
def test_kai_starts_the_gangs_as_planned(example: str) -> None:
    gangs, depth = GANGS[example]
    where, domains = placed(Case("kai", "0.17", example), "kai 0.17.0")
    for gang in gangs:
        assert len({domains[where[name]][:depth] for name in gang}) == 1


@pytest.mark.parametrize("example", sorted(GANGS))
def test_volcano_starts_the_gangs_as_planned(example: str) -> None:
    """A LeaderWorkerSet for each gang, because an annotation of its template would reach all its groups."""
    gangs, depth = GANGS[example]
    where, domains = placed(Case("volcano", "1.15.1", example), "volcano 1.15.1")
    if example == "vllm":
        gangs = [[f"llama-{n}-0", f"llama-{n}-0-1"] for n in range(2)]
    for gang in gangs:
        assert len({domains[where[name]][:depth] for name in gang}) == 1


def test_kai_starts_the_pods_of_deployments_each_by_itself() -> None:
    assert len(placed(Case("kai", "0.17", "router"), "kai 0.17.0")[0]) == 5
