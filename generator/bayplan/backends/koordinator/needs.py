"""What only Koordinator has an opinion on: needs of plans and of topologies, and what must be switched on."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.koordinator.pod_group import (
    gather_strategy,
    group_sizes,
    has_no_requirement,
    has_unequal_groups,
    has_unequal_pods,
    inner_units,
    interleaved_level,
    is_interleaved,
    optional_pods,
    placed_groups,
    units_with_all_pods,
    uses_dra,
)
from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.model.backend import Need
from bayplan.model.manifest import Shape
from bayplan.model.plan import GangPlan, Plan, all_pods, once, title, walk
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.koordinator import CLUSTER_LAYER, NODE_LAYER, layer_name, level_names, longest

GATE = "AwareNetworkTopology"
"""The name under which the topology file says that `awareNetworkTopology` is set."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """What a placed gang must be like, so that Koordinator's planner comes out right."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    own = (need for gang in firsts for need in (*_group_needs(gang), *_pod_needs(plan, gang)))
    return (*own, *(cluster_needs(plan.topology) if any(map(_is_placed, firsts)) else ()))


def _is_placed(gang: GangPlan) -> bool:
    """Whether a placement is asked for, of the gang or of a group."""
    return any(unit.required or unit.preferred for unit in walk(gang.root))


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
    if not _has_level(gang) and not group_sizes(gang):
        return
    soft, subject = has_no_requirement(gang), f'gang "{gang.gang.name}"'
    pod_sets = once(all_pods(gang.root))
    if has_unequal_pods(plan, gang):
        yield Need("koordinator-unlike-pods", len(pod_sets), (*gang.route, "name"), soft, subject)
    if left := optional_pods(gang):
        small = next(pods for pods in pod_sets if pods.minimum < pods.replicas)
        yield Need("koordinator-elastic-placed", left, (*small.route, "minReplicas"), soft, subject)
    if claimed := next((pods for pods in pod_sets if uses_dra(plan, pods)), None):
        yield Need("koordinator-claims-placed", 1, (*claimed.route, "accelerator"), soft, subject)


def _has_level(gang: GangPlan) -> bool:
    """Whether the gang as a whole has a level."""
    return any(unit.required or unit.preferred for unit in units_with_all_pods(gang.root))


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """What must be switched on; and pods that their controller calls otherwise than bayplan would."""
    return (*_switched_off(plan), *_interleaved_pods(shape))


def _switched_off(plan: Plan) -> tuple[Diagnostic, ...]:
    """The planner is off unless the scheduler's configuration has it on, and then no placed gang starts: the second pod
    finds no plan (network_topology_workflow.go PreFilter; config/v1/defaults.go, 1.7 and 1.8)."""
    placed = next((gang for gang in plan.gangs if gather_strategy(plan, gang).placed), None)
    on = plan.topology.gates("koordinator").get(GATE)
    if placed is None or on:
        return ()
    route = (*placed.route, "placement")
    if on is False:
        message = f"the topology says that {GATE} is off; without it a placed gang never starts on Koordinator"
        hint = "set awareNetworkTopology: true in the CoschedulingArgs of koord-scheduler"
        return (
            error("F689", ("topology", "spec", "schedulers", "koordinator", "featureGates", GATE), message, hint=hint),
        )
    message = (
        "koord-scheduler needs `awareNetworkTopology: true` in its CoschedulingArgs, off by default: without it"
        ' a placed gang stays pending ("no planned pods")'
    )
    hint = f"once it is on, say so in the topology: `schedulers: {{koordinator: {{featureGates: {{{GATE}: true}}}}}}`"
    return (info("F689", route, message, hint=hint),)


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
        mine = {level.label: level.name for level in pool.levels}
        twice = any(level_of.setdefault(label, name) != name for label, name in mine.items())
        if twice or (pool.levels and level_names(pool) not in (names, names[:-1])):
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
    for level in group_sizes(gang) if shape.given else ():
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
