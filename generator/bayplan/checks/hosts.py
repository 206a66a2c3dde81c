"""Texts that stand for pods: there is such a pod, and the text occurs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from bayplan.checks.places import instances
from bayplan.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.model.workflow import GANGS, Gang, Group, PodSet, Workflow, pod_of
from bayplan.planning.names import joined
from bayplan.words import count, shorten, suggest

MOST_NAMES = 1000
"""So many podSet instances are compared with a name that is none of them."""


def check(workflow: Workflow) -> Iterator[Diagnostic]:
    """W332 to W334."""
    for index, gang in enumerate(workflow.gangs):
        for text, value in gang.hosts.items():
            route: Route = (*GANGS, index, "hosts", text)
            yield from _pod(gang, value, route)
            if not any(text in each for pods in _pod_sets(gang) for each in _texts(pods)):
                where = "no command, argument, env value or text file"
                hint = "correct the text, or remove it; in `template` texts are not replaced"
                message = f'{where} of gang "{gang.name}" holds "{shorten(text)}"'
                yield warning("W334", (*route, KEY), message, hint=hint)


def _pod(gang: Gang, value: str, route: Route) -> Iterator[Diagnostic]:
    name, number = pod_of(value)
    replicas = next(_replicas(gang, name), None)
    if replicas is None:
        hint = suggest(name, islice(_names(gang, ""), MOST_NAMES), "podSet instances") or "give the gang podSets"
        yield error("W332", route, f'gang "{gang.name}" has no podSet instance "{name}"', hint=hint)
    elif number >= replicas:
        message = f'"{name}" has {count(replicas, "pod")}, and "{value}" would be number {number}'
        yield error("W333", route, message, hint=f"pods count from 0: the last is {name}/{replicas - 1}")


def _replicas(node: Gang | Group, name: str, size: int | None = None) -> Iterator[int]:
    """How many pods the podSet instance of that name below a node has. It looks only where the name may lead."""
    for pods in node.pod_sets:
        if pods.name == name:
            yield size or pods.replicas
    for group in node.groups:
        number, dash, rest = name.removeprefix(f"{group.name}-").partition("-")
        inside = name.startswith(f"{group.name}-") and dash and number.isdecimal() and len(number) < 8
        if inside and str(int(number)) == number and int(number) < instances(group):
            yield from _replicas(group, rest, _size(group, int(number)))


def _size(group: Group, number: int) -> int | None:
    """Pods in one of the instances that `size` cuts; the last may be smaller."""
    if not group.size or not group.pod_sets:
        return None
    return min(group.size, group.pod_sets[0].replicas - number * group.size)


def _names(node: Gang | Group, above: str) -> Iterator[str]:
    """The podSet instances of a gang."""
    yield from (joined(above, pods.name) for pods in node.pod_sets)
    for group in node.groups:
        for number in range(instances(group)):
            yield from _names(group, joined(above, group.name, str(number)))


def _pod_sets(node: Gang | Group) -> Iterator[PodSet]:
    yield from node.pod_sets
    for group in node.groups:
        yield from _pod_sets(group)


def _texts(pods: PodSet) -> Iterator[str]:
    yield from (*pods.command, *pods.args, *pods.env.values())
    yield from (held for held in pods.files.values() if isinstance(held, str))
