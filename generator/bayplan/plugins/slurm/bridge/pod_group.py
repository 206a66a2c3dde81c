"""A gang as Slurm jobs, each a PodGroup; the marks that bind pods to it; and the needs of these jobs.

slurm-bridge submits one external job for each PodGroup and passes no levels to Slurm: no segment, no switches
(`slurmcontrol.go`, 1.0 to 1.2). Only Slurm's own rule for topology/block keeps pods together: a job of no more nodes
than a base block stays in one (`eval_nodes_block.c`, 25.11). So a group that needs one domain must be a job by itself.

There are two APIs, read from slurm-bridge `internal/utils/slurmjobir` at v1.0.5, v1.1.2 and v1.2.1. Only Kubernetes
1.36 serves its own `scheduling.k8s.io/v1alpha2`, which slurm-bridge reads since 1.2. The older API is that of
scheduler-plugins. slurm-bridge reads annotations from the PodGroup, never from its pods.
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Iterator
from typing import Any, NamedTuple

from bayplan.plugin import (
    DEVICE_PLUGIN,
    HOST_LEVEL,
    SINGLE,
    ClusterTopology,
    Diagnostic,
    GangPlan,
    Lowered,
    Manifest,
    Marks,
    Need,
    Plan,
    PodParts,
    Pods,
    Pool,
    Shape,
    Target,
    Unit,
    all_pods,
    allocator,
    error,
    gang_labels,
    has_placed_groups,
    info,
    non_empty,
    once,
    templates,
    walk,
)
from bayplan.plugin import plan_title as title

SCHEDULER = "slurm-bridge-scheduler"
PREFIX = "slurmjob.slinky.slurm.net/"
POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
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
"""Older releases silently ignore these."""


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """One PodGroup for each Slurm job; its name and the scheduler's on the pods."""
    jobs = [(gang, job) for gang in plan.gangs for job in slurm_jobs(gang)]
    marks = {(gang.name, pods.name): _marks(plan, job, target) for gang, job in jobs for pods in job.pods}
    return Lowered(tuple(_pod_group(plan, gang, job, target) for gang, job in jobs), marks)


def uses_kubernetes_pod_group(plan: Plan, target: Target) -> bool:
    """Whether Kubernetes' own PodGroup can be used: the CRDs of JobSet below 0.12 and LeaderWorkerSet below 0.9 drop
    `schedulingGroup`."""
    gates = plan.topology.gates("slurm-bridge")
    served = target.between("kubernetes", "1.36", "1.37") and gates.get("GenericWorkload", True)
    return bool(
        served and target.since("slurmBridge", "1.2") and target.since("jobset", "0.12") and target.since("lws", "0.9")
    )


def pod_group_name(plan: Plan, job: SlurmJob, target: Target) -> str:
    """With the older API, slurm-bridge looks up pods by label over all namespaces (`podgroup_coscheduling.go`), so a
    hash makes the names unique."""
    if uses_kubernetes_pod_group(plan, target):
        return job.name
    return f"{job.name}-{crc32('/'.join((plan.namespace, plan.workflow.name, job.name)).encode()):08x}"


def _pod_group(plan: Plan, gang: GangPlan, job: SlurmJob, target: Target) -> Manifest:
    own = uses_kubernetes_pod_group(plan, target)
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2" if own else "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {
            "name": pod_group_name(plan, job, target),
            "labels": gang_labels(plan, gang),
            "annotations": {PREFIX + key: value for key, value in job_options(plan, gang, job.name, target).items()},
        },
        "spec": {"schedulingPolicy": {"gang": {"minCount": job.nodes}}} if own else {"minMember": job.nodes},
    }


def job_options(plan: Plan, gang: GangPlan, name: str, target: Target) -> dict[str, str]:
    """Options of the Slurm job besides its nodes, which slurm-bridge counts. Limits are in minutes, rounded up."""
    own = gang.gang.backends.get("slurm-bridge", {})
    settings = {key: own[key] for key in OPTIONS if key in own and target.since("slurmBridge", SINCE.get(key, "1.0"))}
    seconds = gang.gang.active_deadline_seconds
    limit = {"timeLimit": -(-seconds // 60)} if seconds else {}
    return {
        "job-name": name,
        **non_empty(partition=partition(plan, gang, "slurm-bridge")),
        **{
            OPTIONS[key]: str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in {**limit, **settings}.items()
        },
    }


def partition(plan: Plan, gang: GangPlan, scheduler: str) -> str:
    """The first of the gang's partition and queue, the workflow's queue, the cluster's partition, the default queue."""
    own, cluster = gang.gang.backends.get(scheduler, {}), plan.topology.schedulers.get(scheduler, {})
    return str(own.get("partition") or gang.gang.queue or plan.workflow.queue or cluster.get("partition") or plan.queue)


def _marks(plan: Plan, job: SlurmJob, target: Target) -> Marks:
    name = plan.topology.scheduler_name("slurm-bridge", SCHEDULER)
    group, own = pod_group_name(plan, job, target), uses_kubernetes_pod_group(plan, target)
    return Marks(
        pod=PodParts(
            labels={} if own else {POD_GROUP_LABEL: group},
            spec={"schedulerName": name, **({"schedulingGroup": {"podGroupName": group}} if own else {})},
        )
    )


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """The API that serves PodGroups, and partitions that have the right nodes."""
    grouped = any(each.kind != SINGLE for each in shape.workloads)
    served = _served_api(plan, target) if grouped else ()
    return (*served, *partition_notices(plan, "slurm-bridge", "slurm-bridge", "slurm-bridge's"))


def _served_api(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    gates = plan.topology.gates("slurm-bridge")
    route = ("topology", "spec", "versions")
    if uses_kubernetes_pod_group(plan, target):
        if "GenericWorkload" not in gates:
            message = (
                "PodGroups need the feature gate GenericWorkload and the API `scheduling.k8s.io/v1alpha2`, which are"
                " off by default in Kubernetes 1.36"
            )
            hint = (
                "enable both, and state it in the topology file:"
                " `schedulers: {slurm-bridge: {featureGates: {GenericWorkload: true}}}`"
            )
            yield info("F689", route, message, hint=hint)
    elif not gates.get("CoScheduling"):
        message = (
            "PodGroups need the CRD and the controller of scheduler-plugins (`scheduling.x-k8s.io`), which"
            " slurm-bridge does not install"
        )
        hint = (
            "install them, and state it in the topology file:"
            " `schedulers: {slurm-bridge: {featureGates: {CoScheduling: true}}}`"
        )
        yield info("F689", route, message, hint=hint)


def partition_notices(plan: Plan, scheduler: str, title: str, default: str) -> Iterator[Diagnostic]:
    """A partition must have the right nodes, because slurm-bridge (`scheduler/configmap.yaml`, 1.0 to 1.2) and SUNK do
    not enable a plugin that reads `nodeSelector`."""
    wanted = {(partition(plan, gang, scheduler), pods.pool) for gang in plan.gangs for pods in all_pods(gang.root)}
    numbers = {pool.name: number for number, pool in enumerate(plan.topology.pools)}
    for name, pool in sorted(wanted):
        subject = f'the partition "{name}"' if name else f"{default} default partition"
        message = f'{subject} must have only nodes of pool "{pool}": {title} reads no node selector'
        yield info("F689", ("topology", "spec", "pools", numbers[pool], "name"), message)


# Slurm jobs

COUNTED_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
GPU_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
"""Resources of which slurm-bridge makes a gres: cards of device plugins, and since 1.1 of NVIDIA's DRA driver
(`slurmjobir.go`, `nodeinfo.go`)."""


class SlurmJob(NamedTuple):
    """The pods of one PodGroup. `unit`: the unit whose placement they share."""

    name: str
    unit: Unit
    pods: tuple[Pods, ...]

    @property
    def nodes(self) -> int:
        """A node for every pod."""
        return sum(pods.replicas for pods in self.pods)


def slurm_jobs(gang: GangPlan) -> tuple[SlurmJob, ...]:
    """One job for each innermost group instance with a required level, and one for the remaining pods."""
    placed = [unit for unit in walk(gang.root) if unit.name and unit.required and not has_placed_groups(unit)]
    in_placed = {pods.name for unit in placed for pods in all_pods(unit)}
    others = tuple(pods for pods in all_pods(gang.root) if pods.name not in in_placed)
    own = [SlurmJob(f"{gang.name}-{unit.name}", unit, tuple(all_pods(unit))) for unit in placed]
    return (*own, *([SlurmJob(gang.name, gang.root, others)] if others else []))


def needs(plan: Plan) -> tuple[Need, ...]:
    """The needs of the Slurm jobs of the first copy of each gang."""
    gangs = [gang for gang in plan.gangs if gang.copy == 0]
    names = [(job.name, job.unit.route) for gang in plan.gangs for job in slurm_jobs(gang)]
    longest, route = max(names, key=lambda each: len(each[0]), default=("", ()))
    return (
        *(need for gang in gangs for need in _gang_needs(plan, gang, slurm_jobs(gang))),
        Need("job-name-length", len(longest), route, subject=f'the job name "{longest}"'),
    )


def _gang_needs(plan: Plan, gang: GangPlan, jobs: tuple[SlurmJob, ...]) -> Iterator[Need]:
    subject = f'gang "{gang.gang.name}"'
    yield Need("slurm-jobs", len(jobs), (*gang.route, "groups") if len(jobs) > 1 else gang.route, subject=subject)
    for unit in once(walk(gang.root)):
        if unit.required:
            yield from _level_needs(plan.topology, gang, unit, jobs)
    for job in one_per_group(jobs):
        if (pools := len({pods.pool for pods in job.pods})) > 1:
            yield Need("one-pool", pools, job.unit.route, subject=f"{title(gang, job.unit)} uses {pools} pools")
    gates = plan.topology.gates("slurm-bridge")
    grade = 1 if gates.get("GenericWorkload", True) else 2
    if gang.gang.max_restarts:
        yield Need("restarted-pods", grade, (*gang.route, "maxRestarts"), subject=subject)
    for pods in once(all_pods(gang.root)):
        if codes := pods.spec.retry_on_exit_codes or pods.spec.restart_gang_on_exit_codes:
            key = "retryOnExitCodes" if codes is pods.spec.retry_on_exit_codes else "restartGangOnExitCodes"
            yield Need("restarted-pods", grade, (*pods.route, key), subject=f'podSet "{pods.spec.name}"')
        at, subject = (*pods.route, "template", "spec"), f'podSet "{pods.spec.name}"'
        for field in ignored_placement_fields(plan.topology, pods):
            yield Need("template-placement", 1, (*at, field), subject=f"{subject}, `{field}`")
        if template_fields(plan.topology, pods).get("resourceClaims"):
            yield Need("template-claims", 1, (*at, "resourceClaims"), subject=subject)
        if grade := _gpu_grade(pods, plan.topology):
            yield Need("counted-gpus", grade, (*pods.route, "accelerator"), subject=subject)
        if cards := cards_of_shared_nodes(plan.topology, pods):
            yield Need("shared-cards", cards, (*pods.route, "fabric"), subject=subject)


def one_per_group(jobs: tuple[SlurmJob, ...]) -> list[SlurmJob]:
    """One job for each group of the file."""
    return list({job.unit.route: job for job in jobs}.values())


def _level_needs(topology: ClusterTopology, gang: GangPlan, unit: Unit, jobs: tuple[SlurmJob, ...]) -> Iterator[Need]:
    """Slurm keeps a level only if one job has all pods of the unit."""
    at, subject = (*unit.route, "placement", "required"), title(gang, unit)
    names = {pods.name for pods in all_pods(unit)}
    inside = [job for job in jobs if not names.isdisjoint(pods.name for pods in job.pods)]
    if len(inside) > 1:
        yield Need("outer-jobs", len(inside), at, subject=f"{subject} needs {len(inside)} Slurm jobs")
        return
    nodes, pool = inside[0].nodes, topology.pool(inside[0].pods[0].pool)
    if unit.required == HOST_LEVEL:
        yield Need("one-node", nodes, at, subject=subject)
    elif pool and not (size := block_size(topology, pool)):
        yield Need("known-blocks", 1, at, subject=subject)
    elif nodes > size:
        yield Need("one-block", nodes, at, subject=f"{subject} has {nodes} pods, and a base block {size} nodes")


def template_fields(topology: ClusterTopology, pods: Pods) -> dict[str, Any]:
    """The pod spec fields of the templates, the podSet's over its pool's, and those over its own fields."""
    patches = templates(pods.spec, topology.pool(pods.pool))
    return {key: value for patch in patches for key, value in (patch.get("spec") or {}).items()}


def ignored_placement_fields(topology: ClusterTopology, pods: Pods) -> tuple[str, ...]:
    """Fields of templates that restrict where pods run, which Slurm does not see."""
    fields = template_fields(topology, pods)
    return tuple(field for field in ("nodeSelector", "affinity", "topologySpreadConstraints") if fields.get(field))


def cards_of_shared_nodes(topology: ClusterTopology, pods: Pods) -> int:
    """The network cards of a pod that leaves room for others on its node; 0 if it takes the whole node."""
    if not pods.spec.fabric:
        return 0
    from bayplan.plugin import amounts

    pool, accelerator = topology.pool(pods.pool), pods.spec.accelerator
    full = pool and accelerator and accelerator.per_pod >= pool.node.accelerators
    return 0 if pods.spec.whole_node or full else sum(amounts(pods.spec, topology).values())


def block_size(topology: ClusterTopology, pool: Pool) -> int:
    """Nodes in a base block, the domain of a pool's finest level: its `plan` or the smallest domain; 0 if unknown."""
    if topology.schedulers.get("slurm", {}).get("plugin") != "block" or not pool.levels:
        return 0
    return pool.levels[-1].plan or min((len(domain.nodes) for domain in pool.domains if domain.nodes), default=0)


def _gpu_grade(pods: Pods, topology: ClusterTopology) -> int:
    """2: cards by device class, 3: other cards, 0: no cards or those that every version counts."""
    accelerator = pods.spec.accelerator
    kind = topology.accelerators[accelerator.name] if accelerator else None
    if not accelerator or not kind or allocator(accelerator, kind) != DEVICE_PLUGIN:
        return 0
    name = kind.count_resource
    return 0 if name in COUNTED_GPUS else 2 if name == GPU_DEVICE_CLASS else 3


# Jobs that never start: slurm-bridge requests one node per pod (`podgroup.go`, `podgroup_coscheduling.go`,
# TasksPerNode and MinNodes, v1.0.5 to v1.2.1)


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """One error for each group whose job never starts, and for each gang with more pods than there are nodes."""
    gangs = [gang for gang in plan.gangs if gang.copy == 0]
    return tuple(found for gang in gangs for found in (*_unplaceable_jobs(plan, gang), *_unplaceable_gang(plan, gang)))


def _unplaceable_jobs(plan: Plan, gang: GangPlan) -> Iterator[Diagnostic]:
    for job in one_per_group(slurm_jobs(gang)):
        pool = next(each for each in plan.topology.pools if each.name == job.pods[0].pool)
        if job.unit.required and job.nodes > (
            largest := max(_usable_nodes_by_domain(pool, job.unit.required), default=0)
        ):
            message = (
                f"{title(gang, job.unit)} has {job.nodes} pods: slurm-bridge requests a node for each, but no"
                f" {job.unit.required} has more than {largest} usable nodes"
            )
            yield error("F729", job.unit.route, message, hint="write fewer, larger pods")


def _unplaceable_gang(plan: Plan, gang: GangPlan) -> Iterator[Diagnostic]:
    """A gang with more pods than a pool has usable nodes: all pods of a gang run at once."""
    pods: dict[str, int] = {}
    for job in slurm_jobs(gang):
        for each in job.pods:
            pods[each.pool] = pods.get(each.pool, 0) + each.replicas
    for pool in plan.topology.pools:
        usable = len(_usable_nodes(pool))
        if pods.get(pool.name, 0) > usable:
            message = (
                f'gang "{gang.gang.name}" has {pods[pool.name]} pods in pool "{pool.name}": slurm-bridge requests a'
                " node"
                f" for each, but the pool has {usable} usable nodes"
            )
            yield error("F729", gang.route, message, hint="write fewer, larger pods")


def _usable_nodes(pool: Pool) -> set[str]:
    unusable = pool.unusable_nodes()
    return {node for domain in pool.domains for node in domain.nodes} - unusable


def _usable_nodes_by_domain(pool: Pool, level: str) -> Iterator[int]:
    """Usable nodes in each domain of a level."""
    usable, depth = _usable_nodes(pool), pool.depth(level)
    usable_by_domain: dict[tuple[str, ...], int] = {}
    for domain in pool.domains:
        path = domain.path[: depth + 1]
        usable_by_domain[path] = usable_by_domain.get(path, 0) + len(usable.intersection(domain.nodes))
    return iter(usable_by_domain.values())
