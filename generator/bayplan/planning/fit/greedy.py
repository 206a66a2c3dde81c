"""Best fit decreasing: a quick placement if counting takes too long. It may miss a placement that exists."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from bayplan.planning.fit.problem import Part, Place, Problem, Type, Vector
from bayplan.planning.fit.witness import Batch, Meter, Run, TooLongError

STEPS = 300_000
"""Looks at a state: less than a second."""

SLACK = 1 + 1e-9
"""Sums of shares that are equal may differ by rounding."""

Below = tuple[tuple[float, int, int], ...]  # volume, state, how many: the fullest first


class State(NamedTuple):
    """What a domain or a node has left. Equal domains in which the same is left are in one state."""

    depth: int
    pool: int  # of a node; -1 for a domain
    free: Vector  # of a node
    below: Below
    families: frozenset[tuple[str, ...]]  # of which the domain holds an instance


class Move(NamedTuple):
    """What a state becomes: the unit goes into a child in that state, or opens here (-1)."""

    state: int
    child: int


class Filling(NamedTuple):
    """What a state becomes if pods fill it in turn: (child's state, pods of each, how many such children)."""

    state: int
    left: int
    moves: tuple[tuple[int, int, int], ...]


class States:
    """States by number, and what units and pods make of them. Each question is answered once."""

    def __init__(self, problem: Problem, meter: Meter) -> None:
        self.problem = problem
        self.meter = meter
        self.weights = weights(problem)
        self.sizes = sizes(problem)
        self.numbers: dict[State, int] = {}
        self.states: list[State] = []
        self.volumes: list[float] = []
        self.moves: dict[tuple[int, int], Move | None] = {}
        self.fillings: dict[tuple[int, int, int], Filling] = {}
        self.contents = {kind.item: self.ordered(kind) for kind in problem.types}
        self.of_kind: dict[int, int] = {}

    def ordered(self, kind: Type) -> tuple[tuple[int, int], ...]:
        """The content of a unit: units before pods, the largest first."""
        shapes = len(self.problem.shapes)
        return tuple(sorted(kind.content, key=lambda each: (each[0] < shapes, -self.sizes[each[0]])))

    def number(self, state: State) -> int:
        """The number of a state."""
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
            if state.pool >= 0:
                weights = self.weights[state.pool]
                self.volumes.append(sum(f * w for f, w in zip(state.free, weights, strict=True)))
            else:
                self.volumes.append(sum(volume * count for volume, _, count in state.below))
        return self.numbers[state]

    def empty(self, kind: int) -> int:
        """The state of a kind of place, or of a node like host `~kind`, in which nothing is."""
        if kind not in self.of_kind:
            space, nothing = self.problem.space, frozenset[tuple[str, ...]]()
            if kind < 0:
                host = State(space.host_depth(~kind), space.hosts[~kind].pool, self.problem.nodes[~kind], (), nothing)
                self.of_kind[kind] = self.number(host)
            else:
                counted: dict[int, int] = {}
                for child, count in space.kinds[kind].groups:
                    counted[self.empty(child)] = counted.get(self.empty(child), 0) + count
                below = tuple(sorted((self.volumes[child], child, count) for child, count in counted.items()))
                self.of_kind[kind] = self.number(State(space.kinds[kind].depth, -1, (), below, nothing))
        return self.of_kind[kind]

    def insert(self, state: int, item: int) -> Move | None:
        """A domain takes a unit."""
        key = state, item
        if key not in self.moves:
            self.meter.spend(1)
            self.moves[key] = self._insert(state, self.problem.types[item - len(self.problem.shapes)])
        return self.moves[key]

    def _insert(self, number: int, kind: Type) -> Move | None:
        state = self.states[number]
        if kind.depth is None or state.depth > kind.depth or self.sizes[kind.item] > self.volumes[number] * SLACK:
            return None
        if kind.apart == state.depth and kind.family in state.families:
            return None
        child = -1
        if state.depth == kind.depth:
            after = self._opened(number, kind)
        else:
            after = -1
            for _, child, _ in state.below[self.start(state.below, kind.item) :]:
                move = self.insert(child, kind.item)
                if move:
                    after = self.number(state._replace(below=self.changed(state.below, [(child, move.state, 1)])))
                    break
        if after < 0:
            return None
        if kind.apart == state.depth:
            held = self.states[after]
            after = self.number(held._replace(families=held.families | {kind.family}))
        return Move(after, child)

    def _opened(self, number: int, kind: Type) -> int:
        for item, count in self.contents[kind.item]:
            if item < len(self.problem.shapes):
                filling = self.fill(number, item, count)
                if filling.left:
                    return -1
                number = filling.state
            else:
                for _ in range(count):
                    move = self.insert(number, item)
                    if not move:
                        return -1
                    number = move.state
        return number

    def start(self, below: Below | list[tuple[float, int, int]], item: int) -> int:
        """The first of them that is not too small."""
        return bisect_left(below, (self.sizes[item] / SLACK,))

    def changed(self, below: Below, changes: Iterable[tuple[int, int, int]]) -> Below:
        """So many children change from one state to another."""
        rows = list(below)
        for old, new, times in changes:
            take(rows, self.volumes[old], old, times)
            put(rows, self.volumes[new], new, times)
        return tuple(rows)

    def fill(self, number: int, item: int, count: int) -> Filling:
        """A domain takes as many of these pods as it can."""
        key = number, item, count
        if key not in self.fillings:
            self.meter.spend(1)
            self.fillings[key] = self._filled(number, item, count)
        return self.fillings[key]

    def _filled(self, number: int, item: int, count: int) -> Filling:
        state, shape = self.states[number], self.problem.shapes[item]
        if state.pool >= 0:
            if state.pool != shape.pool:
                return Filling(number, count, ())
            most = min([count, *(f // a for f, a in zip(state.free, shape.asks, strict=True) if a)])
            free = tuple(f - most * a for f, a in zip(state.free, shape.asks, strict=True))
            return Filling(self.number(state._replace(free=free)) if most else number, count - most, ())
        changes, moves, left = [], [], count
        for _, child, held in state.below[self.start(state.below, item) :]:
            while held and left:
                filling = self.fill(child, item, left)
                taken = left - filling.left
                if not taken:
                    break
                times = min(held, left // taken)
                changes.append((child, filling.state, times))
                moves.append((child, taken, times))
                held, left = held - times, left - taken * times
            if not left:
                break
        return Filling(self.number(state._replace(below=self.changed(state.below, changes))), left, tuple(moves))


def take(rows: list[tuple[float, int, int]], volume: float, state: int, times: int) -> None:
    """Remove so many children in a state."""
    at = bisect_left(rows, (volume, state))
    held = rows[at][2]
    if held > times:
        rows[at] = volume, state, held - times
    else:
        del rows[at]


def put(rows: list[tuple[float, int, int]], volume: float, state: int, times: int) -> None:
    """Add so many children in a state."""
    at = bisect_left(rows, (volume, state))
    if at < len(rows) and rows[at][:2] == (volume, state):
        rows[at] = volume, state, rows[at][2] + times
    else:
        insort(rows, (volume, state, times))


def weights(problem: Problem) -> list[list[float]]:
    """For each pool, what a thousandth of each deciding resource is worth: more if the pods request more of all."""
    space = problem.space
    counts = space.nodes()
    found = []
    for pool in range(len(space.pools)):
        hosts = [(problem.nodes[n], counts[n]) for n, host in enumerate(space.hosts) if host.pool == pool]
        shapes = [shape for shape in problem.shapes if shape.pool == pool]
        row = []
        for i in range(len(hosts[0][0])):
            asked = sum(shape.asks[i] * problem.totals[shape.item] for shape in shapes)
            offered = sum(free[i] * count for free, count in hosts)
            row.append(asked / offered / offered if offered else 0.0)
        found.append(row)
    return found


def sizes(problem: Problem) -> list[float]:
    """What each item takes of its pool, weighed."""
    worth = weights(problem)
    found = [sum(ask * weight for ask, weight in zip(s.asks, worth[s.pool], strict=True)) for s in problem.shapes]
    for kind in problem.types:
        found.append(sum(count * found[item] for item, count in kind.content))
    return found


class Real:
    """A place of the cluster, or a node, and its state."""

    def __init__(self, place: Place | None, names: tuple[str, ...], state: int) -> None:
        self.place = place
        self.names = names
        self.state = state
        self.below: dict[int, list[Real]] | None = None


class Floor:
    """The cluster while units and pods are put into it."""

    def __init__(self, problem: Problem, states: States) -> None:
        self.problem = problem
        self.states = states
        self.root = Real(problem.space.root, (), states.empty(problem.space.root.kind))
        self.placed: dict[tuple[str, str, str, int], list[str]] = {}

    def below(self, real: Real) -> dict[int, list[Real]]:
        """The children of a place by state."""
        if real.below is None:
            real.below = {}
            assert real.place is not None
            for child in reversed(real.place.children):
                state = self.states.empty(child.kind)
                real.below.setdefault(state, []).append(Real(child, (), state))
            for host, names in real.place.hosts:
                state = self.states.empty(~host)
                real.below.setdefault(state, []).extend(Real(None, (name,), state) for name in reversed(names))
        return real.below

    def unit(self, real: Real, part: Part) -> None:
        """A place takes a unit."""
        move = self.states.insert(real.state, part.item)
        assert move is not None
        if move.child < 0:
            self.opened(real, part)
        else:
            self.moved(real, move.child, partial(self.unit, part=part))
        real.state = move.state

    def moved(self, real: Real, child: int, change: Callable[[Real], None]) -> None:
        below = self.below(real)
        chosen = below[child].pop()
        change(chosen)
        below.setdefault(chosen.state, []).append(chosen)

    def opened(self, real: Real, part: Part) -> None:
        """What a unit consists of goes into the place of the unit."""
        parts: dict[int, list[Part]] = {}
        for each in part.parts:
            parts.setdefault(each.item, []).append(each)
        pods: dict[int, deque[Batch]] = {}
        for item, gang, some in part.pods:
            pods.setdefault(item, deque()).append((gang, some.name, some.replicas))
        for item, count in self.states.contents[part.item]:
            if item in pods:
                self.fill(real, item, count, pods[item])
            else:
                for each in parts[item]:
                    self.unit(real, each)

    def fill(self, real: Real, item: int, count: int, batches: deque[Batch]) -> None:
        """A place takes so many pods."""
        filling = self.states.fill(real.state, item, count)
        if real.place is None:
            self.on_node(real, item, count - filling.left, batches)
        for child, taken, times in filling.moves:
            for _ in range(times):
                self.moved(real, child, partial(self.fill, item=item, count=taken, batches=batches))
        real.state = filling.state

    def on_node(self, real: Real, item: int, count: int, batches: deque[Batch]) -> None:
        pool = self.problem.space.pools[self.problem.shapes[item].pool].name
        while count:
            gang, pods, left = batches.popleft()
            here = min(left, count)
            self.placed.setdefault((gang, pods, pool, here), []).append(real.names[0])
            if left > here:
                batches.appendleft((gang, pods, left - here))
            count -= here

    def runs(self) -> Iterator[Run]:
        """Pods of one podSet instance with the same number a node are one run."""
        for (gang, pods, pool, count), names in self.placed.items():
            yield Run(gang, pods, pool, tuple(names), count)


def best_fit(problem: Problem) -> tuple[Run, ...] | None:
    """A placement, or None if best fit does not find one."""
    states = States(problem, Meter(STEPS))
    floor = Floor(problem, states)
    try:
        return tuple(floor.runs()) if _packed(problem, states, floor) else None
    except TooLongError:
        return None


def _packed(problem: Problem, states: States, floor: Floor) -> bool:
    """Put everything into the cluster: units first, then pods, the largest first."""
    root = states.states[floor.root.state]
    rows = list(root.below)
    last, child = -1, -1
    for part in sorted(problem.root.parts, key=lambda each: (-states.sizes[each.item], each.item)):
        if part.item != last or child < 0 or states.insert(child, part.item) is None:
            again = rows[states.start(rows, part.item) :]
            child = next((state for _, state, _ in again if states.insert(state, part.item)), -1)
        move = states.insert(child, part.item) if child >= 0 else None
        if move is None:
            return False
        floor.moved(floor.root, child, partial(floor.unit, part=part))
        take(rows, states.volumes[child], child, 1)
        put(rows, states.volumes[move.state], move.state, 1)
        last, child = part.item, move.state
    floor.root.state = states.number(root._replace(below=tuple(rows)))
    pods: dict[int, deque[Batch]] = {}
    for item, gang, each in problem.root.pods:
        pods.setdefault(item, deque()).append((gang, each.name, each.replicas))
    for item in sorted(pods, key=lambda each: -states.sizes[each]):
        count = sum(left for _, _, left in pods[item])
        if states.fill(floor.root.state, item, count).left:
            return False
        floor.fill(floor.root, item, count, pods[item])
    return True
