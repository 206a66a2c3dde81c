"""Plans that ask a little less: coarser levels, fewer instances, fewer pods, only what must start."""

from __future__ import annotations

from collections.abc import Callable

from bayplan.diagnostics import Route
from bayplan.model.plan import Plan, Pods, Unit, Units


def edited(
    plan: Plan,
    unit: Callable[[Unit], Unit] = lambda each: each,
    units: Callable[[Units], Units] = lambda each: each,
    pods: Callable[[Pods], Pods] = lambda each: each,
) -> Plan:
    """The plan with every unit, group and podSet instance replaced."""

    def inside(one: Unit) -> Unit:
        groups = tuple(each._replace(members=tuple(map(inside, each.members))) for each in map(units, one.groups))
        return unit(one)._replace(groups=groups, pods=tuple(map(pods, one.pods)))

    return plan._replace(gangs=tuple(gang._replace(root=inside(gang.root)) for gang in plan.gangs))


def requiring(plan: Plan, route: Route, level: str) -> Plan:
    """The units of that route require another level; "" is none."""
    return edited(plan, unit=lambda each: each._replace(required=level, separate="") if each.route == route else each)


def with_members(plan: Plan, route: Route, count: int) -> Plan:
    """The group of that route has only so many instances."""
    return edited(plan, units=lambda each: each._replace(members=each.members[:count]) if each.route == route else each)


def with_pods(plan: Plan, route: Route, count: int) -> Plan:
    """The podSet of that route has only so many pods an instance."""
    return edited(
        plan, pods=lambda each: each._replace(replicas=min(count, each.replicas)) if each.route == route else each
    )


def with_size(plan: Plan, route: Route, size: int) -> Plan:
    """The group of that route is cut from its one podSet into instances of that many pods; the last may be smaller."""

    def cut(units: Units) -> Units:
        if units.route != route:
            return units
        first, total = units.members[0], sum(member.pods[0].replicas for member in units.members)
        sizes = [min(size, total - start) for start in range(0, total, size)]
        pods = [first.pods[0]._replace(name=f"{first.pods[0].name}-{i}", replicas=n) for i, n in enumerate(sizes)]
        members = tuple(first._replace(name=f"{units.name}-{i}", pods=(each,)) for i, each in enumerate(pods))
        return units._replace(minimum=len(members), members=members)

    return edited(plan, units=cut)


def is_cut(units: Units) -> bool:
    """Whether `size` made the instances out of one podSet."""
    pods = [each for member in units.members for each in member.pods]
    alone = all(len(member.pods) == 1 and not member.groups for member in units.members)
    return (
        alone
        and any(p.replicas != p.spec.replicas for p in pods)
        and sum(p.replicas for p in pods) == pods[0].spec.replicas
    )


def in_turn(plan: Plan, route: Route, before: tuple[str, ...]) -> Plan:
    """The gang of that route waits for those, in all its copies."""
    return plan._replace(
        gangs=tuple(g._replace(after=(*g.after, *before)) if g.route == route else g for g in plan.gangs)
    )


def with_copies(plan: Plan, route: Route, count: int) -> Plan:
    """The gang of that route has only so many copies."""
    return plan._replace(gangs=tuple(g for g in plan.gangs if g.route != route or g.copy < count))


def least(plan: Plan) -> Plan:
    """Only what must start together: `minReplicas` of every group and podSet."""
    return edited(
        plan,
        units=lambda each: each._replace(members=each.members[: each.minimum]),
        pods=lambda each: each._replace(replicas=each.minimum),
    )


def most(low: int, high: int, works: Callable[[int], bool]) -> int:
    """The largest number from `low` to `high` that works, `low - 1` if none does. What works, works for less."""
    low -= 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if works(middle) else (low, middle - 1)
    return low
