"""Tasks and groups: which of the two, their names, the lead (OSMO 6.4, src/utils/job/workflow.py and task.py)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.words import count, listing
from bayplan.workflows.osmo.rules.places import ROOT, Group, Workflow, bare_tasks, gathered, groups, tasks
from bayplan.workflows.osmo.units import k8s_name

RESERVED = "osmo-ctrl"
LONGEST = 64
"""Characters of a name (`max_name_length`, src/utils/connectors/postgres.py)."""
SUFFIX = "-group"
"""What OSMO adds to a task's name to name the group that it makes for it."""


def check_choice(workflow: Workflow) -> Iterator[Diagnostic]:
    """W401: either tasks or groups."""
    if workflow.get("tasks") and workflow.get("groups"):
        message = "found both `tasks` and `groups`, expected one of them"
        hint = "make each task outside of groups a group of its own"
        yield error("W401", (*ROOT, "groups"), message, hint=hint, notes=(Note("tasks are here", (*ROOT, "tasks")),))
    elif not workflow.get("tasks") and not workflow.get("groups"):
        route: Route = (*ROOT, *[key for key in ("tasks", "groups") if key in workflow][:1])
        yield error("W401", route, "found neither `tasks` nor `groups`", hint="add `tasks:` with a task or more")


def check_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W402: tasks and groups all have different names; W404: none has the name of OSMO's own container."""
    first: dict[str, tuple[str, Route]] = {}
    for name, route in _names(workflow):
        other, there = first.setdefault(k8s_name(name), (name, route))
        if there != route:
            same = "" if other == name else f' and "{other}", which is the same name to OSMO'
            message = f'two tasks or groups are called "{name}"{same}'
            hint = "give each a name of its own; case does not count, and - and _ are the same"
            yield error("W402", (*route, "name"), message, hint=hint, notes=(Note("the first", (*there, "name")),))
    for task in tasks(workflow):
        if k8s_name(task.name) == RESERVED:
            message = f'"{task.name}" is the name of a container of OSMO'
            yield error("W404", (*task.route, "name"), message, hint="choose another name")


def _names(workflow: Workflow) -> Iterator[tuple[str, Route]]:
    for group in groups(workflow):
        yield group.data["name"], group.route
        yield from ((task.name, task.route) for task in group.tasks)
    yield from ((task.name, task.route) for task in bare_tasks(workflow))


def check_made_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W403, W405: the name of the group that OSMO makes for a task is nobody else's, and no longer than a name."""
    taken = {k8s_name(task.name): task for task in bare_tasks(workflow)}
    for task in bare_tasks(workflow):
        name = f"{task.name}{SUFFIX}"
        other = taken.get(k8s_name(name))
        if other:
            message = f'OSMO calls the group of task "{task.name}" "{name}", and that is the name of another task'
            notes = (Note("the other task", (*other.route, "name")),)
            yield error("W403", (*task.route, "name"), message, hint="rename one of them", notes=notes)
        if len(task.name) <= LONGEST < len(name):
            message = f'OSMO calls the group of this task "{name}": {len(name)} characters, expected at most {LONGEST}'
            hint = f"use at most {LONGEST - len(SUFFIX)} characters for a task outside of groups"
            yield error("W405", (*task.route, "name"), message, hint=hint)


def check_lead(workflow: Workflow) -> Iterator[Diagnostic]:
    """W406: one lead among the tasks of a group; a single task leads itself."""
    for group in groups(workflow):
        leads = [task for task in group.tasks if task.data.get("lead")]
        if len(group.tasks) > 1 and len(leads) != 1:
            yield _leads(group, [task.name for task in leads])


def _leads(group: Group, leads: list[str]) -> Diagnostic:
    found = f"{count(len(leads), 'lead')}: {listing(leads, 'and')}" if leads else "no lead"
    message = f'group "{group.data["name"]}" has {found}; expected one task with `lead: true`'
    hint = "keep it on the task whose end is the end of the group" if leads else "add it to one of the tasks"
    return error("W406", (*group.route, "tasks"), message, hint=hint)


def check_overwritten(workflow: Workflow) -> Iterator[Diagnostic]:
    """W433: keys whose value OSMO overwrites when a workflow is submitted."""
    places = [(*ROOT, key) for key in ("pool", "backend") if workflow.get(key)]
    for task in tasks(workflow):
        places += [(*task.route, key) for key in ("backend", "resources") if task.data.get(key)]
    message = "OSMO overwrites this when the workflow is submitted, so it says nothing"
    hint = "remove it; the pool is chosen on submission, and `resource` names what a task gets"
    yield from gathered(warning, "W433", places, message, hint)
