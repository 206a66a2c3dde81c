"""The way back: what workloads for Kueue say is what the plan meant, less what fidelity said is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from bayplan.backends.table import table
from bayplan.model.backend import FEATURES
from judges import kueue as judge
from oracle import ORACLES
from oracle.intent import UnitIntent, gang_intent
from tools import golden
from tools.effort import examples

KUEUE = ORACLES["kueue"]
VERSIONS = golden.VERSIONS["kueue"]
ACCEPTED = frozenset(each.code for each in (*FEATURES.values(), *table("backends", "kueue").features.values()))
UNTOLD = {"W301", "F616"}  # names that meet; bare pods of several podSets, which Kueue tells apart by requests alone
SPINE, RACK = "example.com/spine", "nvidia.com/gpu.clique"

slow = settings(
    max_examples=examples(12, 100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@slow
@given(flow=random_workflows.workflows(), version=st.sampled_from(VERSIONS))
def test_workloads_read_back_as_the_plans_intent(flow: dict[str, Any], version: str) -> None:
    """With every gap accepted: what is dropped is dropped on both sides, and nothing else is."""
    result = run(flow, version, accept=ACCEPTED)
    assume(result.compiled is not None and not UNTOLD & set(result.codes))
    agree(result)


def run(flow: dict[str, Any], version: str = "0.19", **request: Any) -> support.Result:
    return support.run(flow, random_workflows.TOPOLOGY, scheduler="kueue", target={"kueue": version}, **request)


def agree(result: support.Result) -> None:
    """What is read is what was planned, and so many pods; the judge has nothing to say."""
    assert result.compiled, result.diagnostics
    planned = result.compiled.planned
    read = KUEUE.read(result.documents)
    assert read.diagnostics == ()
    wanted = sorted(KUEUE.intent(planned.plan, planned.target), key=lambda gang: gang.name)
    assert list(read.value or ()) == wanted
    assert len(list(support.pods(result.documents))) == sum(_size(gang.root) for gang in wanted)


def _size(unit: UnitIntent) -> int:
    return sum(pods.replicas for pods in unit.pods) + sum(map(_size, unit.units))


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    """A gang of one podSet: groups in groups, each on a finer level or on none."""
    floor, node = 2, {"podSets": [{**support.WORKER, "replicas": draw(st.integers(1, 3))}]}
    for depth in range(draw(st.integers(0, 3))):
        level = draw(st.none() | st.integers(0, floor)) if floor >= 0 else None
        group = {"name": f"g{depth}", "replicas": draw(st.integers(1, 3)), **node}
        if level is not None:
            group["placement"] = {"required": random_workflows.LEVELS[level]}
            floor = level - 1
        node = {"groups": [group]}
    gang = {
        "name": "train",
        "workload": draw(st.sampled_from(["auto", "job", "pods"])),
        "computeDomain": "never",
        **node,
    }
    word = draw(st.sampled_from(["required", "preferred", ""])) if floor >= 0 else ""
    if word:
        gang["placement"] = {word: random_workflows.LEVELS[draw(st.integers(0, floor))]}
    return {**gang, "rendezvous": draw(st.sampled_from(["gang", "group", "none"]))}


@slow
@given(gang=trees())
def test_groups_of_one_pod_set_are_carried_whole(gang: dict[str, Any]) -> None:
    """The tree that is read back is the plan's own tree: nothing is lost, whatever the kind of workload."""
    result = run(support.workflow(gang, queue="research"))
    assert result.compiled, result.diagnostics
    agree(result)
    (plan,) = result.compiled.planned.plan.gangs
    (read,) = KUEUE.read(result.documents).value or ()
    neutral = gang_intent(result.compiled.planned.plan, plan).root
    assert bare(read.root) == bare(neutral)
    assert [each for document in result.documents for each in judge.judge(document, {"kueue": "0.19"})] == []


Shape = tuple[str, str, int, tuple[Any, ...]]


def bare(unit: UnitIntent) -> Shape:
    """A tree of placements and pods without names. Units without a placement are as good as none."""
    return _shape("", "", *_hoisted(unit, outer=True))


def _shape(required: str, preferred: str, pods: int, units: list[Shape]) -> Shape:
    """A placement that holds nothing but another of the same pods is said by either; one that says nothing by none."""
    if not pods and len(units) == 1 and not required and not preferred:
        return units[0]
    return required, preferred, pods, tuple(sorted(units))


def _hoisted(unit: UnitIntent, outer: bool = False) -> tuple[int, list[Shape]]:
    """Pods and placed units of a unit; its own placement makes one placed unit of them."""
    pods, units = sum(each.replicas for each in unit.pods), []
    for child in unit.units:
        more, placed = _hoisted(child)
        pods, units = pods + more, [*units, *placed]
    if unit.required or unit.preferred:
        return 0, [_shape(unit.required, unit.preferred, pods, units)]
    return pods, units


GROUP = {"name": "replica", "replicas": 4, "placement": {"required": "rack"}, "podSets": [support.WORKER]}
NESTED = {"name": "half", "replicas": 2, "placement": {"required": "rack"}, "groups": [{**GROUP, "replicas": 2}]}
ROLES = [{**support.WORKER, "name": "lead", "replicas": 1}, {**support.WORKER, "replicas": 3}]


def annotations(flow: dict[str, Any], version: str = "0.19", **request: Any) -> list[dict[str, str]]:
    """Kueue's annotations on each pod template."""
    result = run(flow, version, **request)
    assert result.compiled, result.diagnostics
    jobs = [job["template"] for each in result.kinds("JobSet") for job in each["spec"]["replicatedJobs"]]
    templates = [job["spec"]["template"] for job in (*jobs, *result.kinds("Job"))]
    prefix = "kueue.x-k8s.io/podset-"
    found = [each["metadata"].get("annotations", {}) for each in templates]
    return [{key.removeprefix(prefix): own[key] for key in own if key.startswith(prefix)} for own in found]


@pytest.mark.parametrize(
    ("gang", "expected"),
    [
        ({"podSets": [support.WORKER]}, [{}]),
        ({"placement": {"required": "spine"}, "podSets": [support.WORKER]}, [{"required-topology": SPINE}]),
        ({"placement": {"preferred": "rack"}, "podSets": [support.WORKER]}, [{"preferred-topology": RACK}]),
        ({"groups": [GROUP]}, [{"slice-required-topology": RACK, "slice-size": "16"}]),
        ({"groups": [{**GROUP, "replicas": 1}]}, [{"required-topology": RACK}]),
        (
            {"placement": {"preferred": "spine"}, "groups": [GROUP]},
            [{"preferred-topology": SPINE, "slice-required-topology": RACK, "slice-size": "16"}],
        ),
        (  # a slice at or above the level of the podSet
            {"placement": {"preferred": "rack"}, "groups": [{**GROUP, "placement": {"required": "spine"}}]},
            [{"slice-required-topology": SPINE, "slice-size": "16"}],
        ),
        ({"placement": {"required": "rack"}, "groups": [GROUP]}, [{"required-topology": RACK}]),
        (  # a group in a group on one level
            {"placement": {"required": "spine"}, "groups": [NESTED]},
            [{"required-topology": SPINE, "slice-required-topology": RACK, "slice-size": "32"}],
        ),
        (
            {"placement": {"required": "rack"}, "podSets": ROLES},
            [{"required-topology": RACK, "group-name": "train-lead"}] * 2,
        ),
        (
            {"placement": {"required": "spine"}, "groups": [{**GROUP, "replicas": 1, "podSets": ROLES}]},
            [{"required-topology": RACK, "group-name": "train-replica-0-lead"}] * 2,
        ),
        (
            {"groups": [GROUP, {**GROUP, "name": "other", "replicas": 1}]},
            [{"slice-required-topology": RACK, "slice-size": "16"}, {"required-topology": RACK}],
        ),
        (
            {"groups": [{"name": "half", "replicas": 2, "placement": {"required": "spine"}, "groups": [GROUP]}]},
            [
                {
                    "slice-required-topology-constraints": f'[{{"topology":"{SPINE}","size":64}},'
                    f'{{"topology":"{RACK}","size":16}}]'
                }
            ],
        ),
    ],
)
def test_annotations(gang: dict[str, Any], expected: list[dict[str, str]]) -> None:
    assert annotations(support.workflow({"name": "train", **gang}, queue="research")) == expected


def test_a_workload_priority_class_is_a_label() -> None:
    gang = {"name": "train", "podSets": [support.WORKER], "backends": {"kueue": {"priorityClass": "batch"}}}
    (job_set,) = run(support.workflow(gang, queue="research")).kinds("JobSet")
    assert job_set["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "batch"
    assert job_set["spec"]["suspend"] is True


def test_bare_pods_are_numbered_over_all_groups() -> None:
    gang = {"name": "train", "workload": "pods", "rendezvous": "group", "groups": [GROUP]}
    pods = run(support.workflow(gang, queue="research")).kinds("Pod")
    labels = [each["metadata"]["labels"] for each in pods]
    assert [each["kueue.x-k8s.io/pod-group-pod-index"] for each in labels] == [str(n) for n in range(64)]
    assert {each["kueue.x-k8s.io/pod-group-name"] for each in labels} == {"train"}
    counts = {each["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] for each in pods}
    assert counts == {"64"}


def test_copies_of_a_gang_are_workloads_of_their_own() -> None:
    gang = {"name": "train", "replicas": 2, "groups": [GROUP]}
    result = run(support.workflow(gang, queue="research"))
    agree(result)
    assert len(result.kinds("JobSet")) == len(result.kinds("ComputeDomain")) == 2


def test_the_way_back_of_foreign_work_knows_it_by_its_own_name() -> None:
    template = {"metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": RACK}}, "spec": {}}
    metadata = {"name": "j", "namespace": "ml", "labels": {"kueue.x-k8s.io/queue-name": "research"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"parallelism": 4, "template": template},
    }
    (gang,) = KUEUE.read([job, {**job, "metadata": {"name": "other"}}]).value or ()
    assert (gang.name, gang.queue, gang.root.units[0].required, _size(gang.root)) == ("j", "research", RACK, 4)


def test_thousands_of_groups_that_do_not_fold_are_refused_in_time() -> None:
    """Each is a podSet of its own, and a Workload holds 18."""
    replica = {"name": "replica", "size": 3, "placement": {"required": "rack"}}
    gang = {"name": "train", "placement": {"preferred": "spine"}, "computeDomain": "never"}
    worker = {"name": "worker", "replicas": 6001, "resources": {"cpu": "1"}, "image": "x", "command": ["x"]}
    flow = support.workflow({**gang, "groups": [{**replica, "podSets": [worker]}]}, queue="research")
    result = run(flow)
    assert {"F616", "F639"} <= set(result.codes)
