"""What a plan needs of kube-scheduler besides what every scheduler is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.native.levels import levels, repeats
from bayplan.backends.native.tree import TREES, Shape, Template, depth, mixed, placed_below, templates, trees
from bayplan.model.features import Need
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods, once, title, walk
from bayplan.model.target import Target
from bayplan.planning.fit.problem import demand

NEWEST = Target({"kubernetes": TREES})
"""Amounts are those of the version that holds most; the rows say what older ones make of them."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """Gaps of groups, templates, labels and preemption."""
    return tuple(need for gang in plan.gangs if gang.copy == 0 for need in _gang_needs(plan, gang))


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    subject, at = f'gang "{gang.gang.name}"', (*gang.route, "name")
    if gang.gang.preemptible is False:
        yield Need("never-preempted", 1, (*gang.route, "preemptible"), subject=subject)
    roots = trees(plan, gang.root, NEWEST)
    made = templates(roots, gang.gang.name)
    if (height := max(map(depth, roots))) > _placed_depth(gang.root):
        yield Need("group-objects", height, at, subject=subject)
    yield Need("templates", _longest_list(made), at, subject=subject)
    yield Need("template-name-length", max(map(len, _names(made))), at, subject=subject)
    if not gang.root.required and (count := _apart(gang.root)) > 1:
        yield Need("groups-together", count, at, subject=subject)
    for unit in once(walk(gang.root)):
        yield from _unit_needs(plan, gang, unit)


def _unit_needs(plan: Plan, gang: GangPlan, unit: Unit) -> Iterator[Need]:
    subject = title(gang, unit)
    at = (*unit.route, "placement", "required")
    if (unit.pods and mixed(unit)) or (not unit.name and mixed(unit) and not placed_below(unit)):
        yield Need("several-minimums", len(list(all_pods(unit))), (*unit.route, "podSets"), subject=subject)
    if unit.required and not placed_below(unit) and _unequal(plan, unit):
        yield Need("unequal-pods", len(once(all_pods(unit))), at, subject=subject)
    around = _around(gang.root, unit)
    if any(repeats(pool, level, around) for pool, level in levels(plan, unit)):
        yield Need("repeated-domains", 1, at, subject=subject)


def _unequal(plan: Plan, unit: Unit) -> bool:
    """Whether podSets under one level ask different amounts of a node."""
    asked = [demand(pods, plan.topology) for pods in once(all_pods(unit))]
    return any(each != asked[0] for each in asked)


def _placed_depth(unit: Unit) -> int:
    below = max((_placed_depth(units.members[0]) for units in unit.groups), default=0)
    return below + bool(unit.required)


def _longest_list(made: Mapping[Shape, Template]) -> int:
    composites = sum(1 for each in made.values() if each.node.children)
    inside = (_longest_list(each.inside) for each in made.values())
    return max(composites, len(made) - composites, *inside, 0)


def _names(made: Mapping[Shape, Template]) -> Iterator[str]:
    for each in made.values():
        yield each.name
        yield from _names(each.inside)


def _apart(unit: Unit) -> int:
    """How many PodGroups a gang would fall into without a group over them; 1 where it has one level or none."""
    if unit.required or not placed_below(unit):
        return 1
    return sum(_apart(member) for units in unit.groups for member in units.members)


def _around(root: Unit, wanted: Unit) -> str:
    """The level that already keeps together what is around a unit: that of the nearest placed unit above it."""
    for units in root.groups:
        for member in units.members:
            if member is wanted:
                return root.required
            if any(each is wanted for each in walk(member)):
                return _around(member, wanted) or root.required
    return ""
