"""What slurm-bridge's admission refuses, what SUNK's Pod Scheduler documents to refuse, and the PodGroup that
slurm-bridge borrows.

Sources: slurm-bridge internal/admission/admission.go and internal/utils/slurmjobir at v1.0.5, v1.1.2 and v1.2.1;
scheduler-plugins config/crd/bases/scheduling.x-k8s.io_podgroups.yaml at v0.33 (its CRD is not stored with the others);
docs.coreweave.com, "Schedule Kubernetes Pods with the SUNK Pod Scheduler".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Document = Mapping[str, Any]

BRIDGE, JOB = "slurm-bridge-scheduler", "slurmjob.slinky.slurm.net/"
WHOLE_NUMBERS = ("max-nodes", "min-nodes", "priority", "timelimit")
KEYS = frozenset(
    [
        *("account", "constraints", "cpu-per-task", "exclusive", "gres", "group-id", "job-name", "licenses"),
        *("mem-per-node", "partition", "qos", "reservation", "user-id", "wckey", *WHOLE_NUMBERS),
    ]
)
SUNK = "tenant-slurm-slurm-scheduler"


def borrowed(document: Document) -> bool:
    """Whether this is the PodGroup of scheduler-plugins."""
    return (document["apiVersion"], document["kind"]) == ("scheduling.x-k8s.io/v1alpha1", "PodGroup")


def pod_group(document: Document) -> list[str]:
    """The CRD: three fields, of which one is a number of at least 1."""
    spec = document.get("spec") or {}
    known = {"minMember", "minResources", "scheduleTimeoutSeconds"}
    least = spec.get("minMember", 1)
    return [
        *(f"spec: {key!r} was unexpected" for key in spec if key not in known),
        *([] if isinstance(least, int) and 1 <= least < 2**31 else [f"minMember: {least!r}"]),
        *(f"{key!r} was unexpected" for key in document if key not in {"apiVersion", "kind", "metadata", "spec"}),
    ]


def judge(document: Document) -> list[str]:
    """Complaints about PodGroups' annotations, and about pods that either scheduler gets."""
    found = list(annotations(document)) if document["kind"] == "PodGroup" else []
    for pod in templates(document):
        spec = pod.get("spec") or {}
        if spec.get("schedulerName") == BRIDGE:
            found += bridge(pod, spec)
        if spec.get("schedulerName") == SUNK:
            found += sunk(spec)
    return found


def templates(value: Any) -> Iterator[Document]:
    """Everything with containers."""
    if isinstance(value, Mapping):
        if isinstance(value.get("spec"), Mapping) and "containers" in value["spec"]:
            yield value
        for below in value.values():
            yield from templates(below)
    elif isinstance(value, list):
        for below in value:
            yield from templates(below)


def annotations(document: Document) -> Iterator[str]:
    """Known, and numbers where numbers are parsed (`parseAnnotations`)."""
    for key, value in ((document.get("metadata") or {}).get("annotations") or {}).items():
        suffix = key.removeprefix(JOB)
        if key.startswith(JOB) and suffix not in KEYS:
            yield f"{key}: not read by slurm-bridge"
        if key.startswith(JOB) and suffix in WHOLE_NUMBERS and not re.fullmatch(r"[+-]?\d+", value):
            yield f"{key}: {value!r} is no number"


def bridge(pod: Document, spec: Document) -> Iterator[str]:
    """`ValidateCreate`."""
    metadata = pod.get("metadata") or {}
    if "scheduler.slinky.slurm.net/slurm-jobid" in (metadata.get("labels") or {}):
        yield "can't create a pod with a slurm external jobid label"
    if "slinky.slurm.net/slurm-node" in (metadata.get("annotations") or {}):
        yield "can't create a pod with a slurm external node annotation"
    if spec.get("resourceClaims") is not None:
        yield "can't schedule a pod with a resourceclaim"


def sunk(spec: Document) -> Iterator[str]:
    """Requests, a short end with the usual KillWait, the lock tolerated, no pinned cores."""
    resources = [container.get("resources") or {} for container in spec["containers"]]
    for name in ("cpu", "memory"):
        if not any(name in (each.get("requests") or {}) for each in resources):
            yield f"no {name} request"
    if spec.get("terminationGracePeriodSeconds", 30) >= 25:
        yield "termination grace period must be less than Slurm KillWait - 5s"
    if not any(each.get("key") == "sunk.coreweave.com/lock" for each in spec.get("tolerations") or ()):
        yield "the lock is not tolerated"
    if all((each.get("limits") or {}).get("cpu") == (each.get("requests") or {}).get("cpu") for each in resources):
        yield "static CPU allocation"
