"""Koordinator 1.7 and 1.8: one PodGroup for each gang, its placement as a network-topology-spec.

The rows declare what Koordinator supports, by feature, amount and version. Messages and docs/schedulers.md print the
reasons. Read from koordinator-sh/koordinator, tags v1.7.0 and v1.8.0: pkg/scheduler/plugins/coscheduling/core/
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
    match_policy,
    optional_pods,
    placed_groups,
    units_with_all_pods,
)
from bayplan.backends.table import table
from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.model.backend import (
    Backend,
    Cluster,
    Declaration,
    Need,
)
from bayplan.model.manifest import Shape
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods, once, title, uses_dra, walk
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.planning.fit.search import may_lack, starving
from bayplan.topologies.koordinator import CLUSTER_LAYER, NODE_LAYER, layer_name, level_names, longest, write

TABLE = table("backends", "koordinator")

# Needs of plans and topologies that only Koordinator has, and settings that the cluster needs.

GATE = "AwareNetworkTopology"
"""The name under which the topology file states that `awareNetworkTopology` is on."""


def needs(plan: Plan) -> Iterator[Need]:
    """What Koordinator's planner requires of a gang with a placement, and what it may miss if room is scarce."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    for gang in firsts:
        yield from _group_needs(gang)
        yield from _pod_needs(plan, gang)
        yield from _scarce_room(plan, gang)
        for pods in once(all_pods(gang.root)) if match_policy(plan, gang) == "only-waiting" else ():
            if pods.spec.retry_on_exit_codes:
                at = (*pods.route, "retryOnExitCodes")
                yield Need("koordinator-retries", 1, at, subject=f'podSet "{pods.spec.name}"')
    if last := starving(plan):  # core.go BeforePreFilter: one gang after the other
        yield Need("concurrent-gangs", 1, (*last.route, "name"), subject=title(last, last.root))
    if any(_has_level(walk(gang.root)) for gang in firsts):
        yield from cluster_needs(plan.topology)


def _group_needs(gang: GangPlan) -> Iterator[Need]:
    """A multiple of pods per domain, and the order of pod names, keep the levels of groups."""
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
    """The planner counts places for all pods at once, as if all had one size. The loss of a preferred level is only a
    warning."""
    if not _has_level(units_with_all_pods(gang.root)) and not group_sizes(gang):
        return
    pod_sets = once(all_pods(gang.root))
    found: list[tuple[str, int, Route]] = []
    if has_unequal_pods(plan, gang):
        found.append(("koordinator-unlike-pods", len(pod_sets), (*gang.route, "name")))
    if left := optional_pods(gang):
        small = next(pods for pods in pod_sets if pods.elastic)
        found.append(("koordinator-elastic-placed", left, (*small.route, "minReplicas")))
    if claimed := next((pods for pods in pod_sets if uses_dra(pods, plan.topology)), None):
        found.append(("koordinator-claims-placed", 1, (*claimed.route, "accelerator")))
    if not has_no_requirement(gang):
        yield from (Need(*each, subject=f'gang "{gang.gang.name}"') for each in found)
        return
    for unit in units_with_all_pods(gang.root):
        if unit.preferred:
            lost, at = f"{title(gang, unit)} gets no preferred level", (*unit.route, "placement", "preferred")
            yield from (Need(feature, amount, at, True, lost) for feature, amount, _ in found)


def _scarce_room(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    """Pods that kube-scheduler's own cycle places one by one, in any order (core.go NextPod)."""
    by_itself = not gather_strategy(plan, gang).placed
    if by_itself and has_unequal_pods(plan, gang) and may_lack(gang.root, all_pods(gang.root), plan):
        at, amount = (*gang.route, "name"), len(once(all_pods(gang.root)))
        yield Need("koordinator-unequal-pods", amount, at, subject=title(gang, gang.root))


def _has_level(units: Iterable[Unit]) -> bool:
    """Whether any of the units has a placement."""
    return any(unit.required or unit.preferred for unit in units)


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """Settings that the cluster needs, and pods whose controller gives them other names than bayplan."""
    return (*_switched_off(plan), *_interleaved_pods(shape))


def _switched_off(plan: Plan) -> Iterator[Diagnostic]:
    """The planner is off by default. Then no gang with a placement starts: the second pod finds no plan
    (network_topology_workflow.go PreFilter; config/v1/defaults.go; framework_extender_factory.go Run, 1.7 and 1.8)."""
    placed = next((gang for gang in plan.gangs if gather_strategy(plan, gang).placed), None)
    on = plan.topology.gates("koordinator").get(GATE)
    if placed is None or on:
        return
    if on is False:
        message = f"Koordinator never starts a gang with a placement while {GATE} is off, as the topology file states"
        hint = "set `awareNetworkTopology: true` in the CoschedulingArgs of koord-scheduler, and correct this file"
        at = ("topology", "spec", "schedulers", "koordinator", "featureGates", GATE)
        yield error("F689", at, message, hint=hint)
        return
    message = (
        "koord-scheduler needs `awareNetworkTopology: true` in its CoschedulingArgs, and the flag"
        " --enable-network-topology-manager: by default both are off, and a gang with a placement stays pending"
        ' ("no planned pods", "no cluster network topology")'
    )
    gates = f"{{{GATE}: true}}"
    hint = f"set them, and state it in the topology file: `schedulers: {{koordinator: {{featureGates: {gates}}}}}`"
    yield info("F689", (*placed.route, "placement"), message, hint=hint)


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """One chain of layers for the whole cluster, each with a unique name."""
    return (*_chain_needs(topology), *_name_needs(topology))


def _chain_needs(topology: ClusterTopology) -> Iterator[Need]:
    """A pool may lack the finest layer: each of its nodes is then a domain (tree.go getTreeNodesMeta). A label may
    name the domains of only one layer, in all pools."""
    names = longest(topology)
    level_of: dict[str, str] = {}
    for number, pool in enumerate(topology.pools):
        own_levels = {level.label: level.name for level in pool.levels}
        ambiguous = any(level_of.setdefault(label, name) != name for label, name in own_levels.items())
        if ambiguous or (pool.levels and level_names(pool) not in (names, names[:-1])):
            route = ("topology", "spec", "pools", number, "levels")
            yield Need("koordinator-one-chain", 1, route, subject=f'pool "{pool.name}"')


def _name_needs(topology: ClusterTopology) -> Iterator[Need]:
    for number, pool in enumerate(topology.pools):
        taken = {NODE_LAYER, CLUSTER_LAYER}
        for place, level in enumerate(pool.levels):
            if layer_name(level.name) in taken:
                route = ("topology", "spec", "pools", number, "levels", place, "name")
                yield Need("koordinator-layer-names", 1, route, subject=f'level "{level.name}"')
            taken.add(layer_name(level.name))


RAY = ("raycluster", "rayjob")
"""Kinds whose pod names end in random letters."""


def _interleaved_pods(shape: Shape) -> Iterator[Diagnostic]:
    """F665: pods of one group between those of another, in the order of the names that the controller gives them."""
    workload = shape.workloads[0]
    gang = workload.gangs[0]
    for level in group_sizes(gang) if shape.existing else ():
        if _is_interleaved(gang, level, workload.kind):
            unit = next(unit for unit in placed_groups(gang) if unit.required == level)
            message = (
                f'gang "{gang.gang.name}": Koordinator fills domains in the alphabetical order of pod names, and'
                " pods of"
                " another group come in between"
            )
            hint = "give each group pod templates whose names follow each other in the alphabet"
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
    Declaration(
        "koordinator",
        component="koordinator",
        support=TABLE.support,
        features=TABLE.features,
    ),
    lower,
    needs=needs,
    notices=notices,
    cluster=Cluster(write, cluster_needs),
)
"""Nothing folds: with a replicatedJob for each group instance, pod names begin with the group, and sort with it."""
