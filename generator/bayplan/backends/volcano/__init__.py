"""Volcano 1.14.3 to 1.15: a PodGroup with subgroups for each gang, or a Volcano Job with partitions.

The rows declare what Volcano supports, by feature, amount and version. Messages and docs/schedulers.md print the
reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bayplan.backends.table import table
from bayplan.backends.volcano.domains import choices, lacks_room_for_all, may_scatter, own_pods, placed_units, requests
from bayplan.backends.volcano.pod_group import (
    HINT,
    VOLCANO_JOB,
    group_instances,
    job_gaps,
    lower,
    policies,
    search_order,
    tier,
)
from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.kube import quantity
from bayplan.kube.objects import non_empty
from bayplan.model.backend import (
    Backend,
    Cluster,
    Declaration,
    Need,
)
from bayplan.model.manifest import Manifest, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, has_several_minimums, once, title, uses_dra, walk
from bayplan.model.target import Target
from bayplan.model.topology import GPU, HOST_LEVEL, ClusterTopology, card_resource
from bayplan.planning.fidelity import placed_depth
from bayplan.planning.fit.search import stages, starving
from bayplan.topologies.hypernodes import writing

TABLE = table("backends", "volcano")

MOST_LEVELS = 2
"""Nested placements of a PodGroup: that of the gang, and one of its subgroups."""


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


def prove(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    """F690: a gang that runs by itself and fits, but whose subgroups Volcano never places."""
    lone = (stage[0] for stage in stages(plan.gangs) if len(stage) == 1)
    for gang in (gang for gang in lone if gang.copy == 0):
        order = search_order(plan, gang)
        fixed = gang.gang.workload == VOLCANO_JOB and order and [each.name for each in order]
        if order is None or (fixed and fixed != sorted(fixed)):
            beside = " beside what runs" if plan.occupied else ""
            message = (
                f"{title(gang, gang.root)} fits, but Volcano never finds the placement{beside}, because it places"
                " groups one after another, each in the fullest domain, and moves none of them for the next one"
            )
            hint = (
                HINT
                if fixed
                else "require coarser levels, give the groups and their pods one size, or make each group a gang"
            )
            yield error("F690", (*gang.route, "name"), message, hint=hint)


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
        support=TABLE.support,
        features=TABLE.features,
        kinds=("jobset", "job", "pods", "volcano-job"),
        folds={"volcano-job": "alike"},
    ),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
    cluster=Cluster(cluster_objects, cluster_needs),
)
