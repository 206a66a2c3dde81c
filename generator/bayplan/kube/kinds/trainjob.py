"""TrainJob (`trainer.kubeflow.org/v1alpha1`), and the TrainingRuntime with its pod template.

Trainer makes a JobSet of the runtime's template, under the TrainJob's name: its replicatedJob `node` has one Job with a
pod for each of `numNodes`. Trainer sets PET_* in the container `node` for torchrun. Read from Trainer v2.2.0 and
v2.3.0, pkg/runtime/core/trainingruntime.go, pkg/runtime/framework/plugins/{torch,jobset} and pkg/webhooks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.kube.kinds import (
    ENDING,
    ENDS,
    GANG_LABEL,
    INDEX_FIELD,
    INDEX_VARIABLE,
    WORKFLOW_LABEL,
    Piece,
    jobset,
    meta,
    name_rows,
)
from bayplan.kube.objects import non_empty
from bayplan.kube.ranks import Numbers, running_number, running_on
from bayplan.model.backend import Support, approximate, never
from bayplan.model.manifest import Manifest, Meta, Workload
from bayplan.model.plan import GangPlan, Pods, all_pods

TITLE = "TrainJob"
SERVICE = False
API_VERSION = "trainer.kubeflow.org/v1alpha1"
COPY_LABEL = ""
INDEX = INDEX_FIELD
WHOLE = False
FIELDS: Mapping[str, str] = {}
NODE = "node"
"""What Trainer calls the replicatedJob and its container."""

STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
"""The label of the Job of which `numNodes` is the size."""

RESERVED = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
"""Variables that Trainer sets. Its webhook refuses them in a TrainJob (pkg/constants)."""

GIVEN = ("image", "command", "args", "env")
"""Fields of the container that a TrainJob has itself. The runtime has an image too, as each pod template."""

SEPARATE = "Trainer starts and ends each TrainJob by itself"
USE_JOBSET = "use `workload: jobset`"
ONE_TEMPLATE = "give all pods one podSet, or use `workload: jobset`"
SUPPORT = (
    never("depends-on", SEPARATE, f"{USE_JOBSET}, or render the gangs separately with `--gang NAME`"),
    never("at-once", SEPARATE, f"{USE_JOBSET}, or remove `atOnce`"),
    Support("leader"),
    Support("pod-templates", up_to=1),
    never("pod-templates", "a TrainJob has one pod template for all of its nodes", ONE_TEMPLATE),
    never("missing-pods", "Trainer makes all nodes, and all of them must succeed", "remove `minReplicas`"),
    Support("lead"),
    Support("barrier"),
    never(
        "barrier-of-copies",
        "the pods of all groups are in one Job, and have no label of their group",
        f"{USE_JOBSET}, or `barrier: gang`",
    ),
    Support("nonlead-failures"),
    Support("restarts"),
    Support("counted-retries"),
    Support("deadline"),
    approximate(
        "ttl",
        "JobSet deletes the JobSet of the TrainJob after this time, and the TrainJob stays",
        f"delete the TrainJob yourself, or {USE_JOBSET}",
        report="info",
    ),
    Support("retries"),
    Support("gang-retries"),
    ENDS,
    *ENDING,
    never("adopt", "Trainer owns the pods of a TrainJob", "remove `cleanup: adopt`, or use a JobSet"),
    *name_rows("a pod is called <trainjob>-node-0-<number>-<5 letters>, and this name has at most 63 characters"),
)


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """The last pod of the JobSet."""
    return f"{gang.name}-{NODE}-0-{pods.total - 1}-xxxxx"


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """The completion index counts over all copies."""
    return running_on(INDEX_VARIABLE, pods)


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """The same as in a JobSet, whose replicatedJob has one Job."""
    return f"{gang.name}-{NODE}-0-{running_number(pods, copy, number)}.{gang.name}"


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest]:
    """The TrainingRuntime, which must exist before the TrainJob (pkg/webhooks), and the TrainJob."""
    for gang in workload.gangs:
        (pods,) = all_pods(gang.root)
        piece = pieces[gang.name, pods.name]
        container, *others = piece.template["spec"]["containers"]
        kept = {key: value for key, value in container.items() if key not in GIVEN[1:]}
        template = _with_containers(piece.template, [{**kept, "name": NODE}, *others])
        node = pods._replace(
            name=NODE, replicas=pods.total, instances=(), spec=pods.spec._replace(name=NODE, template={})
        )
        spec = gang.gang._replace(active_deadline_seconds=None, lead="")
        one = gang._replace(gang=spec, root=gang.root._replace(groups=(), pods=(node,)), after=(), previous="")
        alone = Workload("jobset", gang.name, (one,))
        (made,) = jobset.write(alone, {(gang.name, NODE): piece._replace(template=template)})
        own = {key: value for key, value in piece.owner.labels.items() if key in (WORKFLOW_LABEL, GANG_LABEL)}
        yield {
            "apiVersion": API_VERSION,
            "kind": "TrainingRuntime",
            "metadata": meta(gang.name, Meta(own)),
            "spec": {
                "mlPolicy": {"torch": {}},
                "template": {"spec": _with_step(made["spec"])},
            },
        }
        deadline = gang.gang.active_deadline_seconds
        trainer = {key: container[key] for key in GIVEN if container.get(key)}
        env = [each for each in trainer.pop("env", []) if each["name"] not in RESERVED]
        yield {
            "apiVersion": API_VERSION,
            "kind": "TrainJob",
            "metadata": meta(gang.name, piece.owner),
            "spec": {
                "runtimeRef": {"apiGroup": API_VERSION.partition("/")[0], "kind": "TrainingRuntime", "name": gang.name},
                **({} if deadline is None else {"activeDeadlineSeconds": deadline}),
                "trainer": {
                    "numNodes": node.replicas,
                    "numProcPerNode": _processes(pods),
                    **trainer,
                    **non_empty(env=env),
                },
            },
        }


def _processes(pods: Pods) -> int:
    """One for each GPU. Trainer would count CPUs if it finds no GPUs among the resources, as with DRA."""
    return (pods.spec.accelerator.per_pod if pods.spec.accelerator else 0) or 1


def _with_containers(template: Manifest, containers: list[Any]) -> Manifest:
    return {**template, "spec": {**template["spec"], "containers": containers}}


def _with_step(spec: Manifest) -> dict[str, Any]:
    """The JobSet's spec, whose one replicatedJob is the trainer."""
    (job,) = spec["replicatedJobs"]
    metadata = job["template"].get("metadata", {})
    labelled = {**metadata, "labels": {**STEP, **metadata.get("labels", {})}}
    return {**spec, "replicatedJobs": [{**job, "template": {"metadata": labelled, "spec": job["template"]["spec"]}}]}
