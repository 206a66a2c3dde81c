"""A plan's intent in neutral words: levels as node labels, podSet instances by name, nothing of any scheduler."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.model.intent import GangIntent, PodsIntent, UnitIntent
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods
from bayplan.model.topology import ClusterTopology


def gang_intent(plan: Plan, gang: GangPlan) -> GangIntent:
    """All that a scheduler might be told of a gang. A backend's own intent is this, in its names, less its gaps."""
    return GangIntent(
        name=gang.name,
        namespace=plan.namespace,
        queue=plan.queue,
        priority_class=plan.workflow.priority_class,
        preemptible=gang.gang.preemptible,
        topology="",
        root=unit_intent(plan, gang.root),
        compute_domains=tuple(sorted(domain.name for domain in gang.compute_domains)),
    )


def unit_intent(plan: Plan, unit: Unit) -> UnitIntent:
    """A unit and all below it. Instances of an optional group stand below one unit that says how many must start."""
    units: list[UnitIntent] = []
    for group in unit.groups:
        members = tuple(unit_intent(plan, member) for member in group.members)
        optional = group.minimum < len(members)
        units += [UnitIntent(group.name, minimum=group.minimum, units=in_order(members))] if optional else members
    pool = next(all_pods(unit)).pool
    return UnitIntent(
        name=unit.name,
        required=level_label(plan.topology, pool, unit.required),
        preferred=level_label(plan.topology, pool, unit.preferred),
        units=in_order(units),
        pods=tuple(sorted(map(pods_intent, unit.pods))),
    )


def pods_intent(pods: Pods) -> PodsIntent:
    """A podSet instance."""
    return PodsIntent(pods.name, pods.replicas, pods.minimum, pods.compute_domain)


def in_order(units: Sequence[UnitIntent]) -> tuple[UnitIntent, ...]:
    """Units as an intent holds them: sorted by name."""
    return tuple(sorted(units, key=lambda unit: unit.name))


def level_label(topology: ClusterTopology, pool: str, level: str) -> str:
    """The node label of a level; empty for no level."""
    found = topology.pool(pool)
    rank = found.level(level) if found and level else None
    return rank.label if rank else ""
