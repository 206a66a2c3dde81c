"""The rules of OSMO workflows that a schema cannot hold. Each function that yields diagnostics is one rule.

Errors are what OSMO 6.4 refuses too, or accepts although no pod could run. Warnings and infos are what it accepts in
silence and likely was not meant, and what takes its running service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import count, listing, shorten, suggest
from bayplan.workflows.osmo import task_rules
from bayplan.workflows.osmo.source import ROOT, Task, Workflow, read
from bayplan.workflows.osmo.task_rules import gathered
from bayplan.workflows.osmo.units import DECIMAL_UNITS, UNITS, k8s_name, plain, quantity, seconds, split_amount, text

# Tasks or groups, their names and the lead (OSMO 6.4, src/utils/job/workflow.py and task.py).

RESERVED = "osmo-ctrl"
LONGEST = 64
"""Characters of a name (`max_name_length`, src/utils/connectors/postgres.py)."""
SUFFIX = "-group"
"""What OSMO adds to a task's name to name the group that it makes for it."""


def check_choice(workflow: Workflow) -> Iterator[Diagnostic]:
    """W401: either tasks or groups."""
    if workflow.spec.get("tasks") and workflow.spec.get("groups"):
        message = "found both `tasks` and `groups`, expected one of them"
        hint = "make each task outside of groups a group of its own"
        yield error("W401", (*ROOT, "groups"), message, hint=hint, notes=(Note("tasks are here", (*ROOT, "tasks")),))
    elif not workflow.spec.get("tasks") and not workflow.spec.get("groups"):
        route: Route = (*ROOT, *[key for key in ("tasks", "groups") if key in workflow.spec][:1])
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
    for task in workflow.tasks:
        if k8s_name(task.name) == RESERVED:
            message = f'"{task.name}" is the name of a container of OSMO'
            yield error("W404", (*task.route, "name"), message, hint="choose another name")


def _names(workflow: Workflow) -> Iterator[tuple[str, Route]]:
    for group in workflow.groups:
        yield group.data["name"], group.route
        yield from ((task.name, task.route) for task in group.tasks)
    yield from ((task.name, task.route) for task in workflow.bare_tasks)


def check_group_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W403, W405: the name of the group that OSMO makes for a task is nobody else's, and no longer than a name."""
    taken = {k8s_name(task.name): task for task in workflow.bare_tasks}
    for task in workflow.bare_tasks:
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
    for group in workflow.groups:
        leads = [task.name for task in group.tasks if task.data.get("lead")]
        if len(group.tasks) > 1 and len(leads) != 1:
            number = f"{count(len(leads), 'lead')}: {listing(leads, 'and')}" if leads else "no lead"
            message = f'group "{group.data["name"]}" has {number}; expected one task with `lead: true`'
            hint = "keep it on the task whose end is the end of the group" if leads else "add it to one of the tasks"
            yield error("W406", (*group.route, "tasks"), message, hint=hint)


def check_overwritten(workflow: Workflow) -> Iterator[Diagnostic]:
    """W433: keys whose value OSMO overwrites when a workflow is submitted."""
    places = [(*ROOT, key) for key in ("pool", "backend") if workflow.spec.get(key)]
    for task in workflow.tasks:
        places += [(*task.route, key) for key in ("backend", "resources") if task.data.get(key)]
    message = "OSMO overwrites this when the workflow is submitted, so it says nothing"
    hint = "remove it; the pool is chosen on submission, and `resource` names what a task gets"
    yield from gathered(warning, "W433", places, message, hint)


# Durations (OSMO 6.4, src/utils/job/workflow.py, src/lib/utils/common.py).

FORMS = "write seconds as a number, a whole number with d, h, m, s, ms or us (90m), or ISO 8601 (PT1H30M)"


def check_forms(workflow: Workflow) -> Iterator[Diagnostic]:
    """W427: a duration."""
    for value, route in _durations(workflow):
        if seconds(value) is None:
            yield error("W427", route, f"{_shown(value)} is no duration", hint=_hint(value))


def _hint(value: Any) -> str:
    written = text(value).replace(" ", "")
    if re.fullmatch(r"([0-9]+h)?([0-9]+m)?([0-9.]+s)?", written) and seconds(f"PT{written.upper()}"):
        return f'write "PT{written.upper()}"'
    return f'write "{written}s" for seconds, or no quotes' if re.fullmatch(r"[0-9]{1,9}", written) else FORMS


def _shown(value: Any) -> str:
    return f'"{shorten(value)}"' if isinstance(value, str) else f"the number {shorten(text(value))}"


def _durations(workflow: Workflow) -> Iterator[tuple[Any, Route]]:
    yield from ((value, (*ROOT, "timeout", key)) for key, value in workflow.spec.get("timeout", {}).items())
    for entry, route in workflow.entries("checkpoint"):
        yield entry["frequency"], (*route, "frequency")


def check_zero(workflow: Workflow) -> Iterator[Diagnostic]:
    """W428: a timeout of zero. OSMO takes the pool's default for it."""
    for key, value in workflow.spec.get("timeout", {}).items():
        if seconds(value) == 0:
            message = "a timeout of zero is none: OSMO takes the default of the pool"
            yield warning("W428", (*ROOT, "timeout", key), message, hint="remove it, or say how long")


# Resources and the tasks that name them (OSMO 6.4, src/utils/job/task.py).

DEFAULT = "default"


def check_references(workflow: Workflow) -> Iterator[Diagnostic]:
    """W411: what a task names is there. Without any `resources` there is an empty default."""
    resources = workflow.spec.get("resources", {DEFAULT: {}})
    for task in workflow.tasks:
        name = task.data.get("resource", DEFAULT)
        if name in resources:
            continue
        if "resource" in task.data:
            written = map(shorten, workflow.spec.get("resources", ()))
            hint = suggest(name, written, "resources") or "add it to `resources` of the workflow"
            yield error("W411", (*task.route, "resource"), f'there is no resource "{shorten(name)}"', hint=hint)
        else:
            message = f'task "{task.name}" names no resource, and there is none called "{DEFAULT}"'
            known_ones = f" (there is {listing(map(shorten, resources), 'and')})" if resources else ""
            hint = f"add `resource:` to the task{known_ones}, or a resource `{DEFAULT}`"
            yield error("W411", (*task.route, "name"), message, hint=hint)


def check_unused(workflow: Workflow) -> Iterator[Diagnostic]:
    """W412: a resource that no task names."""
    used = {task.data.get("resource", DEFAULT) for task in workflow.tasks}
    places = [route for name, _, route in workflow.resources() if name not in used]
    hint = "remove it, or name it in `resource` of the tasks that need it"
    yield from gathered(info, "W412", places, "no task has this resource", hint)


# Topology keys (OSMO 6.4, src/utils/job/topology.py).

Keys = tuple[str, ...]


def check_repeated(workflow: Workflow) -> Iterator[Diagnostic]:
    """W417: a key twice in one resource. OSMO takes it, and keeps one of the two."""
    for _, resource, route in workflow.resources():
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
    for task in workflow.tasks:
        if keys := tuple(sorted({each.key for each in task.requirements})):
            first.setdefault(keys, task)
    for keys, task in list(first.items())[1:]:
        other_keys, other = next(iter(first.items()))
        message = (
            f'task "{task.name}" has the topology {_words(keys)} and task "{other.name}" {_words(other_keys)}; '
            "OSMO wants the same keys for all tasks"
        )
        notes = (Note("the other task's topology", (*other.resource_route, "topology")),)
        route = (*task.resource_route, "topology")
        yield error("W418", route, message, hint="give all of them the same keys", notes=notes)


def _words(keys: Keys) -> str:
    return f"{'key' if len(keys) == 1 else 'keys'} {listing(map(shorten, keys), 'and')}"


# Memory, storage and cache (OSMO 6.4, src/lib/utils/resource_quantities.py, src/utils/connectors/postgres.py).

AMOUNT_FORMS = "write a number and one of Ti, Gi, Mi, Ki and B, like 64Gi or 1.5Ti"


def check_units(workflow: Workflow) -> Iterator[Diagnostic]:
    """W413: an amount of memory or storage."""
    for value, route in _amounts(workflow):
        if quantity(value) is None:
            yield error("W413", route, f'"{shorten(value)}" is no amount of {route[-1]}', hint=_amounts_hint(value))


def _amounts(workflow: Workflow) -> Iterator[tuple[str, Route]]:
    for _, resource, route in workflow.resources():
        for key in ("memory", "storage"):
            if key in resource:
                yield resource[key], (*route, key)


def _amounts_hint(value: str) -> str:
    match = re.fullmatch(r"([0-9]+(?:[.][0-9]+)?) *([a-zA-Z]*)", value[:64])
    if match is None:
        return AMOUNT_FORMS
    if match[2] in UNITS:
        return f'write "{match[1]}{match[2]}", without a blank' if " " in value else "it is more than Kubernetes counts"
    unit = {each.lower(): each for each in UNITS if len(each) == 2}.get(f"{match[2][:1]}i".lower(), "")
    return f'did you mean "{match[1]}{unit}"?' if unit else AMOUNT_FORMS


def check_unlikely_units(workflow: Workflow) -> Iterator[Diagnostic]:
    """W414: a bare number is bytes, and `m` is roughly a thousandth of a byte; likely something larger was meant.

    W415: T, G, M and K are powers of 1000 to Kubernetes, and of 1024 to OSMO's checks and here.
    """
    amounts = [(value, route, (split_amount(value) or ("", None))[1]) for value, route in _amounts(workflow)]
    for units in (("",), ("m",), DECIMAL_UNITS):
        routes = [route for _, route, unit in amounts if unit in units]
        value = next((value for value, _, unit in amounts if unit in units), "")
        if "" in units:
            message, hint = f"{value} without a unit is {value} bytes", f'did you mean "{value}Gi"?'
            yield from gathered(warning, "W414", routes, message, hint)
        elif "m" in units:
            message = f'"{value}" is {quantity(value)} bytes: the unit m is 1/1024 of a byte'
            yield from gathered(warning, "W414", routes, message, f'did you mean "{value[:-1]}Mi"?')
        else:
            message = f"{value} is taken as {value}i, in powers of 1024; Kubernetes reads it in powers of 1000"
            yield from gathered(warning, "W415", routes, message, f'write "{value}i"')


def check_cache(workflow: Workflow) -> Iterator[Diagnostic]:
    """W416: a cache is a percentage of the storage, from 0 to 100, or an amount."""
    for task in workflow.tasks:
        value = task.data.get("cacheSize", "")
        percentage = re.fullmatch(r"([0-9]{1,3})(?:[.][0-9]+)?%", value)
        if value and not (percentage and int(percentage[1]) <= 100) and quantity(value) is None:
            message = f'"{shorten(value)}" is no size of a cache'
            hint = "write a percentage from 0% to 100%, or an amount such as 10Gi"
            yield error("W416", (*task.route, "cacheSize"), message, hint=hint)


def check(data: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """All findings in data that the schema accepted. Routes are ("workflow", "workflow", "tasks", 0, ...).

    Every function here and in `task_rules` whose name begins with `check_` is a rule.
    """
    workflow = read(plain(data)["workflow"])
    for name, rule in (*globals().items(), *vars(task_rules).items()):
        if name.startswith("check_"):
            yield from rule(workflow)
