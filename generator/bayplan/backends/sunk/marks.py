"""What pods must carry for the SUNK Pod Scheduler (docs.coreweave.com, "Schedule Kubernetes Pods with the SUNK Pod
Scheduler" and "Static CPU allocation", SUNK 7.6 to 8.2)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.accelerators import DEVICE_PLUGIN, allocator
from bayplan.backends.slurm_bridge.jobs import unread, written
from bayplan.core.diagnostics import Diagnostic, info
from bayplan.kube.objects import given
from bayplan.model.features import Need
from bayplan.model.manifest import Lowered, Marks, PodParts, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods, once
from bayplan.model.target import Target
from bayplan.planning.fit.problem import demand

PREFIX = "sunk.coreweave.com/"
SCHEDULER = "tenant-slurm-slurm-scheduler"
"""What it is called in most installations; it goes by the namespace and the name of the Helm release."""

LOCK = {"key": "sunk.coreweave.com/lock", "operator": "Equal", "value": "true", "effect": "NoExecute"}
"""The taint of nodes that run Slurm jobs, these pods' own among them."""

KILL_WAIT = 30
"""Slurm's KillWait in seconds, as it comes."""

SPARE = 5
"""A pod must end so many seconds sooner."""

OPTIONS = {
    "account": "account",
    "comment": "comment",
    "exclusive": "exclusive",
    "groupId": "group-id",
    "qos": "qos",
    "reservation": "reservation",
    "timeout": "timeout",
    "userId": "user-id",
}
"""Key of `backends: {sunk: ...}` -> annotation."""

COUNTED = "nvidia.com/gpu"


def needs(plan: Plan) -> tuple[Need, ...]:
    """What the Pod Scheduler refuses to schedule without."""
    gangs = [gang for gang in plan.gangs if gang.copy == 0]
    return tuple(need for gang in gangs for pods in once(all_pods(gang.root)) for need in _pods_needs(plan, pods))


def _pods_needs(plan: Plan, pods: Pods) -> Iterator[Need]:
    subject, asked = f'podSet "{pods.spec.name}"', demand(pods, plan.topology)
    if missing := sum(name not in asked for name in ("cpu", "memory")):
        yield Need("missing-requests", missing, pods.route, subject=subject)
    grace = written(plan.topology, pods).get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace > _grace(plan):
        at = (*pods.route, "template") if pods.spec.template else pods.route
        yield Need("grace-period", grace, at, subject=f"{subject}, which has {_grace(plan)} seconds at most")
    for field in unread(plan.topology, pods):
        yield Need("sunk-placement", 1, (*pods.route, "template", "spec", field), subject=f"{subject}, `{field}`")
    if _unconverted(plan, pods):
        yield Need("sunk-gpus", 1, (*pods.route, "accelerator"), subject=subject)


def _unconverted(plan: Plan, pods: Pods) -> bool:
    asked = pods.spec.accelerator
    kind = plan.topology.accelerators[asked.name] if asked else None
    by_plugin = asked and kind and allocator(asked, kind) == DEVICE_PLUGIN
    return bool(by_plugin and kind and kind.resources.get("count", COUNTED) != COUNTED)


def _grace(plan: Plan) -> int:
    """The longest time that a pod may take to end: strictly less than KillWait less 5 seconds."""
    wait = int(plan.topology.schedulers.get("sunk", {}).get("killWait", KILL_WAIT))
    return wait - SPARE - 1


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """No documents: annotations, a toleration and a short end on every pod, and no CPU limit.

    A pod whose CPU request is its limit gets cores of its own from the kubelet, of which Slurm knows nothing; nodes are
    drained over it.
    """
    marks = {(gang.name, pods.name): _marks(plan, gang) for gang in plan.gangs for pods in all_pods(gang.root)}
    return Lowered((), marks)


def _marks(plan: Plan, gang: GangPlan) -> Marks:
    name = plan.topology.schedulers.get("sunk", {}).get("schedulerName", SCHEDULER)
    return Marks(
        pod=PodParts(
            annotations={PREFIX + key: value for key, value in _options(plan, gang).items()},
            tolerations=(LOCK,),
            unlimited=frozenset({"cpu"}),
            spec={"schedulerName": name, "terminationGracePeriodSeconds": _grace(plan)},
        )
    )


def _options(plan: Plan, gang: GangPlan) -> dict[str, str]:
    """Limits are in seconds here."""
    own = gang.gang.backends.get("sunk", {})
    seconds = gang.gang.active_deadline_seconds
    told = {**({"timeout": seconds} if seconds else {}), **own}
    return {
        **given(partition=partition(plan, gang)),
        **{annotation: str(told[key]) for key, annotation in OPTIONS.items() if key in told},
    }


def partition(plan: Plan, gang: GangPlan) -> str:
    """The gang's own, else the workflow's queue, else the cluster's, else the default queue."""
    own, cluster = gang.gang.backends.get("sunk", {}), plan.topology.schedulers.get("sunk", {})
    return str(own.get("partition") or plan.workflow.queue or cluster.get("partition") or plan.queue)


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """The scheduler's name is the site's, and a partition must hold the nodes that pods can run on."""
    return (*_name(plan), *_partitions(plan))


def _name(plan: Plan) -> Iterator[Diagnostic]:
    if not plan.topology.schedulers.get("sunk", {}).get("schedulerName"):
        message = (
            f'the Pod Scheduler is taken to be called "{SCHEDULER}"; pods for a name that nobody has wait for ever'
        )
        hint = "state it in the topology: `schedulers: {sunk: {schedulerName: ...}}`"
        yield info("F689", ("topology", "metadata", "name"), message, hint=hint)


def _partitions(plan: Plan) -> Iterator[Diagnostic]:
    wanted = {(partition(plan, gang), pods.pool) for gang in plan.gangs for pods in all_pods(gang.root)}
    for name, pool in sorted(wanted):
        title = f'the partition "{name}"' if name else "Slurm's default partition"
        message = f'{title} must hold nodes of the pool "{pool}" alone: the Pod Scheduler reads no node selector'
        number = next(i for i, each in enumerate(plan.topology.pools) if each.name == pool)
        yield info("F689", ("topology", "spec", "pools", number, "name"), message)
