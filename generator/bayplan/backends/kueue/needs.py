"""What only Kueue is asked for: how placements lie over podSets, what a workload holds, which flavor a pod finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.kueue.requests import Layout, Part, is_pair, layout
from bayplan.backends.kueue.words import LAYER_GATE
from bayplan.model.features import Feature, Need
from bayplan.model.plan import GangPlan, Plan, Unit, title, walk
from bayplan.model.topology import ClusterTopology
from bayplan.planning import compute_domains

FEATURES: Mapping[str, Feature] = {
    "unlike-pair": Feature("a placement over two podSets that are no leader and its workers", code="F650"),
    "unlike-slices": Feature("a placement over group instances that differ", code="F651"),
    "slice-layers": Feature("groups inside each other, each on a level", "layers of slices", "F652"),
    "gated-slice-layers": Feature("groups inside each other, behind a feature gate", "layers of slices", "F653"),
    "slice-preferred": Feature("groups that should share one domain each", code="F654"),
    "bare-pod-sets": Feature("bare pods of several podSets in one gang", "podSets", "F655"),
    "admitted-together": Feature("gangs that run after each other are admitted together", "gangs", "F656"),
    "flavor-size": Feature("labels or tolerations of one pool", "entries", "F657", True),
    "flavor-count": Feature("pools behind one queue", "pools", "F658", True),
}
"""Needs of Kueue's own. What a pair or slices may be, no shared need says."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """Of the plan as it will be folded: with one ComputeDomain a gang."""
    merged = compute_domains.merge(plan)
    firsts = [gang for gang in merged.gangs if gang.copy == 0]
    return (
        *(need for gang in firsts for need in _gang_needs(merged, gang)),
        *_tied(merged),
        *cluster_needs(plan.topology),
    )


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    everything = layout(gang)
    seen: set[tuple[str | int, ...]] = set()
    for part in everything.parts:
        for unit, count in part.around():
            if unit.route not in seen:
                seen.add(unit.route)
                yield from _unit_needs(gang, unit, count, everything)
    yield from _layer_needs(plan, gang, everything)
    several = len(everything.parts)
    if several > 1 and gang.gang.workload == "pods":
        yield Need("bare-pod-sets", several, (*gang.route, "workload"), subject=title(gang, gang.root))


def _unit_needs(gang: GangPlan, unit: Unit, count: int, everything: Layout) -> Iterator[Need]:
    """Whether Kueue can be told of a placement. More than two podSets under it are a need that all plans may have."""
    members, at = everything.inside(unit), (*unit.route, "placement")
    sets = {part.pods.route for part in members}
    if len(sets) == 1 and len(members) > 1 and not _optional(gang.root):
        yield Need("unlike-slices", len(members), at, not unit.required, title(gang, unit))
    elif len(sets) == 2 and not is_pair(members):
        yield Need("unlike-pair", len(members), at, not unit.required, title(gang, unit))
    elif len(members) == 1 and count > 1 and not unit.required and not _placed_outside(members[0], unit):
        yield Need("slice-preferred", count, (*at, "preferred"), True, title(gang, unit))


def _optional(root: Unit) -> bool:
    """Whether some groups are optional: they fold not, and that loss is one of all plans."""
    return any(units.minimum < len(units.members) for unit in walk(root) for units in unit.groups)


def _placed_outside(part: Part, unit: Unit) -> bool:
    """Whether a placement lies around the unit's: that loss is one of all plans."""
    return next(iter(part.around()))[0] is not unit


def _layer_needs(plan: Plan, gang: GangPlan, everything: Layout) -> Iterator[Need]:
    gated = plan.topology.gates("kueue").get(LAYER_GATE)
    depths = ((_layers(part, everything), part.pods.route) for part in everything.parts)
    deepest, route = max(depths, key=lambda depth: depth[0])
    if deepest:
        feature = "gated-slice-layers" if gated else "slice-layers"
        yield Need(feature, deepest, route[:-2], subject=title(gang, gang.root))


def _layers(part: Part, everything: Layout) -> int:
    """Required levels below that of the podSet. A pair has one level whatever lies around it."""
    own = list(everything.carried(part))
    if not own or len(everything.inside(own[-1][0])) > 1:
        return 0
    slices = own[1:] if own[0][1] == 1 else own
    return sum(bool(unit.required) for unit, _ in slices)


def _tied(plan: Plan) -> Iterator[Need]:
    """Gangs in one JobSet are one Workload."""
    waiting = [gang for gang in plan.gangs if gang.copy == 0 and gang.after]
    for gang in waiting:
        tied = len(gang.after) + 1
        yield Need("admitted-together", tied, (*gang.route, "dependsOn"), subject=title(gang, gang.root))


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """A flavor finds its nodes by their labels."""
    return tuple(_flavor_needs(topology))


def _flavor_needs(topology: ClusterTopology) -> Iterator[Need]:
    yield Need("flavor-count", len(topology.pools), ("topology", "spec", "pools"))
    for number, pool in enumerate(topology.pools):
        at, subject = ("topology", "spec", "pools", number, "node"), f'pool "{pool.name}"'
        largest = max(len(pool.node.node_selector), len(pool.node.tolerations))
        yield Need("flavor-size", largest, at, subject=subject)
