"""TorchX applications (0.7 and 0.8) as data: an AppDef in JSON (`dataclasses.asdict`) or YAML, read without TorchX.

    translate     roles -> podSets, devices -> fabrics, capabilities -> pools, overlays -> templates.

This module is imported for every workflow, so it imports the rest on demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayplan.plugin import AT, Outcome, document, error

if TYPE_CHECKING:
    from bayplan.plugin import Context, Document, Read, Source, Workflow


SCHEMA = "TorchXApp"
APPLICATION = "=== APPLICATION ==="
REQUEST = "=== SCHEDULER REQUEST ==="


def claims(text: str) -> bool:
    """Whether a file is output or input of TorchX, other than an AppDef as data."""
    if APPLICATION in text or REQUEST in text:
        return True
    return '"component_name"' in text and '"roles"' not in text and text.lstrip().startswith("{")


def start(text: str) -> int:
    """The line with the title of a section, or the first one."""
    offset = min((at for title in (APPLICATION, REQUEST) if (at := text.find(title)) >= 0), default=0)
    return text.count("\n", 0, offset) + 1


def documents(name: str, raw: bytes, text: str, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """An AppDef as data. A912: the file is made for a person or for TorchX."""
    if not claims(text):
        return document.read(name, raw, subject)
    what = "the output of a dry run of TorchX" if start(text) > 1 or text.startswith("===") else "a request to TorchX"
    message = f"this is {what}; bayplan reads the AppDef of an application as JSON or YAML"
    hint = "write it with `json.dumps(dataclasses.asdict(app))`, or run the application with `torchx run -s bayplan`"
    return Outcome(None, (error("A912", (subject, AT, start(text), 1), message, hint=hint),))


def sniff(data: Any) -> bool:
    """Whether the data are those of an AppDef."""
    if not isinstance(data, dict) or "roles" not in data or "apiVersion" in data:
        return False
    return isinstance(data["roles"], list) or "name" in data


def read(data: Any, context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in data that the schema accepted."""
    from bayplan.plugins.torchx import translate

    return translate.read(data, context)
