"""F689: what must be configured in the cluster for a script to mean what it says."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.slurm.jobs import Cluster, clusters, job
from bayplan.backends.slurm.script import partition_of
from bayplan.backends.slurm.sections import Section
from bayplan.core.diagnostics import Diagnostic, info
from bayplan.model.manifest import Shape
from bayplan.model.plan import GangPlan, Plan
from bayplan.model.target import Target
from bayplan.topologies.slurm.layout import settings, topology_name
from bayplan.topologies.slurm.units import FLAT

CODE = "F689"


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """One for each thing, however many gangs rely on it."""
    found: dict[str, Diagnostic] = {}
    known = clusters(plan, target)
    for gang in (each for each in plan.gangs if each.copy == 0):
        for section in job(plan, gang, known).sections:
            for each in _of(plan, gang, section, known[section.first.pool]):
                found.setdefault(each.message, each)
    return tuple(found.values())


def _of(plan: Plan, gang: GangPlan, section: Section, cluster: Cluster) -> Iterator[Diagnostic]:
    placed = any(unit.required or unit.preferred or unit.separate for leaf in section.leaves for unit in leaf.path)
    if placed and cluster.laid.plugin != FLAT:
        yield _topology(plan, cluster)
    if len(plan.topology.pools) > 1:
        yield _partition(plan, gang, section, cluster)
    if section.first.compute_domain:
        message = "SwitchType=switch/nvidia_imex must be configured: it makes the IMEX channel of a job"
        hint = "see switch/nvidia_imex in man slurm.conf"
        yield from _switched(plan, "NvidiaImex", info(CODE, (*gang.route, "name"), message, hint=hint))
    if section.first.spec.image and gang.gang.backends.get("slurm", {}).get("container", "pyxis") == "pyxis":
        message = "the plugin pyxis and enroot must be installed: srun starts the image with --container-image"
        hint = "without it set `backends: {slurm: {container: none}}` and leave the image out"
        yield from _switched(plan, "Pyxis", info(CODE, (*section.first.route, "image"), message, hint=hint))


def _partition(plan: Plan, gang: GangPlan, section: Section, cluster: Cluster) -> Diagnostic:
    partition = partition_of(plan, gang, section)
    named = f'partition "{partition}"' if partition else "the default partition"
    number = plan.topology.pools.index(cluster.pool)
    message = f"{named} must hold nodes of pool {cluster.pool.name} alone: Slurm picks nodes by partition"
    hint = "name another in `schedulers: {slurm: {pools: {POOL: {partition: NAME}}}}` of the topology"
    return info(CODE, ("topology", "spec", "pools", number, "name"), message, hint=hint)


def _switched(plan: Plan, gate: str, notice: Diagnostic) -> Iterator[Diagnostic]:
    """Nothing where the topology says that the cluster has it, an error where it says that it has not."""
    known = settings(plan.topology).get("featureGates", {}).get(gate)
    if known is not True:
        yield notice if known is None else notice._replace(severity="error")


def _topology(plan: Plan, cluster: Cluster) -> Diagnostic:
    pool, laid = cluster.pool, cluster.laid
    number = plan.topology.pools.index(pool)
    named = f" with BlockSizes={','.join(map(str, laid.sizes))}" if laid.sizes else ""
    modern = cluster.target.since("slurm", "25.05")
    where = f' "{topology_name(plan.topology, pool)}" of topology.yaml' if modern else " of topology.conf"
    message = (
        f"nodes of pool {pool.name} must be in a {laid.plugin} topology{where}{named}, and the partition must use it"
    )
    hint = "`bayplan topology export --to slurm` writes the file"
    return info(CODE, ("topology", "spec", "pools", number, "levels"), message, hint=hint)
