"""KAI and Grove: the constraints and queues of PodCliqueSets, from which Grove and KAI make PodGroups.

Grove v0.1.0-alpha.10 to alpha.12-rc1 makes PodGangs, and KAI's podgrouper a PodGroup of each (KAI 0.13 to 0.17,
pkg/podgrouper/podgrouper/plugins/grove). Grove's main branch makes the PodGroups itself (internal/scheduler/kai).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.backends.kai import pod_group
from bayplan.backends.kai.pod_group import QUEUE, topology_of
from bayplan.kube.grove import API_VERSION, DYNAMO_QUEUE, MNNVL
from bayplan.kube.kinds import GROVE, instances
from bayplan.kube.kinds.podcliqueset import clique_name, is_clique, scaling_group, units_of
from bayplan.kube.objects import mapping, non_empty
from bayplan.model.backend import Need
from bayplan.model.manifest import Lowered, Manifest, Marks, Meta, PodParts, Workload
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, gang_queue, walk
from bayplan.model.target import Target
from bayplan.model.topology import HOST, ClusterTopology, makes_channels

PREEMPTIBILITY = "kai.scheduler/preemptibility"


def place(plan: Plan, workload: Workload, target: Target) -> Lowered:
    """The marks of the cliques. Grove and KAI make the PodGroups."""
    gang = workload.gangs[0]
    packed = workload.kind == GROVE and target.since("kai", "0.13")  # Dynamo has only required levels
    constraints = {key: _constraint(plan, gang, unit, packed) for key, unit in units_of(gang)}
    if packed:
        constraints = _nested(plan, gang, constraints)
    shard = pod_group.node_pool(plan, gang)
    queue = {QUEUE: gang_queue(plan, gang), **shard}
    if workload.kind == GROVE:
        preemptible = gang.gang.preemptible
        words = {True: "preemptible", False: "non-preemptible"}
        owner = Meta({**queue, **({} if preemptible is None else {PREEMPTIBILITY: words[preemptible]})})
    else:  # Dynamo writes the queue into the cliques
        owner, queue = Meta(shard, {DYNAMO_QUEUE: gang_queue(plan, gang)}), {}
    owner = owner._replace(spec=non_empty(**constraints))
    name = plan.topology.scheduler_name("kai", pod_group.SCHEDULER)
    marks = {
        (each.name, pods.name): Marks(
            owner, pod=PodParts(labels=queue, annotations=_channel(plan, gang, pods), spec={"schedulerName": name})
        )
        for each, pods in instances(workload)
    }
    return Lowered((), marks)


def _constraint(plan: Plan, gang: GangPlan, unit: Unit, packed: bool) -> dict[str, Any]:
    """Levels by name, which are the domains of the binding. `packed`: a required level is also preferred, as in
    PodGroups."""
    preferred = unit.preferred or (unit.required if packed else "")
    topologies = {topology_of(plan, gang, pods.pool) for pods in all_pods(unit)}
    if not (unit.required or preferred) or len(topologies) > 1:
        return {}
    return {"topologyName": topologies.pop(), "pack": non_empty(required=unit.required, preferred=preferred)}


def _nested(plan: Plan, gang: GangPlan, constraints: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The constraints with no preferred level that is broader than that of what is around, which Grove refuses
    (internal/webhook/admission/pcs/validation/topologyconstraints.go). What is in the narrower domain is in both."""
    inner = {id(unit): key for key, unit in units_of(gang)}
    found = dict(constraints)
    for around in (gang.root, *(units.members[0] for units in gang.root.groups)):
        outer = mapping(found.get(inner.get(id(around), "")), "pack").get("preferred")
        names = [level.name for level in _levels(plan, next(all_pods(around)))]
        for unit in walk(around) if outer in names else ():
            pack = mapping(found.get(inner.get(id(unit), "")), "pack")
            if pack.get("preferred") in names[: names.index(outer)]:
                found[inner[id(unit)]] = {**found[inner[id(unit)]], "pack": {**pack, "preferred": outer}}
    return found


def _channel(plan: Plan, gang: GangPlan, pods: Pods) -> dict[str, str]:
    """The group of cliques that share a ComputeDomain of Grove."""
    domain = next((each for each in gang.compute_domains if each.name == pods.compute_domain), None)
    if not (domain and makes_channels(plan.topology)):
        return {}
    unit = domain.name.removeprefix(gang.name).removeprefix("-")
    return {MNNVL: unit or "all"}


def bindings(topology: ClusterTopology) -> Iterator[Manifest]:
    """A ClusterTopologyBinding for each Topology, with the names of the pools' levels. KAI's Topology has its name."""
    scheduler = topology.scheduler_name("kai", pod_group.SCHEDULER)
    for name, pool in {pod_group.topology_name(topology, each.name): each for each in reversed(topology.pools)}.items():
        yield {
            "apiVersion": API_VERSION,
            "kind": "ClusterTopologyBinding",
            "metadata": {"name": name},
            "spec": {
                "levels": [{"domain": level.name, "key": level.label} for level in (*pool.levels, HOST)],
                "schedulerTopologyBindings": [{"schedulerName": scheduler, "topologyReference": name}],
            },
        }


def kind_needs(plan: Plan, workload: Workload) -> Iterator[Need]:
    """What a PodCliqueSet needs of Grove."""
    gang = workload.gangs[0]
    subject = f'gang "{gang.gang.name}"'
    yield from _depth(gang)
    topologies = {topology_of(plan, gang, pods.pool) for _, unit in _constrained(gang) for pods in all_pods(unit)}
    if len(topologies) > 1:
        yield Need("grove-topologies", len(topologies), gang.route, subject=subject)
    labels = [level.label for pods in all_pods(gang.root) for level in _levels(plan, pods)]
    if longest := max(labels, key=len, default=""):
        yield Need("grove-key-length", len(longest), gang.route, subject=f'the label "{longest}"')
    if gang.gang.rollout and gang.gang.rollout.surge:
        yield Need("grove-surge", gang.gang.rollout.surge, (*gang.route, "rollout", "surge"), subject=subject)
    yield from _start_names(gang)
    for units in gang.root.groups if gang.root.required else ():
        if units.minimum < units.members[0].copies:
            route = (*units.route, "minReplicas")
            yield Need("grove-scaled", units.members[0].copies - units.minimum, route, subject=f'group "{units.name}"')


def _start_names(gang: GangPlan) -> Iterator[Need]:
    """PodCliques that others wait for, and whose names others begin with (refreshReadyPodsOfPodClique in
    operator/initc/internal/wait.go)."""
    named = {pods.name: (pods, f"{_scaled(gang, pods)}{clique_name(gang, pods)}") for pods in all_pods(gang.root)}
    awaited = {name for pods, _ in named.values() for name in pods.spec.starts_after}
    for pods, name in named.values():
        if pods.spec.name in awaited:
            for other, longer in named.values():
                if longer != name and longer.startswith(name):
                    yield Need("grove-start-names", 1, other.route, subject=f'podSet "{other.spec.name}"')


def _scaled(gang: GangPlan, pods: Pods) -> str:
    """What is before the clique's name in that of its PodClique: the scaling group, with the number of its first
    replica."""
    units = scaling_group(gang, pods)
    return f"{units.name}-0-" if units else ""


def _constrained(gang: GangPlan) -> Iterator[tuple[str, Unit]]:
    return (each for each in units_of(gang) if each[1].required or each[1].preferred)


def _levels(plan: Plan, pods: Pods) -> tuple[Any, ...]:
    pool = plan.topology.pool(pods.pool)
    return (*pool.levels, HOST) if pool else ()


def _depth(gang: GangPlan) -> Iterator[Need]:
    """Groups inside groups, unless each is one clique; and instances of a group that differ."""
    for units in gang.root.groups:
        for inner in units.members[0].groups:
            if not is_clique(inner):
                yield Need("grove-depth", 2, inner.route, subject=f'group "{inner.name}"')
                break
        if len(units.members) > 1:
            yield Need("grove-uneven", len(units.members), units.route, subject=f'group "{units.name}"')
