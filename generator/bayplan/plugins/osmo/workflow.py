"""NVIDIA OSMO workflows (6.4).

`text` reads a file's sections, variables and template. `rules` checks what OSMO refuses, what it accepts silently, and
what only a running OSMO does. `translate` makes gangs of task groups, podSets of tasks, and groups of topology keys.

bayplan imports this module for every workflow, so it imports the rest on demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayplan.plugin import Context, Document, Outcome, Read, Source, Workflow


SCHEMA = "OsmoWorkflow"


def claims(text: str) -> bool:
    """Whether text is an OSMO file: a line begins with one of its sections, and no line with `apiVersion:`."""
    lines = f"\n{text}"
    return ("\nworkflow:" in lines or "\ndefault-values:" in lines) and "\napiVersion:" not in lines


def start(text: str) -> int:
    """The line of its first section."""
    lines = enumerate(text.split("\n"), 1)
    return next((number for number, line in lines if line.startswith(("workflow:", "default-values:"))), 1)


def documents(name: str, raw: bytes, text: str, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """The document that the file's template renders to."""
    from bayplan.plugins.osmo import text as stage

    return stage.read(name, raw, subject, source)


def sniff(data: Any) -> bool:
    """Whether the data is that of an OSMO file."""
    return isinstance(data, dict) and "workflow" in data and "apiVersion" not in data


def read(data: Any, context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in data that the schema accepted, checked by OSMO's rules."""
    from bayplan.plugins.osmo import translate

    return translate.read(data, context)
