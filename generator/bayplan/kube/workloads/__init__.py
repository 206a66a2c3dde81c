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

REFUSED: Mapping[tuple[str, str], Reader] = {
    ("apps", "Deployment"): kubernetes.deployment,
    ("batch", "CronJob"): kubernetes.cron_job,
}
"""Kinds whose pods make no gang: an error with the reason."""


def read(one: Object, beside: Objects = ()) -> Outcome[WorkloadTemplates]:
    """The pods of a workload. W500: it is of a kind that bayplan cannot place; W501 to W519: why it cannot be read."""
    key = group(one), kind(one)
    reader = WORKLOADS.get(key) or REFUSED.get(key)
    if reader:
        return reader(one, beside)
    message = f"{title(one)} is asked to be placed, and bayplan does not know which pods it makes"
    hint = f"it places {listing(sorted({each for _, each in WORKLOADS}), 'and')}"
    return Outcome(None, (error("W500", (*one.route, "kind"), message, hint=hint),))
