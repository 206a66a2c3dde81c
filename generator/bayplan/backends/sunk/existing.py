"""The SUNK Pod Scheduler and existing workloads: each pod is a Slurm job, no matter which controller creates it."""

from __future__ import annotations

from bayplan.backends.sunk import PREFIX, SCHEDULER, lower
from bayplan.core.diagnostics import Outcome
from bayplan.kube.asked import Asked, Beside, PodsFound, of_labels
from bayplan.model.backend import Support
from bayplan.model.existing import PLAIN, SINGLE_PODS, Existing, carries, refuses

ONE_BY_ONE = "the SUNK Pod Scheduler submits each pod as a Slurm job of its own, without groups"
HINT = "remove the groups, or use `-s slurm`; SUNK also runs sbatch scripts"
SUPPORT: tuple[Support, ...] = (
    *carries("place", *PLAIN, SINGLE_PODS),
    *refuses(
        "place",
        "another scheduler places the pods of this kind",
        "use a Job or a Pod",
        word="not yet in bayplan",
        but=(*PLAIN, SINGLE_PODS),
    ),
    *refuses("copies", ONE_BY_ONE, HINT, word="not yet upstream"),
    *refuses("ranks", ONE_BY_ONE, HINT, word="not yet upstream"),
    *carries("gangs", "lws"),
    *refuses("gangs", ONE_BY_ONE, HINT, but=("lws",)),
)


def ask(found: PodsFound, beside: Beside) -> Outcome[Asked] | None:
    """The gang of pods that name the scheduler, with their partition. It has no levels."""
    if found.scheduler != beside.topology.scheduler_name("sunk", SCHEDULER):
        return None
    return Outcome(of_labels(found)._replace(queue=found.annotation(f"{PREFIX}partition")))


EXISTING = Existing(SUPPORT, lower, ask=ask)
