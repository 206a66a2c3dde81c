"""`bayplan render`, every manifest out of workflows and a topology, and `bayplan delete-plan`, how to undo it."""

from __future__ import annotations

from bayplan.cli import inputs, output
from bayplan.cli.compiling import compile_all, join
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.report import Batch


def run(given: Given) -> int:
    """Renders all workflows or none."""
    read = inputs.read_all(given)
    requested = inputs.requests(given, read, cluster_objects=given.on("cluster-objects"))
    compiled, found = compile_all(requested.value or (), read)
    batches = [Batch((*requested.diagnostics, *output.option_errors(given))), *read.batches, *found]
    if len(compiled) != len(requested.value or ()) or not compiled:
        return finish(given, batches)
    documents, colliding = join(compiled)
    return finish(given, [*batches, *colliding], output.writer(given, documents))


def delete_plan(given: Given) -> int:
    """Prints the commands that delete what render writes, a line for each object, in an order that works."""
    from bayplan.manifests import lifecycle

    read = inputs.read_all(given)
    requested = inputs.requests(given, read)
    compiled, found = compile_all(requested.value or (), read)
    batches = [Batch(requested.diagnostics), *read.batches, *found]
    documents, colliding = join(compiled)
    lines = (f"{line}\n" for line in lifecycle.delete_plan(documents))
    return finish(given, [*batches, *colliding], lambda: output.write(lines))
