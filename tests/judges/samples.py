"""Hand-made objects that every judge takes, and edits of them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

Document = dict[str, Any]

CONSTRAINT = {"topology": "hall", "requiredTopologyLevel": "rack", "preferredTopologyLevel": "rack"}
CONTAINER = {
    "name": "worker",
    "image": "pytorch:2",
    "env": [{"name": "A", "value": "1"}],
    "resources": {"limits": {"cpu": "500m", "nvidia.com/gpu": "4"}, "claims": [{"name": "imex"}]},
}
POD_SPEC = {
    "schedulerName": "kai-scheduler",
    "restartPolicy": "Never",
    "containers": [CONTAINER],
    "resourceClaims": [{"name": "imex", "resourceClaimTemplateName": "train-0"}],
}
POD_META = {
    "labels": {"kai.scheduler/subgroup-name": "leaf"},
    "annotations": {"pod-group-name": "train", "kai.scheduler/skip-podgrouper": "true"},
}
JOB_SPEC = {
    "parallelism": 2,
    "completions": 2,
    "completionMode": "Indexed",
    "backoffLimit": 0,
    "template": {"metadata": POD_META, "spec": POD_SPEC},
}

GOOD: dict[str, Document] = {
    "podgroup": {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {
            "queue": "research",
            "minMember": 2,
            "topologyConstraint": CONSTRAINT,
            "subGroups": [{"name": "mid"}, {"name": "leaf", "parent": "mid", "minMember": 2}],
        },
    },
    "topology": {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "hall"},
        "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
    },
    "queue": {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "research"},
        "spec": {"resources": {"gpu": {"quota": -1, "limit": -1, "overQuotaWeight": 1}}},
    },
    "domain": {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "train-0", "namespace": "ml"},
        "spec": {"numNodes": 2, "channel": {"resourceClaimTemplate": {"name": "train-0"}}},
    },
    "claim": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpus", "namespace": "ml"},
        "spec": {
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}
        },
    },
    "pod": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train-0", "namespace": "ml", **POD_META},
        "spec": POD_SPEC,
    },
    "job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": JOB_SPEC,
    },
    "jobset": {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"replicatedJobs": [{"name": "worker", "replicas": 1, "template": {"spec": JOB_SPEC}}]},
    },
    "service": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"clusterIP": "None", "selector": {"app": "train"}},
    },
}

SERVING_POD = {"spec": {"containers": [{"name": "server", "image": "vllm:1"}]}}
MPI_PART = {"replicas": 1, "restartPolicy": "Never", "template": SERVING_POD}

OPERATED: dict[str, Document] = {
    "lws": {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": "ml"},
        "spec": {
            "replicas": 2,
            "startupPolicy": "LeaderCreated",
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxSurge": "50%", "maxUnavailable": 1},
            },
            "leaderWorkerTemplate": {
                "size": 4,
                "subGroupPolicy": {"subGroupSize": 2},
                "leaderTemplate": SERVING_POD,
                "workerTemplate": SERVING_POD,
            },
        },
    },
    "mpijob": {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "bench", "namespace": "ml"},
        "spec": {
            "slotsPerWorker": 4,
            "runPolicy": {"cleanPodPolicy": "Running", "schedulingPolicy": {"minAvailable": 2}},
            "mpiReplicaSpecs": {"Launcher": MPI_PART, "Worker": MPI_PART},
        },
    },
    "trainjob": {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"image": "pytorch:2", "numNodes": 2}},
    },
    "cliques": {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "serve", "namespace": "ml"},
        "spec": {
            "replicas": 1,
            "template": {
                "cliqueStartupType": "CliqueStartupTypeExplicit",
                "cliques": [
                    {"name": name, "spec": {"roleName": name, "replicas": 2, "minAvailable": 1, "podSpec": pod}}
                    for name, pod in (("prefill", SERVING_POD["spec"]), ("decode", SERVING_POD["spec"]))
                ],
                "podCliqueScalingGroups": [{"name": "model", "cliqueNames": ["prefill", "decode"], "replicas": 2}],
            },
        },
    },
}
"""Those of operators that write the pods. Not every environment has their CRDs."""

Edit = tuple[str, Any]
REMOVE = object()


def edited(document: Document, *edits: Edit) -> Document:
    """A copy with values at dotted paths replaced or removed."""
    result = deepcopy(document)
    for path, value in edits:
        *parents, last = [int(part) if part.isdigit() else part.replace("|", ".") for part in path.split(".")]
        place: Any = result
        for part in parents:
            place = place[part]
        if value is REMOVE:
            del place[last]
        else:
            place[last] = value
    return result
