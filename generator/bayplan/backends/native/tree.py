"""A gang as the tree of groups that kube-scheduler sees, for one version of Kubernetes.

1.37 has a tree (KEP-6012): CompositePodGroups over PodGroups over pods. 1.36 has PodGroups alone, each with one level,
and 1.35 nothing but a count of pods. A tree is as flat as the plan allows: a group of the file that neither places its
pods nor may be left out needs no object, and depth is scarce (4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.native.levels import node_label
from bayplan.core.values import NamedTuple
from bayplan.model.plan import Plan, Pods, Unit, Units, all_pods, minimum, walk
from bayplan.model.target import Target

COMPONENT = "kubernetes"
FIRST, LEVELS, TREES = "1.35", "1.36", "1.37"
"""The versions that brought Workloads, levels, and trees of groups."""


class Node(NamedTuple):
    """A PodGroup, or with children a CompositePodGroup. `minimum` counts pods, or children."""

    name: str  # unique in the gang; "" for the gang itself
    stem: str  # the same for all instances of a group
    key: str  # the node label of the level it must share; "": any nodes
    minimum: int
    pods: tuple[Pods, ...] = ()
    children: tuple[Node, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing in it may be missing."""
        if self.pods:
            return self.minimum == sum(pods.replicas for pods in self.pods)
        return self.minimum == len(self.children) and all(child.whole for child in self.children)


def trees(plan: Plan, root: Unit, target: Target) -> tuple[Node, ...]:
    """The groups of a gang that have no parent. Several come only of a gap that the user has accepted."""
    if target.since(COMPONENT, TREES):
        return (_node(plan, root, ""),)
    if target.since(COMPONENT, LEVELS):
        return tuple(_outermost(plan, root, ""))
    return (_leaf(plan, root, "")._replace(key=""),)


def walk_nodes(nodes: tuple[Node, ...], parent: Node | None = None) -> Iterator[tuple[Node, Node | None]]:
    """Every group with its parent, parents first."""
    for node in nodes:
        yield node, parent
        yield from walk_nodes(node.children, node)


def depth(node: Node) -> int:
    """How many objects lie on the longest way down to pods."""
    return 1 + max(map(depth, node.children), default=0)


def optional(units: Units) -> bool:
    """Whether some instances of the group may be left out."""
    return units.minimum < len(units.members)


def mixed(unit: Unit) -> bool:
    """Whether one count of pods would hide which of several podSets must be there."""
    everyone = list(all_pods(unit))
    return len(everyone) > 1 and any(pods.minimum < pods.replicas for pods in everyone)


def placed_below(unit: Unit) -> bool:
    """Whether any group below the unit has a level of its own."""
    return any(each.required for each in walk(unit) if each is not unit)


def _flat(unit: Unit) -> bool:
    """Whether one PodGroup says all there is to say of the unit."""
    left_out = any(optional(units) for each in walk(unit) for units in each.groups)
    return not (placed_below(unit) or left_out or mixed(unit))


def _node(plan: Plan, unit: Unit, stem: str) -> Node:
    if _flat(unit):
        return _leaf(plan, unit, stem)
    alone = unit.groups[0] if len(unit.groups) == 1 and optional(unit.groups[0]) else None
    children = (*_sets(unit), *_below(plan, unit, stem, alone))
    key = node_label(plan, unit)
    if len(children) == 1 and not key:
        return children[0]
    return Node(unit.name, stem, key, alone.minimum if alone else len(children), (), children)


def _leaf(plan: Plan, unit: Unit, stem: str) -> Node:
    return Node(unit.name, stem, node_label(plan, unit), minimum(unit), tuple(all_pods(unit)))


def _sets(unit: Unit) -> tuple[Node, ...]:
    """A PodGroup for each podSet, where they have minimums of their own."""
    return tuple(Node(pods.name, pods.template, "", pods.minimum, (pods,)) for pods in unit.pods)


def _below(plan: Plan, unit: Unit, stem: str, alone: Units | None) -> Iterator[Node]:
    for units in unit.groups:
        path = _stem(unit, units, stem)
        members = [_node(plan, member, path) for member in units.members]
        if optional(units) and units is not alone:
            yield Node(units.name, f"{path}-any", "", units.minimum, (), tuple(members))
        elif units is alone:
            yield from members
        else:
            yield from (each for member in members for each in _dissolved(member))


def _dissolved(node: Node) -> tuple[Node, ...]:
    """The children of a group that places nothing and needs them all, instead of it."""
    return node.children if node.children and not node.key and node.minimum == len(node.children) else (node,)


def _stem(unit: Unit, units: Units, stem: str) -> str:
    """The names of the groups on the way down, without their numbers."""
    own = units.name[len(unit.name) + 1 :] if unit.name else units.name
    return f"{stem}-{own}" if stem else own


def _outermost(plan: Plan, unit: Unit, stem: str) -> Iterator[Node]:
    """1.36: a PodGroup for the whole gang if its level is the only one, else one for each outermost placed group."""
    if unit.required or not placed_below(unit):
        yield _leaf(plan, unit, stem)
        return
    for units in unit.groups:
        for member in units.members:
            yield from _outermost(plan, member, _stem(unit, units, stem))


Shape = tuple[object, ...]


class Template(NamedTuple):
    """A template of the Workload: its name, the first group made from it, and the templates inside, by shape."""

    name: str
    node: Node
    inside: Mapping[Shape, Template]


def shape(node: Node) -> Shape:
    """Equal for groups that one template describes."""
    inside = tuple(sorted({shape(child) for child in node.children}, key=repr))
    return node.stem, node.key, node.minimum, node.whole, bool(node.children), inside


def templates(nodes: tuple[Node, ...], root: str) -> Mapping[Shape, Template]:
    """One template for all groups of one shape. Names are unique in the whole Workload (KEP-6012)."""
    return _templates(nodes, root, set())


def _templates(nodes: tuple[Node, ...], root: str, taken: set[str]) -> Mapping[Shape, Template]:
    found: dict[Shape, Template] = {}
    for node in nodes:
        if (kind := shape(node)) not in found:
            name = _free(node.stem or root, taken)
            found[kind] = Template(name, node, _templates(node.children, root, taken))
    return found


def _free(name: str, taken: set[str]) -> str:
    """The name, or with a number the first that is free."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free)
    return free
