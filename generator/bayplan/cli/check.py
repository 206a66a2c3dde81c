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
    if inputs.without_topology(given):
        return finish(given, [*read.batches, *_alone(given, read)], to_stdout=True)
    schedulers = _schedulers(given.one("scheduler"))
    asked = inputs.requests(given, read)
    batches = [Batch(asked.diagnostics), *read.batches]
    for scheduler in schedulers:
        requests = [request._replace(scheduler=scheduler) for request in asked.value or ()]
        compiled, found = compile_all(requests, read)
        batches += [*found, *join(compiled)[1]]
    return finish(given, batches, to_stdout=True)


def _schedulers(name: str) -> tuple[str, ...]:
    """The schedulers that a name stands for."""
    if name != "all":
        return (name,)
    from bayplan.backends import BACKENDS

    return tuple(BACKENDS)


def _alone(given: Given, read: Inputs) -> list[Batch]:
    """What can be said of the workflows without a cluster."""
    found = []
    for document in read.workflows:
        outcome, origins = pipeline.check_workflow(document, given.one("from"), read.context())
        found.append(Batch(outcome.diagnostics, read.sources(document), origins))
    return found
