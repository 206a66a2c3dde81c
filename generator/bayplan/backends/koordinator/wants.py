"""What only Koordinator has an opinion on: needs of plans and of topologies, and what must be switched on."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.koordinator.gather import (
    by_claim,
    covering,
    gather,
    held,
    inner_sizes,
    left_out,
    mixed_names,
    only_preferred,
    parts,
    unlike,
    unlike_pods,
)
from bayplan.backends.koordinator.given import scattered
from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.model.features import Need
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
    return (*own, *(cluster_needs(plan.topology) if any(map(_placed, firsts)) else ()))


def _placed(gang: GangPlan) -> bool:
    """Whether a placement is asked for, of the gang or of a group."""
    return any(unit.required or unit.preferred for unit in walk(gang.root))


def _group_needs(gang: GangPlan) -> Iterator[Need]:
    """Levels of groups hold by a multiple of pods a domain, and by names that keep groups together."""
    levels, subject = inner_sizes(gang), f'gang "{gang.gang.name}"'
    for unit in once(parts(gang.root)):
        if unit.preferred:
            at = (*unit.route, "placement", "preferred")
            yield Need("koordinator-inner-preferred", 1, at, True, title(gang, unit))
    if not levels:
        return
    first = next(held(gang))
    at = (*first.route, "placement", "required")
    yield Need("koordinator-inner-levels", len(levels), at, subject=subject)
    if unlike(gang):
        yield Need("koordinator-unlike-groups", 1, at, subject=subject)
    if mixed := mixed_names(gang):
        unit = next(unit for unit in held(gang) if unit.required == mixed)
        yield Need("koordinator-mixed-names", 1, (*unit.route, "name"), subject=subject)


def _pod_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    """The planner counts places for all pods at once, and all as one size. Where a level is only preferred, losing it
    is only a warning."""
    if not _whole(gang) and not inner_sizes(gang):
        return
    soft, subject = only_preferred(gang), f'gang "{gang.gang.name}"'
    everyone = once(all_pods(gang.root))
    if unlike_pods(plan, gang):
        yield Need("koordinator-unlike-pods", len(everyone), (*gang.route, "name"), soft, subject)
    if left := left_out(gang):
        small = next(pods for pods in everyone if pods.minimum < pods.replicas)
        yield Need("koordinator-elastic-placed", left, (*small.route, "minReplicas"), soft, subject)
    if claimed := next((pods for pods in everyone if by_claim(plan, pods)), None):
        yield Need("koordinator-claims-placed", 1, (*claimed.route, "accelerator"), soft, subject)


def _whole(gang: GangPlan) -> bool:
    """Whether the gang as a whole has a level."""
    return any(unit.required or unit.preferred for unit in covering(gang.root))


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """What must be switched on; and pods that their controller calls otherwise than bayplan would."""
    return (*_switched_off(plan), *scattered(shape))


def _switched_off(plan: Plan) -> tuple[Diagnostic, ...]:
    """The planner is off unless the scheduler's configuration has it on, and then no placed gang starts: the second pod
    finds no plan (network_topology_workflow.go PreFilter; config/v1/defaults.go, 1.7 and 1.8)."""
    placed = next((gang for gang in plan.gangs if gather(plan, gang).placed), None)
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
