"""Put programs around the commands of podSets: `launcher: mpi` starts the command in the first pod and sshd in all
pods, a shell hides failures, and `barrier` starts the command when all pods run."""

from __future__ import annotations

from bayplan.core.package_data import table
from bayplan.kube.kinds import KINDS, SBATCH, barriers
from bayplan.kube.pod import BARRIER_SCRIPT, MPI_SCRIPT, mpi_slots
from bayplan.kube.shell import ignoring
from bayplan.model.manifest import Shape
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods, edit_unit, minimum
from bayplan.model.workflow import UNWRAPPED, PodSet, hides_failures


def expand(plan: Plan, shape: Shape) -> tuple[Plan, Shape]:
    """The plan and the shape with these programs in the commands. sbatch has its own forms. `assemble` mounts
    `barrier.sh`."""
    kinds = {gang.name: each.kind for each in shape.workloads for gang in each.gangs}
    lost = {gang.name for each in shape.workloads for gang in each.gangs if _lost(gang, each.kind)}
    least = {gang.name: minimum(gang.root) for gang in plan.gangs}

    def expanded(gang: GangPlan) -> GangPlan:
        if gang.name in lost:
            gang = gang._replace(gang=gang.gang._replace(barrier="none"))
        kind = kinds[gang.name]
        return gang if kind == SBATCH else _gang(gang, kind, frozenset(barriers(gang, kind, least[gang.name])))

    workloads = (each._replace(gangs=tuple(map(expanded, each.gangs))) for each in shape.workloads)
    return plan._replace(gangs=tuple(map(expanded, plan.gangs))), shape._replace(workloads=tuple(workloads))


def _lost(gang: GangPlan, kind: str) -> bool:
    """Whether the user accepted that groups have no barrier, because no label says which pods are in which group."""
    folded = any(pods.copies > 1 for pods in all_pods(gang.root))
    return gang.gang.barrier == "group" and folded and not KINDS[kind].COPY_LABEL


def _gang(gang: GangPlan, kind: str, waiting: frozenset[str]) -> GangPlan:
    def with_programs(pods: Pods) -> Pods:
        spec = _launched(pods.spec) if pods.spec.launcher else pods.spec
        if hides_failures(gang.gang, spec) and kind not in UNWRAPPED:
            passed = (*spec.retry_on_exit_codes, *spec.restart_gang_on_exit_codes)
            spec = spec._replace(command=ignoring(spec.command, passed))
        first = ("sh", BARRIER_SCRIPT) if pods.name in waiting else ()
        return pods._replace(spec=spec._replace(command=(*first, *spec.command)))

    return gang._replace(root=edit_unit(gang.root, pods=with_programs))


def _launched(spec: PodSet) -> PodSet:
    """The podSet with the launcher before its command."""
    return spec._replace(
        command=("sh", MPI_SCRIPT, *spec.command),
        files={**spec.files, MPI_SCRIPT: table("kube", "mpi.sh")},
        env={"MPI_SLOTS": str(mpi_slots(spec)), **spec.env},
    )
