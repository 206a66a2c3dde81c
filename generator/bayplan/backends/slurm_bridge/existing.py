"""slurm-bridge and existing workloads: their pods name one PodGroup, which is one Slurm job.

Pods of other kinds are separate Slurm jobs, or have the shape that slurm-bridge finds for their owner (`slurmjobir.go`,
1.0 to 1.2). Nobody has tried our PodGroups on them.
"""

from __future__ import annotations

from bayplan.backends.slurm_bridge.pod_group import lower
from bayplan.model.backend import Support
from bayplan.model.existing import Existing, carries, refuses

KINDS = ("job", "jobset", "pod")
NO_GROUPS = "slurm-bridge makes one Slurm job without groups of the pods of one template, which name one PodGroup"
HINT = "remove the groups, or use `-s slurm`, whose --segment keeps them whole"
SUPPORT: tuple[Support, ...] = (
    *carries("place", *KINDS),
    *refuses(
        "place",
        "bayplan knows how slurm-bridge makes Slurm jobs of Jobs, JobSets and Pods, but not of this kind",
        "use a Job, a JobSet or a Pod",
        word="not yet in bayplan",
        but=KINDS,
    ),
    *refuses("copies", NO_GROUPS, HINT),
    *refuses("ranks", NO_GROUPS, HINT),
    *refuses("gangs", NO_GROUPS, "write a workload for each gang"),
)

EXISTING = Existing(SUPPORT, lower)
