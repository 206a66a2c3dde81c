"""Requests -> compiled workflows, each with the document it came from, and what was found in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bayplan import pipeline
from bayplan.cli.inputs import Inputs
from bayplan.diagnostics import Diagnostic, info
from bayplan.model.manifest import Item
from bayplan.pipeline import Compiled, Judged, Request
from bayplan.report.batch import Batch
from bayplan.text.document import Document

Made = list[tuple[Document, Compiled]]

NATIVE = ("P", "F", "W3")
"""Codes of stages that know no format."""


Judge = Callable[[Document], Judged]


def judging() -> Judge:
    """`pipeline.check_topology` of each document once: with 100,000 nodes it takes longer than all else."""
    known: dict[int, tuple[Document, Judged]] = {}  # with the document, so that no other gets its number

    def judge(document: Document) -> Judged:
        if id(document) not in known:
            known[id(document)] = document, pipeline.check_topology(document)
        return known[id(document)][1]

    return judge


def compile_all(requests: Iterable[Request], read: Inputs, judge: Judge | None = None) -> tuple[Made, list[Batch]]:
    """The workflows that compile; the rest have errors among the batches."""
    judge = judge or judging()
    compiled: Made = []
    batches: list[Batch] = []
    for request in requests:
        outcome, origins = pipeline.compile(request._replace(judged=judge(request.topology)))
        found = (*outcome.diagnostics, *_in_native_words(outcome.diagnostics, request.workflow))
        batches.append(Batch(found, read.sources(request.workflow), origins))
        if outcome.value is not None:
            compiled.append((request.workflow, outcome.value))
    return compiled, batches


def _in_native_words(found: Iterable[Diagnostic], workflow: Document) -> tuple[Diagnostic, ...]:
    """A933 where a hint names keys of the native format, and the workflow is in another."""
    hinted = any(each.severity == "error" and each.hint and each.code.startswith(NATIVE) for each in found)
    if not hinted or "apiVersion" in workflow.data:
        return ()
    message = "the hints name keys of the native format"
    return (info("A933", ("workflow",), message, hint=f"`bayplan import {workflow.name}` prints this workflow in it"),)


def join(compiled: Made) -> tuple[tuple[Item, ...], list[Batch]]:
    """The documents of all workflows, and what collides."""
    if len(compiled) == 1:
        return compiled[0][1].documents, []
    from bayplan.cli.collisions import merge

    return merge(compiled)
