"""Options of which some values are carried and others are not."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.words import shorten
from bayplan.workflows.sbatch.findings import Findings
from bayplan.workflows.sbatch.job.given import Given, Options
from bayplan.workflows.sbatch.shell.values import MARK

CHANNEL = "unique-channel-per-segment"
"""switch/nvidia_imex: an IMEX channel for each segment (Slurm 25.11), as ComputeDomains of groups are."""


def judge(sections: Iterable[Options], findings: Findings) -> None:
    """W603, W604, W617, W625 for directives and for options of steps."""
    for options in sections:
        for name, look in LOOKS.items():
            if name in options:
                look(options[name], findings)


def _dependency(given: Given, findings: Findings) -> None:
    if given.value == "singleton":
        message = "--dependency=singleton is lost: jobs of one name may run at the same time"
        findings.warning("W604", given.spot, message, "create the objects once the others are gone")
        return
    message = f'the job waits for others ("{shorten(given.value)}"), whose numbers lead to no script'
    hint = "write both as gangs of one workflow, with `dependsOn`"
    findings.error("W625", given.spot, message, hint)


def _distribution(given: Given, findings: Findings) -> None:
    first = given.value.partition(":")[0].partition(",")[0]
    if first == "arbitrary":
        findings.error("W603", given.spot, "--distribution=arbitrary cannot be carried: it lists nodes", "use block")
    elif first not in ("block", "*", ""):
        message = f"--distribution={first} is lost: ranks follow the nodes, as with block"
        findings.warning("W604", given.spot, message, "let one task use the whole node, and the order does not matter")


def _network(given: Given, findings: Findings) -> None:
    for part in given.value.split(","):
        if part != CHANNEL:
            message = f'--network: "{shorten(part)}" is lost: it is about Slurm\'s own switches'
            findings.warning("W604", given.spot, message, "attach networks of the cluster with `fabric`")


def _nodelist(given: Given, findings: Findings) -> None:
    if not MARK.search(given.value):
        message = "--nodelist cannot be carried: Slurm's names of nodes are not a placement"
        findings.error("W603", given.spot, message, "say it with levels, `placement` and pools")


def _mpi(given: Given, findings: Findings) -> None:
    if given.value != "none":
        message = f"--mpi={shorten(given.value)} cannot be carried: no pod finds Slurm's {shorten(given.value)} server"
        hint = "let torchrun start the ranks, or write an MPIJob"
        findings.error("W603", given.spot, message, hint)


def _folder(given: Given, findings: Findings) -> None:
    message = "--chdir is lost: a pod starts in the folder of its image"
    findings.warning("W604", given.spot, message, "write --container-workdir on the srun line")


LOOKS = {
    "dependency": _dependency,
    "distribution": _distribution,
    "network": _network,
    "nodelist": _nodelist,
    "mpi": _mpi,
    "chdir": _folder,
}
