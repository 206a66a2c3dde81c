"""slurm-bridge and workloads that exist already: their pods name one PodGroup, which is one Slurm job.

Pods of other kinds than these are Slurm jobs one by one, or of whatever shape slurm-bridge finds for their owner
(`slurmjobir.go`, 1.0 to 1.2); nobody has tried a PodGroup of ours on them.
"""

from __future__ import annotations

from bayplan.backends.slurm_bridge.pod_group import lower
from bayplan.model.backend import Support
from bayplan.model.existing import Existing, carries, refuses

KINDS = ("job", "jobset", "pod")
NO_GROUPS = "a Slurm job has no groups in it, and pods of one template name one PodGroup, which is one Slurm job"
HINT = "leave the groups out, or use `-s slurm`, whose --segment keeps them whole"
SUPPORT: tuple[Support, ...] = (
    *carries("place", *KINDS),
    *refuses(
        "place",
        "slurm-bridge makes Slurm jobs of Jobs, JobSets and Pods in ways that are known; of these pods they are not",
        "use a Job, a JobSet or a Pod",
        word="not yet here",
        but=KINDS,
    ),
    *refuses("copies", NO_GROUPS, HINT),
    *refuses("ranks", NO_GROUPS, HINT),
    *refuses("gangs", NO_GROUPS, "write a workload for each gang"),
)

EXISTING = Existing(SUPPORT, lower)
