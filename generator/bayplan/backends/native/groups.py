"""A gang as Workload, CompositePodGroups and PodGroups (scheduling.k8s.io), and the mark that ties pods to them.

Read from k8s.io/api scheduling/v1alpha1 (v0.35.0), v1alpha2 (v0.36.0), v1beta1 and v1alpha3 (v0.37.0). Templates
only explain where a group came from: the scheduler reads the groups themselves, so each repeats what its template says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.backends.native.gates import is_on
from bayplan.backends.native.tree import COMPONENT, LEVELS, TREES, Node, Shape, Template, shape, templates, trees
from bayplan.kube.kinds.parts import gang_labels
from bayplan.kube.objects import given
from bayplan.model.manifest import Lowered, Manifest, Marks, PodParts
from bayplan.model.manifest import Shape as Workloads
from bayplan.model.plan import GangPlan, Plan
from bayplan.model.target import Target

GROUP = "scheduling.k8s.io"


def lower(plan: Plan, workloads: Workloads, target: Target) -> Lowered:
    """One Workload for each gang and one object for each of its groups; on every pod, its group's name."""
    lowered = [_gang(plan, gang, target) for gang in plan.gangs]
    marks = {key: mark for each in lowered for key, mark in each.marks.items()}
    return Lowered(tuple(document for each in lowered for document in each.documents), marks)


def _gang(plan: Plan, gang: GangPlan, target: Target) -> Lowered:
    roots = trees(plan, gang.root, target)
    made = templates(roots, gang.gang.name)
    if not target.since(COMPONENT, LEVELS):
        return _counted(plan, gang, roots[0], made[shape(roots[0])].name)
    say = _Words(plan, gang, target)
    documents = (say.workload(made), *say.groups(roots, made, ""))
    groups = {pods.name: say.name(node) for node in _leaves(roots) for pods in node.pods}
    marks = {
        (gang.name, pods): _mark(plan, {"schedulingGroup": {"podGroupName": group}}) for pods, group in groups.items()
    }
    return Lowered(documents, marks)


def _leaves(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        if node.pods:
            yield node
        yield from _leaves(node.children)


def _counted(plan: Plan, gang: GangPlan, root: Node, name: str) -> Lowered:
    """1.35: a Workload counts pods that name it, and no more."""
    workload = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": gang.name, "labels": gang_labels(plan, gang)},
        "spec": {"podGroups": [{"name": name, "policy": {"gang": {"minCount": root.minimum}}}]},
    }
    mark = _mark(plan, {"workloadRef": {"name": gang.name, "podGroup": name}})
    return Lowered((workload,), {(gang.name, pods.name): mark for pods in root.pods})


def _mark(plan: Plan, group: Mapping[str, Any]) -> Marks:
    """All pods of a tree have one scheduler, which needs no name by default, and one priority (KEP-4671, KEP-5710)."""
    own = plan.topology.schedulers.get("native", {})
    spec = given(schedulerName=own.get("schedulerName", ""), priorityClassName=plan.workflow.priority_class)
    return Marks(pod=PodParts(spec={**spec, **group}))


class _Words:
    """The objects of one gang in the words of one version."""

    def __init__(self, plan: Plan, gang: GangPlan, target: Target) -> None:
        self.gang = gang
        self.labels = gang_labels(plan, gang)
        self.trees = target.since(COMPONENT, TREES)
        self.api = f"{GROUP}/v1beta1" if self.trees else f"{GROUP}/v1alpha2"
        # While its gate is off (the default), 1.36 drops these fields once and refuses them when applied again
        self.preemption = self.trees or is_on(plan.topology, "WorkloadAwarePreemption") is True
        self.priority = given(priorityClassName=plan.workflow.priority_class) if self.preemption else {}

    def name(self, node: Node) -> str:
        """The object of a group: the gang's name, and the group's."""
        return f"{self.gang.name}-{node.name}" if node.name else self.gang.name

    def workload(self, made: Mapping[Shape, Template]) -> Manifest:
        """What the groups are made from."""
        return self._object(self.api, "Workload", self.gang.name, self._lists(made.values()))

    def _lists(self, made: Any) -> dict[str, Any]:
        composites = [self._template(each) for each in made if each.node.children]
        pods = [self._template(each) for each in made if each.node.pods]
        return given(compositePodGroupTemplates=composites, podGroupTemplates=pods)

    def _template(self, template: Template) -> dict[str, Any]:
        inside = self._lists(template.inside.values())
        return {"name": template.name, **self._rules(template.node), **inside}

    def groups(self, nodes: tuple[Node, ...], made: Mapping[Shape, Template], parent: str) -> Iterator[Manifest]:
        """The groups themselves, parents first."""
        for node in nodes:
            template = made[shape(node)]
            spec = {**self._above(parent), **self._from(template.name), **self._rules(node)}
            kind, api = ("CompositePodGroup", f"{GROUP}/v1alpha3") if node.children else ("PodGroup", self.api)
            yield self._object(api, kind, self.name(node), spec)
            yield from self.groups(node.children, template.inside, self.name(node))

    def _object(self, api: str, kind: str, name: str, spec: Mapping[str, Any]) -> Manifest:
        return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "labels": self.labels}, "spec": spec}

    def _above(self, parent: str) -> dict[str, Any]:
        return given(parentCompositePodGroupName=parent)

    def _from(self, template: str) -> dict[str, Any]:
        if self.trees:
            return {"workloadRef": {"workloadName": self.gang.name, "templateName": template}}
        reference = {"workloadName": self.gang.name, "podGroupTemplateName": template}
        return {"podGroupTemplateRef": {"workload": reference}}

    def _rules(self, node: Node) -> dict[str, Any]:
        """What a template and its groups say alike."""
        count = "minGroupCount" if node.children else "minCount"
        return {
            "schedulingPolicy": {"gang": {count: node.minimum}},
            **given(schedulingConstraints=node.key and {"topology": [{"key": node.key}]}),
            **self._disruption(node),
            **self.priority,
        }

    def _disruption(self, node: Node) -> dict[str, Any]:
        """A group in which nothing may be missing is evicted as a whole; the rest pod by pod, which is the default."""
        if not (node.whole and self.preemption):
            return {}
        return {"disruptionMode": {"all": {}} if self.trees else "PodGroup"}
