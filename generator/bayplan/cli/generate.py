"""`bayplan generate`: keeps all outputs of bayplan.yaml up to date. Exit code 1 if a file changed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import glob, has_magic
from itertools import takewhile
from typing import Any, NamedTuple

from bayplan import pipeline, plugins
from bayplan.cli import destination, files, inputs, output, output_folder, output_tree, project
from bayplan.cli.compiling import CompiledWorkflow, TopologyCheck, cached_topology_check, compile_all, join, plans
from bayplan.cli.failures import unwritable
from bayplan.cli.files import GIT, at_name, named_by
from bayplan.cli.finish import Success, exit_code, finish, only_reports, report
from bayplan.cli.options import Arguments, Command
from bayplan.cli.output_folder import Change
from bayplan.cli.output_tree import INDEX, OUTPUT
from bayplan.cli.project import NAME, SUBJECT, Project
from bayplan.core.diagnostics import AT, Diagnostic, Note, Outcome, Route, error, has_errors, warning
from bayplan.core.phrases import count, did_you_mean
from bayplan.model.manifest import Item
from bayplan.model.plan import Plan
from bayplan.report import Batch
from bayplan.report.findings import escape
from bayplan.text.document import Document
from bayplan.text.emit import emit

# The key `to` of an output in bayplan.yaml: a file or a folder, with placeholders in braces.

WORDS = ("workflow", "namespace")
_BRACES = re.compile(r"\{([^{}]*)\}")


def target_problems(project: Project, entry: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """A929: bayplan cannot write there, or a placeholder is unknown."""
    to: str = entry["to"]
    place = (SUBJECT, *route, "to")
    allowed = () if "export" in entry else WORDS
    unknown = next((word for word in _BRACES.findall(to) if word not in allowed), None)
    if unknown is not None:
        words = " and ".join(f"{{{word}}}" for word in allowed)
        hint = did_you_mean(unknown, allowed) or (
            f"the placeholders are {words}" if words else "write a path without placeholders: an export has none"
        )
        yield error("A929", place, f'unknown placeholder: "{{{unknown}}}"', hint=hint)
    why = _outside(to) or _name_conflict(project, to)
    if why:
        yield error("A929", place, f'"{to}" {why[0]}', hint=why[1])


def fill(to: str, **words: str) -> str:
    """The path with the placeholders filled in."""
    return _BRACES.sub(lambda braces: words[braces[1]], to)


def _outside(to: str) -> tuple[str, str] | None:
    """Why a path is not in the project's folder, judged by its name only."""
    if os.path.isabs(to) or os.pardir in to.split("/"):
        return "is outside of the project", f"write into the folder of {NAME} or below it"
    if not to.isprintable():
        return "has invisible characters", "remove them"
    if ".git" in to.lower().split("/"):
        return "is in the folder of git", "choose another folder"
    if os.path.normpath(to).split("/")[0] == INDEX:
        return "is the list of generated files", "choose another name"
    return None


def _name_conflict(project: Project, to: str) -> tuple[str, str] | None:
    """Why a file cannot have this name."""
    if to.endswith("/"):
        return None
    if os.path.normpath(to) == NAME:
        return "is the project file itself", "choose another name"
    if files.found(project.path(to), os.path.isdir):
        return "is a folder", f'write "{to}/" for one file per object'
    return None


def match(project: Project, patterns: Sequence[str], route: Route) -> Outcome[tuple[str, ...]]:
    """The files that the patterns match, without those of patterns with a `!`. Sorted paths from the project's folder.

    A983: a pattern or a name matches no file.
    """
    selected: set[str] = set()
    diagnostics: list[Diagnostic] = []
    for number, pattern in enumerate(patterns):
        plain = pattern.removeprefix("!")
        matched = set(_patterns_files(project, plain))
        selected = selected - matched if plain != pattern else selected | matched
        diagnostics += _pattern_problems(project, plain, bool(matched), (*route, number))
    if not selected and not diagnostics:
        message = "the patterns with `!` exclude all files"
        hint = "a pattern with `!` excludes files that the patterns before it match"
        diagnostics.append(warning("A983", (SUBJECT, *route), message, hint=hint))
    return Outcome(tuple(sorted(selected)), tuple(diagnostics))


def _patterns_files(project: Project, pattern: str) -> Iterator[str]:
    """The file of a name; the regular files that match a pattern, without those that bayplan generated."""
    if not has_magic(pattern):
        yield os.path.normpath(pattern)
        return
    refused = _refused(project, pattern)
    if refused:
        yield refused
        return
    plain = "/".join((*takewhile(lambda part: not has_magic(part), pattern.split("/")), ""))
    for below in glob(pattern[len(plain) :], root_dir=files.seen(project.path(plain)), recursive=True):
        name = plain + below
        path = project.path(name)
        if files.found(path) and not output_folder.is_ours(path):
            yield os.path.normpath(name)


def _refused(project: Project, pattern: str) -> str:
    """The pattern, or a link in its reach, that leads out of the sandbox. Empty if there is none."""
    parts = pattern.split("/")
    plain = [*takewhile(lambda part: not has_magic(part), parts)]
    rest = parts[len(plain) :]
    folder = project.path("/".join((*plain, "")))
    if os.pardir in rest or not files.allows(folder):
        return pattern if files.in_sandbox() else ""
    depth = math.inf if "**" in rest else len(rest)
    link = files.link_out(folder or os.curdir, depth, hidden=any(part.startswith(".") for part in rest))
    return os.path.relpath(link, project.folder or os.curdir) if link else ""


def _pattern_problems(project: Project, pattern: str, matched: bool, route: Route) -> Iterator[Diagnostic]:
    if not matched:
        yield warning(
            "A983", (SUBJECT, *route), f'"{pattern}" matches no file', hint="correct the pattern or remove it"
        )
    elif (
        not has_magic(pattern) and (path := files.seen(project.path(pattern))) is not None and not os.path.lexists(path)
    ):
        similar = os.path.join(os.path.dirname(pattern), f"*{os.path.splitext(pattern)[1] or '.yaml'}")
        hint = f"correct the name or remove it; use a pattern such as {similar} for files that come and go"
        yield error("A983", (SUBJECT, *route), f'the file "{pattern}" does not exist', hint=hint)


# One output of bayplan.yaml -> the contents of its files. Its keys are the options of `render`.

Entry = Mapping[str, Any]

KEYS = {
    "topology": "topology",
    "scheduler": "scheduler",
    "namespace": "namespace",
    "queue": "queue",
    "priority": "priority",
    "workload": "workload",
    "target": "target",
    "accept": "accept",
    "gang": "gangs",
    "from": "from",
    "set": "set",
    "set-string": "set",
    **{row["name"]: row["key"] for row in plugins.rows("configurations")},
    "to": "export",
    "output": "to",
}
"""Option of `render` -> key of an output."""


class OutputFiles(NamedTuple):
    """The files of one or all outputs, as paths from the project's folder, and the diagnostics.

    `writers`: file -> the number of its output.
    """

    files: Mapping[str, str]
    batches: tuple[Batch, ...]
    plans: tuple[Plan, ...] = ()
    writers: Mapping[str, int] = {}


class SharedTopologies(NamedTuple):
    """What the outputs of a project share: bayplan reads and checks each topology file once."""

    load: inputs.Load
    check_topology: TopologyCheck


def output_files(project: Project, number: int, shared: SharedTopologies) -> OutputFiles:
    """The files of an output; none if there are errors."""
    entry: Entry = project.spec["outputs"][number]
    route: Route = ("spec", "outputs", number)
    wrong = (*_contradictory(entry, route), *target_problems(project, entry, route))
    if wrong:
        return OutputFiles({}, (_project_batch(project, wrong),))
    result = _export(project, entry, shared) if "export" in entry else _workflows(project, entry, route, shared)
    batches = tuple(_at_keys(result.batches, project, entry, route))
    files = {} if any(has_errors(batch.diagnostics) for batch in batches) else result.files
    return OutputFiles(files, batches, result.plans)


def _contradictory(entry: Entry, route: Route) -> Iterator[Diagnostic]:
    """A929: an output has both workflows and an export, or neither."""
    if ("workflows" in entry) is ("export" in entry):
        both = "export" in entry
        message = "an output has both `workflows` and `export`" if both else "an output lacks `workflows` or `export`"
        yield error("A929", (SUBJECT, *route), message, hint="remove one of the two" if both else "add one of the two")
    unknown = [key for key in entry if "export" in entry and key not in ("to", "workflows", *EXPORTED)]
    if unknown:
        message = f"`{unknown[0]}` is not allowed with `export`, which writes no workflows"
        yield error("A929", (SUBJECT, *route, unknown[0]), message, hint="remove it")


EXPORTED = ("export", "topology", "target")
"""The keys of an export."""


def _workflows(project: Project, entry: Entry, route: Route, shared: SharedTopologies) -> OutputFiles:
    """The files that `render` writes for the workflows."""
    compiled, batches = _compiled(project, entry, route, shared)
    places: dict[str, list[CompiledWorkflow]] = {}
    for pair in compiled:
        plan = pair[1].planned.plan
        place = fill(entry["to"], workflow=plan.workflow.name, namespace=plan.namespace)
        places.setdefault(place, []).append(pair)
    colliding = join(compiled)[1]  # in the cluster, whichever file they are in
    outputs = [_files(place, join(group)[0]) for place, group in places.items()]
    files = {path: text for each in outputs for path, text in each.files.items()}
    written = (batch for each in outputs for batch in each.batches)
    return OutputFiles(files, (*batches, *colliding, *written), plans(compiled))


def _compiled(
    project: Project, entry: Entry, route: Route, shared: SharedTopologies, misfits: list[Plan] | None = None
) -> tuple[list[CompiledWorkflow], list[Batch]]:
    """The workflows of an output that compile, and the diagnostics of all. `misfits`: as for `compile_all`."""
    matched = match(project, entry["workflows"], (*route, "workflows"))
    problems = _project_batch(project, matched.diagnostics)
    if not matched.value or has_errors(matched.diagnostics):
        return [], [problems]
    args = arguments(project, entry, matched.value)
    if not args.has("topology"):
        return [], [problems, Batch((inputs.no_topology(),))]
    read = inputs.read_all(args, load=shared.load)
    compiled, batches = compile_all(args, read, shared.check_topology, misfits=misfits)
    return compiled, [problems, *batches]


def compile_outputs(project: Project, misfits: list[Plan] | None) -> tuple[list[CompiledWorkflow], list[Batch]]:
    """The workflows of all outputs, each with the options of its output, and their diagnostics."""
    shared = SharedTopologies(inputs.cached_loader(), cached_topology_check())
    compiled: list[CompiledWorkflow] = []
    batches: list[Batch] = []
    for number, entry in enumerate(project.spec.get("outputs") or ()):
        route: Route = ("spec", "outputs", number)
        wrong = (*_contradictory(entry, route), *target_problems(project, entry, route))
        batches += [_project_batch(project, wrong)] if wrong else []
        if wrong or "export" in entry:
            continue
        more, found = _compiled(project, entry, route, shared, misfits)
        compiled += more
        batches += _at_keys(found, project, entry, route)
    return compiled, batches


def _at_keys(batches: Iterable[Batch], project: Project, entry: Entry, route: Route) -> Iterator[Batch]:
    """The diagnostics of an output, those of its options at its keys."""
    for batch in batches:
        placed = tuple(_at_key(each, project, entry, route) for each in batch.diagnostics)
        yield batch._replace(diagnostics=placed, sources={**batch.sources, SUBJECT: project.document})


def _export(project: Project, entry: Entry, shared: SharedTopologies) -> OutputFiles:
    """The files that `topology export` writes."""
    path = arguments(project, entry, ()).value("topology")
    document, batches_of_file = shared.load(path) if path else (None, (Batch((inputs.no_topology(),)),))
    if document is None:
        return OutputFiles({}, batches_of_file)
    outcome, origins = pipeline.cluster_objects(document, entry["export"], entry.get("target", {}))
    batches = (*batches_of_file, Batch(outcome.diagnostics, {"topology": document}, origins))
    written = _files(entry["to"], outcome.value or ())
    return OutputFiles(written.files, (*batches, *written.batches))


def _files(place: str, documents: Sequence[Item]) -> OutputFiles:
    """One file, or one per object."""
    if place.endswith("/"):
        texts = output_folder.files(documents)
        return OutputFiles({os.path.normpath(place + name): output_folder.marked(texts[name]) for name in texts}, ())
    several = destination.several_files(documents, hint=f'write them into a folder: to: "{place}/"')
    text = "".join(emit(documents))
    return OutputFiles({os.path.normpath(place): output_folder.marked(text)} if text else {}, (Batch(several),))


def arguments(project: Project, entry: Entry, words: Sequence[str]) -> Arguments:
    """The command line with the same options."""
    topology = entry.get("topology") or project.spec.get("topology")
    variables = entry.get("set", {}).items()
    options = {
        "topology": (project.path(topology),) if topology else (),
        **{
            row["name"]: (project.path(entry[row["key"]]),)
            for row in plugins.rows("configurations")
            if row["key"] in entry
        },
        "target": (",".join(f"{name}={version}" for name, version in entry.get("target", {}).items()),),
        "accept": tuple(entry.get("accept", ())),
        "gang": tuple(entry.get("gangs", ())),
        "set": tuple(f"{name}={value}" for name, value in variables if not isinstance(value, str)),
        "set-string": tuple(f"{name}={value}" for name, value in variables if isinstance(value, str)),
        **{
            key: (entry[key],)
            for key in ("scheduler", "namespace", "queue", "priority", "workload", "from")
            if key in entry
        },
    }
    present = {key: values for key, values in options.items() if values and values[0]}
    switches = {"cluster-objects": ("",)} if entry.get("clusterObjects") else {}
    return Arguments(Command("generate", "", ""), tuple(map(project.path, words)), {**present, **switches})


def _at_key(diagnostic: Diagnostic, project: Project, entry: Entry, route: Route) -> Diagnostic:
    """The diagnostic of an option or of a file that cannot be read, at the key of the output that has it."""
    key = KEYS.get(named_by(diagnostic), "workflows")
    whole = key == "topology" and key not in entry and key in project.spec
    place = (SUBJECT, *(("spec", key) if whole else (*route, key) if key in entry else route))
    return at_name(diagnostic, place)


def _project_batch(project: Project, diagnostics: Sequence[Diagnostic]) -> Batch:
    return Batch(tuple(diagnostics), {SUBJECT: project.document})


def run(args: Arguments) -> int:
    """Writes all outputs or none."""
    word = args.words[0] if args.words else ""
    misnamed = os.path.basename(word) not in ("", NAME) and not os.path.isdir(word)
    project_found, load_problems = (None, ()) if misnamed else project.load(word)
    batches = [*load_problems]
    if misnamed:
        message = f'"{word}" is not a folder or a {NAME}'
        hint = f"name the folder of a {NAME}; a project file has no other name"
        batches.append(Batch((error("A921", ("argument", "PROJECT"), message, hint=hint),)))
    elif not batches:
        message = f"there is no {NAME} in this folder or a folder above it"
        hint = f"write a {NAME} with `spec: {{outputs: [...]}}`; `bayplan explain project` shows its keys"
        batches.append(Batch((error("A921", ("argument", "generate"), message, hint=hint),)))
    if project_found is None:
        return finish(args, batches)
    whole = _all_outputs(project_found)
    batches += whole.batches
    if exit_code(args, batches):
        return finish(args, batches)
    return _update(args, project_found, whole._replace(batches=tuple(batches)))


def _all_outputs(project: Project) -> OutputFiles:
    """The files of all outputs, as seen from the project's folder."""
    entries: Sequence[Mapping[str, str]] = project.spec.get("outputs") or ()
    if not entries:
        message = "the project has no outputs, so nothing is generated"
        hint = "add `outputs: [{workflows: [jobs/*.yaml], to: manifests/}]` to its spec"
        nothing = warning("A983", (SUBJECT, "spec"), message, hint=hint)
        return OutputFiles({}, (_project_batch(project, [nothing]),))
    shared = SharedTopologies(inputs.cached_loader(), cached_topology_check())
    texts: dict[str, str] = {}
    writers: dict[str, int] = {}
    batches: list[Batch] = []
    planned: list[Plan] = []
    for number in range(len(entries)):
        files, diagnostics, plans_of_output, _ = output_files(project, number, shared)
        batches += diagnostics
        planned += plans_of_output
        twice = [path for path in files if path in writers]
        if twice:
            batches.append(_project_batch(project, [_written_twice(twice, number, writers[twice[0]])]))
        texts |= files
        writers |= dict.fromkeys(files, number)
    batches.append(_project_batch(project, [*_files_and_folders(writers)]))
    return OutputFiles(texts, tuple(batches), tuple(planned), writers)


def _written_twice(paths: Sequence[str], number: int, other: int) -> Diagnostic:
    """A929: two outputs write one file."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    route = (SUBJECT, "spec", "outputs")
    notes = (Note("the other output", (*route, other, "to")),)
    message = f'another output also writes "{paths[0]}"{more}'
    return error("A929", (*route, number, "to"), message, notes=notes, hint="give each output a folder of its own")


def _files_and_folders(writers: Mapping[str, int]) -> Iterator[Diagnostic]:
    """A929: one output has a file where another has a folder."""
    inside = {folder: path for path in writers for folder in output_folder.above(path)}
    for path in sorted(writers.keys() & inside.keys()):
        route = (SUBJECT, "spec", "outputs")
        message = f'"{path}" is a file of this output, and the folder of "{inside[path]}"'
        notes = (Note("the output with the folder", (*route, writers[inside[path]], "to")),)
        yield error(
            "A929", (*route, writers[path], "to"), message, notes=notes, hint="give each output a folder of its own"
        )


def _update(args: Arguments, project: Project, whole: OutputFiles) -> int:
    """Compares with the existing files, and writes or shows the differences."""
    batches = [*whole.batches]
    try:
        compared = output_tree.changes(project.folder, whole.files)
        batches += [_at_output(each, project, whole.writers) for each in compared.diagnostics]
        if compared.value is None:
            return finish(args, batches)
        left = [*_unlisted(project, whole.files, args.has("check"))]
        batches += left
        if exit_code(args, batches) and not (left and args.has("check")):
            return finish(args, batches)
        if not compared.value and args.has("tracked"):
            batches += _untracked(project, (*whole.files, INDEX))
        if not compared.value:
            if not args.has("check"):
                output_folder.remove_leftovers(project.folder)
            if not args.has("verbose"):  # infos only if a file changes, not again at each commit
                warnings = (tuple(d for d in each.diagnostics if d.severity != "info") for each in batches)
                batches = [each._replace(diagnostics=kept) for each, kept in zip(batches, warnings, strict=True)]
            result = f"{count(len(whole.files), 'file')} up to date"
            return finish(args, batches, success=Success(whole.plans, result=result))
        changes = [each._replace(path=project.path(each.path)) for each in compared.value]
        if not args.has("check"):
            output_folder.apply(project.folder, INDEX, compared.value)
    except (OSError, ValueError) as problem:
        return finish(args, [*batches, Batch((unwritable(project.folder or ".", problem),))])
    return _report_changes(args, changes, batches, Success(whole.plans))


def _at_output(diagnostic: Diagnostic, project: Project, writers: Mapping[str, int]) -> Batch:
    """The diagnostic of a file to write, at the key `to` of its output; that of a stale file, at its line in the index.

    A diagnostic of an index has its line already.
    """
    if not diagnostic.route:
        return Batch((diagnostic,))
    if diagnostic.route[0] != OUTPUT:
        path = str(diagnostic.route[0])
        return Batch((diagnostic,), {path: Document(path, output_folder.text_at(path) or "", 0, None)})
    path = str(diagnostic.route[1])
    if path == INDEX:  # a link out of the project: its text is not ours to quote
        return _project_batch(project, [diagnostic._replace(route=(SUBJECT, "spec", "outputs"))])
    output = next((writers[each] for each in writers if path in (each, *output_folder.above(each))), None)
    if output is not None:
        return _project_batch(project, [diagnostic._replace(route=(SUBJECT, "spec", "outputs", output, "to"))])
    index = project.path(INDEX)
    text = output_folder.text_at(index) or ""
    lines = text.splitlines()
    line = next((number for number, each in enumerate(lines, 1) if path in (each, *output_folder.above(each))), 1)
    moved = diagnostic._replace(route=(OUTPUT, AT, line, 1))
    return Batch((moved,), {OUTPUT: Document(index, text, 0, None)})


def _report_changes(args: Arguments, changes: Sequence[Change], batches: list[Batch], success: Success) -> int:
    """Reports what changed or would change. Exit code 1 in both cases, because a commit lacks it."""
    if args.has("check"):
        failed = output.write(line for each in changes for line in each.diff() if not only_reports(args))
        reported = [_outdated(each) for each in changes]
    else:
        failed = output.write(f"{each.word} {escape(each.path)}\n" for each in changes)
        hint = "review and stage these files; a second run changes nothing"
        reported = [Batch((warning("O805", (), f"{count(len(changes), 'file')} changed", hint=hint),))]
    report(args, [*batches, Batch(failed), *reported], False, None if failed or args.has("check") else success)
    return 1


def _unlisted(project: Project, files: Mapping[str, str], check: bool) -> Iterator[Batch]:
    """O805, or O804 without --check: files with the mark in the folders of outputs, which the index does not list."""
    outputs: Sequence[Mapping[str, str]] = project.spec.get("outputs") or ()
    folders = [os.path.dirname(each["to"].partition("{")[0]) for each in outputs]
    message = "this file has the first line of generated files, but bayplan.yaml has no output for it"
    hint = "remove the file; to keep it, remove its first line"
    for path in output_tree.unlisted(project.folder, folders):
        if path not in files:
            found = (
                error("O805", (OUTPUT,), message, hint=hint)
                if check
                else warning("O804", (OUTPUT,), message, hint=hint)
            )
            yield Batch((found,), {OUTPUT: Document(project.path(path), "", 0, None)})


def _untracked(project: Project, files: Iterable[str]) -> Iterator[Batch]:
    """O805: git neither tracks nor ignores these files, so a commit would lack them."""
    import subprocess

    command = (*GIT, "ls-files", "-z", "--others", "--exclude-standard")
    try:
        done = subprocess.run(command, cwd=project.folder or None, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        message = "--tracked needs a git repository and the program git"
        yield Batch((error("O805", (), message, hint="run it in a repository, or without --tracked"),))
        return
    others = set(done.stdout.decode(errors="surrogateescape").split("\0"))
    for path in sorted(others.intersection(files)):
        message, hint = "git does not track this file, so the commit lacks it", "stage it with `git add`"
        source = Document(project.path(path), "", 0, None)
        yield Batch((error("O805", (OUTPUT,), message, hint=hint),), {OUTPUT: source})


OUTDATED = {
    "created": "is missing",
    "updated": "is out of date",
    "removed": "is not an output any more",
}


def _outdated(change: Change) -> Batch:
    """O805 on a file that would change."""
    message = f"this file {OUTDATED[change.word]}"
    outdated = error("O805", (OUTPUT,), message, hint="run `bayplan generate` and commit the changes")
    return Batch((outdated,), {OUTPUT: Document(change.path, "", 0, None)})
