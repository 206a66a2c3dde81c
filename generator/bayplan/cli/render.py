"""Workflows in, text out: `bayplan render`, `bayplan delete-plan` and `bayplan import`."""

from __future__ import annotations

from bayplan import pipeline
from bayplan.cli import destination, inputs, output
from bayplan.cli.compiling import compile_all, join
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.model.topology import ClusterTopology
from bayplan.report import Batch


def run(given: Given) -> int:
    """`bayplan render`: writes every manifest of all workflows, or nothing."""
    read = inputs.read_all(given)
    compiled, batches = compile_all(given, read)
    batches.append(Batch(destination.option_errors(given)))
    if not compiled or len(compiled) < len(read.workflows):
        return finish(given, batches)
    documents, colliding = join(compiled)
    return finish(given, [*batches, *colliding], destination.writer(given, documents))


def delete_plan(given: Given) -> int:
    """`bayplan delete-plan`: the commands that delete what render writes, a line each, in an order that works."""
    from bayplan.manifests import lifecycle

    compiled, batches = compile_all(given, inputs.read_all(given))
    documents, colliding = join(compiled)
    lines = (f"{line}\n" for line in lifecycle.delete_plan(documents))
    return finish(given, [*batches, *colliding], lambda: output.write(lines))


def import_workflows(given: Given) -> int:
    """`bayplan import`: prints all workflows as native ones, or none."""
    from bayplan.text.emit import emit
    from bayplan.workflows import native

    read = inputs.read_all(given, needs_topology=False)
    batches = [Batch(destination.option_errors(given)), *read.batches]
    topology: ClusterTopology | None = None
    if read.topology is not None:  # a format may leave to it what only a cluster resolves
        checked, origins = pipeline.check_topology(read.topology)
        topology = checked.value
        batches.append(Batch(checked.diagnostics, read.sources(), origins))
    documents = []
    for document in read.workflows:
        outcome, origins = pipeline.check_workflow(document, given.one("from"), read.context(topology))
        batches.append(Batch(outcome.diagnostics, read.sources(document), origins))
        documents += [native.write(outcome.value)] if outcome.value else []
    return finish(given, batches, destination.file_writer(given, emit(documents)) if documents else None)
