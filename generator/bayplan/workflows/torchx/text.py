"""Output or input of TorchX -> the document of an AppDef.

`reading` has common parts and reads the APPLICATION section of a dry run. `request` reads its SCHEDULER REQUEST
section, or only the objects of that section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.core.diagnostics import AT, Diagnostic, Outcome, error
from bayplan.core.phrases import did_you_mean, listing
from bayplan.kube.objects import items, mapping, text
from bayplan.text import document
from bayplan.text.document import Document, Path, Span
from bayplan.workflows.torchx import reading, request
from bayplan.workflows.torchx.components import (
    COMPONENTS,
    OTHERS,
    Component,
    InvalidArgumentError,
    bind_arguments,
    parse_arguments,
)
from bayplan.workflows.torchx.marks import APPLICATION, REQUEST
from bayplan.workflows.torchx.reading import Translated, route_of, translated_document

# The JSON that `torchx run --stdin` takes (TorchX 0.8, cli/cmd_run.py) -> the AppDef of its component.

NAME, ARGS, WORDS = "component_name", "component_args", "component_args_str"
WORKSPACE = "workspace"
KEYS = (
    *(NAME, ARGS, WORDS),
    *("scheduler", "scheduler_args", "scheduler_cfg", "dryrun", "wait", "log", WORKSPACE, "parent_run_id"),
    "tee_logs",
)
"""Fields of a run. Only the component, the arguments and the workspace have an effect on pods."""


def sniff(data: Any) -> bool:
    """Whether the data are those of a run."""
    return isinstance(data, Mapping) and NAME in data


def application(document: Document, subject: str) -> Outcome[tuple[Document, ...]]:
    """The document of the AppDef. R143: an unknown component; R144: invalid arguments."""
    data = document.data
    name = text(data, NAME)
    if name not in COMPONENTS:
        return Outcome(None, (_unknown(document, name, subject),))
    app, wrong = _build(data, COMPONENTS[name])
    findings = (*_keys(document, subject), *(_wrong(document, each, name, subject) for each in wrong))
    if findings or app is None:
        return Outcome(None, findings)
    if data.get(WORKSPACE):  # TorchX puts it into the image of all roles
        app = {**app, "roles": [{**role, WORKSPACE: data[WORKSPACE]} for role in app["roles"]]}
    whole = {**app, "scheduler_args": {**mapping(data, "scheduler_args"), **mapping(data, "scheduler_cfg")}}
    return Outcome((translated_document(document, Translated(whole, _origins(data))),))


def _build(data: Any, component: Component) -> tuple[dict[str, Any] | None, list[InvalidArgumentError]]:
    words = [str(each) for each in items(data, WORDS)]
    values, wrong = parse_arguments(words, component.parameters) if words else (dict(mapping(data, ARGS)), [])
    arguments, more = bind_arguments(values, component.parameters)
    try:
        return (None, [*wrong, *more]) if wrong or more else (component.build(arguments), [])
    except InvalidArgumentError as invalid:
        return None, [invalid]


def _origins(data: Any) -> dict[Path, Path]:
    """Part of the AppDef -> the argument that it comes from."""
    root: Path = (ARGS,) if not items(data, WORDS) else (WORDS,)
    own = {"image": "image", "env": "env", "resource": "h", "mounts": "mounts", "max_retries": "max_retries"}
    counts = {"num_replicas": "j" if "j" in mapping(data, ARGS) else "num_replicas", "name": "script", "metadata": ""}
    routes: dict[Path, Path] = {
        (): (NAME,),
        ("scheduler_args",): ("scheduler_args",),
        ("metadata",): (*root, "metadata"),
        ("roles", 0, WORKSPACE): (WORKSPACE,),
    }
    routes[("name",)] = (*root, "name")
    for key, argument in {**own, **counts}.items():
        routes[("roles", 0, key)] = (*root, argument) if argument else root
    return {**routes, ("roles",): root}


def _unknown(document: Document, name: str, subject: str) -> Diagnostic:
    names = list(COMPONENTS)
    message = f'unknown component "{name}": bayplan supports {listing(names, "and")}'
    near = "" if name in OTHERS else did_you_mean(name, names)
    returned = "pass its result: dataclasses.asdict(app) as JSON, or the output of `torchx run --dryrun`"
    hint = f"{near} Otherwise {returned}" if near else returned
    return error("R143", route_of(document, (NAME,), subject), message, hint=hint)


def _keys(document: Document, subject: str) -> Iterator[Diagnostic]:
    for key in document.data:
        if key not in KEYS:
            hint = did_you_mean(str(key), KEYS) or "remove it: TorchX refuses it as well"
            yield error("R144", route_of(document, (key,), subject), f'unknown field "{key}" of a run', hint=hint)


def _wrong(document: Document, wrong: InvalidArgumentError, component: str, subject: str) -> Diagnostic:
    words = bool(items(document.data, WORDS))
    path: Path = (WORDS,) if words else (ARGS, wrong.name) if wrong.name else (ARGS,)
    message = (
        f'argument "{wrong.name}" of {component} {wrong.message}' if wrong.name else f"{component} {wrong.message}"
    )
    names = list(COMPONENTS[component].parameters)
    hint = wrong.hint or ("" if wrong.name in names else did_you_mean(wrong.name, names))
    hint = hint or f"use one of {listing(names)}"
    return error("R144", route_of(document, path, subject), message, hint=hint)


def read(name: str, raw: bytes, text: str, subject: str) -> Outcome[tuple[Document, ...]]:
    """The one document of a TorchX file."""
    if APPLICATION in text:
        return _dry_run(name, text, subject)
    if REQUEST in text:
        section = _section(text, REQUEST)
        return _objects(document.read(name, section.padded.encode(), subject, own=False), text, subject)
    documents = document.read(name, raw, subject, own=not text.lstrip().startswith("apiVersion"))
    if documents.value and sniff(documents.value[0].data):
        return application(documents.value[0], subject)
    objects = [each for each in documents.value or () if request.sniff(each.data)]
    return _objects(Outcome(tuple(objects), documents.diagnostics), text, subject) if objects else documents


class _Section(NamedTuple):
    """A part of the text: its lines, and the number of the first of them."""

    text: str
    line: int

    @property
    def padded(self) -> str:
        """The text after empty lines, so that its lines keep their numbers."""
        return "\n" * (self.line - 1) + self.text


def _section(text: str, title: str) -> _Section:
    """The lines between a title and the next one."""
    before, _, rest = text.partition(title)
    body = rest.partition("\n")[2]
    for other in (APPLICATION, REQUEST):
        body = body.partition(other)[0]
    return _Section(body, before.count("\n") + 2)


def _dry_run(name: str, text: str, subject: str) -> Outcome[tuple[Document, ...]]:
    """The application of a dry run, with the scheduler arguments in its request.

    R142: there are two applications.
    """
    if text.count(APPLICATION) > 1:
        second = text.index(APPLICATION, text.index(APPLICATION) + 1)
        at = (subject, AT, text.count("\n", 0, second) + 1, 1)
        return Outcome(None, (error("R142", at, "the file has two applications", hint="save each in its own file"),))
    section = _section(text, APPLICATION)
    literal = reading.read(section.text, section.line, subject)
    if literal.value is None:
        return Outcome(None, literal.diagnostics)
    data, spans = literal.value
    if isinstance(data, dict) and REQUEST in text:
        objects = document.read(name, _section(text, REQUEST).padded.encode(), subject, own=False)
        scheduler_args = next(
            (request.scheduler_args(each.data) for each in objects.value or () if request.sniff(each.data)), {}
        )
        data = {**data, **({"scheduler_args": scheduler_args} if scheduler_args else {})}
    place = reading.from_spans(spans, Span(section.line - 1, 1, section.line - 1, len(APPLICATION) + 1))
    return Outcome((Document(name, text, 0, data, reading.source_map(data, place)),))


def _objects(documents: Outcome[tuple[Document, ...]], text: str, subject: str) -> Outcome[tuple[Document, ...]]:
    """The application behind objects of TorchX. R142: not exactly one object, or its replicas differ."""
    if documents.value is None:
        return Outcome(None, documents.diagnostics)
    objects = [each for each in documents.value if request.sniff(each.data)]
    if len(objects) != 1:
        what = f"{len(objects)} objects" if objects else "no object"
        message = f"the request has {what} that TorchX wrote for Volcano or MCAD, but needs exactly one"
        hint = "run `torchx run --dryrun -s kubernetes`, or import the application as JSON"
        return Outcome(None, (*documents.diagnostics, error("R142", (subject, AT, 1, 1), message, hint=hint)))
    application = request.application(objects[0], subject)
    reported = (*documents.diagnostics, *application.diagnostics)
    if application.value is None:
        return Outcome(None, reported)
    translated = translated_document(objects[0], application.value)
    return Outcome((translated._replace(text=text) if "\n" in text else translated,), reported)
