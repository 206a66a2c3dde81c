"""CoreWeave's SUNK Pod Scheduler, SUNK 7.6 to 8.2, by its public documentation: each pod is a Slurm job.

The rows declare what it supports; needs are what it requires of pods (docs.coreweave.com, "Schedule Kubernetes Pods
with the SUNK Pod Scheduler" and "Static CPU allocation").
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.plugin import (
    DEVICE_PLUGIN,
    Backend,
    Declaration,
    Diagnostic,
    GangPlan,
    Lowered,
    Marks,
    Need,
    Plan,
    PodParts,
    Pods,
    Shape,
    Target,
    all_pods,
    allocator,
    demand,
    info,
    non_empty,
    once,
)
from bayplan.plugin import support_table as table
from bayplan.plugins.slurm.bridge.pod_group import (
    cards_of_shared_nodes,
    ignored_placement_fields,
    partition,
    partition_notices,
    template_fields,
)

TABLE = table("plugins", "slurm", "sunk")

PREFIX = "sunk.coreweave.com/"
SCHEDULER = "tenant-slurm-slurm-scheduler"
"""The name in most installations, derived from the namespace and the name of the Helm release."""

LOCK_TAINT = {"key": "sunk.coreweave.com/lock", "operator": "Equal", "value": "true", "effect": "NoExecute"}
"""The taint of nodes that run Slurm jobs, also the jobs of these pods."""

KILL_WAIT = 30
"""Slurm's default KillWait in seconds."""

KILL_MARGIN = 5
"""A pod must end more than so many seconds earlier."""

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

CONVERTED_GPUS = "nvidia.com/gpu"
"""The resource of which the Pod Scheduler makes a gres."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """What the Pod Scheduler requires of pods."""
    gangs = [gang for gang in plan.gangs if gang.copy == 0]
    return tuple(need for gang in gangs for pods in once(all_pods(gang.root)) for need in _pods_needs(plan, pods))


def _pods_needs(plan: Plan, pods: Pods) -> Iterator[Need]:
    subject, requested = f'podSet "{pods.spec.name}"', demand(pods, plan.topology)
    if missing := [name for name in ("cpu", "memory") if name not in requested]:
        requests_no = f"{subject} requests no {' and no '.join(missing)}"
        yield Need("missing-requests", len(missing), pods.route, subject=requests_no)
    grace = template_fields(plan.topology, pods).get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace > _grace(plan):
        at = (*pods.route, "template") if pods.spec.template else pods.route
        ends = f"{subject} has a grace period of {grace} seconds, and the limit is {_grace(plan)}"
        yield Need("grace-period", grace, at, subject=ends)
    if pods.spec.data.uploads and _grace(plan) < KILL_WAIT:
        yield Need("late-uploads", 1, (*pods.route, "data"), subject=subject)
    for field in ignored_placement_fields(plan.topology, pods):
        yield Need("sunk-placement", 1, (*pods.route, "template", "spec", field), subject=f"{subject}, `{field}`")
    if _unconverted_gpus(plan, pods):
        yield Need("sunk-gpus", 1, (*pods.route, "accelerator"), subject=subject)
    if cards := cards_of_shared_nodes(plan.topology, pods):
        yield Need("shared-cards", cards, (*pods.route, "fabric"), subject=subject)


def _unconverted_gpus(plan: Plan, pods: Pods) -> bool:
    accelerator = pods.spec.accelerator
    kind = plan.topology.accelerators[accelerator.name] if accelerator else None
    by_plugin = accelerator and kind and allocator(accelerator, kind) == DEVICE_PLUGIN
    return bool(by_plugin and kind and kind.resources.get("count", CONVERTED_GPUS) != CONVERTED_GPUS)


def _grace(plan: Plan) -> int:
    """The longest time that a pod may need to end: strictly less than KillWait minus 5 seconds."""
    wait = int(plan.topology.schedulers.get("sunk", {}).get("killWait", KILL_WAIT))
    return wait - KILL_MARGIN - 1


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """No documents: annotations, a toleration and a short grace period on each pod, and no CPU limit.

    The kubelet gives exclusive cores to a pod whose CPU request equals its limit. Slurm does not see that, and drains
    the node.
    """
    marks = {(gang.name, pods.name): _marks(plan, gang) for gang in plan.gangs for pods in all_pods(gang.root)}
    return Lowered((), marks)


def _marks(plan: Plan, gang: GangPlan) -> Marks:
    name = plan.topology.scheduler_name("sunk", SCHEDULER)
    return Marks(
        pod=PodParts(
            annotations={PREFIX + key: value for key, value in _options(plan, gang).items()},
            tolerations=(LOCK_TAINT,),
            unlimited=frozenset({"cpu"}),
            spec={"schedulerName": name, "terminationGracePeriodSeconds": _grace(plan)},
        )
    )


def _options(plan: Plan, gang: GangPlan) -> dict[str, str]:
    """The annotations of a pod; limits are in seconds."""
    own = gang.gang.backends.get("sunk", {})
    seconds = gang.gang.active_deadline_seconds
    settings = {**({"timeout": seconds} if seconds else {}), **own}
    return {
        **non_empty(partition=partition(plan, gang, "sunk")),
        **{annotation: str(settings[key]) for key, annotation in OPTIONS.items() if key in settings},
    }


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """Each site has its own scheduler name, and a partition must have only nodes on which the pods can run."""
    return (*_scheduler_name(plan), *partition_notices(plan, "sunk", "the SUNK Pod Scheduler", "Slurm's"))


def _scheduler_name(plan: Plan) -> Iterator[Diagnostic]:
    if not plan.topology.schedulers.get("sunk", {}).get("schedulerName"):
        message = (
            f'bayplan assumes that the name of the SUNK Pod Scheduler is "{SCHEDULER}"; if it has another name, the'
            " pods wait"
            " forever"
        )
        hint = "state the name in the topology file: `schedulers: {sunk: {schedulerName: ...}}`"
        yield info("F689", ("topology", "metadata", "name"), message, hint=hint)


BACKEND = Backend(
    Declaration("sunk", component="sunk", support=TABLE.support, features=TABLE.features),
    lower,
    needs=needs,
    notices=notices,
)
