"""Workloads as charts have them, one of each kind: 32 pods that take whole nodes, for tests of what is there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
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


def _ray(pods: int) -> dict[str, Any]:
    workers = {"groupName": "worker", "replicas": pods, "minReplicas": pods, "maxReplicas": pods}
    return {
        "headGroupSpec": {"rayStartParams": {}, "template": template("", gpus=0)},
        "workerGroupSpecs": [{**workers, "rayStartParams": {}, "template": template("")}],
    }


def raycluster(pods: int = 32) -> list[dict[str, Any]]:
    """A head and one group of workers."""
    return [_object("ray.io/v1", "RayCluster", _ray(pods))]


def rayjob(pods: int = 32) -> list[dict[str, Any]]:
    """One that brings its cluster."""
    spec = {"entrypoint": "train", "shutdownAfterJobFinishes": True, "rayClusterSpec": _ray(pods)}
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
    "pytorchjob": pytorchjob,
    "mpijob": mpijob,
    "raycluster": raycluster,
    "rayjob": rayjob,
    "volcano-job": volcano_job,
    "pod": pod,
    "trainjob": trainjob,
}
"""Kind as `model/given.py` calls it -> the objects; the first is the workload."""


def asking(objects: list[dict[str, Any]], **words: str) -> list[dict[str, Any]]:
    """The objects with annotations on the first: `group_size="8"`."""
    made = copy.deepcopy(objects)
    given = {PREFIX + key.replace("_", "-"): value for key, value in words.items()}
    made[0]["metadata"].setdefault("annotations", {}).update(given)
    return made
