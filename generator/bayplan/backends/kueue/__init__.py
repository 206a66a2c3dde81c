"""Kueue 0.14 to 0.19: levels as annotations of pod templates, groups as slices of one podSet.

The rows declare what Kueue supports, by feature, amount and version. Messages and docs/schedulers.md print the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.kueue.lower import (
    LAYER_GATE,
    PodSets,
    is_pair,
    levels,
    lower,
    pod_sets_of,
    prefers_below,
    requests,
)
from bayplan.backends.table import table
from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.kube.kinds import MPIJOB, instances
from bayplan.model.backend import (
    CHAINED,
    Backend,
    Cluster,
    Declaration,
    Need,
)
from bayplan.model.manifest import Manifest, Shape, Workload
from bayplan.model.plan import (
    BOUNDED,
    CHANNEL,
    SLOTS,
    WHOLE,
    GangPlan,
    Plan,
    Pods,
    Unit,
    all_pods,
    gang_queue,
    once,
    title,
    walk,
)
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.planning import compute_domains
from bayplan.planning.fit import Impossible
from bayplan.planning.fit import prove as fit
from bayplan.planning.fit.problem import demand
from bayplan.planning.fit.search import may_lack, starving

TABLE = table("backends", "kueue")


# Needs that only Kueue has: how placements cover podSets, the size of a workload, and the flavors of pods.
#
# Then placements that Kueue does not find, and settings that the cluster needs (Kueue 0.14 to 0.19).


def needs(plan: Plan) -> tuple[Need, ...]:
    """The needs of the plan with one ComputeDomain for each gang, as bayplan folds it."""
    merged = compute_domains.merge(plan)
    firsts = [gang for gang in merged.gangs if gang.copy == 0]
    return (
        *(need for gang in firsts for need in _gang_needs(merged, gang)),
        *_dependent_gangs(merged),
        *_queues_together(merged),
        *_concurrent_gangs(merged),
        *cluster_needs(plan.topology),
    )


def _queues_together(plan: Plan) -> Iterator[Need]:
    """Gangs of one JobSet in different queues."""
    named = {gang.name: gang_queue(plan, gang) for gang in plan.gangs}
    for gang in (each for each in plan.gangs if each.copy == 0):
        if any(named.get(name, named[gang.name]) != named[gang.name] for name in gang.after):
            yield Need("queues-together", 1, (*gang.route, "dependsOn"), subject=f'gang "{gang.gang.name}"')


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    pod_sets = pod_sets_of(gang)
    seen: set[tuple[str | int, ...]] = set()
    for pod_set in pod_sets.pod_sets:
        for unit, count in pod_set.placements():
            if unit.route not in seen:
                seen.add(unit.route)
                yield from _unit_needs(gang, unit, count, pod_sets)
    for pods in (each.pods for each in pod_sets.pod_sets):
        if not _requests(pods, plan.topology):
            yield Need("flavorless-pods", 1, pods.route, subject=f'podSet "{pods.spec.name}"')
    yield from _level_needs(plan, gang, pod_sets)
    several = len(pod_sets.pod_sets)
    if several > 1 and not is_pair(pod_sets.pod_sets) and _scarce_room(plan, gang):
        yield Need("concurrent-pod-sets", several, (*gang.route, "name"), subject=title(gang, gang.root))
    if several > 1 and gang.gang.workload == "pods":
        yield Need("bare-pod-sets", several, (*gang.route, "workload"), subject=title(gang, gang.root))


def _scarce_room(plan: Plan, gang: GangPlan) -> bool:
    """Whether a podSet may take the room of another one (Kueue 0.14 to 0.19, `tas_flavor_snapshot.go`,
    FindTopologyAssignmentsForFlavor)."""
    everyone = list(all_pods(gang.root))
    units = (unit._replace(required=unit.required or unit.preferred) for unit in once(walk(gang.root)))
    return any(may_lack(unit, everyone, plan) for unit in units if unit.required or unit.route == gang.root.route)


def _unit_needs(gang: GangPlan, unit: Unit, count: int, pod_sets: PodSets) -> Iterator[Need]:
    """Whether Kueue can express a placement. More than two podSets under it are a need that all plans may have."""
    members, at = pod_sets.within(unit), (*unit.route, "placement")
    sets = {pod_set.pods.route for pod_set in members}
    if len(sets) == 1 and len(members) > 1 and not _optional(gang.root):
        yield Need("unlike-slices", len(members), at, not unit.required, title(gang, unit))
    elif len(sets) == 2 and not is_pair(members):
        yield Need("unlike-pair", len(members), at, not unit.required, title(gang, unit))
    # The shared needs cover a placement inside another one.
    elif len(members) == 1 and count > 1 and not unit.required and next(members[0].placements())[0] is unit:
        yield Need("slice-preferred", count, (*at, "preferred"), True, title(gang, unit))


def _requests(pods: Pods, topology: ClusterTopology) -> bool:
    """Whether Kueue counts anything of the pods (Kueue 0.14 to 0.19, `tas_flavorassigner.go`, onlyTASFlavor)."""
    return any(name not in (CHANNEL, WHOLE, SLOTS) and not name.startswith(BOUNDED) for name in demand(pods, topology))


def _optional(root: Unit) -> bool:
    """Whether some groups are optional: they do not fold, and the shared needs cover their loss."""
    return any(units.optional for unit in walk(root) for units in unit.groups)


def _level_needs(plan: Plan, gang: GangPlan, pod_sets: PodSets) -> Iterator[Need]:
    """Layers of slices, and preferred levels that Kueue does not accept above them."""
    deepest, route = 0, gang.route
    preferring: dict[Route, Need] = {}
    for pod_set in pod_sets.pod_sets:
        placements = list(pod_sets.expressible(pod_set))
        if placements and prefers_below(plan, pod_set, placements):
            unit = placements[0][0]
            at = (*unit.route, "placement", "preferred")
            preferring[at] = Need("finer-preferred", 1, at, True, title(gang, unit))
        if placements and len(pod_sets.within(placements[-1][0])) == 1:  # a pair has one level
            layers = len(levels(plan, pod_set, placements)[1])
            deepest, route = max((deepest, route), (layers, pod_set.pods.route[:-2]), key=lambda depth: depth[0])
    yield from preferring.values()
    if deepest:
        gated = plan.topology.gates("kueue").get(LAYER_GATE)
        feature = "gated-slice-layers" if gated else "slice-layers"
        yield Need(feature, deepest, route, subject=title(gang, gang.root))


def kind_needs(plan: Plan, workload: Workload) -> Iterator[Need]:
    """Slices of several Jobs of a JobSet: Kueue judges its Jobs too (Kueue 0.14 to 0.19, `job_webhook.go`).
    LeaderWorkerSets with more copies than `replicas`. Launchers that are part of a gang."""
    gang = workload.gangs[0]
    if workload.kind == "lws" and gang.gang.rollout and gang.gang.rollout.surge:
        yield Need("surge", gang.gang.rollout.surge, (*gang.route, "rollout", "surge"), subject=title(gang, gang.root))
    if workload.kind == MPIJOB:
        yield Need("late-launcher", 1, (*gang.route, "workload"), subject=title(gang, gang.root))
    if workload.kind != "jobset":
        return
    names = {gang.name for gang in workload.gangs}
    copied = (gang for gang in workload.gangs if gang.copies > 1)  # of these the plan has each copy
    request_of = {gang.name: requests(plan, gang) for gang in (*plan.gangs, *copied) if gang.name in names}
    for gang, pods in instances(workload):
        largest = max((layer.size for layer in request_of[gang.name][pods.name].layers), default=0)
        if largest > pods.replicas:
            yield Need("slice-of-jobs", largest // pods.replicas, gang.route, subject=title(gang, gang.root))
            return


def _dependent_gangs(plan: Plan) -> Iterator[Need]:
    """Gangs in one JobSet are one Workload."""
    waiting = [gang for gang in plan.gangs if gang.copy == 0 and gang.after]
    for gang in waiting:
        gangs = len(gang.after) + 1
        yield Need("admitted-together", gangs, (*gang.route, "dependsOn"), subject=title(gang, gang.root))
    for gang in once(each for each in plan.gangs if each.previous):
        yield Need(CHAINED, 1, (*gang.route, "atOnce"), subject=title(gang, gang.root))


def _concurrent_gangs(plan: Plan) -> Iterator[Need]:
    """Different gangs of which one may take the room of another (Kueue 0.14 to 0.19, `scheduler.go`, schedule)."""
    if last := starving(plan):
        yield Need("concurrent-gangs", 1, (*last.route, "name"), subject=title(last, last.root))


def cluster_needs(topology: ClusterTopology) -> Iterator[Need]:
    """The limits of flavors, which select nodes by their labels."""
    yield Need("flavor-count", len(topology.pools), ("topology", "spec", "pools"), subject="the topology")
    for number, pool in enumerate(topology.pools):
        at, subject = ("topology", "spec", "pools", number, "node"), f'pool "{pool.name}"'
        largest = max(len(pool.node.node_selector), len(pool.node.tolerations))
        yield Need("flavor-size", largest, at, subject=subject)


# Gangs of one JobSet must fit at the same time, although they run one after another.
#
# Kueue makes one Workload of a JobSet and looks for quota and domains for all of its podSets (Kueue 0.14 to 0.19,
# `jobset_controller.go`). It never admits a plan whose gangs fit only one after another.


def prove(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    """F659 if the gangs do not fit at the same time, or only on nodes that Kueue does not find. For one podSet, Kueue
    finds every placement on the others."""
    yield from _hidden(plan, target)
    waiting = next((gang for gang in plan.gangs if gang.after), None)
    if waiting is None:
        return
    chained = {gang.route for gang in plan.gangs if gang.previous}
    at_the_same_time = plan._replace(gangs=tuple(_at_once(gang, gang.route in chained) for gang in plan.gangs))
    if not isinstance(fit(at_the_same_time), Impossible):
        return
    message = (
        f'gang "{waiting.gang.name}" and its predecessors do not fit at the same time, but Kueue'
        f" {target.version('kueue')} admits their JobSet only if there is room for all of them"
    )
    hint = "render the gangs separately with `--gang NAME`, and start one after the other"
    sweep = next(
        (gang for gang in plan.gangs if gang.gang.replicas > 1 and sum(1 for _ in all_pods(gang.root)) == 1), None
    )
    if sweep and sweep.gang.at_once != 1:
        fewer = "a lower `atOnce`" if sweep.gang.at_once else "`atOnce`"
        hint = f'set {fewer} on gang "{sweep.gang.name}", or {hint}'
    yield error("F659", (*waiting.route, "dependsOn"), message, hint=hint)


def _hidden(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    """F659: Kueue never uses a node that is called like the coarsest domain of its pool (kueue#14009, in 0.14 to 0.19;
    pkg/cache/scheduler/tas_flavor_snapshot.go)."""
    domains = [domain for pool in plan.topology.pools for domain in pool.domains]
    nodes = sorted({node for domain in domains for node in domain.nodes if [node] == [*domain.path[:1]]})
    levels = any(unit.required or unit.preferred for gang in plan.gangs for unit in walk(gang.root))
    if nodes and levels and isinstance(fit(plan._replace(topology=plan.topology.without(nodes))), Impossible):
        message = f'{target.title("kueue")} does not use node "{nodes[0]}", which has the name of a domain'
        hint = "give the domain another label value than the node, or update Kueue to a release that finds such nodes"
        yield error(
            "F659", (*plan.gangs[0].route, "placement"), f"{message}, and the gang does not fit without", hint=hint
        )


def _at_once(gang: GangPlan, chained: bool) -> GangPlan:
    """The gang as its JobSet needs it, without waiting for others: with all copies, or as many as one Job starts.

    `chained`: whether its copies are Jobs of the JobSet, of which some wait for others.
    """
    copies = gang.gang.replicas if chained else gang.gang.at_once or gang.gang.replicas
    return gang._replace(after=(), gang=gang.gang._replace(at_once=copies))


# Features that must be on in the cluster

CODE = "F689"
TAS_GATE = "TopologyAwareScheduling"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The device class of a ComputeDomain's channel (NVIDIA DRA driver 25.3 to 0.4)."""


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """One finding for each setting."""
    return (*_gates(plan), *_bare_pods(plan, shape, target), *_integrations(shape, target), *_channels(plan, target))


def _gates(plan: Plan) -> Iterator[Diagnostic]:
    """Both gates are on by default in the versions that support them, unless the topology file states otherwise."""
    gates = plan.topology.gates("kueue")
    requested = [request for gang in plan.gangs for request in requests(plan, gang).values()]
    placed = any(request.required or request.preferred or request.layers for request in requested)
    nested = any(len(request.layers) > 1 for request in requested)
    for gate, needed in ((TAS_GATE, placed), (LAYER_GATE, nested)):
        if needed and gates.get(gate) is False:
            at = ("topology", "spec", "schedulers", "kueue", "featureGates", gate)
            message = f"Kueue ignores the placement while its feature gate {gate} is off, as the topology file states"
            hint = "enable the gate in Kueue's configuration, then set it to true here"
            yield error(CODE, at, message, hint=hint)


def _bare_pods(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    bare = next((each for each in shape.workloads if each.kind == "pods"), None)
    if bare and not target.since("kueue", "0.16"):
        version, at = target.version("kueue"), (*bare.gangs[0].route, "workload")
        message = f"Kueue {version} ignores bare pods unless its configuration enables them"
        hint = "add `pod` to `integrations.frameworks`; it is there by default since Kueue 0.16"
        yield info(CODE, at, message, hint=hint)


def _channels(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    mappings = plan.topology.schedulers.get("kueue", {}).get("deviceClassMappings", {})
    domain = next((domain for gang in plan.gangs for domain in gang.compute_domains), None)
    if domain and target.since("kueue", "0.19") and CHANNEL_CLASS not in mappings:
        message = (
            f'Kueue admits claims only of device classes that it counts; by default it does not count "{CHANNEL_CLASS}"'
        )
        hint = (
            "map it in Kueue's configuration (`resources.deviceClassMappings`), give the queue a quota of that"
            " resource, and state it in the topology file: `schedulers: {kueue: {deviceClassMappings: "
            f"{{{CHANNEL_CLASS}: RESOURCE}}}}}}`"
        )
        yield info(CODE, domain.route, message, hint=hint)


def _integrations(shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """For an existing workload: an integration that is off by default."""
    if shape.existing:
        from bayplan.backends.kueue.existing import switched_off

        yield from switched_off(shape, target)


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """Topologies, flavors and queues."""
    from bayplan.topologies import kueue

    return kueue.write(topology, target)


BACKEND = Backend(
    Declaration(
        "kueue",
        component="kueue",
        support=TABLE.support,
        features=TABLE.features,
        kinds=(
            "jobset",
            "job",
        ),  # bare pods only if a gang requests them: Kueue identifies their podSets only by requests
        folds={"jobset": "all", "job": "all"},
        kind_needs=kind_needs,
    ),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
    cluster=Cluster(cluster_objects, cluster_needs),
)
