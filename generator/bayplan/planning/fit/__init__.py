"""Proof that a plan fits its cluster: a placement exists, or none can, with the reason. See docs/explanation/fit.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bayplan.core.diagnostics import Outcome
from bayplan.model.plan import Plan
from bayplan.model.workflow import proven_copies
from bayplan.planning.fit.search import FULL, Stage, answers, moved, search_space_of, surely_fits
from bayplan.planning.fit.witness import NoRoom, Unknown

if TYPE_CHECKING:
    from bayplan.planning.fit.certificate import Certificate


class Fits(NamedTuple):
    """A placement for every set of gangs that may run at the same time; verified.

    `complete`: of all replicas, not only of those that must start together (`minReplicas`).
    """

    witness: tuple[Stage, ...]
    complete: bool = True


class Impossible(NamedTuple):
    """No placement exists."""

    certificate: Certificate


class Undecided(NamedTuple):
    """The budget was not enough for a placement or a proof."""

    why: str
    hint: str = ""


def prove(plan: Plan) -> Fits | Impossible | Undecided:
    """Whether all replicas of all gangs fit the usable nodes of the topology."""
    witness: list[Stage] = []
    unknown: Undecided | None = None
    for gangs, answer in answers(plan):
        if isinstance(answer, NoRoom):
            from bayplan.planning.fit.certificate import certify  # only a failure needs it

            return Impossible(certify(gangs, plan, search_space_of(plan)))
        if isinstance(answer, Unknown):
            unknown = unknown or Undecided(answer.why, answer.hint)
        else:
            witness.append(Stage(tuple(gang.name for gang in gangs), answer.runs))
    return unknown or Fits(settled(plan, tuple(witness)))


def settled(plan: Plan, witness: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """The placement, with each gang on the same nodes in all its stages if bayplan finds such a placement."""
    if not moved(witness):
        return witness
    from bayplan.planning.fit.staying import steady  # only few plans need it

    return steady(plan, witness) or witness


def diagnose(plan: Plan, queued: bool = False) -> Outcome[Fits]:
    """The placement. Without one: the reason why the plan does not fit, and proven changes with which it would.

    If it fits, an info for each gang of which more copies exist than fit at the same time. If only what must start
    together fits, the value is a placement of that, with warnings. `queued`: the scheduler enforces the numbers of the
    queues in the topology.
    """
    result = prove(plan)
    single = all(gang.copy < proven_copies(gang.gang) for gang in plan.gangs)
    if isinstance(result, Fits) and single and not moved(result.witness):
        return Outcome(result)
    from bayplan.planning.fit import explain  # only few plans need it

    if isinstance(result, Fits):
        return Outcome(result, (*explain.moving(plan, result.witness), *explain.limited(plan, queued)))
    if isinstance(result, Undecided):
        return Outcome(None, (explain.undecided(plan, result.why, result.hint),))
    return started(plan) or Outcome(None, (explain.refused(plan, result.certificate),))


def started(plan: Plan) -> Outcome[Fits] | None:
    """A placement of what must start together, with warnings; None if that does not fit or is everything."""
    from bayplan.planning.fit import certificate, explain

    reduced = certificate.least(plan)
    result = prove(reduced) if reduced != plan and surely_fits(reduced, FULL) else None
    if not isinstance(result, Fits):
        return None
    found = (*explain.moving(reduced, result.witness), *explain.shrunk(plan, reduced))
    return Outcome(result._replace(complete=False), found)
