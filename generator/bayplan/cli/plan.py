"""`bayplan plan`: how the pods are cut into groups, and one placement that proves they fit."""

from __future__ import annotations

from bayplan.cli import inputs, placement, stdout
from bayplan.cli.compiling import compile_all
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.report.batch import Batch


def run(given: Given) -> int:
    """Shows the plans of all workflows."""
    read = inputs.read_all(given)
    asked = inputs.requests(given, read)
    compiled, found = compile_all(asked.value or (), read)
    batches = [Batch(asked.diagnostics), *read.batches, *found]
    planned = [value.planned for _, value in compiled]
    show = placement.as_json if given.one("format", "tree") == "json" else placement.as_tree
    return finish(given, batches, lambda: stdout.write([show(planned)]))
