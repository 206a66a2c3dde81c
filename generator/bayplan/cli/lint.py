"""`bayplan lint`: what is wrong with manifests that others wrote, each alone and all together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from bayplan import pipeline
from bayplan.cli import files, inputs, options
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.core.diagnostics import Diagnostic, error, warning
from bayplan.core.values import NamedTuple
from bayplan.report import Batch
from bayplan.text.document import Document


def run(given: Given) -> int:
    """Lints everything that is named as one set of objects."""
    if (*given.words, inputs.topology_path(given)[0]).count("-") > 1:
        message = "- is standard input, which can be read only once"
        return finish(given, [Batch((error("A922", ("argument", "-"), message),))], to_stdout=True)
    read = load_manifests(given.words)
    request, batches = lint_request(given, read.documents)
    batches = [*batches, *read.batches]
    if request is None:
        return finish(given, batches, to_stdout=True)
    outcome, origins = pipeline.lint(request)
    reported = [lenient(each, read) for each in outcome.diagnostics]
    return finish(
        given,
        [*batches, Batch(tuple(reported), _sources(reported, read.documents, request.topology), origins)],
        to_stdout=True,
    )


def lint_request(given: Given, documents: tuple[Document, ...]) -> tuple[pipeline.LintRequest | None, list[Batch]]:
    """The request to lint the documents, with the topology and the versions that are given; None where one is wrong."""
    path, batches = inputs.topology_path(given)
    topology, found = inputs.topology_of(path) if path is not None else (None, ())
    target, accept = options.target(given), options.accept(given, "FM")
    every = [Batch((*target.diagnostics, *accept.diagnostics)), *batches, *found]
    if target.value is None or accept.value is None or (path is not None and topology is None):
        return None, every
    return pipeline.LintRequest(documents, topology, given.one("scheduler"), target.value, accept.value), every


def _sources(
    reported: Sequence[Diagnostic], documents: Sequence[Document], topology: Document | None
) -> dict[str, Document]:
    """Subject -> document, of those that something is said about."""
    routes = [route for each in reported for route in (each.route, *(note.route for note in each.notes))]
    subjects = {str(route[0]) for route in routes if route}
    every = {f"manifest:{number}": document for number, document in enumerate(documents)}
    if topology is not None:
        every["topology"] = topology
    return {subject: document for subject, document in every.items() if subject in subjects}


# Files and folders of manifests -> documents.

SUBJECT = "manifest"
ENDINGS = (".yaml", ".yml", ".json")


class Manifests(NamedTuple):
    """All documents in the order read. `found`: names of files that nobody named, because they lay in a folder."""

    documents: tuple[Document, ...]
    batches: tuple[Batch, ...]
    found: frozenset[str]


def load_manifests(words: Sequence[str]) -> Manifests:
    """The documents of files, of `-` (standard input), and of all manifests in folders and below them."""
    documents: list[Document] = []
    batches: list[Batch] = []
    found: set[str] = set()
    for word in dict.fromkeys(words):
        inside = os.path.isdir(word) if word != "-" else False
        paths = sorted(_below(word, batches)) if inside else [word]
        found |= set(paths) if inside else set()
        if not paths:
            batches.append(_without(word))
        for path in paths:
            read, batch = files.load(path, SUBJECT, own=False)
            documents += read
            batches.append(batch._replace(diagnostics=tuple(_empty(each) for each in batch.diagnostics)))
    return Manifests(tuple(documents), tuple(batches), frozenset(found))


def _below(folder: str, batches: list[Batch]) -> Iterator[str]:
    """Its files with the endings of YAML and JSON, but for hidden ones. Links to folders are not followed."""

    def complain(problem: OSError) -> None:
        message = f"the folder cannot be read: {problem.strerror}"
        source = Document(str(problem.filename), "", 0, None)
        batches.append(Batch((error("R101", (SUBJECT,), message),), {SUBJECT: source}))

    for place, folders, names in os.walk(folder, onerror=complain):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.endswith(ENDINGS) and not name.startswith("."):
                yield os.path.join(place, name)


def _without(folder: str) -> Batch:
    message = f"the folder holds no {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file"
    return Batch((warning("M702", (SUBJECT,), message),), {SUBJECT: Document(folder, "", 0, None)})


def _empty(found: Diagnostic) -> Diagnostic:
    """A file with nothing but comments is an oversight and breaks nothing."""
    return found._replace(severity="warning") if found.code == "R106" else found


def lenient(found: Diagnostic, read: Manifests) -> Diagnostic:
    """What is no manifest is worth a word only where nobody said that it were one."""
    if found.code != "M702" or not found.route:
        return found
    number = str(found.route[0]).partition(":")[2]
    mine = number.isdigit() and read.documents[int(number)].name in read.found
    return found._replace(severity="info") if mine else found
