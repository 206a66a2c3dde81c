"""ExpandWorkflows replaces every Workflow in the list with its manifests. `Workflow` adds its manifests."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.cli import inputs
from bayplan.cli.compiling import compile_all, join
from bayplan.cli.inputs import Inputs
from bayplan.cli.krm.job import Answer, Job, is_workflow, without_wire
from bayplan.clients import resource_list
from bayplan.clients.resource_list import lines
from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.model.manifest import File
from bayplan.report import Batch
from bayplan.text.document import Document


def run(job: Job) -> Answer:
    """Expands all workflows, or none."""
    known = resource_list.parsed(job.items, lambda text: "kind: Workflow" in text)
    if known.value is None:
        return Answer(None, [Batch(known.diagnostics)])
    numbers = [number for number, each in enumerate(known.value) if is_workflow(each.data)]
    if not numbers:
        message = "there is no Workflow among the resources, so ExpandWorkflows changes nothing"
        return Answer(job.items, [Batch((info("A973", (), message),))])
    workflows = [Document("Workflow", "", number, without_wire(known.value[number].data)) for number in numbers]
    manifests, batches = _manifests(job, workflows)
    if manifests is None:
        return Answer(None, batches)
    before, after = known.value[: numbers[0]], known.value[numbers[0] :]
    return Answer([*before, *manifests, *(each for each in after if not is_workflow(each.data))], batches)


PLUGIN_KEYS = ("argsOneLiner", "argsFromFile")
"""Keys with the arguments in the configuration of a legacy plugin."""


def generate(job: Job) -> Answer:
    """Adds the manifests of one Workflow. kustomize passes this Workflow also as an item, which is left out."""
    known = resource_list.parsed(job.items, lambda text: "kind: Workflow" in text)
    if known.value is None:
        return Answer(None, [Batch(known.diagnostics)])
    own = without_wire({key: value for key, value in job.config.items() if key not in PLUGIN_KEYS})
    manifests, batches = _manifests(job, [Document("Workflow", "", 0, own)])
    if manifests is None:
        return Answer(None, batches)
    config = without_wire(job.config)
    others = [each for each in known.value if not isinstance(each.data, dict) or without_wire(each.data) != config]
    return Answer([*others, *manifests], batches)


def _manifests(job: Job, workflows: Sequence[Document]) -> tuple[list[str] | None, list[Batch]]:
    """The objects of the workflows in JSON. None if one does not compile."""
    path, batches = inputs.needed_topology(job.args)
    if path is None:
        return None, list(batches)
    topology, more = inputs.topology_of(path)
    named = [inputs.with_tables((each,), "") for each in workflows]
    if wrong := [
        Batch(each.diagnostics, {"workflow": workflow})
        for workflow, each in zip(workflows, named, strict=True)
        if each.diagnostics
    ]:
        return None, [*batches, *wrong]
    read = Inputs(tuple(one for each in named for one in each.value or ()), topology, (*batches, *more))
    compiled, diagnostics = compile_all(job.args, read)
    if len(compiled) < len(workflows):
        return None, diagnostics
    documents, colliding = join(compiled)
    wrong = [
        Batch((_unfit(each.name),), {"workflow": workflow})
        for workflow, value in compiled
        for each in value.documents
        if isinstance(each, File)
    ]
    if wrong or colliding:
        return None, [*diagnostics, *colliding, *wrong]
    return [line for document in documents for line in lines(document)], diagnostics


def _unfit(name: str) -> Diagnostic:
    message = f'the scheduler needs the file "{name}", and kustomize passes only Kubernetes objects'
    return error("O808", ("workflow",), message, hint="write the files with `bayplan render -o DIR/`")
