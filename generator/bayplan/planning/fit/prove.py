"""`prove`: every set of gangs that may run at the same time fits the cluster, or why not."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.model.plan import GangPlan, Plan, all_pods
from bayplan.planning.fit.answer import Answer, NoRoom, Placed
from bayplan.planning.fit.search import search
from bayplan.planning.fit.space import Space, space
from bayplan.planning.fit.stages import stages
from bayplan.planning.fit.verify import faults
from bayplan.planning.fit.witness import Run
from bayplan.values import NamedTuple

Gangs = tuple[GangPlan, ...]


class Stage(NamedTuple):
    """Gangs that may run at the same time, and where their pods can be."""

    gangs: tuple[str, ...]
    runs: tuple[Run, ...]


class Rules(NamedTuple):
    """What counts. `policy`: spares and `plan`; `channels`: one ComputeDomain pod a node. `quick`: see `search`."""

    policy: bool = True
    channels: bool = True
    quick: bool = False


FULL = Rules()
QUICK = Rules(quick=True)


def answers(plan: Plan, rules: Rules = FULL, *, witness: bool = True) -> Iterable[tuple[Gangs, Answer]]:
    """The answer for each set of gangs that may run at the same time."""
    ground = ground_of(plan, rules)
    for gangs in stages(plan.gangs) or (plan.gangs,):
        yield gangs, answer(gangs, plan, ground, rules, witness=witness)


def ground_of(plan: Plan, rules: Rules = FULL) -> Space:
    """The pools that the plan uses."""
    used = {pods.pool for gang in plan.gangs for pods in all_pods(gang.root)}
    return space(plan.topology, used, rules.policy)


def answer(gangs: Gangs, plan: Plan, ground: Space, rules: Rules = FULL, *, witness: bool = True) -> Answer:
    """The answer for some gangs at once. A witness is verified, and a false one is a bug."""
    found = search(gangs, plan.topology, ground, channels=rules.channels, witness=witness, quick=rules.quick)
    if isinstance(found, Placed) and found.runs and rules == FULL:
        wrong = next(faults(gangs, plan.topology, found.runs), "")
        assert not wrong, f"unreachable: a placement that is none: {wrong}"
    return found


def holds(plan: Plan, rules: Rules = QUICK) -> bool:
    """Whether the plan surely fits."""
    return all(isinstance(found, Placed) for _, found in answers(plan, rules, witness=False))


def lacks(gangs: Gangs, plan: Plan, ground: Space) -> bool:
    """Whether these gangs surely do not fit at once."""
    return isinstance(answer(gangs, plan, ground, QUICK, witness=False), NoRoom)
