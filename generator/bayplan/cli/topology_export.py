"""`bayplan topology export`: the cluster-scoped objects that workflows refer to, in a scheduler's words."""

from __future__ import annotations

from bayplan import pipeline
from bayplan.cli import destination, inputs, options
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.report import Batch


def run(given: Given) -> int:
    """Writes the objects of the file named, else of the project's."""
    target = options.target(given)
    document, batches = inputs.one_topology(given)
    batches = (Batch((*target.diagnostics, *destination.option_errors(given))), *batches)
    if document is None or target.value is None:
        return finish(given, batches)
    outcome, origins = pipeline.export(document, given.one("to"), target.value)
    batches += (Batch(outcome.diagnostics, {"topology": document}, origins),)
    return finish(given, batches, destination.writer(given, outcome.value or ()))
