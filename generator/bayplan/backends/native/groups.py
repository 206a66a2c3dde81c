"""A gang as Workload, CompositePodGroups and PodGroups (`scheduling.k8s.io`), and the mark that binds pods to them.

Read from `k8s.io/api` scheduling/v1alpha1 (v0.35.0), v1alpha2 (v0.36.0), v1beta1 and v1alpha3 (v0.37.0). The scheduler
reads only the groups, so each group repeats the fields of its template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.kube.kinds import gang_labels
from bayplan.kube.objects import non_empty
from bayplan.model.manifest import Lowered, Manifest, Marks, PodParts, Shape
from bayplan.model.plan import (
    GangPlan,
    Plan,
    Pods,
    Unit,
    Units,
    all_pods,
    has_placed_groups,
    has_several_minimums,
    minimum,
    walk,
)
from bayplan.model.target import Target
from bayplan.model.topology import Level, Pool

GROUP = "scheduling.k8s.io"


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """One Workload for each gang and one object for each of its groups; each pod names its group."""
    lowered = [_gang(plan, gang, target) for gang in plan.gangs]
    marks = {key: mark for each in lowered for key, mark in each.marks.items()}
    if not _jobset_keeps_groups(target):  # the user accepted pods without a group (F616)
        dropped = {gang.name for each in shape.workloads if each.kind == "jobset" for gang in each.gangs}
        marks |= {key: marks_of(plan, {}) for key in marks if key[0] in dropped}
    return Lowered(tuple(document for each in lowered for document in each.documents), marks)


def _gang(plan: Plan, gang: GangPlan, target: Target) -> Lowered:
    if not target.since(COMPONENT, SINCE_WORKLOADS):  # the user accepted pods that start one by one
        return Lowered((), {(gang.name, pods.name): marks_of(plan, {}) for pods in all_pods(gang.root)})
    roots = group_trees(plan, gang.root, target)
    templates_by_key = templates(roots, gang.gang.name)
    if not target.since(COMPONENT, SINCE_LEVELS):
        return _counting_workload(plan, gang, roots[0], templates_by_key[template_key(roots[0])].name)
    manifests = _Manifests(plan, gang, target)
    documents = (manifests.workload(templates_by_key), *manifests.groups(roots, templates_by_key, ""))
    groups = {pods.name: manifests.name(node) for node in _leaves(roots) for pods in node.pods}
    marks = {
        (gang.name, pods): marks_of(plan, {"schedulingGroup": {"podGroupName": group}})
        for pods, group in groups.items()
    }
    return Lowered(documents, marks)


def _jobset_keeps_groups(target: Target) -> bool:
    """Whether the pod templates of a JobSet have the field that names a group.

    JobSet 0.11 has `workloadRef`; since 0.12 it is `schedulingGroup`. An API server drops other fields, and refuses
    them from kubectl.
    """
    if target.since(COMPONENT, SINCE_LEVELS):
        return target.since("jobset", "0.12")
    return target.between("jobset", "0.11", "0.12")


def _leaves(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        if node.pods:
            yield node
        yield from _leaves(node.children)


def _counting_workload(plan: Plan, gang: GangPlan, root: Node, name: str) -> Lowered:
    """1.35: a Workload only counts the pods that name it."""
    workload = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": gang.name, "labels": gang_labels(plan, gang)},
        "spec": {"podGroups": [{"name": name, "policy": {"gang": {"minCount": root.minimum}}}]},
    }
    mark = marks_of(plan, {"workloadRef": {"name": gang.name, "podGroup": name}})
    return Lowered((workload,), {(gang.name, pods.name): mark for pods in root.pods})


def marks_of(plan: Plan, group: Mapping[str, Any]) -> Marks:
    """All pods of a tree have one scheduler, by default without a name, and one priority (KEP-4671, KEP-5710)."""
    own = plan.topology.schedulers.get("native", {})
    spec = non_empty(schedulerName=own.get("schedulerName", ""), priorityClassName=plan.workflow.priority_class)
    return Marks(pod=PodParts(spec={**spec, **group}))


class _Manifests:
    """The objects of one gang in the API of one version."""

    def __init__(self, plan: Plan, gang: GangPlan, target: Target) -> None:
        self.gang = gang
        self.labels = gang_labels(plan, gang)
        self.trees = target.since(COMPONENT, SINCE_TREES)
        self.api = f"{GROUP}/v1beta1" if self.trees else f"{GROUP}/v1alpha2"
        # While its gate is off (the default), 1.36 drops these fields once and refuses them when applied again
        self.preemption = self.trees or plan.topology.gates("native").get("WorkloadAwarePreemption") is True
        self.priority = non_empty(priorityClassName=plan.workflow.priority_class) if self.preemption else {}

    def name(self, node: Node) -> str:
        """The name of a group's object: the name of the gang and that of the group."""
        return f"{self.gang.name}-{node.name}" if node.name else self.gang.name

    def workload(self, templates_by_key: Mapping[TemplateKey, Template]) -> Manifest:
        """The Workload with the templates of the groups."""
        return self._object(self.api, "Workload", self.gang.name, self._lists(templates_by_key.values()))

    def _lists(self, templates_by_key: Any) -> dict[str, Any]:
        composites = [self._template(each) for each in templates_by_key if each.node.children]
        pods = [self._template(each) for each in templates_by_key if each.node.pods]
        return non_empty(compositePodGroupTemplates=composites, podGroupTemplates=pods)

    def _template(self, template: Template) -> dict[str, Any]:
        inside = self._lists(template.inside.values())
        return {"name": template.name, **self._rules(template.node), **inside}

    def groups(
        self, nodes: tuple[Node, ...], templates_by_key: Mapping[TemplateKey, Template], parent: str
    ) -> Iterator[Manifest]:
        """The groups themselves, parents first."""
        for node in nodes:
            template = templates_by_key[template_key(node)]
            spec = {**non_empty(parentCompositePodGroupName=parent), **self._from(template.name), **self._rules(node)}
            kind, api = ("CompositePodGroup", f"{GROUP}/v1alpha3") if node.children else ("PodGroup", self.api)
            yield self._object(api, kind, self.name(node), spec)
            yield from self.groups(node.children, template.inside, self.name(node))

    def _object(self, api: str, kind: str, name: str, spec: Mapping[str, Any]) -> Manifest:
        return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "labels": self.labels}, "spec": spec}

    def _from(self, template: str) -> dict[str, Any]:
        if self.trees:
            return {"workloadRef": {"workloadName": self.gang.name, "templateName": template}}
        reference = {"workloadName": self.gang.name, "podGroupTemplateName": template}
        return {"podGroupTemplateRef": {"workload": reference}}

    def _rules(self, node: Node) -> dict[str, Any]:
        """The fields that a template shares with its groups."""
        count = "minGroupCount" if node.children else "minCount"
        return {
            "schedulingPolicy": {"gang": {count: node.minimum}},
            **non_empty(schedulingConstraints=node.key and {"topology": [{"key": node.key}]}),
            **self._disruption(node),
            **self.priority,
        }

    def _disruption(self, node: Node) -> dict[str, Any]:
        """Kubernetes evicts a group that needs all of its pods as a whole, and others pod by pod (the default)."""
        if not (node.whole and self.preemption):
            return {}
        return {"disruptionMode": {"all": {}} if self.trees else "PodGroup"}


# A gang as the tree of groups that kube-scheduler sees, for one version of Kubernetes.
#
# 1.37 has a tree (KEP-6012): CompositePodGroups over PodGroups over pods. 1.36 has only PodGroups, each with one level,
# and 1.35 only counts pods. A tree is as flat as the plan allows: a group needs no object if it has no placement and is
# not optional. A tree has at most 4 levels.

COMPONENT = "kubernetes"
SINCE_WORKLOADS, SINCE_LEVELS, SINCE_TREES = "1.35", "1.36", "1.37"
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
        """Whether all of its pods must start."""
        if self.pods:
            return self.minimum == sum(pods.replicas for pods in self.pods)
        return self.minimum == len(self.children) and all(child.whole for child in self.children)


def group_trees(plan: Plan, root: Unit, target: Target) -> tuple[Node, ...]:
    """The groups of a gang that have no parent. There are several only if the user has accepted a gap."""
    if target.since(COMPONENT, SINCE_TREES):
        return (_node(plan, root, ""),)
    if target.since(COMPONENT, SINCE_LEVELS):
        return tuple(_outermost(plan, root, ""))
    return (_leaf(plan, root, "")._replace(key=""),)


def walk_nodes(nodes: tuple[Node, ...], parent: Node | None = None) -> Iterator[tuple[Node, Node | None]]:
    """Every group with its parent, parents first."""
    for node in nodes:
        yield node, parent
        yield from walk_nodes(node.children, node)


def depth(node: Node) -> int:
    """The number of objects on the longest path down to pods."""
    return 1 + max(map(depth, node.children), default=0)


def _is_flat(unit: Unit) -> bool:
    """Whether one PodGroup can express the unit."""
    has_optional_groups = any(units.optional for each in walk(unit) for units in each.groups)
    return not (has_placed_groups(unit) or has_optional_groups or has_several_minimums(unit))


def _node(plan: Plan, unit: Unit, stem: str) -> Node:
    if _is_flat(unit):
        return _leaf(plan, unit, stem)
    only_group = unit.groups[0] if len(unit.groups) == 1 and unit.groups[0].optional else None
    pod_sets = (Node(pods.name, pods.template, "", pods.minimum, (pods,)) for pods in unit.pods)
    children = (*pod_sets, *_below(plan, unit, stem, only_group))
    key = node_label(plan, unit)
    if len(children) == 1 and not key:
        return children[0]
    return Node(unit.name, stem, key, only_group.minimum if only_group else len(children), (), children)


def _leaf(plan: Plan, unit: Unit, stem: str) -> Node:
    return Node(unit.name, stem, node_label(plan, unit), minimum(unit), tuple(all_pods(unit)))


def _below(plan: Plan, unit: Unit, stem: str, only_group: Units | None) -> Iterator[Node]:
    for units in unit.groups:
        path = _stem(unit, units, stem)
        members = [_node(plan, member, path) for member in units.members]
        if units.optional and units is not only_group:
            yield Node(units.name, f"{path}-any", "", units.minimum, (), tuple(members))
        elif units is only_group:
            yield from members
        else:
            yield from (each for member in members for each in _without_wrapper(member))


def _without_wrapper(node: Node) -> tuple[Node, ...]:
    """The children instead of the group, if it has no level and needs all of them."""
    return node.children if node.children and not node.key and node.minimum == len(node.children) else (node,)


def _stem(unit: Unit, units: Units, stem: str) -> str:
    """The names of the groups on the path from the gang, without their numbers."""
    own = units.name[len(unit.name) + 1 :] if unit.name else units.name
    return f"{stem}-{own}" if stem else own


def _outermost(plan: Plan, unit: Unit, stem: str) -> Iterator[Node]:
    """1.36: one PodGroup for a gang whose level is the only one, or one for each outermost group with a level."""
    if unit.required or not has_placed_groups(unit):
        yield _leaf(plan, unit, stem)
        return
    for units in unit.groups:
        for member in units.members:
            yield from _outermost(plan, member, _stem(unit, units, stem))


TemplateKey = tuple[object, ...]


class Template(NamedTuple):
    """A template of the Workload: its name, the first group made from it, and the templates inside, by shape."""

    name: str
    node: Node
    inside: Mapping[TemplateKey, Template]


def template_key(node: Node) -> TemplateKey:
    """Equal for groups that one template describes."""
    inside = tuple(sorted({template_key(child) for child in node.children}, key=repr))
    return node.stem, node.key, node.minimum, node.whole, bool(node.children), inside


def templates(nodes: tuple[Node, ...], root: str) -> Mapping[TemplateKey, Template]:
    """One template for all groups of one shape. Names are unique in the whole Workload (KEP-6012)."""
    return _templates(nodes, root, set())


def _templates(nodes: tuple[Node, ...], root: str, taken: set[str]) -> Mapping[TemplateKey, Template]:
    by_key: dict[TemplateKey, Template] = {}
    for node in nodes:
        if (key := template_key(node)) not in by_key:
            name = _free_name(node.stem or root, taken)
            by_key[key] = Template(name, node, _templates(node.children, root, taken))
    return by_key


def _free_name(name: str, taken: set[str]) -> str:
    """The name, or with a number the first that is free."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free)
    return free


# Levels as node labels: kube-scheduler has no object for a topology (KEP-5732)


def node_label(plan: Plan, unit: Unit) -> str:
    """The node label of the level that the unit's pods must share; empty for none. Pools agree on it (P502)."""
    return next((level.label for _, level in levels(plan, unit)), "")


def levels(plan: Plan, unit: Unit) -> Iterator[tuple[Pool, Level]]:
    """The level that the unit's pods must share, in each of its pools."""
    for name in dict.fromkeys(pods.pool for pods in all_pods(unit)):
        pool = plan.topology.pool(name)
        level = pool.level(unit.required) if pool and unit.required else None
        if pool and level:
            yield pool, level


def has_repeated_values(pool: Pool, level: Level, enclosing: str = "") -> bool:
    """Whether domains of the level share a label value. `enclosing`: a level that already keeps their pods together."""
    if level not in pool.levels:
        return False
    rank, top = pool.depth(level.name), pool.depth(enclosing) + 1 if enclosing else 0
    owners: dict[tuple[str, ...], tuple[str, ...]] = {}
    for domain in pool.domains:
        seen = (*domain.path[:top], domain.path[rank])
        if owners.setdefault(seen, domain.path[: rank + 1]) != domain.path[: rank + 1]:
            return True
    return False
