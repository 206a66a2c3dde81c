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
