"""Workflow files -> documents; a format may look at files beside them, and have templates rendered elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from bayplan.cli import files
from bayplan.diagnostics import Outcome
from bayplan.model.formats import Source
from bayplan.reading import documents
from bayplan.report.batch import Batch
from bayplan.text.document import Document, text_of


def workflow(path: str, source: Source) -> tuple[tuple[Document, ...], Batch]:
    """The documents of a workflow's file; the source is given what it may do: look beside the file, and render."""
    name = files.STDIN if path == "-" else path
    raw = files.raw_of(path, "workflow")
    if raw.value is None:
        wrong = tuple(each._replace(hint=each.hint or _hint(path, source)) for each in raw.diagnostics)
        return (), Batch(wrong, {"workflow": Document(name, "", 0, None)})
    able = source._replace(read_file=_beside("" if path == "-" else os.path.dirname(path)), render=render)
    found = documents(name, raw.value, "workflow", able)
    unread = Document(name, text_of(raw.value) if found.diagnostics else "", 0, None)
    return found.value or (), Batch(found.diagnostics, {"workflow": found.value[0] if found.value else unread})


def _hint(path: str, source: Source) -> str:
    """OSMO takes several variables behind one --set."""
    pair = source.variables and path.partition("=")[0].isidentifier() and "=" in path
    return f"write --set {path}: each variable has a --set of its own" if pair else ""


def render(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Runs a template in a process of its own."""
    from bayplan import sandbox

    return sandbox.run(request)


def _beside(folder: str) -> Callable[[str], Outcome[bytes]]:
    """The files in a folder and below it."""

    def read(path: str) -> Outcome[bytes]:
        from bayplan.cli import beside

        return beside.read(folder, path)

    return read
