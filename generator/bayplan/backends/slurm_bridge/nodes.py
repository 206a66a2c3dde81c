"""Slurm jobs that find no nodes although their pods would fit: slurm-bridge asks for a node for every pod.

Read from slurm-bridge `podgroup.go` and `podgroup_coscheduling.go` (TasksPerNode, MinNodes) at v1.0.5 to v1.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.slurm_bridge.jobs import SlurmJob, once_each, slurm_jobs
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.model.plan import GangPlan, Plan, title
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Pool


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """One error for each group whose job never starts, and for each gang with more pods than there are nodes."""
    gangs = [gang for gang in plan.gangs if gang.copy == 0]
    return tuple(found for gang in gangs for found in (*_groups(plan, gang), *_together(plan, gang)))


def _groups(plan: Plan, gang: GangPlan) -> Iterator[Diagnostic]:
    for job in once_each(slurm_jobs(gang)):
        pool = _pool(plan.topology, job)
        if job.unit.required and job.nodes > (most := max(_rooms(pool, job.unit.required), default=0)):
            message = (
                f"slurm-bridge gives each of the {job.nodes} pods of {title(gang, job.unit)} a node, and no"
                f" {job.unit.required} has more than {most} that can be used"
            )
            yield error("F729", job.unit.route, message, hint="make fewer, larger pods")


def _together(plan: Plan, gang: GangPlan) -> Iterator[Diagnostic]:
    """All pods of a gang run at once."""
    pods: dict[str, int] = {}
    for job in slurm_jobs(gang):
        for each in job.pods:
            pods[each.pool] = pods.get(each.pool, 0) + each.replicas
    for pool in plan.topology.pools:
        usable = len(_usable(pool))
        if pods.get(pool.name, 0) > usable:
            message = (
                f'slurm-bridge gives each of the {pods[pool.name]} pods of gang "{gang.gang.name}" a node, and pool'
                f' "{pool.name}" has {usable} that can be used'
            )
            yield error("F729", gang.route, message, hint="make fewer, larger pods")


def _pool(topology: ClusterTopology, job: SlurmJob) -> Pool:
    return next(pool for pool in topology.pools if pool.name == job.pods[0].pool)


def _usable(pool: Pool) -> set[str]:
    out = {node for nodes in pool.unusable.values() for node in nodes}
    return {node for domain in pool.domains for node in domain.nodes} - out


def _rooms(pool: Pool, level: str) -> Iterator[int]:
    """Usable nodes in each domain of a level."""
    usable, depth = _usable(pool), pool.depth(level)
    found: dict[tuple[str, ...], int] = {}
    for domain in pool.domains:
        path = domain.path[: depth + 1]
        found[path] = found.get(path, 0) + len(usable.intersection(domain.nodes))
    return iter(found.values())
