"""Names among siblings, and names that are joined from others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

from bayplan.checks.places import instances, owners
from bayplan.diagnostics import Diagnostic, Note, Route, error
from bayplan.model.workflow import GANGS, Gang, Group, PodSet, Workflow
from bayplan.planning.names import gang_name, joined

MOST_NAMES = 300_000
"""So many names are compared here; the documents of a larger workflow are compared when they are made."""


def check(workflow: Workflow) -> Iterator[Diagnostic]:
    """W301 for equal names among siblings; only without those, W302 for names that are equal once joined."""
    twins = tuple(_all_twins(workflow))
    yield from twins
    if not twins and _could_collide(workflow):
        yield from _collisions(workflow)


def _all_twins(workflow: Workflow) -> Iterator[Diagnostic]:
    yield from _twins(workflow.gangs, GANGS, "gangs")
    for owner in owners(workflow):
        yield from _twins(owner.node.groups, (*owner.route, "groups"), f"groups of {owner.title()}")
        yield from _twins(owner.node.pod_sets, (*owner.route, "podSets"), f"podSets of {owner.title()}")


def _twins(nodes: Iterable[Gang | Group | PodSet], route: Route, what: str) -> Iterator[Diagnostic]:
    first: dict[str, int] = {}
    for index, node in enumerate(nodes):
        if first.setdefault(node.name, index) != index:
            note = Note("the first is here", (*route, first[node.name], "name"))
            message = f'two {what} are called "{node.name}"'
            yield error("W301", (*route, index, "name"), message, hint="give each a name of its own", notes=(note,))


def _could_collide(workflow: Workflow) -> bool:
    """Joined names can be taken apart again unless a part looks like an index, or one gang's name starts another's."""
    gangs = sorted(f"{gang.name}-" for gang in workflow.gangs)
    if any(after.startswith(before) for before, after in pairwise(gangs)):
        return True
    names = [name for owner in owners(workflow) for name in (owner.node.name, *(p.name for p in owner.node.pod_sets))]
    return any(part.isdigit() for name in names for part in name.split("-"))


def _collisions(workflow: Workflow) -> Iterator[Diagnostic]:
    """Of gangs and their copies, and inside each gang; the documents' names are compared when there are documents."""
    yield from _equal(_gang_names(workflow))
    for index, gang in enumerate(workflow.gangs):
        yield from _equal(_below(gang, (*GANGS, index), ""))


def _equal(names: Iterable[tuple[str, Route]]) -> Iterator[Diagnostic]:
    first: dict[str, Route] = {}
    told: set[tuple[Route, Route]] = set()
    for name, route in islice(names, MOST_NAMES):
        other = first.setdefault(name, route)
        if other != route and (other, route) not in told:
            told.add((other, route))
            note = Note("the other is made from this one", (*other, "name"))
            message = f'two things would be called "{name}"'
            yield error("W302", (*route, "name"), message, hint="rename one of them", notes=(note,))


def _gang_names(workflow: Workflow) -> Iterator[tuple[str, Route]]:
    for index, gang in enumerate(workflow.gangs):
        for copy in range(gang.replicas):
            yield gang_name(workflow, gang, copy), (*GANGS, index)


def _below(node: Gang | Group, route: Route, name: str) -> Iterator[tuple[str, Route]]:
    """The names of an instance's podSets and groups, and of all instances below it."""
    for index, pods in enumerate(node.pod_sets):
        yield joined(name, pods.name), (*route, "podSets", index)
    for index, group in enumerate(node.groups):
        below: Route = (*route, "groups", index)
        yield joined(name, group.name), below
        for number in range(instances(group)):
            instance = joined(name, group.name, str(number))
            yield instance, below
            yield from _below(group, below, instance)
