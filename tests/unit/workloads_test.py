"""Workloads that others wrote: how many pods of which templates, and why some cannot be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import changed

from bayplan.kube import grove
from bayplan.kube.objects import get
from bayplan.kube.templates import COUNTS, templates_in
from bayplan.kube.workloads import REFUSED, WORKLOADS, read
from bayplan.model.augment import WorkloadTemplates
from bayplan.model.manifest import Object
from workload_kinds import POD, RUNTIME, SEATS, TEXTS, data, parsed

COVERS = {"W500", "W641", "W506", "W508", "W339"}

BESIDE = (Object(("manifest:9",), parsed(RUNTIME)),)


def one(given: Any) -> Object:
    """An object."""
    return Object(("manifest:0",), given)


def templates(kind: str) -> WorkloadTemplates:
    """What is read of the workload of that kind."""
    value, diagnostics = read(one(data(kind)), BESIDE)
    assert value is not None, diagnostics
    assert diagnostics == ()
    return value


@pytest.mark.parametrize("kind", TEXTS)
def test_every_kind_is_read(kind: str) -> None:
    found = templates(kind)
    shown = [f"{s.name} {s.replicas}" + (f" x {s.copies}" if s.copies > 1 else "") for s in found.slots]
    assert (found.kind, shown) == (kind, SEATS[kind])
    assert found.placed.data["metadata"]["name"] == "w"


def test_every_kind_of_the_table_is_tried() -> None:
    tried = {(get(parsed(t), "apiVersion").rpartition("/")[0], get(parsed(t), "kind")) for t in TEXTS.values()}
    assert tried | set(grove.KINDS) == set(WORKLOADS)  # test_grove.py reads Grove's
    assert not set(REFUSED) & set(WORKLOADS)


@pytest.mark.parametrize("kind", TEXTS)
def test_paths_lead_to_the_pod_templates(kind: str) -> None:
    found = templates(kind)
    for slot in found.slots:
        assert get(found.object.data, *slot.path, "spec") == POD["spec"]
        assert slot.job is None or slot.path[: len(slot.job)] == slot.job


@pytest.mark.parametrize(("led", "nodes"), [(True, 5), (False, 6)])
def test_the_launcher_of_an_mpi_runtime_may_be_one_of_the_nodes(led: bool, nodes: int) -> None:
    runtime = changed(parsed(RUNTIME), ("spec", "mlPolicy"), {"numNodes": 1, "mpi": {"runLauncherAsNode": led}})
    launcher = {**runtime["spec"]["template"]["spec"]["replicatedJobs"][0], "name": "launcher"}
    node = {"name": "node", "template": {"spec": {"template": POD}}}
    runtime = changed(runtime, ("spec", "template", "spec", "replicatedJobs"), [launcher, node])
    found = read(one(data("trainjob")), (Object(("manifest:9",), runtime),)).value
    assert found is not None
    assert [(each.name, each.total) for each in found.slots] == [("launcher", 1), ("node", nodes)]


def test_a_runtime_may_leave_its_namespace_to_the_release() -> None:
    mine = {**data("trainjob"), "metadata": {"name": "w", "namespace": "ml"}}
    elsewhere = changed(parsed(RUNTIME), ("metadata", "namespace"), "other")
    assert read(one(mine), BESIDE).value is not None
    assert read(one(mine), (Object(("manifest:9",), elsewhere),)).value is None


@pytest.mark.parametrize("kind", sorted(set(TEXTS) - {"trainjob"}))
def test_lint_counts_the_same_pods(kind: str) -> None:
    found = templates(kind)
    counted = {each.path: each.pods for each in templates_in((found.object,))}
    assert counted == {slot.path: slot.total * found.gangs for slot in found.slots}


SCALED = [
    ("apps/v1", kind, "{spec: {replicas: 3, template: POD}}", [3])
    for kind in ("Deployment", "ReplicaSet", "StatefulSet")
]
TRAINED = [
    (
        "kubeflow.org/v1",
        f"{name}Job",
        f"{{spec: {{{name}ReplicaSpecs: {{Master: {{template: POD}}, Worker: {{replicas: 3, template: POD}}}}}}}}",
        [1, 3],
    )
    for name in ("PyTorch", "TF", "JAX", "Paddle", "XGBoost")
]
COUNTED = [
    ("v1", "Pod", "{spec: {containers: [{name: main}]}}", [1]),
    ("batch/v1", "Job", "{spec: {template: POD}}", [1]),
    ("batch/v1", "Job", "{spec: {parallelism: 4, completions: 3, template: POD}}", [3]),
    ("batch/v1", "CronJob", "{spec: {jobTemplate: {spec: {parallelism: 2, template: POD}}}}", [2]),
    *SCALED,
    (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        "{spec: {replicatedJobs: [{replicas: 3, template: {spec: {parallelism: 2, template: POD}}}]}}",
        [6],
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "{spec: {replicas: 2, leaderWorkerTemplate: {size: 8, leaderTemplate: POD, workerTemplate: POD}}}",
        [2, 14],
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "{spec: {replicas: 2, leaderWorkerTemplate: {size: 8, workerTemplate: POD}}}",
        [16],
    ),
    ("batch.volcano.sh/v1alpha1", "Job", "{spec: {tasks: [{replicas: 2, template: POD}, {template: POD}]}}", [2, 0]),
    *TRAINED,
    (
        "kubeflow.org/v2beta1",
        "MPIJob",
        "{spec: {mpiReplicaSpecs: {Launcher: {template: POD}, Worker: {template: POD}}}}",
        [1, 0],
    ),
    (
        "ray.io/v1",
        "RayCluster",
        "{spec: {headGroupSpec: {template: POD}, workerGroupSpecs: [{replicas: 4, numOfHosts: 2, template: POD}]}}",
        [1, 8],
    ),
    (
        "ray.io/v1",
        "RayJob",
        "{spec: {rayClusterSpec: {headGroupSpec: {template: POD}, workerGroupSpecs: [{replicas: 3, template: POD}]}}}",
        [1, 3],
    ),
    ("example.com/v1", "Farm", "{spec: {replicas: 3, template: POD}}", [None]),
    ("batch/v1", "Job", "{spec: {parallelism: many, template: POD}}", [None]),
    ("batch/v1", "Job", "{spec: {parallelism: -1, template: POD}}", [None]),
    (
        "grove.io/v1alpha1",
        "PodCliqueSet",
        (
            "{spec: {replicas: 2, template: {cliques: [{name: a, spec: {replicas: 3, podSpec: {containers: [{}]}}}, "
            "{name: b, spec: {podSpec: {containers: [{}]}}}], podCliqueScalingGroups: [{name: g, cliqueNames: [b], "
            "replicas: 4}]}}}"
        ),
        [6, 8],
    ),
    (
        "nvidia.com/v1alpha1",
        "DynamoGraphDeployment",
        "{spec: {services: {Front: {}, Decode: {replicas: 2, multinode: {nodeCount: 4}}}}}",
        [1, 2, 6],
    ),
]


@pytest.mark.parametrize(("version", "kind", "text", "pods"), COUNTED)
def test_pods_of_each_kind(version: str, kind: str, text: str, pods: list[int | None]) -> None:
    found = templates_in((one({"apiVersion": version, "kind": kind, **parsed(text)}),))
    assert [each.pods for each in found] == pods


def test_the_pods_of_every_kind_are_counted() -> None:
    assert {(version.rpartition("/")[0], kind) for version, kind, *_ in COUNTED} >= set(COUNTS)


def test_groups_of_a_leader_worker_set_are_gangs() -> None:
    found = templates("lws")
    assert (found.gangs, found.gang_label) == (2, "leaderworkerset.sigs.k8s.io/group-index")
    given = data("lws")
    del given["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    (only,) = (read(one(given)).value or found).slots
    assert (only.name, only.total) == ("worker", 8)


def test_jobs_of_a_replicated_job_are_copies() -> None:
    leader, worker = templates("jobset").slots
    assert leader.job == ("spec", "replicatedJobs", 0, "template")
    assert worker.copy_label == "jobset.sigs.k8s.io/job-index"


def test_a_train_job_is_placed_in_its_runtime() -> None:
    found = templates("trainjob")
    assert found.object is BESIDE[0]
    (slot,) = (read(one(changed(data("trainjob"), ("spec", "trainer"), {})), BESIDE).value or found).slots
    assert slot.total == 2


JOBS = ("spec", "replicatedJobs")
RAY = ("spec", "workerGroupSpecs", 0)
OF_ONE_POD: dict[str, Any] = {"name": "worker", "template": {"spec": {"template": POD}}}


@pytest.mark.parametrize(
    ("kind", "path", "value", "said"),
    [
        pytest.param("job", ("spec", "parallelism"), "four", "W641 spec.parallelism", id="no-number"),
        pytest.param("job", ("spec", "parallelism"), -1, "W641 spec.parallelism", id="negative"),
        pytest.param("job", ("spec", "parallelism"), True, "W641 spec.parallelism", id="boolean"),
        pytest.param("job", ("spec", "parallelism"), 0, "W506 ", id="nothing-to-do"),
        pytest.param("job", ("spec", "template"), None, "W641 spec", id="no-template"),
        pytest.param("job", ("spec", "template"), {"spec": {}}, "W641 spec.template.spec", id="no-containers"),
        pytest.param("job", ("spec",), [], "W641 spec", id="a-list"),
        pytest.param("job", ("metadata",), {"generateName": "w-"}, "W339 metadata", id="generated-name"),
        pytest.param("job", ("metadata", "name"), "w" * 64, "W339 metadata.name", id="long-name"),
        pytest.param("job", ("metadata", "name"), "w\nkind: y", "W339 metadata.name", id="no-name"),
        pytest.param("pod", ("spec", "containers"), ["main"], "W641 spec.containers", id="no-mappings"),
        pytest.param("jobset", (*JOBS, 1, "replicas"), "3", "W641 spec.replicatedJobs.1.replicas", id="text"),
        pytest.param("jobset", (*JOBS, 1, "replicas"), 10**9, "W309 ", id="a-billion"),
        pytest.param("jobset", (*JOBS, 1, "name"), "Worker!", "W339 spec.replicatedJobs.1", id="!"),
        pytest.param("jobset", JOBS, [OF_ONE_POD] * 2, "W339 spec.replicatedJobs.1", id="twice"),
        pytest.param("jobset", ("spec", "replicatedJobs"), {}, "W641 spec", id="no-list"),
        pytest.param("lws", ("spec", "replicas"), {}, "W641 spec.replicas", id="mapping"),
        pytest.param("lws", ("spec", "replicas"), 0, "W506 ", id="no-groups"),
        pytest.param("lws", ("spec", "leaderWorkerTemplate", "size"), 1.5, "W641", id="half-a-pod"),
        pytest.param("volcano-job", ("spec", "minAvailable"), 5, "W506 spec.minAvailable", id="five-of-six"),
        pytest.param("volcano-job", ("spec", "tasks", 1, "minAvailable"), 3, "W506 spec.tasks.1", id="three-of-four"),
        pytest.param(
            "pytorchjob", ("spec", "elasticPolicy"), {"minReplicas": 2}, "W506 spec.elasticPolicy", id="elastic"
        ),
        pytest.param("mpijob", ("spec", "launcherCreationPolicy"), "WaitForWorkersReady", "W506", id="launcher-last"),
        pytest.param("raycluster", ("spec", "enableInTreeAutoscaling"), True, "W506", id="autoscaled"),
        pytest.param(
            "raycluster", (*RAY, "minReplicas"), 1, "W506 spec.workerGroupSpecs.0.minReplicas", id="may-shrink"
        ),
        pytest.param("raycluster", (*RAY, "groupName"), "head", "W339", id="two-heads"),
        pytest.param("raycluster", (*RAY, "numOfHosts"), "2", "W641 spec.workerGroupSpecs.0.numOfHosts", id="hosts"),
        pytest.param("rayjob", ("spec", "clusterSelector"), {"a": "b"}, "W641 spec.clusterSelector", id="elsewhere"),
        pytest.param(
            "trainjob", ("spec", "runtimeRef"), {"name": "torch"}, "W508 spec.runtimeRef", id="of-the-cluster"
        ),
        pytest.param("trainjob", ("spec", "trainer", "numNodes"), "6", "W641 spec.trainer.numNodes", id="nodes"),
    ],
)
def test_what_cannot_be_read_is_said_in_place(kind: str, path: tuple[str | int, ...], value: Any, said: str) -> None:
    found = read(one(changed(data(kind), path, value)), BESIDE).diagnostics
    assert [each.code for each in found] == [said[:4]]
    assert ".".join(map(str, found[0].route[1:])).startswith(said[5:])


@pytest.mark.parametrize(
    ("group", "kind", "code"),
    [
        ("grove.io/v1alpha1", "PodCliqueSet", "W641"),
        ("nvidia.com/v1alpha1", "DynamoGraphDeployment", "W641"),
        ("batch/v1", "CronJob", "W500"),
        ("apps/v1", "DaemonSet", "W500"),
        ("", "", "W500"),
        ("batch/v2/x", "Job", "W500"),
    ],
)
def test_kinds_that_make_no_gang_are_refused(group: str, kind: str, code: str) -> None:
    found = read(one({"apiVersion": group, "kind": kind, "metadata": {"name": "w"}}))
    assert (found.value, [each.code for each in found.diagnostics]) == (None, [code])


def test_a_launcher_that_comes_last_is_no_part_of_the_gang() -> None:
    found = read(one(changed(data("mpijob"), ("spec", "launcherCreationPolicy"), "WaitForWorkersReady")))
    assert found.value is not None
    assert [slot.name for slot in found.value.slots] == ["worker"]
    assert [each.severity for each in found.diagnostics] == ["info"]


def test_a_runtime_that_is_not_for_this_train_job_alone_is_patched() -> None:
    other = Object(("manifest:1",), {**data("trainjob"), "metadata": {"name": "other"}})
    of_all = Object(("manifest:9",), {**parsed(RUNTIME), "kind": "ClusterTrainingRuntime"})
    shared = changed(data("trainjob"), ("spec", "runtimeRef"), {"name": "torch"})
    changes = changed(data("trainjob"), ("spec", "trainer", "resourcesPerNode"), {"limits": {"nvidia.com/gpu": 3}})
    named = Object(("manifest:9",), json.loads(json.dumps(parsed(RUNTIME)).replace('"main"', '"node"')))
    found = read(one(data("trainjob")), BESIDE).value
    assert found
    assert not found.patched
    for job, beside in ((data("trainjob"), (*BESIDE, other)), (shared, (of_all,)), (changes, (named,))):
        found = read(one(job), (*beside, one(job))).value
        assert found
        assert found.patched
    assert "'nvidia.com/gpu': 3" in str(found.object.data)
    grouped = Object(("manifest:9",), changed(parsed(RUNTIME), ("spec", "podGroupPolicy"), {"coscheduling": {}}))
    found = read(one(data("trainjob")), (grouped,)).value
    assert found
    assert found.made == "scheduler-plugins"


@pytest.mark.parametrize(
    ("group", "pods"),
    [
        ({"replicas": 4, "minReplicas": 5}, 5),
        ({"replicas": 4, "maxReplicas": 3}, 3),
        ({"minReplicas": 2}, 2),
        ({"replicas": 4, "suspend": True}, 0),
        ({}, 0),
        ({"replicas": 2, "numOfHosts": 3}, 6),
    ],
)
def test_ray_keeps_workers_within_their_bounds(group: dict[str, Any], pods: int) -> None:
    given = changed(data("raycluster"), RAY, {"groupName": "gpu", "template": POD, **group})
    found = read(one(given)).value
    assert found is not None
    assert sum(slot.total for slot in found.slots) == 1 + pods


def paths(node: Any, here: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every path into some data."""
    yield here
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in children:
        yield from paths(value, (*here, key))


PLACES = [(kind, path) for kind in TEXTS for path in paths(data(kind)) if path]
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), inner, max_size=2)
    ),
    max_leaves=4,
)


@settings(max_examples=400)
@given(st.sampled_from(PLACES), ANYTHING)
def test_nothing_that_stands_anywhere_is_a_crash(place: tuple[str, tuple[str | int, ...]], value: Any) -> None:
    kind, path = place
    found = read(one(changed(data(kind), path, value)), BESIDE)
    assert found.value is not None or any(each.severity == "error" for each in found.diagnostics)
