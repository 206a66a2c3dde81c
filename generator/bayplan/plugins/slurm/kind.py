"""sbatch script: a gang as one Slurm job. The Slurm backend writes it; it has no Kubernetes objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bayplan.plugin import GangPlan, Manifest, Many, Numbers, Piece, Pods, Support, Workload, approximate, never

TITLE = "sbatch script"
SERVICE = False
COPY_LABEL = ""
INDEX = ""
WHOLE = False
FIELDS: Mapping[str, str] = {}
SUPPORT = (
    Support("depends-on"),
    Support("at-once"),
    Support("lead"),
    approximate(
        "barrier",
        "srun starts the tasks of a step on all nodes at once, but a task does not wait for the images of other nodes",
        "let the program retry connections, and set `barrier: none`",
        report="warning",
    ),
    Support("barrier-of-copies"),
    Support("nonlead-failures"),
    Support("restarts"),
    approximate(
        "gang-retries",
        "srun reports only the highest exit code of its tasks, so these exit codes are failures like any other",
        "set `maxRestarts` to restart the gang after any failure",
        report="warning",
    ),
    Support("counted-retries"),
    Support("deadline"),
    Support("ttl"),
    approximate(
        "retries",
        "Slurm starts no task again, so the task fails with these exit codes",
        "set `maxRestarts` to restart the gang, or retry inside the command",
        report="warning",
    ),
    never("starts-after", "srun starts all tasks at the same time", "remove `startsAfter`, and wait in the command"),
    never("service", "a Slurm job ends", "use a scheduler of Kubernetes, such as `-s slurm-bridge`"),
    never("always-restart", "a Slurm job must be able to end", "set restartPolicy Never and `maxRestarts`"),
    never("adopt", "a Slurm job leaves no objects behind, so there is nothing to own", "remove `cleanup`"),
    never(
        "clients",
        "Slurm knows no Services: clients reach a task by the name of its node",
        "remove `service`, or use a scheduler of pods",
    ),
    Support("pod-name-length"),
)


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """Tasks have no names; jobs have the names of their gangs."""
    return gang.name


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """The number of a task in its step; the backend writes the rest."""
    return Numbers("SLURM_PROCID", "0")


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """A variable that the script sets after Slurm assigned the nodes."""
    return f"$({host_variable(pods, copy, number)})"


def host_variable(pods: Pods, copy: int | str, number: int) -> str:
    """The name of that variable."""
    return f"HOST_{re.sub(r'[^A-Za-z0-9]', '_', pods.name).upper()}_{number}"


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest | Many]:
    """Nothing for Kubernetes."""
    return iter(())
