"""One workload of each kind that is read, as somebody might write it."""

from __future__ import annotations

import copy
from typing import Any

from tools.data import parse

POD = {"spec": {"containers": [{"name": "main", "image": "i"}]}}
RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 2}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: POD}
"""
TEXTS = {
    "job": "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 4, completions: 4, template: POD}}",
    "jobset": """
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        spec:
          replicatedJobs:
          - {name: leader, template: {spec: {template: POD}}}
          - {name: worker, replicas: 3, template: {spec: {parallelism: 16, completions: 16, template: POD}}}
        """,
    "lws": """
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        spec: {replicas: 2, leaderWorkerTemplate: {size: 8, leaderTemplate: POD, workerTemplate: POD}}
        """,
    "statefulset": """
        apiVersion: apps/v1
        kind: StatefulSet
        spec: {replicas: 5, podManagementPolicy: Parallel, template: POD}
        """,
    "deployment": """
        apiVersion: apps/v1
        kind: Deployment
        spec: {replicas: 5, strategy: {type: Recreate}, template: POD}
        """,
    "pytorchjob": """
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        spec: {pytorchReplicaSpecs: {Worker: {replicas: 7, template: POD}, Master: {template: POD}}}
        """,
    "mpijob": """
        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        spec: {mpiReplicaSpecs: {Launcher: {template: POD}, Worker: {replicas: 4, template: POD}}}
        """,
    "trainjob": """
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainJob
        spec: {runtimeRef: {kind: TrainingRuntime, name: torch}, trainer: {numNodes: 6}}
        """,
    "raycluster": """
        apiVersion: ray.io/v1
        kind: RayCluster
        spec:
          headGroupSpec: {template: POD}
          workerGroupSpecs: [{groupName: gpu, replicas: 4, numOfHosts: 2, template: POD}]
        """,
    "rayjob": """
        apiVersion: ray.io/v1
        kind: RayJob
        spec:
          rayClusterSpec:
            headGroupSpec: {template: POD}
            workerGroupSpecs: [{groupName: gpu, replicas: 3, template: POD}]
        """,
    "volcano-job": """
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        spec: {tasks: [{name: ps, replicas: 2, template: POD}, {replicas: 4, template: POD}]}
        """,
    "pod": "{apiVersion: v1, kind: Pod, spec: {containers: [{name: main, image: i}]}}",
}
"""One workload of each kind. POD stands for a pod template."""

SEATS = {
    "job": ["worker 4"],
    "jobset": ["leader 1", "worker 16 x 3"],
    "lws": ["leader 1", "worker 7"],
    "statefulset": ["worker 5"],
    "deployment": ["worker 5"],
    "pytorchjob": ["master 1", "worker 7"],
    "mpijob": ["launcher 1", "worker 4"],
    "trainjob": ["node 6"],
    "raycluster": ["head 1", "gpu 8"],
    "rayjob": ["head 1", "gpu 3"],
    "volcano-job": ["ps 2", "default1 4"],
    "pod": ["worker 1"],
}


def parsed(text: str) -> Any:
    """The data of a text, with POD filled in."""

    def filled(data: Any) -> Any:
        if isinstance(data, dict):
            return {key: filled(value) for key, value in data.items()}
        if isinstance(data, list):
            return [filled(each) for each in data]
        return copy.deepcopy(POD) if data == "POD" else data

    return filled(parse(text))


def data(kind: str) -> Any:
    """A workload of that kind, called `w`."""
    return {**parsed(TEXTS[kind]), "metadata": {"name": "w"}}
