"""Decide whether gangs that run together fit a space, and say where: fronts first, then first fit, then a solver."""

from __future__ import annotations

from bayplan.model.plan import GangPlan
from bayplan.model.topology import ClusterTopology
from bayplan.planning.fit.answer import Answer, NoRoom, Placed, Unknown
from bayplan.planning.fit.fronts import Solved, covers, solve
from bayplan.planning.fit.problem import Problem, problem
from bayplan.planning.fit.space import Place, Space
from bayplan.planning.fit.witness import placement

QUICK = 300_000
BUDGET = 4_000_000
"""Steps that fronts may cost before and after first fit is tried: about a tenth of a second, and about a second."""

FINER = "a `separate` level is finer than its group's required level, and no placement keeps the groups further apart"
COARSER = "separate the groups by the level that they require, or require the level that separates them"


def search(
    gangs: tuple[GangPlan, ...],
    topology: ClusterTopology,
    space: Space,
    *,
    channels: bool = True,
    witness: bool = True,
    quick: bool = False,
) -> Answer:
    """Place all these gangs at once. Without `channels`, as if a node had any number of IMEX channels.

    A `quick` search leaves out what takes longer than a moment.
    """
    asked = problem(gangs, topology, space, channels)
    found = _decided(asked, witness, quick)
    if not (asked.strict and isinstance(found, NoRoom)):
        return found
    loose = _decided(problem(gangs, topology, space, channels, loose=True), False, quick)
    return loose if isinstance(loose, NoRoom) else Unknown(FINER, COARSER)


def _decided(asked: Problem, witness: bool, quick: bool) -> Answer:
    found = _counted(asked, solve(asked, QUICK), witness)
    return _tried(asked, witness, quick) if found is None else found


def _counted(asked: Problem, fronts: dict[int, Solved], witness: bool) -> Answer | None:
    """What the fronts say, if they reach the root."""
    root = fronts.get(asked.space.root.kind)
    if root is None:
        return None
    if not any(covers(vector, asked.need) for vector in root.before):
        return NoRoom()
    return Placed(placement(asked, fronts) if witness else ())


def _tried(asked: Problem, witness: bool, quick: bool) -> Answer:
    from bayplan.planning.fit.greedy import first_fit
    from bayplan.planning.fit.solver import WHY, solved

    if overdrawn(asked):
        return NoRoom()
    runs = first_fit(asked)
    if runs is not None:
        return Placed(runs)
    if quick:
        return Unknown(WHY)
    fronts = solve(asked, BUDGET)
    found = _counted(asked, fronts, witness)
    return solved(asked, fronts) if found is None else found


def overdrawn(asked: Problem) -> bool:
    """Whether all pods together ask more of some resource than all nodes of their pool have."""
    for pool, offered in enumerate(asked.nodes):
        nodes = _nodes(asked.space.root, pool)
        for i, has in enumerate(offered):
            wanted = sum(shape.asks[i] * asked.totals[shape.item] for shape in asked.shapes if shape.pool == pool)
            if wanted > has * nodes:
                return True
    return False


def _nodes(place: Place, pool: int) -> int:
    here = sum(len(nodes) for number, nodes in place.hosts if number == pool)
    return here + sum(_nodes(child, pool) for child in place.children)
