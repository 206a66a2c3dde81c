"""Every option of sbatch and srun (Slurm 26.05, `man sbatch`, `man srun`) and of pyxis 0.20, and its translation.

READ      part of the workflow.
KEPT      in the gang's `backends: {slurm: ...}`; other schedulers have no equivalent.
NOTHING   about Slurm's internals or output: the job is the same without it.
LOST      no equivalent, but the job still runs: a warning.
REFUSED   without it the job would be a different one: an error.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from typing import NamedTuple

from bayplan.core.diagnostics import AT, Diagnostic, Route, error, info, warning
from bayplan.core.package_data import table

READ, KEPT, NOTHING, LOST, REFUSED = "read", "kept", "nothing", "lost", "refused"
VALUE, FLAG, MAYBE = "value", "flag", "maybe"
"""Whether the option has a value: always, never, or only after an equals sign."""


class Option(NamedTuple):
    """One option. `short` is its letter; `why` and `hint` are parts of its warning or error."""

    name: str
    short: str
    takes: str
    does: str
    why: str = ""
    hint: str = ""


def _table(command: str) -> dict[str, Option]:
    """The options of a command, from `options.csv`: first those of both commands, then its own."""
    rows = csv.reader(table("workflows", "sbatch", "options.csv").splitlines())
    return {own[0]: Option(*own) for of, *own in rows if of in ("both", command)}


DIRECTIVES: Mapping[str, Option] = _table("sbatch")
STEPS: Mapping[str, Option] = _table("srun")


ALIASES: Mapping[str, str] = {
    "workdir": "chdir",
    "share": "oversubscribe",
    "jobname": "job-name",
    "pack-group": "het-group",
    "tasks-per-node": "ntasks-per-node",
    "cpu_bind": "cpu-bind",
    "cluster": "clusters",
}
"""Names in older versions, which Slurm still accepts (26.05, `src/common/slurm_opt.c`)."""


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


def _readable(text: str) -> str:
    """A message with the words for values that are known later (`expansion.mark`)."""
    return re.sub("\0([a-z]+):[0-9.]*\0", r"(\1)", text) if "\0" in text else text


class Findings:
    """The diagnostics so far, each once."""

    def __init__(self) -> None:
        self.diagnostics: dict[Diagnostic, None] = {}

    def error(self, code: str, spot: Position, message: str, hint: str = "") -> None:
        """A part that bayplan must translate and cannot."""
        self.diagnostics[error(code, spot.route, _readable(message), hint=_readable(hint))] = None

    def warning(self, code: str, spot: Position, message: str, hint: str = "") -> None:
        """A part that bayplan drops."""
        self.diagnostics[warning(code, spot.route, _readable(message), hint=_readable(hint))] = None

    def info(self, code: str, spot: Position, message: str, hint: str = "") -> None:
        """A part that differs from Slurm."""
        self.diagnostics[info(code, spot.route, _readable(message), hint=_readable(hint))] = None

    def all(self) -> tuple[Diagnostic, ...]:
        """All diagnostics in order."""
        return tuple(self.diagnostics)
