"""bayplan.yaml, the project file: found in the current folder or the nearest one above, it gives -t its default."""

from __future__ import annotations

import os
from typing import Any

from bayplan.cli import files
from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.document import Document
from bayplan.report.batch import Batch

NAME = "bayplan.yaml"
API_VERSION = "bayplan.dev/v1alpha1"
HINT = f"it should read: apiVersion: {API_VERSION}, kind: Project, spec: {{topology: FILE}}"


def topology() -> tuple[str | None, tuple[Batch, ...]]:
    """The topology file that the project names, seen from the current folder; None when there is no project."""
    path = find()
    if path is None:
        return None, ()
    documents, batch = files.load(path, "project")
    if not documents:
        return None, (batch,)
    wrong = _wrong(documents)
    if wrong:
        return None, (Batch((wrong,), {"project": documents[0]}),)
    named = documents[0].data.get("spec", {}).get("topology")
    return os.path.join(os.path.dirname(path), named) if named else None, (batch,)


def find() -> str | None:
    """The nearest project file, as a path from the current folder."""
    folder = ""
    for _ in range(os.getcwd().count(os.sep) + 1):
        path = os.path.join(folder, NAME)
        if os.path.lexists(path):
            return path
        folder = os.path.join(folder, os.pardir)
    return None


def _wrong(documents: tuple[Document, ...]) -> Diagnostic | None:
    """The first thing in it that cannot be understood."""
    data: Any = documents[0].data
    if len(documents) > 1:
        return error("A929", ("project",), f"the project file holds {len(documents)} documents; one is wanted")
    if not isinstance(data, dict) or data.get("apiVersion") != API_VERSION or data.get("kind") != "Project":
        return error("A929", ("project", "kind"), f"this is no Project of {API_VERSION}", hint=HINT)
    spec = data.get("spec", {})
    if not isinstance(spec, dict):
        return error("A929", ("project", "spec"), "spec must be a mapping", hint=HINT)
    named = spec.get("topology", "")
    route: Route = ("project", "spec", "topology")
    return (
        None if isinstance(named, str) else error("A929", route, "the topology must be the name of a file", hint=HINT)
    )
