"""`bayplan delete-plan`: the commands that undo a render, in an order that works."""

from __future__ import annotations

from bayplan.cli import inputs, output
from bayplan.cli.compiling import compile_all, join
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.manifests.lifecycle import delete_plan
from bayplan.report import Batch


def run(given: Given) -> int:
    """Prints one line for each object."""
    read = inputs.read_all(given)
    asked = inputs.requests(given, read)
    compiled, found = compile_all(asked.value or (), read)
    batches = [Batch(asked.diagnostics), *read.batches, *found]
    documents, colliding = join(compiled)
    lines = (f"{line}\n" for line in delete_plan(documents))
    return finish(given, [*batches, *colliding], lambda: output.write(lines))
