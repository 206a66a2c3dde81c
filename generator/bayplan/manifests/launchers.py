"""Put programs around the commands of podSets: a script that launches MPI, and a shell that hides failures."""

from __future__ import annotations

from bayplan.core.package_data import table
from bayplan.kube.kinds import SBATCH
from bayplan.kube.pod import MPI_SCRIPT, mpi_slots
from bayplan.kube.shell import ignoring
from bayplan.model.manifest import Shape
from bayplan.model.plan import GangPlan, Plan, Pods, edit_unit
from bayplan.model.workflow import UNWRAPPED, PodSet, hides_failures


def expand(plan: Plan, shape: Shape) -> tuple[Plan, Shape]:
    """The plan and the shape with `launcher` and `ignoreNonleadFailures` in the commands. sbatch has its own forms."""
    kinds = {gang.name: each.kind for each in shape.workloads for gang in each.gangs}
    workloads = (each._replace(gangs=tuple(_gang(gang, each.kind) for gang in each.gangs)) for each in shape.workloads)
    gangs = (_gang(gang, kinds[gang.name]) for gang in plan.gangs)
    return plan._replace(gangs=tuple(gangs)), shape._replace(workloads=tuple(workloads))


def _gang(gang: GangPlan, kind: str) -> GangPlan:
    if kind == SBATCH:
        return gang

    def pods(own: Pods) -> Pods:
        spec = _with_script(own.spec) if own.spec.launcher else own.spec
        if hides_failures(gang.gang, spec) and kind not in UNWRAPPED:
            passed = (*spec.retry_on_exit_codes, *spec.restart_gang_on_exit_codes)
            spec = spec._replace(command=ignoring(spec.command, passed))
        return own._replace(spec=spec)

    return gang._replace(root=edit_unit(gang.root, pods=pods))


def _with_script(spec: PodSet) -> PodSet:
    """The podSet with the script before its command."""
    return spec._replace(
        command=("sh", MPI_SCRIPT, *spec.command),
        files={**spec.files, MPI_SCRIPT: table("kube", "mpi.sh")},
        env={"MPI_SLOTS": str(mpi_slots(spec)), **spec.env},
    )
