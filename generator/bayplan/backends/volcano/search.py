"""Volcano's search for the domains of one gang's subgroups.

Volcano places subgroups one after another, in the order of the names of their policies. It takes the finest domain with
room that is then the fullest in CPUs and memory, and one of several equal ones at random. It never moves a subgroup for
the next one. Volcano 1.14.3 and 1.15.1, pkg/scheduler: framework/session_plugins.go (`SubJobOrderFn`),
actions/allocate/allocate.go, plugins/network-topology-aware/network_topology_aware.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from bayplan.model.plan import GangPlan, Plan, Unit, all_pods
from bayplan.model.topology import Pool
from bayplan.planning.fit.problem import capacity, demand, left, per_node
from bayplan.planning.fit.witness import Meter, TooLongError

FEW = 5
"""Of so many policies, at most, bayplan tries every order."""
BUDGET = 50_000
"""How many domains bayplan looks at, at most."""
PLENTY = 10**17
SCORED = ("cpu", "memory")
Path = tuple[tuple[str, str], ...]
Amounts = Mapping[str, int]
Free = Mapping[str, Amounts]


class Policy(NamedTuple):
    """Unit instances of one group and one size: those of one `subGroupPolicy`, or of one task with partitions."""

    name: str
    units: tuple[Unit, ...]
    minimum: int  # how many of them must start
    size: int  # pods of each that must start

    @property
    def flat(self) -> bool:
        """Whether the unit is the innermost group of its pods."""
        return not self.units[0].groups


class Node(NamedTuple):
    """A node and its domains."""

    name: str
    pool: str
    path: Path
    usable: bool


def order(plan: Plan, gang: GangPlan, policies: Sequence[Policy]) -> tuple[Policy, ...] | None:
    """The policies in an order in which Volcano finds domains for all subgroups; None if bayplan knows of none.

    If it takes too long to find out, the policies keep their order.
    """
    search = _Search(plan, gang)
    try:
        return next((each for each in _orders(plan, policies) if search.finds(each)), None)
    except TooLongError:
        return tuple(sorted(policies, key=lambda policy: policy.name))


def _orders(plan: Plan, policies: Sequence[Policy]) -> Iterator[tuple[Policy, ...]]:
    yield tuple(sorted(policies, key=lambda policy: policy.name))

    def largest(policy: Policy) -> tuple[int, int]:
        unit = policy.units[0]
        pool = plan.topology.pool(next(all_pods(unit)).pool)
        return (-pool.depth(unit.required) if pool and unit.required else 1, -policy.size)

    by_size = sorted(policies, key=largest)
    yield tuple(by_size)
    yield from permutations(by_size) if len(policies) <= FEW else ()


class _Search:
    """What Volcano knows of the cluster, and the budget of the search."""

    def __init__(self, plan: Plan, gang: GangPlan) -> None:
        self.plan, self.gang = plan, gang
        self.meter = Meter(BUDGET)
        self.nodes = [node for pool in plan.topology.pools for node in _nodes(pool)]
        offered = {pool.name: capacity(pool) for pool in plan.topology.pools}
        self.free: Free = {node.name: left(offered[node.pool], plan.occupied.get(node.name, ())) for node in self.nodes}
        self.offered = {node.name: offered[node.pool] for node in self.nodes}

    def finds(self, policies: Sequence[Policy]) -> bool:
        """Whether Volcano finds domains in this order, if it is lucky where it chooses at random."""
        units = [unit for policy in policies for unit in sorted(policy.units, key=lambda unit: unit.name)]
        return any(
            self.place(units, nodes, self.free)
            for domains in self.tiers(self.gang.root, self.nodes)
            for nodes in domains
        )

    def tiers(self, unit: Unit, nodes: Sequence[Node]) -> Iterator[list[list[Node]]]:
        """The domains of a unit among some nodes, those of the finest tier first."""
        pool = self.plan.topology.pool(next(all_pods(unit)).pool)
        if not (unit.required and pool):
            yield [list(nodes)]
            return
        labels = [level.label for level in pool.levels]
        for depth in range(len(labels), pool.depth(unit.required), -1):
            domains: dict[Path, list[Node]] = {}
            for node in nodes:
                if [label for label, _ in node.path[:depth]] == labels[:depth]:
                    domains.setdefault(node.path[:depth], []).append(node)
            yield list(domains.values())

    def place(self, units: Sequence[Unit], nodes: Sequence[Node], free: Free) -> bool:
        """Whether Volcano places the units, in this order, on these nodes."""
        if not units:
            return True
        for domains in self.tiers(units[0], nodes):
            self.meter.spend(len(domains))
            placed = [
                (self.score(units[0], domain, free), domain, self.fill(units[0], domain, free)) for domain in domains
            ]
            fitting = [(score, domain, taken) for score, domain, taken in placed if taken is not None]
            if fitting:
                best = max(score for score, _, _ in fitting)
                unlike: dict[object, Free] = {}
                for score, domain, taken in fitting:
                    if score == best:
                        rooms = sorted(tuple(sorted(free[node.name].items())) for node in domain)
                        unlike.setdefault((domain[0].path[:-1], str(rooms)), {**free, **taken})
                return any(self.place(units[1:], nodes, after) for after in unlike.values())
        return False

    def fill(self, unit: Unit, nodes: Sequence[Node], free: Free) -> Free | None:
        """What nodes have left after the pods of the unit, the largest first, each on the fullest node."""
        after: dict[str, Amounts] = {}
        asked = [(demand(pods, self.plan.topology), pods) for pods in all_pods(unit)]
        for asks, pods in sorted(asked, key=lambda pair: sorted(pair[0].items()), reverse=True):
            waiting = pods.minimum * pods.copies
            usable = [node.name for node in nodes if node.usable and node.pool == pods.pool]
            rooms = [(per_node(asks, after.get(name, free[name]))[0], name) for name in usable]
            for fitting, name in sorted(room for room in rooms if room[0]):
                number = min(fitting, waiting)
                rest = after.get(name, free[name])
                after[name] = {key: amount - number * asks.get(key, 0) for key, amount in rest.items()}
                waiting -= number
            if waiting:
                return None
        return after

    def score(self, unit: Unit, nodes: Iterable[Node], free: Free) -> float:
        """How full the domain would be in CPUs and memory, the mean of those that the pods request."""
        shares = []
        for name in SCORED:
            asked = sum(demand(pods, self.plan.topology).get(name, 0) * pods.minimum for pods in all_pods(unit))
            if asked:
                has = [(self.offered[node.name].get(name, PLENTY), free[node.name].get(name, PLENTY)) for node in nodes]
                shares.append((sum(all_of - rest for all_of, rest in has) + asked) / sum(all_of for all_of, _ in has))
        return round(sum(shares) / len(shares), 9) if shares else 0.0


def _nodes(pool: Pool) -> Iterator[Node]:
    unusable = pool.unusable_nodes()
    for row in pool.domains:
        path = tuple((level.label, value) for level, value in zip(pool.levels, row.path, strict=False))
        yield from (Node(name, pool.name, path, name not in unusable) for name in row.nodes)
