"""sbatch scripts (Slurm 24.11 to 25.11) as workflows.

    text        the source -> its `#SBATCH` directives and its body, as data.
    options     every option of sbatch, srun and pyxis, and its translation; shape: the tasks that they request.
    shell       the body as a shell parses it; expansion, variables, body: evaluate it without running anything.
    steps       srun lines -> podSets; gangs: all steps -> a native workflow.

bayplan runs no part of a script. This module is imported for every workflow, so it imports the rest on demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayplan.plugin import Context, Document, Outcome, Read, Source, Workflow


SCHEMA = "SbatchScript"


def claims(text: str) -> bool:
    """Whether a file is a batch script: it starts with `#!`, and one of its lines with `#SBATCH`."""
    return text.startswith("#!") and "\n#SBATCH" in text


def start(text: str) -> int:
    """The line that shows that a file is a script."""
    return next((number for number, line in enumerate(text.split("\n"), 1) if line.startswith("#SBATCH")), 1)


def documents(name: str, raw: bytes, text: str, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """The one document of a script."""
    from bayplan.plugins.slurm.sbatch import text as stage

    return stage.documents(name, raw, text, subject, source)


def sniff(data: Any) -> bool:
    """Whether the data are those of a script."""
    return isinstance(data, dict) and set(data) == {"sbatch"}


def read(data: Any, context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in data that the schema accepted."""
    from bayplan.plugins.slurm.sbatch import gangs

    return gangs.read(data["sbatch"], context)
