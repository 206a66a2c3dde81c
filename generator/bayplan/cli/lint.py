"""`bayplan lint`: errors in manifests that other tools wrote, each by itself and all together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bayplan import pipeline
from bayplan.cli import files, inputs, options
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, error, warning
from bayplan.kube.other_files import in_folder
from bayplan.report import Batch
from bayplan.text.document import Document


def run(args: Arguments) -> int:
    """Lints all manifests as one set of objects."""
    twice = files.stdin_twice((*args.words, inputs.topology_path(args)[0]))
    if twice:
        return finish(args, [Batch(twice)], to_stdout=True)
    read = load_manifests(args.words)
    request, batches = lint_request(args, read.documents)
    batches = [*batches, *read.batches]
    if request is None:
        return finish(args, batches, to_stdout=True)
    return finish(args, [*batches, linted(request, read)], to_stdout=True)


def linted(request: pipeline.LintRequest, read: Manifests) -> Batch:
    """The diagnostics of all rules."""
    outcome, origins = pipeline.lint(request)
    reported = tuple(lenient(each, read) for each in outcome.diagnostics)
    routes = [route for each in reported for route in (each.route, *(note.route for note in each.notes))]
    subjects = {str(route[0]) for route in routes if route}
    sources = {f"manifest:{number}": document for number, document in enumerate(read.documents)}
    if request.topology is not None:
        sources["topology"] = request.topology
    named = {subject: document for subject, document in sources.items() if subject in subjects}
    return Batch(reported, named, origins)


def lint_request(args: Arguments, documents: tuple[Document, ...]) -> tuple[pipeline.LintRequest | None, list[Batch]]:
    """The request to lint the documents, with the topology and versions. None if one of them is invalid."""
    path, batches = inputs.topology_path(args)
    topology, topology_batches = inputs.topology_of(path) if path is not None else (None, ())
    target, accept = options.target(args), options.accept(args, "M")
    every = [Batch((*target.diagnostics, *accept.diagnostics)), *batches, *topology_batches]
    if target.value is None or accept.value is None or (path is not None and topology is None):
        return None, every
    return pipeline.LintRequest(documents, topology, args.value("scheduler"), target.value, accept.value), every


SUBJECT = "manifest"
ENDINGS = (".yaml", ".yml", ".json")


class Manifests(NamedTuple):
    """All documents in the order read. `unnamed`: files from a folder, which the user did not name.

    `unread`: files of folders that `load_manifests` left out.
    """

    documents: tuple[Document, ...]
    batches: tuple[Batch, ...]
    unnamed: frozenset[str]
    unread: tuple[str, ...] = ()


def load_manifests(words: Sequence[str], leave_out: Callable[[str], bool] | None = None) -> Manifests:
    """The documents of files, of standard input (`-`), and of all manifests in folders and below them.

    `leave_out`: whether not to read a file of a folder, which may have any ending.
    """
    documents: list[Document] = []
    batches: list[Batch] = []
    unnamed: set[str] = set()
    unread: list[str] = []
    for word in dict.fromkeys(words):
        before = len(batches)
        is_folder = word != "-" and files.found(word, os.path.isdir)
        every = sorted(_below(word, batches)) if is_folder else [word]
        left_out = [path for path in every if leave_out(path)] if is_folder and leave_out else []
        unread += left_out
        paths = [path for path in every if path.endswith(ENDINGS) and path not in left_out] if is_folder else every
        unnamed |= set(paths) if is_folder else set()
        if not paths and not left_out and len(batches) == before:
            message = f"the folder has no {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file"
            batches.append(Batch((warning("M702", (SUBJECT,), message),), {SUBJECT: Document(word, "", 0, None)}))
        for path in paths:
            read, batch = files.load(path, SUBJECT, own=False)
            documents += read
            empty_is_warning = (e._replace(severity="warning") if e.code == "R106" else e for e in batch.diagnostics)
            batches.append(
                batch._replace(diagnostics=tuple(empty_is_warning))
            )  # a file that has only comments is not an error
    return Manifests(tuple(documents), tuple(batches), frozenset(unnamed), tuple(unread))


def _below(folder: str, batches: list[Batch]) -> Iterator[str]:
    """Its files, without hidden ones and those of Helm charts. It does not follow links to folders."""

    def complain(problem: OSError) -> None:
        message = f"cannot read the folder: {problem.strerror}"
        source = Document(str(problem.filename), "", 0, None)
        batches.append(Batch((error("R101", (SUBJECT,), message),), {SUBJECT: source}))

    for place, folders, names in os.walk(folder, onerror=complain):
        if "Chart.yaml" in names:
            chart = in_folder("Chart.yaml", place)
            message = f"this folder is {chart.title}, whose templates are not manifests"
            source = Document(place, "", 0, None)
            batches.append(Batch((error("A912", (SUBJECT,), message, hint=chart.hint),), {SUBJECT: source}))
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(place, name) for name in names if not name.startswith("."))


def lenient(diagnostic: Diagnostic, read: Manifests) -> Diagnostic:
    """A document that is not a manifest is only an info if the user named the folder and not the file."""
    if diagnostic.code != "M702" or not diagnostic.route:
        return diagnostic
    number = str(diagnostic.route[0]).partition(":")[2]
    unnamed = number.isdigit() and read.documents[int(number)].name in read.unnamed
    return diagnostic._replace(severity="info") if unnamed else diagnostic
