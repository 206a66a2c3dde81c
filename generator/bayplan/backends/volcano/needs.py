"""What only Volcano is asked for: by a plan, and by a topology."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.volcano.tiers import Member, members, policies, tier
from bayplan.core.diagnostics import Route
from bayplan.kube import quantity
from bayplan.model.features import Need
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, once, title, walk
from bayplan.model.topology import HOST_LEVEL, ClusterTopology
from bayplan.planning.fit.problem import BOUNDED, CHANNEL, SLOTS, WHOLE, demand


def needs(plan: Plan) -> tuple[Need, ...]:
    """All of a plan's own, each once for all copies of a gang."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    release = Need("volcano-release", 1, ("workflow", "metadata", "name"))
    return (release, *cluster_needs(plan.topology), *(need for gang in firsts for need in _gang_needs(plan, gang)))


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """What makes the pools' levels no tree of HyperNodes."""
    discovered = topology.schedulers.get("volcano", {}).get("hyperNodes") == "discovered"
    return (*_uneven(topology), *(_repeated(topology) if discovered else ()))


def _uneven(topology: ClusterTopology) -> Iterator[Need]:
    """Pools may differ in depth as long as no level of theirs is the same one: their trees then never meet."""
    tiers: dict[str, int] = {}
    for i, pool in enumerate(topology.pools):
        for j, level in enumerate(pool.levels):
            own = tier(pool, level.name)
            if tiers.setdefault(level.label, own) != own:
                at: Route = ("topology", "spec", "pools", i, "levels", j)
                subject = f'level "{level.name}", of tier {tiers[level.label]} in another pool and {own} in this one'
                yield Need("uneven-depth", 1, at, subject=subject)
                return


def _repeated(topology: ClusterTopology) -> Iterator[Need]:
    """Discovery knows a domain by the key and value of its label alone (Volcano 1.15, discovery/label/label.go)."""
    seen: dict[tuple[str, str], tuple[str, ...]] = {}
    for i, pool in enumerate(topology.pools):
        for domain in pool.domains:
            for j, (level, value) in enumerate(zip(pool.levels, domain.path, strict=False)):
                above = domain.path[:j]
                if seen.setdefault((level.label, value), above) != above:
                    at: Route = ("topology", "spec", "pools", i, "levels", j)
                    subject = f'level "{level.name}", where "{value}" stands under two parents'
                    yield Need("repeated-discovered", 1, at, subject=subject)
                    return


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    yield from _subgroup_needs(gang)
    for unit in once(walk(gang.root)):
        if unit.required or unit.preferred:
            yield from _unit_needs(plan, gang, unit)
    for pods in once(all_pods(gang.root)):
        if pods.spec.numa and not _whole_cpus(pods):
            yield Need("whole-cpus", 1, (*pods.route, "numa"), subject=f'podSet "{pods.spec.name}"')


def _subgroup_needs(gang: GangPlan) -> Iterator[Need]:
    """Subgroups that stand inside others, long names, and minimums that a subgroup cannot tell apart."""
    listed = list(members(gang.root))
    depths = [(each.around + 1, each.units.route) for each in listed if each.counted]
    depth, inner = max(depths, key=lambda found: found[0], default=(0, ()))
    if depth > 1 and not _told(gang, listed):
        yield Need("nested-subgroups", depth, inner, subject=f'gang "{gang.gang.name}"')
    names = [
        (max(len(unit.name), len(policy.name)), unit.route) for policy in policies(gang.root) for unit in policy.units
    ]
    length, route = max(names, key=lambda named: named[0], default=(0, ()))
    if names:
        yield Need("unit-name-length", length, route)
    for route in dict.fromkeys(each.unit.route for each in listed if each.optional and _mixed_minimums(each.unit)):
        yield Need("optional-roles", 1, (*route, "minReplicas"), subject=f'gang "{gang.gang.name}"')


def _told(gang: GangPlan, listed: list[Member]) -> bool:
    """Whether the depth of placements says it already."""
    placed = bool(gang.root.required or gang.root.preferred)
    return placed and any(each.around and (each.unit.required or each.unit.preferred) for each in listed)


def _mixed_minimums(unit: Unit) -> bool:
    everyone = list(all_pods(unit))
    return len(everyone) > 1 and any(pods.minimum < pods.replicas for pods in everyone)


def _unit_needs(plan: Plan, gang: GangPlan, unit: Unit) -> Iterator[Need]:
    """What a placement asks beyond a level's number."""
    word = "required" if unit.required else "preferred"
    at, preferred = (*unit.route, "placement", word), not unit.required
    subject = title(gang, unit)
    level = unit.required or unit.preferred
    if level == HOST_LEVEL:
        yield Need("host-tier", 1, at, preferred, subject)
    for pods in once(all_pods(unit)):
        asked = {name for name in demand(pods, plan.topology) if not name.startswith(BOUNDED)}
        if not asked - {CHANNEL, WHOLE, SLOTS} - _claimed(plan, pods):
            yield Need("weightless-pods", 1, pods.route, preferred, f'podSet "{pods.spec.name}"')


def _claimed(plan: Plan, pods: Pods) -> set[str]:
    """Accelerators that are claimed through DRA: nothing of them stands among the requests."""
    from bayplan.accelerators import allocator

    asked = pods.spec.accelerator
    kind = plan.topology.accelerators.get(asked.name) if asked else None
    return {f"accelerator:{asked.name}"} if asked and kind and allocator(asked, kind) == "dra" else set()


def _whole_cpus(pods: Pods) -> bool:
    amount = quantity.parse(pods.spec.resources.get("cpu", "0"))
    return amount > 0 and amount % 1000 == 0
