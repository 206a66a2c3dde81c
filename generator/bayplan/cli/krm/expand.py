"""ExpandWorkflows: every Workflow among the items makes room for its manifests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.cli import inputs
from bayplan.cli.compiling import compile_all, join
from bayplan.cli.inputs import Inputs
from bayplan.cli.krm.inputs import Answer, Job, is_workflow, without_wire
from bayplan.clients import resource_list
from bayplan.clients.resource_list import lines
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.model.manifest import File
from bayplan.model.manifest import Item as Made
from bayplan.report import Batch
from bayplan.text.document import Document


def run(job: Job) -> Answer:
    """All workflows are expanded, or none."""
    known = resource_list.known(job.items, lambda text: "kind: Workflow" in text)
    if known.value is None:
        return Answer(None, [Batch(known.diagnostics)])
    found = [number for number, each in enumerate(known.value) if is_workflow(each.data)]
    if not found:
        return Answer(job.items, [])
    workflows = [Document("Workflow", "", number, without_wire(known.value[number].data)) for number in found]
    made, batches = manifests(job, workflows)
    if made is None:
        return Answer(None, batches)
    place = found[0]
    kept = [
        [each for number, each in enumerate(known.value) if number not in found and (number > place) is after]
        for after in (False, True)
    ]
    return Answer([*kept[0], *made, *kept[1]], batches)


def manifests(job: Job, workflows: Sequence[Document]) -> tuple[list[str] | None, list[Batch]]:
    """The objects of the workflows in JSON, if all of them compile."""
    path, batches = inputs.needed_topology(job.given)
    if path is None:
        return None, list(batches)
    topology, more = inputs.topology_of(path)
    read = Inputs(tuple(workflows), topology, ())
    asked = inputs.requests(job.given, read, cluster_objects=job.given.on("cluster-objects"))
    compiled, found = compile_all(asked.value or (), read)
    all_batches = [*batches, *more, Batch(asked.diagnostics), *found]
    if asked.value is None or len(compiled) != len(workflows):
        return None, all_batches
    documents, colliding = join(compiled)
    wrong = [Batch((_file(each),)) for each in documents if isinstance(each, File)]
    if wrong or colliding:
        return None, [*all_batches, *colliding, *wrong]
    return list(_json(documents)), all_batches


def _json(documents: Sequence[Made]) -> Iterator[str]:
    for document in documents:
        yield from lines(document)


def _file(file: File) -> Diagnostic:
    message = f'the scheduler takes the file "{file.name}", and kustomize passes objects of Kubernetes only'
    return error("A963", (), message, hint="`bayplan render -o DIR/` writes files")
