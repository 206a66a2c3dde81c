"""`bayplan topology export`: the topology objects of a scheduler, to which workflows refer."""

from __future__ import annotations

from bayplan import pipeline
from bayplan.cli import destination, inputs, options
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.report import Batch


def run(args: Arguments) -> int:
    """Writes the objects of the named topology file, or of the project's."""
    target = options.target(args)
    document, batches = inputs.one_topology(args)
    batches = (Batch((*target.diagnostics, *destination.option_errors(args))), *batches)
    if document is None or target.value is None:
        return finish(args, batches)
    outcome, origins = pipeline.export(document, args.value("to"), target.value)
    batches += (Batch(outcome.diagnostics, {"topology": document}, origins),)
    return finish(args, batches, destination.writer(args, outcome.value or ()))
