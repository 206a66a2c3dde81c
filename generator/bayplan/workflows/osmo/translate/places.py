"""Where the parts of a podSet come from: the task, its resource, or its platform's pod template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Route
from bayplan.workflows.osmo.translate.portion import AMOUNTS, Portion
from bayplan.workflows.osmo.translate.source import Task


def origins(task: Task, portion: Portion, template: Any) -> dict[Route, Route]:
    """Routes in the podSet -> routes in the sources; `template` is the podSet's."""
    files: dict[Route, Route] = {
        ("files", file["path"]): (*task.route, "files", i) for i, file in enumerate(task.data.get("files", ()))
    }
    return {
        (): task.route,
        ("pool",): portion.origins.get(("pool",), (*task.resource_route, "platform")),
        **dict(_asked(task, portion)),
        ("env",): (*task.route, "environment"),
        **files,
        **dict(_template(template, ("template",), ("template",), task.route, portion.origins)),
    }


def _asked(task: Task, portion: Portion) -> Iterator[tuple[Route, Route]]:
    """The amounts: what the resource says, else what the platform gives."""
    asked: dict[Route, str] = {("accelerator",): "gpu", **{("resources", kube): own for kube, own in AMOUNTS}}
    yield from ((route, place) for route, place in portion.origins.items() if route[0] == "resources")
    for route, own in asked.items():
        stated: Route = (*task.resource_route, own)
        place = stated if own in task.resource else portion.origins.get(route, stated)
        yield route, place
        if route == ("accelerator",):
            yield (*route, "count"), place


def _template(
    value: Any, route: Route, known: Route, own: Route, given: Mapping[Route, Route]
) -> Iterator[tuple[Route, Route]]:
    """`known`: the value's route as the platform's places have it. What they do not have is the task's."""
    if known not in given:
        yield route, own
        return
    yield route, given[known]
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _template(each, (*route, key), (*known, key), own, given)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            name = each.get("name", "") if isinstance(each, Mapping) else number
            step = name if (*known, name) in given else number
            yield from _template(each, (*route, number), (*known, step), own, given)
