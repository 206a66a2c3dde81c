"""Inputs: from where, in which order, which files (OSMO 6.4, src/utils/job/workflow.py and task.py)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping

from bayplan.diagnostics import Diagnostic, Note, Route, error
from bayplan.words import shorten, suggest
from bayplan.workflows.osmo.rules.places import Task, Workflow, entries, groups, tasks


def check_sources(workflow: Workflow) -> Iterator[Diagnostic]:
    """W407: an input is from a task or a URL."""
    for entry, route in entries(workflow, "inputs"):
        given = [key for key in ("task", "url") if key in entry]
        if len(given) != 1:
            found = "both `task` and `url`" if given else "neither `task` nor `url`"
            yield error("W407", route, f"found {found}, expected one of them", hint="make it an input for each")


def check_order(workflow: Workflow) -> Iterator[Diagnostic]:
    """W408: the task of an input exists; W409: it runs in an earlier group."""
    known: dict[str, Task] = {}
    for task in tasks(workflow):
        known.setdefault(task.name, task)
    teams = {group.data["name"] for group in groups(workflow)}
    for task in tasks(workflow):
        for index, entry in enumerate(task.data.get("inputs", ())):
            name = entry.get("task", "")
            if name and ":" not in name:
                yield from _order(task, name, (*task.route, "inputs", index, "task"), known, teams)


def _order(task: Task, name: str, route: Route, known: Mapping[str, Task], teams: set[str]) -> Iterator[Diagnostic]:
    source = known.get(name)
    if source is None:
        of_group = "it is the name of a group; name one of its tasks" if name in teams else ""
        hint = of_group or suggest(name, [each for each in known if each != task.name], "tasks")
        yield error("W408", route, f'there is no task "{name}"', hint=hint or "remove the input")
    elif source.group >= task.group:
        same = source.group == task.group
        other = f"a task of {'the same' if same else 'a later'} group"
        found = "the task itself" if source.name == task.name else other
        hint = "a group starts when its inputs are complete: " + (
            "take it from an earlier group" if same else f'put "{name}" before "{task.name}"'
        )
        notes = () if source.name == task.name else (Note("it is defined here", (*source.route, "name")),)
        message = f'"{name}" is {found}, expected a task of an earlier group'
        yield error("W409", route, message, hint=hint, notes=notes)


def check_patterns(workflow: Workflow) -> Iterator[Diagnostic]:
    """W410: `regex` is a regular expression (as Python reads them)."""
    for key in ("inputs", "outputs", "checkpoint"):
        for entry, route in entries(workflow, key):
            problem = _problem(entry.get("regex", ""))
            if problem:
                message = f'"{shorten(entry["regex"])}" is not a regular expression: {shorten(problem)}'
                yield error("W410", (*route, "regex"), message, hint="put a backslash before characters meant as such")


def _problem(pattern: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as problem:
            return str(problem) or "it is nested too deeply"
    return ""
