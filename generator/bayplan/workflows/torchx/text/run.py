"""The JSON that `torchx run --stdin` takes (TorchX 0.8, cli/cmd_run.py) -> the AppDef of its component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import AT, Diagnostic, Outcome, Route, error
from bayplan.text.document import Document, Path, spans_of
from bayplan.words import did_you_mean, listing
from bayplan.workflows.torchx.components import COMPONENTS, OTHERS, Component
from bayplan.workflows.torchx.components.arguments import Wrong, bound, given
from bayplan.workflows.torchx.text.placed import Made, made
from bayplan.workflows.torchx.text.shapes import items, mapping, text

NAME, ARGS, WORDS = "component_name", "component_args", "component_args_str"
WORKSPACE = "workspace"
KEYS = (
    *(NAME, ARGS, WORDS),
    *("scheduler", "scheduler_args", "scheduler_cfg", "dryrun", "wait", "log", WORKSPACE, "parent_run_id"),
    "tee_logs",
)
"""Fields of a run; but for the component, its arguments, the scheduler's and the workspace they say nothing of pods."""


def sniff(data: Any) -> bool:
    """Whether the data are those of a run."""
    return isinstance(data, Mapping) and NAME in data


def application(document: Document, subject: str) -> Outcome[tuple[Document, ...]]:
    """The document of the AppDef. R143: an unknown component; R144: arguments that it does not take."""
    data = document.data
    name = text(data, NAME)
    if name not in COMPONENTS:
        return Outcome(None, (_unknown(document, name, subject),))
    app, wrong = _built(data, COMPONENTS[name])
    found = (*_keys(document, subject), *(_wrong(document, each, name, subject) for each in wrong))
    if found or app is None:
        return Outcome(None, found)
    if data.get(WORKSPACE):  # TorchX puts it into the image of all roles
        app = {**app, "roles": [{**role, WORKSPACE: data[WORKSPACE]} for role in app["roles"]]}
    whole = {**app, "scheduler_args": {**mapping(data, "scheduler_args"), **mapping(data, "scheduler_cfg")}}
    return Outcome((made(document, Made(whole, _origins(data))),))


def _built(data: Any, component: Component) -> tuple[dict[str, Any] | None, list[Wrong]]:
    words = [str(each) for each in items(data, WORDS)]
    values, wrong = given(words, component.parameters) if words else (dict(mapping(data, ARGS)), [])
    arguments, more = bound(values, component.parameters)
    if wrong or more:
        return None, [*wrong, *more]
    app = component.build(arguments)
    return (None, [app]) if isinstance(app, Wrong) else (app, [])


def _origins(data: Any) -> dict[Path, Path]:
    """Where what a component makes of its arguments is said."""
    root: Path = (ARGS,) if not items(data, WORDS) else (WORDS,)
    own = {"image": "image", "env": "env", "resource": "h", "mounts": "mounts", "max_retries": "max_retries"}
    counts = {"num_replicas": "j" if "j" in mapping(data, ARGS) else "num_replicas", "name": "script", "metadata": ""}
    found: dict[Path, Path] = {
        (): (NAME,),
        ("scheduler_args",): ("scheduler_args",),
        ("metadata",): (*root, "metadata"),
        ("roles", 0, WORKSPACE): (WORKSPACE,),
    }
    found[("name",)] = (*root, "name")
    for key, argument in {**own, **counts}.items():
        found[("roles", 0, key)] = (*root, argument) if argument else root
    return {**found, ("roles",): root}


def _unknown(document: Document, name: str, subject: str) -> Diagnostic:
    names = list(COMPONENTS)
    message = f'component "{name}" is Python code that bayplan does not know; it knows {listing(names, "and")}'
    near = "" if name in OTHERS else did_you_mean(name, names)
    returned = "give what it returns: dataclasses.asdict(app) as JSON, or `torchx run --dryrun`"
    hint = f"{near} Else {returned}" if near else returned
    return error("R143", _at(document, (NAME,), subject), message, hint=hint)


def _keys(document: Document, subject: str) -> Iterator[Diagnostic]:
    for key in document.data:
        if key not in KEYS:
            hint = did_you_mean(str(key), KEYS) or "remove it: TorchX refuses it as well"
            yield error("R144", _at(document, (key,), subject), f'a run has no field "{key}"', hint=hint)


def _wrong(document: Document, wrong: Wrong, component: str, subject: str) -> Diagnostic:
    words = bool(items(document.data, WORDS))
    path: Path = (WORDS,) if words else (ARGS, wrong.name) if wrong.name else (ARGS,)
    message = (
        f'argument "{wrong.name}" of {component} {wrong.message}' if wrong.name else f"{component} {wrong.message}"
    )
    known = list(COMPONENTS[component].parameters)
    hint = wrong.hint or ("" if wrong.name in known else did_you_mean(wrong.name, known))
    hint = hint or f"it takes {listing(known, 'and')}"
    return error("R144", _at(document, path, subject), message, hint=hint)


def _at(document: Document, path: Path, subject: str) -> Route:
    return (subject, AT, *spans_of(document, [path])[path][0])
