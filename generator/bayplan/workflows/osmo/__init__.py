"""NVIDIA OSMO workflows (6.4), read as they are.

    text         the file's text -> sections, variables, template, data (only where the file claims to be one)
    rules        OSMO's own rules, what it accepts in silence, and what needs its running service
    translate    task groups -> gangs, tasks -> podSets, topology keys -> groups with a placement

This module is imported for every workflow, so it imports the rest on demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayplan.core.diagnostics import Outcome
    from bayplan.model.formats import Context, Read, Source
    from bayplan.model.workflow import Workflow
    from bayplan.text.document import Document


NAME = "osmo"
SCHEMA = "OsmoWorkflow"
TITLE = "an OSMO workflow"
MARKS = (b"workflow:", b"default-values:")


def claims(text: str) -> bool:
    """Whether a text is an OSMO file: one of its sections stands at the start of a line, and no `apiVersion:` does."""
    lines = f"\n{text}"
    return ("\nworkflow:" in lines or "\ndefault-values:" in lines) and "\napiVersion:" not in lines


def start(text: str) -> int:
    """The line of its first section."""
    lines = enumerate(text.split("\n"), 1)
    return next((number for number, line in lines if line.startswith(("workflow:", "default-values:"))), 1)


def documents(name: str, raw: bytes, text: str, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """The document that its template makes."""
    from bayplan.workflows.osmo import text as stage

    return stage.read(name, raw, subject, source)


def sniff(data: Any) -> bool:
    """Whether the data are those of an OSMO file."""
    return isinstance(data, dict) and "workflow" in data and "apiVersion" not in data


def read(data: Any, context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in data that the schema accepted, by OSMO's rules."""
    from bayplan.workflows.osmo import translate

    return translate.read(data, context)
