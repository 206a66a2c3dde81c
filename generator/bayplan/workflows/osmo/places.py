"""Where groups, tasks and resources stand in an OSMO workflow, and one finding for many places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, Route
from bayplan.core.phrases import count
from bayplan.core.values import NamedTuple

Workflow = Mapping[str, Any]

ROOT: Route = ("workflow", "workflow")
SHOWN = 3
"""So many further places are named."""


class Task(NamedTuple):
    """A task. `group` is the number of the group it runs in; a task outside of groups has one of its own."""

    data: Mapping[str, Any]
    route: Route
    group: int

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.data["name"])


class Group(NamedTuple):
    """A group as it is written."""

    data: Mapping[str, Any]
    route: Route
    tasks: tuple[Task, ...]


def bare_tasks(workflow: Workflow) -> tuple[Task, ...]:
    """The tasks outside of groups; they are numbered after the groups, as OSMO does."""
    first = len(workflow.get("groups", ()))
    return tuple(
        Task(task, (*ROOT, "tasks", index), first + index) for index, task in enumerate(workflow.get("tasks", ()))
    )


def groups(workflow: Workflow) -> tuple[Group, ...]:
    """The groups as they are written."""
    return tuple(_group(group, number) for number, group in enumerate(workflow.get("groups", ())))


def _group(group: Mapping[str, Any], number: int) -> Group:
    route: Route = (*ROOT, "groups", number)
    tasks = (Task(task, (*route, "tasks", index), number) for index, task in enumerate(group["tasks"]))
    return Group(group, route, tuple(tasks))


def tasks(workflow: Workflow) -> tuple[Task, ...]:
    """All tasks, in the order of the groups that they run in."""
    return (*(task for group in groups(workflow) for task in group.tasks), *bare_tasks(workflow))


def entries(workflow: Workflow, key: str) -> Iterator[tuple[Any, Route]]:
    """The entries of a list of every task, with their places."""
    for task in tasks(workflow):
        for index, entry in enumerate(task.data.get(key, ())):
            yield entry, (*task.route, key, index)


def resources(workflow: Workflow) -> Iterator[tuple[str, Mapping[str, Any], Route]]:
    """Name, data and place of every resource."""
    for name, resource in workflow.get("resources", {}).items():
        yield name, resource, (*ROOT, "resources", name)


def gathered(
    say: Callable[..., Diagnostic], code: str, routes: Sequence[Route], message: str, hint: str
) -> Iterator[Diagnostic]:
    """One finding at the first place; its message counts the others, and notes name some of them."""
    if routes:
        rest = routes[1:]
        more = f" (and in {count(len(rest), 'other place')})" if rest else ""
        notes = tuple(Note("another one", route) for route in rest[:SHOWN])
        yield say(code, routes[0], f"{message}{more}", hint=hint, notes=notes)
