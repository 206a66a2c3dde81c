"""Queues with numbers: whether a queue and its parents can ever hold what must start together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info
from bayplan.kube import quantity
from bayplan.model.plan import (
    GangPlan,
    Plan,
    Pods,
    Unit,
    accelerator,
    all_pods,
    allocator,
    gang_queue,
    plan_queues,
    queue_route,
)
from bayplan.model.topology import GPU, ClusterTopology, Queue, Quota
from bayplan.model.workflow import proven_copies
from bayplan.planning.fit.problem import demand

Amounts = Mapping[tuple[str, str], int]
"""(resource, pool) -> thousandths."""


class Bound(NamedTuple):
    """A number that bounds what a queue holds: of the queue or of a parent, and its place in the topology."""

    queue: Queue
    quota: Quota
    amount: int
    key: str
    route: Route


def bounds(plan: Plan, gang: GangPlan, own_share: bool = False) -> Iterator[Bound]:
    """The limits of the gang's queue and its parents. With `own_share`, what is guaranteed is the limit."""
    for number, queue in plan.topology.ancestry(gang_queue(plan, gang)):
        for row, quota in enumerate(queue.quotas):
            key = "guaranteed" if own_share and quota.guaranteed is not None else "limit"
            amount = getattr(quota, key)
            if amount is not None:
                route: Route = ("topology", "spec", "queues", number, "quotas", row, key)
                yield Bound(queue, quota, amount, key, route)


def too_small(plan: Plan, own_share: bool = False) -> Iterator[Diagnostic]:
    """P563: the first number that is too small for the copies of a gang which must fit at the same time.

    Optional pods and groups do not count, and neither do GPUs that pods claim through DRA. `own_share`: only gangs that
    are not preemptible, and what the queue is guaranteed.
    """
    judged = (each for each in plan.gangs if each.copy == 0 and not (own_share and each.gang.preemptible is not False))
    for gang in judged:
        copies, needed = proven_copies(gang.gang), needs(gang, plan)
        bound = next((b for b in bounds(plan, gang, own_share) if _of(b.quota, needed) * copies > b.amount), None)
        if bound:
            yield _refused(plan, gang, bound, _of(bound.quota, needed) * copies)


def most_copies(plan: Plan, gang: GangPlan) -> tuple[int, str]:
    """How many copies of the gang its queue and the parents hold, and which number decides."""
    needed = needs(gang, plan)
    held = [(each.amount // amount, each) for each in bounds(plan, gang) if (amount := _of(each.quota, needed))]
    if not held:
        return gang.gang.replicas, ""
    number, bound = min(held, key=lambda each: each[0])
    return number, f"{_titled(plan, gang, bound)} holds {_amount(bound.amount, bound.quota)}"


def _titled(plan: Plan, gang: GangPlan, bound: Bound) -> str:
    """The queue of a bound; a parent with the gang's own queue."""
    own = gang_queue(plan, gang)
    above = "" if bound.queue.name == own else f', a parent of queue "{own}",'
    return f'queue "{bound.queue.name}"{above}'


def _refused(plan: Plan, gang: GangPlan, bound: Bound, wanted: int) -> Diagnostic:
    copies = proven_copies(gang.gang)
    who = f'{copies} copies of gang "{gang.gang.name}" need' if copies > 1 else f'gang "{gang.gang.name}" needs'
    route = queue_route(plan, gang) or (*gang.route, "name")
    return refused(who, wanted, bound, _titled(plan, gang, bound), route)


def refused(who: str, wanted: int, bound: Bound, queue: str, route: Route) -> Diagnostic:
    """P563: what needs more than a queue holds. `queue`: its title."""
    most = quantity.show(bound.amount)
    holds = f"guarantees only {most}, and this gang is not preemptible" if bound.key == "guaranteed" else ""
    holds = holds or f"can never hold more than {most}"
    message = f"{who} {_amount(wanted, bound.quota)}, but {queue} {holds}"
    where = " in the cluster and in the topology" if bound.route[0] == "topology" else ""
    hint = f"request less, name another queue, or raise `{bound.key}` of the queue{where}"
    return error("P563", route, message, hint=hint, notes=(Note("the number is here", bound.route),))


def unmodelled(plan: Plan) -> Iterator[Diagnostic]:
    """P564: the numbers of the queues, of which bayplan does not know how much others use."""
    chain = numbers(plan)
    if chain:
        route = ("workflow", "spec", "queue") if plan.workflow.queue else ("workflow", "metadata", "name")
        kinds = {name: "queue" if name in plan_queues(plan) else "parent queue" for name, _ in chain}
        shown = "; ".join(f'{kinds[name]} "{name}": {", ".join(map(described, quotas))}' for name, quotas in chain)
        message = f"bayplan models neither preemption nor what others use of these numbers: {shown}"
        yield info("P564", route, message)


def numbers(plan: Plan) -> list[tuple[str, list[Quota]]]:
    """The queues and their parents, each with the numbers of what their gangs request."""
    found: dict[str, list[Quota]] = {}
    for gang in (each for each in plan.gangs if each.copy == 0):
        needed = needs(gang, plan)
        for _, queue in plan.topology.ancestry(gang_queue(plan, gang)):
            known = found.setdefault(queue.name, [])
            found[queue.name] = [quota for quota in queue.quotas if quota in known or _of(quota, needed)]
    return [(name, quotas) for name, quotas in found.items() if quotas]


def described(quota: Quota) -> str:
    """`guaranteed 64 and at most 256 gpu`."""
    numbers = (("guaranteed", quota.guaranteed), ("at most", quota.limit))
    shown = (f"{word} {quantity.show(number)}" for word, number in numbers if number is not None)
    return f"{' and '.join(shown)} {_of_pool(quota)}"


def _amount(amount: int, quota: Quota) -> str:
    return f"{quantity.show(amount)} {_of_pool(quota)}"


def _of_pool(quota: Quota) -> str:
    pool = f' of pool "{quota.pool}"' if quota.pool else ""
    return f"{quota.resource}{pool}"


def needs(gang: GangPlan, plan: Plan) -> Amounts:
    """What the gang requests at least, as schedulers count it for queues."""
    found: dict[tuple[str, str], int] = {}
    each = {pods.route: (pods.pool, requests(pods, plan)) for pods in all_pods(gang.root)}
    for pool, asked in each.values():
        for resource in asked:
            if (resource, pool) not in found:
                in_pool = {route: asks.get(resource, 0) for route, (where, asks) in each.items() if where == pool}
                found[resource, pool] = least(gang.root, in_pool)
    return found


def least(unit: Unit, amounts: Mapping[Route, int]) -> int:
    """The smallest sum with which a unit may start, of amounts by podSet."""
    groups = (sorted(least(each, amounts) for each in units.members)[: units.minimum] for units in unit.groups)
    return sum(pods.minimum * amounts.get(pods.route, 0) for pods in unit.pods) + sum(map(sum, groups))


def requests(pods: Pods, plan: Plan) -> Mapping[str, int]:
    """What one pod requests, by Kubernetes resource, and its whole cards as GPU."""
    asked = dict(demand(pods, plan.topology))
    for name, kind in plan.topology.accelerators.items():
        amount, own = asked.pop(accelerator(name), 0), pods.spec.accelerator
        if pods.spec.whole_node:  # takes all cards of its node, but requests only its own
            amount = own.per_pod * own.portion if own and own.name == name else 0
        if amount and (allocator(own, kind) if own else kind.allocators[0]) == "device-plugin":
            asked[kind.count_resource] = amount
            asked[GPU] = asked.get(GPU, 0) + (0 if kind.profile else amount)
    return asked


def _of(quota: Quota, amounts: Amounts) -> int:
    return sum(
        amount
        for (resource, pool), amount in amounts.items()
        if resource == quota.resource and quota.pool in ("", pool)
    )


def without_chains(plan: Plan, enforced: ClusterTopology) -> Plan:
    """The plan whose copies do not wait for each other where their queue holds no more of them than `atOnce`.

    `enforced`: the topology with the numbers of queues that the scheduler's own objects have.
    """
    both = plan, plan._replace(topology=enforced)
    tied = {
        name for gang in plan.gangs for name in (gang.name, *gang.after) if gang.after
    }  # one JobSet holds all copies

    def freed(gang: GangPlan) -> GangPlan:
        held = (
            gang.previous
            and gang.name not in tied
            and all(_held(gang, plan, tuple(bounds(each, gang))) for each in both)
        )
        return gang._replace(previous="") if held else gang

    return plan._replace(gangs=tuple(map(freed, plan.gangs)))


def _held(gang: GangPlan, plan: Plan, limits: tuple[Bound, ...]) -> bool:
    needed = needs(gang, plan)
    wanted = ((_of(each.quota, needed) * ((gang.gang.at_once or 0) + 1), each.amount) for each in limits)
    return any(amount > limit for amount, limit in wanted)
