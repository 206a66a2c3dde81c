"""ValidateWorkloads: `bayplan lint` over the items.

kustomize accepts a validator that prints nothing, and rejects one that prints its input (kustomize#5036). Other callers
get the items back.
"""

from __future__ import annotations

from bayplan import pipeline
from bayplan.cli.krm.job import Answer, Job, is_workflow, without_wire
from bayplan.cli.lint import lint_request
from bayplan.clients import resource_list
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.report import Batch
from bayplan.text.document import Document


def run(job: Job) -> Answer:
    """Lints all items."""
    parsed = resource_list.parsed(job.items, lambda _: True)
    documents = tuple(Document("item", "", 0, without_wire(item.data)) for item in parsed.value or ())
    request, batches = lint_request(job.args, documents)
    batches.append(Batch(parsed.diagnostics, resource_list.sources(job.items) if parsed.value is None else {}))
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


def _unexpanded(number: int, document: Document) -> Diagnostic:
    """A967: no function expanded a Workflow."""
    name = document.data.get("metadata", {}).get("name", "")
    hint = "list a configuration of kind ExpandWorkflows under `transformers:`"
    return error("A967", (f"manifest:{number}",), f'no function has expanded the Workflow "{name}"', hint=hint)
