"""kube-scheduler of Kubernetes 1.35 to 1.37: Workload, PodGroup and CompositePodGroup (scheduling.k8s.io).

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.core.values import NamedTuple
from bayplan.model.backend import (
    Backend,
    Cluster,
    Declaration,
    Feature,
    Need,
    Support,
    approximate,
    exact,
    never,
    not_yet_here,
    not_yet_upstream,
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

KUBERNETES = "kubernetes"
GREEDY = (
    "kube-scheduler 1.37 places groups one after the other, each with as many pods as it can, so optional pods may take"
    " the room that another group needs to start"
)

FEATURES: Mapping[str, Feature] = {
    "groups-together": Feature("placed groups that start together or not at all", "groups", "F670"),
    "group-objects": Feature("groups within groups", "objects from the gang down to its pods", "F671", firm=True),
    "templates": Feature("groups of different kinds side by side", "templates in one list", "F672", firm=True),
    "template-name-length": Feature("long names of groups", "characters", "F673", firm=True),
    "never-preempted": Feature("work that is never preempted", "", "F674"),
    "several-minimums": Feature("a minimum for each of several podSets", "podSets", "F675"),
    "repeated-domains": Feature("a level whose values repeat under other parents", "", "F676"),
    "unequal-pods": Feature("pods of different size under one level", "podSets", "F677"),
    "levels-as-objects": Feature("levels as objects of their own", code="F678"),
}

SUPPORT = (
    *exact(
        "mixed-pod-sets optional-pods mixed-pools repeated-values rank-order compute-domain compute-domain-each",
        "several-compute-domains network-cards network-claim pod-network fixed-address gpu-claim no-queue preemptible",
        "level-count workload-job workload-pods",
    ),
    Support("gang", component=KUBERNETES, since="1.35"),
    never(
        "gang",
        "the Workload API came with Kubernetes 1.35",
        "target Kubernetes 1.35 or later, or choose another scheduler",
    ),
    Support("required-level", component=KUBERNETES, since="1.36"),
    not_yet_upstream(
        "required-level",
        "PodGroups have levels since Kubernetes 1.36; before, pods are only counted",
        "target Kubernetes 1.36 or later, or choose another scheduler",
    ),
    not_yet_upstream(
        "preferred-level",
        "a PodGroup names the one level that it must share, and none that it should",
        "make it `required`, or leave it out",
    ),
    not_yet_upstream("required-and-preferred", "a PodGroup names one level", "leave out the preferred level"),
    not_yet_upstream(
        "group-preferred",
        "a PodGroup names the one level that it must share, and none that it should",
        "make it `required`, or leave it out",
    ),
    Support("group-depth", up_to=1, component=KUBERNETES, since="1.36"),
    Support("group-depth", up_to=4, component=KUBERNETES, since="1.37"),
    never(
        "group-depth",
        "a tree of groups is at most 4 deep",
        "drop a level between the outermost and the innermost",
        component=KUBERNETES,
        since="1.37",
    ),
    not_yet_upstream(
        "group-depth",
        "PodGroups have levels since Kubernetes 1.36, and groups within groups since 1.37",
        "target Kubernetes 1.37",
        component=KUBERNETES,
        until="1.36",
    ),
    not_yet_upstream(
        "group-depth",
        "groups within groups (CompositePodGroup) came with Kubernetes 1.37",
        "target Kubernetes 1.37, or keep the outermost level alone",
    ),
    Support("groups-together", component=KUBERNETES, since="1.37"),
    Support("groups-together", component=KUBERNETES, until="1.36"),  # 1.35 counts all pods of a gang together
    not_yet_upstream(
        "groups-together",
        "below Kubernetes 1.37 each placed group is a gang of its own, and nothing ties them together",
        "target Kubernetes 1.37, give the gang itself a level, or make each group a gang",
    ),
    Support("group-objects", up_to=4),
    never(
        "group-objects",
        "a tree of groups is at most 4 deep, and groups with minimums of their own take objects too",
        "nest fewer groups, or leave `minReplicas` out",
    ),
    Support("templates", up_to=8),
    never(
        "templates",
        "a Workload lists at most 8 templates side by side",
        "nest groups, make several alike, or split the gang",
    ),
    Support("template-name-length", up_to=63),
    never(
        "template-name-length",
        "a template's name is a DNS label of 63 characters at most",
        "shorten the names of the groups",
    ),
    approximate(
        "uneven-groups",
        "kube-scheduler places groups in the order of their creation and takes none back, so where room is"
        " scarce a small group may take the domain that a large one needs",
        "name the largest group first",
        report="info",
    ),
    approximate(
        "unequal-pods",
        "kube-scheduler places the pods of a group one after the other and takes none back, so where room is"
        " scarce they may not be placed although they fit",
        "put podSets of different size into groups of their own",
        report="info",
    ),
    approximate(
        "optional-pods-placed",
        "kube-scheduler chooses a domain for the pods that must start, and the others wait if it has no room; or"
        " they take the room that the next group needs",
        "leave `minReplicas` out where every pod matters",
    ),
    Support("several-minimums", component=KUBERNETES, since="1.37"),
    not_yet_upstream(
        "several-minimums",
        "below Kubernetes 1.37 a group has one minimum, which any of its pods can fill",
        "target Kubernetes 1.37, or leave `minReplicas` out",
    ),
    approximate("optional-groups", GREEDY, report="warning", component=KUBERNETES, since="1.37"),
    not_yet_upstream(
        "optional-groups",
        "below Kubernetes 1.37 there is no minimum of groups",
        "target Kubernetes 1.37, or make the group whole",
    ),
    not_yet_upstream(
        "separate",
        "kube-scheduler keeps groups together and has no way to keep them apart",
        "leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    never(
        "repeated-domains",
        "kube-scheduler tells domains apart by the value of one label, so equal values under different parents"
        " are one domain to it",
        "place what is around it by the coarser level (Kubernetes 1.37), or give the label unique values",
    ),
    approximate(
        "levels-as-objects",
        "it has no object for a topology and reads the labels of nodes as they are: there is nothing to apply",
        "see that the nodes carry the labels of the levels: `kubectl get nodes -L LABEL`",
        report="info",
    ),
    never(
        "numa",
        "kube-scheduler does not see NUMA nodes; the kubelet's Topology Manager aligns what a node gets",
        "set the kubelet's topologyManagerPolicy on these nodes, and leave `numa` out",
    ),
    approximate(
        "queue",
        "kube-scheduler has no queues: work starts once it fits, within the ResourceQuotas of its namespace",
        "leave the queue out, or put Kueue in front",
        report="warning",
    ),
    Support("priority", component=KUBERNETES, since="1.37"),
    Support("priority", component=KUBERNETES, until="1.36"),
    approximate(
        "priority",
        "in Kubernetes 1.36 the pods carry the priority; where the feature gate WorkloadAwarePreemption is on,"
        " that of their groups counts instead, which is written only if the topology says so",
        "say it: `schedulers: {native: {featureGates: {WorkloadAwarePreemption: true}}}`",
        report="info",
    ),
    never(
        "never-preempted",
        "kube-scheduler preempts by priority alone",
        "name a priority class above all others in `spec.priorityClassName`, and leave `preemptible` out",
    ),
    Support("label-key-length", up_to=317),
    Support("node-name-length", up_to=253),
    not_yet_here(
        "workload-jobset",
        "Kubernetes 1.35 marks pods with `workloadRef`, which JobSet 0.11 alone keeps; 0.12 drops it",
        "use `workload: job` or `workload: pods`, or target Kubernetes 1.36",
        component=KUBERNETES,
        since="1.35",
        until="1.36",
    ),
    Support("workload-jobset", component="jobset", since="0.12"),
    never(
        "workload-jobset",
        "JobSet below 0.12 drops `schedulingGroup` from its pod templates without a word",
        "target JobSet 0.12 or later, or use `workload: job` or `workload: pods`",
    ),
    never(
        "workload-lws",
        "a LeaderWorkerSet has one pod template for all of its groups, so its pods can name one PodGroup only",
    ),
    never("workload-volcano-job", "a Volcano Job is for Volcano"),
    never("workload-sbatch", "a batch script is for Slurm"),
)


# Needs that only kube-scheduler has, and the feature gates that must be on: all are off by default.

NEWEST = Target({"kubernetes": SINCE_TREES})
"""Amounts are those of the version that holds most; the rows say what older ones make of them."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """Gaps of groups, templates, labels and preemption."""
    return tuple(need for gang in plan.gangs if gang.copy == 0 for need in _gang_needs(plan, gang))


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    subject, at = f'gang "{gang.gang.name}"', (*gang.route, "name")
    if gang.gang.preemptible is False:
        yield Need("never-preempted", 1, (*gang.route, "preemptible"), subject=subject)
    roots = group_trees(plan, gang.root, NEWEST)
    templates_by_key = templates(roots, gang.gang.name)
    if (height := max(map(depth, roots))) > _placed_depth(gang.root):
        yield Need("group-objects", height, at, subject=subject)
    yield Need("templates", _longest_list(templates_by_key), at, subject=subject)
    yield Need("template-name-length", max(map(len, _names(templates_by_key))), at, subject=subject)
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
    if unit.required and not has_placed_groups(unit) and _has_unequal_pods(plan, unit):
        yield Need("unequal-pods", len(once(all_pods(unit))), at, subject=subject)
    around = _enclosing_level(gang.root, unit)
    if any(has_repeated_values(pool, level, around) for pool, level in levels(plan, unit)):
        yield Need("repeated-domains", 1, at, subject=subject)


def _has_unequal_pods(plan: Plan, unit: Unit) -> bool:
    """Whether podSets under one level ask different amounts of a node."""
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
    """How many PodGroups a gang would fall into without a group over them; 1 where it has one level or none."""
    if unit.required or not has_placed_groups(unit):
        return 1
    return sum(_separate_pod_groups(member) for units in unit.groups for member in units.members)


def _enclosing_level(root: Unit, wanted: Unit) -> str:
    """The level that already keeps together what is around a unit: that of the nearest placed unit above it."""
    for units in root.groups:
        for member in units.members:
            if member is wanted:
                return root.required
            if any(each is wanted for each in walk(member)):
                return _enclosing_level(member, wanted) or root.required
    return ""


# Feature gates (kube_features.go, 1.35.0 to 1.37.0).
#
# While a gate is off, the API server drops the fields that belong to it and warns of nothing (pkg/registry/scheduling,
# strategy.go), so a missing gate looks like success. Only a second apply of the same object may be refused.


class FeatureGate(NamedTuple):
    """A feature gate, where it is needed and what for."""

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
            "TopologyAwareWorkloadScheduling", BOTH, "for levels, which are dropped without a word while it is off"
        )
    if tree:
        yield FeatureGate("CompositePodGroup", EVERYWHERE, "for groups of groups")


def apis(nodes: list[Node], target: Target) -> set[str]:
    """The API versions of what is written; none of them is served by default."""
    if target.since(COMPONENT, SINCE_TREES):
        composite = {"scheduling.k8s.io/v1alpha3"} if any(node.children for node in nodes) else set()
        return {"scheduling.k8s.io/v1beta1", *composite}
    return {"scheduling.k8s.io/v1alpha2" if target.since(COMPONENT, SINCE_LEVELS) else "scheduling.k8s.io/v1alpha1"}


def notices(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """One for each gate, unless the topology file says that it is on."""
    for gate, where, why in needed_gates(plan, target) if target.since(COMPONENT, SINCE_WORKLOADS) else ():
        stated = plan.topology.gates("native").get(gate)
        needs = f"Kubernetes {target.version(COMPONENT)} needs the feature gate {gate} in {where} {why}"
        if stated is False:
            route = ("topology", "spec", "schedulers", "native", "featureGates", gate)
            hint = "switch it on, or choose another scheduler"
            yield error("F689", route, f"{needs}; the topology says that it is off", hint=hint)
        elif stated is None:
            hint = (
                f"once it is on, say so in the topology: `schedulers: {{native: {{featureGates: {{{gate}: true}}}}}}`"
            )
            yield info("F689", ("topology", "metadata", "name"), f"{needs}; it is off by default", hint=hint)


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """Reported once, so that nobody looks for the objects of an export that writes nothing."""
    return (Need("levels-as-objects", 1, ("topology", "metadata", "name")),)


BACKEND = Backend(
    Declaration("native", component=KUBERNETES, support=SUPPORT, features=FEATURES),
    lower,
    needs=needs,
    notices=notices,
    cluster=Cluster(needs=cluster_needs),
)
"""Nothing folds: a pod template names one PodGroup, so every placed group needs templates of its own."""
