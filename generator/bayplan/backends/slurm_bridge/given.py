"""slurm-bridge and workloads that are there: their pods name one PodGroup, which is one Slurm job.

Pods of other kinds than these are Slurm jobs one by one, or of whatever shape slurm-bridge finds for their owner
(`slurmjobir.go`, 1.0 to 1.2); nobody has tried a PodGroup of ours on them.
"""

from __future__ import annotations

from bayplan.backends.slurm_bridge.pod_group import lower
from bayplan.model.features import Support
from bayplan.model.given import carries, refuses
from bayplan.model.manifest import Lowered, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target

PLACED = ("job", "jobset", "pod")
ONE = "a Slurm job has no groups in it, and pods of one template name one PodGroup, which is one Slurm job"
WAY = "leave the groups out, or use `-s slurm`, whose --segment keeps them whole"
GIVEN: tuple[Support, ...] = (
    *carries("place", *PLACED),
    *refuses(
        "place",
        "slurm-bridge makes Slurm jobs of Jobs, JobSets and Pods in ways that are known; of these pods they are not",
        "use a Job, a JobSet or a Pod",
        word="not yet here",
        but=PLACED,
    ),
    *refuses("copies", ONE, WAY),
    *refuses("ranks", ONE, WAY),
    *refuses("gangs", ONE, "write a workload for each gang"),
)


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """One PodGroup and its name on the pods: more of them are refused before."""
    return lower(plan, shape, target)
