"""Koordinator 1.7 and 1.8: one PodGroup a gang, its placement as a network-topology-spec.

What it carries is here, by feature, amount and version. The reasons end up in front of users. Read in
koordinator-sh/koordinator, tags v1.7.0 and v1.8.0: pkg/scheduler/plugins/coscheduling/core/
network_topology_solver.go, network_topology_workflow.go, gang.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan.backends.koordinator.pod_group import (
    gather_strategy,
    group_sizes,
    has_no_requirement,
    has_unequal_groups,
    has_unequal_pods,
    inner_units,
    interleaved_level,
    is_interleaved,
    lower,
    optional_pods,
    placed_groups,
    units_with_all_pods,
)
from bayplan.core.diagnostics import Diagnostic, error, info
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
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods, once, title, uses_dra, walk
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.koordinator import CLUSTER_LAYER, NODE_LAYER, layer_name, level_names, longest, write

FEATURES = {
    "koordinator-unlike-groups": Feature("groups of different size or level, or pods beside them", "", "F660"),
    "koordinator-inner-levels": Feature("a level for each of several groups", "", "F661"),
    "koordinator-unlike-pods": Feature("pods of different size in a placed gang", "podSets", "F662"),
    "koordinator-elastic-placed": Feature("a placed gang that may start small", "pods left out", "F663"),
    "koordinator-claims-placed": Feature("GPUs claimed through DRA in a placed gang", "", "F664"),
    "koordinator-mixed-names": Feature("pod names that keep groups together", "", "F665", firm=True),
    "koordinator-one-chain": Feature("pools with different levels", "lists of levels", "F666", firm=True),
    "koordinator-layer-names": Feature("levels with layer names of their own", "", "F667", firm=True),
    "koordinator-inner-preferred": Feature("a preferred level of one of several groups", "", "F668"),
}
"""What only Koordinator has an opinion on."""

ALL_AT_ONCE = (
    "Koordinator plans nodes for all waiting pods of a gang at once, so a placed gang starts with all of its pods"
)
KUBERNETES_1_28 = "Koordinator 1.7 is built on Kubernetes 1.28, which knows no resource claims of today's API"
MULTIPLES = "podCountMultiple, which keeps groups whole, came with Koordinator 1.8"
NO_MULTIPLE = "leave the groups' placement out, or target Koordinator 1.8"

SUPPORT = (
    *exact(
        "gang group-depth uneven-groups mixed-pod-sets required-level preferred-level required-and-preferred",
        "group-preferred optional-pods optional-pods-placed several-compute-domains compute-domain-each network-cards",
        "pod-network fixed-address queue no-queue priority preemptible label-key-length level-count node-name-length",
        "workload-jobset workload-job workload-pods",
    ),
    Support("koordinator-inner-levels", component="koordinator", since="1.8"),
    not_yet_upstream("koordinator-inner-levels", MULTIPLES, NO_MULTIPLE),
    not_yet_upstream(
        "koordinator-unlike-groups",
        "one podCountMultiple a layer holds for all pods of a gang, so only groups of one size, at one level,"
        " and without pods beside them stay whole",
        "make the groups alike, or make a gang of its own of each kind of group",
    ),
    not_yet_upstream(
        "koordinator-unlike-pods",
        "Koordinator counts the free places of a node as if all pods of the gang were like its first one",
        "give all pods of the gang the same requests and pool, or place only the gang that needs it",
    ),
    not_yet_upstream(
        "koordinator-inner-preferred",
        "only the gang as a whole is packed; groups have multiples, which always hold",
        "use `required` on the group, or leave it out",
    ),
    not_yet_upstream(
        "optional-groups",
        "a gang group waits for all of its gangs",
        "make the group whole: leave its `minReplicas` out",
    ),
    not_yet_upstream("koordinator-elastic-placed", ALL_AT_ONCE, "leave `minReplicas` out, or the placement"),
    not_yet_upstream(
        "separate",
        "Koordinator packs groups and has no way to keep them apart",
        "leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    never(
        "mixed-pools",
        "one ClusterNetworkTopology describes the whole cluster, and a node that lacks one of its labels is left out",
        "put the pods of each pool in a gang of their own",
    ),
    never(
        "koordinator-one-chain",
        'the one ClusterNetworkTopology of a cluster, "default", is a single chain of layers, and a node that'
        " lacks the label of one is left out without a word",
        "give all pools that have levels the same list of level names, whose labels may differ, or leave the"
        " levels of a pool out",
    ),
    never(
        "koordinator-layer-names",
        "layers are called after levels in CamelCase, and two of these come out alike or like a layer that"
        " Koordinator itself has",
        "rename the level",
    ),
    never(
        "repeated-values",
        "Koordinator keeps domains by layer and label value, so equal values under two parents become one"
        " domain under the first",
        "label the nodes with values that are unique in the cluster, such as spine-a.r1",
    ),
    never(
        "koordinator-mixed-names",
        "Koordinator fills domains in the alphabetical order of pod names, and here pods of another group come between",
        "rename the group or the podSet, so that no group's name goes on where another's ends",
    ),
    Support("rank-order", up_to=10),
    approximate(
        "rank-order",
        'pods are placed in the alphabetical order of their names, so "replica-10" comes before "replica-2";'
        " every group stays whole",
        report="info",
    ),
    approximate(
        "compute-domain",
        "its planner looks at the claims of a gang's first pod alone; pods that take whole nodes come out right,"
        " but upstream does not test that",
        "use `computeDomain: never` where the pods do without NVLink between nodes",
        report="warning",
        component="koordinator",
        since="1.8",
    ),
    not_yet_upstream("compute-domain", KUBERNETES_1_28, "target Koordinator 1.8, or use `computeDomain: never`"),
    approximate(
        "network-claim",
        "its planner does not count claimed network cards, so it may plan more pods on a node than get one",
        "let pods take whole nodes, or use a device plugin",
        report="warning",
        component="koordinator",
        since="1.8",
    ),
    not_yet_upstream("network-claim", KUBERNETES_1_28, "use a device plugin"),
    approximate(
        "gpu-claim",
        "GPUs claimed through DRA do not count against an ElasticQuota",
        "use the device plugin where quotas matter",
        report="warning",
        component="koordinator",
        since="1.8",
    ),
    not_yet_upstream("gpu-claim", KUBERNETES_1_28, "use the device plugin"),
    not_yet_upstream(
        "koordinator-claims-placed",
        "its planner does not count claimed GPUs, so it plans more pods on a node than have room there, and the"
        " gang waits for ever",
        "use the device plugin, or leave the placement out",
    ),
    not_yet_here(
        "numa",
        "Koordinator has NUMA policies of its own on nodes and pods",
        "label the nodes with node.koordinator.sh/numa-topology-policy",
    ),
    not_yet_here("workload-lws", "bayplan writes no LWS for Koordinator"),
    never("workload-volcano-job", "a Volcano Job is for Volcano"),
    never("workload-sbatch", "a batch script is for Slurm"),
)


# Needs of plans and topologies that only Koordinator has, and settings that must be on in the cluster.

GATE = "AwareNetworkTopology"
"""The name under which the topology file says that `awareNetworkTopology` is set."""


def needs(plan: Plan) -> Iterator[Need]:
    """What a placed gang must be like, so that Koordinator's planner comes out right."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    for gang in firsts:
        yield from _group_needs(gang)
        yield from _pod_needs(plan, gang)
    if any(_has_level(walk(gang.root)) for gang in firsts):
        yield from cluster_needs(plan.topology)


def _group_needs(gang: GangPlan) -> Iterator[Need]:
    """Levels of groups hold by a multiple of pods a domain, and by names that keep groups together."""
    levels, subject = group_sizes(gang), f'gang "{gang.gang.name}"'
    for unit in once(inner_units(gang.root)):
        if unit.preferred:
            at = (*unit.route, "placement", "preferred")
            yield Need("koordinator-inner-preferred", 1, at, True, title(gang, unit))
    if not levels:
        return
    first = next(placed_groups(gang))
    at = (*first.route, "placement", "required")
    yield Need("koordinator-inner-levels", len(levels), at, subject=subject)
    if has_unequal_groups(gang):
        yield Need("koordinator-unlike-groups", 1, at, subject=subject)
    if level := interleaved_level(gang):
        unit = next(unit for unit in placed_groups(gang) if unit.required == level)
        yield Need("koordinator-mixed-names", 1, (*unit.route, "name"), subject=subject)


def _pod_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    """The planner counts places for all pods at once, and all as one size. Where a level is only preferred, losing it
    is only a warning."""
    if not _has_level(units_with_all_pods(gang.root)) and not group_sizes(gang):
        return
    soft, subject = has_no_requirement(gang), f'gang "{gang.gang.name}"'
    pod_sets = once(all_pods(gang.root))
    if has_unequal_pods(plan, gang):
        yield Need("koordinator-unlike-pods", len(pod_sets), (*gang.route, "name"), soft, subject)
    if left := optional_pods(gang):
        small = next(pods for pods in pod_sets if pods.elastic)
        yield Need("koordinator-elastic-placed", left, (*small.route, "minReplicas"), soft, subject)
    if claimed := next((pods for pods in pod_sets if uses_dra(pods, plan.topology)), None):
        yield Need("koordinator-claims-placed", 1, (*claimed.route, "accelerator"), soft, subject)


def _has_level(units: Iterable[Unit]) -> bool:
    """Whether any of the units asks for a placement."""
    return any(unit.required or unit.preferred for unit in units)


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """What must be switched on; and pods that their controller calls otherwise than bayplan would."""
    return (*_switched_off(plan), *_interleaved_pods(shape))


def _switched_off(plan: Plan) -> Iterator[Diagnostic]:
    """The planner is off unless the scheduler's configuration has it on, and then no placed gang starts: the second pod
    finds no plan (network_topology_workflow.go PreFilter; config/v1/defaults.go, 1.7 and 1.8)."""
    placed = next((gang for gang in plan.gangs if gather_strategy(plan, gang).placed), None)
    on = plan.topology.gates("koordinator").get(GATE)
    if placed is None or on:
        return
    if on is False:
        message = f"the topology says that {GATE} is off; without it a placed gang never starts on Koordinator"
        hint = "set awareNetworkTopology: true in the CoschedulingArgs of koord-scheduler"
        at = ("topology", "spec", "schedulers", "koordinator", "featureGates", GATE)
        yield error("F689", at, message, hint=hint)
        return
    message = (
        "koord-scheduler needs `awareNetworkTopology: true` in its CoschedulingArgs, off by default: without it"
        ' a placed gang stays pending ("no planned pods")'
    )
    hint = f"once it is on, say so in the topology: `schedulers: {{koordinator: {{featureGates: {{{GATE}: true}}}}}}`"
    yield info("F689", (*placed.route, "placement"), message, hint=hint)


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """One chain of layers for the whole cluster, each with a name of its own."""
    return (*_chain_needs(topology), *_name_needs(topology))


def _chain_needs(topology: ClusterTopology) -> Iterator[Need]:
    """A pool may lack the finest layer: its nodes then stand for themselves (tree.go getTreeNodesMeta). A label may
    name the domains of one layer only, in all pools."""
    names = longest(topology)
    level_of: dict[str, str] = {}
    lists = {level_names(pool) for pool in topology.pools if pool.levels}
    for number, pool in enumerate(topology.pools):
        own_levels = {level.label: level.name for level in pool.levels}
        ambiguous = any(level_of.setdefault(label, name) != name for label, name in own_levels.items())
        if ambiguous or (pool.levels and level_names(pool) not in (names, names[:-1])):
            route = ("topology", "spec", "pools", number, "levels")
            yield Need("koordinator-one-chain", len(lists), route, subject=f'pool "{pool.name}"')


def _name_needs(topology: ClusterTopology) -> Iterator[Need]:
    for number, pool in enumerate(topology.pools):
        taken = {NODE_LAYER, CLUSTER_LAYER}
        for place, level in enumerate(pool.levels):
            if layer_name(level.name) in taken:
                route = ("topology", "spec", "pools", number, "levels", place, "name")
                yield Need("koordinator-layer-names", 1, route, subject=f'level "{level.name}"')
            taken.add(layer_name(level.name))


RAY = ("raycluster", "rayjob")
"""Kinds whose pods have names that end in letters by chance."""


def _interleaved_pods(shape: Shape) -> Iterator[Diagnostic]:
    """F665: pods of one group between those of another, by the names that their controller gives them."""
    workload = shape.workloads[0]
    gang = workload.gangs[0]
    for level in group_sizes(gang) if shape.existing else ():
        if _is_interleaved(gang, level, workload.kind):
            unit = next(unit for unit in placed_groups(gang) if unit.required == level)
            message = (
                f'gang "{gang.gang.name}": Koordinator fills domains in the alphabetical order of pod names, and here'
                " pods of another group come between"
            )
            hint = "let a group take pod templates whose names follow each other in the alphabet"
            yield error("F665", unit.route, message, hint=hint)


def _is_interleaved(gang: GangPlan, level: str, kind: str) -> bool:
    units = [unit for unit in placed_groups(gang) if unit.required == level]
    owner = {_stem(pods.spec.name, kind): unit.name for unit in units for pods in all_pods(unit)}
    random = kind in RAY and any(one != other and other.startswith(one) for one in owner for other in owner)
    return random or is_interleaved(owner)


def _stem(name: str, kind: str) -> str:
    """What the names of a template's pods begin with, after that of the workload; letters by chance end those of Ray
    (KubeRay 1.4, utils.PodName)."""
    return f"{name}-worker-" if kind in RAY and name != "head" else f"{name}-"


BACKEND = Backend(
    Declaration("koordinator", component="koordinator", support=SUPPORT, features=FEATURES),
    lower,
    needs=needs,
    notices=notices,
    cluster=Cluster(write, cluster_needs),
)
"""Nothing folds: with a replicatedJob for each group instance, pod names begin with the group, and sort with it."""
