"""TrainJobs: a runtime of their own, or patches of one that others wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judges import judge
from judges.versions import NEWEST, stored
from support import TOPOLOGY, WORKER, Result, run, workflow
from tools import golden


def _documents(scheduler: str = "kai", /, gang: Any = None, **pods: Any) -> dict[str, Any]:
    """The objects by their kind."""
    one = {"name": "main", "workload": "trainjob", **(gang or {}), "podSets": [{**WORKER, "replicas": 4, **pods}]}
    found = run(workflow(one, queue="research"), scheduler=scheduler)
    assert found.documents, found.diagnostics
    return {each["kind"]: each for each in found.documents}


def _job(made: dict[str, Any]) -> dict[str, Any]:
    (job,) = made["TrainingRuntime"]["spec"]["template"]["spec"]["replicatedJobs"]
    return dict(job)


def test_a_train_job_has_nodes_and_its_runtime_has_the_pods() -> None:
    made = _documents(gang={"maxRestarts": 2, "activeDeadlineSeconds": 60}, env={"A": "b"})
    spec, job = made["TrainJob"]["spec"], _job(made)
    assert spec["runtimeRef"] == {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "train"}
    assert (spec["trainer"]["numNodes"], spec["trainer"]["numProcPerNode"]) == (4, 4)
    assert (spec["activeDeadlineSeconds"], spec["trainer"]["command"]) == (60, ["torchrun"])
    env = {each["name"]: each.get("value") for each in spec["trainer"]["env"]}
    assert (env["A"], env["NNODES"]) == ("b", "4")
    assert [name for name in env if name.startswith("PET_")] == []  # Trainer refuses them, and sets them itself
    assert env["MASTER_ADDR"] == "train-node-0-0.train.$(POD_NAMESPACE).svc.cluster.local"
    assert made["TrainingRuntime"]["spec"]["template"]["spec"]["failurePolicy"] == {"maxRestarts": 2}
    assert job["template"]["metadata"]["labels"] == {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    assert (job["name"], job["replicas"], container["name"]) == ("node", 1, "node")
    assert "activeDeadlineSeconds" not in job["template"]["spec"]


def test_pods_without_gpus_have_one_process() -> None:
    """Trainer would start a process for each CPU."""
    pods = {"name": "worker", "replicas": 2, "image": "x:1", "resources": {"cpu": "8"}, "command": ["torchrun"]}
    found = run(workflow({"name": "main", "workload": "trainjob", "podSets": [pods]}, queue="research"))
    (job,) = found.kinds("TrainJob")
    assert job["spec"]["trainer"]["numProcPerNode"] == 1


def test_groups_of_ranks_are_nodes_of_one_train_job() -> None:
    groups = [{"name": "pair", "size": 2, "placement": {"required": "rack"}, "podSets": [{**WORKER, "replicas": 8}]}]
    gang = {"name": "main", "workload": "trainjob", "placement": {"required": "spine"}, "groups": groups}
    gang["computeDomain"] = "never"
    found = run(workflow(gang, queue="research"), scheduler="kueue")
    made = {each["kind"]: each for each in found.documents}
    assert made["TrainJob"]["spec"]["trainer"]["numNodes"] == 8, found.diagnostics
    assert _job(made)["template"]["spec"]["parallelism"] == 8
    annotations = _job(made)["template"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["kueue.x-k8s.io/podset-slice-size"] == "2"


NAMED = {"trainer": {"runtime": "torch-distributed"}, "computeDomain": "never"}


def test_a_runtime_of_others_gets_patches() -> None:
    made = _documents("kueue", gang={**NAMED, "placement": {"required": "rack"}}, shm="1Gi")
    assert "TrainingRuntime" not in made
    spec = made["TrainJob"]["spec"]
    assert spec["runtimeRef"]["kind"] == "ClusterTrainingRuntime"
    assert spec["trainer"]["resourcesPerNode"]["limits"] == {"nvidia.com/gpu": "4"}
    (patch,) = spec["runtimePatches"]
    (job,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = job["template"]["spec"]["template"]
    assert pod["metadata"]["annotations"] == {"kueue.x-k8s.io/podset-required-topology": "nvidia.com/gpu.clique"}
    assert pod["spec"]["containers"] == [{"name": "node", "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}]


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({"gang": {"maxRestarts": 1}}, '"maxRestarts"'),
        ({"gang": {"ttlSecondsAfterFinished": 1}}, '"ttlSecondsAfterFinished"'),
        ({"retryOnExitCodes": [9]}, '"retryOnExitCodes"'),
        ({"restartGangOnExitCodes": [9]}, '"restartGangOnExitCodes"'),
        ({"ports": {"http": 80}}, '"ports"'),
        ({"template": {"spec": {"hostIPC": True}}}, '"hostIPC"'),
        (
            {"template": {"spec": {"containers": [{"name": "worker"}, {"name": "log", "image": "x"}]}}},
            '"containers: log"',
        ),
    ],
)
def test_what_no_patch_can_set_is_an_error(changes: dict[str, Any], lost: str) -> None:
    pods = {**WORKER, "replicas": 4, **{key: value for key, value in changes.items() if key != "gang"}}
    gang = {"name": "main", "workload": "trainjob", **NAMED, **changes.get("gang", {}), "podSets": [pods]}
    found = run(workflow(gang, queue="research"), scheduler="kueue")
    (message,) = (each.message for each in found.diagnostics if each.code == "F782")
    assert lost in message
    own = {key: value for key, value in gang.items() if key != "trainer"}
    assert run(workflow(own, queue="research"), scheduler="kueue").documents  # the way out of the hint


def test_a_grace_period_takes_trainer_2_3() -> None:
    pods = {**WORKER, "replicas": 4, "template": {"spec": {"terminationGracePeriodSeconds": 60}}}
    gang = {"name": "main", "workload": "trainjob", **NAMED, "podSets": [pods]}
    for version, codes in (("2.2", {"F782"}), ("2.3", set())):
        found = run(workflow(gang, queue="research"), TOPOLOGY, scheduler="kueue", target={"trainer": version})
        assert {each.code for each in found.diagnostics if each.severity == "error"} == codes


@pytest.mark.parametrize("scheduler", ["kai", "kueue", "volcano", "koordinator", "native", "none"])
def test_schedulers_that_carry_train_jobs_have_a_golden(scheduler: str) -> None:
    case = next(each for each in reversed(golden.cases()) if (each.backend, each.example) == (scheduler, "train-job"))
    assert {"TrainJob", "TrainingRuntime"} <= {each["kind"] for each in golden.documents(case)}


# --- Older releases of Trainer ---------------------------------------------------------------------------------------

VERSIONS = ("2.0", "2.1", "2.2", "2.3")
KUEUE = {"2.1": "0.16", "2.2": "0.17", "2.3": "0.19"}
"""Trainer -> a Kueue that starts its TrainJobs."""

LIMITED = {"maxRestarts": 2, "activeDeadlineSeconds": 60}


def _made(scheduler: str, gang: Any, pods: Any = (), **target: str) -> Result:
    one = {"name": "main", "workload": "trainjob", **gang, "podSets": [{**WORKER, "replicas": 4, **dict(pods)}]}
    return run(workflow(one, queue="research"), scheduler=scheduler, target=target)


def _accepted(found: Result, version: str) -> dict[str, Any]:
    """The objects by their kind, which the CRDs of that Trainer take."""
    assert [each for each in found.diagnostics if each.severity == "error"] == []
    written = json.loads(json.dumps(found.documents))
    if stored("trainer", version):
        judged = {"TrainJob", "TrainingRuntime"}
        complaints = [judge(each, {**NEWEST, "trainer": version}) for each in written if each["kind"] in judged]
        assert all(each == [] for each in complaints), complaints
    return {each["kind"]: each for each in written}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_runtime_of_its_own_holds_what_older_train_jobs_lack(version: str) -> None:
    made = _accepted(_made("kai", LIMITED, trainer=version), version)
    late = version >= "2.2"
    assert ("activeDeadlineSeconds" in made["TrainJob"]["spec"]) is late
    assert ("activeDeadlineSeconds" in _job(made)["template"]["spec"]) is not late
    policy = made["TrainingRuntime"]["spec"]["template"]["spec"]["failurePolicy"]
    assert [each["action"] for each in policy.get("rules", ())] == ([] if late else ["FailJobSet"])


@pytest.mark.parametrize("version", KUEUE)
def test_a_runtime_of_others_gets_the_changes_that_its_trainer_knows(version: str) -> None:
    pods = {"shm": "1Gi", "serviceAccount": "trainer", "imagePullSecrets": ["registry"]}
    gang = {**NAMED, "placement": {"required": "rack"}}
    spec = _accepted(_made("kueue", gang, pods, trainer=version, kueue=KUEUE[version]), version)["TrainJob"]["spec"]
    if version == "2.1":
        (change,) = spec["podTemplateOverrides"]
        assert change.pop("targetJobs") == [{"name": "node"}]
    else:
        (patch,) = spec["runtimePatches"]
        (part,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
        change = part["template"]["spec"]["template"]
    assert change["metadata"]["annotations"] == {"kueue.x-k8s.io/podset-required-topology": "nvidia.com/gpu.clique"}
    assert change["spec"]["serviceAccountName"] == "trainer"
    assert change["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert change["spec"]["containers"][0]["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]


def test_trainer_2_0_changes_the_spec_of_pods_alone() -> None:
    spec = _accepted(_made("none", NAMED, {"shm": "1Gi"}, trainer="2.0"), "2.0")["TrainJob"]["spec"]
    (change,) = spec["podSpecOverrides"]
    assert (sorted(change), change["targetJobs"]) == (["containers", "targetJobs", "volumes"], [{"name": "node"}])


@pytest.mark.parametrize(
    ("version", "gang", "pods", "lost"),
    [
        ("2.0", {"placement": {"required": "rack"}}, {}, '"affinity"'),
        ("2.0", {}, {"imagePullSecrets": ["registry"]}, '"imagePullSecrets"'),
        ("2.0", {"service": {}}, {"ports": {"http": 80}}, '"bayplan.dev/gang"'),
        ("2.0", {"activeDeadlineSeconds": 60}, {}, '"activeDeadlineSeconds"'),
        ("2.1", {"activeDeadlineSeconds": 60}, {}, '"activeDeadlineSeconds"'),
        ("2.1", {}, {"template": {"spec": {"securityContext": {"runAsUser": 7}}}}, '"securityContext"'),
    ],
)
def test_what_an_older_train_job_cannot_set_is_an_error(version: str, gang: Any, pods: Any, lost: str) -> None:
    refused = _made("none", {**NAMED, **gang}, pods, trainer=version)
    (message,) = (each.message for each in refused.diagnostics if each.code == "F782")
    assert lost in message
    assert _made("none", {"computeDomain": "never", **gang}, pods, trainer=version).documents  # the way out of the hint


@pytest.mark.parametrize(
    ("kueue", "version", "starts"),
    [
        ("0.14", "2.1", False),
        ("0.14.8", "2.1", True),
        ("0.16", "2.0", False),
        ("0.16", "2.1", True),
        ("0.16", "2.2", False),
        ("0.17", "2.1", False),
        ("0.17", "2.2", True),
        ("0.19", "2.3", True),
    ],
)
def test_kueue_starts_train_jobs_of_the_trainer_that_it_was_built_with(kueue: str, version: str, starts: bool) -> None:
    refused = [
        each.code for each in _made("kueue", {}, kueue=kueue, trainer=version).diagnostics if each.code == "F740"
    ]
    assert refused == ([] if starts else ["F740"])
