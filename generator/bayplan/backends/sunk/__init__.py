"""CoreWeave's SUNK Pod Scheduler, SUNK 7.6 to 8.2, as its public documentation has it: every pod is a Slurm job.

What it carries, and what pods must carry for it (docs.coreweave.com, "Schedule Kubernetes Pods with the SUNK Pod
Scheduler" and "Static CPU allocation").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.accelerators import DEVICE_PLUGIN
from bayplan.backends.slurm_bridge.pod_group import (
    ignored_placement_fields,
    partition,
    partition_notices,
    template_fields,
)
from bayplan.core.diagnostics import Diagnostic, info
from bayplan.kube.objects import non_empty
from bayplan.model.backend import (
    Backend,
    Declaration,
    Feature,
    Need,
    Support,
    approximate,
    exact,
    never,
    not_yet_here,
    not_yet_upstream,
)
from bayplan.model.manifest import Lowered, Marks, PodParts, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods, allocator, once
from bayplan.model.target import Target
from bayplan.planning.fit.problem import demand

FEATURES: Mapping[str, Feature] = {
    "missing-requests": Feature("a pod with a CPU and a memory request", "missing", "F730"),
    "grace-period": Feature("a pod that takes long to end", "seconds", "F731"),
    "sunk-placement": Feature("placement by a template", code="F738"),
    "sunk-gpus": Feature("GPUs of a resource that the Pod Scheduler does not convert", code="F735"),
}

SLURM = "use `-s slurm`: SUNK runs sbatch scripts too, with a gang and its groups in one job"
DEVICES = "the Pod Scheduler allocates no devices but GPUs"
LEVEL = "the Pod Scheduler has no annotation for topology"
SUPPORT = (
    *exact(
        "uneven-groups mixed-pod-sets optional-pods optional-groups repeated-values pod-network fixed-address queue",
        "no-queue label-key-length node-name-length level-count workload-jobset workload-job workload-pods",
    ),
    Support("gang", up_to=1),
    not_yet_here(
        "gang",
        "every pod is a Slurm job of its own, which starts when there is room for it alone; SUNK 7.6 and 8.2 can"
        " start the pods of one Job together, which bayplan does not ask for yet",
        SLURM,
    ),
    never("group-depth", LEVEL, SLURM),
    *(
        not_yet_upstream(feature, LEVEL, SLURM)
        for feature in (
            *("required-level", "preferred-level", "group-preferred", "required-and-preferred", "rank-order"),
            *("optional-pods-placed", "separate", "mixed-pools"),
        )
    ),
    not_yet_upstream("compute-domain", DEVICES, "set `computeDomain: never`, or use `-s slurm`"),
    not_yet_upstream("several-compute-domains", DEVICES),
    not_yet_upstream("compute-domain-each", DEVICES),
    approximate(
        "network-cards",
        "Slurm knows nothing of them: where two pods share a node, the kubelet refuses the one that gets none",
        "let each pod take the whole node",
        report="warning",
    ),
    not_yet_upstream(
        "network-claim", "the Pod Scheduler makes a gres of nvidia.com/gpu requests alone", "use a device plugin"
    ),
    not_yet_upstream(
        "gpu-claim", "the Pod Scheduler makes a gres of nvidia.com/gpu requests alone", "use `allocator: device-plugin`"
    ),
    not_yet_upstream(
        "sunk-gpus",
        "the Pod Scheduler makes a gres of nvidia.com/gpu requests alone",
        "use cards that are offered as nvidia.com/gpu",
    ),
    not_yet_upstream(
        "sunk-placement",
        "the Pod Scheduler does not read it; pods get stuck on nodes that it does not allow",
        "say it in Slurm's words, with a partition or a reservation",
    ),
    never(
        "missing-requests",
        "the Pod Scheduler schedules no pod without both, greater than zero",
        "add `resources: {cpu: ..., memory: ...}`",
    ),
    never(
        "grace-period",
        "terminationGracePeriodSeconds must be less than Slurm's KillWait by more than 5 seconds",
        "shorten it, or state a longer `schedulers: {sunk: {killWait: ...}}`",
    ),
    not_yet_upstream("numa", "Slurm is told nothing of NUMA nodes", SLURM),
    approximate(
        "priority", "what Slurm goes by is its own priority", "set `backends: {sunk: {qos: ...}}`", report="warning"
    ),
    never(
        "preemptible",
        "in Slurm the QOS or the partition says whose jobs may be preempted",
        "set `backends: {sunk: {qos: ...}}` and leave `preemptible` out",
    ),
    not_yet_here("workload-lws", "bayplan writes no LeaderWorkerSets"),
    never("workload-volcano-job", "a Volcano Job is for Volcano"),
    never("workload-sbatch", "an sbatch script is for Slurm itself", "use `-s slurm`"),
)


PREFIX = "sunk.coreweave.com/"
SCHEDULER = "tenant-slurm-slurm-scheduler"
"""What it is called in most installations; it goes by the namespace and the name of the Helm release."""

LOCK_TAINT = {"key": "sunk.coreweave.com/lock", "operator": "Equal", "value": "true", "effect": "NoExecute"}
"""The taint of nodes that run Slurm jobs, these pods' own among them."""

KILL_WAIT = 30
"""Slurm's KillWait in seconds, as it comes."""

KILL_MARGIN = 5
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

CONVERTED_GPUS = "nvidia.com/gpu"
"""What the Pod Scheduler makes a gres of."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """What the Pod Scheduler refuses to schedule without."""
    gangs = [gang for gang in plan.gangs if gang.copy == 0]
    return tuple(need for gang in gangs for pods in once(all_pods(gang.root)) for need in _pods_needs(plan, pods))


def _pods_needs(plan: Plan, pods: Pods) -> Iterator[Need]:
    subject, requested = f'podSet "{pods.spec.name}"', demand(pods, plan.topology)
    if missing := sum(name not in requested for name in ("cpu", "memory")):
        yield Need("missing-requests", missing, pods.route, subject=subject)
    grace = template_fields(plan.topology, pods).get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace > _grace(plan):
        at = (*pods.route, "template") if pods.spec.template else pods.route
        yield Need("grace-period", grace, at, subject=f"{subject}, which has {_grace(plan)} seconds at most")
    for field in ignored_placement_fields(plan.topology, pods):
        yield Need("sunk-placement", 1, (*pods.route, "template", "spec", field), subject=f"{subject}, `{field}`")
    if _unconverted_gpus(plan, pods):
        yield Need("sunk-gpus", 1, (*pods.route, "accelerator"), subject=subject)


def _unconverted_gpus(plan: Plan, pods: Pods) -> bool:
    accelerator = pods.spec.accelerator
    kind = plan.topology.accelerators[accelerator.name] if accelerator else None
    by_plugin = accelerator and kind and allocator(accelerator, kind) == DEVICE_PLUGIN
    return bool(by_plugin and kind and kind.resources.get("count", CONVERTED_GPUS) != CONVERTED_GPUS)


def _grace(plan: Plan) -> int:
    """The longest time that a pod may take to end: strictly less than KillWait less 5 seconds."""
    wait = int(plan.topology.schedulers.get("sunk", {}).get("killWait", KILL_WAIT))
    return wait - KILL_MARGIN - 1


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """No documents: annotations, a toleration and a short end on every pod, and no CPU limit.

    A pod whose CPU request is its limit gets cores of its own from the kubelet, of which Slurm knows nothing; nodes are
    drained over it.
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
    """Limits are in seconds here."""
    own = gang.gang.backends.get("sunk", {})
    seconds = gang.gang.active_deadline_seconds
    settings = {**({"timeout": seconds} if seconds else {}), **own}
    return {
        **non_empty(partition=partition(plan, gang, "sunk")),
        **{annotation: str(settings[key]) for key, annotation in OPTIONS.items() if key in settings},
    }


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """The scheduler's name is the site's, and a partition must hold the nodes that pods can run on."""
    return (*_scheduler_name(plan), *partition_notices(plan, "sunk", "the Pod Scheduler", "Slurm's"))


def _scheduler_name(plan: Plan) -> Iterator[Diagnostic]:
    if not plan.topology.schedulers.get("sunk", {}).get("schedulerName"):
        message = (
            f'the Pod Scheduler is taken to be called "{SCHEDULER}"; pods for a name that nobody has wait for ever'
        )
        hint = "state it in the topology: `schedulers: {sunk: {schedulerName: ...}}`"
        yield info("F689", ("topology", "metadata", "name"), message, hint=hint)


BACKEND = Backend(
    Declaration("sunk", component="sunk", support=SUPPORT, features=FEATURES), lower, needs=needs, notices=notices
)
