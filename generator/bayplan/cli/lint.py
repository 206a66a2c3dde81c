"""`bayplan lint`: what is wrong with manifests that others wrote, each alone and all together."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan import pipeline
from bayplan.cli import inputs, manifests, options
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.report import Batch
from bayplan.text.document import Document


def run(given: Given) -> int:
    """Lints everything that is named as one set of objects."""
    path, batches = inputs.topology_path(given)
    if (*given.words, path).count("-") > 1:
        message = "- is standard input, which can be read only once"
        return finish(given, [Batch((error("A922", ("argument", "-"), message),))], to_stdout=True)
    target, accept = options.target(given), options.accept(given, "FM")
    read = manifests.load(given.words)
    topology, found = inputs.topology_of(path) if path is not None else (None, ())
    batches = (Batch((*target.diagnostics, *accept.diagnostics)), *batches, *found, *read.batches)
    if target.value is None or accept.value is None or (path is not None and topology is None):
        return finish(given, batches, to_stdout=True)
    request = pipeline.LintRequest(read.documents, topology, given.one("scheduler"), target.value, accept.value)
    outcome, origins = pipeline.lint(request)
    said = [manifests.lenient(each, read) for each in outcome.diagnostics]
    return finish(
        given, [*batches, Batch(tuple(said), _sources(said, read.documents, topology), origins)], to_stdout=True
    )


def _sources(
    said: Sequence[Diagnostic], documents: Sequence[Document], topology: Document | None
) -> dict[str, Document]:
    """Subject -> document, of those that something is said about."""
    routes = [route for each in said for route in (each.route, *(note.route for note in each.notes))]
    subjects = {str(route[0]) for route in routes if route}
    every = {f"manifest:{number}": document for number, document in enumerate(documents)}
    if topology is not None:
        every["topology"] = topology
    return {subject: document for subject, document in every.items() if subject in subjects}
