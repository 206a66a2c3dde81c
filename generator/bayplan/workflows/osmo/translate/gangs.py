"""One task group -> one gang of the native format: the tree of its domains, identical tasks folded into podSets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.diagnostics import Diagnostic, Route
from bayplan.model.workflow import Placement
from bayplan.values import NamedTuple
from bayplan.workflows.osmo.translate import tree
from bayplan.workflows.osmo.translate.levels import Levels
from bayplan.workflows.osmo.translate.names import label, stem, unique
from bayplan.workflows.osmo.translate.pod_sets import Piece
from bayplan.workflows.osmo.translate.source import Requirement, Task, TaskGroup
from bayplan.workflows.osmo.translate.template import named

MAIN = "main"
"""The podSet of a task outside of groups, whose gang has the task's name already."""

ANYWHERE = "anywhere"
"""The group of tasks that ask for no topology, beside groups that do."""


class Pods(NamedTuple):
    """A podSet: the tasks that are its pods, in order, and what they have in common."""

    name: str
    tasks: tuple[Task, ...]
    piece: Piece


class Node(NamedTuple):
    """A gang or group: its placement and the requirement that says so, and the groups or podSets within."""

    name: str
    placement: Placement = Placement()
    requirements: tuple[Requirement, ...] = ()
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pods, ...] = ()


class Gang(NamedTuple):
    """A task group, the gang that it becomes, and the podSet that leads it."""

    group: TaskGroup
    node: Node


def gang(group: TaskGroup, levels: Levels, pieces: Mapping[str, Piece]) -> Gang:
    """The gang of a task group; `pieces` has every task's podSet by the task's name."""
    found = tree.domains(group.tasks, levels)
    free = tuple(task for task in group.tasks if not task.requirements)
    folding = _Folding(group, pieces)
    name = label(group.name)
    if not found:
        return Gang(group, Node(name, pods=folding.pods(free)))
    if len(found) == 1 and not free:
        return Gang(group, _node(tree.chain(found[0]), levels, folding)._replace(name=name))
    nodes = _nodes(found, levels, folding)
    if free:
        nodes = _in_order((*nodes, Node(ANYWHERE, pods=folding.pods(free))), group)
    return Gang(group, Node(name, nodes=_named(nodes)))


def findings(group: TaskGroup, levels: Levels) -> Iterator[Diagnostic]:
    """W463 and W464 of one task group."""
    found = tree.domains(group.tasks, levels)
    for domain in found:
        yield from tree.conflicts(domain)
    if found:
        yield from tree.unplaced([task for task in group.tasks if not task.requirements], group.name)


def _nodes(found: Sequence[tree.Domain], levels: Levels, folding: _Folding) -> tuple[Node, ...]:
    return tuple(_node(tree.chain(domain), levels, folding) for domain in found)


def _node(domains: tuple[tree.Domain, ...], levels: Levels, folding: _Folding) -> Node:
    """The group of a chain of domains, called after all of them."""
    last = domains[-1]
    written = "-".join(dict.fromkeys(domain.group for domain in domains))
    firsts = tuple(next(r for r in d.requirements if r.required == d.required) for d in domains)
    nodes = _named(_nodes(last.parts, levels, folding))
    return Node(label(written), tree.placement(domains, levels), firsts, nodes, folding.pods(last.tasks))


def _named(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The same with names that differ."""
    taken: list[str] = []
    for node in nodes:
        taken.append(unique(node.name, taken, "/".join(r.group for r in node.requirements)))
    return tuple(node._replace(name=name) for node, name in zip(nodes, taken, strict=True))


def _in_order(nodes: tuple[Node, ...], group: TaskGroup) -> tuple[Node, ...]:
    """By their first tasks."""
    places = {task.name: number for number, task in enumerate(group.tasks)}
    return tuple(sorted(nodes, key=lambda node: min(places[task.name] for task in tasks(node))))


def tasks(node: Node) -> Iterator[Task]:
    """All tasks at and below a node, podSet by podSet."""
    for pods in node.pods:
        yield from pods.tasks
    for each in node.nodes:
        yield from tasks(each)


class _Folding:
    """Makes podSets of one gang's tasks: equal ones in one, but for the lead, whose end is the gang's."""

    def __init__(self, group: TaskGroup, pieces: Mapping[str, Piece]) -> None:
        self.lead, self.pieces, self.bare = group.lead, pieces, group.bare
        self.taken = {label(task.name) for task in group.tasks}
        self.used: set[str] = set()

    def pods(self, tasks: Sequence[Task]) -> tuple[Pods, ...]:
        alike: dict[str, list[Task]] = {}
        for task in tasks:
            alike.setdefault(self.key(task), []).append(task)
        return tuple(Pods(self.name(each), tuple(each), self.pieces[each[0].name]) for each in alike.values())

    def key(self, task: Task) -> str:
        from json import dumps

        own = task.name if self.lead and task.name == self.lead.name else ""
        return own + "\0" + dumps(self.pieces[task.name].data, sort_keys=True)

    def name(self, tasks: Sequence[Task]) -> str:
        """What the tasks are called but for their numbers, else the first one's name."""
        first = MAIN if self.bare else label(tasks[0].name)
        common = stem(tuple(label(task.name) for task in tasks)) if len(tasks) > 1 else ""
        free = common and common not in self.used | self.taken
        name = unique(common if free else first, self.used, tasks[0].name)
        self.used.add(name)
        return name


def pod_set_of(node: Node, wanted: Task) -> str:
    """The name of the podSet that a task is in."""
    here = (pods.name for pods in node.pods if wanted in pods.tasks)
    return next(here, "") or next((name for each in node.nodes if (name := pod_set_of(each, wanted))), "")


def origins(gang: Gang) -> dict[Route, Route]:
    """Routes below the gang -> routes in the source."""
    group, found = gang.group, dict(_origins(gang.node, ()))
    found[()] = group.route
    found[("name",)] = (*group.route, "name")
    if group.lead:
        found[("lead",)] = (*group.lead.route, "lead")
    return found


def _origins(node: Node, route: Route) -> Iterator[tuple[Route, Route]]:
    if node.requirements:
        at = node.requirements[-1].route
        hard = next((r for r in reversed(node.requirements) if r.required), node.requirements[-1])
        yield route, at
        yield (*route, "placement"), (*at, "key")
        yield (*route, "placement", "required"), (*hard.route, "key")
    for number, pods in enumerate(node.pods):
        for own, source in pods.piece.origins.items():
            yield (*route, "podSets", number, *own), source
        yield (*route, "podSets", number, "name"), (*pods.tasks[0].route, "name")
    for number, each in enumerate(node.nodes):
        yield from _origins(each, (*route, "groups", number))


def data(node: Node, *, channel: bool = True) -> dict[str, Any]:
    """The native data of a gang or group, what stands below it last. `channel`: it may have ComputeDomains."""
    levels = {key: level for key, level in zip(("required", "preferred"), node.placement, strict=True) if level}
    return {
        "name": node.name,
        **({"placement": levels} if levels else {}),
        **({} if channel else {"computeDomain": "never"}),
        **({"groups": [data(each, channel=channel) for each in node.nodes]} if node.nodes else {}),
        **({"podSets": [_pod_set(each) for each in node.pods]} if node.pods else {}),
    }


def _pod_set(pods: Pods) -> dict[str, Any]:
    replicas = {"replicas": len(pods.tasks)} if len(pods.tasks) > 1 else {}
    made = {"name": pods.name, **replicas, **pods.piece.data}
    return {**made, "template": named(made["template"], pods.name)} if "template" in made else made
