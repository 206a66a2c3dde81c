"""One task -> one podSet of the native format, as data, with the places its parts came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bayplan.diagnostics import Route
from bayplan.values import NamedTuple
from bayplan.workflows.osmo import tokens
from bayplan.workflows.osmo.rules.files import DATA
from bayplan.workflows.osmo.tokens import Token
from bayplan.workflows.osmo.translate import credentials
from bayplan.workflows.osmo.translate.exit_codes import wrapped
from bayplan.workflows.osmo.translate.places import origins
from bayplan.workflows.osmo.translate.portion import Portion
from bayplan.workflows.osmo.translate.source import Task
from bayplan.workflows.osmo.translate.template import template

NO_GPUS = ("NVIDIA_VISIBLE_DEVICES", "")
"""OSMO sets it where a task asks for no GPU, so that images which show all of them show none."""


class Piece(NamedTuple):
    """Native data, and routes in it -> routes in the source."""

    data: Mapping[str, Any]
    origins: Mapping[Route, Route]


def pod_set(task: Task, portion: Portion, workflow: str, deadline: int | None) -> Piece:
    """The podSet without its name. `workflow` is the name that `{{workflow_id}}` becomes."""
    spec = _resolved(task, workflow)
    gpus = portion.accelerators
    data = {
        "pool": portion.pool,
        "accelerator": {"count": gpus} if gpus else None,
        "resources": dict(portion.resources),
        "image": spec["image"],
        "command": wrapped(spec["command"], portion.exit_actions),
        "args": spec.get("args"),
        "env": _environment(task._replace(data=spec), gpus),
        "files": {file["path"]: _contents(file) for file in spec.get("files", ())},
        "template": template(task._replace(data=spec), portion, deadline),
    }
    return Piece({key: value for key, value in data.items() if value}, origins(task, portion, data["template"]))


def _environment(task: Task, gpus: int) -> dict[str, str]:
    """The plain variables; those of the same name that come from a Secret take their place."""
    plain = {**task.data.get("environment", {}), **({} if gpus else dict([NO_GPUS]))}
    secret = credentials.variables(task)
    return {name: value for name, value in plain.items() if name not in secret}


def _resolved(task: Task, workflow: str) -> Mapping[str, Any]:
    """The task with its tokens replaced, but for hosts, whose names depend on what the pods become."""
    sources = [each.get("task", "").rpartition(":")[2] for each in task.data.get("inputs", ())]

    def value(token: Token) -> str | None:
        if token.kind == tokens.INPUT:
            return _input(token.name, sources)
        return {tokens.WORKFLOW_ID: workflow, tokens.OUTPUT: f"{DATA}/output"}.get(token.kind)

    resolved: Mapping[str, Any] = _replaced(task.data, value)
    return resolved


def _input(name: str, sources: list[str]) -> str | None:
    """The folder of an input, by its number or by the task it comes from (of two, OSMO's later one counts)."""
    numbers = [number for number, source in enumerate(sources) if name in (source, str(number))]
    return f"{DATA}/input/{numbers[-1]}" if numbers else None


def _replaced(value: Any, make: Callable[[Token], str | None]) -> Any:
    if isinstance(value, str):
        return tokens.replace(value, make)
    if isinstance(value, Mapping):
        return {key: _replaced(each, make) for key, each in value.items()}
    return [_replaced(each, make) for each in value] if isinstance(value, list) else value


def _contents(file: Mapping[str, Any]) -> Any:
    """Text, also where it was encoded; other bytes stay encoded."""
    contents: str = file["contents"]
    if not file.get("base64"):
        return contents
    from base64 import b64decode

    try:
        return b64decode(contents).decode("utf-8")
    except ValueError:
        return {"base64": "".join(contents.split())}
