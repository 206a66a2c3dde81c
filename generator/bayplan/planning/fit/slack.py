"""How many nodes, and which domains, may fail before a plan no longer fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from bayplan.model.plan import GangPlan, Plan
from bayplan.model.topology import Pool
from bayplan.planning.fit.problem import Place, Problem, demands_by_pool, problem, space, usable
from bayplan.planning.fit.search import answer, search_space_of, simultaneous
from bayplan.planning.fit.witness import NoRoom, Placed

Gangs = tuple[GangPlan, ...]


class Level(NamedTuple):
    """The domains of a level: the paths of those whose own failure breaks the fit, and of those that were not tried."""

    name: str
    domains: int
    breaking: tuple[str, ...]
    untried: tuple[str, ...]


class Slack(NamedTuple):
    """Any `nodes` nodes may fail: proven. If all of `breaking` fail, the plan no longer fits: proven too.

    `breaking` is empty if bayplan found no such nodes. Nothing is smaller if it has one node more than `nodes`.
    """

    nodes: int
    breaking: tuple[str, ...]
    levels: tuple[Level, ...]

    @property
    def exact(self) -> bool:
        """Whether one more node than `nodes` may break the fit."""
        return len(self.breaking) == self.nodes + 1


TRIES = 300
"""The most proofs for the failures of single nodes, and again for those of domains."""

WEIGHT = 1_000_000
"""The most nodes of all these proofs together. There are at least `FEWEST` tries."""

FEWEST = 12


def slack(plan: Plan) -> Slack:
    """The slack of a plan that fits."""
    cluster = _Cluster(plan)
    together = simultaneous(plan.gangs)
    found = [_counted(gangs, cluster) or _searched(gangs, cluster) for gangs in together]
    breaking = min((each for _, each in found if each), key=len, default=())
    broken = frozenset(breaking)
    ordered = tuple(node for pool in plan.topology.pools for node in pool.nodes() if node in broken)
    return Slack(min(nodes for nodes, _ in found), ordered, tuple(_levels(cluster, together)))


class _Cluster:
    """The nodes that may fail: also those beyond `plan`, which then take part. They and their places never change."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        wanted = demands_by_pool(plan.gangs, plan.topology)
        pools = tuple(pool for pool in plan.topology.pools if pool.name in wanted)
        every = plan.topology._replace(pools=tuple(map(_without_plan, pools)))
        self.space = space(every, wanted, True, plan.occupied)
        self.available = {(pool.name, path): nodes for pool in every.pools for path, nodes in usable(pool).items()}
        self.pool_of = {node: (pool, path) for (pool, path), nodes in self.available.items() for node in nodes}
        self.most = {pool.name: pool.levels[-1].plan if pool.levels else None for pool in pools}
        self.tries = max(FEWEST, min(TRIES, WEIGHT // max(1, len(self.pool_of))))

    def placed(self, gangs: Gangs, gone: Iterable[str]) -> frozenset[str] | None:
        """The nodes of a placement without some nodes; none if there is no placement, None if bayplan cannot decide."""
        left = self.plan._replace(topology=self.plan.topology.without(gone))
        found = answer(gangs, left, search_space_of(left))
        if isinstance(found, Placed):
            return frozenset(node for run in found.runs for node in run.nodes)
        return frozenset() if isinstance(found, NoRoom) else None

    def reserve(self, pool: str, path: tuple[str, ...]) -> int:
        """How many nodes of a finest domain `plan` keeps back."""
        most = self.most[pool]
        return 0 if most is None else max(0, len(self.available[pool, path]) - most)

    def distinct(self, place: Place) -> object:
        """What else tells a domain from others, beside its nodes that have room: full nodes count in `plan` too.

        If more nodes are busy than `plan` allows, their order decides which of them count.
        """
        path = place.values
        full = []
        for name, most in self.most.items():
            nodes = self.available.get((name, path), ()) if most is not None else ()
            if sum(node in self.plan.occupied for node in nodes) > (most or 0):
                return place.path
            held = (len(names) for host, names in place.hosts if self.space.pool_of(host).name == name)
            full.append(len(nodes) - sum(held) if nodes else 0)
        return tuple(full)


def _without_plan(pool: Pool) -> Pool:
    return pool._replace(levels=tuple(level._replace(plan=None) for level in pool.levels))


# Equal pods in units that nest: by counting.
#
# Such a domain holds a number of units, and the sum of its domains counts, until units of the next size close. So the
# fewest failures with which it holds `d` units less are: for nodes, the largest first; for domains, the cheapest way
# to share `d` among them; and for units of `n` parts, those with which fewer than `n` parts remain for the last unit.


class _Loss(NamedTuple):
    """Failures with which a domain holds d units less, for every d: at least `low[d]`, and with `high[d]` it does."""

    low: list[int]
    high: list[int]
    pick: Callable[[int], list[str]]  # d -> `high[d]` such nodes

    @property
    def held(self) -> int:
        """How many units it holds."""
        return len(self.low) - 1


def _counted(gangs: Gangs, cluster: _Cluster) -> tuple[int, tuple[str, ...]] | None:
    """How many nodes may fail, and nodes that may not; None if the pods, or the parts of units, differ."""
    instance = problem(gangs, cluster.plan.topology, cluster.space)
    sizes = _sizes(instance)
    if sizes is None or len(cluster.space.pools) != 1:
        return None
    losses = _Losses(instance, sizes, cluster)
    root = losses.of(cluster.space.root) if losses.countable() else None
    lost = root.held - instance.need[-1] + 1 if root else 0
    if root is None or lost < 1:
        return None
    breaking = tuple(root.pick(lost))
    return root.low[lost] - 1, breaking if cluster.placed(gangs, breaking) == frozenset() else ()


def _sizes(instance: Problem) -> dict[int, int] | None:
    """Depth -> how many parts a unit that closes there has; None if the parts of a unit, or the pods, differ."""
    sizes: dict[int, int] = {}
    if len(instance.shapes) != 1 or sum(map(bool, instance.need)) != 1 or not instance.need[-1]:
        return None
    for number, kind in enumerate(instance.types):
        if kind.depth is None or kind.apart is not None or len(kind.content) != 1 or kind.content[0][0] != number:
            return None
        sizes[kind.depth] = kind.content[0][1]
    return sizes


class _Losses:
    """The losses of the domains of one pool, for equal pods."""

    def __init__(self, instance: Problem, sizes: dict[int, int], cluster: _Cluster) -> None:
        pool = cluster.space.pools[0]
        self.cluster = cluster
        self.pool = pool.name
        self.nodes = len(pool.levels) + 1
        self.sizes = sizes
        asks = instance.shapes[0].asks
        pods = [min([f // a for f, a in zip(node, asks, strict=True) if a], default=0) for node in instance.nodes]
        self.holds = [number // sizes.get(self.nodes, 1) for number in pods]

    def countable(self) -> bool:
        """Whether nodes that `plan` keeps back are like all others with room in their domains, so that any is used."""
        places = filter(self.reserve, _finest(self.cluster.space.root))
        return all(
            len({self.holds[host] for host, _ in place.hosts}) == 1 and self.cluster.distinct(place) != place.path
            for place in places
        )

    def reserve(self, place: Place) -> int:
        return self.cluster.reserve(self.pool, place.values)

    def of(self, place: Place) -> _Loss:
        """The losses of a domain, in units that it offers to the domain around it."""
        depth, finest = len(place.path), [*_finest(place)]
        inside = any(depth < each < self.nodes for each in self.sizes)
        if place.children and (inside or any(map(self.reserve, finest))):
            loss = _added([self.of(child) for child in place.children])
        else:
            hosts = [(self.holds[host], names) for each in finest for host, names in each.hosts]
            loss = _of_nodes(hosts, 0 if place.children or not finest else self.reserve(place))
        return _closed(loss, self.sizes[depth]) if depth in self.sizes else loss


def _finest(place: Place) -> Iterator[Place]:
    """The domains that have nodes directly below them."""
    if place.hosts:
        yield place
    for child in place.children:
        yield from _finest(child)


def _of_nodes(hosts: Iterable[tuple[int, tuple[str, ...]]], reserve: int) -> _Loss:
    """Nodes that fail one by one, those that hold most first. As many as `reserve` fail without a loss."""
    ordered = sorted(((units, name) for units, names in hosts for name in names if units), reverse=True)
    kept = ordered[: max(0, len(ordered) - reserve)]
    cost = [0]
    for failed, (units, _) in enumerate(kept, reserve + 1):
        cost += [failed] * units
    return _Loss(cost, cost, lambda lost: [name for _, name in ordered[: cost[lost]]])


def _closed(loss: _Loss, size: int) -> _Loss:
    """The losses in units of so many parts."""
    units = loss.held // size

    def parts(lost: int) -> int:
        return loss.held - size * (units - lost + 1) + 1 if lost else 0

    low, high = ([cost[parts(lost)] for lost in range(units + 1)] for cost in (loss.low, loss.high))
    return _Loss(low, high, lambda lost: loss.pick(parts(lost)))


STEPS = 3_000_000
"""The most additions for domains whose losses do not become dearer one by one."""


def _added(parts: list[_Loss]) -> _Loss:
    """The losses of several domains together: exact, unless it takes too long."""
    steps, held = 0, 0
    for part in parts:
        held += part.held
        steps += held * part.held
    convex = all(_is_convex(part) for part in parts)
    return _in_order(parts) if convex or steps > STEPS else _shared(parts)


def _is_convex(part: _Loss) -> bool:
    rises = [b - a for a, b in pairwise(part.low)]
    return part.low == part.high and rises == sorted(rises)


def _shared(parts: list[_Loss]) -> _Loss:
    """The cheapest way to share a loss among domains, by trying all."""
    low, high, choices = [0], [0], list[list[int]]()
    for part in parts:
        most = len(high) - 1 + part.held
        pairs = [
            min(
                (high[lost - own] + part.high[own], own)
                for own in range(max(0, lost - len(high) + 1), min(lost, part.held) + 1)
            )
            for lost in range(most + 1)
        ]
        low = [
            min(low[lost - own] + part.low[own] for own in range(max(0, lost - len(low) + 1), min(lost, part.held) + 1))
            for lost in range(most + 1)
        ]
        high = [cost for cost, _ in pairs]
        choices.append([own for _, own in pairs])

    def pick(lost: int) -> list[str]:
        nodes: list[str] = []
        for part, choice in zip(reversed(parts), reversed(choices), strict=True):
            nodes += part.pick(choice[lost])
            lost -= choice[lost]
        return nodes

    return _Loss(low, high, pick)


class _Step(NamedTuple):
    """A loss of several units of one domain, at a constant cost for each."""

    cost: Fraction
    part: int
    units: int


def _in_order(parts: list[_Loss]) -> _Loss:
    """The cheapest losses first: exact if no domain's losses become cheaper, else a lower and an upper bound.

    The lower bound takes the largest convex costs that are not above those of each domain.
    """
    steps = sorted(step for number, part in enumerate(parts) for step in _steps(number, part.low))
    own = [0] * len(parts)
    exact, total, low, high = Fraction(0), 0, [0], [0]
    for step in steps:
        costs, first = parts[step.part].high, own[step.part]
        for units in range(1, step.units + 1):
            exact += step.cost
            low.append(-(-exact.numerator // exact.denominator))
            high.append(total + costs[first + units] - costs[first])
        own[step.part] += step.units
        total = high[-1]

    def pick(lost: int) -> list[str]:
        shares = [0] * len(parts)
        for step in steps:
            units = min(step.units, lost)
            shares[step.part] += units
            lost -= units
        return [node for part, share in zip(parts, shares, strict=True) if share for node in part.pick(share)]

    return _Loss(low, high, pick)


def _steps(number: int, cost: list[int]) -> Iterator[_Step]:
    """The largest convex costs that are not above those of a domain."""
    corners: list[int] = []
    for at in range(len(cost)):
        while len(corners) > 1:
            before, last = corners[-2:]
            if (cost[last] - cost[before]) * (at - last) < (cost[at] - cost[last]) * (last - before):
                break
            corners.pop()
        corners.append(at)
    for first, last in pairwise(corners):
        yield _Step(Fraction(cost[last] - cost[first], last - first), number, last - first)


# Any pods: by trying failures one after the other.
#
# A placement remains valid while none of its nodes fails. So of any failures that break the fit, one hits a node of the
# current placement. Nodes that are alike in domains that are alike may replace each other: one of them is tried.


class _Alike:
    """Numbers for domains, equal for those that differ only in names."""

    def __init__(self, cluster: _Cluster) -> None:
        self.numbers: dict[object, int] = {}
        self.cluster = cluster
        self.host_of = {
            n: (host, place.path) for place in _finest(cluster.space.root) for host, names in place.hosts for n in names
        }

    def number(self, what: object) -> int:
        return self.numbers.setdefault(what, len(self.numbers))

    def of(self, gone: frozenset[str]) -> dict[Path, int]:
        """The number of each domain without some nodes."""
        found: dict[Path, int] = {}
        self.fill(self.cluster.space.root, gone, found)
        return found

    def fill(self, place: Place, gone: frozenset[str], found: dict[Path, int]) -> int:
        below = tuple(sorted(self.fill(child, gone, found) for child in place.children))
        left = tuple((host, sum(name not in gone for name in names)) for host, names in place.hosts)
        found[place.path] = self.number((below, left, self.cluster.distinct(place)))
        return found[place.path]


Path = tuple[tuple[str, str], ...]


def _searched(gangs: Gangs, cluster: _Cluster) -> tuple[int, tuple[str, ...]]:
    """How many nodes may fail at least, and nodes that may not, if bayplan finds some."""
    alike = _Alike(cluster)
    whole = frozenset[str]()
    states = {whole: cluster.placed(gangs, whole) or whole}
    seen, tries = set[int](), 0
    for nodes in range(len(cluster.pool_of)):
        following: dict[frozenset[str], frozenset[str]] = {}
        for gone, used in states.items():
            numbers = alike.of(gone)
            for node in _different(used, numbers, alike):
                more = gone | {node}
                number = alike.of(more)[()]
                if number in seen:
                    continue
                seen.add(number)
                tries += 1
                placed = cluster.placed(gangs, more) if tries <= cluster.tries else None
                if placed is None:
                    return nodes, _attacked(gangs, cluster, more)
                if not placed:
                    return nodes, tuple(sorted(more))
                following[more] = placed
        states = following
    return len(cluster.pool_of), ()


def _different(used: Iterable[str], numbers: Mapping[Path, int], alike: _Alike) -> Iterator[str]:
    """One of all nodes that are alike."""
    seen = set[object]()
    for node in sorted(used):
        host, path = alike.host_of[node]
        chain = (host, *(numbers[path[:depth]] for depth in range(len(path) + 1)))
        if chain not in seen:
            seen.add(chain)
            yield node


def _attacked(gangs: Gangs, cluster: _Cluster, gone: frozenset[str]) -> tuple[str, ...]:
    """Nodes whose failure breaks the fit: in each placement, one more, in the same domain as long as it is used.

    Without those that are not needed. () if it takes too long.
    """
    last: tuple[str, tuple[str, ...]] | None = None
    for _ in range(cluster.tries):
        used = cluster.placed(gangs, gone)
        if used is None:
            return ()
        if not used:
            break
        near = sorted(node for node in used if cluster.pool_of[node] == last)
        node = (near or sorted(used))[0]
        last = cluster.pool_of[node]
        gone |= {node}
    else:
        return ()
    for node in sorted(gone):
        if cluster.placed(gangs, gone - {node}) == frozenset():
            gone -= {node}
    return tuple(sorted(gone))


# Single domains.


def _levels(cluster: _Cluster, together: Iterable[Gangs]) -> Iterator[Level]:
    """The levels of the pools, coarse to fine. Only a domain that the placement uses can break the fit."""
    placed = [(gangs, cluster.placed(gangs, frozenset())) for gangs in together]
    numbers = _Alike(cluster).of(frozenset())
    verdicts: dict[object, bool | None] = {}
    levels: dict[tuple[int, str], list[Place]] = {}
    for place in _places(cluster.space.root):
        levels.setdefault((len(place.path), place.path[-1][0]), []).append(place)
    for (depth, label), places in sorted(levels.items(), key=lambda item: item[0]):
        found = dict[str, bool | None]()
        for place in places:
            nodes = frozenset(name for each in _finest(place) for _, names in each.hosts for name in names)
            chain = tuple(numbers[place.path[:n]] for n in range(depth + 1))
            breaks: bool | None = False
            for number, (gangs, used) in enumerate(placed):
                if used is None or nodes.isdisjoint(used):
                    continue
                if (number, chain) not in verdicts:
                    left = cluster.placed(gangs, nodes) if len(verdicts) < cluster.tries else None
                    verdicts[number, chain] = None if left is None else not left
                breaks = max(breaks, verdicts[number, chain], key=(False, None, True).index)
            found["/".join(place.values)] = breaks
        name = next(pool.levels[depth - 1].name for pool in cluster.space.pools if _has(pool, depth, label))
        breaking, untried = ([path for path, each in found.items() if each is what] for what in (True, None))
        yield Level(name, len(places), tuple(breaking), tuple(untried))


def _has(pool: Pool, depth: int, label: str) -> bool:
    return len(pool.levels) >= depth and pool.levels[depth - 1].label == label


def _places(place: Place) -> Iterator[Place]:
    """The domains below a place."""
    for child in place.children:
        yield child
        yield from _places(child)
