"""`bayplan render`, `bayplan delete-plan` and `bayplan import`."""

from __future__ import annotations

from itertools import chain

from bayplan import pipeline
from bayplan.backends import BACKENDS
from bayplan.cli import destination, inputs, output
from bayplan.cli.compiling import compile_all, join, success_of
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.model.topology import ClusterTopology
from bayplan.planning.selection import select_backend, unused
from bayplan.report import Batch


def run(args: Arguments) -> int:
    """`bayplan render`: writes all manifests of all workflows, or nothing."""
    read = inputs.read_all(args)
    compiled, batches = compile_all(args, read)
    batches.append(Batch(destination.option_errors(args)))
    if not compiled or len(compiled) < len(read.workflows):
        return finish(args, batches)
    documents, colliding = join(compiled)
    success = success_of(compiled, documents)
    return finish(args, [*batches, *colliding], destination.writer(args, documents), success=success)


UNFIT = frozenset(f"P55{digit}" for digit in "14578")
"""Codes by which a gang does not fit, or perhaps does not."""


def delete_plan(args: Arguments) -> int:
    """`bayplan delete-plan`: one command per line that deletes an object of render, in a safe order.

    A workflow that no longer fits, for example after nodes failed, can still be deleted.
    """
    from bayplan.manifests import lifecycle

    compiled, batches = compile_all(args, inputs.read_all(args), accept=UNFIT)
    documents, colliding = join(compiled)
    lines = (f"{line}\n" for line in lifecycle.delete_plan(documents))
    return finish(args, [*batches, *colliding], lambda: output.write(lines))


def import_workflows(args: Arguments) -> int:
    """`bayplan import`: prints all workflows in the native format, or none."""
    from bayplan.text.emit import emit
    from bayplan.workflows import native

    read = inputs.read_all(args, needs_topology=False)
    batches = [Batch(destination.option_errors(args)), *read.batches]
    topology: ClusterTopology | None = None
    if read.topology is not None:  # a format may need it for what only the cluster defines
        checked, origins = pipeline.check_topology(read.topology)
        topology = checked.value
        batches.append(Batch(checked.diagnostics, read.sources(), origins))
    workflows, scheduler = [], args.value("scheduler")
    if scheduler:
        batches.append(Batch(select_backend(scheduler, None, ClusterTopology("", ()), BACKENDS).diagnostics))
    given = inputs.given(args)
    for document in read.workflows:
        outcome, origins = pipeline.check_workflow(document, args.value("from"), read.context(topology), given)
        batches.append(Batch(outcome.diagnostics, read.sources(document), origins))
        workflows += [each._replace(scheduler=each.scheduler or scheduler)] if (each := outcome.value) else []
    documents = [*map(native.write, workflows)]
    batches.append(Batch(tuple(unused(given, workflows))))
    head = destination.modeline("workflow", args.value("output", "-"))
    return finish(args, batches, destination.file_writer(args, chain((head,), emit(documents))) if documents else None)
