"""Workloads as charts have them, one of each kind: 32 pods that take whole nodes, for tests of what is there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

PREFIX = "bayplan.dev/"
NAME = "llama"


def container(gpus: int = 4) -> dict[str, Any]:
    """One that takes the cards of a node."""
    cards = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    asked = {"cpu": "32", "memory": "64Gi", **cards}
    limits = {"memory": "64Gi", **cards}
    return {
        "name": "main",
        "image": "registry.example.com/train:1",
        "command": ["train"],
        "resources": {"requests": asked, "limits": limits},
    }


def template(restart: str = "Never", gpus: int = 4) -> dict[str, Any]:
    """A pod template."""
    policy = {"restartPolicy": restart} if restart else {}
    return {
        "metadata": {"labels": {"app": NAME}},
        "spec": {**policy, "containers": [container(gpus)]},
    }


def _object(api: str, kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": NAME, "namespace": "ml"}, "spec": dict(spec)}


def _job_spec(pods: int, restart: str = "Never") -> dict[str, Any]:
    return {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template(restart)}


def job(pods: int = 32) -> list[dict[str, Any]]:
    """An Indexed Job."""
    return [_object("batch/v1", "Job", _job_spec(pods))]


def jobset(pods: int = 32) -> list[dict[str, Any]]:
    """Jobs of 8 pods, all of one replicatedJob."""
    each = min(pods, 8)
    jobs = [{"name": "worker", "replicas": pods // each, "template": {"spec": _job_spec(each)}}]
    return [_object("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})]


def lws(pods: int = 32) -> list[dict[str, Any]]:
    """One group; its leader is made of the workers' template."""
    spec = {"replicas": 1, "leaderWorkerTemplate": {"size": pods, "workerTemplate": template("")}}
    return [_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)]


def statefulset(pods: int = 32) -> list[dict[str, Any]]:
    """Its pods start all at once."""
    spec = {
        "replicas": pods,
        "serviceName": NAME,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": NAME}},
        "template": template(""),
    }
    return [_object("apps/v1", "StatefulSet", spec)]


def deployment(pods: int = 32) -> list[dict[str, Any]]:
    """One whose rollouts stop all pods first."""
    spec = {
        "replicas": pods,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": {"app": NAME}},
        "template": template(""),
    }
    return [_object("apps/v1", "Deployment", spec)]


def pytorchjob(pods: int = 32) -> list[dict[str, Any]]:
    """Workers alone."""
    specs = {"Worker": {"replicas": pods, "restartPolicy": "OnFailure", "template": template("")}}
    return [_object("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": specs})]


def mpijob(pods: int = 32) -> list[dict[str, Any]]:
    """Workers, and a launcher that waits for them: it is no part of the gang."""
    specs = {
        "Launcher": {"replicas": 1, "template": template("OnFailure", gpus=0)},
        "Worker": {"replicas": pods, "template": template("")},
    }
    spec = {"launcherCreationPolicy": "WaitForWorkersReady", "mpiReplicaSpecs": specs}
    return [_object("kubeflow.org/v2beta1", "MPIJob", spec)]


def _ray(pods: int, head: int) -> dict[str, Any]:
    led = template("", gpus=head)
    led["spec"]["containers"][0]["name"] = "head"
    workers = {"groupName": "worker", "replicas": pods, "minReplicas": pods, "maxReplicas": pods}
    return {
        "headGroupSpec": {"rayStartParams": {}, "template": led},
        "workerGroupSpecs": [{**workers, "rayStartParams": {}, "template": template("")}],
    }


def raycluster(pods: int = 32, head: int = 4) -> list[dict[str, Any]]:
    """A head, with so many cards, and one group of workers."""
    return [_object("ray.io/v1", "RayCluster", _ray(pods, head))]


def rayjob(pods: int = 32, head: int = 4) -> list[dict[str, Any]]:
    """One that brings its cluster."""
    spec = {"entrypoint": "train", "shutdownAfterJobFinishes": True, "rayClusterSpec": _ray(pods, head)}
    return [_object("ray.io/v1", "RayJob", spec)]


def volcano_job(pods: int = 32) -> list[dict[str, Any]]:
    """One task."""
    tasks = [{"name": "worker", "replicas": pods, "template": template()}]
    return [_object("batch.volcano.sh/v1alpha1", "Job", {"tasks": tasks})]


def pod(pods: int = 1) -> list[dict[str, Any]]:
    """A Pod alone."""
    made = template()
    made["metadata"] |= {"name": NAME, "namespace": "ml"}
    return [{"apiVersion": "v1", "kind": "Pod", **made}]


def trainjob(pods: int = 32) -> list[dict[str, Any]]:
    """A TrainJob, and the runtime of its own that has its pod template."""
    node = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": _job_spec(pods)}
    node["spec"]["template"]["spec"]["containers"][0]["name"] = "node"
    jobs = [{"name": "node", "replicas": 1, "template": node}]
    runtime = _object(
        "trainer.kubeflow.org/v1alpha1",
        "TrainingRuntime",
        {"mlPolicy": {"numNodes": pods}, "template": {"spec": {"replicatedJobs": jobs}}},
    )
    spec = {"runtimeRef": {"kind": "TrainingRuntime", "name": NAME}}
    return [_object("trainer.kubeflow.org/v1alpha1", "TrainJob", spec), runtime]


KINDS: Mapping[str, Callable[..., list[dict[str, Any]]]] = {
    "job": job,
    "jobset": jobset,
    "lws": lws,
    "statefulset": statefulset,
    "deployment": deployment,
    "pytorchjob": pytorchjob,
    "mpijob": mpijob,
    "raycluster": raycluster,
    "rayjob": rayjob,
    "volcano-job": volcano_job,
    "pod": pod,
    "trainjob": trainjob,
}
"""Kind as `model/existing.py` calls it -> the objects; the first is the workload."""


def asking(objects: list[dict[str, Any]], **words: str) -> list[dict[str, Any]]:
    """The objects with annotations on the first: `group_size="8"`."""
    made = copy.deepcopy(objects)
    given = {PREFIX + key.replace("_", "-"): value for key, value in words.items()}
    made[0]["metadata"].setdefault("annotations", {}).update(given)
    return made


# --- the pods that the controllers make -------------------------------------------------------------------------------


def pods(objects: list[Any]) -> list[dict[str, Any]]:
    """The pods of the first object, called and labelled as its controller does: what a scheduler sees."""
    one = objects[0]
    made = PODS[one["kind"], one["apiVersion"].rpartition("/")[0]](one, objects)
    return [_pod(one, *each) for each in made]


Made = Iterator[tuple[str, Mapping[str, Any], Mapping[str, str]]]
"""Name after the workload's, template, labels that the controller writes."""


def _pod(one: Any, name: str, made: Any, labels: Mapping[str, str]) -> dict[str, Any]:
    own = copy.deepcopy(dict(made.get("metadata") or {}))
    metadata = {**own, "name": one["metadata"]["name"] + name, "namespace": one["metadata"].get("namespace", "")}
    metadata["labels"] = {**own.get("labels", {}), **labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}


def _of_job(one: Any, _: list[Any]) -> Made:
    return ((f"-{n}-x5k2p", one["spec"]["template"], {}) for n in range(one["spec"]["parallelism"]))


def _of_jobset(one: Any, _: list[Any]) -> Made:
    return _of_replicated(one["spec"]["replicatedJobs"])


def _of_replicated(jobs: list[Any], nodes: int | None = None) -> Made:
    for each in jobs:
        inner = each["template"]["spec"]
        for number in range(each.get("replicas", 1)):
            for index in range(inner["parallelism"] if nodes is None else nodes):
                labels = {"jobset.sigs.k8s.io/job-index": str(number)}
                yield f"-{each['name']}-{number}-{index}-x5k2p", inner["template"], labels


def _of_train_job(_: Any, objects: list[Any]) -> Made:
    spec = next(each["spec"] for each in objects if each["kind"] == "TrainingRuntime")
    return _of_replicated(spec["template"]["spec"]["replicatedJobs"], spec["mlPolicy"]["numNodes"])


def _of_lws(one: Any, _: list[Any]) -> Made:
    inner = one["spec"]["leaderWorkerTemplate"]
    for group in range(one["spec"]["replicas"]):
        labels = {"leaderworkerset.sigs.k8s.io/group-index": str(group)}
        yield f"-{group}", inner.get("leaderTemplate", inner["workerTemplate"]), labels
        yield from ((f"-{group}-{n}", inner["workerTemplate"], labels) for n in range(1, inner["size"]))


def _of_stateful_set(one: Any, _: list[Any]) -> Made:
    return ((f"-{n}", one["spec"]["template"], {}) for n in range(one["spec"]["replicas"]))


def _of_deployment(one: Any, _: list[Any]) -> Made:
    return ((f"-5d4f8-{n:05}", one["spec"]["template"], {}) for n in range(one["spec"]["replicas"]))


def _of_kubeflow(one: Any, _: list[Any]) -> Made:
    specs = one["spec"].get("pytorchReplicaSpecs") or one["spec"]["mpiReplicaSpecs"]
    late = one["spec"].get("launcherCreationPolicy") == "WaitForWorkersReady"
    for role, spec in specs.items():
        if role != "Launcher" or not late:
            yield from ((f"-{role.lower()}-{n}", spec["template"], {}) for n in range(spec["replicas"]))


def _of_ray(one: Any, _: list[Any]) -> Made:
    spec = one["spec"].get("rayClusterSpec", one["spec"])
    yield "-head-x5k2p", spec["headGroupSpec"]["template"], {}
    for group in spec["workerGroupSpecs"]:
        names = (f"-{group['groupName']}-worker-{n:05}" for n in range(group["replicas"]))
        yield from ((name, group["template"], {}) for name in names)


def _of_volcano_job(one: Any, _: list[Any]) -> Made:
    for task in one["spec"]["tasks"]:
        yield from ((f"-{task['name']}-{n}", task["template"], {}) for n in range(task["replicas"]))


PODS: Mapping[tuple[str, str], Callable[[Any, list[Any]], Made]] = {
    ("Job", "batch"): _of_job,
    ("JobSet", "jobset.x-k8s.io"): _of_jobset,
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io"): _of_lws,
    ("StatefulSet", "apps"): _of_stateful_set,
    ("Deployment", "apps"): _of_deployment,
    ("PyTorchJob", "kubeflow.org"): _of_kubeflow,
    ("MPIJob", "kubeflow.org"): _of_kubeflow,
    ("RayCluster", "ray.io"): _of_ray,
    ("RayJob", "ray.io"): _of_ray,
    ("Job", "batch.volcano.sh"): _of_volcano_job,
    ("TrainJob", "trainer.kubeflow.org"): _of_train_job,
    ("Pod", ""): lambda one, _: iter([("", one, {})]),
}
