"""Volcano 1.14.3 to 1.15: a PodGroup with subgroups for each gang, or a Volcano Job with partitions.

The rows declare what Volcano supports, by feature, amount and version. Messages and docs/schedulers.md print the
reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bayplan.backends.volcano.domains import choices, lacks_room_for_all, may_scatter, own_pods, placed_units, requests
from bayplan.backends.volcano.pod_group import (
    VOLCANO_JOB,
    group_instances,
    job_gaps,
    lower,
    policies,
    tier,
)
from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.kube import quantity
from bayplan.kube.objects import non_empty
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
from bayplan.model.manifest import Manifest, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, has_several_minimums, once, title, uses_dra, walk
from bayplan.model.target import Target
from bayplan.model.topology import GPU, HOST_LEVEL, ClusterTopology, card_resource
from bayplan.planning.fidelity import placed_depth
from bayplan.planning.fit.search import starving
from bayplan.topologies.hypernodes import writing

FEATURES: Mapping[str, Feature] = {
    "volcano-release": Feature("reliable subgroups and partitions", code="F641", firm=True),
    "nested-subgroups": Feature("groups with a placement or `minReplicas` inside others", "nested subgroups", "F638"),
    "host-tier": Feature("a placement on one node", code="F642"),
    "weightless-pods": Feature("a placement of pods without requests", code="F643"),
    "weightless-claims": Feature("a gang of pods with claims but without requests", code="F643"),
    "claims-by-domain": Feature("a placement of pods with claims", "combinations of domains to try", "F645"),
    "waiting-pods": Feature("`minReplicas` where no domain has room for all pods", code="F680"),
    "scattered-pods": Feature("pods of different size in little room", code="F690"),
    "concurrent-gangs": Feature("different gangs that run at the same time", "gangs", "F690"),
    "optional-roles": Feature("a minimum of each podSet in an optional group", code="F680"),
    "unit-name-length": Feature("long names of group instances", "characters", "F613", True),
    "whole-cpus": Feature("`numa` for pods without whole CPUs", code="F648"),
    "uneven-depth": Feature("one level at two heights", code="T450", firm=True),
    "repeated-discovered": Feature("level values that repeat, with discovered HyperNodes", code="T451"),
}
"""Features that concern only Volcano."""

RELEASE = (
    "Volcano below 1.14.3, and 1.15.0, may never start a subgroup or may remove a task with partitions from its gang"
)
USE_JOBSET = "use `workload: jobset`"
CLAIMS = (
    "Volcano tries each domain, but keeps claims only for the domain that it tried last; it starts the pods once it"
    " chooses this one"
)
WITHOUT_CLAIMS = (
    "use `computeDomain: never` and GPUs of the device plugin, remove the placement, or choose another scheduler"
)
FEW = 144
"""With so many combinations, replays of Volcano 1.15.1 mostly started within 300 sessions; with 256 few did."""

MOST_LEVELS = 2
"""Nested placements of a PodGroup: that of the gang, and one of its subgroups."""

SUPPORT = (
    *exact(
        "gang uneven-groups mixed-pod-sets required-level group-preferred rank-order optional-pods optional-groups",
        "mixed-pools repeated-values compute-domain several-compute-domains compute-domain-each network-cards",
        "network-claim pod-network fixed-address queue no-queue priority preemptible label-key-length level-count",
        "node-name-length workload-jobset workload-job workload-pods workload-volcano-job",
        "limited-copies unlimited-copies",
    ),
    # volcano-sh/volcano#4871 (1.14.1), #5189 and #5190 (1.14.2, 1.15.0), #5401 and #5402 (1.14.3, 1.15.1).
    Support("volcano-release", component="volcano", since="1.15.1"),
    Support("volcano-release", component="volcano", since="1.14.3", until="1.15"),
    not_yet_upstream(
        "volcano-release",
        RELEASE,
        "install Volcano 1.14.3, or 1.15.1 and later, and state it with its patch: `versions: {volcano: ...}`",
    ),
    Support("group-depth", up_to=MOST_LEVELS),
    not_yet_upstream(
        "group-depth",
        "a PodGroup of Volcano has one level for the gang and one for its subgroups",
        "remove a placement in between; the finer level still keeps its groups together",
    ),
    Support("nested-subgroups", up_to=1),
    not_yet_upstream(
        "nested-subgroups",
        "Volcano puts each pod into one subgroup, and cannot nest subgroups",
        "move the outer placement to the gang, or remove one of the two",
    ),
    not_yet_here(
        "host-tier",
        "bayplan writes no HyperNode for a single node, because Volcano would try all of them one by one",
        "merge the pods into one pod without a placement, or require the next coarser level",
    ),
    approximate(
        "preferred-level",
        "Volcano's soft mode names no level: it tries the finest domains first, then coarser ones until the pods fit",
        "use `required` if the level matters",
        report="warning",
    ),
    approximate(
        "required-and-preferred",
        "Volcano tries the finest domains inside the required level first, no matter which level is preferred",
        "remove `preferred`",
        report="info",
    ),
    approximate(
        "optional-pods-placed",
        "Volcano starts the pods only in a domain with room for all of them, also for those above `minReplicas`",
        "lower `replicas` if the gang must start in less room",
    ),
    approximate(
        "optional-roles",
        "Volcano counts the pods of a subgroup together, no matter which podSet they are from, so a group may start"
        " without its leader",
        "remove `minReplicas` of the podSets or of the group",
    ),
    not_yet_upstream(
        "separate",
        "Volcano packs subgroups and cannot keep them apart (volcano#5349)",
        "remove `separate`; a group that fills more than half of a domain never shares it with another one",
    ),
    never(
        "uneven-depth",
        "Volcano numbers tiers for the whole cluster, counted from the finest level, so the level would have two"
        " numbers",
        "give pools that share a level the same levels below it, or remove levels that no placement uses",
    ),
    never(
        "repeated-discovered",
        "Volcano's discovery from labels merges two domains with the same value into one",
        "use `hyperNodes: emit`, or make the values unique",
    ),
    never(
        "weightless-pods",
        "Volcano treats a pod without requests as best effort and places it without HyperNodes; claims do not count as"
        " requests",
        "set `resources` of the podSet, such as cpu",
    ),
    not_yet_upstream(
        "weightless-claims",
        "Volcano counts waiting pods without requests as started, so only a part of the gang may start; claims do not"
        " count as requests",
        'set `resources` of the podSet, such as `resources: {cpu: "1"}`',
    ),
    Support("claims-by-domain", up_to=1),
    approximate(
        "claims-by-domain",
        f"{CLAIMS}, so it may wait for minutes",
        WITHOUT_CLAIMS,
        report="warning",
        up_to=FEW,
    ),
    not_yet_upstream("claims-by-domain", f"{CLAIMS}, which with so many domains hardly ever happens", WITHOUT_CLAIMS),
    not_yet_upstream(
        "waiting-pods",
        "Volcano starts the pods only in a domain with room for all of them, also for those above `minReplicas`, and no"
        " domain has it",
        "lower `replicas` to what one domain holds, remove the level or require a coarser one, or make each pod an"
        " instance of a group with `replicas` and `minReplicas`",
    ),
    approximate(
        "scattered-pods",
        "Volcano places pods one after the other, by default on the emptiest nodes, so small pods may take the nodes"
        " that larger ones need",
        "configure volcano-scheduler.conf to fill nodes first: `nodeorder` with `leastrequested.weight: 0` and"
        " `mostrequested.weight: 1`, and `binpack` with `binpack.weight: 10`",
        report="info",
    ),
    approximate(
        "concurrent-gangs",
        "Volcano places gangs one after another and never moves them, so if room is scarce, it may not place all gangs"
        " although they fit",
        "apply the gang that needs the most room first: `--gang NAME`",
        report="info",
    ),
    Support("gpu-claim", component="volcano", since="1.15"),
    approximate(
        "gpu-claim",
        "Volcano below 1.15 does not count GPUs claimed through DRA against the queue",
        "target Volcano 1.15.1, or set `allocator: device-plugin` on the accelerator in the topology",
        report="warning",
        component="volcano",
    ),
    approximate(
        "numa",
        "Volcano aligns only CPUs, and only on nodes whose kubelet has the same policy and static CPUs",
        "set the kubelet's topologyManagerPolicy to the value of `numa`",
        report="warning",
    ),
    never(
        "whole-cpus",
        "Volcano refuses a topologyPolicy for containers that do not request whole CPUs",
        'give the podSet whole CPUs, such as `resources: {cpu: "8"}`',
    ),
    Support("unit-name-length", up_to=63),
    never(
        "unit-name-length",
        "Volcano identifies a subgroup by a label value, which has at most 63 characters",
        "shorten the names of the groups",
    ),
    never("workload-sbatch", hint=USE_JOBSET),
)


# Needs of plans and topologies that only Volcano has, its cluster-scoped objects, and settings of the cluster.


def needs(plan: Plan) -> tuple[Need, ...]:
    """The needs of the plan, once for all copies of a gang."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    release = Need("volcano-release", 1, ("workflow", "metadata", "name"))
    last = starving(plan)
    concurrent = (Need("concurrent-gangs", 1, (*last.route, "name"), subject=title(last, last.root)),) if last else ()
    inside = (need for gang in firsts for need in _gang_needs(plan, gang))
    return (release, *cluster_needs(plan.topology), *inside, *concurrent)


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """Levels of pools that do not form a tree of HyperNodes."""
    discovered = topology.schedulers.get("volcano", {}).get("hyperNodes") == "discovered"
    return (*_uneven(topology), *(_repeated(topology) if discovered else ()))


def _uneven(topology: ClusterTopology) -> Iterator[Need]:
    """Pools may differ in depth as long as they share no level, because their trees are then separate."""
    tiers: dict[str, int] = {}
    for i, pool in enumerate(topology.pools):
        for j, level in enumerate(pool.levels):
            own = tier(pool, level.name)
            if tiers.setdefault(level.label, own) != own:
                at: Route = ("topology", "spec", "pools", i, "levels", j)
                subject = f'level "{level.name}" has tier {tiers[level.label]} in another pool and {own} in this pool'
                yield Need("uneven-depth", 1, at, subject=subject)
                return


def _repeated(topology: ClusterTopology) -> Iterator[Need]:
    """Discovery identifies a domain only by the key and value of its label (Volcano 1.15, discovery/label/label.go)."""
    seen: dict[tuple[str, str], tuple[str, ...]] = {}
    for i, pool in enumerate(topology.pools):
        for domain in pool.domains:
            for j, (level, value) in enumerate(zip(pool.levels, domain.path, strict=False)):
                above = domain.path[:j]
                if seen.setdefault((level.label, value), above) != above:
                    at: Route = ("topology", "spec", "pools", i, "levels", j)
                    subject = f'level "{level.name}" has the value "{value}" under two parents'
                    yield Need("repeated-discovered", 1, at, subject=subject)
                    return


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    yield from _subgroup_needs(gang)
    claiming = frozenset(pods.name for pods in all_pods(gang.root) if _claims(plan, pods))
    subject = f'gang "{gang.gang.name}"'
    if amount := choices(plan, gang, claiming):
        yield Need("claims-by-domain", amount, gang.route, subject=subject)
    for unit in once(placed_units(gang)):
        if any(pods.elastic for pods in own_pods(gang, unit)) and lacks_room_for_all(plan, gang, unit):
            yield Need("waiting-pods", 1, (*unit.route, "placement"), subject=title(gang, unit))
    for unit in once((gang.root, *placed_units(gang))):
        if unit.required != HOST_LEVEL and may_scatter(plan, unit):
            yield Need("scattered-pods", 1, unit.route, subject=title(gang, unit))
            break
    for unit in once(walk(gang.root)):
        if unit.required or unit.preferred:
            yield from _unit_needs(plan, gang, unit)
    several = sum(pods.total for pods in all_pods(gang.root)) > 1
    required = {pods.route for unit in walk(gang.root) if unit.required for pods in all_pods(unit)}
    for pods in once(all_pods(gang.root)):
        if pods.name in claiming and pods.route not in required and not requests(pods, plan.topology) and several:
            yield Need("weightless-claims", 1, pods.route, subject=f'podSet "{pods.spec.name}"')
    for pods in once(all_pods(gang.root)):
        if pods.spec.numa and not _whole_cpus(pods):
            yield Need("whole-cpus", 1, (*pods.route, "numa"), subject=f'podSet "{pods.spec.name}"')


def _subgroup_needs(gang: GangPlan) -> Iterator[Need]:
    """Nested subgroups, long names, and separate minimums that a subgroup cannot express."""
    instances = list(group_instances(gang.root))
    depths = [(each.enclosing + 1, each.units.route) for each in instances if each.is_subgroup]
    depth, inner = max(depths, key=lambda pair: pair[0], default=(0, ()))
    if depth > 1 and not _has_nested_levels(gang):
        yield Need("nested-subgroups", depth, inner, subject=f'gang "{gang.gang.name}"')
    names = [
        (max(unit.name, policy.name, key=len), unit.route) for policy in policies(gang.root) for unit in policy.units
    ]
    name, route = max(names, key=lambda pair: len(pair[0]), default=("", ()))
    if names:
        yield Need("unit-name-length", len(name), route, subject=f'the subgroup name "{name}"')
    for route in dict.fromkeys(
        each.unit.route for each in instances if each.units.optional and has_several_minimums(each.unit)
    ):
        yield Need("optional-roles", 1, (*route, "minReplicas"), subject=f'gang "{gang.gang.name}"')


def _has_nested_levels(gang: GangPlan) -> bool:
    """Whether the need for nested levels reports nested subgroups already: the gang has a placement too."""
    return bool(gang.root.required or gang.root.preferred) and placed_depth(gang.root) > MOST_LEVELS


def _unit_needs(plan: Plan, gang: GangPlan, unit: Unit) -> Iterator[Need]:
    """What a placement needs besides the number of its tier."""
    word = "required" if unit.required else "preferred"
    at, preferred = (*unit.route, "placement", word), not unit.required
    subject = title(gang, unit)
    level = unit.required or unit.preferred
    if level == HOST_LEVEL:
        yield Need("host-tier", 1, at, preferred, subject)
    for pods in once(all_pods(unit)):
        if not requests(pods, plan.topology) and (unit.required or not _claims(plan, pods)):
            yield Need("weightless-pods", 1, pods.route, preferred, f'podSet "{pods.spec.name}"')


def _whole_cpus(pods: Pods) -> bool:
    amount = quantity.parse(pods.spec.resources.get("cpu", "0"))
    return amount > 0 and amount % 1000 == 0


# Cluster-scoped objects: HyperNodes, or the configuration of their discovery, and Queues

BUILT_IN_QUEUES = ("root", "default")
"""Queues that Volcano creates itself."""


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """The tree of HyperNodes, and the queues that the topology file names."""
    return (*writing.write(topology, target), *_queues(topology))


def _queues(topology: ClusterTopology) -> Iterator[Manifest]:
    """The queues with their numbers. Those without numbers have no limits: the cluster administrator sets them.

    The plugins capacity and proportion keep a queue below its `capability`. `deserved` is its own share (the plugin
    capacity; Volcano 1.14.3 to 1.15.1, pkg/scheduler/plugins/{capacity,proportion}).
    """
    for queue in topology.queues_or_default:
        if queue.name not in BUILT_IN_QUEUES:
            limits = {each.resource: each.limit for each in queue.quotas if not each.pool}
            shares = {each.resource: each.guaranteed for each in queue.quotas if not each.pool}
            yield {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": queue.name},
                "spec": {
                    "weight": 1,
                    "reclaimable": True,
                    **non_empty(parent=queue.parent),
                    **non_empty(capability=_amounts(limits, topology), deserved=_amounts(shares, topology)),
                },
            }


def _amounts(stated: Mapping[str, int | None], topology: ClusterTopology) -> dict[str, str]:
    """Amounts of the resources that pods request. Volcano has no resource for all kinds of cards."""
    cards = card_resource(topology)
    named = {cards if name == GPU else name: amount for name, amount in stated.items()}
    return {name: quantity.show(amount) for name, amount in named.items() if name and amount is not None}


# Settings that the cluster needs


class Switch(NamedTuple):
    """A setting that is off, or may be off, unless the administrator enables it."""

    name: str  # in `schedulers: {volcano: {featureGates: ...}}`
    need: str  # what the plan needs it for, with a verb
    lost: str  # what happens without it
    where: str  # how to enable it


TOPOLOGY_PLUGIN = Switch(
    "NetworkTopologyAware",
    "Volcano enforces placements by the plugin `network-topology-aware`",
    "without it Volcano ignores all levels",
    "add `- name: network-topology-aware` to a tier of volcano-scheduler.conf, which lacks it by default",
)
NUMA_PLUGIN = Switch(
    "NumaAware",
    "Volcano enforces NUMA policies by the plugin `numaaware`",
    "without it Volcano ignores them",
    "add `- name: numaaware` to volcano-scheduler.conf, and run the resource exporter on the nodes",
)
DRA_ARGUMENT = Switch(
    "DynamicResourceAllocation",
    "Volcano sees claims for ComputeDomains and GPUs only in the plugin `predicates`",
    "below Volcano 1.15 it ignores them by default",
    "set the argument `predicate.DynamicResourceAllocationEnable: true` of that plugin in volcano-scheduler.conf",
)
# LWS 0.7 to 0.9, pkg/webhooks/pod_webhook.go (`InjectPodGroupMetadata`)
NO_PROVIDER = Switch(
    "LeaderWorkerSetPodGroups",
    "pods of a LeaderWorkerSet keep the name of bayplan's PodGroup only if the LWS controller has no gang provider",
    "with one, it replaces the name with that of a PodGroup without levels",
    "remove `gangSchedulingManagement` from the configuration of the LWS controller",
)


def notices(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """One for each setting unless the topology file states that it is on, and what Volcano Jobs cannot express."""
    led = (NO_PROVIDER,) if any(workload.kind == "lws" for workload in shape.workloads) else ()
    for switch in (*_needed_switches(plan, target), *led):
        yield from _notice(switch, plan.topology.gates("volcano").get(switch.name))
    for workload in shape.workloads:
        for gang in workload.gangs if workload.kind == VOLCANO_JOB else ():
            if gang.copy == 0:
                yield from job_gaps(gang)


def _needed_switches(plan: Plan, target: Target) -> Iterator[Switch]:
    units = [unit for gang in plan.gangs for unit in walk(gang.root)]
    pod_sets = [pods for gang in plan.gangs for pods in all_pods(gang.root)]
    if any(unit.required or unit.preferred for unit in units):
        yield TOPOLOGY_PLUGIN
    if any(pods.spec.numa for pods in pod_sets):
        yield NUMA_PLUGIN
    if not target.since("volcano", "1.15") and _has_claims(plan):
        yield DRA_ARGUMENT


def _has_claims(plan: Plan) -> bool:
    return any(_claims(plan, pods) for gang in plan.gangs for pods in once(all_pods(gang.root)))


def _claims(plan: Plan, pods: Pods) -> bool:
    """Whether the pods claim a channel of a ComputeDomain, GPUs or network cards."""
    network = plan.topology.fabrics.get(pods.spec.fabric.name) if pods.spec.fabric else None
    dranet = network is not None and network.kind == "dranet"
    return bool(pods.compute_domain) or dranet or uses_dra(pods, plan.topology)


def _notice(switch: Switch, state: bool | None) -> Iterator[Diagnostic]:
    if state is None:
        message = f"{switch.need}; {switch.lost}"
        stated = f"`schedulers: {{volcano: {{featureGates: {{{switch.name}: true}}}}}}`"
        hint = f"{switch.where}, and state it in the topology file: {stated}"
        yield info("F689", ("workflow", "metadata", "name"), message, hint=hint)
    elif not state:
        route = ("topology", "spec", "schedulers", "volcano", "featureGates", switch.name)
        message = f"{switch.need}, which is off as the topology file states; {switch.lost}"
        yield error("F689", route, message, hint=f"{switch.where}, and correct this file")


BACKEND = Backend(
    Declaration(
        "volcano",
        component="volcano",
        support=SUPPORT,
        features=FEATURES,
        kinds=("jobset", "job", "pods", "volcano-job"),
        folds={"volcano-job": "alike"},
    ),
    lower,
    needs=needs,
    notices=notices,
    cluster=Cluster(cluster_objects, cluster_needs),
)
