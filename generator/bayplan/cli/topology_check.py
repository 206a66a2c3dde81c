"""`bayplan topology check`: whether a cluster topology file is sound in itself."""

from __future__ import annotations

from bayplan import pipeline
from bayplan.cli import inputs
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.report.batch import Batch


def run(given: Given) -> int:
    """Checks the file named, else the project's."""
    document, batches = inputs.one_topology(given)
    if document is not None:
        outcome, origins = pipeline.survey(document)
        batches += (Batch(outcome.diagnostics, {"topology": document}, origins),)
    return finish(given, batches, to_stdout=True)
