"""A Slurm job as a PodGroup, and the marks that tie pods to it.

Two APIs, read from slurm-bridge `internal/utils/slurmjobir` at v1.0.5, v1.1.2 and v1.2.1: Kubernetes' own
scheduling.k8s.io/v1alpha2, which 1.36 alone serves and slurm-bridge reads since 1.2, and the older one of
scheduler-plugins. Annotations are read from the PodGroup, never from its pods.
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Iterator
from typing import Any

from bayplan.backends.slurm_bridge.jobs import SlurmJob, slurm_jobs
from bayplan.core.diagnostics import Diagnostic, info
from bayplan.kube.kinds.parts import gang_labels
from bayplan.kube.objects import given
from bayplan.model.manifest import Lowered, Manifest, Marks, PodParts, Shape
from bayplan.model.plan import GangPlan, Plan
from bayplan.model.target import Target

JOB = "slurmjob.slinky.slurm.net/"
GROUP = "scheduling.x-k8s.io/pod-group"
OPTIONS = {
    "account": "account",
    "constraints": "constraints",
    "exclusive": "exclusive",
    "groupId": "group-id",
    "licenses": "licenses",
    "priority": "priority",
    "qos": "qos",
    "reservation": "reservation",
    "timeLimit": "timelimit",
    "userId": "user-id",
    "wckey": "wckey",
}
"""Key of `backends: {slurm-bridge: ...}` -> annotation."""

SINCE = {"exclusive": "1.1", "priority": "1.2"}
"""Older releases ignore these without a word."""


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """One PodGroup for each Slurm job; its name and the scheduler's on the pods."""
    jobs = [(gang, job) for gang in plan.gangs for job in slurm_jobs(gang)]
    marks = {(gang.name, pods.name): _marks(plan, job, target) for gang, job in jobs for pods in job.pods}
    return Lowered(tuple(_pod_group(plan, gang, job, target) for gang, job in jobs), marks)


def built_in(plan: Plan, target: Target) -> bool:
    """Whether Kubernetes' own PodGroup can be used: JobSet's CRD drops `schedulingGroup` below 0.12."""
    gates = plan.topology.gates("slurm-bridge")
    served = target.between("kubernetes", "1.36", "1.37") and gates.get("GenericWorkload", True)
    return bool(served and target.since("slurmBridge", "1.2") and target.since("jobset", "0.12"))


def pod_group_name(plan: Plan, job: SlurmJob, target: Target) -> str:
    """The older API's pods are looked up by label over all namespaces (`podgroup_coscheduling.go`): there, a hash keeps
    namesakes apart."""
    if built_in(plan, target):
        return job.name
    return f"{job.name}-{crc32('/'.join((plan.namespace, plan.workflow.name, job.name)).encode()):08x}"


def _pod_group(plan: Plan, gang: GangPlan, job: SlurmJob, target: Target) -> Manifest:
    own = built_in(plan, target)
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2" if own else "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {
            "name": pod_group_name(plan, job, target),
            "labels": gang_labels(plan, gang),
            "annotations": {JOB + key: value for key, value in _options(plan, gang, job, target).items()},
        },
        "spec": {"schedulingPolicy": {"gang": {"minCount": job.nodes}}} if own else {"minMember": job.nodes},
    }


def _options(plan: Plan, gang: GangPlan, job: SlurmJob, target: Target) -> dict[str, str]:
    """What Slurm is told besides the nodes, which slurm-bridge counts itself. Limits are in minutes, rounded up."""
    own = gang.gang.backends.get("slurm-bridge", {})
    known = {key: own[key] for key in OPTIONS if key in own and target.since("slurmBridge", SINCE.get(key, "1.0"))}
    seconds = gang.gang.active_deadline_seconds
    limit = {"timeLimit": -(-seconds // 60)} if seconds else {}
    return {
        "job-name": job.name,
        **given(partition=partition(plan, gang)),
        **{OPTIONS[key]: _text(value) for key, value in {**limit, **known}.items()},
    }


def partition(plan: Plan, gang: GangPlan) -> str:
    """The gang's own, else the workflow's queue, else the cluster's, else the default queue."""
    own, cluster = gang.gang.backends.get("slurm-bridge", {}), plan.topology.schedulers.get("slurm-bridge", {})
    return str(own.get("partition") or plan.workflow.queue or cluster.get("partition") or plan.queue)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _marks(plan: Plan, job: SlurmJob, target: Target) -> Marks:
    name = plan.topology.schedulers.get("slurm-bridge", {}).get("schedulerName", "slurm-bridge-scheduler")
    group, own = pod_group_name(plan, job, target), built_in(plan, target)
    return Marks(
        pod=PodParts(
            labels={} if own else {GROUP: group},
            spec={"schedulerName": name, **({"schedulingGroup": {"podGroupName": group}} if own else {})},
        )
    )


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """The API that serves PodGroups, and partitions that hold the right nodes."""
    return (*_served(plan, target), *_partitions(plan))


def _served(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    gates = plan.topology.gates("slurm-bridge")
    route = ("topology", "spec", "versions")
    if built_in(plan, target):
        if "GenericWorkload" not in gates:
            message = "PodGroups need the feature gate GenericWorkload and the API scheduling.k8s.io/v1alpha2, both off"
            hint = "say whether they are on: `schedulers: {slurm-bridge: {featureGates: {GenericWorkload: true}}}`"
            yield info("F689", route, f"{message} in Kubernetes 1.36 as it comes", hint=hint)
    elif not gates.get("CoScheduling"):
        message = "PodGroups need the CRD and the controller of scheduler-plugins (scheduling.x-k8s.io)"
        hint = "if they are there, say so: `schedulers: {slurm-bridge: {featureGates: {CoScheduling: true}}}`"
        yield info("F689", route, f"{message}; slurm-bridge does not install them", hint=hint)


def _partitions(plan: Plan) -> Iterator[Diagnostic]:
    """slurm-bridge enables no plugin that reads `nodeSelector` (`scheduler/configmap.yaml`, 1.0 to 1.2)."""
    wanted = {
        (partition(plan, gang), pods.pool) for gang in plan.gangs for job in slurm_jobs(gang) for pods in job.pods
    }
    for name, pool in sorted(wanted):
        title = f'the partition "{name}"' if name else "slurm-bridge's default partition"
        message = f'{title} must hold nodes of the pool "{pool}" alone: slurm-bridge reads no node selector'
        number = next(i for i, each in enumerate(plan.topology.pools) if each.name == pool)
        yield info("F689", ("topology", "spec", "pools", number, "name"), message)
