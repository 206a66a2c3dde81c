"""What only Kueue is asked for: how placements lie over podSets, what a workload holds, which flavor a pod finds.

Where it does not find a placement that exists, and what must be switched on in the cluster (Kueue 0.14 to 0.19).
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.kueue.lower import LAYER_GATE, PodSet, PodSets, is_pair, pod_sets_of, requests
from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.model.backend import Need
from bayplan.model.manifest import Manifest, Shape
from bayplan.model.plan import GangPlan, Plan, Unit, title, walk
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.planning import compute_domains
from bayplan.planning.fit import Impossible
from bayplan.planning.fit import prove as fit


def needs(plan: Plan) -> tuple[Need, ...]:
    """Of the plan as it will be folded: with one ComputeDomain a gang."""
    merged = compute_domains.merge(plan)
    firsts = [gang for gang in merged.gangs if gang.copy == 0]
    return (
        *(need for gang in firsts for need in _gang_needs(merged, gang)),
        *_dependent_gangs(merged),
        *cluster_needs(plan.topology),
    )


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    pod_sets = pod_sets_of(gang)
    seen: set[tuple[str | int, ...]] = set()
    for pod_set in pod_sets.pod_sets:
        for unit, count in pod_set.placements():
            if unit.route not in seen:
                seen.add(unit.route)
                yield from _unit_needs(gang, unit, count, pod_sets)
    yield from _layer_needs(plan, gang, pod_sets)
    several = len(pod_sets.pod_sets)
    if several > 1 and gang.gang.workload == "pods":
        yield Need("bare-pod-sets", several, (*gang.route, "workload"), subject=title(gang, gang.root))


def _unit_needs(gang: GangPlan, unit: Unit, count: int, pod_sets: PodSets) -> Iterator[Need]:
    """Whether Kueue can be told of a placement. More than two podSets under it are a need that all plans may have."""
    members, at = pod_sets.within(unit), (*unit.route, "placement")
    sets = {pod_set.pods.route for pod_set in members}
    if len(sets) == 1 and len(members) > 1 and not _optional(gang.root):
        yield Need("unlike-slices", len(members), at, not unit.required, title(gang, unit))
    elif len(sets) == 2 and not is_pair(members):
        yield Need("unlike-pair", len(members), at, not unit.required, title(gang, unit))
    elif len(members) == 1 and count > 1 and not unit.required and not _placed_outside(members[0], unit):
        yield Need("slice-preferred", count, (*at, "preferred"), True, title(gang, unit))


def _optional(root: Unit) -> bool:
    """Whether some groups are optional: they fold not, and that loss is one of all plans."""
    return any(units.minimum < len(units.members) for unit in walk(root) for units in unit.groups)


def _placed_outside(pod_set: PodSet, unit: Unit) -> bool:
    """Whether a placement lies around the unit's: that loss is one of all plans."""
    return next(iter(pod_set.placements()))[0] is not unit


def _layer_needs(plan: Plan, gang: GangPlan, pod_sets: PodSets) -> Iterator[Need]:
    gated = plan.topology.gates("kueue").get(LAYER_GATE)
    depths = ((_layers(pod_set, pod_sets), pod_set.pods.route) for pod_set in pod_sets.pod_sets)
    deepest, route = max(depths, key=lambda depth: depth[0])
    if deepest:
        feature = "gated-slice-layers" if gated else "slice-layers"
        yield Need(feature, deepest, route[:-2], subject=title(gang, gang.root))


def _layers(pod_set: PodSet, pod_sets: PodSets) -> int:
    """Required levels below that of the podSet. A pair has one level whatever lies around it."""
    placements = list(pod_sets.expressible(pod_set))
    if not placements or len(pod_sets.within(placements[-1][0])) > 1:
        return 0
    slices = placements[1:] if placements[0][1] == 1 else placements
    return sum(bool(unit.required) for unit, _ in slices)


def _dependent_gangs(plan: Plan) -> Iterator[Need]:
    """Gangs in one JobSet are one Workload."""
    waiting = [gang for gang in plan.gangs if gang.copy == 0 and gang.after]
    for gang in waiting:
        gangs = len(gang.after) + 1
        yield Need("admitted-together", gangs, (*gang.route, "dependsOn"), subject=title(gang, gang.root))


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """A flavor finds its nodes by their labels."""
    return tuple(_flavor_needs(topology))


def _flavor_needs(topology: ClusterTopology) -> Iterator[Need]:
    yield Need("flavor-count", len(topology.pools), ("topology", "spec", "pools"))
    for number, pool in enumerate(topology.pools):
        at, subject = ("topology", "spec", "pools", number, "node"), f'pool "{pool.name}"'
        largest = max(len(pool.node.node_selector), len(pool.node.tolerations))
        yield Need("flavor-size", largest, at, subject=subject)


# Gangs of one JobSet have to fit at the same time, although they run one after the other.
#
# Kueue makes one Workload of a JobSet and looks for quota and domains for all of its podSets (Kueue 0.14 to 0.19,
# `jobset_controller.go`): a plan that fits only step by step is never admitted.


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """F659 where the gangs are proven not to fit without their order. For one podSet, Kueue finds what there is."""
    waiting = next((gang for gang in plan.gangs if gang.after), None)
    if waiting is None:
        return ()
    at_the_same_time = plan._replace(gangs=tuple(gang._replace(after=()) for gang in plan.gangs))
    if not isinstance(fit(at_the_same_time), Impossible):
        return ()
    message = (
        f'gang "{waiting.gang.name}" and the gangs that it waits for do not fit at the same time, and'
        f" Kueue {target.version('kueue')} admits their JobSet only when there is room for all of them"
    )
    hint = "render the gangs apart with `--gang NAME` and start one after the other"
    return (error("F659", (*waiting.route, "dependsOn"), message, hint=hint),)


# What must be switched on for the manifests to mean what they say

CODE = "F689"
TAS_GATE = "TopologyAwareScheduling"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The device class of a ComputeDomain's channel (NVIDIA DRA driver 25.3 to 0.4)."""


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """One finding for each thing."""
    return (*_gates(plan), *_bare_pods(plan, shape, target), *_integrations(shape, target), *_channels(plan, target))


def _gates(plan: Plan) -> Iterator[Diagnostic]:
    """Both gates are on by default in versions that the plan can be for, unless the topology says otherwise."""
    gates = plan.topology.gates("kueue")
    requested = [request for gang in plan.gangs for request in requests(plan, gang).values()]
    placed = any(request.required or request.preferred or request.layers for request in requested)
    nested = any(len(request.layers) > 1 for request in requested)
    for gate, needed in ((TAS_GATE, placed), (LAYER_GATE, nested)):
        if needed and gates.get(gate) is False:
            at = ("topology", "spec", "schedulers", "kueue", "featureGates", gate)
            message = f"Kueue's feature gate {gate} is off, and the placement depends on it"
            yield error(CODE, at, message, hint="switch it on in Kueue's configuration, then say so here")


def _bare_pods(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    bare = next((each for each in shape.workloads if each.kind == "pods"), None)
    if bare and not target.since("kueue", "0.16"):
        version, at = target.version("kueue"), (*bare.gangs[0].route, "workload")
        message = f"Kueue {version} leaves bare pods alone unless its configuration says so"
        yield info(CODE, at, message, hint='add "pod" to `integrations.frameworks`; 0.16 has it by default')


def _channels(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    mappings = plan.topology.schedulers.get("kueue", {}).get("deviceClassMappings", {})
    domain = next((domain for gang in plan.gangs for domain in gang.compute_domains), None)
    if domain and target.since("kueue", "0.19") and CHANNEL_CLASS not in mappings:
        message = f'Kueue admits claims only of device classes that it counts, and "{CHANNEL_CLASS}" is none by default'
        hint = (
            "map it in Kueue's configuration (`resources.deviceClassMappings`), give the queue a quota of that"
            " resource, and say so in the topology: `schedulers: {kueue: {deviceClassMappings}}`"
        )
        yield info(CODE, domain.route, message, hint=hint)


def _integrations(shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """Of a workload that exists already: an integration that is not on by default."""
    if shape.given:
        from bayplan.backends.kueue.existing import switched_off

        yield from switched_off(shape, target)


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """Topologies, flavors and queues."""
    from bayplan.topologies import kueue

    return kueue.write(topology, target)
