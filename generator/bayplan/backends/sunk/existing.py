"""The SUNK Pod Scheduler and workloads that exist already: every pod is a Slurm job, whatever controller made it."""

from __future__ import annotations

from bayplan.backends.sunk import lower
from bayplan.model.backend import Support
from bayplan.model.existing import PLAIN, Existing, carries, refuses

ONE_BY_ONE = "every pod is a Slurm job of its own, which knows nothing of groups"
HINT = "leave the groups out, or use `-s slurm`: SUNK runs sbatch scripts too"
SUPPORT: tuple[Support, ...] = (
    *carries("place", *PLAIN),
    *refuses(
        "place",
        "its pods have a scheduler of their own",
        "use a Job or a Pod",
        word="not yet here",
        but=PLAIN,
    ),
    *refuses("copies", ONE_BY_ONE, HINT, word="not yet upstream"),
    *refuses("ranks", ONE_BY_ONE, HINT, word="not yet upstream"),
    *carries("gangs", "lws"),
    *refuses("gangs", ONE_BY_ONE, HINT, but=("lws",)),
)

EXISTING = Existing(SUPPORT, lower)
