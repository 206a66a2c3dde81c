"""`bayplan delete-plan`: the commands that undo a render, in an order that works."""

from __future__ import annotations

from bayplan.cli import inputs, stdout
from bayplan.cli.compiling import compile_all, join
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.removal import delete_plan
from bayplan.report.batch import Batch


def run(given: Given) -> int:
    """Prints one line for each object."""
    read = inputs.read_all(given)
    asked = inputs.requests(given, read)
    compiled, found = compile_all(asked.value or (), read)
    batches = [Batch(asked.diagnostics), *read.batches, *found]
    documents, colliding = join(compiled)
    lines = (f"{line}\n" for line in delete_plan(documents))
    return finish(given, [*batches, *colliding], lambda: stdout.write(lines))
