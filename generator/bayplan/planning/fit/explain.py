"""The diagnostics of a failed proof."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import count, listing
from bayplan.kube import quantity
from bayplan.model.plan import BOUNDED, CHANNEL, WHOLE, GangPlan, Plan, Pods, all_pods, edit_plan, walk
from bayplan.model.workflow import Rollout, proven_copies, serves
from bayplan.planning import queues
from bayplan.planning.fit.certificate import Certificate, Change, Lack, Near, at_once, in_turn, most
from bayplan.planning.fit.problem import capacity, demand, per_node
from bayplan.planning.fit.search import FULL, Stage, moved, stages, surely_fits
from bayplan.planning.fit.staying import can_stay


def undecided(plan: Plan, why: str, hint: str) -> Diagnostic:
    """P557: the budget was not enough for a placement or a proof."""
    route = plan.gangs[0].route if plan.gangs else ()
    return error("P557", route, f"bayplan cannot decide whether the plan fits: {why}", hint=hint)


def refused(plan: Plan, why: Certificate) -> Diagnostic:
    """The error for a plan that does not fit, with the code of the only obstacle if there is one."""
    if why.pods is not None:
        return _one_pod(plan, why.pods)
    message = f"{_subject(why)} {_needs(why)}; {_has(why)}"
    bound = why.channels or any(lack.binding == CHANNEL for lack in why.lacks)  # fewer pods would still share nodes
    hint = _or(tuple(_described(each) for each in why.changes[:3] if not bound or each.what == "level"))
    hint = hint or (_WHOLE_NODE if bound else "")
    if why.channels:
        return error("P506", why.place, f"{message}: {_CHANNEL}", hint=hint, notes=_notes(why))
    if why.policy:
        message, hint = f"{message}; it would fit on nodes that are reserved as spares", _or((SPARE_NODE, hint))
        return error("P555", why.place, message, hint=hint, notes=_notes(why))
    return error("P554" if why.beside else "P551", why.place, message, hint=hint, notes=_notes(why))


_CHANNEL = "a node has one IMEX channel, so only one pod of a ComputeDomain runs on it"
SPARE_NODE = "free a spare node or raise `plan` in the topology"
_WHOLE_NODE = "let each pod take all accelerators of its node, or set `computeDomain: never`"


def _subject(why: Certificate) -> str:
    gang = f'gang "{why.gang.gang.name}"'
    if why.beside:
        return f"{gang} does not fit beside {_others(why)}: together they"
    return f'group "{why.group}" of {gang}' if why.group else gang


def _others(why: Certificate) -> str:
    names = dict.fromkeys(f'"{gang.gang.name}"' for gang in why.beside if gang.route != why.route)
    copies = sum(gang.route == why.route for gang in why.beside)
    shown = [*list(names)[:3], *([f"{len(names) - 3} more gangs"] if len(names) > 3 else [])]
    return " and ".join([*([f"{copies} of its copies"] if copies else []), *([", ".join(shown)] if shown else [])])


def _needs(why: Certificate) -> str:
    short = sorted(why.lacks, key=lambda lack: lack.held is None or lack.held >= lack.needed)
    more = [f"{len(short) - 3} more kinds"] if len(short) > 3 else []
    amounts = " and ".join([*(_amount(lack, lack.needed) for lack in short[:3]), *more])
    verb = "need" if why.beside else "needs"
    return f"{verb} {amounts}" + (f", in one {why.level}" if why.level else "")


def _amount(lack: Lack, number: int) -> str:
    """`16 pods of "worker", at most 1 per node` or `4 instances of "replica" (16 pods each, all in one rack)`."""
    by = "" if lack.binding.startswith("accelerator:") else f" because of {_named(lack.binding)}"
    a_node = f", at most {lack.each_node} per node{by}" if lack.each_node else ""
    level = f", all in one {lack.level}" if lack.level else ""
    if lack.unit:
        return f"{_units(lack, number)} ({count(lack.size, 'pod')} each{a_node}{level})"
    return f"{_units(lack, number)}{a_node}"


def _units(lack: Lack, number: int) -> str:
    """`16 pods of "worker"` or `4 instances of "replica"`."""
    return f'{count(number, "instance" if lack.unit else "pod")} of "{lack.name}"'


def _has(why: Certificate) -> str:
    best = f'{why.level} "{why.best}"' if why.best else f"any {why.level}" if why.level else "the cluster"
    short = [lack for lack in why.lacks if lack.held is not None and lack.held < lack.needed][:3]
    if any(lack.held is None for lack in why.lacks):
        return f"no {why.level} has room for all of them" if why.level else "the cluster has no room for all of them"
    if not any(lack.held for lack in why.lacks):
        return f"no {why.level} has room for any of them" if why.level else "the cluster has no room for any of them"
    rooms = " and ".join(_units(lack, lack.held or 0) for lack in short)
    return f"{best}, the one with the most room, has room for {rooms}" if why.best else f"{best} has room for {rooms}"


def _or(ways: tuple[str, ...]) -> str:
    return ", or ".join(way for way in ways if way)


def _described(change: Change) -> str:
    if change.what == "level":
        wanted = f'require "{change.value}" instead of "{change.instead}"'
        key = "separate" if change.name == "separate" else "required"
        return wanted if change.value else f"drop `{key}: {change.instead}`"
    if change.what == "order":
        return f'let gang "{change.name}" depend on {change.value}'
    if change.what == "size":
        return f'set `size: {change.value}` on group "{change.name}" instead of {change.instead}'
    if change.what == "copies":
        return f'set `atOnce: {change.value}` on gang "{change.name}" instead of {change.instead}'
    kind = "group" if change.what == "members" else "podSet"
    return f'use {count(int(change.value), "replica")} of {kind} "{change.name}" instead of {change.instead}'


def _notes(why: Certificate) -> tuple[Note, ...]:
    return tuple(Note(_row(near), ("topology", "spec", "pools", near.pool, "domains", near.row)) for near in why.near)


MOST_WORKLOADS = 2
"""Workloads that the note for a domain names."""


def _row(near: Near) -> str:
    lost = [f"{number} {reason}" for reason, number in near.unusable.items()]
    if near.taken:
        names = [*near.taken]
        names[MOST_WORKLOADS:] = (
            [count(len(names) - MOST_WORKLOADS, "other workload")] if len(names) > MOST_WORKLOADS else []
        )
        by = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        lost.append(f"{sum(near.taken.values())} taken by {by}")
    if near.partly:
        lost.append(f"{near.partly} partly taken")
    if near.kept_back:
        lost.append(f"{near.kept_back} above `plan`")
    why = f" ({', '.join(lost)})" if lost else ""
    return f'{near.level} "{near.name}" has {near.usable} of {near.nodes} nodes available{why}'


def _one_pod(plan: Plan, pods: Pods) -> Diagnostic:
    pool = next(pool for pool in plan.topology.pools if pool.name == pods.pool)
    asks, offered = demand(pods, plan.topology), capacity(pool)
    _, name = per_node(asks, offered)
    message = (
        f'podSet "{pods.spec.name}" requests {_quantity(name, asks[name])} per pod; '
        f'a node of pool "{pool.name}" has {_quantity(name, offered.get(name, 0))}'
    )
    field = name if name in ("cpu", "memory", "pods") else "resources"
    hint = f"request less, or correct `node.{field}` of the pool in the topology"
    return error("P552", pods.route, message, hint=hint)


def _quantity(name: str, amount: int) -> str:
    return f"{quantity.show(amount)} {_named(name)}"


def _named(resource: str) -> str:
    plain = resource.removeprefix("accelerator:")
    if resource.startswith(BOUNDED):
        plain = resource.removeprefix(BOUNDED).partition(":")[2]
    return {CHANNEL: "IMEX channel", WHOLE: "whole node"}.get(resource, plain)


def moving(plan: Plan, witness: tuple[Stage, ...]) -> Iterator[Diagnostic]:
    """P560 for the first gang without a placement in which it stays on its nodes while other gangs start and end."""
    found = moved(witness)
    if found is None:
        return
    name, before, after = found
    gangs = {gang.name: gang for gang in plan.gangs}
    gang = gangs[name]

    def others(here: Stage, there: Stage) -> tuple[str, ...]:
        return tuple(dict.fromkeys(gangs[each].gang.name for each in here.gangs if each not in there.gangs))

    sides = others(before, after), others(after, before)
    beside = " and ".join(f"beside {listing(names, 'and', 3)}" for names in sides)
    message = f'gang "{gang.gang.name}" runs {beside}: each fits, but bayplan found no placement in which'
    message = f'{message} "{gang.gang.name}" stays on its nodes'
    hint = "run these gangs one after the other, or add nodes"
    first = tuple(each for each in before.gangs if each not in after.gangs)
    of_one_workflow = len({each.route[0] for each in plan.gangs}) == 1  # only these can wait for each other
    if of_one_workflow and can_stay(in_turn(plan, gang.route, first)):
        change = Change("order", gang.gang.name, ", ".join(f'"{each}"' for each in sides[0]), "")
        hint = f"{_described(change)}, or add nodes"
    yield warning("P560", (*gang.route, "name"), message, hint=hint)


def limited(plan: Plan, queued: bool = False) -> Iterator[Diagnostic]:
    """P562 for each gang without `atOnce` of which only some copies run at the same time.

    `queued`: the scheduler enforces the numbers of the queues in the topology.
    """
    for gang in (each for each in plan.gangs if each.copy == 0):
        copies = gang.gang.replicas
        if gang.gang.at_once is None and proven_copies(gang.gang) < copies:
            held, holder = queues.most_copies(plan, gang) if queued else (copies, "")
            if not held:
                continue  # P563: not even one
            number = most(2, min(copies, held), lambda n, route=gang.route: surely_fits(at_once(plan, route, n)))  # type: ignore[misc]
            if number < copies:
                fits = "fits" if number == 1 else "fit"
                beside = ", beside other gangs" if _accompanied(plan, gang) else ""
                why = f": {holder}" if number == held else beside
                message = f'{number} of the {copies} copies of gang "{gang.gang.name}" {fits} at a time{why}'
                message = f"{message}; the rest waits for room"
                hint = f"set `atOnce: {number}` to let bayplan prove and enforce this number"
                yield info("P562", (*gang.route, "replicas"), message, hint=hint)


def growing(plan: Plan) -> Iterator[Diagnostic]:
    """P570 and P556 of services: no room for the copies that a rollout adds, or for the most that an autoscaler adds.

    The other gangs have their usual numbers of copies.
    """
    for gang in (each for each in plan.gangs if each.copy == 0 and serves(each.gang)):
        copies, called = gang.gang.replicas, f'gang "{gang.gang.name}"'
        surge, unavailable = gang.gang.rollout or Rollout()
        if surge and not surely_fits(grown(plan, gang, copies + surge), FULL):
            room = f"1 copy of {called} fits" if copies == 1 else f"{copies} copies of {called} fit"
            message = f"{room}, but bayplan finds no room for {surge} more during a rollout (`surge`)"
            number = _most_copies(plan, gang, copies + surge - 1) - copies
            none = "`surge: 0`" if unavailable else "`surge: 0` and `unavailable: 1`"
            fewer = f"`surge: {number}`" if number else f"{none}, with which a copy leaves its nodes to the new one"
            yield error("P570", (*gang.route, "rollout", "surge"), message, hint=f"set {fewer}, or add nodes")
        limit = gang.gang.autoscale.max_replicas if gang.gang.autoscale else 0
        rolling = limit + surge
        if limit > copies and (found := _most_copies(plan, gang, rolling)) < rolling:
            message = f"{min(found, limit)} of the {limit} copies of {called} that its autoscaler may start fit"
            if surge:
                message += f"; a rollout of {limit} needs room for {rolling} (`surge`), and {found} fit"
            hint = f"set `maxReplicas: {max(found - surge, copies)}`, or add nodes before it needs more"
            yield warning("P556", (*gang.route, "autoscale", "maxReplicas"), message, hint=hint)


def rollouts(plan: Plan) -> Iterator[Plan]:
    """The plan during the rollout of each service that adds copies for it."""
    for gang in (each for each in plan.gangs if each.copy == 0 and serves(each.gang)):
        if gang.gang.rollout and gang.gang.rollout.surge:
            yield grown(plan, gang, gang.gang.replicas + gang.gang.rollout.surge)


def _most_copies(plan: Plan, gang: GangPlan, limit: int) -> int:
    """How many copies surely fit, from those that are planned on."""
    return most(gang.gang.replicas + 1, limit, lambda n: surely_fits(grown(plan, gang, n)))


def grown(plan: Plan, gang: GangPlan, number: int) -> Plan:
    """The plan with that many copies of a gang, which run at the same time."""
    copies = [each for each in plan.gangs if each.route == gang.route]
    added = (
        copies[-1]._replace(name=f"{copies[-1].name}+{n}", copy=n, compute_domains=())
        for n in range(len(copies), number)
    )
    sized = (each._replace(gang=each.gang._replace(replicas=number)) for each in (*copies, *added))
    return plan._replace(gangs=(*(each for each in plan.gangs if each.route != gang.route), *sized))


def _accompanied(plan: Plan, gang: GangPlan) -> bool:
    """Whether other gangs may run at the same time."""
    return any(each.route != gang.route for group in stages(plan.gangs) if gang in group for each in group)


def shrunk(plan: Plan, reduced: Plan) -> Iterator[Diagnostic]:
    """P556: one warning for every group and podSet that can start, but not with all replicas."""
    full = dict(_elastic(plan))
    counts = {route: low for route, low in _elastic(reduced) if low < full[route]}
    for route, low in list(counts.items()):
        counts[route] = most(low, full[route], lambda n, route=route: surely_fits(_sized(plan, {**counts, route: n})))  # type: ignore[misc]
    for route, number in counts.items():
        if number < full[route]:
            message = f"{_titled(plan, route)} fits with {number} of {full[route]} replicas; the rest waits for room"
            yield warning("P556", route, message, hint="add nodes, or use fewer replicas")


def _elastic(plan: Plan) -> Iterator[tuple[Route, int]]:
    for gang in plan.gangs:
        for unit in walk(gang.root):
            yield from ((units.route, len(units.members)) for units in unit.groups)
        yield from ((pods.route, pods.replicas) for pods in all_pods(gang.root))


def _sized(plan: Plan, counts: dict[Route, int]) -> Plan:
    return edit_plan(
        plan,
        units=lambda each: each._replace(members=each.members[: counts.get(each.route)]),
        pods=lambda each: each._replace(replicas=min(each.replicas, counts.get(each.route, each.replicas))),
    )


def _titled(plan: Plan, route: Route) -> str:
    for gang in plan.gangs:
        for unit in walk(gang.root):
            for units in unit.groups:
                if units.route == route:
                    return f'group "{units.name}"'
    return next(f'podSet "{p.spec.name}"' for g in plan.gangs for p in all_pods(g.root) if p.route == route)
