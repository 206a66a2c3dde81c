"""Proof that a plan fits its cluster: a placement exists, or none can, with the reason. See docs/explanation/fit.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.core.diagnostics import Diagnostic
from bayplan.core.values import NamedTuple
from bayplan.model.plan import Plan
from bayplan.planning.fit.search import Stage, answers, search_space_of
from bayplan.planning.fit.witness import NoRoom, Unknown

if TYPE_CHECKING:
    from bayplan.planning.fit.certificate import Certificate


class Fits(NamedTuple):
    """A placement for every set of gangs that may run at the same time; verified."""

    witness: tuple[Stage, ...]


class Impossible(NamedTuple):
    """No placement exists."""

    certificate: Certificate


class Undecided(NamedTuple):
    """Neither a placement nor a proof that there is none was found within the budget."""

    why: str
    hint: str = ""


def prove(plan: Plan) -> Fits | Impossible | Undecided:
    """Whether all replicas of all gangs fit the usable nodes of the topology."""
    witness: list[Stage] = []
    unknown: Undecided | None = None
    for gangs, answer in answers(plan):
        if isinstance(answer, NoRoom):
            from bayplan.planning.fit.certificate import certify  # only now: success costs nothing

            return Impossible(certify(gangs, plan, search_space_of(plan)))
        if isinstance(answer, Unknown):
            unknown = unknown or Undecided(answer.why, answer.hint)
        else:
            witness.append(Stage(tuple(gang.name for gang in gangs), answer.runs))
    return unknown or Fits(tuple(witness))


def diagnose(plan: Plan) -> tuple[Diagnostic, ...]:
    """Nothing when the plan fits; else what lacks where, and which proven change would help."""
    result = prove(plan)
    if isinstance(result, Fits):
        return ()
    from bayplan.planning.fit import explain  # only now: success costs nothing

    if isinstance(result, Undecided):
        return (explain.undecided(plan, result.why, result.hint),)
    return explain.impossible(plan, result.certificate)
