"""What the tests of OSMO files share: the text stage by itself, and what it says, as a person reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.model.formats import Source
from bayplan.plugins.osmo import text
from bayplan.plugins.osmo.sandbox import child
from bayplan.report import Batch
from bayplan.report.findings import Finding, findings
from bayplan.text.document import Document
from tools.run import ROOT

EXAMPLES = Path(os.environ.get("BAYPLAN_UPSTREAM") or ROOT.parent / "shared").resolve() / "examples" / "osmo"


def in_this_process(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reply of the sandbox, without its process and its limits: for templates that mean no harm."""
    read = json.loads(json.dumps(request))
    if read["task"] == "each":
        return {"replies": [in_this_process(each) for each in read["items"]]}
    with mock.patch.object(child, "start_clock"):
        reply: Mapping[str, Any] = json.loads(child.reply(read))
    return reply


render = in_this_process
"""Who renders the templates of `stage`. Tests of limits put `sandbox.run` here."""


def side(files: Mapping[str, bytes]) -> Any:
    """Files beside a workflow."""

    def read(path: str) -> Outcome[bytes]:
        if path in files:
            return Outcome(files[path])
        return Outcome(None, (error("R134", (), f'"{path}" cannot be read: no such file'),))

    return read


def stage(file: str | bytes, files: Mapping[str, bytes] = {}, **variables: Any) -> Outcome[tuple[Document, ...]]:
    """The text stage, with variables of the command line and files beside."""
    raw = file.encode() if isinstance(file, str) else file
    return text.read("w.yaml", raw, "workflow", Source("", variables, side(files), render))


def document(file: str | bytes, files: Mapping[str, bytes] = {}, **variables: Any) -> Document:
    """The document of a file that nothing is said about."""
    found = stage(file, files, **variables)
    assert found.value is not None, found.diagnostics
    assert found.diagnostics == ()
    (only,) = found.value
    return only


def data(file: str | bytes, files: Mapping[str, bytes] = {}, **variables: Any) -> Any:
    """What stands below `workflow:`."""
    return document(file, files, **variables).data["workflow"]


def said(file: str | bytes, files: Mapping[str, bytes] = {}, **variables: Any) -> tuple[Finding, ...]:
    """What is found in a file, with places."""
    found = stage(file, files, **variables)
    read = file if isinstance(file, str) else file.decode("utf-8", "replace")
    shown = found.value[0] if found.value else Document("w.yaml", read, 0, None)
    return findings([Batch(found.diagnostics, {"workflow": shown})])


def seen(document: Document, diagnostic: Diagnostic) -> Finding:
    """A finding of a later stage in a document, with its place."""
    (only,) = findings([Batch((diagnostic,), {"workflow": document})])
    return only


def places(file: str | bytes, files: Mapping[str, bytes] = {}, **variables: Any) -> list[tuple[str, int, str]]:
    """Code, line and what is underlined of everything that is found."""
    return [(each.code, *marked(each)) for each in said(file, files, **variables)]


def marked(finding: Finding) -> tuple[int, str]:
    """The line of a finding and what is underlined in it."""
    place = finding.place
    return (place.line, place.source[place.column - 1 : place.end_column - 1]) if place else (0, "")
