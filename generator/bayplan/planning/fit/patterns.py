"""Equal domains as a cutting stock problem: how many of them hold which vector of their front."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from operator import mul
from typing import NamedTuple

from bayplan.planning.fit.greedy import sizes
from bayplan.planning.fit.problem import Problem, Vector
from bayplan.planning.fit.witness import Answer, Choice, Front, Meter, NoRoom, Placed, Solved, TooLongError, placement

STEPS = 8_000_000
"""Multiplications: about a second."""

UNCHECKED = 4
"""The last domains, for which the search looks for numbers of pods first."""

TINY = 1e-7
SCALE = 10**9
MOST_ROWS = 80
MARGINS = (0, 1, 2, 4, 8, 16)


class Stock(NamedTuple):
    """Domains with the same front: what one of them can hold, and how many of them exist."""

    front: Front
    number: int


Cut = tuple[int, Vector]  # number of the stock, a vector of its front
Plan = dict[Cut, int]  # how many domains hold it


Held = list[tuple[Vector, int, Choice | None]]
"""What equal domains hold: a vector, how many hold it, and in which way."""


class _Inside(NamedTuple):
    """The domains in others: their kinds by stock, and the stocks."""

    kinds: tuple[tuple[int, ...], ...]
    stocks: tuple[Stock, ...]

    def held(self, plan: Plan) -> dict[int, Held]:
        """The plan by kind. Kinds of one stock share its vectors."""
        by_stock: list[Held] = [[] for _ in self.stocks]
        for (number, vector), times in plan.items():
            by_stock[number].append((vector, times, None))
        return {kind: held for kinds, held in zip(self.kinds, by_stock, strict=True) for kind in kinds}


def patterned(problem: Problem, fronts: Mapping[int, Solved], steps: int = STEPS, *, witness: bool) -> Answer | None:
    """The answer by patterns of the largest domains that were counted; None if it cannot decide."""
    root = problem.space.root.kind
    inside = _inside(problem, fronts, root)
    if inside is None:
        return None
    plan = cut(inside.stocks, problem.need, sizes(problem), Meter(steps))
    if not isinstance(plan, dict):
        return plan
    return Placed(placement(problem, fronts, _choice(problem, root, inside.held(plan))) if witness else ())


def shortage(problem: Problem, fronts: Mapping[int, Solved], steps: int = STEPS) -> Vector | None:
    """What fits of a need that does not: all of it, except for some units of one kind, of which one more has no room.

    The kind is the largest one for which this can be proven; None if there is none.
    """
    inside, volumes, meter = _inside(problem, fronts, problem.space.root.kind), sizes(problem), Meter(steps)
    if inside is None:
        return None

    def reduced(item: int, count: int) -> Vector:
        return (*problem.need[:item], count, *problem.need[item + 1 :])

    for item in sorted((i for i, count in enumerate(problem.need) if count), key=lambda item: -volumes[item]):
        low, high = 0, problem.need[item]
        if not isinstance(cut(inside.stocks, reduced(item, 0), volumes, meter), dict):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            fits = isinstance(cut(inside.stocks, reduced(item, middle), volumes, meter), dict)
            low, high = (middle, high) if fits else (low, middle)
        if cut(inside.stocks, reduced(item, high), volumes, meter) == NoRoom():
            return reduced(item, low)
    return None


def _inside(problem: Problem, fronts: Mapping[int, Solved], number: int) -> _Inside | None:
    """The largest counted domains below a place; None if a place between closes units of its own."""
    counts: dict[int, int] = {}
    if not _collect(problem, fronts, number, 1, counts):
        return None
    kinds: dict[Front, list[int]] = {}
    for kind in counts:
        kinds.setdefault(fronts[kind].out, []).append(kind)
    stocks = tuple(Stock(front, sum(counts[kind] for kind in alike)) for front, alike in kinds.items())
    return _Inside(tuple(map(tuple, kinds.values())), stocks)


def _collect(problem: Problem, wanted: Container[int], number: int, times: int, counts: dict[int, int]) -> bool:
    """The first wanted kinds on the way down, and how many there are; False if another place closes units."""
    for child, count in problem.space.kinds[number].groups:
        if child in wanted:
            counts[child] = counts.get(child, 0) + times * count
        elif (
            child < 0
            or problem.closes(problem.space.kinds[child].depth)
            or not _collect(problem, wanted, child, times * count, counts)
        ):
            return False
    return True


def _choice(problem: Problem, number: int, held: Mapping[int, Held]) -> Choice:
    """Deal what the domains hold out to those below one place."""
    groups = []
    for child, count in problem.space.kinds[number].groups:
        group: Held = []
        if child in held:
            left = held[child]
            while count and left:
                vector, times, choice = left.pop()
                here = min(times, count)
                group.append((vector, here, choice))
                count -= here
                if times > here:
                    left.append((vector, times - here, choice))
        else:
            for _ in range(count):
                below = _choice(problem, child, held)
                group.append((_total(below, problem.width), 1, below))
        groups.append(tuple(group))
    return Choice(tuple(groups))


def _total(choice: Choice, width: int) -> Vector:
    total = [0] * width
    for group in choice.groups:
        for vector, times, _ in group:
            for item, amount in enumerate(vector):
                total[item] += amount * times
    return tuple(total)


# Domains in which units close that were not counted, because they differ too much: fill one after the other.


class _Bin(NamedTuple):
    """A kind of such domains: how many, and how much each holds."""

    kind: int
    number: int
    room: int
    inside: _Inside


def nested(problem: Problem, fronts: Mapping[int, Solved], steps: int = STEPS) -> Placed | NoRoom | None:
    """A placement, if the search finds one; NoRoom if the pods of whole units never fill the domains enough."""
    counts: dict[int, int] = {}
    closing = {number for number, kind in enumerate(problem.space.kinds) if problem.closes(kind.depth)}
    if not _collect(problem, closing, problem.space.root.kind, 1, counts) or not counts:
        return None
    insides = {kind: _inside(problem, fronts, kind) for kind in counts}
    depths = {problem.space.kinds[kind].depth for kind in counts}
    if None in insides.values() or len(depths) > 1 or problem.families(*depths):
        return None
    filler = _Filler(problem, depths.pop(), Meter(steps))
    bins = [_Bin(kind, counts[kind], filler.room(each), each) for kind, each in insides.items() if each]
    if filler.overfull(bins) or filler.relaxed(bins) == NoRoom():
        return NoRoom()
    found = filler.filled(sorted(bins, key=lambda each: each.room))
    if found is None:
        return None
    held: dict[int, Held] = {kind: [] for kind in counts}
    for each, vector, plan in found:
        held[each.kind].append((vector, 1, _choice(problem, each.kind, each.inside.held(plan))))
    return Placed(placement(problem, fronts, _choice(problem, problem.space.root.kind, held)))


def _whole(problem: Problem, volumes: Sequence[float]) -> list[int]:
    """The volumes as small integers: exact if all pods are multiples of the smallest. A unit is the sum."""
    shapes = volumes[: len(problem.shapes)]
    least = min((volume for volume in shapes if volume > 0), default=1.0)
    exact = all(abs(volume / least - round(volume / least)) < TINY for volume in shapes)
    found = [round(volume / least * (1 if exact else 16)) for volume in shapes]
    for kind in problem.types:
        found.append(sum(count * found[item] for item, count in kind.content))
    return found


class _Filler:
    """Choose units whose pods fill a domain, the fullest choice first, and check that they fit into it."""

    def __init__(self, problem: Problem, depth: int, meter: Meter) -> None:
        self.problem, self.meter = problem, meter
        self.volumes = sizes(problem)
        self.weights = _whole(problem, self.volumes)
        self.items = sorted((i for i, n in enumerate(problem.need) if n), key=lambda item: (-self.volumes[item], item))
        self.sizes = [self.weights[item] for item in self.items]
        contents = {kind.item: kind.content for kind in problem.closing(depth)}
        self.contents = [contents.get(item, ((item, 1),)) for item in self.items]
        self.plans: dict[tuple[int, Vector], Plan | None] = {}

    def room(self, inside: _Inside) -> int:
        """The most weight that a domain holds."""
        return sum(count * max(_dot(self.weights, vector) for vector in front) for front, count in inside.stocks)

    def overfull(self, bins: Sequence[_Bin]) -> bool:
        """Whether everything weighs more than the domains hold, if each is as full of whole units as possible."""
        most, reach = max(each.room for each in bins), 1
        for size, item in zip(self.sizes, self.items, strict=True):
            for _ in range(min(self.problem.need[item], most // size) if size else 0):
                reach |= reach << size & (2 << most) - 1
        held = sum(each.number * ((reach & (2 << each.room) - 1).bit_length() - 1) for each in bins)
        return held < sum(size * self.problem.need[item] for size, item in zip(self.sizes, self.items, strict=True))

    def relaxed(self, bins: Sequence[_Bin]) -> Plan | NoRoom | None:
        """The plan if what a unit consists of need not share a domain."""
        stocks = [stock._replace(number=stock.number * each.number) for each in bins for stock in each.inside.stocks]
        need = [0] * self.problem.width
        for item, content in zip(self.items, self.contents, strict=True):
            for below, each_unit in content:
                need[below] += each_unit * self.problem.need[item]
        counts: dict[Front, int] = {}
        for front, number in stocks:
            counts[front] = counts.get(front, 0) + number
        return cut([Stock(front, number) for front, number in counts.items()], tuple(need), self.volumes, self.meter)

    def filled(self, bins: Sequence[_Bin]) -> list[tuple[_Bin, Vector, Plan]] | None:
        """For each domain, what it holds. The search checks the last ones only when their pods fit in number."""
        order = [each for each in bins for _ in range(each.number)]
        found: list[Vector] = []
        left = tuple(self.problem.need[item] for item in self.items)
        stack = [(left, self.choices(order, left))]
        try:
            while stack:
                left, choices = stack[-1]
                del found[len(stack) - 1 :]
                taken = next(choices, None)
                if taken is None:
                    stack.pop()
                    continue
                found.append(taken)
                after = order[len(found) :]
                if len(after) >= UNCHECKED and self.plan(order[len(found) - 1], taken) is None:
                    continue
                left = tuple(map(int.__sub__, left, taken))
                if not any(left):
                    plans = [self.plan(into, held) for into, held in zip(order, found, strict=False)]
                    good = [(order[n], self.vector(found[n]), plan) for n, plan in enumerate(plans) if plan is not None]
                    if len(good) == len(plans):
                        return good
                    del stack[plans.index(None) + 1 :]
                elif after:
                    stack.append((left, self.choices(after, left)))
        except TooLongError:
            pass
        return None

    def vector(self, taken: Vector) -> Vector:
        """By item of the problem."""
        counts = dict(zip(self.items, taken, strict=True))
        return tuple(counts.get(item, 0) for item in range(self.problem.width))

    def choices(self, bins: Sequence[_Bin], left: Vector) -> Iterator[Vector]:
        """Units whose pods the first domain may hold, with one of the largest if none of the domains is larger.

        Choices that leave as much of it empty as of all domains come first.
        """
        first = next(n for n, count in enumerate(left) if count)
        room, rooms = bins[0].room, sum(each.room for each in bins)
        slack = rooms - sum(map(mul, self.sizes, left))
        sums = [1]  # bit n: whether units from a number on can take n
        for number in reversed(range(first, len(left))):
            reach = sums[-1]
            for _ in range(left[number]):
                reach |= reach << self.sizes[number] & (2 << room) - 1
            self.meter.spend(left[number] + 1)
            sums.append(reach)
        sums = [0] * first + sums[::-1]
        share = slack * room // rooms if rooms else 0
        for waste in sorted(range(min(slack, room) + 1), key=lambda waste: abs(waste - share)):
            for taken in self.subsets(first, left, sums, room - waste, int(room == bins[-1].room)):
                yield (0,) * first + taken

    def subsets(self, number: int, left: Vector, sums: list[int], room: int, least: int = 0) -> Iterator[Vector]:
        """Numbers of units that take exactly the room, at least so many of the first, many of the large ones first."""
        if number == len(left):
            yield ()
            return
        size = self.sizes[number]
        for count in range(min(left[number], room // size if size else left[number]), least - 1, -1):
            self.meter.spend(10)
            rest = room - count * size
            if sums[number + 1] >> rest & 1:
                for more in self.subsets(number + 1, left, sums, rest):
                    yield (count, *more)

    def plan(self, into: _Bin, taken: Vector) -> Plan | None:
        """How the domain holds these units."""
        need = [0] * self.problem.width
        for content, count in zip(self.contents, taken, strict=True):
            for item, each in content if count else ():
                need[item] += each * count
        key = into.kind, tuple(need)
        if key not in self.plans:
            self.meter.spend(100)
            found = cut(into.inside.stocks, key[1], self.volumes, self.meter)
            self.plans[key] = found if isinstance(found, dict) else None
        return self.plans[key]


def cut(stocks: Sequence[Stock], need: Vector, volumes: Sequence[float], meter: Meter) -> Plan | NoRoom | None:
    """Vectors that together cover the need; NoRoom if weights prove that none do; None if the search finds neither."""
    items = [item for item, count in enumerate(need) if count]
    if not items:
        return {}
    small = [Stock(tuple(dict.fromkeys(tuple(vector[i] for i in items) for vector in front)), n) for front, n in stocks]
    if len(items) + len(small) > MOST_ROWS:
        return None
    back = [{tuple(vector[i] for i in items): vector for vector in reversed(front)} for front, _ in stocks]
    wanted = [need[item] for item in items]
    try:
        relaxed = _relaxed(small, [count for _, count in small], wanted, meter)
        if isinstance(relaxed, list):
            return NoRoom() if _outweighs(small, wanted, relaxed) else None
        for margin in MARGINS:
            plan = _rounded(small, tuple(wanted), relaxed, margin, [volumes[item] for item in items], STEPS // 16)
            if plan is not None:
                return {(number, back[number][vector]): times for (number, vector), times in plan.items()}
    except TooLongError:
        pass
    return None


def _outweighs(stocks: Sequence[Stock], wanted: Sequence[int], weights: Sequence[float]) -> bool:
    """Whether all items together weigh more than all domains can hold: a proof in integers."""
    whole = [max(int(weight * SCALE), 0) for weight in weights]
    room = sum(count * max(_dot(whole, vector) for vector in front) for front, count in stocks)
    return _dot(whole, wanted) > room


def _dot(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(map(int.__mul__, left, right))


def _rounded(
    stocks: Sequence[Stock],
    wanted: Vector,
    relaxed: Mapping[Cut, float],
    margin: int,
    sizes: Sequence[float],
    steps: int,
) -> Plan | None:
    """Round a relaxed plan down, and search for the rest. The margin rounds further down."""
    plan: Plan = {}
    counts, left = [count for _, count in stocks], wanted
    for (number, vector), times in relaxed.items():
        whole = max(int(times + TINY) - margin, 0)
        if whole:
            plan[number, vector] = whole
            counts[number] -= whole
            left = tuple(max(need - whole * part, 0) for need, part in zip(left, vector, strict=True))
    rest = _Rest(stocks, sizes, Meter(steps))
    try:
        found = rest.fill(left, tuple(counts), rest.slack(left, counts))
    except (TooLongError, RecursionError):
        return None
    for each in found or ():
        plan[each] = plan.get(each, 0) + 1
    return None if found is None else plan


class _Rest:
    """Fill one domain after the other: always with one of the largest items that are left, and with little waste."""

    def __init__(self, stocks: Sequence[Stock], sizes: Sequence[float], meter: Meter) -> None:
        self.sizes, self.meter = sizes, meter
        self.order = sorted(range(len(sizes)), key=lambda item: -sizes[item])
        self.rooms = [max(sum(map(mul, sizes, vector)) for vector in front) for front, _ in stocks]
        self.having = [[[v for v in front if v[item]] for item in range(len(sizes))] for front, _ in stocks]
        self.failed: set[tuple[Vector, tuple[int, ...]]] = set()

    def slack(self, wanted: Vector, counts: Sequence[int]) -> float:
        """How much room is left after everything."""
        return float(sum(map(mul, self.rooms, counts)) - sum(map(mul, self.sizes, wanted)))

    def fill(self, wanted: Vector, counts: tuple[int, ...], slack: float) -> list[Cut] | None:
        """The vectors of the domains that hold what is wanted."""
        if slack < -TINY * self.rooms[0] or (wanted, counts) in self.failed:
            return None
        item = next((item for item in self.order if wanted[item]), None)
        if item is None:
            return []
        choices: dict[tuple[int, Vector], tuple[float, Cut]] = {}
        for number, count in enumerate(counts):
            vectors = self.having[number][item] if count else ()
            self.meter.spend(2 * len(vectors) * len(wanted))
            for vector in vectors:
                used = tuple(map(min, vector, wanted))
                waste = self.rooms[number] - sum(map(mul, self.sizes, used))
                choices.setdefault((number, used), (waste, (number, vector)))
        for (number, used), (waste, chosen) in sorted(choices.items(), key=lambda each: (each[1][0], each[0])):
            rest = tuple(map(int.__sub__, wanted, used))
            fewer = (*counts[:number], counts[number] - 1, *counts[number + 1 :])
            found = self.fill(rest, fewer, slack - waste)
            if found is not None:
                return [chosen, *found]
        self.failed.add((wanted, counts))
        return None


def _relaxed(
    stocks: Sequence[Stock], counts: Sequence[int], wanted: Sequence[int], meter: Meter
) -> dict[Cut, float] | list[float]:
    """Fractions of vectors that cover the need, or weights of the items by which the domains hold too little.

    The simplex method, which adds only the vectors that it needs. The first rows are items: what all vectors hold, and
    what is short, is at least the need. The others are stocks: no more vectors than domains.
    """
    size, used = len(wanted), [n for n, count in enumerate(counts) if count]
    rows = size + len(used)
    inverse = [[float(i == j) for j in range(rows)] for i in range(rows)]
    values = [float(n) for n in (*wanted, *(counts[n] for n in used))]
    basis: list[Cut | None] = [None] * rows
    short = [True] * size + [False] * len(used)  # whether the row's variable is what is short of an item
    while sum(value for value, each in zip(values, short, strict=True) if each) > TINY:
        meter.spend(2 * rows * rows)
        prices = [
            sum(column) for column in zip(*(row for row, each in zip(inverse, short, strict=True) if each), strict=True)
        ]
        entering, column = _entering(stocks, used, prices, size, meter)
        if column is None:
            return prices[:size]
        change = [sum(row[i] * amount for i, amount in column) for row in inverse]
        column_of = enumerate(zip(values, change, short, strict=True))
        ratios = [(max(value, 0.0) / each, -lacks, -each, i) for i, (value, each, lacks) in column_of if each > TINY]
        if not ratios:
            return prices[:size]
        ratio, _, _, out = min(ratios)
        pivot = [amount / change[out] for amount in inverse[out]]
        values = [value - ratio * each for value, each in zip(values, change, strict=True)]
        values[out] = ratio
        inverse = [
            [a - each * b for a, b in zip(row, pivot, strict=True)] if each and i != out else row
            for i, (row, each) in enumerate(zip(inverse, change, strict=True))
        ]
        inverse[out], basis[out], short[out] = pivot, entering, False
    return {each: value for each, value in zip(basis, values, strict=True) if each and value > TINY}


def _entering(
    stocks: Sequence[Stock], used: Sequence[int], prices: Sequence[float], size: int, meter: Meter
) -> tuple[Cut | None, tuple[tuple[int, int], ...] | None]:
    """The variable that gains most, and its column as (row, amount); no column if none gains."""
    gain = TINY
    entering: Cut | None = None
    column: tuple[tuple[int, int], ...] | None = None
    for i, price in enumerate(prices):
        if (price > gain) if i >= size else (-price > gain):  # a domain that is left, or more than an item needs
            gain, entering, column = abs(price), None, ((i, 1 if i >= size else -1),)
    items = prices[:size]
    for row, number in enumerate(used, size):
        front, least = stocks[number].front, gain - prices[row]
        meter.spend(len(front) * size)
        for vector in front:
            worth = sum(map(mul, items, vector))
            if worth > least:
                least, gain, entering = worth, worth + prices[row], (number, vector)
                column = (*((i, n) for i, n in enumerate(vector) if n), (row, 1))
    return entering, column
