"""A gang as a PodGroup (scheduling.run.ai/v2alpha2), the marks that bind pods to it, and KAI's Topologies and Queues.

All versions from 0.10 to 0.17 accept this shape (KAI `podgroup_types.go`, `podgroup_webhook.go`): the root and every
leaf have a minMember, and a group in between has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from bayplan.backends.kai.estimate import Order
from bayplan.core.diagnostics import Route
from bayplan.kube.kinds import GROVE, gang_labels
from bayplan.kube.objects import non_empty
from bayplan.model.backend import Need
from bayplan.model.manifest import Lowered, Manifest, Marks, Meta, PodParts, Shape
from bayplan.model.plan import (
    GangPlan,
    Plan,
    Pods,
    Unit,
    all_pods,
    gang_queue,
    minimum,
    name_hash,
    once,
    plan_queues,
    queue_route,
    title,
    uses_dra,
    walk,
)
from bayplan.model.target import Target
from bayplan.model.topology import HOST, ClusterTopology, Pool
from bayplan.planning.fit.search import stages, starving

SCHEDULER = "kai-scheduler"
POD_GROUP = "pod-group-name"
SUBGROUP = "kai.scheduler/subgroup-name"
QUEUE = "kai.scheduler/queue"
NODE_POOL = "kai.scheduler/node-pool"
SKIP = "kai.scheduler/skip-podgrouper"
TIMINGS = ("preemptionDelay", "stalenessGracePeriod")


def needs(plan: Plan) -> tuple[Need, ...]:
    """Limits of subgroup names, and settings, device classes and queues that not every version supports."""
    units = (unit for gang in plan.gangs for unit in walk(gang.root))
    names = [(unit.name if len(unit.pods) == 1 else pods.name, unit.route) for unit in units for pods in unit.pods]
    name, route = max(names, key=lambda named: len(named[0]), default=("", ()))
    timings = (
        Need("timings", 1, (*gang.route, "backends", "kai", key), subject=f'gang "{gang.gang.name}"')
        for gang in plan.gangs
        for key in TIMINGS
        if gang.copy == 0 and key in gang.gang.backends.get("kai", {})
    )
    longest = Need("unit-name-length", len(name), route, subject=f'the subgroup name "{name}"')
    last = starving(plan)
    concurrent = (Need("concurrent-gangs", 1, (*last.route, "name"), subject=title(last, last.root)),) if last else ()
    return (longest, *timings, *_together(plan), *_retries(plan), *_uncounted(plan), *_parentless(plan), *concurrent)


def _together(plan: Plan) -> Iterator[Need]:
    """Optional groups inside a required level."""
    found: dict[Route, Need] = {}
    for gang in plan.gangs:
        for around in walk(gang.root) if gang.copy == 0 and gang.gang.workload != GROVE else ():
            for units in (units for each in walk(around) for units in each.groups if around.required):
                if units.optional:
                    route, subject = (*units.route, "minReplicas"), f'group "{units.name}" in one {around.required}'
                    found[route] = Need("optional-groups-together", 1, route, subject=subject)
    yield from found.values()


def _retries(plan: Plan) -> Iterator[Need]:
    """PodSets whose pods start again inside a level that other podSets require too."""
    found: dict[Route, Need] = {}
    for gang in plan.gangs:
        for around in walk(gang.root) if gang.copy == 0 else ():
            inside = list(all_pods(around)) if around.required else []
            for pods in inside if len(inside) > 1 else ():
                if pods.spec.retry_on_exit_codes:
                    route, subject = (
                        (*pods.route, "retryOnExitCodes"),
                        f'podSet "{pods.spec.name}" in one {around.required}',
                    )
                    found[route] = Need("retries-together", 1, route, subject=subject)
    yield from found.values()


def _parentless(plan: Plan) -> Iterator[Need]:
    """Only a warning: in the cluster, the queue may have a parent that the topology file does not name."""
    for name, gang in (
        plan_queues(plan).items() if not plan.topology.schedulers.get("kai", {}).get("parentQueue") else ()
    ):
        route = queue_route(plan, gang) or ("topology", "spec", "defaults", "queue")
        yield Need("parentless-queue", 1, route, preferred=True, subject=f'queue "{name}"')


def _uncounted(plan: Plan) -> Iterator[Need]:
    """Device classes that KAI does not count as GPUs (0.13 to 0.17: `deviceClassName` must contain "gpu")."""
    pod_sets = (pods for gang in plan.gangs if gang.copy == 0 for pods in all_pods(gang.root))
    for pods in once(pods for pods in pod_sets if pods.spec.accelerator):
        accelerator = pods.spec.accelerator
        device_class = plan.topology.accelerators[accelerator.name].device_class if accelerator else ""
        if uses_dra(pods, plan.topology) and "gpu" not in (device_class or "gpu"):
            subject = f'podSet "{pods.spec.name}"'
            yield Need("uncounted-claim", 1, (*pods.route, "accelerator"), preferred=True, subject=subject)


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """One PodGroup for each gang; group, subgroup, queue and the skip mark on its pods."""
    called = {gang.name: order(plan, gang, target).names for gang in plan.gangs}
    marks = {
        (gang.name, pods.name): _marks(plan, gang, names.get(name, name), target)
        for gang in plan.gangs
        for names, leaves in ((called[gang.name], leaf_units(gang.root, target)),)
        for unit in walk(gang.root)
        for pods in unit.pods
        for name in (leaf_name(unit, pods, leaves),)
    }
    return Lowered(tuple(_pod_group(plan, gang, target, called[gang.name]) for gang in plan.gangs), marks)


def order(plan: Plan, gang: GangPlan, target: Target) -> Order:
    """In which order of subgroups KAI finds nodes for a gang.

    Only for a gang with unlike parts that runs by itself: KAI finds nodes for equal parts, and what other gangs leave
    depends on their order.
    """
    unlike = any(
        len(unit.groups) + len(unit.pods) > 1
        or any(len({minimum(each) for each in units.members}) > 1 for units in unit.groups)
        for unit in walk(gang.root)
    )
    if not unlike or any(gang in stage and len(stage) > 1 for stage in stages(plan.gangs)):
        return Order()
    from bayplan.backends.kai import search

    return search.order(plan, gang, target, leaf_units(gang.root, target))


def _pod_group(plan: Plan, gang: GangPlan, target: Target, names: Mapping[str, str]) -> Manifest:
    constraints, leaves = partial(_topology_constraint, plan, gang, target), leaf_units(gang.root, target)
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": pod_group_name(plan, gang, target),
            "labels": {**gang_labels(plan, gang), **node_pool(plan, gang)},
        },
        "spec": {
            "queue": gang_queue(plan, gang),
            **non_empty(priorityClassName=plan.workflow.priority_class),
            **preemptibility(gang),
            **_own_settings(gang, target),
            "minMember": minimum(gang.root),
            **constraints(gang.root),
            **non_empty(
                subGroups=[
                    _without_younger_fields(_renamed(group, names), target)
                    for group in _sub_groups(gang.root, leaves, constraints)
                ]
            ),
        },
    }


def pod_group_name(plan: Plan, gang: GangPlan, target: Target) -> str:
    """KAI up to 0.17 identifies PodGroups only by name, over all namespaces (KAI#2095); a hash makes names unique."""
    if target.since("kai", "0.18"):
        return gang.name
    return f"{gang.name}-{name_hash(plan, gang)}"


def preemptibility(gang: GangPlan) -> dict[str, str]:
    """The field of a PodGroup; empty if KAI decides by the priority."""
    if gang.gang.preemptible is None:
        return {}
    return {"preemptibility": "preemptible" if gang.gang.preemptible else "non-preemptible"}


def _own_settings(gang: GangPlan, target: Target) -> dict[str, Any]:
    """Fields of `backends: {kai: ...}` that PodGroups have under the same name.

    KAI treats a gang with optional groups as stale from the start unless the grace period is negative (since 0.17).
    """
    own = gang.gang.backends.get("kai", {})
    optional = any(units.optional for unit in walk(gang.root) for units in unit.groups)
    wanted = {**({"stalenessGracePeriod": "-1s"} if optional else {}), **own}
    fields = (*(TIMINGS if target.since("kai", "0.17") else ()), "markUnschedulable", "schedulingBackoff")
    return {key: wanted[key] for key in fields if key in wanted}


Constraints = Callable[[Unit], dict[str, Any]]


def _sub_groups(unit: Unit, leaves: frozenset[str], constraints: Constraints, parent: str = "") -> Iterator[Manifest]:
    """The subgroups below a unit. Instances of an optional group have a parent that states how many must start."""
    for units in unit.groups:
        above = parent
        if units.optional:
            yield {"name": units.name, **non_empty(parent=parent), "minSubGroup": units.minimum}
            above = units.name
        for member in units.members:
            yield from _unit(member, leaves, constraints, above)
    if unit.name not in leaves:
        for pods in unit.pods:
            yield {"name": pods.name, **non_empty(parent=parent), "minMember": pods.minimum}


def _renamed(group: Manifest, names: Mapping[str, str]) -> Manifest:
    return {key: names.get(value, value) if key in ("name", "parent") else value for key, value in group.items()}


def _without_younger_fields(group: Manifest, target: Target) -> Manifest:
    """KAI has minSubGroup since 0.15; older CRDs lack it, and KAI then waits for all children."""
    return group if target.since("kai", "0.15") else {k: v for k, v in group.items() if k != "minSubGroup"}


def _unit(unit: Unit, leaves: frozenset[str], constraints: Constraints, parent: str) -> Iterator[Manifest]:
    """One group instance: a leaf, or a group with leaves below."""
    minimum_of_leaf = {"minMember": unit.pods[0].minimum} if unit.name in leaves else {}
    yield {"name": unit.name, **non_empty(parent=parent), **minimum_of_leaf, **constraints(unit)}
    yield from _sub_groups(unit, leaves, constraints, unit.name)


def leaf_units(root: Unit, target: Target) -> frozenset[str]:
    """The names of units whose pods need no subgroups of their own: units with one podSet.

    KAI below 0.13 ignores leaves beside a subgroup with children (KAI#840, subgroupset.go), so there such a unit is a
    group with one leaf.
    """
    mixed = target.since("kai", "0.13")
    flat = [root]
    for unit in walk(root):
        apart = [units.members for units in unit.groups if units.optional]
        beside = tuple(member for units in unit.groups if not units.optional for member in units.members)
        for members in (beside, *apart):
            if mixed or (all(len(each.pods) == 1 for each in members) and (members is not beside or not apart)):
                flat += members
    return frozenset(unit.name for unit in flat if len(unit.pods) == 1)


def leaf_name(unit: Unit, pods: Pods, leaves: frozenset[str]) -> str:
    """The subgroup of a podSet instance; empty when the PodGroup has none."""
    return unit.name if unit.name in leaves else pods.name


def _topology_constraint(plan: Plan, gang: GangPlan, target: Target, unit: Unit) -> dict[str, Any]:
    """Since 0.13 a required level is also preferred. Otherwise KAI finds no domain if all nodes share the next level
    too. KAI below 0.13 refuses the pair (KAI#834)."""
    preferred = unit.preferred or (unit.required if target.since("kai", "0.13") else "")
    pools = dict.fromkeys(pods.pool for pods in all_pods(unit))
    if not (unit.required or preferred) or len({topology_of(plan, gang, each) for each in pools}) > 1:
        return {}  # F603 reports a preference over pools of several Topologies as lost: it would hide whole pools
    pool = next(iter(pools))
    return {
        "topologyConstraint": {
            "topology": topology_of(plan, gang, pool),
            **non_empty(
                requiredTopologyLevel=plan.topology.level_label(pool, unit.required),
                preferredTopologyLevel=plan.topology.level_label(pool, preferred),
            ),
        }
    }


def topology_of(plan: Plan, gang: GangPlan, pool: str) -> str:
    """The Topology whose levels a gang's constraints in a pool name: the gang's own choice, or the pool's."""
    return str(gang.gang.backends.get("kai", {}).get("topology") or topology_name(plan.topology, pool))


def _marks(plan: Plan, gang: GangPlan, subgroup: str, target: Target) -> Marks:
    """KAI has the skip mark since 0.15; below, the podgrouper ignores bare pods with our annotation."""
    skip = {SKIP: "true"} if target.since("kai", "0.15") else {}
    queue = {QUEUE: gang_queue(plan, gang), **node_pool(plan, gang)}
    return Marks(
        owner=Meta(queue, skip),
        pod=PodParts(
            labels={**queue, **non_empty(**{SUBGROUP: subgroup})},
            annotations={POD_GROUP: pod_group_name(plan, gang, target), **skip},
            spec={"schedulerName": plan.topology.scheduler_name("kai", SCHEDULER)},
        ),
    )


def node_pool(plan: Plan, gang: GangPlan) -> dict[str, str]:
    """With SchedulingShards, pods and PodGroups name the shard of their nodes."""
    own, cluster = gang.gang.backends.get("kai", {}), plan.topology.schedulers.get("kai", {})
    return non_empty(**{NODE_POOL: own.get("nodePool") or cluster.get("nodePool", "")})


# Cluster-scoped objects


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """One Topology for each list of levels, and the queues that the topology file names."""
    from bayplan.topologies.kai import write_queues  # only cluster objects need it

    return (*_topologies(topology, target), *write_queues(topology))


def _topologies(topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    for pool in {topology_name(topology, pool.name): pool for pool in reversed(topology.pools)}.values():
        yield {
            "apiVersion": topology_api(target),
            "kind": "Topology",
            "metadata": {"name": topology_name(topology, pool.name)},
            "spec": {"levels": [{"nodeLabel": level.label} for level in (*pool.levels, HOST)]},
        }


def topology_api(target: Target) -> str:
    """KAI has its own Topology since 0.12; before, it read Kueue's."""
    return "kai.scheduler/v1alpha1" if target.since("kai", "0.12") else "kueue.x-k8s.io/v1alpha1"


def topology_name(topology: ClusterTopology, pool: str) -> str:
    """The Topology that holds a pool's levels: pools with the same levels share one."""
    base = str(topology.schedulers.get("kai", {}).get("topology") or topology.name)
    first_of: dict[tuple[str, ...], str] = {}
    for each in topology.pools:
        first_of.setdefault(_level_labels(each), each.name)
    if len(first_of) == 1:
        return base
    return f"{base}-{first_of[_level_labels(next(p for p in topology.pools if p.name == pool))]}"


def _level_labels(pool: Pool) -> tuple[str, ...]:
    return tuple(level.label for level in pool.levels)
