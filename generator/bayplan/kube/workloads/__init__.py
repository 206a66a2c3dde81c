"""One file per family of workloads that others wrote: how many pods they make, and of which pod templates."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.diagnostics import Outcome, error
from bayplan.core.phrases import listing
from bayplan.kube.objects import group, kind, title
from bayplan.kube.workloads import kubernetes, training
from bayplan.kube.workloads.parts import Objects, Reader
from bayplan.model.augment import WorkloadTemplates
from bayplan.model.manifest import Object

WORKLOADS: Mapping[tuple[str, str], Reader] = {
    ("batch", "Job"): kubernetes.job,
    ("jobset.x-k8s.io", "JobSet"): kubernetes.jobset,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): kubernetes.leader_worker_set,
    ("apps", "StatefulSet"): kubernetes.stateful_set,
    ("kubeflow.org", "PyTorchJob"): training.pytorch_job,
    ("kubeflow.org", "MPIJob"): training.mpi_job,
    ("trainer.kubeflow.org", "TrainJob"): training.train_job,
    ("ray.io", "RayCluster"): training.ray_cluster,
    ("ray.io", "RayJob"): training.ray_job,
    ("batch.volcano.sh", "Job"): training.volcano_job,
    ("", "Pod"): kubernetes.pod,
}
"""API group and kind -> what reads it. The second argument is everything that was read with it."""

REFUSED: Mapping[tuple[str, str], tuple[str, str]] = {
    ("apps", "Deployment"): (
        (
            "makes no gang: a rollout replaces its pods one by one, from one ReplicaSet to the next, and schedulers"
            " take each of its pods for a gang of its own"
        ),
        "use a LeaderWorkerSet for servers of several nodes, or a JobSet; else leave the placement out",
    ),
    ("batch", "CronJob"): (
        "makes a new Job for each run, and what is written for one gang holds for one Job",
        "let the CronJob start a JobSet or a Workflow that bayplan rendered, or leave the placement out",
    ),
}
"""Kinds whose pods make no gang: the reason, and what to do."""


def read(one: Object, beside: Objects = ()) -> Outcome[WorkloadTemplates]:
    """The pods of a workload. W500: it is of a kind that bayplan cannot place; W500 to W519: why it cannot be read."""
    key = group(one), kind(one)
    if key in WORKLOADS:
        return WORKLOADS[key](one, beside)
    if key in REFUSED:
        reason, hint = REFUSED[key]
        return Outcome(None, (error("W500", (*one.route, "kind"), f"{title(one)} {reason}", hint=hint),))
    message = f"{title(one)} is asked to be placed, and bayplan does not know which pods it makes"
    hint = f"it places {listing(sorted({each for _, each in WORKLOADS}), 'and')}"
    return Outcome(None, (error("W500", (*one.route, "kind"), message, hint=hint),))
