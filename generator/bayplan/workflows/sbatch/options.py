"""Every option of sbatch and srun (Slurm 25.11, `man sbatch`, `man srun`) and of pyxis 0.20, and what becomes of it.

READ      carried into the workflow
KEPT      kept in the gang's `backends: {slurm: ...}`; other schedulers have nothing for it
NOTHING   it is about Slurm's own ways or about what is printed: nothing is lost without it
LOST      nothing carries it, and the job runs all the same: a warning
REFUSED   without it the job would be another one: an error
"""

from __future__ import annotations

import csv
from collections.abc import Mapping

from bayplan.core.diagnostics import AT, Diagnostic, Route, error, info, warning
from bayplan.core.package_data import table
from bayplan.core.values import NamedTuple

READ, KEPT, NOTHING, LOST, REFUSED = "read", "kept", "nothing", "lost", "refused"
VALUE, FLAG, MAYBE = "value", "flag", "maybe"
"""Whether a value follows: always, never, or only after an equals sign."""


class Option(NamedTuple):
    """One option. `short` is its letter; `why` and `hint` tell what a warning or an error says."""

    name: str
    short: str
    takes: str
    does: str
    why: str = ""
    hint: str = ""


def _table(command: str) -> dict[str, Option]:
    """The options of a command, from `options.csv` beside this file: those of its own follow those that both have."""
    rows = csv.reader(table("workflows", "sbatch", "options.csv").splitlines())
    return {own[0]: Option(*own) for of, *own in rows if of in ("both", command)}


DIRECTIVES: Mapping[str, Option] = _table("sbatch")
STEPS: Mapping[str, Option] = _table("srun")


ALIASES: Mapping[str, str] = {"workdir": "chdir", "share": "oversubscribe", "jobname": "job-name"}
"""What older versions called them."""


# Places in a script, and findings.

SUBJECT = "workflow"


class Position(NamedTuple):
    """Line and column, both from 1."""

    line: int = 1
    column: int = 1

    @property
    def route(self) -> Route:
        """For a diagnostic."""
        return (SUBJECT, AT, self.line, self.column)


class Findings:
    """What was found so far, each once."""

    def __init__(self) -> None:
        self.diagnostics: dict[Diagnostic, None] = {}

    def error(self, code: str, spot: Position, message: str, hint: str = "") -> None:
        """Something that cannot be carried, and must be."""
        self.diagnostics[error(code, spot.route, message, hint=hint)] = None

    def warning(self, code: str, spot: Position, message: str, hint: str = "") -> None:
        """Something that is lost."""
        self.diagnostics[warning(code, spot.route, message, hint=hint)] = None

    def info(self, code: str, spot: Position, message: str, hint: str = "") -> None:
        """Something worth knowing."""
        self.diagnostics[info(code, spot.route, message, hint=hint)] = None

    def all(self) -> tuple[Diagnostic, ...]:
        """In the order found."""
        return tuple(self.diagnostics)
