"""ValidateWorkloads: `bayplan lint` over the items.

kustomize takes a validator that prints nothing, and refuses one that prints its input (kustomize#5036). Other callers
get the items back.
"""

from __future__ import annotations

import os

from bayplan import pipeline
from bayplan.cli.krm.job import Answer, Job, is_workflow, without_wire
from bayplan.cli.krm.kustomizations import kustomization, listed_paths, objects
from bayplan.cli.lint import lint_request
from bayplan.clients import resource_list
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.report import Batch
from bayplan.text.document import Document


def run(job: Job) -> Answer:
    """Nothing when all is well."""
    if not job.plugin and _deletes(job):
        message = "ValidateWorkloads stands under `transformers:`, where every object would be deleted"
        wrong = error("A964", ("function", "kind"), message, hint="list it under `validators:`")
        return Answer(None, [Batch((wrong,), {"function": Document("function", "", 0, job.config)})])
    parsed = resource_list.parsed(job.items, lambda _: True)
    documents = tuple(Document("item", "", 0, without_wire(item.data)) for item in parsed.value or ())
    request, batches = lint_request(job.args, documents)
    batches.append(Batch(parsed.diagnostics))
    if parsed.value is None or request is None:
        return Answer(None, batches)
    outcome, origins = pipeline.lint(request)
    subjects = {f"manifest:{number}": document for number, document in enumerate(documents)}
    unexpanded = tuple(_unexpanded(number, each) for number, each in enumerate(documents) if is_workflow(each.data))
    whole = {each.route for each in unexpanded}
    found = tuple(each for each in outcome.diagnostics if each.route not in whole)
    reported = Batch(
        (*found, *unexpanded), {**subjects, **({"topology": request.topology} if request.topology else {})}, origins
    )
    return Answer(job.items if job.keeps_results else (), [*batches, reported])


def _deletes(job: Job) -> bool:
    """Whether the kustomization takes what this function prints for all the objects that there are."""
    here = kustomization(os.curdir)
    paths = listed_paths(os.curdir, here.data, "transformers") if here else ()
    listed = [each.data for path in paths for each in objects(path)]
    return any(isinstance(each, dict) and without_wire(each) == without_wire(job.config) for each in listed)


def _unexpanded(number: int, document: Document) -> Diagnostic:
    """A967: no function has made manifests of a Workflow."""
    name = document.data.get("metadata", {}).get("name", "")
    hint = "list a configuration of kind ExpandWorkflows under `transformers:`"
    return error("A967", (f"manifest:{number}",), f'nothing has expanded the Workflow "{name}"', hint=hint)
