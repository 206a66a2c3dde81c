"""`bayplan generate`: every output of bayplan.yaml, kept up to date; exit 1 when anything had to change."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from bayplan.cli import differences, outputs, project, stdout, tree
from bayplan.cli.failures import unwritable
from bayplan.cli.finish import exit_code, finish, report
from bayplan.cli.options import Given
from bayplan.cli.project import SUBJECT, Project
from bayplan.cli.tree import Change
from bayplan.diagnostics import Diagnostic, Note, error, info, warning
from bayplan.report.batch import Batch
from bayplan.text.document import Document


def run(given: Given) -> int:
    """Writes all outputs or none."""
    word = given.words[0] if given.words else ""
    other = os.path.basename(word) not in ("", project.NAME) and not os.path.isdir(word)
    found, said = (None, ()) if other else project.load(word)
    batches = list(said) or [Batch((_misnamed(word) if other else _no_project(),))]
    if found is None:
        return finish(given, batches)
    texts, more = _texts(found)
    batches += more
    if exit_code(given, batches):
        return finish(given, batches)
    return _bring(given, found, texts, batches)


def _misnamed(word: str) -> Diagnostic:
    hint = f"name its folder; files of other names would share one list of what was generated with {project.NAME}"
    return error("A980", ("argument", "PROJECT"), f'"{word}" is neither a folder nor a {project.NAME}', hint=hint)


def _no_project() -> Diagnostic:
    hint = f"write a {project.NAME} with `spec: {{outputs: [...]}}`; `bayplan explain project` shows its keys"
    return error("A980", ("argument", "generate"), f"there is no {project.NAME} here or in a folder above", hint=hint)


def _texts(found: Project) -> tuple[dict[str, str], list[Batch]]:
    """The files of all outputs, as seen from the project's folder."""
    entries: Sequence[Mapping[str, str]] = found.spec.get("outputs") or ()
    if not entries:
        return {}, [_at(found, _no_outputs())]
    shared = outputs.sharing()
    texts: dict[str, str] = {}
    makers: dict[str, int] = {}
    batches: list[Batch] = []
    for number in range(len(entries)):
        made = outputs.make(found, number, shared)
        batches += made.batches
        twice = [path for path in made.files if path in makers]
        if twice:
            batches.append(_at(found, _twice(twice, number, makers[twice[0]])))
        texts |= made.files
        makers |= dict.fromkeys(made.files, number)
    batches += (_at(found, each) for each in _files_and_folders(makers))
    return texts, batches


def _no_outputs() -> Diagnostic:
    hint = "add `outputs: [{workflows: [jobs/*.yaml], to: manifests/}]` to its spec"
    return warning("A981", (SUBJECT, "spec"), "the project has no outputs, so nothing is generated", hint=hint)


def _twice(paths: Sequence[str], number: int, other: int) -> Diagnostic:
    """A982: no output may write over another."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    route = (SUBJECT, "spec", "outputs")
    notes = (Note("the other output", (*route, other, "to")),)
    message = f'"{paths[0]}"{more} would be written by another output too'
    return error("A982", (*route, number, "to"), message, notes=notes, hint="give each a folder of its own")


def _files_and_folders(makers: Mapping[str, int]) -> Iterator[Diagnostic]:
    """A982: no output may have a file where another has a folder."""
    inside = {above: path for path in makers for above in tree.above(path)}
    for path in sorted(makers.keys() & inside.keys()):
        route = (SUBJECT, "spec", "outputs")
        message = f'"{path}" would be a file, and "{inside[path]}" lies in it'
        notes = (Note("the folder's output", (*route, makers[inside[path]], "to")),)
        yield error("A982", (*route, makers[path], "to"), message, notes=notes, hint="give each a folder of its own")


def _at(found: Project, diagnostic: Diagnostic) -> Batch:
    return Batch((diagnostic,), {SUBJECT: found.document})


def _bring(given: Given, found: Project, texts: Mapping[str, str], batches: list[Batch]) -> int:
    """Compares with what is there, and writes or shows what differs."""
    try:
        compared = tree.changes(found.folder, texts)
        batches.append(Batch(compared.diagnostics))
        if compared.value is None or exit_code(given, batches):
            return finish(given, batches)
        if not compared.value:
            return finish(given, map(_without_infos, batches))
        changes = [each._replace(path=found.path(each.path)) for each in compared.value]
        if not given.on("check"):
            tree.apply(found.folder, compared.value)
    except (OSError, ValueError) as problem:
        return finish(given, [*batches, Batch((unwritable(found.folder or ".", problem),))])
    return _tell(given, changes, batches)


def _without_infos(batch: Batch) -> Batch:
    """They are told when something changes, and not again at each commit."""
    return batch._replace(diagnostics=tuple(each for each in batch.diagnostics if each.severity != "info"))


def _tell(given: Given, changes: Sequence[Change], batches: list[Batch]) -> int:
    """Says what has changed, or what would: exit 1 either way, for a commit lacks it."""
    if given.on("check"):
        failed = stdout.write(line for each in changes for line in differences.unified(*each))
        told = [_outdated(each) for each in changes]
    else:
        failed = stdout.write(f"{each.word} {each.path}\n" for each in changes)
        told = [Batch((_done(changes),))]
    report(given, [*batches, Batch(failed), *told], False)
    return 1


def _outdated(change: Change) -> Batch:
    """O805 on a file that would change."""
    verb = {
        "created": "is missing",
        "updated": "is not what would be written",
        "removed": "is made by nothing any more",
    }
    found = error("O805", ("output",), f"this file {verb[change.word]}; run `bayplan generate` and commit what it does")
    return Batch((found,), {"output": Document(change.path, "", 0, None)})


def _done(changes: Sequence[Change]) -> Diagnostic:
    files = f"{len(changes)} files" if len(changes) > 1 else "1 file"
    return info("O809", (), f"{files} changed", hint="review and stage what is listed; a second run changes nothing")
