"""Requests -> compiled workflows, each with the document it came from, and what was found in all of them."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan import pipeline
from bayplan.cli.inputs import Inputs
from bayplan.document import Document
from bayplan.pipeline import Compiled, Request
from bayplan.report.batch import Batch


def compile_all(requests: Iterable[Request], read: Inputs) -> tuple[list[tuple[Document, Compiled]], list[Batch]]:
    """The workflows that compile; the rest have errors among the batches."""
    compiled: list[tuple[Document, Compiled]] = []
    batches: list[Batch] = []
    for request in requests:
        outcome, origins = pipeline.compile(request)
        batches.append(Batch(outcome.diagnostics, read.sources(request.workflow), origins))
        if outcome.value is not None:
            compiled.append((request.workflow, outcome.value))
    return compiled, batches
