"""NVIDIA OSMO workflows (6.4), read as they are.

    text/         the file's text -> sections, variables, template, data (only where the file claims to be one)
    rules/        OSMO's own rules, what it accepts in silence, and what needs its running service
    translate/    task groups -> gangs, tasks -> podSets, topology keys -> groups with a placement

This module is imported for every workflow, so it imports the rest on demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayplan.diagnostics import Outcome
    from bayplan.model.formats import Context, Read
    from bayplan.model.workflow import Workflow

NAME = "osmo"
SCHEMA = "OsmoWorkflow"


def claims(text: str) -> bool:
    """Whether a text is an OSMO file: one of its sections stands at the start of a line, and no `apiVersion:` does."""
    lines = f"\n{text}"
    return ("\nworkflow:" in lines or "\ndefault-values:" in lines) and "\napiVersion:" not in lines


def sniff(data: Any) -> bool:
    """Whether the data are those of an OSMO file."""
    return isinstance(data, dict) and "workflow" in data and "apiVersion" not in data


def read(data: Any, context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in data that the schema accepted, by OSMO's rules."""
    from bayplan.workflows.osmo import translate

    return translate.read(data, context)
