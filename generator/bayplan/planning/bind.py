"""Workflow + ClusterTopology -> Plan: gangs copied, groups expanded, podSets bound to pools, levels resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors
from bayplan.core.phrases import did_you_mean
from bayplan.kube import quantity
from bayplan.model.plan import GangPlan, Plan, PodRef, Pods, Ranks, Unit, Units, all_pods, edit_unit, once, walk
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import GANGS, Accelerator, Gang, Group, PodSet, Workflow, base_name, serves
from bayplan.planning.pools import gang_pools

# Names of all derived objects. They contain nothing random, no time and no version of bayplan.
#
# A gang gets the name of its workflow, with `-<gang>` if there are several gangs, and the copy's number if it has
# copies. The names of its podSets add `-<group>-<i>` for each group around them, and `-<podSet>`.


def gang_name(workflow: Workflow, gang: Gang, copy: int) -> str:
    """The object name of one copy of a gang."""
    return f"{base_name(workflow, gang)}-{copy}" if gang.replicas > 1 else base_name(workflow, gang)


def joined(*parts: str) -> str:
    """The parts that are not empty, with dashes."""
    return "-".join(part for part in parts if part)


# Expand a gang of the file into its instances: groups by their replicas or size, podSets bound to pools.


class _Expansion:
    """The pools by route and the topology, for all gangs and groups."""

    def __init__(self, pools: Mapping[Route, str], topology: ClusterTopology, serving: bool) -> None:
        self.pools = pools
        self.topology = topology
        self.serving = serving  # pods of a service never end

    def unit(self, node: Gang | Group, route: Route, name: str, stem: str, size: int | None) -> Unit:
        required, preferred = node.placement
        return Unit(
            name=name,
            route=route,
            required=required,
            preferred="" if preferred == required else preferred,
            separate=node.separate if isinstance(node, Group) else "",
            groups=tuple(self.units(group, (*route, "groups", i), name, stem) for i, group in enumerate(node.groups)),
            pods=tuple(
                self.pods(spec, (*route, "podSets", i), name, stem, size) for i, spec in enumerate(node.pod_sets)
            ),
        )

    def units(self, group: Group, route: Route, above: str, stem: str) -> Units:
        """All instances of a group. With `size`, the one podSet is cut in rank order; the last may be smaller."""
        name, path = joined(above, group.name), joined(stem, group.name)
        sizes = cut(group.pod_sets[0].replicas, group.size) if group.size else [None] * group.replicas
        members = tuple(self.unit(group, route, f"{name}-{i}", path, size) for i, size in enumerate(sizes))
        return Units(name, route, group.min_replicas or len(members), members)

    def pods(self, spec: PodSet, route: Route, above: str, stem: str, size: int | None) -> Pods:
        pool = self.pools[route]
        replicas = size or spec.replicas
        full = filled_from_node(spec, self.topology.pool(pool))
        full = full._replace(restart_policy="Always") if self.serving else full
        minimum = replicas if size or spec.min_replicas is None else spec.min_replicas
        return Pods(joined(above, spec.name), joined(stem, spec.name), full, route, pool, replicas, minimum)


def cut(total: int, size: int) -> list[int | None]:
    """`cut(50, 16)` is [16, 16, 16, 2]."""
    return [min(size, total - start) for start in range(0, total, size)]


def filled_from_node(spec: PodSet, pool: Pool | None) -> PodSet:
    """`wholeNode`: the accelerators, CPU and memory that the podSet does not set are the node's."""
    if not spec.whole_node or pool is None:
        return spec
    node = pool.node
    whole = Accelerator(node.accelerator, node.accelerators) if node.accelerator else None
    amounts = {name: quantity.show(node.resources[name]) for name in ("cpu", "memory") if name in node.resources}
    return spec._replace(accelerator=spec.accelerator or whole, resources={**amounts, **spec.resources})


def bind(workflow: Workflow, topology: ClusterTopology, namespace: str, queue: str) -> Outcome[Plan]:
    """The plan before ComputeDomains and ranks; no value if a podSet has no pool or a level does not exist."""
    gangs: list[GangPlan] = []
    diagnostics: list[Diagnostic] = []
    for i, gang in enumerate(workflow.gangs):
        bound = _gang(workflow, gang, (*GANGS, i), topology)
        gangs += bound.value or ()
        diagnostics += bound.diagnostics
    plan = Plan(workflow, topology, namespace, queue, tuple(gangs))
    return Outcome(None if has_errors(diagnostics) else plan, tuple(diagnostics))


def _gang(workflow: Workflow, gang: Gang, route: Route, topology: ClusterTopology) -> Outcome[tuple[GangPlan, ...]]:
    """All copies of one gang: of a service, at least as many as its autoscaler keeps."""
    if gang.autoscale and serves(gang):
        gang = gang._replace(replicas=max(gang.replicas, gang.autoscale.min_replicas))
    pools = gang_pools(workflow, gang, route, topology)
    failed = tuple(why for why in pools.values() if not isinstance(why, str))
    if failed:
        return Outcome(None, failed)
    named = {at: str(name) for at, name in pools.items()}
    root = _Expansion(named, topology, serves(gang)).unit(gang, route, "", "", None)
    diagnostics = (*_levels(root, topology), *_counts(root, topology))
    after = tuple(
        gang_name(workflow, other, copy)
        for other in workflow.gangs
        if other.name in gang.depends_on
        for copy in range(other.replicas)
    )
    copies = range(gang.replicas)
    plans = tuple(
        GangPlan(
            gang_name(workflow, gang, n),
            *(gang, route, n, root),
            after=after,
            previous=gang_name(workflow, gang, n - gang.at_once) if gang.at_once and n >= gang.at_once else "",
        )
        for n in copies
    )
    return Outcome(plans, diagnostics)


def _levels(root: Unit, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """Every level of a unit must exist in each pool that its pods run in, with one meaning."""
    for unit in _distinct(root, set()):
        pools = [pool for pool in map(topology.pool, dict.fromkeys(p.pool for p in all_pods(unit))) if pool]
        for key in ("required", "preferred"):
            name = getattr(unit, key)
            if name:
                yield from _level(name, (*unit.route, "placement", key), pools, unit)


def _distinct(unit: Unit, seen: set[Route]) -> Iterator[Unit]:
    """One unit for each gang or group of the file."""
    if unit.route not in seen:
        seen.add(unit.route)
        yield unit
        for units in unit.groups:
            yield from _distinct(units.members[0], seen)


def _level(name: str, route: Route, pools: list[Pool], unit: Unit) -> Iterator[Diagnostic]:
    for pool in pools:
        if pool.level(name) is None:
            names = [level.name for level in pool.levels] + ["host"]
            message = f'pool "{pool.name}" has no level "{name}"; its levels: {", ".join(names)}'
            elsewhere = _elsewhere(pool, unit) if any(each.level(name) for each in pools) else ""
            yield error("W323", route, message, hint=elsewhere or did_you_mean(name, names))
            return
    if len({tuple(level.label for level in pool.levels[: pool.depth(name) + 1]) for pool in pools}) > 1:
        which = ", ".join(f'"{pool.name}"' for pool in pools)
        message = (
            f'no "{name}" can hold these pods: they run in the pools {which}, whose labels differ down to this level'
        )
        hint = (
            "put the pods of each pool into a group of their own, and this placement on each group; "
            "or give the pools the same levels with the same labels"
        )
        yield error("P502", route, message, hint=hint)


def _elsewhere(pool: Pool, unit: Unit) -> str:
    """The hint for a level that only other pools of the unit have. It names a podSet of this pool."""
    stray = next(pods.spec.name for pods in all_pods(unit) if pods.pool == pool.name)
    return f'podSet "{stray}" runs in this pool: set the same `pool` for all, or move it to a group without this level'


def _counts(root: Unit, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """P552: no pod may request more accelerators than a node has."""
    for pods in once(all_pods(root)):
        pool, accelerator = topology.pool(pods.pool), pods.spec.accelerator
        if pool and accelerator and accelerator.per_pod > pool.node.accelerators:
            most = f'a node of pool "{pool.name}" has {pool.node.accelerators}'
            message = f'podSet "{pods.spec.name}" requests {accelerator.per_pod} GPUs per pod; {most}'
            hint = f"use more pods with {pool.node.accelerators} GPUs each"
            yield error("P552", (*pods.route, "accelerator", "count"), message, hint=hint)


# Ranks: all pods of a rendezvous are numbered in the order in which the file lists them.


def assign_ranks(plan: Plan) -> Plan:
    """Give every ranked pod its place in its gang's rendezvous."""
    return plan._replace(gangs=tuple(_gang_ranks(gang) for gang in plan.gangs))


def _gang_ranks(gang: GangPlan) -> GangPlan:
    if gang.gang.rendezvous == "none":
        return gang
    leaves = [unit for unit in walk(gang.root) if unit.pods]
    ranks: dict[str, Ranks] = {}
    for scope in [leaves] if gang.gang.rendezvous == "gang" else [[unit] for unit in leaves]:
        ranks.update(_scope_ranks(gang.name, scope))
    numbered = {unit.name: i for i, unit in enumerate(leaves)}
    for unit in leaves:
        for pods in unit.pods:
            if pods.name in ranks:
                ranks[pods.name] = ranks[pods.name]._replace(group_index=numbered[unit.name], group_count=len(leaves))
    return gang._replace(root=edit_unit(gang.root, pods=lambda pods: pods._replace(ranks=ranks.get(pods.name))))


def _scope_ranks(gang: str, scope: list[Unit]) -> dict[str, Ranks]:
    """Ranks of one rendezvous. A group is a unit that holds podSets; its size counts ranked pods."""
    accelerated_only = any(pods.spec.accelerator for unit in scope for pods in unit.pods)
    counted = [[pods for pods in unit.pods if pods.spec.accelerator or not accelerated_only] for unit in scope]
    members = [(pods, sum(each.replicas for each in group)) for group in counted for pods in group]
    nodes = sum(pods.replicas for pods, _ in members)
    ranks, first = {}, 0
    for pods, size in members:
        ranks[pods.name] = Ranks(PodRef(gang, members[0][0].name, 0), nodes, first, 0, 0, size)
        first += pods.replicas
    return ranks
