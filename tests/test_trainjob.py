"""TrainJobs: a runtime of their own, or patches of one that others wrote."""

from __future__ import annotations

from typing import Any

import pytest

from support import TOPOLOGY, WORKER, run, workflow
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
        ({"gang": {"maxRestarts": 1}}, '"failurePolicy"'),
        ({"gang": {"ttlSecondsAfterFinished": 1}}, '"ttlSecondsAfterFinished"'),
        ({"retryOnExitCodes": [9]}, '"podFailurePolicy"'),
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
