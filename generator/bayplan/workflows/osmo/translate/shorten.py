"""Cut the names of a workflow until the names of its pods fit Kubernetes, and say what was changed."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Note, Route, info
from bayplan.workflows.osmo.rules.places import ROOT
from bayplan.workflows.osmo.translate.gangs import Gang, Node
from bayplan.workflows.osmo.translate.names import LONGEST, SHORTEST, cut
from bayplan.workflows.osmo.units import k8s_name

MOST_NOTES = 3


def fitted(workflow: str, gangs: tuple[Gang, ...]) -> tuple[str, tuple[Gang, ...]]:
    """The workflow's name and the gangs with all names of at most so many characters that every pod's name fits.

    Kubernetes wants 63; what cannot be had with names of SHORTEST characters is for the checks of the plan to refuse.
    """
    for most in range(63, SHORTEST - 1, -1):
        short = cut(workflow, most), _all_cut(gangs, most)
        if _longest(*short) <= LONGEST:
            break
    return short


def _all_cut(gangs: tuple[Gang, ...], most: int) -> tuple[Gang, ...]:
    names = _names([gang.node.name for gang in gangs], most)
    return tuple(
        gang._replace(node=_cut(gang.node, most, set())._replace(name=name))
        for gang, name in zip(gangs, names, strict=True)
    )


def _cut(node: Node, most: int, pods: set[str]) -> Node:
    """The names below a node. No two podSets of a gang have one name: its lead is one of them."""
    own = _names([each.name for each in node.pods], most, pods)
    below = _names([each.name for each in node.nodes], most)
    return node._replace(
        pods=tuple(each._replace(name=name) for each, name in zip(node.pods, own, strict=True)),
        nodes=tuple(_cut(each, most, pods)._replace(name=name) for each, name in zip(node.nodes, below, strict=True)),
    )


def _names(names: list[str], most: int, taken: set[str] | None = None) -> list[str]:
    """The names of siblings, cut."""
    made, used = [], set() if taken is None else taken
    for name in names:
        made.append(cut(name, most, used))
        used.add(made[-1])
    return made


def _longest(workflow: str, gangs: tuple[Gang, ...]) -> int:
    several = len(gangs) > 1
    return max(
        len(workflow) + (len(gang.node.name) + 1 if several else 0) + 1 + below
        for gang in gangs
        for below in _below(gang.node)
    )


def _below(node: Node) -> Iterator[int]:
    """For each podSet the length of `<group>-0-...-<podSet>` and of its last pod's number."""
    for pods in node.pods:
        yield len(pods.name) + len(str(len(pods.tasks) - 1))
    for each in node.nodes:
        for length in _below(each):
            yield len(each.name) + len("-0-") + length


def renamed(workflow: str, short: str, gangs: tuple[Gang, ...]) -> Iterator[Diagnostic]:
    """W461: the names that bayplan made differ from OSMO's by more than case and underscores."""
    changes: list[tuple[str, str, Route]] = []
    if k8s_name(workflow) != short:
        changes.append((workflow, short, (*ROOT, "name")))
    for gang in gangs:
        if k8s_name(gang.group.name) != gang.node.name:
            changes.append((gang.group.name, gang.node.name, (*gang.group.route, "name")))
        changes += () if gang.group.bare else _changes(gang.node)
    if changes:
        (old, new, route), *rest = dict.fromkeys(changes)
        more = f", and {len(rest)} more names are" if rest else ""
        notes = tuple(Note(f'"{a}" becomes "{b}"', at) for a, b, at in rest[:MOST_NOTES])
        message = f'"{old}" is called "{new}" in the manifests{more} changed so that Kubernetes takes them'
        message = message if rest else f'"{old}" is called "{new}" in the manifests, so that Kubernetes takes it'
        yield info("W461", route, message, notes=notes, hint="use short names of letters, digits and hyphens")


def _changes(node: Node) -> Iterator[tuple[str, str, Route]]:
    for pods in node.pods:
        if len(pods.tasks) == 1 and k8s_name(pods.tasks[0].name) != pods.name:
            yield pods.tasks[0].name, pods.name, (*pods.tasks[0].route, "name")
    for each in node.nodes:
        written = "-".join(dict.fromkeys(r.group for r in each.requirements))
        if each.requirements and k8s_name(written) != each.name:
            yield written, each.name, (*each.requirements[-1].route, "group")
        yield from _changes(each)
