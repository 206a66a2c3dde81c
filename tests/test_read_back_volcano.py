"""The way back from Volcano: what PodGroups and Volcano Jobs say is what the plan meant."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, example, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from judges import UPSTREAM, judge_all, targets_for
from oracle import ORACLES
from oracle.intent import UnitIntent
from tools import golden
from tools.effort import examples

VERSIONS = golden.VERSIONS["volcano"]
VOLCANO = ORACLES["volcano"]
REFUSED = {"W301", "F638", "F643", "F616", "F680"}
"""What random workflows may ask for and Volcano does not carry; that it is refused is tested elsewhere."""

slow = settings(
    max_examples=examples(10, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


SINGLE_INSIDE: dict[str, Any] = {
    "apiVersion": "bayplan.dev/v1alpha1",
    "kind": "Workflow",
    "metadata": {"name": "single-inside", "namespace": "ml"},
    "spec": {
        "queue": "research",
        "gangs": [
            {
                "name": "train",
                "rendezvous": "gang",
                "groups": [
                    {
                        "name": "replica",
                        "replicas": 2,
                        "placement": {"preferred": "zone"},
                        "groups": [
                            {
                                "name": "only",
                                "size": 1,
                                "podSets": [{"name": "w", "replicas": 1, "image": "x:1", "command": ["run"]}],
                            }
                        ],
                    }
                ],
            }
        ],
    },
}
"""A placed group that is folded, around a group with one instance, which keeps its number."""


@slow
@given(
    flow=random_workflows.workflows(),
    topology=random_workflows.topologies,
    version=st.sampled_from(VERSIONS),
)
def test_manifests_read_back_as_the_plans_intent(flow: dict[str, Any], topology: dict[str, Any], version: str) -> None:
    check(flow, version, topology)


@slow
@given(flow=random_workflows.workflows(), version=st.sampled_from(VERSIONS))
@example(flow=SINGLE_INSIDE, version="1.14.3")
def test_so_do_volcano_jobs_but_for_the_names_of_what_is_folded(flow: dict[str, Any], version: str) -> None:
    check(as_volcano_jobs(flow), version, nameless=True)


@slow
@given(flow=random_workflows.workflows(elastic=True))
def test_minimums_read_back_too(flow: dict[str, Any]) -> None:
    check(flow, "1.15.1")


def as_volcano_jobs(flow: dict[str, Any]) -> dict[str, Any]:
    """The same workflow in Volcano Jobs."""
    gangs = [{**gang, "workload": "volcano-job"} for gang in flow["spec"]["gangs"]]
    return {**flow, "spec": {**flow["spec"], "gangs": gangs}}


def check(
    flow: dict[str, Any], version: str, topology: dict[str, Any] = random_workflows.TOPOLOGY, nameless: bool = False
) -> None:
    accept = LATE
    result = support.run(flow, topology, scheduler="volcano", target={"volcano": version}, accept=accept)
    event("refused" if REFUSED & set(result.codes) else "read")
    assume(not REFUSED & set(result.codes))
    assert result.compiled is not None, result.diagnostics
    planned = result.compiled.planned
    read = VOLCANO.read(result.documents)
    assert read.diagnostics == ()
    wanted = sorted(VOLCANO.intent(support.of_objects(planned), planned.target), key=lambda gang: gang.name)
    found = list(read.value or ())
    if nameless:
        assert [each._replace(root=UnitIntent("")) for each in found] == [
            each._replace(root=UnitIntent("")) for each in wanted
        ]
        assert [_nameless(each.root) for each in found] == [_nameless(each.root) for each in wanted]
    else:
        assert found == wanted
    pods = list(support.pods(result.documents))
    assert len(pods) == sum(_size(gang.root) for gang in wanted)
    assert max(Counter(pod.name for pod in pods).values()) == 1
    ranked: dict[str, list[int]] = {}
    for pod in pods:
        if pod.env.get("MASTER_ADDR", "localhost") != "localhost":  # each copy of one pod is a job of its own
            ranked.setdefault(pod.env["MASTER_ADDR"], []).append(int(pod.env["NODE_RANK"]))
    assert all(sorted(ranks) == list(range(len(ranks))) for ranks in ranked.values())
    assert set(ranked) <= {pod.host for pod in pods}


def _nameless(unit: UnitIntent) -> tuple[Any, ...]:
    """A unit as so many pods with so many that must start, claiming from these ComputeDomains."""
    pods = (sum(each.replicas for each in unit.pods), sum(each.minimum for each in unit.pods))
    domains = sorted({each.compute_domain for each in unit.pods})
    return unit.required, unit.preferred, unit.minimum, *pods, domains, sorted(map(_nameless, unit.units))


def _size(unit: UnitIntent) -> int:
    return sum(pods.replicas for pods in unit.pods) + sum(map(_size, unit.units))


@pytest.mark.parametrize("kind", ["jobset", "job", "pods", "volcano-job"])
def test_each_subgroup_is_one_group_of_the_plan(kind: str) -> None:
    """Whatever the kind: pods that Volcano takes for one subgroup are those of one group, in the order of ranks."""
    gang = {**support.pretrain(), "workload": kind}
    gang["groups"][0]["computeDomain"] = "never"
    result = support.run(support.workflow(gang), scheduler="volcano", target={"volcano": "1.15.1"})
    assert result.compiled is not None, result.diagnostics
    keys = ("volcano.sh/partition-id",) if kind == "volcano-job" else ("bayplan.dev/group",)
    groups: dict[str, list[int]] = {}
    for pod in support.pods(result.documents):
        groups.setdefault(".".join(pod.labels[key] for key in keys), []).append(int(pod.env["NODE_RANK"]))
    assert sorted(map(sorted, groups.values())) == [list(range(first, first + 16)) for first in (0, 16, 32, 48)]


def volcano_jobs(**changes: Any) -> dict[str, Any]:
    """The 64 pods in a Volcano Job."""
    gang = {**support.pretrain(), "workload": "volcano-job", **changes}
    return support.workflow(gang, queue="research", priorityClassName="high")


LATE = frozenset({"F605"})
"""What Volcano places late or never."""

VARIANTS: dict[str, dict[str, Any]] = {
    "a task each": volcano_jobs(),
    "restarts and the end": volcano_jobs(maxRestarts=2, activeDeadlineSeconds=60, ttlSecondsAfterFinished=5),
    "alone": volcano_jobs(rendezvous="none", preemptible=False),
    "numa": support.workflow(
        {**support.pretrain(numa="restricted", resources={"cpu": "8"}), "workload": "volcano-job"}, queue="research"
    ),
}


@pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason=f"no upstream CRDs at {UPSTREAM}/crds")
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("folded", [False, True])
def test_the_judges_take_volcano_jobs(name: str, folded: bool) -> None:
    flow = copy.deepcopy(VARIANTS[name])
    flow["spec"]["gangs"][0]["groups"][0]["computeDomain"] = "never" if folded else "auto"
    options = {"scheduler": "volcano", "accept": LATE, "cluster_objects": True}
    result = support.run(flow, target={"volcano": "1.15.1"}, **options)
    assert result.compiled is not None, result.diagnostics
    (target, *_) = targets_for({**support.TOPOLOGY["spec"]["versions"], "volcano": "1.15.1"})
    assert judge_all(result.documents, target) == []
    (job,) = result.kinds("Job")
    assert len(job["spec"]["tasks"]) == (1 if folded else 4)


@pytest.mark.parametrize("folded", [False, True])
def test_a_volcano_job_waits_for_all_its_pods(folded: bool) -> None:
    flow = volcano_jobs()
    flow["spec"]["gangs"][0]["groups"][0]["computeDomain"] = "never" if folded else "auto"
    options = {"scheduler": "volcano", "accept": LATE}
    (job,) = support.run(flow, target={"volcano": "1.15.1"}, **options).kinds("Job")
    assert job["spec"]["minAvailable"] == 64
    assert [task["minAvailable"] for task in job["spec"]["tasks"]] == ([64] if folded else [16] * 4)


def test_a_restart_more_than_restarts() -> None:
    """Volcano compares the count before it restarts, and makes 3 of 0."""
    (job,) = support.run(VARIANTS["restarts and the end"], scheduler="volcano", accept=LATE).kinds("Job")
    assert (job["spec"]["maxRetry"], job["spec"]["policies"][0]["action"]) == (3, "RestartJob")
    (job,) = support.run(VARIANTS["a task each"], scheduler="volcano", accept=LATE).kinds("Job")
    assert ("maxRetry" in job["spec"], job["spec"]["policies"][0]["action"]) == (False, "TerminateJob")


def test_pods_without_a_name_to_look_up_have_no_service() -> None:
    (job,) = support.run(VARIANTS["alone"], scheduler="volcano", accept=LATE).kinds("Job")
    assert list(job["spec"]["plugins"]) == ["env"]
    assert job["metadata"]["annotations"] == {"volcano.sh/preemptable": "false", "bayplan.dev/accepted": "F605"}
