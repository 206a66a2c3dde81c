"""`bayplan render`: workflows and a topology in, every manifest out."""

from __future__ import annotations

from bayplan.cli import inputs, output
from bayplan.cli.compiling import compile_all, join
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.report import Batch


def run(given: Given) -> int:
    """Renders all workflows or none."""
    read = inputs.read_all(given)
    asked = inputs.requests(given, read, cluster_objects=given.on("cluster-objects"))
    compiled, found = compile_all(asked.value or (), read)
    batches = [Batch((*asked.diagnostics, *output.wrong(given))), *read.batches, *found]
    if len(compiled) != len(asked.value or ()) or not compiled:
        return finish(given, batches)
    documents, colliding = join(compiled)
    return finish(given, [*batches, *colliding], output.writer(given, documents))
