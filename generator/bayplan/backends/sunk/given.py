"""The SUNK Pod Scheduler and workloads that are there: every pod is a Slurm job, whatever controller made it."""

from __future__ import annotations

from bayplan.backends.sunk.marks import lower
from bayplan.model.features import Support
from bayplan.model.given import PLAIN, carries, refuses
from bayplan.model.manifest import Lowered, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target

ALONE = "every pod is a Slurm job of its own, which knows nothing of groups"
WAY = "leave the groups out, or use `-s slurm`: SUNK runs sbatch scripts too"
GIVEN: tuple[Support, ...] = (
    *carries("place", *PLAIN),
    *refuses(
        "place",
        "its pods have a scheduler of their own",
        "use a Job or a Pod",
        word="not yet here",
        but=PLAIN,
    ),
    *refuses("copies", ALONE, WAY, word="not yet upstream"),
    *refuses("ranks", ALONE, WAY, word="not yet upstream"),
    *carries("gangs", "lws"),
    *refuses("gangs", ALONE, WAY, but=("lws",)),
)


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Annotations, a toleration and a short end on the pods."""
    return lower(plan, shape, target)
