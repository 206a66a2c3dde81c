"""An OSMO workflow as task groups of tasks, each with its resource and its requirements."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import REQUIRED, RUN, Route, get, mapping, put
from bayplan.plugins.osmo.units import exit_codes, quantity

ROOT: Route = ("workflow", "workflow")


class Requirement(NamedTuple):
    """One entry of a resource's `topology`: the tasks of one group share a domain of the level that the key names."""

    key: str
    group: str
    required: bool
    route: Route


class Task(NamedTuple):
    """One task with its resource and the number of its task group."""

    name: str
    data: Mapping[str, Any]
    route: Route
    resource: Mapping[str, Any]
    resource_route: Route
    requirements: tuple[Requirement, ...]
    group: int = 0


class TaskGroup(NamedTuple):
    """Tasks that start together. A task outside of groups has a group of its own, without data (OSMO's parse)."""

    name: str
    data: Mapping[str, Any]
    route: Route
    tasks: tuple[Task, ...]
    bare: bool = False  # a task outside of groups, beside others

    @property
    def lead(self) -> Task | None:
        """The task whose end is the end of the group; None if the group has only one task."""
        return next((task for task in self.tasks if task.data.get("lead")), None) if len(self.tasks) > 1 else None

    @property
    def ignores_failures(self) -> bool:
        """Whether the group goes on when a task other than the lead fails (OSMO 6.4, jobs.py and task.py)."""
        return bool(self.data.get("ignoreNonleadStatus", True))

    @property
    def status_route(self) -> Route:
        """Where the group says whether it does."""
        return (*self.route, "ignoreNonleadStatus" if "ignoreNonleadStatus" in self.data else "name")

    def restarts_alone(self, task: Task) -> bool:
        """Whether the other tasks go on when OSMO starts the task again (OSMO 6.4, jobs.py, `_update_all_tasks`)."""
        return len(self.tasks) == 1 or (self.ignores_failures and task is not self.lead)


class Workflow(NamedTuple):
    """A workflow in the types of `plain`. As in OSMO, tasks outside of groups have the numbers after the groups.

    `moved`: the inputs, outputs and checkpoints that data movers of the topology fetch and upload.
    """

    spec: Mapping[str, Any]
    task_groups: tuple[TaskGroup, ...]
    moved: frozenset[Route] = frozenset()

    @property
    def groups(self) -> tuple[TaskGroup, ...]:
        """The groups of the file."""
        return tuple(group for group in self.task_groups if group.data)

    @property
    def bare_tasks(self) -> tuple[Task, ...]:
        """The tasks outside of groups."""
        return tuple(task for group in self.task_groups if not group.data for task in group.tasks)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, in the order of the groups that they run in."""
        return tuple(task for group in self.task_groups for task in group.tasks)

    def entries(self, key: str) -> Iterator[tuple[Any, Route]]:
        """The entries of a list of every task, with their places."""
        for task in self.tasks:
            for index, entry in enumerate(task.data.get(key, ())):
                yield entry, (*task.route, key, index)

    def left(self, key: str) -> Iterator[tuple[Any, Route]]:
        """The entries of such a list that no data mover moves."""
        return (each for each in self.entries(key) if each[1] not in self.moved)

    def resources(self) -> Iterator[tuple[str, Mapping[str, Any], Route]]:
        """Name, data and place of every resource."""
        for name, resource in self.spec.get("resources", {}).items():
            yield name, resource, (*ROOT, "resources", name)


def read(spec: Mapping[str, Any]) -> Workflow:
    """The tasks and groups of a workflow, in file order."""
    resources = spec.get("resources", {})

    def task(data: Mapping[str, Any], route: Route, group: int) -> Task:
        name = data.get("resource", "default")
        resource = resources.get(name, {})
        place: Route = (*ROOT, "resources", name)
        return Task(data["name"], data, route, resource, place, requirements(name, resource), group)

    groups: list[TaskGroup] = []
    for number, group in enumerate(spec.get("groups", ())):
        route: Route = (*ROOT, "groups", number)
        tasks = (task(each, (*route, "tasks", index), number) for index, each in enumerate(group["tasks"]))
        groups.append(TaskGroup(group["name"], group, route, tuple(tasks)))
    bare = spec.get("tasks", ())
    for index, each in enumerate(bare):
        own = task(each, (*ROOT, "tasks", index), len(groups))
        groups.append(TaskGroup(own.name, {}, own.route, (own,), len(bare) > 1))
    return Workflow(spec, tuple(groups))


def requirements(name: str, resource: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """The topology of a resource."""
    topology: Route = (*ROOT, "resources", name, "topology")
    return tuple(
        Requirement(
            each["key"],
            each.get("group", "default"),
            each.get("requirementType", "required") == "required",
            (*topology, number),
        )
        for number, each in enumerate(resource.get("topology", ()))
    )


# Names of OSMO -> DNS labels, short enough for the names of pods in Kubernetes.
#
# A name that changes by more than case and underscores gets four digits of its hash, so that it does not depend on
# other names.

SHORTEST = 10
"""bayplan does not cut names below this length."""
LONGEST = 63 - len("-0-") - len("-xxxxx")
"""Characters for the joined names of workflow, gang, groups and podSet, and the pod's index. The name of a pod of a
JobSet, `<jobset>-<replicatedJob>-0-<index>-<5 letters>`, is a DNS label."""


def label(name: str) -> str:
    """The name in lower case, with hyphens for all characters except letters and digits. It has a hash if OSMO itself
    would change less."""
    plain = name.lower().replace("_", "-")
    name_label = re.sub(r"-+", "-", re.sub(r"[^a-z0-9-]", "-", plain)).strip("-")
    return name_label if name_label and name_label == plain else _hashed(name_label or "group", name)


def shorten_name(name: str, most: int, taken: Collection[str] = ()) -> str:
    """The name, or its beginning with a hash, in `most` characters. The hash differs from those of `taken` names."""
    if len(name) <= most:
        return name
    short, whole = "", name
    while not short or short in taken:
        short, whole = _hashed(name[: most - 5].rstrip("-"), whole), f"{whole}'"
    return short


def _hashed(stem: str, name: str) -> str:
    from hashlib import sha256

    return f"{stem}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"


def unique(name: str, taken: Collection[str], whole: str) -> str:
    """The name, with a hash if it is taken."""
    first = name
    while name in taken:
        name, whole = _hashed(first, whole), f"{whole}'"
    return name


def stem(names: tuple[str, ...]) -> str:
    """The common beginning of numbered names: `worker` for `worker-0` and `worker-1`, or an empty string."""
    first, last = min(names), max(names)
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:same].rstrip("0123456789").rstrip("-_")


# OSMO's exit actions -> codes after which pods start again, and a line of shell around the command, if Kubernetes
# interprets another exit code differently.
#
# `COMPLETE` turns codes into success, `FAIL` and `RESCHEDULE` turn success into a failure. Kubernetes has no field for
# either: a Job's podFailurePolicy can only ignore or count failures. If a code has several actions, OSMO applies the
# first one, the task's own before its pool's (OSMO 6.4, src/utils/job/jobs.py, `_apply_exit_action`).

Ranges = tuple[tuple[int, int], ...]
Action = tuple[str, str]
"""An action in upper case, and its codes as OSMO writes them."""


def with_exit_codes(command: Iterable[str], actions: Sequence[Action]) -> list[str]:
    """The command, in a shell if its exit codes must change."""
    ordered = tuple((action, exit_codes(codes) or ()) for action, codes in actions)
    if all((_action(code, ordered) == "COMPLETE") == (code == 0) for code in range(256 if ordered else 0)):
        return list(command)
    again = retried(actions)
    for_success = {
        "COMPLETE": 0,
        "FAIL": min({*range(1, 256)} - {*again}, default=1),
        "RESCHEDULE": min(again, default=1),
    }
    turns = (
        f"if {_test(codes)}; then exit {'0' if name == 'COMPLETE' else f'$((code ? code : {for_success[name]}))'}"
        for name, codes in ordered
        if codes
    )
    return ["sh", "-c", f"{RUN}; {'; el'.join(turns)}; fi; exit $code", "sh", *command]


def retried(actions: Iterable[Action]) -> tuple[int, ...]:
    """The exit codes of a command after which OSMO starts the task again."""
    ordered = tuple((action, exit_codes(codes) or ()) for action, codes in actions)
    return tuple(code for code in range(1, 256 if ordered else 1) if _action(code, ordered) == "RESCHEDULE")


def _action(code: int, actions: Iterable[tuple[str, Ranges]]) -> str:
    """The action of a code: without any, 0 is success."""
    listed = (action for action, ranges in actions if any(first <= code <= last for first, last in ranges))
    return next(listed, "FAIL" if code else "COMPLETE")


def _test(ranges: Ranges) -> str:
    return " || ".join(
        f"[ $code -eq {first} ]" if first == last else f"{{ [ $code -ge {first} ] && [ $code -le {last} ]; }}"
        for first, last in ranges
    )


# The resources and the pool of a task.

AMOUNTS = (("cpu", "cpu"), ("memory", "memory"), ("ephemeral-storage", "storage"))
"""Kubernetes' name and OSMO's name, in the order of the output."""


class Allocation(NamedTuple):
    """The pool of a task (empty: the only pool that can hold it), and the fields of its podSet."""

    pool: str = ""
    resources: Mapping[str, str] = {}
    accelerators: int = 0
    template: Mapping[str, Any] = {}
    exit_actions: tuple[Action, ...] = ()
    mounts: tuple[str, ...] = ()  # SOURCE[:TARGET] of the node's folders
    origins: Mapping[Route, Route] = {}  # of what the platform gives, as in `pool.values.Share`, and ("pool",)


def amounts(task: Task) -> dict[str, str]:
    """What a task's resource requests besides GPUs, as Kubernetes quantities."""
    values = {kube: value for kube, own in AMOUNTS if (value := task.resource.get(own)) is not None}
    amounts = {name: str(value) if name == "cpu" else quantity(value) for name, value in values.items()}
    return {name: value for name, value in amounts.items() if value and value != "0"}


def gpus(task: Task) -> int:
    """How many GPUs a task requests."""
    return task.resource.get("gpu") or 0


def exclude_nodes(template: Mapping[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """The template with a node affinity that excludes these nodes. An invalid template stays unchanged, so that checks
    refuse it."""
    path = ("spec", "affinity", "nodeAffinity", REQUIRED)
    owners = [get(template, *path[: depth + 1]) or {} for depth in range(len(path))]
    terms = mapping(template, *path).get("nodeSelectorTerms") or [{}]
    sound = all(isinstance(each, Mapping) for each in owners) and isinstance(terms, list) and all(map(_is_term, terms))
    if not nodes or not sound:
        return dict(template)
    excluded = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": sorted(set(nodes))}
    new_terms = []
    for term in terms:  # a node must meet any one of them
        own = term.get("matchExpressions", [])
        new_terms.append({**term, "matchExpressions": own if excluded in own else [*own, excluded]})
    result: dict[str, Any] = put(template, path, {"nodeSelectorTerms": new_terms})
    return result


def _is_term(term: Any) -> bool:
    return isinstance(term, Mapping) and isinstance(term.get("matchExpressions", []), list)
