"""Replace `launcher: mpi` of podSets with a script that starts the command in the first pod, and sshd in all pods."""

from __future__ import annotations

from bayplan.core.package_data import table
from bayplan.kube.kinds import SBATCH
from bayplan.kube.pod import MPI_SCRIPT, mpi_slots
from bayplan.model.manifest import Shape
from bayplan.model.plan import GangPlan, Plan, Pods, edit_unit
from bayplan.model.workflow import PodSet


def expand(plan: Plan, shape: Shape) -> tuple[Plan, Shape]:
    """The plan and the shape with the script among the files of these podSets and before their commands."""
    outside = {gang.name for each in shape.workloads if each.kind == SBATCH for gang in each.gangs}
    workloads = (
        each if each.kind == SBATCH else each._replace(gangs=tuple(map(_gang, each.gangs))) for each in shape.workloads
    )
    gangs = (gang if gang.name in outside else _gang(gang) for gang in plan.gangs)
    return plan._replace(gangs=tuple(gangs)), shape._replace(workloads=tuple(workloads))


def _gang(gang: GangPlan) -> GangPlan:
    return gang._replace(root=edit_unit(gang.root, pods=_pods))


def _pods(pods: Pods) -> Pods:
    return pods._replace(spec=_with_script(pods.spec)) if pods.spec.launcher else pods


def _with_script(spec: PodSet) -> PodSet:
    """The podSet with the script before its command."""
    return spec._replace(
        command=("sh", MPI_SCRIPT, *spec.command),
        files={**spec.files, MPI_SCRIPT: table("kube", "mpi.sh")},
        env={"MPI_SLOTS": str(mpi_slots(spec)), **spec.env},
    )
