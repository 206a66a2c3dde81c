"""Topology keys (OSMO 6.4, src/utils/job/topology.py)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Note, Route, error
from bayplan.words import listing, shorten
from bayplan.workflows.osmo.rules.places import ROOT, Task, Workflow, resources, tasks
from bayplan.workflows.osmo.rules.resources import DEFAULT

Keys = tuple[str, ...]


def check_repeated(workflow: Workflow) -> Iterator[Diagnostic]:
    """W417: a key twice in one resource. OSMO takes it, and keeps one of the two."""
    for _, resource, route in resources(workflow):
        first: dict[str, int] = {}
        for index, entry in enumerate(resource.get("topology", ())):
            there = first.setdefault(entry["key"], index)
            if there != index:
                key = shorten(entry["key"])
                message = f'the key "{key}" is there twice; a task can be in one domain of a level only'
                notes = (Note("the first", (*route, "topology", there, "key")),)
                yield error("W417", (*route, "topology", index, "key"), message, hint="remove one", notes=notes)


def check_uniform(workflow: Workflow) -> Iterator[Diagnostic]:
    """W418: all tasks with a topology have the same keys, in the whole workflow."""
    first: dict[Keys, Task] = {}
    for task in tasks(workflow):
        keys = _keys(workflow, task)
        if keys:
            first.setdefault(keys, task)
    for keys, task in list(first.items())[1:]:
        known, other = next(iter(first.items()))
        message = (
            f'task "{task.name}" has the topology {_words(keys)} and task "{other.name}" {_words(known)}; '
            "OSMO wants the same keys for all tasks"
        )
        notes = (Note("the other task's topology", _route(other)),)
        yield error("W418", _route(task), message, hint="give all of them the same keys", notes=notes)


def _words(keys: Keys) -> str:
    return f"{'key' if len(keys) == 1 else 'keys'} {listing(map(shorten, keys), 'and')}"


def _keys(workflow: Workflow, task: Task) -> Keys:
    resource = workflow.get("resources", {}).get(task.data.get("resource", DEFAULT), {})
    return tuple(sorted({entry["key"] for entry in resource.get("topology", ())}))


def _route(task: Task) -> Route:
    return (*ROOT, "resources", task.data.get("resource", DEFAULT), "topology")
