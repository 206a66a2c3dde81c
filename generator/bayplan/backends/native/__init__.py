"""kube-scheduler of Kubernetes 1.35 to 1.37: Workload, PodGroup and CompositePodGroup (`scheduling.k8s.io`).

The rows declare what it supports, by feature, amount and version. Messages and docs/schedulers.md print the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bayplan.backends.native.groups import (
    COMPONENT,
    SINCE_LEVELS,
    SINCE_TREES,
    SINCE_WORKLOADS,
    Node,
    Template,
    TemplateKey,
    depth,
    group_trees,
    has_repeated_values,
    levels,
    lower,
    templates,
    walk_nodes,
)
from bayplan.backends.table import table
from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.model.backend import (
    Backend,
    Cluster,
    Declaration,
    Need,
)
from bayplan.model.manifest import Shape
from bayplan.model.plan import (
    GangPlan,
    Plan,
    Unit,
    all_pods,
    has_placed_groups,
    has_several_minimums,
    once,
    title,
    walk,
)
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.planning.fit.problem import demand
from bayplan.planning.fit.search import may_lack, starving

TABLE = table("backends", "native")

KUBERNETES = "kubernetes"


# Needs that only kube-scheduler has, and its feature gates, which are off by default.

NEWEST = Target({"kubernetes": SINCE_TREES})
"""Amounts are those of the newest version; the rows limit them for older ones."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """What groups, templates, labels and preemption need, and gangs that compete for nodes."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    gang_needs = (need for gang in firsts for need in _gang_needs(plan, gang))
    return (*gang_needs, *_concurrent_gangs(plan), *_group_priority(plan))


def _group_priority(plan: Plan) -> Iterator[Need]:
    """The priority of groups, unless the topology file states whether Kubernetes uses it."""
    if plan.workflow.priority_class and "WorkloadAwarePreemption" not in plan.topology.gates("native"):
        yield Need("group-priority", 1, ("workflow", "spec", "priorityClassName"))


def _concurrent_gangs(plan: Plan) -> Iterator[Need]:
    """Different gangs of which one may take the room of another: kube-scheduler takes them in any order
    (schedule_one_podgroup.go)."""
    if last := starving(plan):
        yield Need("concurrent-gangs", 1, (*last.route, "name"), subject=title(last, last.root))


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    subject, at = f'gang "{gang.gang.name}"', (*gang.route, "name")
    if gang.gang.preemptible is False:
        yield Need("never-preempted", 1, (*gang.route, "preemptible"), subject=subject)
    roots = group_trees(plan, gang.root, NEWEST)
    templates_by_key = templates(roots, gang.gang.name)
    if (height := max(map(depth, roots))) > _placed_depth(gang.root):
        yield Need("group-objects", height, at, subject=subject)
    yield Need("templates", _longest_list(templates_by_key), at, subject=subject)
    longest = max(_names(templates_by_key), key=len)
    yield Need("template-name-length", len(longest), at, subject=f'the template name "{longest}"')
    if not gang.root.required and (count := _separate_pod_groups(gang.root)) > 1:
        yield Need("groups-together", count, at, subject=subject)
    for unit in once(walk(gang.root)):
        yield from _unit_needs(plan, gang, unit)


def _unit_needs(plan: Plan, gang: GangPlan, unit: Unit) -> Iterator[Need]:
    subject = title(gang, unit)
    at = (*unit.route, "placement", "required")
    if (unit.pods and has_several_minimums(unit)) or (
        not unit.name and has_several_minimums(unit) and not has_placed_groups(unit)
    ):
        yield Need("several-minimums", len(list(all_pods(unit))), (*unit.route, "podSets"), subject=subject)
    alone = (unit.required or unit is gang.root) and not has_placed_groups(unit)
    if alone and _has_unequal_pods(plan, unit) and may_lack(unit, all_pods(gang.root), plan):
        place = at if unit.required else unit.route
        yield Need("unequal-pods", len(once(all_pods(unit))), place, subject=subject)
    around = _enclosing_level(gang.root, unit)
    if any(has_repeated_values(pool, level, around) for pool, level in levels(plan, unit)):
        yield Need("repeated-domains", 1, at, subject=subject)


def _has_unequal_pods(plan: Plan, unit: Unit) -> bool:
    """Whether podSets of one PodGroup request different amounts of a node."""
    requests = [demand(pods, plan.topology) for pods in once(all_pods(unit))]
    return any(each != requests[0] for each in requests)


def _placed_depth(unit: Unit) -> int:
    below = max((_placed_depth(units.members[0]) for units in unit.groups), default=0)
    return below + bool(unit.required)


def _longest_list(templates_by_key: Mapping[TemplateKey, Template]) -> int:
    composites = sum(1 for each in templates_by_key.values() if each.node.children)
    inside = (_longest_list(each.inside) for each in templates_by_key.values())
    return max(composites, len(templates_by_key) - composites, *inside, 0)


def _names(templates_by_key: Mapping[TemplateKey, Template]) -> Iterator[str]:
    for each in templates_by_key.values():
        yield each.name
        yield from _names(each.inside)


def _separate_pod_groups(unit: Unit) -> int:
    """The number of PodGroups of a gang without a group over them; 1 if it has at most one level."""
    if unit.required or not has_placed_groups(unit):
        return 1
    return sum(_separate_pod_groups(member) for units in unit.groups for member in units.members)


def _enclosing_level(root: Unit, wanted: Unit) -> str:
    """The level of the nearest unit with a placement around a unit."""
    for units in root.groups:
        for member in units.members:
            if member is wanted:
                return root.required
            if any(each is wanted for each in walk(member)):
                return _enclosing_level(member, wanted) or root.required
    return ""


# Feature gates (kube_features.go, 1.35.0 to 1.37.0).
#
# While a gate is off, the API server silently drops the fields that belong to it (pkg/registry/scheduling,
# strategy.go), so a missing gate looks like success. It may refuse only a second apply of the same object.


class FeatureGate(NamedTuple):
    """A feature gate, which components need it, and what for."""

    gate: str
    where: str
    why: str


BOTH, EVERYWHERE = "kube-apiserver and kube-scheduler", "kube-apiserver, kube-controller-manager and kube-scheduler"


def needed_gates(plan: Plan, target: Target) -> Iterator[FeatureGate]:
    """The gates that the plan's objects depend on."""
    nodes = [node for gang in plan.gangs for node, _ in walk_nodes(group_trees(plan, gang.root, target))]
    served = f"with the API {' and '.join(sorted(apis(nodes, target)))} served (--runtime-config)"
    where = (
        EVERYWHERE if target.since(COMPONENT, SINCE_LEVELS) else BOTH
    )  # PodGroups have a finalizer, and a controller for it
    yield FeatureGate("GenericWorkload", where, f"for Workloads and the pods that name them, {served}")
    if not target.since(COMPONENT, SINCE_TREES):
        yield FeatureGate("GangScheduling", "kube-scheduler", "to start all pods of a gang or none")
    tree = any(node.children for node in nodes)
    if tree or any(node.key for node in nodes):  # CompositePodGroup depends on it, with or without levels
        yield FeatureGate(
            "TopologyAwareWorkloadScheduling", BOTH, "for levels, which Kubernetes silently drops while it is off"
        )
    if tree:
        yield FeatureGate("CompositePodGroup", EVERYWHERE, "for nested groups")


def apis(nodes: list[Node], target: Target) -> set[str]:
    """The API versions of the objects; Kubernetes serves none of them by default."""
    if target.since(COMPONENT, SINCE_TREES):
        composite = {"scheduling.k8s.io/v1alpha3"} if any(node.children for node in nodes) else set()
        return {"scheduling.k8s.io/v1beta1", *composite}
    return {"scheduling.k8s.io/v1alpha2" if target.since(COMPONENT, SINCE_LEVELS) else "scheduling.k8s.io/v1alpha1"}


def notices(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """One for each gate, unless the topology file states that it is on."""
    for gate, where, why in needed_gates(plan, target) if target.since(COMPONENT, SINCE_WORKLOADS) else ():
        stated = plan.topology.gates("native").get(gate)
        needs = f"Kubernetes {target.version(COMPONENT)} needs the feature gate {gate} in {where} {why}"
        if stated is False:
            route = ("topology", "spec", "schedulers", "native", "featureGates", gate)
            hint = "enable it and correct this file, or choose another scheduler"
            yield error("F689", route, f"{needs}; the topology file states that it is off", hint=hint)
        elif stated is None:
            hint = (
                f"enable it, and state it in the topology: `schedulers: {{native: {{featureGates: {{{gate}: true}}}}}}`"
            )
            yield info("F689", ("topology", "metadata", "name"), f"{needs}; it is off by default", hint=hint)


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """One need, so that a user who exports the levels learns that there are no objects."""
    return (Need("levels-as-objects", 1, ("topology", "metadata", "name")),)


BACKEND = Backend(
    Declaration("native", component=KUBERNETES, support=TABLE.support, features=TABLE.features),
    lower,
    needs=needs,
    notices=notices,
    cluster=Cluster(needs=cluster_needs),
)
"""Nothing folds: a pod template names one PodGroup, so each group with a placement needs its own templates."""
