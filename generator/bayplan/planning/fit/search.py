"""Decide whether gangs that run together fit a space, and say where: fronts first, then first fit, then a solver."""

from __future__ import annotations

from bayplan.model.plan import GangPlan
from bayplan.model.topology import ClusterTopology
from bayplan.planning.fit.answer import Answer, NoRoom, Placed
from bayplan.planning.fit.fronts import Meter, Solved, TooLongError, covers, solve
from bayplan.planning.fit.problem import Problem, problem
from bayplan.planning.fit.space import Space
from bayplan.planning.fit.witness import placement

BUDGET = 1_000_000
"""Vector comparisons that fronts may cost: about a second."""


def search(
    gangs: tuple[GangPlan, ...],
    topology: ClusterTopology,
    space: Space,
    *,
    channels: bool = True,
    witness: bool = True,
    budget: int = BUDGET,
) -> Answer:
    """Place all these gangs at once. Without `channels`, as if a node had any number of IMEX channels."""
    asked = problem(gangs, topology, space, channels)
    meter = Meter(budget)
    try:
        return _counted(asked, solve(asked, meter), witness)
    except TooLongError:
        return _sought(asked)


def _counted(asked: Problem, solved: dict[int, Solved], witness: bool) -> Answer:
    if not any(covers(vector, asked.need) for vector in solved[asked.space.root.kind].before):
        return NoRoom()
    return Placed(placement(asked, solved)) if witness else Placed()


def _sought(asked: Problem) -> Answer:
    from bayplan.planning.fit.greedy import first_fit
    from bayplan.planning.fit.solver import solved

    runs = first_fit(asked)
    return Placed(runs) if runs is not None else solved(asked)
