"""CoreWeave's SUNK Pod Scheduler, SUNK 7.6 to 8.2, by its public documentation: each pod is a Slurm job.

The rows declare what it supports; needs are what it requires of pods (docs.coreweave.com, "Schedule Kubernetes Pods
with the SUNK Pod Scheduler" and "Static CPU allocation").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.accelerators import DEVICE_PLUGIN
from bayplan.backends.slurm_bridge.pod_group import (
    cards_of_shared_nodes,
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
    "missing-requests": Feature("pods without a CPU and a memory request", code="F643"),
    "grace-period": Feature("a long terminationGracePeriodSeconds", code="F731"),
    "late-uploads": Feature("time for the uploads of stopped pods", code="F731"),
    "sunk-placement": Feature("placement by a pod template", code="F736"),
    "shared-cards": Feature("network cards of pods that share a node", code="F750"),
    "sunk-gpus": Feature("GPUs of other resources than nvidia.com/gpu", code="F727"),
}

SLURM = "use `-s slurm`; SUNK also runs sbatch scripts, with the gang and its groups in one job"
DEVICES = "the SUNK Pod Scheduler allocates only GPUs, no other devices"
LEVEL = "the SUNK Pod Scheduler has no annotation for levels"
GPUS = "the SUNK Pod Scheduler makes a gres only of nvidia.com/gpu requests"
SUPPORT = (
    *exact(
        "uneven-groups mixed-pod-sets optional-pods optional-groups repeated-values network-cards pod-network",
        "fixed-address queue no-queue label-key-length node-name-length level-count",
        "workload-jobset workload-job workload-pods limited-copies unlimited-copies",
    ),
    Support("gang", up_to=1),
    not_yet_here(
        "gang",
        "the SUNK Pod Scheduler submits each pod as a Slurm job; SUNK 7.6 and 8.2 can start the pods of one Job"
        " together, but bayplan does not request it",
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
    not_yet_upstream("several-compute-domains", DEVICES, "set `computeDomain: never`, or use `-s slurm`"),
    not_yet_upstream("compute-domain-each", DEVICES, "set `computeDomain: never`, or use `-s slurm`"),
    approximate(
        "shared-cards",
        "Slurm does not count network cards; if two pods share a node, the kubelet refuses the one that gets none",
        "let each pod take a whole node",
        report="warning",
    ),
    not_yet_upstream("network-claim", DEVICES, "use a device plugin"),
    not_yet_upstream("gpu-claim", GPUS, "use `allocator: device-plugin`"),
    not_yet_upstream("sunk-gpus", GPUS, "use devices that their plugin offers as nvidia.com/gpu"),
    not_yet_upstream(
        "sunk-placement",
        "the SUNK Pod Scheduler does not read it, so it assigns pods to nodes on which they cannot run",
        "use a Slurm partition or a reservation",
    ),
    never(
        "missing-requests",
        "the SUNK Pod Scheduler schedules only pods with a CPU and a memory request above zero",
        "set `resources: {cpu: ..., memory: ...}`",
    ),
    never(
        "grace-period",
        "the SUNK Pod Scheduler requires a terminationGracePeriodSeconds below Slurm's KillWait minus 5 seconds",
        "shorten it, or state a longer `schedulers: {sunk: {killWait: ...}}` if Slurm has it",
    ),
    approximate(
        "late-uploads",
        "the SUNK Pod Scheduler requires a short terminationGracePeriodSeconds, so a stopped pod has little time to"
        " upload its data",
        "state a longer `schedulers: {sunk: {killWait: ...}}` if Slurm has it; otherwise upload checkpoints often",
        report="warning",
    ),
    not_yet_upstream("numa", "the SUNK Pod Scheduler passes no NUMA request to Slurm", SLURM),
    approximate(
        "priority",
        "Slurm ignores priority classes and uses its own priority",
        "set `backends: {sunk: {qos: ...}}`",
        report="warning",
    ),
    never(
        "preemptible",
        "Slurm ignores `preemptible`; the QOS or the partition decides which jobs it may preempt",
        "set `backends: {sunk: {qos: ...}}` and remove `preemptible`",
    ),
    never("workload-volcano-job", hint="use `workload: jobset`"),
    never("workload-sbatch", "the Pod Scheduler places pods; Slurm itself runs sbatch scripts", "use `-s slurm`"),
)


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
    Declaration("sunk", component="sunk", support=SUPPORT, features=FEATURES), lower, needs=needs, notices=notices
)
