"""TorchX applications (0.7 and 0.8), read without TorchX.

    text          the source -> an AppDef: a dry run, the JSON of `torchx run --stdin`, objects of TorchX.
    components    the components that come with TorchX, from their arguments.
    translate     roles -> podSets, devices -> fabrics, capabilities -> pools, overlays -> templates.

bayplan also reads an AppDef as JSON (`dataclasses.asdict`) or YAML. This module is imported for every workflow, so it
imports the rest on demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayplan.workflows.torchx.marks import APPLICATION, LABEL, REQUEST
from bayplan.workflows.torchx.marks import NAME as NAME

if TYPE_CHECKING:
    from bayplan.core.diagnostics import Outcome
    from bayplan.model.formats import Context, Read, Source
    from bayplan.model.workflow import Workflow
    from bayplan.text.document import Document


TITLE = "a TorchX application"
SCHEMA = "TorchXApp"
MARKS: tuple[bytes, ...] = (APPLICATION.encode(), REQUEST.encode(), LABEL.encode(), b'"component_name"')


def claims(text: str) -> bool:
    """Whether a file is output or input of TorchX, other than an AppDef as data."""
    if APPLICATION in text or REQUEST in text:
        return True
    if '"component_name"' in text:
        return text.lstrip().startswith("{")
    return f"{LABEL}role-name" in text and "apiVersion: bayplan.dev/" not in text


def start(text: str) -> int:
    """The line with the title of a section, or the first one."""
    offset = min((at for title in (APPLICATION, REQUEST) if (at := text.find(title)) >= 0), default=0)
    return text.count("\n", 0, offset) + 1


def documents(name: str, raw: bytes, text: str, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """The application in a file, as its only document."""
    from bayplan.workflows.torchx import text as stage

    return stage.read(name, raw, text, subject)


def sniff(data: Any) -> bool:
    """Whether the data are those of an AppDef."""
    if not isinstance(data, dict) or "roles" not in data or "apiVersion" in data:
        return False
    return isinstance(data["roles"], list) or "name" in data


def read(data: Any, context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in data that the schema accepted."""
    from bayplan.workflows.torchx import translate

    return translate.read(data, context)
