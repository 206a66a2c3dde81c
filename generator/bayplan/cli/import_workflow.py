"""`bayplan import`: workflows of any format in, native Workflows out."""

from __future__ import annotations

from bayplan import pipeline
from bayplan.cli import inputs, output
from bayplan.cli.finish import finish
from bayplan.cli.inputs import Inputs
from bayplan.cli.options import Given
from bayplan.model.topology import ClusterTopology
from bayplan.report import Batch
from bayplan.text.emit import emit
from bayplan.workflows import native


def run(given: Given) -> int:
    """Prints all workflows or none."""
    read = inputs.read_all(given, needs_topology=False)
    topology, about = _topology(read)
    batches = [Batch(output.option_errors(given)), *read.batches, *about]
    documents = []
    for document in read.workflows:
        outcome, origins = pipeline.check_workflow(document, given.one("from"), read.context(topology))
        batches.append(Batch(outcome.diagnostics, read.sources(document), origins))
        documents += [native.write(outcome.value)] if outcome.value else []
    return finish(given, batches, output.file_writer(given, emit(documents)) if documents else None)


def _topology(read: Inputs) -> tuple[ClusterTopology | None, list[Batch]]:
    """The cluster, where one is named: a format may say things that only it can resolve."""
    if read.topology is None:
        return None, []
    outcome, origins = pipeline.check_topology(read.topology)
    return outcome.value, [Batch(outcome.diagnostics, read.sources(), origins)]
