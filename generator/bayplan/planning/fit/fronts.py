"""Which amounts a domain can hold at once, exactly: Pareto fronts of vectors, added up the tree.

A vector counts items: pods of one shape, or units that are complete below. A front holds the vectors that no other
vector of it covers, largest first. Everything is capped at what is still asked for, so fronts stay short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bayplan.planning.fit.problem import Problem, Type, Vector
from bayplan.values import NamedTuple

Front = tuple[Vector, ...]


class TooLongError(Exception):
    """A front grew past its budget; nothing is known of that place then."""


class Meter:
    """Counts comparisons, so that giving up depends on the input alone and never on time."""

    def __init__(self, budget: int) -> None:
        self.left = budget

    def spend(self, amount: int) -> None:
        """Use up some of the budget; TooLongError when it is gone."""
        self.left -= amount
        if self.left < 0:
            raise TooLongError


class Solved(NamedTuple):
    """A kind of place: what it offers above, what it holds before its own units close, and sums of its groups."""

    out: Front
    before: Front
    sums: tuple[Front, ...]


def solve(problem: Problem, budget: int) -> dict[int, Solved]:
    """Kind of place (or `~pool` for a node) -> its fronts. A place whose fronts grow too long is left out, and so is
    what stands above it. The last place is the root."""
    solved: dict[int, Solved] = {}
    left = budget
    for number in (*(~pool for pool in range(len(problem.space.pools))), *range(len(problem.space.kinds))):
        meter = Meter(min(left, budget // 2))
        try:
            solved[number] = _host(problem, ~number, meter) if number < 0 else _place(problem, number, solved, meter)
        except (TooLongError, KeyError):
            continue
        finally:
            left -= min(left, budget // 2) - max(meter.left, 0)
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
    """The vectors that no other one covers."""
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


def _host(problem: Problem, pool: int, meter: Meter) -> Solved:
    """One node: the largest sets of pods that fit it, then the units that close on it."""
    depth = problem.space.host_depth(pool)
    front = pareto(_fillings(problem, pool, problem.wanted(depth + 1), meter), meter)
    return Solved(_close(problem, depth, front, meter), front, ())


def _fillings(problem: Problem, pool: int, cap: Vector, meter: Meter) -> list[Vector]:
    """Every set of pods that a node of the pool holds and to which no pod of the last shape can be added."""
    shapes = [shape for shape in problem.shapes if shape.pool == pool and cap[shape.item]]
    open_: list[tuple[Vector, Vector]] = [(_zero(problem), problem.node(pool))]
    for turn, shape in enumerate(shapes, 1):
        grown = []
        for counts, free in open_:
            most = min([cap[shape.item], *(f // a for f, a in zip(free, shape.asks, strict=True) if a)])
            for count in range(most if turn == len(shapes) else 0, most + 1):
                left = tuple(f - count * a for f, a in zip(free, shape.asks, strict=True))
                grown.append((_set(counts, shape.item, count), left))
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
    """One of the family, whichever it is, or what was there of it if that is none."""
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


def _set(vector: Vector, item: int, amount: int) -> Vector:
    return (*vector[:item], amount, *vector[item + 1 :])
