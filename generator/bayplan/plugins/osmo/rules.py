"""The rules of OSMO workflows that a schema cannot express. Each function that yields diagnostics is one rule.

Errors are what OSMO 6.4 refuses too, or what it accepts although no pod could run. Warnings and infos are likely
mistakes that OSMO accepts silently, and what only a running OSMO can do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.plugin import Diagnostic, Note, Route, count, error, info, listing, shorten, suggest, warning
from bayplan.plugins.osmo import task_rules
from bayplan.plugins.osmo.source import ROOT, Task, Workflow, read
from bayplan.plugins.osmo.task_rules import gathered
from bayplan.plugins.osmo.units import (
    DECIMAL_UNITS,
    UNITS,
    is_percentage,
    k8s_name,
    plain,
    quantity,
    seconds,
    split_amount,
    text,
)

# Tasks or groups, their names and the lead (OSMO 6.4, src/utils/job/workflow.py and task.py).

RESERVED = "osmo-ctrl"
LONGEST = 64
"""Characters of a name (`max_name_length`, src/utils/connectors/postgres.py)."""
SUFFIX = "-group"
"""OSMO makes a group for each task outside of groups, and names it after the task with this suffix."""


def check_choice(workflow: Workflow) -> Iterator[Diagnostic]:
    """W401: either tasks or groups."""
    if workflow.spec.get("tasks") and workflow.spec.get("groups"):
        message = "the workflow has both `tasks` and `groups`; expected one of the two"
        name = str(workflow.spec["tasks"][0].get("name", "task"))
        hint = f'move each task outside of groups into a group of its own, such as "{shorten(name)}{SUFFIX}"'
        yield error(
            "W401", (*ROOT, "groups"), message, hint=hint, notes=(Note("the tasks are here", (*ROOT, "tasks")),)
        )
    elif not workflow.spec.get("tasks") and not workflow.spec.get("groups"):
        route: Route = (*ROOT, *[key for key in ("tasks", "groups") if key in workflow.spec][:1])
        message = "the workflow has no `tasks` and no `groups`"
        yield error("W401", route, message, hint="add `tasks` with at least one task")


def check_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W401: all tasks and groups have different names, and none has the name of OSMO's own container."""
    first: dict[str, tuple[str, Route]] = {}
    for name, route in _names(workflow):
        other, there = first.setdefault(k8s_name(name), (name, route))
        if there != route:
            message = f'two tasks or groups have the name "{name}"'
            if other != name:
                message = f'"{name}" and "{other}" are the same name to OSMO'
            hint = "rename one of the two; OSMO ignores case, and treats - and _ as equal"
            yield error("W401", (*route, "name"), message, hint=hint, notes=(Note("the first", (*there, "name")),))
    for task in workflow.tasks:
        if k8s_name(task.name) == RESERVED:
            message = f'"{task.name}" is reserved for a container of OSMO'
            yield error("W401", (*task.route, "name"), message, hint="rename the task")


def _names(workflow: Workflow) -> Iterator[tuple[str, Route]]:
    for group in workflow.groups:
        yield group.data["name"], group.route
        yield from ((task.name, task.route) for task in group.tasks)
    yield from ((task.name, task.route) for task in workflow.bare_tasks)


def check_group_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W401: the name of the group that OSMO makes for a task is unique, and not too long."""
    taken = {k8s_name(task.name): task for task in workflow.bare_tasks}
    for task in workflow.bare_tasks:
        name = f"{task.name}{SUFFIX}"
        other = taken.get(k8s_name(name))
        if other:
            message = f'OSMO makes a group "{name}" for task "{task.name}", but another task has that name'
            notes = (Note("the other task", (*other.route, "name")),)
            yield error("W401", (*task.route, "name"), message, hint="rename one of the two tasks", notes=notes)
        if len(task.name) <= LONGEST < len(name):
            message = f'OSMO makes a group "{name}" for this task: {len(name)} characters, expected at most {LONGEST}'
            hint = f"use at most {LONGEST - len(SUFFIX)} characters in the name of a task outside of groups"
            yield error("W401", (*task.route, "name"), message, hint=hint)


def check_lead(workflow: Workflow) -> Iterator[Diagnostic]:
    """W401: exactly one task of a group is its lead. The only task of a group needs no mark."""
    for group in workflow.groups:
        leads = [task.name for task in group.tasks if task.data.get("lead")]
        if len(group.tasks) > 1 and len(leads) != 1:
            number = f"{count(len(leads), 'lead')}: {listing(leads, 'and')}" if leads else "no lead"
            message = f'group "{group.data["name"]}" has {number}; expected one task with `lead: true`'
            hint = "keep it only on the task that ends the group" if leads else "add it to one of the tasks"
            yield error("W401", (*group.route, "tasks"), message, hint=hint)


def check_overwritten(workflow: Workflow) -> Iterator[Diagnostic]:
    """W433: keys whose values OSMO overwrites when it accepts a workflow."""
    places = [(*ROOT, key) for key in ("pool", "backend") if workflow.spec.get(key)]
    for task in workflow.tasks:
        places += [(*task.route, key) for key in ("backend", "resources") if task.data.get(key)]
    message = "OSMO overwrites this value on submission, so it has no effect"
    hint = "remove it; the submit command chooses the pool, and `resource` sets what a task gets"
    yield from gathered(warning, "W433", places, message, hint)


# Durations (OSMO 6.4, src/utils/job/workflow.py, src/lib/utils/common.py).

FORMS = "write a number of seconds, an integer with d, h, m, s, ms or us (90m), or ISO 8601 (PT1H30M)"


def check_forms(workflow: Workflow) -> Iterator[Diagnostic]:
    """W413: a duration."""
    for value, route in _durations(workflow):
        if seconds(value) is None:
            yield error("W413", route, f"{_shown(value)} is not a duration", hint=_hint(value))


def _hint(value: Any) -> str:
    written = text(value).replace(" ", "")
    if re.fullmatch(r"([0-9]+h)?([0-9]+m)?([0-9.]+s)?", written) and seconds(f"PT{written.upper()}"):
        return f'write "PT{written.upper()}"'
    return f'write "{written}s" for seconds, or remove the quotes' if re.fullmatch(r"[0-9]{1,9}", written) else FORMS


def _shown(value: Any) -> str:
    return f'"{shorten(value)}"' if isinstance(value, str) else f"the number {shorten(text(value))}"


def _durations(workflow: Workflow) -> Iterator[tuple[Any, Route]]:
    yield from ((value, (*ROOT, "timeout", key)) for key, value in workflow.spec.get("timeout", {}).items())
    for entry, route in workflow.entries("checkpoint"):
        yield entry["frequency"], (*route, "frequency")


def check_zero(workflow: Workflow) -> Iterator[Diagnostic]:
    """W457: a timeout of zero. OSMO replaces it with the pool's default."""
    for key, value in workflow.spec.get("timeout", {}).items():
        if seconds(value) == 0:
            message = "a timeout of zero sets no limit; OSMO replaces it with the default of the pool"
            yield warning("W457", (*ROOT, "timeout", key), message, hint="remove it, or set a limit")


# Resources and the tasks that name them (OSMO 6.4, src/utils/job/task.py).

DEFAULT = "default"


def check_references(workflow: Workflow) -> Iterator[Diagnostic]:
    """W408: the resource of a task exists. A workflow without `resources` has an empty default."""
    resources = workflow.spec.get("resources", {DEFAULT: {}})
    for task in workflow.tasks:
        name = task.data.get("resource", DEFAULT)
        if name in resources:
            continue
        if "resource" in task.data:
            written = [*map(shorten, workflow.spec.get("resources", ()))]
            hint = suggest(name, written, "resources") or "add it to `resources` of the workflow"
            message = f'the task names an unknown resource: "{shorten(name)}"'
            yield error("W408", (*task.route, "resource"), message, hint=hint)
        else:
            message = f'task "{task.name}" has no `resource`, and the workflow has no resource "{DEFAULT}"'
            known_ones = f" ({listing(map(shorten, resources))})" if resources else ""
            hint = f"set `resource` of the task{known_ones}, or add a resource `{DEFAULT}`"
            yield error("W408", (*task.route, "name"), message, hint=hint)


def check_unused(workflow: Workflow) -> Iterator[Diagnostic]:
    """W446: a resource that no task names."""
    used = {task.data.get("resource", DEFAULT) for task in workflow.tasks}
    places = [route for name, _, route in workflow.resources() if name not in used]
    hint = "remove it, or name it in `resource` of the tasks that need it"
    yield from gathered(info, "W446", places, "no task uses this resource", hint)


# Topology keys (OSMO 6.4, src/utils/job/topology.py).

Keys = tuple[str, ...]


def check_repeated(workflow: Workflow) -> Iterator[Diagnostic]:
    """W418: a key twice in one resource. OSMO accepts it, and keeps one of the two."""
    for _, resource, route in workflow.resources():
        first: dict[str, int] = {}
        for index, entry in enumerate(resource.get("topology", ())):
            there = first.setdefault(entry["key"], index)
            if there != index:
                key = shorten(entry["key"])
                message = f'the resource has two entries for topology key "{key}"; a task is in one domain of a level'
                notes = (Note("the first", (*route, "topology", there, "key")),)
                hint = "remove one of the two"
                yield error("W418", (*route, "topology", index, "key"), message, hint=hint, notes=notes)


def check_uniform(workflow: Workflow) -> Iterator[Diagnostic]:
    """W418: all tasks of the workflow that have a topology have the same keys."""
    first: dict[Keys, Task] = {}
    for task in workflow.tasks:
        if keys := tuple(sorted({each.key for each in task.requirements})):
            first.setdefault(keys, task)
    for keys, task in list(first.items())[1:]:
        other_keys, other = next(iter(first.items()))
        message = (
            f'task "{task.name}" has the topology {_words(keys)}, task "{other.name}" has {_words(other_keys)}; '
            "OSMO requires the same keys for all tasks"
        )
        notes = (Note("the other task's topology", (*other.resource_route, "topology")),)
        route = (*task.resource_route, "topology")
        yield error("W418", route, message, hint="use the same keys in the resources of all tasks", notes=notes)


def _words(keys: Keys) -> str:
    return f"{'key' if len(keys) == 1 else 'keys'} {listing(map(shorten, keys), 'and')}"


# Memory, storage and cache (OSMO 6.4, src/lib/utils/resource_quantities.py, src/utils/connectors/postgres.py).

AMOUNT_FORMS = "write a number with Ti, Gi, Mi, Ki or B, such as 64Gi or 1.5Ti"


def check_units(workflow: Workflow) -> Iterator[Diagnostic]:
    """W413: an amount of memory or storage."""
    for value, route in _amounts(workflow):
        if quantity(value) is None:
            yield error("W413", route, f'"{shorten(value)}" is not an amount of {route[-1]}', hint=_amounts_hint(value))


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
        too_large = "write a smaller amount: Kubernetes cannot represent this one"
        return f'write "{match[1]}{match[2]}", without a space' if " " in value else too_large
    unit = {each.lower(): each for each in UNITS if len(each) == 2}.get(f"{match[2][:1]}i".lower(), "")
    return f'did you mean "{match[1]}{unit}"?' if unit else AMOUNT_FORMS


def check_unlikely_units(workflow: Workflow) -> Iterator[Diagnostic]:
    """W414: a number without a unit means bytes, and `m` means 1/1024 of a byte. The author likely meant more.

    W414: T, G, M and K are powers of 1000 in Kubernetes, and powers of 1024 in OSMO and bayplan.
    """
    amounts = [(value, route, (split_amount(value) or ("", None))[1]) for value, route in _amounts(workflow)]
    for units in (("",), ("m",), DECIMAL_UNITS):
        routes = [route for _, route, unit in amounts if unit in units]
        value = next((value for value, _, unit in amounts if unit in units), "")
        if "" in units:
            message, hint = f"{value} without a unit means {value} bytes", f'did you mean "{value}Gi"?'
            yield from gathered(warning, "W414", routes, message, hint)
        elif "m" in units:
            size = quantity(value)
            message = f'"{value}" means {size} byte{"" if size == "1" else "s"}: the unit m is 1/1024 of a byte'
            yield from gathered(warning, "W414", routes, message, f'did you mean "{value[:-1]}Mi"?')
        else:
            message = f"OSMO and bayplan read {value} as {value}i, in powers of 1024; Kubernetes uses powers of 1000"
            yield from gathered(warning, "W414", routes, message, f'write "{value}i"')


def check_cache(workflow: Workflow) -> Iterator[Diagnostic]:
    """W413: the size of a cache is a percentage of the storage, from 0 to 100, or an amount."""
    for task in workflow.tasks:
        value = task.data.get("cacheSize", "")
        if value and not is_percentage(value) and quantity(value) is None:
            message = f'"{shorten(value)}" is not a cache size'
            hint = "write a percentage from 0% to 100%, or an amount such as 10Gi"
            yield error("W413", (*task.route, "cacheSize"), message, hint=hint)


def check(data: Mapping[str, Any], moved: frozenset[Route] = frozenset()) -> Iterator[Diagnostic]:
    """All findings in data that the schema accepted. `moved`: as of `Workflow`.

    Routes are ("workflow", "workflow", "tasks", 0, ...).

    Every function here and in `task_rules` whose name begins with `check_` is a rule.
    """
    workflow = read(plain(data)["workflow"])._replace(moved=moved)
    for name, rule in (*globals().items(), *vars(task_rules).items()):
        if name.startswith("check_"):
            yield from rule(workflow)
