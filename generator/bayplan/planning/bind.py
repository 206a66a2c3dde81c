"""Workflow + ClusterTopology -> Plan: gangs copied, groups expanded, podSets bound to pools, levels resolved."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Outcome, Route, error, has_errors
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, once
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import GANGS, Gang, Workflow
from bayplan.planning.names import gang_name
from bayplan.planning.pools import gang_pools
from bayplan.planning.tree import gang_unit
from bayplan.words import did_you_mean


def bind(workflow: Workflow, topology: ClusterTopology, namespace: str, queue: str) -> Outcome[Plan]:
    """The plan before ComputeDomains and ranks; no value when a podSet has no pool or a level does not exist."""
    gangs: list[GangPlan] = []
    found: list[Diagnostic] = []
    for i, gang in enumerate(workflow.gangs):
        bound = _gang(workflow, gang, (*GANGS, i), topology)
        gangs += bound.value or ()
        found += bound.diagnostics
    plan = Plan(workflow, topology, namespace, queue, tuple(gangs))
    return Outcome(None if has_errors(found) else plan, tuple(found))


def _gang(workflow: Workflow, gang: Gang, route: Route, topology: ClusterTopology) -> Outcome[tuple[GangPlan, ...]]:
    """All copies of one gang."""
    pools = gang_pools(workflow, gang, route, topology)
    failed = tuple(why for why in pools.values() if not isinstance(why, str))
    if failed:
        return Outcome(None, failed)
    root = gang_unit(gang, route, {at: str(name) for at, name in pools.items()}, topology)
    found = (*_levels(root, topology), *_counts(root, topology))
    after = tuple(
        gang_name(workflow, other, copy)
        for other in workflow.gangs
        if other.name in gang.depends_on
        for copy in range(other.replicas)
    )
    copies = range(gang.replicas)
    plans = tuple(GangPlan(gang_name(workflow, gang, n), gang, route, n, root, after=after) for n in copies)
    return Outcome(plans, found)


def _levels(root: Unit, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """Every level of a unit must exist in each pool that its pods run in, with one meaning."""
    seen: set[Route] = set()
    for unit in _distinct(root, seen):
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
            message = f'pool "{pool.name}" has no level "{name}"; its levels are {", ".join(names)}'
            elsewhere = _elsewhere(pool, unit) if any(each.level(name) for each in pools) else ""
            yield error("P504", route, message, hint=elsewhere or did_you_mean(name, names))
            return
    paths = {tuple(level.label for level in pool.levels[: pool.depth(name) + 1]) for pool in pools}
    if len(paths) > 1:
        which = ", ".join(f'"{pool.name}"' for pool in pools)
        yield error(
            "P505",
            route,
            f'the pods below run in the pools {which}, whose levels down to "{name}" have different labels,'
            " so no domain can hold all of them",
            hint="put the pods of each pool in a group of their own, or let the pools share their upper levels",
        )


def _elsewhere(pool: Pool, unit: Unit) -> str:
    """For a level that other pools of the unit have: whose pods the matter is about."""
    stray = next(pods.spec.name for pods in all_pods(unit) if pods.pool == pool.name)
    return f'podSet "{stray}" runs there: name the `pool` of all, or give it a group without this level'


def _counts(root: Unit, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """No pod may ask for more accelerators than a node has."""
    for pods in once(all_pods(root)):
        pool = topology.pool(pods.pool)
        if pool and pods.spec.accelerator and pods.spec.accelerator.per_pod > pool.node.accelerators:
            yield _too_many(pods, pool)


def _too_many(pods: Pods, pool: Pool) -> Diagnostic:
    asked = pods.spec.accelerator.per_pod if pods.spec.accelerator else 0
    return error(
        "P509",
        (*pods.route, "accelerator", "count"),
        f'podSet "{pods.spec.name}" asks for {asked} GPUs a pod; a node of pool "{pool.name}" has'
        f" {pool.node.accelerators}",
        hint=f"use more pods with {pool.node.accelerators} GPUs each",
    )
