"""One file per family of workloads that others wrote: how many pods they make, and of which pod templates."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.diagnostics import Outcome, error
from bayplan.kube.objects import group, kind, title
from bayplan.kube.workloads import apps, batch, jobset, kubeflow, lws, pod, ray, trainer, volcano_job
from bayplan.kube.workloads.parts import Objects, Reader
from bayplan.model.augment import Roster
from bayplan.model.manifest import Object
from bayplan.words import listing

WORKLOADS: Mapping[tuple[str, str], Reader] = {
    ("batch", "Job"): batch.job,
    ("jobset.x-k8s.io", "JobSet"): jobset.jobset,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): lws.leader_worker_set,
    ("apps", "StatefulSet"): apps.stateful_set,
    ("kubeflow.org", "PyTorchJob"): kubeflow.pytorch_job,
    ("kubeflow.org", "MPIJob"): kubeflow.mpi_job,
    ("trainer.kubeflow.org", "TrainJob"): trainer.train_job,
    ("ray.io", "RayCluster"): ray.ray_cluster,
    ("ray.io", "RayJob"): ray.ray_job,
    ("batch.volcano.sh", "Job"): volcano_job.volcano_job,
    ("", "Pod"): pod.pod,
}
"""API group and kind -> what reads it. The second argument is everything that was read with it."""

REFUSED: Mapping[tuple[str, str], Reader] = {
    ("apps", "Deployment"): apps.deployment,
    ("batch", "CronJob"): batch.cron_job,
}
"""Kinds whose pods make no gang: an error with the reason."""


def read(one: Object, beside: Objects = ()) -> Outcome[Roster]:
    """The pods of a workload. W500: it is of a kind that bayplan cannot place; W501 to W519: why it cannot be read."""
    key = group(one), kind(one)
    reader = WORKLOADS.get(key) or REFUSED.get(key)
    if reader:
        return reader(one, beside)
    kinds = sorted({each for _, each in WORKLOADS})
    message = f"{title(one)} is asked to be placed, and bayplan does not know which pods it makes"
    hint = f"it places {listing(kinds, 'and')}"
    return Outcome(None, (error("W500", (*one.route, "kind"), message, hint=hint),))


__all__ = ["REFUSED", "WORKLOADS", "Objects", "Reader", "read"]
