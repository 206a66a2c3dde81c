"""The SUNK Pod Scheduler and existing workloads: each pod is a Slurm job, no matter which controller creates it."""

from __future__ import annotations

from bayplan.backends.sunk import PREFIX, SCHEDULER, lower
from bayplan.backends.table import table
from bayplan.core.diagnostics import Outcome
from bayplan.kube.asked import Asked, Beside, PodsFound, of_labels
from bayplan.model.existing import Existing


def ask(found: PodsFound, beside: Beside) -> Outcome[Asked] | None:
    """The gang of pods that name the scheduler, with their partition. It has no levels."""
    if found.scheduler != beside.topology.scheduler_name("sunk", SCHEDULER):
        return None
    return Outcome(of_labels(found)._replace(queue=found.annotation(f"{PREFIX}partition")))


EXISTING = Existing(table("sunk").existing, lower, ask=ask)
