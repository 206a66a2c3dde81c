"""The `[solver]` extra: an exact model of what takes too long to count. Counted places enter it as patterns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bayplan.planning.fit.problem import Problem, Vector
from bayplan.planning.fit.witness import Answer, Choice, NoRoom, Placed, Solved, Unknown, placement

HINT = "install `bayplan[solver]`, which decides more; or give pods of one group equal requests"
SIMPLER = "give pods of one group equal requests, or render the gangs separately with `--gang`"
WHY = "it has too many different pods and groups to count"
EFFORT = 2.0
"""CP-SAT's deterministic time: the same answer on every machine."""

LARGEST = 10_000
"""Variables of a model."""


def solved(problem: Problem, fronts: Mapping[int, Solved]) -> Answer:
    """The answer of the solver, with a fixed seed, one worker and a deterministic limit."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        return Unknown(WHY, HINT)
    model = _Model(problem, fronts, cp_model.CpModel())
    root = model.place(problem.space.root.kind)
    if root is None:
        return Unknown(f"{WHY}, also for the solver", SIMPLER)
    model.at_least(root, problem.need)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = EFFORT
    status = solver.solve(model.model)
    if status == cp_model.INFEASIBLE:
        return NoRoom()
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Unknown(f"{WHY}, and the solver found no answer within its limit", SIMPLER)
    return Placed(placement(problem, fronts, _choice(root, solver.value)))


class _Group(NamedTuple):
    """Equal children: by patterns (vector, how many), or one model each with what it offers."""

    patterns: tuple[tuple[Vector, Any], ...]
    copies: tuple[tuple[tuple[Any, ...], _Place], ...]


class _Place(NamedTuple):
    groups: tuple[_Group, ...]


class _Model:
    def __init__(self, problem: Problem, fronts: Mapping[int, Solved], model: Any) -> None:
        self.problem = problem
        self.fronts = fronts
        self.model = model
        self.variables = 0

    def count(self, most: int) -> Any:
        self.variables += 1
        return self.model.new_int_var(0, most, "")

    def place(self, number: int) -> _Place | None:
        """A place that was not counted; None if the model becomes too large."""
        groups: list[_Group] = []
        for child, count in self.problem.space.kinds[number].groups:
            group = self.patterns(child, count) if child in self.fronts else self.copies(child, count)
            if group is None or self.variables > LARGEST:
                return None
            groups.append(group)
        return _Place(tuple(groups))

    def patterns(self, child: int, count: int) -> _Group:
        vectors = [vector for vector in self.fronts[child].out if any(vector)]
        chosen = tuple((vector, self.count(count)) for vector in vectors)
        self.model.add(sum(times for _, times in chosen) <= count)
        return _Group(chosen, ())

    def copies(self, child: int, count: int) -> _Group | None:
        space, copies = self.problem.space, []
        depth = space.host_depth(~child) if child < 0 else space.kinds[child].depth
        for _ in range(count):
            place = self.node(~child) if child < 0 else self.place(child)
            if place is None or self.variables > LARGEST:
                return None
            copies.append((self.offer(place, depth), place))
        return _Group((), tuple(copies))

    def node(self, host: int) -> _Place:
        """A node with too many fillings to list: a number for each shape."""
        offered, pool, chosen = self.problem.nodes[host], self.problem.space.hosts[host].pool, []
        for shape in self.problem.shapes:
            if shape.pool == pool:
                most = min(has // ask for has, ask in zip(offered, shape.asks, strict=True) if ask)
                chosen.append((shape, self.count(min(most, self.problem.totals[shape.item]))))
        for i, has in enumerate(offered):
            self.model.add(sum(shape.asks[i] * number for shape, number in chosen) <= has)
        ones = [(tuple(int(i == s.item) for i in range(self.problem.width)), number) for s, number in chosen]
        return _Place((_Group(tuple(ones), ()),))

    def offer(self, place: _Place, depth: int) -> tuple[Any, ...]:
        """What the place offers to the level above, after units have closed on it."""
        above, inside = self.problem.wanted(depth), self.holds(place)
        if not self.problem.closing(depth) and not self.problem.families(depth):
            return tuple(inside)
        out: list[Any] = [self.count(most) if most else 0 for most in above]
        for item in range(self.problem.width):
            used = [
                count * out[kind.item] for kind in self.problem.closing(depth) for i, count in kind.content if i == item
            ]
            closing = any(kind.item == item for kind in self.problem.closing(depth))
            self.model.add(sum(used) + (0 if closing else out[item]) <= inside[item])
        for family in self.problem.families(depth):
            self.model.add(sum(out[item] for item in family) <= 1)
        return tuple(out)

    def holds(self, place: _Place) -> list[Any]:
        """What is in the place, by item."""
        return [
            sum([vector[i] * times for g in place.groups for vector, times in g.patterns if vector[i]])
            + sum([out[i] for g in place.groups for out, _ in g.copies])
            for i in range(self.problem.width)
        ]

    def at_least(self, root: _Place, need: Vector) -> None:
        for held, wanted in zip(self.holds(root), need, strict=True):
            self.model.add(held >= wanted) if not isinstance(held, int) else self.model.add_bool_or([held >= wanted])


def _choice(place: _Place, value: Any) -> Choice:
    return Choice(tuple(tuple(_chosen(group, value)) for group in place.groups))


def _chosen(group: _Group, value: Any) -> list[tuple[Vector, int, Choice | None]]:
    if group.copies:
        return [(tuple(map(value, out)), 1, _choice(place, value)) for out, place in group.copies]
    return [(vector, n, None) for vector, times in group.patterns if (n := value(times))]
