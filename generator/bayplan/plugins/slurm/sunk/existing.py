"""The SUNK Pod Scheduler and existing workloads: each pod is a Slurm job, no matter which controller creates it."""

from __future__ import annotations

from bayplan.plugin import Asked, Beside, Existing, Outcome, PodsFound, of_labels
from bayplan.plugin import support_table as table
from bayplan.plugins.slurm.sunk import PREFIX, SCHEDULER, lower


def ask(found: PodsFound, beside: Beside) -> Outcome[Asked] | None:
    """The gang of pods that name the scheduler, with their partition. It has no levels."""
    if found.scheduler != beside.topology.scheduler_name("sunk", SCHEDULER):
        return None
    return Outcome(of_labels(found)._replace(queue=found.annotation(f"{PREFIX}partition")))


EXISTING = Existing(table("plugins", "slurm", "sunk").existing, lower, ask=ask)
