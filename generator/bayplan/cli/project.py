"""bayplan.yaml, the project file: found in the current folder or the nearest one above, it gives -t its default, and
says what `bayplan generate` writes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bayplan import schemas
from bayplan.cli import files
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.core.values import NamedTuple
from bayplan.report import Batch
from bayplan.text.document import Document

NAME = "bayplan.yaml"
SUBJECT = "project"
API_VERSION = "bayplan.dev/v1alpha1"
HINT = f"write apiVersion: {API_VERSION}, kind: Project and spec: {{topology: FILE}}"


class Project(NamedTuple):
    """A valid project file. `folder` is its folder, as a path from the current folder ("": the current folder)."""

    folder: str
    document: Document

    @property
    def spec(self) -> Mapping[str, Any]:
        """The `spec` of the file."""
        spec: Mapping[str, Any] = self.document.data.get("spec", {})
        return spec

    def path(self, name: str) -> str:
        """The path of a file of the project, from the current folder. Here `-` is a file, not standard input."""
        joined = os.path.join(self.folder, name)
        return joined if joined != "-" else os.path.join(os.curdir, joined)


def named(key: str) -> tuple[str | None, tuple[Batch, ...]]:
    """The path of `topology` or `policy` in the project, from the current folder.

    None if there is no project, or if the file cannot be opened.
    """
    project, batches = load()
    name = project.spec.get(key) if project else None
    if project is None or not name:
        return None, batches
    path = project.path(name)
    wrong = files.refusal(path, (key,))
    if wrong is None:
        return path, batches
    sources = {SUBJECT: project.document, key: Document(path, "", 0, None)}
    return None, (*batches, Batch((files.at_name(wrong, (SUBJECT, "spec", key)),), sources))


def load(word: str = "") -> tuple[Project | None, tuple[Batch, ...]]:
    """The project in this file or folder, or the nearest project, and its diagnostics."""
    path = (os.path.join(word, NAME) if os.path.isdir(word) else word) or find()
    if path is None:
        return None, ()
    documents, batch = files.load(path, SUBJECT)
    if not documents:
        return None, (batch,)
    wrong = _wrong(documents)
    batches = (Batch(wrong, {SUBJECT: documents[0]}),)
    return None if wrong else Project(os.path.dirname(path), documents[0]), batches


def find(folder: str = "") -> str | None:
    """The nearest project file in this folder or above it, as a path from the current folder.

    bayplan does not look outside of the sandbox.
    """
    for _ in range(os.path.join(files.current_folder(), folder).count(os.sep) + 1):
        if not files.allows(folder or os.curdir):
            return None
        path = os.path.join(folder, NAME)
        if os.path.lexists(path):
            return path
        folder = os.path.join(folder, os.pardir)
    return None


def _wrong(documents: tuple[Document, ...]) -> tuple[Diagnostic, ...]:
    """The errors of a project file."""
    data: Any = documents[0].data
    if len(documents) > 1:
        message = f"the project file has {len(documents)} documents instead of one"
        return (error("A929", (SUBJECT,), message, hint="list all outputs under one `spec`"),)
    if not isinstance(data, dict) or data.get("apiVersion") != API_VERSION or data.get("kind") != "Project":
        return (error("A929", (SUBJECT, "kind"), f"this file is not a Project of {API_VERSION}", hint=HINT),)
    return schemas.validate("Project", data, SUBJECT)
