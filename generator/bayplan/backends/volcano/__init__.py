"""Volcano 1.14.3 to 1.15: a PodGroup with subgroups for each gang, or a Volcano Job with partitions.

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.volcano.pod_group import (
    VOLCANO_JOB,
    GroupInstance,
    group_instances,
    job_gaps,
    lower,
    policies,
    tier,
)
from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.core.values import NamedTuple
from bayplan.kube import quantity
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
from bayplan.model.topology import HOST_LEVEL, ClusterTopology
from bayplan.planning.fit.problem import BOUNDED, CHANNEL, SLOTS, WHOLE, demand
from bayplan.topologies.hypernodes import writing

FEATURES: Mapping[str, Feature] = {
    "volcano-release": Feature("gangs with subgroups or partitions", code="F641", firm=True),
    "nested-subgroups": Feature("placed or optional groups inside others", "levels of subgroups", "F640"),
    "host-tier": Feature("pods that must share one node", code="F642"),
    "weightless-pods": Feature("placed pods that request nothing", code="F643"),
    "optional-roles": Feature("a least number of each podSet in a group that is optional", code="F646"),
    "unit-name-length": Feature("long names of group instances", "characters", "F647", True),
    "whole-cpus": Feature("a NUMA alignment of whole CPUs", code="F648"),
    "uneven-depth": Feature("one level at two heights", code="T450", firm=True),
    "repeated-discovered": Feature("level values that repeat, with discovered HyperNodes", code="T451"),
}
"""What only Volcano is asked for."""

RELEASE = "below 1.14.3, and in 1.15.0, a partition may drop its gang and a subgroup may never start"
USE_JOBSET = "use `workload: jobset`"
SUPPORT = (
    *exact(
        "gang uneven-groups mixed-pod-sets required-level group-preferred rank-order optional-pods optional-groups",
        "mixed-pools repeated-values compute-domain several-compute-domains compute-domain-each network-cards",
        "network-claim pod-network fixed-address queue no-queue priority preemptible label-key-length level-count",
        "node-name-length workload-jobset workload-job workload-pods workload-volcano-job",
    ),
    # volcano-sh/volcano#4871 (1.14.1), #5189 and #5190 (1.14.2, 1.15.0), #5401 and #5402 (1.14.3, 1.15.1).
    Support("volcano-release", component="volcano", since="1.15.1"),
    Support("volcano-release", component="volcano", since="1.14.3", until="1.15"),
    not_yet_upstream(
        "volcano-release",
        RELEASE,
        "install and target Volcano 1.14.3, or 1.15.1 and later (`versions: {volcano: ...}`, with the patch)",
    ),
    Support("group-depth", up_to=2),
    not_yet_upstream(
        "group-depth",
        "a PodGroup has one level for the gang and one for its subgroups",
        "drop the placement in between: the finer one keeps its groups together all the same",
    ),
    Support("nested-subgroups", up_to=1),
    not_yet_upstream(
        "nested-subgroups",
        "a pod belongs to one subgroup, and subgroups hold no others",
        "put the outer placement on the gang, or drop one of the two",
    ),
    not_yet_here(
        "host-tier",
        "HyperNodes end at the finest level above the host; one for each node would be tried one by one",
        "make one pod of it, or require the next coarser level",
    ),
    approximate(
        "preferred-level",
        "soft mode names no level: Volcano tries the finest domains first and widens until the pods fit",
        "use `required` where the level matters",
        report="warning",
    ),
    approximate(
        "required-and-preferred",
        "within the required level Volcano tries the finest domains first, whichever level is preferred",
        "leave `preferred` out: finer domains are tried first anyway",
        report="info",
    ),
    approximate(
        "optional-pods-placed",
        "Volcano chooses a domain for the pods that must start, and the others wait if it has no room for them",
        "leave `minReplicas` out where every pod matters",
    ),
    approximate(
        "optional-roles",
        "a subgroup counts its pods together, of whichever podSet they are",
        "leave `minReplicas` of the podSets or of the group out",
    ),
    not_yet_upstream(
        "separate",
        "Volcano packs subgroups and has no way to keep them apart (volcano#5349)",
        "leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    never(
        "uneven-depth",
        "a tier is one number for the whole cluster, counted from the finest level, so it would have two",
        "give pools that share a level the same levels below it, or leave levels out where nothing is placed",
    ),
    never(
        "repeated-discovered",
        "discovery from labels takes two domains of one value for one domain",
        "use `hyperNodes: emit`, or make the values unique",
    ),
    never(
        "weightless-pods",
        "Volcano takes a pod without requests for best effort and places it without a look at HyperNodes;"
        " claims are no requests",
        "give the podSet `resources`, such as cpu",
    ),
    Support("gpu-claim", component="volcano", since="1.15"),
    approximate(
        "gpu-claim",
        "GPUs claimed through DRA do not count against the queue below Volcano 1.15",
        "target Volcano 1.15.1, or use the device plugin",
        report="warning",
        component="volcano",
    ),
    approximate(
        "numa",
        "Volcano aligns CPUs alone, and only on nodes whose kubelet has this very policy and static CPUs",
        "set the kubelet's topologyManagerPolicy to the same word",
        report="warning",
    ),
    never(
        "whole-cpus",
        "Volcano refuses a topologyPolicy for containers whose CPU request is no whole number",
        'give the podSet whole CPUs, such as `resources: {cpu: "8"}`',
    ),
    Support("unit-name-length", up_to=63),
    never(
        "unit-name-length",
        "a subgroup is known by a label, whose value has 63 characters at most",
        "shorten the names of the groups",
    ),
    not_yet_upstream(
        "workload-lws",
        "the LeaderWorkerSet controller makes one PodGroup for each of its groups, without a topology",
        USE_JOBSET,
    ),
    never("workload-sbatch", "an sbatch script is for Slurm", USE_JOBSET),
)


# Needs of plans and topologies that only Volcano has, its cluster-scoped objects, and settings that must be on.


def needs(plan: Plan) -> tuple[Need, ...]:
    """All of a plan's own, each once for all copies of a gang."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    release = Need("volcano-release", 1, ("workflow", "metadata", "name"))
    return (release, *cluster_needs(plan.topology), *(need for gang in firsts for need in _gang_needs(plan, gang)))


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """What makes the pools' levels no tree of HyperNodes."""
    discovered = topology.schedulers.get("volcano", {}).get("hyperNodes") == "discovered"
    return (*_uneven(topology), *(_repeated(topology) if discovered else ()))


def _uneven(topology: ClusterTopology) -> Iterator[Need]:
    """Pools may differ in depth as long as no level of theirs is the same one: their trees then never meet."""
    tiers: dict[str, int] = {}
    for i, pool in enumerate(topology.pools):
        for j, level in enumerate(pool.levels):
            own = tier(pool, level.name)
            if tiers.setdefault(level.label, own) != own:
                at: Route = ("topology", "spec", "pools", i, "levels", j)
                subject = f'level "{level.name}", of tier {tiers[level.label]} in another pool and {own} in this one'
                yield Need("uneven-depth", 1, at, subject=subject)
                return


def _repeated(topology: ClusterTopology) -> Iterator[Need]:
    """Discovery knows a domain by the key and value of its label alone (Volcano 1.15, discovery/label/label.go)."""
    seen: dict[tuple[str, str], tuple[str, ...]] = {}
    for i, pool in enumerate(topology.pools):
        for domain in pool.domains:
            for j, (level, value) in enumerate(zip(pool.levels, domain.path, strict=False)):
                above = domain.path[:j]
                if seen.setdefault((level.label, value), above) != above:
                    at: Route = ("topology", "spec", "pools", i, "levels", j)
                    subject = f'level "{level.name}", where "{value}" stands under two parents'
                    yield Need("repeated-discovered", 1, at, subject=subject)
                    return


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    yield from _subgroup_needs(gang)
    for unit in once(walk(gang.root)):
        if unit.required or unit.preferred:
            yield from _unit_needs(plan, gang, unit)
    for pods in once(all_pods(gang.root)):
        if pods.spec.numa and not _whole_cpus(pods):
            yield Need("whole-cpus", 1, (*pods.route, "numa"), subject=f'podSet "{pods.spec.name}"')


def _subgroup_needs(gang: GangPlan) -> Iterator[Need]:
    """Subgroups that stand inside others, long names, and minimums that a subgroup cannot tell apart."""
    instances = list(group_instances(gang.root))
    depths = [(each.enclosing + 1, each.units.route) for each in instances if each.is_subgroup]
    depth, inner = max(depths, key=lambda pair: pair[0], default=(0, ()))
    if depth > 1 and not _is_placed_depth(gang, instances):
        yield Need("nested-subgroups", depth, inner, subject=f'gang "{gang.gang.name}"')
    names = [
        (max(len(unit.name), len(policy.name)), unit.route) for policy in policies(gang.root) for unit in policy.units
    ]
    length, route = max(names, key=lambda pair: pair[0], default=(0, ()))
    if names:
        yield Need("unit-name-length", length, route)
    for route in dict.fromkeys(
        each.unit.route for each in instances if each.units.optional and has_several_minimums(each.unit)
    ):
        yield Need("optional-roles", 1, (*route, "minReplicas"), subject=f'gang "{gang.gang.name}"')


def _is_placed_depth(gang: GangPlan, instances: list[GroupInstance]) -> bool:
    """Whether the depth of placements says it already."""
    placed = bool(gang.root.required or gang.root.preferred)
    return placed and any(each.enclosing and (each.unit.required or each.unit.preferred) for each in instances)


def _unit_needs(plan: Plan, gang: GangPlan, unit: Unit) -> Iterator[Need]:
    """What a placement asks beyond a level's number."""
    word = "required" if unit.required else "preferred"
    at, preferred = (*unit.route, "placement", word), not unit.required
    subject = title(gang, unit)
    level = unit.required or unit.preferred
    if level == HOST_LEVEL:
        yield Need("host-tier", 1, at, preferred, subject)
    for pods in once(all_pods(unit)):
        requested = {name for name in demand(pods, plan.topology) if not name.startswith(BOUNDED)}
        if pods.spec.accelerator and uses_dra(pods, plan.topology):
            requested -= {f"accelerator:{pods.spec.accelerator.name}"}
        if not requested - {CHANNEL, WHOLE, SLOTS}:
            yield Need("weightless-pods", 1, pods.route, preferred, f'podSet "{pods.spec.name}"')


def _whole_cpus(pods: Pods) -> bool:
    amount = quantity.parse(pods.spec.resources.get("cpu", "0"))
    return amount > 0 and amount % 1000 == 0


# Cluster-scoped objects: HyperNodes, or the configuration of their discovery, and Queues

BUILT_IN_QUEUES = ("root", "default")
"""Queues that Volcano makes itself."""


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """The tree of HyperNodes, and the queues that the topology file names."""
    return (*writing.write(topology, target), *_queues(topology))


def _queues(topology: ClusterTopology) -> Iterator[Manifest]:
    """Queues without limits: what they may use is the cluster administrator's to set."""
    default = topology.defaults.get("queue")
    for name in topology.queues or ((default,) if default else ()):
        if name not in BUILT_IN_QUEUES:
            yield {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": name},
                "spec": {"weight": 1, "reclaimable": True},
            }


# Features that must be on in the cluster


class Switch(NamedTuple):
    """Something that is off, or may be, unless the administrator has turned it on."""

    name: str  # in `schedulers: {volcano: {featureGates: ...}}`
    need: str  # what the plan wants of it
    lost: str  # what happens without it
    where: str  # how it is turned on


TOPOLOGY_PLUGIN = Switch(
    "NetworkTopologyAware",
    "placements are enforced by the plugin `network-topology-aware`",
    "without it Volcano ignores every level",
    "add `- name: network-topology-aware` to a tier of volcano-scheduler.conf, which lacks it by default",
)
NUMA_PLUGIN = Switch(
    "NumaAware",
    "NUMA policies are kept by the plugin `numaaware`",
    "without it the pods are placed as if they had none",
    "add `- name: numaaware` to volcano-scheduler.conf, and run the resource exporter on the nodes",
)
DRA_ARGUMENT = Switch(
    "DynamicResourceAllocation",
    "claims on ComputeDomains and GPUs are seen by the plugin `predicates` alone",
    "below Volcano 1.15 it does not look at them by default",
    "give that plugin the argument `predicate.DynamicResourceAllocationEnable: true` in volcano-scheduler.conf",
)


def notices(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """One for each switch, silent where the topology says that it is on; and what Volcano Jobs cannot hold."""
    for switch in _needed_switches(plan, target):
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
    if any(gang.compute_domains for gang in plan.gangs):
        return True
    networks = plan.topology.fabrics
    pod_sets = [pods for gang in plan.gangs for pods in once(all_pods(gang.root))]
    requests = [pods.spec.fabric for pods in pod_sets]
    attached = [networks[each.name].kind for each in requests if each and each.name in networks]
    return "dranet" in attached or any(uses_dra(pods, plan.topology) for pods in pod_sets)


def _notice(switch: Switch, state: bool | None) -> Iterator[Diagnostic]:
    if state is None:
        message = f"{switch.need}; {switch.lost}"
        yield info("F689", ("workflow", "metadata", "name"), message, hint=switch.where)
    elif not state:
        route = ("topology", "spec", "schedulers", "volcano", "featureGates", switch.name)
        message = f"{switch.need}, which this cluster has switched off; {switch.lost}"
        yield error("F689", route, message, hint=switch.where)


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
