"""`bayplan check`: everything that render would say, and no manifests."""

from __future__ import annotations

from bayplan import pipeline
from bayplan.cli import inputs
from bayplan.cli.compiling import compile_all, join
from bayplan.cli.finish import finish
from bayplan.cli.inputs import Inputs
from bayplan.cli.options import Given
from bayplan.report.batch import Batch


def run(given: Given) -> int:
    """Checks the workflows alone or, with a topology, all the way to their manifests."""
    read = inputs.read_all(given, needs_topology=False)
    everywhere = given.one("scheduler") == "all"
    if inputs.without_topology(given) and not everywhere:
        return finish(given, [*read.batches, *_alone(given, read)], to_stdout=True)
    asked = inputs.requests(given, read)
    batches = [Batch(asked.diagnostics), *read.batches]
    if inputs.without_topology(given):
        batches.append(Batch((inputs.no_topology(),)))
    if everywhere:
        from bayplan.cli import comparison

        return comparison.run(given, read, asked.value or (), batches)
    compiled, found = compile_all(asked.value or (), read)
    return finish(given, [*batches, *found, *join(compiled)[1]], to_stdout=True)


def _alone(given: Given, read: Inputs) -> list[Batch]:
    """What can be said of the workflows without a cluster."""
    found = []
    for document in read.workflows:
        outcome, origins = pipeline.check_workflow(document, given.one("from"), read.context())
        found.append(Batch(outcome.diagnostics, read.sources(document), origins))
    return found
