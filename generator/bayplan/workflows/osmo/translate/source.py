"""An OSMO workflow as the translation sees it: task groups of tasks, each with its resource and its requirements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import Route
from bayplan.values import NamedTuple
from bayplan.workflows.osmo.rules.places import ROOT


class Requirement(NamedTuple):
    """One entry of a resource's `topology`: the tasks of one group share a domain of the level that the key names."""

    key: str
    group: str
    required: bool
    route: Route


class Task(NamedTuple):
    """One task, and the resource that it names."""

    name: str
    data: Mapping[str, Any]
    route: Route
    resource: Mapping[str, Any]
    resource_route: Route
    requirements: tuple[Requirement, ...]


class TaskGroup(NamedTuple):
    """Tasks that start together. A task outside of groups is the only one of a group of its own (OSMO's parse)."""

    name: str
    data: Mapping[str, Any]
    route: Route
    tasks: tuple[Task, ...]
    bare: bool = False  # a task outside of groups, beside others

    @property
    def lead(self) -> Task | None:
        """The task whose end is the group's; None where there is only one."""
        return next((task for task in self.tasks if task.data.get("lead")), None) if len(self.tasks) > 1 else None


def task_groups(spec: Mapping[str, Any]) -> tuple[TaskGroup, ...]:
    """All of a workflow, in file order."""
    resources = spec.get("resources", {})
    if spec.get("groups"):
        return tuple(_group(group, (*ROOT, "groups", index), resources) for index, group in enumerate(spec["groups"]))
    return tuple(
        _alone(_task(task, (*ROOT, "tasks", index), resources), len(spec["tasks"]) > 1)
        for index, task in enumerate(spec["tasks"])
    )


def _alone(task: Task, beside_others: bool) -> TaskGroup:
    return TaskGroup(task.name, {}, task.route, (task,), beside_others)


def _group(data: Mapping[str, Any], route: Route, resources: Mapping[str, Any]) -> TaskGroup:
    tasks = enumerate(data["tasks"])
    return TaskGroup(
        data["name"], data, route, tuple(_task(task, (*route, "tasks", i), resources) for i, task in tasks)
    )


def _task(data: Mapping[str, Any], route: Route, resources: Mapping[str, Any]) -> Task:
    name = data.get("resource", "default")
    resource = resources.get(name, {})
    return Task(data["name"], data, route, resource, (*ROOT, "resources", name), requirements(name, resource))


def requirements(name: str, resource: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """The topology of a resource."""
    entries = enumerate(resource.get("topology", ()))
    return tuple(_requirement(each, (*ROOT, "resources", name, "topology", number)) for number, each in entries)


def _requirement(entry: Mapping[str, str], route: Route) -> Requirement:
    required = entry.get("requirementType", "required") == "required"
    return Requirement(entry["key"], entry.get("group", "default"), required, route)
