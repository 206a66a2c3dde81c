"""HyperNodes that users wrote: their fields, and the faults of their tree.

Volcano's admission checks one object at a time. The scheduler finds some of these faults and only logs them (Volcano
1.15, pkg/scheduler/api/hyper_node_info.go). While one HyperNode is in a cycle or has a second parent, Volcano schedules
no workload with a topology (`HyperNodesReadyToSchedule`, actions/allocate).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.core.values import cycles
from bayplan.kube.objects import get, items, mapping, number_in, text
from bayplan.model.manifest import Object
from bayplan.text.patterns import MOST_STEPS, steps

GROUP = "topology.volcano.sh"
LEVEL = "bayplan.dev/level"
PATH = "bayplan.dev/path"
TOPOLOGY = "bayplan.dev/topology"
NODE, HYPER_NODE = "Node", "HyperNode"
SELECTORS = ("exactMatch", "regexMatch", "labelMatch")
Labels = Mapping[str, str]


class Member(NamedTuple):
    """One member. `name`: the name of an exact match, otherwise empty."""

    kind: str
    name: str
    selector: Mapping[str, Any]
    route: Route


class ReadHyperNode(NamedTuple):
    """One HyperNode."""

    name: str
    tier: int | None
    tier_name: str
    annotations: Mapping[str, Any]
    members: tuple[Member, ...]
    route: Route

    def of(self, kind: str) -> Iterator[Member]:
        """Its members of a kind with an exact name."""
        return (each for each in self.members if each.kind == kind and each.name)


Tree = Mapping[str, ReadHyperNode]


def read_hyper_node(each: Object) -> ReadHyperNode:
    """The content of a HyperNode object."""
    data, members = each.data, (*each.route, "spec", "members")
    return ReadHyperNode(
        name=text(data, "metadata", "name"),
        tier=number_in(data, "spec", "tier"),
        tier_name=text(data, "spec", "tierName"),
        annotations=mapping(data, "metadata", "annotations"),
        members=tuple(_member(m, (*members, i)) for i, m in enumerate(items(data, "spec", "members"))),
        route=each.route,
    )


def _member(data: Any, route: Route) -> Member:
    selector = mapping(data, "selector")
    return Member(text(data, "type"), text(selector, "exactMatch", "name"), selector, route)


def faults(hyper_nodes: Sequence[ReadHyperNode], nodes: Mapping[str, Labels] | None) -> Iterator[Diagnostic]:
    """All faults of the HyperNodes together. `nodes`: labels of the nodes by name, or None if they are unknown."""
    tree: Tree = {each.name: each for each in hyper_nodes}
    for each in hyper_nodes:
        yield from _members(each, nodes)
        yield from _children(each, tree)
    yield from _parents(hyper_nodes)
    yield from _cycles(tree)
    yield from _shared_nodes(hyper_nodes)
    yield from _tier_names(hyper_nodes)
    yield from _uneven(tree)


def _members(each: ReadHyperNode, nodes: Mapping[str, Labels] | None) -> Iterator[Diagnostic]:
    """M722 and M720: faults of each member."""
    if not each.members:
        at = (*each.route, "spec")
        yield error("M722", at, f'HyperNode "{each.name}" has no members', hint="add its nodes or HyperNodes")
    for member in each.members:
        yield from _selector(each, member, nodes)
    if {NODE, HYPER_NODE} <= {member.kind for member in each.members}:
        message = f'HyperNode "{each.name}" has both nodes and HyperNodes as members, so these nodes skip a tier'
        yield warning("M720", (*each.route, "spec", "members"), message, hint="move the nodes to a HyperNode below it")


def _selector(each: ReadHyperNode, member: Member, nodes: Mapping[str, Labels] | None) -> Iterator[Diagnostic]:
    used = [key for key in SELECTORS if get(member.selector, key) is not None]
    if member.kind not in (NODE, HYPER_NODE) or len(used) != 1:
        message = (
            f'a member of HyperNode "{each.name}" must be of type Node or HyperNode, with one of {", ".join(SELECTORS)}'
        )
        yield error("M722", member.route, message, hint="write one selector for each member")
    elif member.kind == HYPER_NODE and not member.name:
        message = (
            f'HyperNode "{each.name}" selects HyperNodes by {used[0]}; Volcano supports only `exactMatch` for them'
        )
        yield error("M722", member.route, message, hint="write a member with `exactMatch` for each of them")
    elif member.kind == NODE and member.name:
        if nodes is not None and member.name not in nodes:
            message = f'HyperNode "{each.name}" names the node "{member.name}", which is not in the topology'
            yield warning("M722", member.route, message, hint="correct the name, or remove the member")
    elif member.kind == NODE:
        yield from _pattern(each, member, used[0], nodes)


def _pattern(
    each: ReadHyperNode, member: Member, used: str, nodes: Mapping[str, Labels] | None
) -> Iterator[Diagnostic]:
    at = (*member.route, "selector", used)
    why = unreadable(text(member.selector, "regexMatch", "pattern")) if used == "regexMatch" else ""
    if why:
        yield error("M722", at, f'the pattern in HyperNode "{each.name}" {why}', hint="use Go's syntax (RE2)")
    elif nodes is not None and (matched := matches(member, nodes)) is not None and not matched:
        message = f'{used} in HyperNode "{each.name}" matches none of the {len(nodes)} nodes of the topology'
        yield error("M722", at, message, hint="correct it, or name the nodes with `exactMatch`")


def unreadable(pattern: str) -> str:
    """Why Go cannot compile a pattern; empty if Python finds no reason."""
    if re.search(r"\(\?<?[=!]|\\[1-9]", pattern):
        return "has a lookaround or a back reference, which Go does not support"
    try:
        _compiled(pattern)
    except (re.error, RecursionError, OverflowError):
        return "is not a regular expression"
    return ""


def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern in Python's syntax (Go ends with `\\z`), without Python's warnings about future changes."""
    python = re.sub(r"(?<!\\)((?:\\\\)*)\\z", r"\1\\Z", pattern)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(python, re.ASCII)  # as in Go


def matches(member: Member, nodes: Mapping[str, Labels]) -> list[str] | None:
    """The nodes that a member selects; None if the match would take too long."""
    pattern = text(member.selector, "regexMatch", "pattern")
    if pattern:
        if needed_steps(pattern, nodes) > MOST_STEPS:
            return None
        compiled = _compiled(pattern)
        return [name for name in nodes if compiled.search(name)]
    selector = mapping(member.selector, "labelMatch")
    rules = items(selector, "matchExpressions")
    plain = mapping(selector, "matchLabels")
    if not plain and not rules:
        return []
    return [name for name, own in nodes.items() if _selected(own, plain, rules)]


def needed_steps(pattern: str, names: Collection[str]) -> float:
    """The most steps for one of the names. Infinite for patterns of more than 1000 characters."""
    return steps(pattern, max(map(len, names), default=0), whole=False) if len(pattern) <= 1000 else inf


def _selected(own: Labels, plain: Mapping[str, Any], rules: Sequence[Any]) -> bool:
    return all(own.get(key) == value for key, value in plain.items()) and all(_holds(own, rule) for rule in rules)


def _holds(own: Labels, rule: Any) -> bool:
    key, operator, values = text(rule, "key"), text(rule, "operator"), items(rule, "values")
    return {
        "In": key in own and own[key] in values,
        "NotIn": own.get(key) not in values,
        "Exists": key in own,
        "DoesNotExist": key not in own,
    }.get(operator, False)


def _children(each: ReadHyperNode, tree: Tree) -> Iterator[Diagnostic]:
    """M722, M720: each child exists and has a lower tier."""
    for member in each.of(HYPER_NODE):
        child = tree.get(member.name)
        if child is None:
            message = f'HyperNode "{each.name}" has the unknown member "{member.name}"; Volcano only logs that'
            yield error("M722", member.route, message, hint="add that HyperNode, or remove the member")
        elif child is not each and each.tier is not None and child.tier is not None and child.tier >= each.tier:
            message = (
                f'HyperNode "{each.name}" of tier {each.tier} has the member "{child.name}" of tier {child.tier};'
                " tiers must increase from the nodes up"
            )
            notes = (Note("the tier of the member", (*child.route, "spec", "tier")),)
            hint = f'raise the tier of "{each.name}"'
            yield error("M720", (*each.route, "spec", "tier"), message, hint=hint, notes=notes)


def _in_two(hyper_nodes: Sequence[ReadHyperNode], kind: str) -> Iterator[tuple[Member, str, str, Route]]:
    """Members of a kind that two HyperNodes have, with both HyperNodes and the place of the other member."""
    first: dict[str, tuple[ReadHyperNode, Member]] = {}
    for each in hyper_nodes:
        for member in each.of(kind):
            parent, other = first.setdefault(member.name, (each, member))
            if parent is not each:
                yield member, each.name, parent.name, other.route


def _parents(hyper_nodes: Sequence[ReadHyperNode]) -> Iterator[Diagnostic]:
    """M720: no HyperNode is a member of two."""
    for member, one, other, route in _in_two(hyper_nodes, HYPER_NODE):
        message = (
            f'HyperNode "{member.name}" is a member of "{one}" and of "{other}", so Volcano schedules no workload'
            " with a topology"
        )
        notes = (Note("the other parent", route),)
        yield error("M720", member.route, message, hint="remove it from one of them", notes=notes)


def _cycles(tree: Tree) -> Iterator[Diagnostic]:
    """M720: no HyperNode contains itself. Reports each cycle once, at its first name."""
    for cycle in cycles({name: [member.name for member in tree[name].of(HYPER_NODE)] for name in tree}):
        shown = " > ".join([*cycle, cycle[0]])
        message = f"HyperNodes contain each other, so Volcano schedules no workload with a topology: {shown}"
        route = (*tree[cycle[0]].route, "spec", "members")
        yield error("M720", route, message, hint="remove one of these members")


def _below(name: str, tree: Tree) -> Iterator[str]:
    """A HyperNode and everything below it, each once."""
    met, stack = {name}, [name]
    while stack:
        here = stack.pop()
        yield here
        new = [m.name for m in tree[here].of(HYPER_NODE) if m.name not in met] if here in tree else []
        met.update(new)
        stack += new


def _shared_nodes(hyper_nodes: Sequence[ReadHyperNode]) -> Iterator[Diagnostic]:
    """M720: a node is a member of one HyperNode."""
    for member, one, other, route in _in_two(hyper_nodes, NODE):
        message = f'the node "{member.name}" is a member of HyperNode "{one}" and of "{other}"'
        hint = "remove it from one of them: a node is in one HyperNode of the lowest tier"
        yield error("M720", member.route, message, hint=hint, notes=(Note("the other one", route),))


def _tier_names(hyper_nodes: Sequence[ReadHyperNode]) -> Iterator[Diagnostic]:
    """M720: a tier name has one tier."""
    first: dict[str, ReadHyperNode] = {}
    for each in hyper_nodes:
        other = first.setdefault(each.tier_name, each) if each.tier_name else each
        if other.tier != each.tier:
            message = (
                f'the tier name "{each.tier_name}" means tier {each.tier} here and tier {other.tier} in HyperNode'
                f' "{other.name}"; Volcano uses the one that it reads last'
            )
            notes = (Note("the other tier", (*other.route, "spec", "tier")),)
            yield warning(
                "M720", (*each.route, "spec", "tierName"), message, hint="use one name for each tier", notes=notes
            )


def _uneven(tree: Tree) -> Iterator[Diagnostic]:
    """M720: all leaves below one HyperNode have one tier."""
    held = {member.name for each in tree.values() for member in each.of(HYPER_NODE)}
    for name in sorted(set(tree) - held):
        tiers = {each.tier: each for each in map(tree.get, _below(name, tree)) if each and not any(each.of(HYPER_NODE))}
        if len(tiers) > 1:
            each, other = list(tiers.values())[:2]
            message = (
                f'below HyperNode "{name}", nodes are at tier {each.tier} ("{each.name}") and at tier {other.tier}'
                f' ("{other.name}"), so one tier means different levels'
            )
            hint = "give all branches the same number of tiers (volcano#5877)"
            yield warning("M720", (*tree[name].route, "spec", "members"), message, hint=hint)
