"""Why a plan does not fit: the smallest part that does not fit, what it requests, and the domain with the most room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Route
from bayplan.model.plan import WHOLE, GangPlan, Occupant, Plan, Pods, Unit, Units, all_pods, edit_plan, walk
from bayplan.model.topology import HOST_LEVEL, Pool
from bayplan.model.workflow import Gang, Group, proven_copies
from bayplan.planning.fit.patterns import shortage
from bayplan.planning.fit.problem import (
    Left,
    Part,
    Place,
    Problem,
    Space,
    Vector,
    capacity,
    demand,
    demands_by_pool,
    per_node,
    problem,
    room_left,
)
from bayplan.planning.fit.search import BUDGET, QUICK, surely_fits, surely_too_large
from bayplan.planning.fit.witness import solve

# Plans that request less: a coarser level, fewer instances, fewer pods, or only what must start.


def at_route(route: Route, edit: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The edit, applied only to the unit, group or podSet of the route."""
    return lambda each: edit(each) if each.route == route else each


def requiring(plan: Plan, route: Route, level: str) -> Plan:
    """The units of that route require another level; "" for no level."""
    return edit_plan(plan, unit=at_route(route, lambda unit: unit._replace(required=level, separate="")))


def with_members(plan: Plan, route: Route, count: int) -> Plan:
    """The group of that route has only so many instances."""
    return edit_plan(plan, units=at_route(route, lambda units: units._replace(members=units.members[:count])))


def with_pods(plan: Plan, route: Route, count: int) -> Plan:
    """The podSet of that route has only so many pods an instance."""
    return edit_plan(plan, pods=at_route(route, lambda pods: pods._replace(replicas=min(count, pods.replicas))))


def with_size(plan: Plan, route: Route, size: int) -> Plan:
    """The podSet of that group has instances of that many pods; the last may be smaller."""

    def cut(units: Units) -> Units:
        first, total = units.members[0], sum(member.pods[0].replicas for member in units.members)
        sizes = [min(size, total - start) for start in range(0, total, size)]
        pods = [first.pods[0]._replace(name=f"{first.pods[0].name}-{i}", replicas=n) for i, n in enumerate(sizes)]
        members = tuple(first._replace(name=f"{units.name}-{i}", pods=(each,)) for i, each in enumerate(pods))
        return units._replace(minimum=len(members), members=members)

    return edit_plan(plan, units=at_route(route, cut))


def is_cut(units: Units) -> bool:
    """Whether `size` made the instances out of one podSet."""
    pods = [each for member in units.members for each in member.pods]
    return (
        all(len(member.pods) == 1 and not member.groups for member in units.members)
        and any(p.replicas != p.spec.replicas for p in pods)
        and sum(p.replicas for p in pods) == pods[0].spec.replicas
    )


def in_turn(plan: Plan, route: Route, before: tuple[str, ...]) -> Plan:
    """The gang of that route waits for those, in all its copies."""
    return plan._replace(
        gangs=tuple(g._replace(after=(*g.after, *before)) if g.route == route else g for g in plan.gangs)
    )


def at_once(plan: Plan, route: Route, count: int) -> Plan:
    """The gang of that route runs so many copies at the same time."""
    gangs = (g._replace(gang=g.gang._replace(at_once=count)) if g.route == route else g for g in plan.gangs)
    return plan._replace(gangs=tuple(gangs))


def least(plan: Plan) -> Plan:
    """Only what must start together: `minReplicas` of every group and podSet."""
    return edit_plan(
        plan,
        units=lambda each: each._replace(members=each.members[: each.minimum]),
        pods=lambda each: each._replace(replicas=each.minimum),
    )


def most(low: int, high: int, works: Callable[[int], bool]) -> int:
    """The largest number from `low` to `high` that works, `low - 1` if none does. Numbers below it work too."""
    low -= 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if works(middle) else (low, middle - 1)
    return low


MOST = 8
"""The most groups of a gang for which the search tries fewer instances."""

KINDS = 64
"""The most kinds of units that the search tries one by one to find the smallest that does not fit."""


class Lack(NamedTuple):
    """What a unit requests in one domain, and how much of it the best domain can hold."""

    name: str  # of a group, or of podSets
    unit: bool  # whole group instances, not pods
    level: str  # that each of these group instances requires
    needed: int
    held: int | None  # None if counting took too long
    size: int  # pods of one
    each_node: int  # how many of these pods fit on one node; 0 if they differ
    binding: str  # the resource that limits a node
    pool: str


class Near(NamedTuple):
    """A finest domain: its number of nodes, and how many of them the plan may use."""

    pool: int
    row: int
    name: str
    level: str
    nodes: int
    usable: int
    unusable: Mapping[str, int]
    kept_back: int  # by `plan`
    taken: Mapping[str, int] = {}  # workload -> nodes with room for none of the pods, because of it more than of others
    partly: int = 0  # nodes with room for fewer pods than empty ones


class Change(NamedTuple):
    """A change that is proven to make the plan fit. `what` is level, members, size, pods, copies or order."""

    what: str
    name: str
    value: str
    instead: str


class Certificate(NamedTuple):
    """Why a plan does not fit. `level` "" means the whole cluster; `best` is the domain with the most room."""

    gang: GangPlan
    unit: Unit  # the gang's root, or one instance of a group
    group: str  # the group's name; "" for the gang itself
    route: Route
    place: Route  # of the level that has no room
    level: str
    best: str
    lacks: tuple[Lack, ...]
    beside: tuple[GangPlan, ...] = ()  # gangs that run at the same time and leave too little room
    near: tuple[Near, ...] = ()
    changes: tuple[Change, ...] = ()
    policy: bool = False  # the plan fits on spare nodes and those above `plan`
    channels: bool = False  # the plan fits without the one-channel rule
    pods: Pods | None = None  # one pod of these does not fit one empty node


def certify(gangs: tuple[GangPlan, ...], plan: Plan, search_space: Space) -> Certificate:
    """The certificate for gangs that do not fit at once."""
    alone = next((gang for gang in gangs if len(gangs) == 1 or surely_too_large((gang,), plan, search_space)), None)
    inside = (_hopeless(alone, plan) or _inside(alone, plan, search_space)) if alone else None
    certificate = inside or _together(gangs, plan, search_space)
    policy, channels = (
        surely_fits(plan, QUICK._replace(policy=False)),
        surely_fits(plan, QUICK._replace(channels=False)),
    )
    return certificate._replace(policy=policy, channels=channels, changes=tuple(_changes(certificate, plan)))


def _hopeless(gang: GangPlan, plan: Plan) -> Certificate | None:
    """A pod that does not fit on an empty node."""
    for pods in all_pods(gang.root):
        pool = plan.topology.pool(pods.pool)
        if pool and pods.replicas and not per_node(demand(pods, plan.topology), capacity(pool))[0]:
            return Certificate(gang, gang.root, "", pods.route, pods.route, "host", "", (), pods=pods)
    return None


def _inside(gang: GangPlan, plan: Plan, search_space: Space) -> Certificate:
    """The smallest unit that does not fit although everything below it does; otherwise the whole gang."""
    whole = problem((gang,), plan.topology, search_space, loose=True)
    firsts: dict[int, Part] = {}
    for part in _parts(whole.root):
        firsts.setdefault(part.item, part)
    for item in dict.fromkeys((*sorted(firsts)[:KINDS], *sorted(firsts)[-1:])):
        unit = firsts[item].unit
        single = gang._replace(root=Unit("", (), groups=(Units("", (), 1, (unit,)),)))
        if surely_too_large((single,), plan, search_space):
            return _described(gang, unit, problem((single,), plan.topology, search_space, loose=True), plan)
    return _described(gang, gang.root._replace(required="", separate=""), whole, plan)


def _parts(part: Part) -> Iterator[Part]:
    for below in part.parts:
        yield from _parts(below)
        yield below


def _together(gangs: tuple[GangPlan, ...], plan: Plan, search_space: Space) -> Certificate:
    """The first gang that does not fit beside those before it."""
    count = most(1, len(gangs) - 1, lambda n: not surely_too_large(gangs[:n], plan, search_space))
    last, others = gangs[min(count, len(gangs) - 1)], gangs[:count]
    everything = problem(gangs[: count + 1], plan.topology, search_space, loose=True)
    root = Unit("", last.route, groups=tuple(Units(g.name, g.route, 1, (g.root,)) for g in gangs[: count + 1]))
    return _described(last, root, everything, plan)._replace(beside=others)


def _described(gang: GangPlan, unit: Unit, instance: Problem, plan: Plan) -> Certificate:
    """What a unit requests in one domain, compared with what the best domain can hold."""
    level = unit.required or unit.separate
    part = next((part for part in _parts(instance.root) if part.unit is unit), instance.root)
    content = _vector(part, instance.width)
    fronts = solve(instance, BUDGET)
    depth = instance.types[part.item - len(instance.shapes)].depth if part.item >= 0 else 0
    best, held, complete = instance.space.root, (0,) * instance.width, True
    for place, kind in _places(instance.space.root, depth):
        counted = fronts[kind].before if kind in fronts else ()
        complete = complete and kind in fronts
        vector = max((tuple(map(min, v, content)) for v in counted), key=lambda v: _weight(v, instance), default=held)
        if _weight(vector, instance) > _weight(held, instance):
            best, held = place, vector
    if not complete and part is instance.root:
        short = shortage(instance, fronts)
        held, complete = short or held, short is not None
    name = best.path[-1][1] if best.path and level not in ("", HOST_LEVEL) and any(held) else ""
    rows = tuple(_near(best, instance, plan))
    lacking = tuple(_lacks(part, unit, held if complete else None, instance, plan))
    at: Route = (*unit.route, *(("placement", "required") if unit.required else ("separate",) if unit.separate else ()))
    group = next((each.name for each in _all_units(gang.root) for member in each.members if member is unit), "")
    return Certificate(gang, unit, group, unit.route, at, level, name, lacking, near=rows)


def _places(place: Place, depth: int | None) -> Iterator[tuple[Place, int]]:
    """The domains of a depth and their kinds; for the depth of nodes, the domains of the nodes."""
    if len(place.path) == depth:
        yield place, place.kind
    elif depth is not None:
        if len(place.path) + 1 == depth:
            yield from ((place, ~pool) for pool, nodes in place.hosts if nodes)
        for child in place.children:
            yield from _places(child, depth)


def _vector(part: Part, width: int) -> Vector:
    counts = [0] * width
    for below in part.parts:
        counts[below.item] += 1
    for item, _, pods in part.pods:
        counts[item] += pods.replicas
    return tuple(counts)


def _weight(vector: Vector, instance: Problem) -> int:
    return sum(count * _size(item, instance) for item, count in enumerate(vector) if count)


def _size(item: int, instance: Problem) -> int:
    """Pods of one item."""
    if item < len(instance.shapes):
        return 1
    return sum(count * _size(each, instance) for each, count in instance.types[item - len(instance.shapes)].content)


def _shapes(item: int, instance: Problem) -> set[int]:
    """The pod shapes of an item."""
    if item < len(instance.shapes):
        return {item}
    return set().union(*(_shapes(each, instance) for each, _ in instance.types[item - len(instance.shapes)].content))


def _some(names: Iterable[str]) -> str:
    """The first three names."""
    different = sorted({*names})
    more = [f"{len(different) - 3} more"] if len(different) > 3 else []
    return ", ".join([*different[:3], *more])


def _lacks(part: Part, unit: Unit, held: Vector | None, instance: Problem, plan: Plan) -> Iterator[Lack]:
    content = _vector(part, instance.width)
    gangs = {gang.name: gang.gang.name for gang in plan.gangs}
    groups = {member.name: units.name for units in _all_units(unit) for member in units.members if member.name}
    for item in sorted((i for i, count in enumerate(content) if count), reverse=True):
        below = next((each for each in part.parts if each.item == item), None)
        sample = next(all_pods(below.unit)) if below else next(pods for i, _, pods in part.pods if i == item)
        alike = (groups.get(p.unit.name) or p.unit.name or gangs[p.gang] for p in part.parts if p.item == item)
        name = _some(alike) if below else _some(p.spec.name for i, _, p in part.pods if i == item)
        level = (below.unit.required or below.unit.separate) if below else ""
        pool = plan.topology.pool(sample.pool)
        fits, binding = per_node(demand(sample, plan.topology), capacity(pool)) if pool else (0, "")
        each = fits if len(_shapes(item, instance)) == 1 else 0
        room = held[item] if held else None
        yield Lack(
            name, below is not None, level, content[item], room, _size(item, instance), each, binding, sample.pool
        )


def _all_units(unit: Unit) -> Iterator[Units]:
    for each in walk(unit):
        yield from each.groups


def _near(best: Place, instance: Problem, plan: Plan) -> Iterator[Near]:
    """The finest domains below the best one, those that lost most nodes first; at most 3."""
    rows = []
    values = best.values
    demands = demands_by_pool(plan.gangs, plan.topology)
    for number, pool in enumerate(plan.topology.pools):
        if instance.space.number(pool.name) < 0:
            continue
        labels = tuple(level.label for level in pool.levels)[: len(values)]
        left = room_left(pool, demands[pool.name])
        out = {node: why for why, nodes in sorted(pool.unusable.items()) for node in nodes}
        for row, domain in enumerate(pool.domains):
            if domain.path[: len(values)] == values and labels == tuple(label for label, _ in best.path):
                rows.append(_row(plan, number, row, out, left))
    rows.sort(key=lambda near: (near.usable - near.nodes, near.usable, near.pool, near.row))
    yield from [near for near in rows if near.usable < near.nodes][:3] or rows[:1]


def _row(plan: Plan, number: int, row: int, out: Mapping[str, str], left: Left) -> Near:
    pool = plan.topology.pools[number]
    domain, last = pool.domains[row], pool.levels[-1] if pool.levels else None
    counts: dict[str, int] = {}
    for node in domain.nodes:
        if node in out:
            counts[out[node]] = counts.get(out[node], 0) + 1
    ready = sorted((node for node in domain.nodes if node not in out), key=lambda node: node not in plan.occupied)
    planned = ready[: last.plan if last else None]
    busy = [plan.occupied[node] for node in planned if node in plan.occupied]
    free = [left(each) for each in busy]
    taken = Counter(_largest(pool, each) for each, rest in zip(busy, free, strict=True) if rest == ())
    return Near(
        pool=number,
        row=row,
        name=domain.path[-1] if domain.path else pool.name,
        level=last.name if last else "pool",
        nodes=len(domain.nodes),
        usable=len(planned) - taken.total(),
        unusable=counts,
        kept_back=len(ready) - len(planned),
        taken=dict(sorted(taken.items(), key=lambda each: (-each[1], each[0]))),
        partly=sum(map(bool, free)),
    )


def _largest(pool: Pool, occupants: Iterable[Occupant]) -> str:
    """The workload with the largest share of anything that a node has."""
    offered = capacity(pool)

    def share(occupant: Occupant) -> float:
        named = (name for name in occupant.amounts if offered.get(name) and name != WHOLE)
        return max((occupant.amounts[name] / offered[name] for name in named), default=0)

    return max(occupants, key=share).name


def _changes(certificate: Certificate, plan: Plan) -> Iterator[Change]:
    """Changes that make the whole plan fit; each is proven before it is named."""
    if certificate.pods is not None:
        return
    for level in _coarser(certificate, plan):
        if surely_fits(requiring(plan, certificate.route, level)):
            yield Change("level", str(certificate.place[-1]) if certificate.place else "", level, certificate.level)
            break
    yield from fewer(certificate, plan)


def _coarser(certificate: Certificate, plan: Plan) -> Iterator[str]:
    if certificate.place[-1:] == ("separate",):
        yield ""
        return
    pool = plan.topology.pool(certificate.lacks[0].pool) if certificate.lacks else None
    names = [level.name for level in pool.levels] + ["host"] if pool else []
    if certificate.level in names:
        inside = next((n for n, level in enumerate(pool.levels if pool else ()) if level.nvlink), 0)
        bound = certificate.level != "host" and _requests_domain(certificate.gang.gang)
        yield from reversed(names[inside if bound else 0 : names.index(certificate.level)])
        yield from () if bound else ("",)


def _requests_domain(node: Gang | Group) -> bool:
    """Whether the workflow itself requests a ComputeDomain, which needs a level inside NVLink (P507)."""
    return node.compute_domain not in ("auto", "never") or any(map(_requests_domain, node.groups))


def fewer(certificate: Certificate, plan: Plan) -> Iterator[Change]:
    """In this order: fewer copies of the gang, fewer instances of its groups, fewer pods."""
    if certificate.beside:
        gang = certificate.gang.gang
        name, copies = gang.name, proven_copies(gang)
        yield from _change("copies", name, copies, partial(at_once, plan, certificate.route))
        others = [gang for gang in certificate.beside if gang.route != certificate.route]
        if others and surely_fits(in_turn(plan, certificate.route, tuple(gang.name for gang in others))):
            yield Change("order", name, ", ".join(dict.fromkeys(f'"{gang.gang.name}"' for gang in others)), "")
        return
    above, unit = next(
        (above, u)
        for g in plan.gangs
        for above, u in _with_parents(g.root)
        if (u.route, u.name) == (certificate.route, certificate.unit.name)
    )
    for units in unit.groups[:MOST]:
        fewer = _change("members", units.name, len(units.members), partial(with_members, plan, units.route))
        yield from (_of_all_pods(each, units) if is_cut(units) else each for each in fewer)
    if above and is_cut(above):
        full = max(pods.replicas for pods in all_pods(unit))
        yield from _change("size", above.name, full, partial(with_size, plan, certificate.route))
    elif unit.pods:
        pods = unit.pods[0]
        yield from _change("pods", pods.spec.name, pods.replicas, partial(with_pods, plan, pods.route))


def _of_all_pods(change: Change, units: Units) -> Change:
    """The change of a group with `size` as one of its podSet, whose replicas `size` divides into instances."""
    sizes = [pods.replicas for member in units.members for pods in all_pods(member)]
    spec = next(pods.spec for pods in all_pods(units.members[0]))
    return Change("pods", spec.name, str(sum(sizes[: int(change.value)])), str(sum(sizes)))


def _change(what: str, name: str, full: int, changed: Callable[[int], Plan]) -> Iterator[Change]:
    """The largest smaller number with which the whole plan fits, if there is one."""
    count = most(1, full - 1, lambda n: surely_fits(changed(n)))
    if count:
        yield Change(what, name, str(count), str(full))


def _with_parents(unit: Unit, above: Units | None = None) -> Iterator[tuple[Units | None, Unit]]:
    """Every unit and the group it is an instance of."""
    yield above, unit
    for units in unit.groups:
        for member in units.members:
            yield from _with_parents(member, units)
