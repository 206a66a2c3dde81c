"""`bayplan explain --why`: the values of the workflow and the topology that make an object or a field of a manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from bayplan import pipeline
from bayplan.cli import files, generate, inputs, output, project
from bayplan.cli.causes import (
    Cause,
    Edit,
    Key,
    Path,
    Sources,
    Variant,
    causes,
    default_variants,
    follow,
    in_row,
    possible_causes,
    sources,
    variants,
    within,
)
from bayplan.cli.finish import coloured, finish, paint
from bayplan.cli.inputs import Inputs
from bayplan.cli.lint import lenient, load_manifests
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import AT, Diagnostic, Outcome, Route, error, has_errors, warning
from bayplan.core.phrases import did_you_mean, listing
from bayplan.kube.kinds import GANG_LABEL, WORKFLOW_LABEL
from bayplan.kube.objects import get, identity, text
from bayplan.linting.objects import collect
from bayplan.manifests.diff import inside, same
from bayplan.model.manifest import Manifest, Object
from bayplan.pipeline import Request
from bayplan.report import Batch
from bayplan.report.findings import Paint, Place, excerpt, places, plain, where
from bayplan.workflows import native


class Experiments:
    """The results of all changes of a workflow's sources, each made when the first answer needs it."""

    def __init__(self, base: Sources) -> None:
        self.base = base

    @cached_property
    def changed(self) -> tuple[Variant, ...]:
        """The results of changing what the sources set."""
        return variants(self.base)

    @cached_property
    def unset(self) -> tuple[Variant, ...]:
        """The results of setting what the sources do not set."""
        return default_variants(self.base)

    def answer(self, data: Manifest, rendered: Manifest, key: Key, path: Path) -> Answer:
        """The causes of a field that render also writes."""
        value = get(data, *path)
        there = follow(data, rendered, path)
        if len(there) < len(path):
            return Answer(path, shown(path), None, ())
        found = causes(self.base, self.changed, key, there) or causes(self.base, self.unset, key, there)
        possible = path and not found
        if possible:
            found = possible_causes(self.base, self.changed, get(rendered, *there))
        found = tuple(in_row(self.base, each, value) for each in found)
        return Answer(path, shown(path), value, tuple((each, None) for each in found), not possible)


class WorkflowSources(NamedTuple):
    """A workflow that compiles: the results of changing its sources, its files, and the scheduler with its version.

    `gangs`: the name of a gang, with its copy -> its route.
    """

    experiments: Experiments
    files: Batch
    title: str
    gangs: Mapping[str, Route]


class Answer(NamedTuple):
    """The causes of an object, if `path` is empty, or of one of its fields.

    `value`: that of the manifest. The causes have the places of their values. `proven`: whether a change of each cause
    changes the field. If not, they have the same value as the field, and accept no other value to try.
    """

    path: Path
    shown: str
    value: Any
    causes: tuple[tuple[Cause, Place | None], ...]
    proven: bool = True


class Explained(NamedTuple):
    """An object of a manifest with its answers."""

    object: Object
    made: WorkflowSources
    answers: tuple[Answer, ...]


def run(args: Arguments) -> int:
    """Prints the causes of the objects, of one object and its fields, or of one field."""
    manifest = args.value("why")
    twice = files.stdin_twice((manifest, *args.values("workflow"), inputs.topology_path(args)[0]))
    if twice:
        return finish(args, [Batch(twice)])
    read = load_manifests([manifest])
    objects, not_objects = collect(read.documents)
    named = {f"manifest:{number}": document for number, document in enumerate(read.documents)}
    batches = [*read.batches, Batch(tuple(lenient(each, read) for each in not_objects), named)]
    if any(has_errors(each.diagnostics) for each in batches):
        return finish(args, batches)
    asked = _asked(args, objects)
    batches.append(Batch(asked.diagnostics))
    if asked.value is None:
        return finish(args, batches)
    made, of_workflows = _all_made(args)
    batches += of_workflows
    if made is None:
        return finish(args, batches)
    whole = bool(args.words)
    explained = []
    for one, field in asked.value:
        outcome = _explained(one, field, whole, made)
        batches.append(Batch(outcome.diagnostics, named))
        explained += [outcome.value] if outcome.value else []
    explained = [each for each in explained if each.answers]
    show = _as_json if args.value("format", "text") == "json" else _as_text
    return finish(args, batches, lambda: output.write(show(explained)))


# The objects and the field of the command line.

Asked = tuple[tuple[Object, str], ...]
"""Objects, each with the field as the user wrote it; empty for all fields."""


def _asked(args: Arguments, objects: Sequence[Object]) -> Outcome[Asked]:
    """A976: the manifest has no such object, or several; or it has no object at all."""
    if not objects:
        hint = "pass the file that `bayplan render -o FILE` wrote; Slurm has scripts instead of objects"
        return Outcome(
            None, (error("A976", ("argument", "--why"), "the manifest has no Kubernetes objects", hint=hint),)
        )
    if not args.words:
        return Outcome(tuple((one, "") for one in objects))
    named, _, field = args.words[0].partition(":")
    found = [one for one in objects if _is_named(one, named)]
    if len(found) == 1:
        return Outcome(((found[0], field),))
    route = ("argument", "OBJECT")
    titles = [_title(one) for one in objects]
    if found:
        message = f'"{named}" is not one object: the manifest has {listing(map(_title, found), "and")}'
        hint = "write KIND.GROUP/NAME, such as podgroups.scheduling.run.ai/train, or pass only the file of the object"
    else:
        message = f'the manifest has no object "{named}"'
        hint = did_you_mean(named, titles) or f"the objects are {listing(titles, 'and')}"
    return Outcome(None, (error("A976", route, message, hint=hint),))


def _is_named(one: Object, named: str) -> bool:
    """Whether kubectl would find an object by this name: kinds in singular or plural, with or without API group."""
    group, kind, _, name = identity(one.data)
    word, slash, own = named.partition("/")
    what, _, api = word.lower().partition(".")
    singular = kind.lower()
    return what in (singular, f"{singular}s", f"{singular}es") and api in ("", group) and (not slash or own == name)


def _title(one: Object) -> str:
    return f"{text(one.data, 'kind')}/{text(one.data, 'metadata', 'name')}"


STEP = re.compile(r'\["([^"]*)"\]|\[([^\[\]]*)\]|((?:\\.|[^.\[\\])+)')


def field_path(data: Any, field: str) -> Path | None:
    """The path of `spec.subGroups[replica-0].minMember`; None if the object has no such field.

    An entry of a list has its number or its name. Keys with dots: `metadata.labels["a.b/c"]`, `metadata.labels.a\\.b/c`
    or, where no other key fits, `metadata.labels.a.b/c`.
    """
    words = [next(each for each in (*found, "") if each).replace("\\.", ".") for found in STEP.findall(field)]
    return _path(data, words)


def _path(data: Any, words: Sequence[str]) -> Path | None:
    if not words:
        return ()
    if isinstance(data, list | tuple):
        number = next((n for n, each in enumerate(data) if text(each, "name") == words[0]), -1)
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
    for each in path:
        written = f"{written}[{each}]" if isinstance(each, int) else inside(written, each)
    return written


# The workflows that may have made the manifest.


def _all_made(args: Arguments) -> tuple[list[WorkflowSources] | None, list[Batch]]:
    """The workflows of --workflow, or of the project. None if one has errors. A977: there are none."""
    batches: list[Batch] = []
    commands = [args._replace(words=args.values("workflow"))] if args.has("workflow") else _of_project(args, batches)
    if not commands and not any(each.diagnostics for each in batches):
        hint = "name its workflow with --workflow FILE, or list it in a bayplan.yaml"
        batches.append(
            Batch((error("A977", ("argument", "--why"), "no workflow is known for this manifest", hint=hint),))
        )
    made: list[WorkflowSources] = []
    for each in commands:
        read = inputs.read_all(each)
        requests = inputs.requests(each, read)
        batches += [Batch(requests.diagnostics), *read.batches]
        for request in requests.value or ():
            one, batch = made_of(request._replace(cluster_objects=True), read)
            batches.append(batch)
            made += [one] if one else []
    failed = any(has_errors(each.diagnostics) for each in batches)
    return None if failed or not commands else made, batches


def _of_project(args: Arguments, batches: list[Batch]) -> list[Arguments]:
    """The command lines of the outputs of the project."""
    found, problems = project.load()
    batches += problems
    commands = []
    for number, entry in enumerate(found.spec.get("outputs", ()) if found else ()):
        if found and "workflows" in entry:
            matched = generate.match(found, entry["workflows"], ("spec", "outputs", number, "workflows"))
            batches.append(Batch(matched.diagnostics, {project.SUBJECT: found.document}))
            own = generate.arguments(found, entry, matched.value or ())
            commands.append(own._replace(options={**own.options, **args.options}))
    return commands


def made_of(request: Request, read: Inputs) -> tuple[WorkflowSources | None, Batch]:
    """A workflow with its sources in the native format, and the errors of compiling it."""
    outcome, origins = pipeline.compile(request._replace(prove=False))
    files_of_run = Batch((), read.sources(request.workflow), origins)
    errors = tuple(each for each in outcome.diagnostics if each.severity == "error")
    if outcome.value is None:
        return None, files_of_run._replace(diagnostics=errors)
    if not native.sniff(request.workflow.data):
        topology = pipeline.check_topology(request.topology)[0].value
        workflow = pipeline.check_workflow(
            request.workflow, request.workflow_format, read.context(topology), request.given
        )
        data = native.write(workflow[0].value) if workflow[0].value else {}
        document = request.workflow._replace(data=data, source_map=None)
        request = request._replace(workflow=document, workflow_format="", beside={})
    planned = outcome.value.planned
    gangs = {gang.name: gang.route for gang in planned.plan.gangs}
    title = pipeline.title(planned.backend, planned.target)
    return WorkflowSources(Experiments(sources(request)), files_of_run, title, gangs), Batch(())


# The answers.


def _explained(one: Object, field: str, whole: bool, made: Sequence[WorkflowSources]) -> Outcome[Explained]:
    """The causes of an object and, with `whole`, of all its fields; with a field, of this one and those below it.

    A976: there is no such field. A977: no workflow writes the object. A978: a value is not the one of render.
    """
    found = next(
        ((each, key) for each in made for key in each.experiments.base.objects if _is_twin(one.data, key)), None
    )
    if found is None:
        return Outcome(None, (_unwritten(one, made),))
    maker, key = found
    experiments = maker.experiments
    rendered = experiments.base.objects[key]
    path = field_path(one.data, field)
    lost = path is None
    path = field_path(rendered, field) if path is None else path
    if path is None:
        return Outcome(None, (_no_field(one, field),))
    data = rendered if lost else one.data
    wrong = tuple(_differences(one, rendered, path)) if whole else ()
    fields = [each for each in _leaves(data, path) if whole and each not in (("apiVersion",), ("kind",))]
    answers = [] if field else [with_gangs(experiments.answer(one.data, rendered, key, ()), rendered, maker)]
    answers += [each for p in fields if (each := experiments.answer(data, rendered, key, p)).value is not None]
    routes = [cause.route for answer in answers for cause, _ in answer.causes]
    there = dict(zip(routes, places(routes, maker.files), strict=True))
    located = (
        each._replace(causes=tuple(sorted(((c, there[c.route]) for c, _ in each.causes), key=_by_place)))
        for each in answers
    )
    return Outcome(Explained(one, maker, tuple(located)), wrong)


def with_gangs(answer: Answer, rendered: Manifest, made: WorkflowSources) -> Answer:
    """The causes of an object, and the gangs in its labels if no cause is in them; without these, its workflow."""
    labels = {key: {get(rendered, *path) for path in within(rendered) if path[-1] == key} for key in LABELS}
    routes = [route for name, route in made.gangs.items() if name in labels[GANG_LABEL]]
    if not routes and labels[WORKFLOW_LABEL]:
        routes = [("workflow",)]
    causes_of = [cause.route for cause, _ in answer.causes]
    missing = [each for each in dict.fromkeys(routes) if not any(route[: len(each)] == each for route in causes_of)]
    data = made.experiments.base.request.workflow.data
    for route in missing:
        named = (*route, "name") if len(route) > 1 else (*route, "metadata", "name")
        at, value = (route, None) if get(data, *named[1:]) is None else (named, get(data, *named[1:]))
        answer = answer._replace(causes=(*answer.causes, (Cause(at, value, Edit(at, value)), None)))
    return answer


LABELS = (GANG_LABEL, WORKFLOW_LABEL)


def _by_place(pair: tuple[Cause, Place | None]) -> tuple[Any, ...]:
    return (pair[0].route[0] == "argument", pair[0].route[0] == "topology", pair[1][:3] if pair[1] else ())


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, Mapping | list | tuple)


def _is_twin(data: Manifest, key: Key) -> bool:
    group, kind, namespace, name = identity(data)
    return (group, kind, name) == (key[0], key[1], key[3]) and namespace in ("", key[2])


def _unwritten(one: Object, made: Sequence[WorkflowSources]) -> Diagnostic:
    """A977: render writes no such object."""
    label = text(one.data, "metadata", "labels", WORKFLOW_LABEL)
    names = [each.experiments.base.request.workflow.data["metadata"]["name"] for each in made]
    route = (*one.route, "metadata", "name")
    if label in names:
        hint = "compare the manifests and the workflow with `bayplan diff`"
        return error("A977", route, f'the workflow "{label}" does not make {_title(one)}', hint=hint)
    if not label:
        return error("A977", route, f"{_title(one)} has no label of bayplan, and no workflow here makes it")
    hint = f'name the file of the workflow "{label}" with --workflow FILE'
    return error("A977", route, f"no workflow here makes {_title(one)}", hint=hint)


def _no_field(one: Object, field: str) -> Diagnostic:
    every = [shown(path) for path in within(one.data, (), leaves=False)]
    hint = did_you_mean(field, every) or f"the fields are {listing([str(key) for key in one.data], 'and')}"
    return error("A976", ("argument", "OBJECT"), f'{_title(one)} has no field "{field}"', hint=hint)


def _differences(one: Object, rendered: Manifest, path: Path) -> Iterator[Diagnostic]:
    """A978: values that render would not write. A live object has many more fields, which others set."""
    live = bool(text(one.data, "metadata", "uid"))
    hint = "render again; to keep the value, change the source that is named here"
    more: dict[Path, None] = {}
    has = not path or path in within(one.data, leaves=False)
    for each in _leaves(one.data, path) if has else ():
        there = follow(one.data, rendered, each)
        if len(there) < len(each):
            more[each[: len(there) + 1]] = None
        elif not same(value := get(one.data, *each), wanted := get(rendered, *there)):
            message = f"{shown(each)} is {_text(value)}, but render would write {_text(wanted)}"
            yield warning("A978", (*one.route, *each), message, hint=hint)
    for each in () if live else more:
        message = f"render would not write {shown(each)}"
        yield warning("A978", (*one.route, *each), message, hint="render again")
    missing = {}
    twin = follow(one.data, rendered, path) if has else path
    for each in _leaves(rendered, twin) if len(twin) == len(path) else ():
        there = follow(rendered, one.data, each)
        if len(there) < len(each):
            missing[each[: len(there) + 1]] = there
    for each, there in missing.items():
        message = f"{shown(each)} is missing, but render would write it"
        yield warning("A978", (*one.route, *there), message, hint="render again")


def _leaves(data: Any, path: Path) -> list[Path]:
    return [path] if _is_scalar(get(data, *path)) else [*within(data, path)]


# The output.

LONGEST = 100
"""The most characters of a value to show."""


def _text(value: Any) -> str:
    written = value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}..."


def _as_text(explained: Sequence[Explained]) -> Iterator[str]:
    import sys

    colour = paint if coloured(sys.stdout) else plain
    for each in explained:
        title = _title(each.object)
        first, *more = each.answers
        if more and first.path:  # the fields below a field
            yield f"{title}\n"
        for answer in each.answers:
            single = bool(answer.path) and not more
            indent = "  " if single or not answer.path else "    "
            named = f"{title} {answer.shown}" if single else f"  {answer.shown}"
            yield f"{named} = {_text(answer.value)}\n" if answer.path else f"{title}\n"
            yield from (f"{indent}{line}\n" for line in _cause_lines(answer, each.made, single, colour))


def _cause_lines(answer: Answer, made: WorkflowSources, excerpts: bool, colour: Paint) -> Iterator[str]:
    if not answer.causes:
        yield f"bayplan writes it for {made.title}; no value of the workflow or the topology changes it"
    elif not answer.proven:
        yield "bayplan cannot find the cause: these places have the same value, and accept no other value to try"
    for cause, place in answer.causes:
        at = f"{colour('place', where(place))}: " if place else ""
        if cause.route[0] == "argument":
            yield f"--{cause.route[1]} {_option(cause.value)}"
        elif cause.is_default:
            default = "" if cause.value is None else f"; its default is {_text(cause.value)}"
            yield f"{at}{shown(cause.route[1:])} is not set{default}"
        else:
            yield f"{at}{_source(cause)}{_of_source(cause.value)}"
        if excerpts and place and place.source.strip() and not cause.is_default:
            line, underline = excerpt(place)
            yield f"{place.line:>3} | {line}"
            yield f"{'':>3} | {underline}"


def _source(cause: Cause) -> str:
    """The name of a field, or of a column."""
    return f"column {cause.edit.value}" if AT in cause.route else shown(cause.route[1:])


def _of_source(value: Any) -> str:
    """` = 16`; for a mapping or a list nothing, because it has its own lines."""
    return f" = {_text(value)}" if _is_scalar(value) else ""


def _option(value: Any) -> str:
    return ",".join(f"{name}={each}" for name, each in value.items()) if isinstance(value, Mapping) else str(value)


def _as_json(explained: Sequence[Explained]) -> Iterator[str]:
    yield json.dumps({"objects": [_json_object(each) for each in explained]}, indent=2, ensure_ascii=False) + "\n"


def _json_object(each: Explained) -> dict[str, Any]:
    _, kind, namespace, name = identity(each.object.data)
    return {
        "kind": kind,
        "namespace": namespace or None,
        "name": name,
        "workflow": each.made.experiments.base.request.workflow.name,
        "scheduler": each.made.title,
        "causes": next(([*map(_json_cause, a.causes)] for a in each.answers if not a.path), None),
        "fields": [
            {
                "field": answer.shown,
                "value": answer.value,
                "proven": answer.proven,
                "causes": [*map(_json_cause, answer.causes)],
            }
            for answer in each.answers
            if answer.path
        ],
    }


def _json_cause(pair: tuple[Cause, Place | None]) -> dict[str, Any]:
    cause, place = pair
    option = cause.route[0] == "argument"
    return {
        "file": place.file if place else None,
        "line": place.line or None if place else None,
        "column": place.column or None if place else None,
        "source": f"--{cause.route[1]}" if option else _source(cause),
        "value": cause.value,
        "default": cause.is_default,
    }
