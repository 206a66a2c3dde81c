"""The pod templates of each kind of workload, and how many pods its controller makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Document = Mapping[str, Any]


def templates(document: Document) -> Iterator[tuple[Document, int]]:
    """Each template with its number of pods; bare Pods and kinds of Kubernetes, JobSet, LWS, mpi-operator, Trainer."""
    kind, spec = document["kind"], document.get("spec") or {}
    if kind == "Pod":
        yield document, 1
    elif kind == "Job" and document.get("apiVersion") == "batch/v1":
        yield spec["template"], spec.get("parallelism", 1)
    elif kind == "JobSet":
        yield from _jobset(spec)
    elif kind == "TrainingRuntime":
        yield from _jobset(spec["template"]["spec"])
    elif kind == "MPIJob":
        yield from ((each["template"], each["replicas"]) for each in spec["mpiReplicaSpecs"].values())
    elif kind == "LeaderWorkerSet":
        inner, copies = spec["leaderWorkerTemplate"], spec.get("replicas", 1)
        led = "leaderTemplate" in inner
        yield from ((inner["leaderTemplate"], copies) for _ in range(led))
        yield inner["workerTemplate"], copies * (inner["size"] - led)
    elif kind in ("StatefulSet", "Deployment"):
        yield spec["template"], spec.get("replicas", 1)


def _jobset(spec: Document) -> Iterator[tuple[Document, int]]:
    for job in spec["replicatedJobs"]:
        inner = job["template"]["spec"]
        yield inner["template"], job.get("replicas", 1) * inner.get("parallelism", 1)
