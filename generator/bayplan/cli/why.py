"""`bayplan explain --why`: the values of the workflow and the topology that make an object or a field of a manifest."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan import pipeline
from bayplan.cli import files, generate, inputs, output, project
from bayplan.cli.causes import Edit, Experiments, Path, cell_route, kind_of, tables
from bayplan.cli.finish import coloured, finish, paint
from bayplan.cli.inputs import Inputs
from bayplan.cli.lint import lenient, load_manifests
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors, warning
from bayplan.core.phrases import did_you_mean, listing
from bayplan.kube.kinds import GANG_LABEL, WORKFLOW_LABEL
from bayplan.kube.objects import get, identity, text
from bayplan.linting.objects import collect
from bayplan.manifests.diff import difference, inside
from bayplan.model.manifest import Object
from bayplan.pipeline import Request
from bayplan.report import Batch
from bayplan.report.findings import Place, excerpt, places, plain, where
from bayplan.workflows import native


class Maker(NamedTuple):
    """A workflow that compiles, in the native format, with its files and the scheduler with its version.

    `gangs`: the name of a gang, with its copy -> its route.
    """

    experiments: Experiments
    files: Batch
    title: str
    gangs: Mapping[str, Route]

    def path(self, existing: Object) -> Path | None:
        """The path of the object that the workflow makes in place of an existing one."""
        _, _, namespace, name = identity(existing.data)
        kind = kind_of(existing.data)
        for number, manifest in enumerate(self.experiments.objects.get(kind, ())):
            if text(manifest, "metadata", "name") == name and namespace in (
                "",
                text(manifest, "metadata", "namespace"),
            ):
                return (kind, number)
        return None


class Answer(NamedTuple):
    """The causes of an object or, with a `field`, of the value of one of its fields."""

    object: Object
    maker: Maker
    field: str
    value: Any
    causes: Sequence[Edit]


def run(args: Arguments) -> int:
    """Prints the causes of the objects, of one object and its fields, or of one field."""
    manifest = args.value("why")
    twice = files.stdin_twice((manifest, *args.values("workflow"), inputs.topology_path(args)[0]))
    if twice:
        return finish(args, [Batch(twice)])
    read = load_manifests([manifest])
    objects, not_objects = collect(read.documents)
    documents = {f"manifest:{number}": document for number, document in enumerate(read.documents)}
    asked = _asked(args, objects)
    findings = (*(lenient(problem, read) for problem in not_objects), *asked.diagnostics)
    batches = [*read.batches, Batch(findings, documents)]
    if asked.value is None or any(has_errors(batch.diagnostics) for batch in batches):
        return finish(args, batches)
    makers, of_workflows = _makers(args)
    batches += of_workflows
    if makers is None:
        return finish(args, batches)
    answers: list[Answer] = []
    for existing in asked.value:
        outcome = _answers(existing, args.words[0].partition(":")[2] if args.words else None, makers)
        answers += outcome.value or ()
        batches.append(Batch(outcome.diagnostics, documents))
    show = _as_json if args.value("format", "text") == "json" else _as_text
    return finish(args, batches, lambda: output.write(show(answers)))


def _asked(args: Arguments, objects: Sequence[Object]) -> Outcome[Sequence[Object]]:
    """The objects of the command line. A976: the manifest has no such object, or several; or it has none at all."""
    if not objects:
        hint = "pass the file that `bayplan render -o FILE` wrote; Slurm has scripts instead of objects"
        none = error("A976", ("argument", "--why"), "the manifest has no Kubernetes objects", hint=hint)
        return Outcome(None, (none,))
    if not args.words:
        return Outcome(objects)
    named = args.words[0].partition(":")[0]
    matching = [existing for existing in objects if _is_named(existing, named)]
    if len(matching) == 1:
        return Outcome(matching)
    titles = [_title(existing) for existing in matching or objects]
    if matching:
        message = f'"{named}" is not one object: the manifest has {listing(titles, "and")}'
        hint = "write KIND.GROUP/NAME, such as podgroups.scheduling.run.ai/train, or pass only the file of the object"
    else:
        message = f'the manifest has no object "{named}"'
        hint = did_you_mean(named, titles) or f"the objects are {listing(titles, 'and')}"
    return Outcome(None, (error("A976", ("argument", "OBJECT"), message, hint=hint),))


def _is_named(existing: Object, named: str) -> bool:
    """Whether kubectl would find an object by this name: kinds in singular or plural, with or without API group."""
    group, kind, _, name = identity(existing.data)
    kinds, slash, object_name = named.partition("/")
    word, _, api = kinds.lower().partition(".")
    singular = kind.lower()
    matches = word in (singular, f"{singular}s", f"{singular}es") and api in ("", group)
    return matches and (not slash or object_name == name)


def _title(existing: Object) -> str:
    return f"{text(existing.data, 'kind')}/{text(existing.data, 'metadata', 'name')}"


STEP = re.compile(r'\["([^"]*)"\]|\[([^\[\]]*)\]|((?:\\.|[^.\[\\])+)')


def field_path(data: Any, field: str) -> Path | None:
    """The path of `spec.subGroups[replica-0].minMember`; None if the object has no such field.

    An entry of a list has its number or its name. Keys with dots: `metadata.labels["a.b/c"]`, `metadata.labels.a\\.b/c`
    or, where no other key fits, `metadata.labels.a.b/c`.
    """
    words = [next(part for part in (*step, "") if part).replace("\\.", ".") for step in STEP.findall(field)]
    return _path(data, words)


def _path(data: Any, words: Sequence[str]) -> Path | None:
    if not words:
        return ()
    if isinstance(data, list | tuple):
        number = next((place for place, entry in enumerate(data) if text(entry, "name") == words[0]), -1)
        number = int(words[0]) if words[0].isdecimal() and number < 0 else number
        rest = _path(data[number], words[1:]) if 0 <= number < len(data) else None
        return None if rest is None else (number, *rest)
    for length in range(1, len(words) + 1) if isinstance(data, Mapping) else ():
        key = ".".join(words[:length])
        rest = _path(data[key], words[length:]) if key in data else None
        if rest is not None:
            return (key, *rest)
    return None


def shown(path: Path) -> str:
    """`spec.subGroups[0].minMember`."""
    written = ""
    for step in path:
        written = f"{written}[{step}]" if isinstance(step, int) else inside(written, step)
    return written


def leaves(data: Any, path: Path = ()) -> list[Path]:
    """The paths of the values that contain no others."""
    pairs = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ()
    return [leaf for key, value in pairs for leaf in leaves(value, (*path, key))] or [path]


# The workflows that may have made the manifest.


def _makers(args: Arguments) -> tuple[list[Maker] | None, list[Batch]]:
    """The workflows of --workflow, or of the project. None if one has errors. A976: there are none."""
    batches: list[Batch] = []
    commands = [args._replace(words=args.values("workflow"))] if args.has("workflow") else _of_project(args, batches)
    if not commands and not any(batch.diagnostics for batch in batches):
        hint = "name its workflow with --workflow FILE, or list it in a bayplan.yaml"
        message = "no workflow is known for this manifest"
        batches.append(Batch((error("A976", ("argument", "--why"), message, hint=hint),)))
    makers: list[Maker] = []
    for command in commands:
        read = inputs.read_all(command)
        requests = inputs.requests(command, read)
        batches += [Batch(requests.diagnostics), *read.batches]
        for request in requests.value or ():
            maker, batch = maker_of(request._replace(cluster_objects=True), read)
            batches.append(batch)
            makers += [maker] if maker else []
    failed = any(has_errors(batch.diagnostics) for batch in batches)
    return None if failed or not commands else makers, batches


def _of_project(args: Arguments, batches: list[Batch]) -> list[Arguments]:
    """The command lines of the outputs of the project."""
    loaded, problems = project.load()
    batches += problems
    commands = []
    for number, entry in enumerate(loaded.spec.get("outputs", ()) if loaded else ()):
        if loaded and "workflows" in entry:
            matched = generate.match(loaded, entry["workflows"], ("spec", "outputs", number, "workflows"))
            batches.append(Batch(matched.diagnostics, {project.SUBJECT: loaded.document}))
            command = generate.arguments(loaded, entry, matched.value or ())
            commands.append(command._replace(options={**command.options, **args.options}))
    return commands


def maker_of(request: Request, read: Inputs) -> tuple[Maker | None, Batch]:
    """A workflow with its sources in the native format, and the errors of compiling it."""
    outcome, origins = pipeline.compile(request._replace(prove=False))
    files_of_run = Batch((), read.sources(request.workflow), origins)
    if outcome.value is None:
        return None, files_of_run._replace(diagnostics=outcome.diagnostics)
    planned = outcome.value.planned
    if not native.sniff(request.workflow.data):
        context = read.context(planned.plan.topology)
        workflow, _ = pipeline.check_workflow(request.workflow, request.workflow_format, context, request.given)
        document = request.workflow._replace(data=native.write(workflow.value), source_map=None)  # type: ignore[arg-type]
        request = request._replace(workflow=document, workflow_format="", beside={})
    gangs = {gang.name: gang.route for gang in planned.plan.gangs}
    title = pipeline.title(planned.backend, planned.target)
    return Maker(Experiments(request), files_of_run, title, gangs), Batch(())


# The answers.


def _answers(existing: Object, field: str | None, makers: Sequence[Maker]) -> Outcome[list[Answer]]:
    """The causes of an object without a field, of all its fields too if this is empty, or of all below this field.

    A976: there is no such field, or no workflow writes the object. A978: a value is not the one of render.
    """
    maker, path = next(((maker, path) for maker in makers if (path := maker.path(existing))), (None, ()))
    if maker is None:
        return Outcome(None, (_unwritten(existing, makers),))
    rendered = get(maker.experiments.objects, *path)
    there, asked = field_path(rendered, field or ""), field_path(existing.data, field or "")
    if there is None and asked is None:
        hint = did_you_mean(field or "", [*map(shown, leaves(existing.data))])
        hint = hint or f"the fields are {listing(map(str, existing.data), 'and')}"
        message = f'{_title(existing)} has no field "{field}"'
        return Outcome(None, (error("A976", ("argument", "OBJECT"), message, hint=hint),))
    changed = () if field is None else tuple(_differences(existing, rendered, there or asked or ()))
    if field is not None:
        maker.experiments.watch((*path, *(there or ())))
    answers = [] if field else [Answer(existing, maker, "", None, _of_object(maker, path, rendered))]
    fields = leaves(get(rendered, *there), there) if there is not None and field is not None else ()
    for leaf in fields:
        if leaf not in (("apiVersion",), ("kind",)):
            value = get(existing.data, *leaf)
            causes = maker.experiments.causes((*path, *leaf))
            answers.append(
                Answer(existing, maker, shown(leaf), get(rendered, *leaf) if value is None else value, causes)
            )
    return Outcome(answers, changed)


def _of_object(maker: Maker, path: Path, rendered: Any) -> list[Edit]:
    """The causes of an object, and the gangs in its labels if no cause is in them; without these, its workflow."""
    edits = maker.experiments.causes(path)
    labels = [(leaf[-1], get(rendered, *leaf)) for leaf in leaves(rendered) if leaf[-1] in (GANG_LABEL, WORKFLOW_LABEL)]
    routes = [maker.gangs[name] for label, name in labels if label == GANG_LABEL and name in maker.gangs]
    if labels and not routes:
        routes = [("workflow",)]
    for route in dict.fromkeys(routes):
        if not any(edit.route[: len(route)] == route for edit in edits):
            named = (*route, "name") if len(route) > 1 else (*route, "metadata", "name")
            at = named if get(maker.experiments.sources, *named) else route
            edits.append(Edit(at, get(maker.experiments.sources, *at)))
    return edits


def _unwritten(existing: Object, makers: Sequence[Maker]) -> Diagnostic:
    """A976: render writes no such object."""
    label = text(existing.data, "metadata", "labels", WORKFLOW_LABEL)
    route = (*existing.route, "metadata", "name")
    title = _title(existing)
    if label in [maker.experiments.request.workflow.data["metadata"]["name"] for maker in makers]:
        hint = "compare the manifests and the workflow with `bayplan diff`"
        return error("A976", route, f'the workflow "{label}" does not make {title}', hint=hint)
    if not label:
        return error("A976", route, f"{title} has no label of bayplan, and no workflow here makes it")
    hint = f'name the file of the workflow "{label}" with --workflow FILE'
    return error("A976", route, f"no workflow here makes {title}", hint=hint)


def _differences(existing: Object, rendered: Any, below: Path) -> Iterator[Diagnostic]:
    """A978: values of the asked fields that render would not write."""
    namespace = text(rendered, "metadata", "namespace")
    for _, fields in difference([rendered], [existing], namespace).changed:
        for field in fields:
            written = field_path(rendered, field.path)
            path = field_path(existing.data, field.path) or written or ()
            if path[: len(below)] != below and below[: len(path)] != path:
                continue
            hint = "render again"
            if field.before is None:
                message = f"{field.path} is missing, but render would write it"
            elif field.after is None:
                message = f"render would not write {field.path}"
            else:
                message = f"{field.path} is {_text(field.before)}, but render would write {_text(field.after)}"
                hint = "render again; to keep the value, change the source that is named here"
            yield warning("A978", (*existing.route, *path), message, hint=hint)


# The output.

LONGEST = 100
"""The most characters of a value to show."""


def _text(value: Any) -> str:
    written = value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}..."


def _as_text(answers: Sequence[Answer]) -> Iterator[str]:
    """Each object or field with its causes; the lines of the sources too if there is only one field."""
    colour = paint if coloured(sys.stdout) else plain
    for answer in answers:
        title = _title(answer.object)
        yield f"{title} {answer.field} = {_text(answer.value)}\n" if answer.field else f"{title}\n"
        if not answer.causes:
            yield f"  bayplan writes it for {answer.maker.title}; no value of the workflow or the topology changes it\n"
        for place, source, value in _sources(answer):
            at = f"{colour('place', where(place))}: " if place else ""
            yield f"  {at}{source}{_of_source(value)}\n"
            if place and value is not None and place.source.strip() and answer.field and len(answers) == 1:
                line, underline = excerpt(place)
                yield f"  {place.line:>3} | {line}\n  {'':>3} | {underline}\n"


def _of_source(value: Any) -> str:
    """` = 16`; for a mapping or a list nothing, because it has its own lines."""
    if value is None:
        return " is not set"
    return "" if isinstance(value, Mapping | list) else f" = {_text(value)}"


def _sources(answer: Answer) -> list[tuple[Place | None, str, Any]]:
    """The places of the causes, in the order of the files and lines, with the names of the fields and their values."""
    request = answer.maker.experiments.request
    routes = [edit.route for edit in answer.causes]
    at = [cell_route(table, r, answer.value) if (table := tables(request).get(str(r[0]))) else r for r in routes]
    sources = []
    for route, place in zip(routes, places(at, answer.maker.files), strict=True):
        name = f"--{route[1]}" if route[0] == "argument" else shown(route[1:])
        order = (route[0] == "argument", route[0] == "topology", place[:3] if place else ())
        sources.append((order, (place, name, get(answer.maker.experiments.sources, *route))))
    return [source for _, source in sorted(sources, key=lambda pair: pair[0])]


def _as_json(answers: Sequence[Answer]) -> Iterator[str]:
    rows = []
    for answer in answers:
        _, kind, namespace, name = identity(answer.object.data)
        causes = [
            {"file": place and place.file, "line": place and place.line, "column": place and place.column}
            | {"source": source, "value": value}
            for place, source, value in _sources(answer)
        ]
        row = {"kind": kind, "namespace": namespace or None, "name": name, "scheduler": answer.maker.title}
        row["workflow"] = answer.maker.experiments.request.workflow.name
        rows.append(row | {"field": answer.field or None, "value": answer.value, "causes": causes})
    yield json.dumps({"answers": rows}, indent=2, ensure_ascii=False) + "\n"
