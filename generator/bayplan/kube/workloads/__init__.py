"""One file per family of existing workloads: how many pods they create, and from which pod templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    ("apps", "Deployment"): kubernetes.deployment,
    ("kubeflow.org", "PyTorchJob"): training.pytorch_job,
    ("kubeflow.org", "MPIJob"): training.mpi_job,
    ("trainer.kubeflow.org", "TrainJob"): training.train_job,
    ("ray.io", "RayCluster"): training.ray_cluster,
    ("ray.io", "RayJob"): training.ray_job,
    ("batch.volcano.sh", "Job"): training.volcano_job,
    ("", "Pod"): kubernetes.pod,
    ("grove.io", "PodCliqueSet"): lambda one, beside: _grove().pod_clique_set(one, beside),
    ("nvidia.com", "DynamoGraphDeployment"): lambda one, beside: _grove().graph(one, beside),
}
"""API group and kind -> its reader. The second argument has all objects that bayplan read together with it."""

BY_NAME = frozenset({("apps", "Deployment")})
"""Kinds that patterns of a policy do not match, because few of them need a gang."""

REFUSED: Mapping[tuple[str, str], tuple[str, str]] = {
    ("batch", "CronJob"): (
        "cannot be a gang: it creates a new Job for each run, and a gang is one Job",
        "let the CronJob start a JobSet or a Workflow that bayplan rendered, or remove the placement",
    ),
}
"""Kinds whose pods cannot be a gang: the reason, and the hint."""


OTHERS = frozenset(
    {
        *(
            "AppWrapper",
            "CronWorkflow",
            "DaemonSet",
            "DisaggregatedSet",
            "InferenceService",
            "JAXJob",
            "LLMInferenceService",
        ),
        *("NIMService", "Notebook", "PaddleJob", "RayService", "ReplicaSet", "RoleBasedGroup", "Rollout"),
        *("SparkApplication", "StormService", "TFJob", "Workflow", "XGBoostJob"),
    }
)
"""Kinds whose pods may request devices, and which bayplan does not place."""


def _grove() -> Any:
    from bayplan.kube.workloads import grove  # few manifests have its kinds

    return grove


def read(one: Object, beside: Objects = ()) -> Outcome[WorkloadTemplates]:
    """The pods of a workload. W500: bayplan cannot place its kind; W506 to W516, W641: other reasons why it cannot."""
    key = group(one), kind(one)
    if key in WORKLOADS:
        return WORKLOADS[key](one, beside)
    if key in REFUSED:
        reason, hint = REFUSED[key]
        return Outcome(None, (error("W500", (*one.route, "kind"), f"{title(one)} {reason}", hint=hint),))
    message = f"bayplan cannot place {title(one)}, because it does not know which pods this kind creates"
    hint = f"use one of {listing(sorted({each for _, each in WORKLOADS}))}, or remove the placement"
    return Outcome(None, (error("W500", (*one.route, "kind"), message, hint=hint),))
