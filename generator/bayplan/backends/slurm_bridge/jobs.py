"""How a gang is cut into Slurm jobs, and what that cut needs.

slurm-bridge submits one external job for each PodGroup and tells Slurm nothing of levels: no segment, no switches
(`slurmcontrol.go`, 1.0 to 1.2). What keeps pods together is Slurm's own rule for topology/block: a job of no more nodes
than a base block stays in one (`eval_nodes_block.c`, 25.11). So a group that needs one domain must be a job by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.accelerators import DEVICE_PLUGIN, allocator
from bayplan.core.values import NamedTuple
from bayplan.model.features import Need
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, once, title, walk
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Pool

COUNTED = ("nvidia.com/gpu", "amd.com/gpu")
BY_CLASS = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
"""What slurm-bridge makes a gres of: cards of device plugins, and since 1.1 of NVIDIA's DRA driver (`slurmjobir.go`,
`nodeinfo.go`)."""


class SlurmJob(NamedTuple):
    """Pods that one PodGroup holds. `unit`: whose placement they share."""

    name: str
    unit: Unit
    pods: tuple[Pods, ...]

    @property
    def nodes(self) -> int:
        """A node for every pod."""
        return sum(pods.replicas for pods in self.pods)


def slurm_jobs(gang: GangPlan) -> tuple[SlurmJob, ...]:
    """One for each innermost group instance with a required level, and one for the pods that are left."""
    apart = [unit for unit in walk(gang.root) if unit.name and unit.required and not _divided(unit)]
    taken = {pods.name for unit in apart for pods in all_pods(unit)}
    rest = tuple(pods for pods in all_pods(gang.root) if pods.name not in taken)
    own = [SlurmJob(f"{gang.name}-{unit.name}", unit, tuple(all_pods(unit))) for unit in apart]
    return (*own, *([SlurmJob(gang.name, gang.root, rest)] if rest else []))


def _divided(unit: Unit) -> bool:
    return any(below.required for below in walk(unit) if below is not unit)


def needs(plan: Plan) -> tuple[Need, ...]:
    """What the Slurm jobs of the first copy of every gang need."""
    gangs = [gang for gang in plan.gangs if gang.copy == 0]
    lengths = [(len(job.name), job.unit.route) for gang in plan.gangs for job in slurm_jobs(gang)]
    longest = max(lengths, key=lambda each: each[0], default=(0, ()))
    return (
        *(need for gang in gangs for need in _gang_needs(plan, gang, slurm_jobs(gang))),
        Need("job-name-length", *longest),
    )


def _gang_needs(plan: Plan, gang: GangPlan, jobs: tuple[SlurmJob, ...]) -> Iterator[Need]:
    subject = f'gang "{gang.gang.name}"'
    yield Need("slurm-jobs", len(jobs), (*gang.route, "groups") if len(jobs) > 1 else gang.route, subject=subject)
    for unit in once(walk(gang.root)):
        if unit.required:
            yield from _level_needs(plan.topology, gang, unit, jobs)
    for job in once_each(jobs):
        if (pools := len({pods.pool for pods in job.pods})) > 1:
            yield Need("one-pool", pools, job.unit.route, subject=title(gang, job.unit))
    if gang.gang.max_restarts:
        gates = plan.topology.gates("slurm-bridge")
        grade = 1 if gates.get("GenericWorkload", True) else 2
        yield Need("restarted-pods", grade, (*gang.route, "maxRestarts"), subject=subject)
    for pods in once(all_pods(gang.root)):
        at, subject = (*pods.route, "template", "spec"), f'podSet "{pods.spec.name}"'
        for field in unread(plan.topology, pods):
            yield Need("template-placement", 1, (*at, field), subject=f"{subject}, `{field}`")
        if written(plan.topology, pods).get("resourceClaims"):
            yield Need("template-claims", 1, (*at, "resourceClaims"), subject=subject)
        if grade := _grade(pods, plan.topology):
            yield Need("counted-gpus", grade, (*pods.route, "accelerator"), subject=subject)


def once_each(jobs: tuple[SlurmJob, ...]) -> list[SlurmJob]:
    """One job for each group of the file."""
    return list({job.unit.route: job for job in jobs}.values())


def _level_needs(topology: ClusterTopology, gang: GangPlan, unit: Unit, jobs: tuple[SlurmJob, ...]) -> Iterator[Need]:
    """A level is kept by the one job that holds all of the unit's pods, or by none."""
    at, subject = (*unit.route, "placement", "required"), title(gang, unit)
    names = {pods.name for pods in all_pods(unit)}
    inside = [job for job in jobs if not names.isdisjoint(pods.name for pods in job.pods)]
    if len(inside) > 1:
        yield Need("outer-jobs", len(inside), at, subject=subject)
        return
    nodes, pool = inside[0].nodes, topology.pool(inside[0].pods[0].pool)
    if unit.required == HOST_LEVEL:
        yield Need("one-node", nodes, at, subject=subject)
    elif pool and not (size := block_size(topology, pool)):
        yield Need("known-blocks", 1, at, subject=subject)
    elif nodes > size:
        yield Need("one-block", nodes, at, subject=f"{subject}, where a base block has {size}")


def written(topology: ClusterTopology, pods: Pods) -> dict[str, Any]:
    """The pod spec fields of the templates, the podSet's over its pool's."""
    pool = topology.pool(pods.pool)
    return {**((pool.template if pool else {}).get("spec") or {}), **(pods.spec.template.get("spec") or {})}


def unread(topology: ClusterTopology, pods: Pods) -> tuple[str, ...]:
    """Fields of templates that say where pods may run, of which Slurm is told nothing."""
    given = written(topology, pods)
    return tuple(field for field in ("nodeSelector", "affinity", "topologySpreadConstraints") if given.get(field))


def block_size(topology: ClusterTopology, pool: Pool) -> int:
    """Nodes in a base block, the domain of a pool's finest level: its `plan`, else the smallest domain; 0: unknown."""
    if topology.schedulers.get("slurm", {}).get("plugin") != "block" or not pool.levels:
        return 0
    return pool.levels[-1].plan or min((len(domain.nodes) for domain in pool.domains if domain.nodes), default=0)


def _grade(pods: Pods, topology: ClusterTopology) -> int:
    """2: cards by device class, 3: others, 0: none or the usual."""
    asked = pods.spec.accelerator
    kind = topology.accelerators[asked.name] if asked else None
    if not asked or not kind or allocator(asked, kind) != DEVICE_PLUGIN:
        return 0
    name = kind.resources.get("count", COUNTED[0])
    return 0 if name in COUNTED else 2 if name == BY_CLASS else 3
