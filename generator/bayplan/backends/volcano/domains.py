"""What Volcano counts when it chooses a HyperNode: the amounts of whole domains, and how many domains it tries.

Volcano 1.14.3 and 1.15.1, pkg/scheduler: `hyperNodeGradientFn` in plugins/network-topology-aware offers the domains of
the finest tier first, and `allocateForSubJob` in actions/allocate tries each of them before it chooses one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import floor, prod

from bayplan.backends.volcano.pod_group import subgroups
from bayplan.model.plan import (
    BOUNDED,
    CHANNEL,
    SLOTS,
    WHOLE,
    GangPlan,
    Plan,
    Pods,
    Unit,
    accelerator,
    all_pods,
    once,
    uses_dra,
)
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Pool
from bayplan.planning.fit import problem
from bayplan.planning.fit.problem import demand, offers, per_node, room

Domain = list[tuple[Pool, Mapping[str, int], int]]
"""The usable nodes of a domain: their pool, what each has left, and how many have that."""


def placed_units(gang: GangPlan) -> Iterator[Unit]:
    """The units for which Volcano chooses a domain: the gang and its subgroups."""
    units = (gang.root, *(instance.unit for instance in subgroups(gang.root)))
    yield from (unit for unit in units if unit.required or unit.preferred)


def own_pods(gang: GangPlan, unit: Unit) -> list[Pods]:
    """The pods that Volcano counts for the unit: of the gang, those in no subgroup."""
    inner = {pods.name for each in subgroups(gang.root) if each.unit is not unit for pods in all_pods(each.unit)}
    return [pods for pods in all_pods(unit) if unit.name or pods.name not in inner]


def requests(pods: Pods, topology: ClusterTopology) -> dict[str, int]:
    """What Volcano counts of one pod: neither claims nor its slot on the node."""
    claimed = pods.spec.accelerator and uses_dra(pods, topology)
    card = accelerator(pods.spec.accelerator.name) if pods.spec.accelerator and claimed else ""
    amounts = demand(pods, topology).items()
    return {
        name: n for name, n in amounts if name not in (CHANNEL, WHOLE, SLOTS, card) and not name.startswith(BOUNDED)
    }


def choices(plan: Plan, gang: GangPlan, claiming: frozenset[str]) -> int:
    """In how many ways Volcano can choose the domains of units with such pods, one after the other."""
    units = [unit for unit in placed_units(gang) if any(pods.name in claiming for pods in all_pods(unit))]
    return prod(_candidates(plan, gang.root, unit) for unit in units)


def _candidates(plan: Plan, root: Unit, unit: Unit) -> int:
    """How many domains of the finest tier with room have it, in one domain of the gang."""
    wanted = _total((demand(pods, plan.topology), pods.minimum * pods.copies) for pods in all_pods(unit))
    pool = plan.topology.pool(next(all_pods(unit)).pool)
    around = pool.depth(root.required) + 1 if pool and root.required and unit is not root else 0
    tiers = (
        Counter(path[:around] for path, d in domains.items() if _holds(d, wanted)) for domains in _tiers(plan, unit)
    )
    return next((max(numbers.values()) for numbers in tiers if numbers), 1)


def lacks_room_for_all(plan: Plan, gang: GangPlan, unit: Unit) -> bool:
    """Whether no domain has room for all pods of the unit, as Volcano adds them up (`isEligibleHyperNode`)."""
    amounts = ((requests(pods, plan.topology), pods.replicas * pods.copies) for pods in own_pods(gang, unit))
    wanted = _total(amounts)
    return not any(_holds(domain, wanted) for domains in _tiers(plan, unit) for domain in domains.values())


def may_scatter(plan: Plan, unit: Unit) -> bool:
    """Whether small pods could leave too few places for larger ones in a domain with room for all."""
    sets = list(all_pods(unit))
    *_, domains = {}, *_tiers(plan, unit)
    asked = {pods.name: demand(pods, plan.topology) for pods in sets}
    wanted = _total((asked[pods.name], pods.minimum * pods.copies) for pods in sets)
    fitting = [domain for domain in domains.values() if _holds(domain, wanted)]
    for large in once(sets):
        first, pool = asked[large.name], plan.topology.pool(large.pool)
        others = [pods for pods in sets if pods.pool == large.pool and asked[pods.name] != first]
        needed = sum(pods.minimum * pods.copies for pods in sets if asked[pods.name] == first)
        for domain in fitting:
            rooms = [(offered, count) for each, offered, count in domain if each is pool]
            places = sum(per_node(first, offered)[0] * count for offered, count in rooms)
            lost = sum(
                pods.minimum * pods.copies * max(_places_lost(asked[pods.name], first, offered) for offered, _ in rooms)
                for pods in (others if rooms else ())
            )
            if places - floor(lost) < needed:
                return True
    return False


def _places_lost(small: Mapping[str, int], large: Mapping[str, int], offered: Mapping[str, int]) -> Fraction:
    """The places for large pods that a small one takes of a node at most, if others like it are on the node too."""
    places, most = Fraction(0), per_node(large, offered)[0]
    for number in range(1, per_node(small, offered)[0] + 1 if most else 1):
        rest = {name: amount - number * small.get(name, 0) for name, amount in offered.items()}
        left = max(per_node(large, rest)[0], 0)
        places = max(places, Fraction(most - left, number))
        if not left:
            break
    return places


def _tiers(plan: Plan, unit: Unit) -> Iterator[dict[tuple[str, ...], Domain]]:
    """The domains by path, from the finest level up to the required one, or up to the whole cluster."""
    pool = plan.topology.pool(next(all_pods(unit)).pool)
    if pool is None or unit.required == HOST_LEVEL:
        return
    top = pool.depth(unit.required) + 1 if unit.required else 0
    for depth in range(len(pool.levels), top - 1, -1):
        labels = [level.label for level in pool.levels[:depth]]
        domains: dict[tuple[str, ...], Domain] = {}
        for each in plan.topology.pools:
            if [level.label for level in each.levels[:depth]] == labels:
                for path, nodes in problem.usable(each, policy=False).items():
                    rooms = offers(each, nodes, plan.occupied)
                    domains.setdefault(path[:depth], []).extend((each, *one) for one in rooms)
        yield domains


def _total(amounts: Iterable[tuple[Mapping[str, int], int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each, count in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, 0) + amount * count
    return total


def _holds(domain: Domain, wanted: Mapping[str, int]) -> bool:
    """Whether the nodes of the domain together have the amounts, however the pods divide them."""
    for name, amount in wanted.items():
        rooms = [(room(offered, name), count) for _, offered, count in domain]
        if all(each is not None for each, _ in rooms) and sum((each or 0) * count for each, count in rooms) < amount:
            return False
    return True
