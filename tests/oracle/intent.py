"""What manifests ask of a scheduler: the common ground of a plan and of what is read back from manifests.

Levels are node labels and podSet instances have the names of the plan, unless a scheduler has names of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods


class PodsIntent(NamedTuple):
    """So many pods, of which `minimum` must start together."""

    name: str
    replicas: int
    minimum: int
    compute_domain: str = ""


class UnitIntent(NamedTuple):
    """A set of pods placed together; levels are node labels. Children are sorted by name."""

    name: str
    required: str = ""
    preferred: str = ""
    minimum: int = 0  # of the children that are units; 0: all
    units: tuple[UnitIntent, ...] = ()
    pods: tuple[PodsIntent, ...] = ()


def claimed_domains(unit: UnitIntent) -> tuple[str, ...]:
    """The ComputeDomains that pods of a unit claim from, by name."""
    own = {pods.compute_domain for pods in unit.pods if pods.compute_domain}
    return tuple(sorted(own.union(*(claimed_domains(each) for each in unit.units))))


class GangIntent(NamedTuple):
    """One gang as the scheduler sees it."""

    name: str
    namespace: str
    queue: str
    priority_class: str
    preemptible: bool | None
    topology: str
    root: UnitIntent
    compute_domains: tuple[str, ...] = ()


def gang_intent(plan: Plan, gang: GangPlan) -> GangIntent:
    """All that manifests can ask for a gang. Those of one scheduler ask for this, in its names and without its gaps."""
    return GangIntent(
        name=gang.name,
        namespace=plan.namespace,
        queue=gang.gang.queue or plan.queue,
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
        required=plan.topology.level_label(pool, unit.required),
        preferred=plan.topology.level_label(pool, unit.preferred),
        units=in_order(units),
        pods=tuple(sorted(map(pods_intent, unit.pods))),
    )


def pods_intent(pods: Pods) -> PodsIntent:
    """A podSet instance."""
    return PodsIntent(pods.name, pods.replicas, pods.minimum, pods.compute_domain)


def in_order(units: Sequence[UnitIntent]) -> tuple[UnitIntent, ...]:
    """Units as an intent holds them: sorted by name."""
    return tuple(sorted(units, key=lambda unit: unit.name))
