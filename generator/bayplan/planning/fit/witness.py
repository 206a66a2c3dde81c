"""From fronts to a placement: it splits targets from the root down, and assigns units and pods in file order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from bayplan.planning.fit.problem import Part, Place, Problem, Type, Vector

# Which amounts a domain can hold at once, exactly: Pareto fronts of vectors, added up the tree.
#
# A vector counts items: pods of one shape, or units that are complete below. A front holds the vectors that no other
# vector of it covers, largest first. No count exceeds the remaining demand, so fronts stay short.

Front = tuple[Vector, ...]


class TooLongError(Exception):
    """A front exceeded its budget, so the search cannot use the place."""


class Meter:
    """Counts comparisons, so that only the input decides when the search gives up, never the time."""

    def __init__(self, budget: int) -> None:
        self.left = budget

    def spend(self, amount: int) -> None:
        """Use some of the budget; TooLongError if it is used up."""
        self.left -= amount
        if self.left < 0:
            raise TooLongError


class Solved(NamedTuple):
    """A kind of place: what it offers above, what it holds before its own units close, and sums of its groups."""

    out: Front
    before: Front
    sums: tuple[Front, ...]


def solve(problem: Problem, budget: int) -> dict[int, Solved]:
    """Kind of place (or `~host` for a node) -> its fronts. Places whose fronts become too
    long are missing, and so are those above them. The last place is the root."""
    solved: dict[int, Solved] = {}
    left = budget
    kinds = problem.space.kinds
    finest = sorted(range(len(kinds)), key=lambda number: -kinds[number].depth)
    for number in (*(~host for host in range(len(problem.space.hosts))), *finest):
        if number >= 0 and any(child not in solved for child, _ in kinds[number].groups):
            continue
        share = min(left, budget // 2 if number < 0 or problem.closes(kinds[number].depth) else budget // 8)
        meter = Meter(share)
        try:
            solved[number] = _host(problem, ~number, meter) if number < 0 else _place(problem, number, solved, meter)
        except TooLongError:
            continue
        finally:
            left -= share - max(meter.left, 0)
    return solved


def _place(problem: Problem, number: int, solved: Mapping[int, Solved], meter: Meter) -> Solved:
    kind = problem.space.kinds[number]
    cap = problem.wanted(kind.depth + 1)
    sums: list[Front] = [(_zero(problem),)]
    for child, count in kind.groups:
        sums.append(plus(sums[-1], power(solved[child].out, count, cap, meter), cap, meter))
    return Solved(_close(problem, kind.depth, sums[-1], meter), sums[-1], tuple(sums))


def covers(left: Vector, right: Vector) -> bool:
    """Whether `left` has at least as much of everything."""
    return all(a >= b for a, b in zip(left, right, strict=True))


def pareto(vectors: Iterable[Vector], meter: Meter) -> Front:
    """The vectors that no other vector covers."""
    kept: list[Vector] = []
    for vector in sorted(set(vectors), reverse=True):
        meter.spend(4 * len(kept) + len(vector))
        if not any(covers(other, vector) for other in kept):
            kept.append(vector)
    return tuple(kept)


def plus(left: Front, right: Front, cap: Vector, meter: Meter) -> Front:
    """What two domains hold together."""
    meter.spend(len(left) * len(right) * (4 + len(cap)))
    return pareto((_capped(map(int.__add__, a, b), cap) for a in left for b in right), meter)


def power(front: Front, count: int, cap: Vector, meter: Meter) -> Front:
    """What `count` equal domains hold together, by doubling."""
    if len(front) == 1:
        return (_capped((amount * count for amount in front[0]), cap),)
    half = power(front, count // 2, cap, meter) if count > 1 else front
    twice = plus(half, half, cap, meter) if count > 1 else front
    return plus(twice, front, cap, meter) if count > 1 and count % 2 else twice


def _capped(amounts: Iterable[int], cap: Vector) -> Vector:
    return tuple(map(min, amounts, cap))


def _zero(problem: Problem) -> Vector:
    return (0,) * problem.width


def _host(problem: Problem, host: int, meter: Meter) -> Solved:
    """One node: the largest sets of pods that fit it, then the units that close on it."""
    depth = problem.space.host_depth(host)
    front = pareto(_fillings(problem, host, problem.wanted(depth + 1), meter), meter)
    return Solved(_close(problem, depth, front, meter), front, ())


def _fillings(problem: Problem, host: int, cap: Vector, meter: Meter) -> list[Vector]:
    """Every set of pods that a node like that host holds and to which no pod of the last shape can be added."""
    pool = problem.space.hosts[host].pool
    shapes = [shape for shape in problem.shapes if shape.pool == pool and cap[shape.item]]
    open_: list[tuple[Vector, Vector]] = [(_zero(problem), problem.nodes[host])]
    for turn, shape in enumerate(shapes, 1):
        grown = []
        for counts, free in open_:
            most = min([cap[shape.item], *(f // a for f, a in zip(free, shape.asks, strict=True) if a)])
            for count in range(most if turn == len(shapes) else 0, most + 1):
                left = tuple(f - count * a for f, a in zip(free, shape.asks, strict=True))
                grown.append(((*counts[: shape.item], count, *counts[shape.item + 1 :]), left))
            meter.spend(most + 1)
        open_ = grown
    return [counts for counts, _ in open_]


def _close(problem: Problem, depth: int, front: Front, meter: Meter) -> Front:
    """Complete units of the types that close at this depth, in every number that leaves something for above."""
    above, closing, states = problem.wanted(depth), problem.closing(depth), front
    for turn, kind in enumerate(closing):
        greedy = not any(above[item] or _uses(closing[turn + 1 :], item) for item, _ in kind.content)
        states = tuple(state for vector in states for state in _closed(vector, kind, above, greedy, meter))
    for family in problem.families(depth):
        states = tuple(state for vector in states for state in _alone(vector, family))
    return pareto((_capped(vector, above) for vector in states), meter)


def _alone(vector: Vector, family: tuple[int, ...]) -> Iterable[Vector]:
    """One instance of the family, or the previous value if the family is empty."""
    for chosen in family:
        yield tuple(min(n, i == chosen) if i in family else n for i, n in enumerate(vector))


def _closed(vector: Vector, kind: Type, above: Vector, greedy: bool, meter: Meter) -> Iterable[Vector]:
    most = min([above[kind.item], *(vector[item] // count for item, count in kind.content)])
    meter.spend((1 if greedy else most + 1) * (4 + len(vector)))
    for number in range(most if greedy else 0, most + 1):
        left = list(vector)
        for item, count in kind.content:
            left[item] -= number * count
        left[kind.item] = number
        yield tuple(left)


def _uses(types: tuple[Type, ...], item: int) -> bool:
    return any(item == each for kind in types for each, _ in kind.content)


AMPLE = 1 << 60
"""Fronts that were found within their budget are never too long to split again."""


class Run(NamedTuple):
    """`each` pods of one podSet instance on every one of these nodes."""

    gang: str
    pods: str
    pool: str
    nodes: tuple[str, ...]
    each: int


class Placed(NamedTuple):
    """It fits, for example in this way. There are no runs if the caller needs only the answer."""

    runs: tuple[Run, ...] = ()


class NoRoom(NamedTuple):
    """It does not fit."""


class Unknown(NamedTuple):
    """The budget, and a solver, were not enough to decide."""

    why: str
    hint: str = ""


Answer = Placed | NoRoom | Unknown

Batch = tuple[str, str, int]  # gang, podSet instance, how many pods


class Pending:
    """What a domain still has to place: whole units by type, pods by shape, first in first out."""

    def __init__(self) -> None:
        self.parts: dict[int, deque[Part]] = {}
        self.pods: dict[int, deque[Batch]] = {}

    def open(self, part: Part) -> None:
        """Put in what a unit consists of."""
        for below in part.parts:
            self.parts.setdefault(below.item, deque()).append(below)
        for item, gang, pods in part.pods:
            self.pods.setdefault(item, deque()).append((gang, pods.name, pods.replicas))

    def take(self, target: Vector) -> Pending:
        """Move so many of each item into a bag of their own."""
        taken = Pending()
        for item, count in enumerate(target):
            if count and item in self.parts:
                taken.parts[item] = deque(self.parts[item].popleft() for _ in range(count))
            elif count:
                taken.pods[item] = _cut(self.pods[item], count)
        return taken


def _cut(batches: deque[Batch], count: int) -> deque[Batch]:
    taken: deque[Batch] = deque()
    while count:
        gang, pods, held = batches.popleft()
        taken.append((gang, pods, min(held, count)))
        if held > count:
            batches.appendleft((gang, pods, held - count))
        count -= min(held, count)
    return taken


class Choice(NamedTuple):
    """What a solver chose for a place: for each group, vectors that so many of its children hold, and their choices."""

    groups: tuple[tuple[tuple[Vector, int, Choice | None], ...], ...]


def placement(problem: Problem, solved: Mapping[int, Solved], choice: Choice | None = None) -> tuple[Run, ...]:
    """A placement of everything in the problem: for a root that covers the need, or by a solver's choice."""
    bag = Pending()
    bag.open(problem.root)
    return tuple(_Distributor(problem, solved).place(problem.space.root, problem.need, bag, choice))


Shares = list[tuple[Vector, int, Choice | None]]  # to equal children: a share, how many take it


class _Distributor:
    def __init__(self, problem: Problem, solved: Mapping[int, Solved]) -> None:
        self.problem = problem
        self.solved = solved
        self.meter = Meter(AMPLE)
        self.splits: dict[tuple[Front, int, Vector], tuple[tuple[Vector, int], ...]] = {}
        self.shares_of: dict[tuple[int, Vector], list[Shares]] = {}

    def place(self, place: Place, target: Vector, bag: Pending, choice: Choice | None) -> Iterator[Run]:
        """Place the bag, which holds what `target` counts, below a place."""
        kind = self.problem.space.kinds[place.kind]
        target = self.opened(kind.depth, target, bag)
        parts = self.counted(place.kind, target) if choice is None else list(_chosen(choice, target))
        for (child, _), pieces in zip(kind.groups, parts, strict=True):
            if child < 0:
                nodes = dict(place.hosts)[~child]
                yield from self.on_nodes(~child, nodes, [(piece, times) for piece, times, _ in pieces], bag)
            else:
                below = (each for each in place.children if each.kind == child)
                for piece, sub in ((piece, sub) for piece, times, sub in pieces for _ in range(times)):
                    yield from self.place(next(below), piece, bag.take(piece), sub) if any(piece) else _skip(below)

    def counted(self, number: int, target: Vector) -> list[Shares]:
        """Shares by the fronts; the same for equal places that hold the same."""
        if (number, target) not in self.shares_of:
            groups = zip(self.problem.space.kinds[number].groups, self.shares(number, target), strict=True)
            self.shares_of[number, target] = [
                [(piece, times, None) for piece, times in self.split(self.solved[child].out, count, share)]
                for (child, count), share in groups
            ]
        return self.shares_of[number, target]

    def opened(self, depth: int, target: Vector, bag: Pending) -> Vector:
        """Open the units that close at this depth; what they consist of joins the target."""
        counts = list(target)
        for kind in self.problem.closing(depth):
            for part in bag.parts.pop(kind.item, ()):
                bag.open(part)
            for item, each in kind.content:
                counts[item] += each * target[kind.item]
            counts[kind.item] = 0
        return tuple(counts)

    def shares(self, number: int, target: Vector) -> list[Vector]:
        """What each group of equal children takes."""
        kind, sums, shares = self.problem.space.kinds[number], self.solved[number].sums, list[Vector]()
        cap = self.problem.wanted(kind.depth + 1)
        for turn in range(len(kind.groups) - 1, -1, -1):
            child, count = kind.groups[turn]
            right = power(self.solved[child].out, count, cap, self.meter)
            target, share = halves(sums[turn], right, target, self.meter)
            shares.append(share)
        return shares[::-1]

    def split(self, front: Front, count: int, target: Vector) -> tuple[tuple[Vector, int], ...]:
        """Shares of `count` equal domains, as (share, how many take it)."""
        if count == 1 or not any(target):
            return ((target, count),)
        if len(front) == 1:
            return tuple(_filled(front[0], count, target))
        cached = self.splits.get((front, count, target))
        if cached is None:
            small = count // 2
            fronts = [power(front, part, self.problem.totals, self.meter) for part in (small, count - small)]
            left, right = halves(fronts[0], fronts[1], target, self.meter)
            parts = (*self.split(front, small, left), *self.split(front, count - small, right))
            cached = self.splits[front, count, target] = _merged(parts)
        return cached

    def on_nodes(
        self, host: int, names: tuple[str, ...], pieces: Iterable[tuple[Vector, int]], bag: Pending
    ) -> Iterator[Run]:
        start, depth, name = 0, self.problem.space.host_depth(host), self.problem.space.pool_of(host).name
        for piece, count in pieces:
            step = 1 if any(piece[kind.item] for kind in self.problem.closing(depth)) else count
            for first in range(start, start + count if any(piece) else start, step):
                held = bag.take(tuple(amount * step for amount in piece))
                yield from _runs_of(name, names[first : first + step], self.opened(depth, piece, held), held)
            start += count


def _chosen(choice: Choice, target: Vector) -> Iterator[Shares]:
    """Shares by a solver's choice, which may hold more than needed."""
    for group in choice.groups:
        pieces: Shares = []
        for vector, count, sub in group:
            for share, times in _filled(vector, count, target):
                pieces.append((share, times, sub))
                target = tuple(have - part * times for have, part in zip(target, share, strict=True))
        yield pieces


def _skip(places: Iterator[Place]) -> tuple[Run, ...]:
    next(places)
    return ()


def halves(left: Front, right: Front, target: Vector, meter: Meter) -> tuple[Vector, Vector]:
    """Split a target that the two fronts cover together; the left side takes what it can."""
    for one in left:
        taken = tuple(map(min, one, target))
        rest = tuple(map(int.__sub__, target, taken))
        meter.spend(len(right))
        if any(covers(other, rest) for other in right):
            return taken, rest
    raise AssertionError("unreachable: the sum of the fronts covers the target")


def _merged(pieces: Iterable[tuple[Vector, int]]) -> tuple[tuple[Vector, int], ...]:
    times: dict[Vector, int] = {}
    for share, count in pieces:
        times[share] = times.get(share, 0) + count
    return tuple(times.items())


def _filled(most: Vector, count: int, target: Vector) -> Iterator[tuple[Vector, int]]:
    """Fill equal domains of one largest vector one after the other."""
    while count:
        share = tuple(map(min, most, target))
        times = min([count, *(have // part for have, part in zip(target, share, strict=True) if part)])
        yield share, times
        target = tuple(have - part * times for have, part in zip(target, share, strict=True))
        count -= times


def _runs_of(pool: str, names: tuple[str, ...], each: Vector, bag: Pending) -> Iterator[Run]:
    """Put pods on equal nodes, `each[item]` of every shape on each node."""
    for item, batches in sorted(bag.pods.items()):
        size = each[item]
        node, free = 0, size
        for gang, pods, left in batches:
            while left:
                whole = left // size if free == size else 0
                nodes, take = (whole, size) if whole else (1, min(free, left))
                yield Run(gang, pods, pool, names[node : node + nodes], take)
                left -= nodes * take
                node, free = (node + whole, size) if whole else (node, free - take)
                node, free = (node + 1, size) if not free else (node, free)
