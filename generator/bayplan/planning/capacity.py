"""What fits a cluster now: the largest gang of each kind of pod, and how many copies of a workflow or its groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from bayplan.core.diagnostics import Route
from bayplan.model.plan import MOST_GANGS, MOST_PODS, GangPlan, Occupied, Plan, Pods, all_pods
from bayplan.model.topology import HOST, ClusterTopology, Pool
from bayplan.model.workflow import GANGS, Accelerator, Gang, Group, PodSet, Workflow, owners, pod_sets
from bayplan.planning.bind import filled_from_node
from bayplan.planning.fit.explain import rollouts
from bayplan.planning.fit.problem import Place, demand, per_node, space
from bayplan.planning.fit.search import answer, answers, search_space_of, simultaneous
from bayplan.planning.fit.witness import Answer, NoRoom, Placed

# Without a workflow: equal pods fill each node by themselves, so a domain holds as many as its nodes hold together.


class Kind(NamedTuple):
    """One kind of pod: with so many cards, with a whole node, or with all cards and a ComputeDomain channel."""

    name: str
    pods: Pods
    cards: int
    compute_domain: bool = False


class Most(NamedTuple):
    """The most pods that one domain of a level holds, how many domains hold as many, and the path of the first."""

    level: str
    pods: int
    domains: int
    first: tuple[str, ...] = ()


class Room(NamedTuple):
    """How many pods of a kind fit: in the whole pool, and in one domain of each level."""

    kind: Kind
    pods: int
    levels: tuple[Most, ...]


def kinds(pool: Pool) -> tuple[Kind, ...]:
    """The kinds of pods to ask about: 1, 2, 4, ... cards up to all of a node, a whole node, one with a channel."""
    name, all_cards = pool.node.accelerator, pool.node.accelerators if pool.node.accelerator else 0
    powers = [1 << n for n in range(all_cards.bit_length())]
    cards = [number for number in powers if number < all_cards] + [all_cards] * bool(all_cards)
    found = [
        Kind(f"{number} {name}", _pods(pool, PodSet("", accelerator=Accelerator(name, number))), number)
        for number in cards
    ]
    found.append(Kind("a whole node", _pods(pool, PodSet("", whole_node=True)), all_cards))
    if all_cards and any(level.nvlink for level in pool.levels):
        full = _pods(pool, PodSet("", accelerator=Accelerator(name, all_cards)))
        found.append(
            Kind(f"{all_cards} {name} in a ComputeDomain", full._replace(compute_domain="any"), all_cards, True)
        )
    return tuple(found)


def _pods(pool: Pool, spec: PodSet) -> Pods:
    return Pods("", "", filled_from_node(spec, pool), (), pool.name, 1, 1)


def rooms(topology: ClusterTopology, pool: Pool, occupied: Occupied) -> tuple[Room, ...]:
    """The room for each kind of pod in a pool. One ComputeDomain is in one domain of an `nvlink` level."""
    asked = kinds(pool)
    held = _held(topology, pool, asked, occupied)
    names = [each.name for each in (*pool.levels, HOST)]
    inside = next((n for n, level in enumerate(pool.levels) if level.nvlink), 0)
    return tuple(
        Room(
            kind,
            sum(amounts[n] for _, amounts in held[0]),
            tuple(
                _most(name, n, held[depth])
                for depth, name in enumerate(names, 1)
                if depth > inside or not kind.compute_domain
            ),
        )
        for n, kind in enumerate(asked)
    )


def free_nodes(topology: ClusterTopology, pool: Pool, occupied: Occupied) -> dict[Path, int]:
    """How many nodes of each domain may be planned now, by its path: those with all cards free, up to `plan`."""
    all_cards = max(kinds(pool), key=lambda kind: kind.cards)
    return {path: nodes for domains in _held(topology, pool, (all_cards,), occupied)[:-1] for path, (nodes,) in domains}


Path = tuple[str, ...]

Amounts = tuple[int, ...]
"""How many pods of each kind."""

Held = list[list[tuple[Path, Amounts]]]
"""What each domain holds, by depth: the pool, the domains of each level, the nodes."""


def _held(topology: ClusterTopology, pool: Pool, asked: Iterable[Kind], occupied: Occupied) -> Held:
    demands: list[Mapping[str, int]] = [demand(kind.pods, topology) for kind in asked]
    here = space(topology, {pool.name: demands}, occupied=occupied)
    fitting = [tuple(per_node(each, here.offered(host))[0] for each in demands) for host in range(len(here.hosts))]
    held: Held = [[] for _ in range(len(pool.levels) + 2)]
    _fill(here.root, fitting, held, len(pool.levels) + 1)
    return held


def _fill(place: Place, fitting: list[Amounts], held: Held, nodes: int) -> Amounts:
    """What a domain holds. It adds each domain to those of its depth, and each node to the last depth."""
    total = (0,) * len(fitting[0])
    for host, names in place.hosts:
        held[nodes] += [((name,), fitting[host]) for name in names]
        total = tuple(each + len(names) * amount for each, amount in zip(total, fitting[host], strict=True))
    for child in place.children:
        total = tuple(map(int.__add__, total, _fill(child, fitting, held, nodes)))
    held[len(place.path)].append((place.values, total))
    return total


def _most(level: str, number: int, domains: list[tuple[Path, Amounts]]) -> Most:
    most = max((amounts[number] for _, amounts in domains), default=0)
    best = [path for path, amounts in domains if amounts[number] == most] if most else [()]
    return Most(level, most, len(best) if most else 0, best[0])


# With a workflow: the proof for more copies of it, and for other numbers of instances and pods.


class Largest(NamedTuple):
    """The largest number that is proven to fit. `exact`: the next one is proven not to fit."""

    number: int
    exact: bool


def largest(fits: Callable[[int], bool | None], start: int, most: int) -> Largest:
    """The largest number up to `most` that fits. Smaller ones fit too. None: the proof cannot decide."""
    low, high = 0, min(max(start, 1), most)
    while high < most and fits(high):
        low, high = high, min(2 * high, most)
    high += fits(high) is True if high == most else 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Largest(low, low < most and fits(low + 1) is False)


def copies(plan: Plan) -> Largest:
    """How many copies of the whole workflow fit at once, all of them at the same stage."""
    together = simultaneous(plan.gangs)
    here = search_space_of(plan)
    pods = max(1, sum(each.replicas for gang in plan.gangs for each in all_pods(gang.root)))
    most = max(1, min(MOST_GANGS // max(1, len(plan.gangs)), MOST_PODS // pods))

    def fits(number: int) -> bool | None:
        several = (tuple(_copy(gang, n) for n in range(number) for gang in gangs) for gangs in together)
        return verdict(answer(gangs, plan, here, witness=False) for gangs in several)

    return largest(fits, 1, most)


def _copy(gang: GangPlan, number: int) -> GangPlan:
    return gang._replace(name=f"{gang.name}+{number}")


def verdict(found: Iterable[Answer]) -> bool | None:
    """Whether everything fits; None if the proof cannot decide."""
    unknown = False
    for each in found:
        if isinstance(each, NoRoom):
            return False
        unknown = unknown or not isinstance(each, Placed)
    return None if unknown else True


class Replicas(NamedTuple):
    """The largest `replicas` of a gang, group or podSet, if the other numbers stay, and those in the file."""

    route: Route
    now: int
    most: Largest


def replicas(workflow: Workflow, bound: Callable[[Workflow], Plan | None]) -> Iterator[Replicas]:
    """The rows of gangs with copies, and of all groups and podSets.

    `bound`: the plan of a workflow; None if it has none. The copies of a gang count if they run at the same time, with
    those that a rollout adds to a service. A
    group with `size` has no `replicas`: those of its podSet count.
    """
    gangs = {(*GANGS, n): gang.replicas for n, gang in enumerate(workflow.gangs) if gang.replicas > 1}
    counts = {o.route: o.node.replicas for o in owners(workflow) if isinstance(o.node, Group) and not o.node.size}
    counts |= {place.route: place.pods.replicas for place in pod_sets(workflow)}
    for route, now in (gangs | counts).items():

        def fits(number: int, route: Route = route) -> bool | None:
            plan = bound(with_replicas(workflow, route, number))
            stages = () if plan is None else (plan, *rollouts(plan))
            found = (each for stage in stages for _, each in answers(stage, witness=False))
            return False if plan is None else verdict(found)

        start, most = (1, MOST_GANGS) if route in gangs else (now, MOST_REPLICAS)
        yield Replicas(route, now, largest(fits, start, most))


MOST_REPLICAS = 100_000
"""The most replicas to try."""


def with_replicas(workflow: Workflow, route: Route, number: int) -> Workflow:
    """The workflow in which the gang, group or podSet of that route has so many replicas, and at most as many minimum.

    All copies of the gang run at once.
    """

    def resized(node: Resized, at: Route) -> Resized:
        least = node.min_replicas if node.min_replicas is None else min(node.min_replicas, number)
        return node._replace(replicas=number, min_replicas=least) if at == route else node

    def below(node: Owner, at: Route) -> Owner:
        sets = tuple(resized(each, (*at, "podSets", n)) for n, each in enumerate(node.pod_sets))
        groups = tuple(group(each, (*at, "groups", n)) for n, each in enumerate(node.groups))
        return node._replace(pod_sets=sets, groups=groups)

    def group(node: Group, at: Route) -> Group:
        return resized(below(node, at), at)

    def copied(gang: Gang, at: Route) -> Gang:
        return gang._replace(replicas=number, at_once=number) if at == route else below(gang, at)

    return workflow._replace(gangs=tuple(copied(gang, (*GANGS, n)) for n, gang in enumerate(workflow.gangs)))


Resized = TypeVar("Resized", Group, PodSet)
Owner = TypeVar("Owner", Gang, Group)
