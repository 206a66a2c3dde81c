"""The three possible outcomes of a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.core.values import NamedTuple
from bayplan.model.plan import Plan
from bayplan.planning.fit.prove import NoRoom, Stage, Unknown, answers, ground_of

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
    for gangs, found in answers(plan):
        if isinstance(found, NoRoom):
            from bayplan.planning.fit.certificate import certify  # only now: success costs nothing

            return Impossible(certify(gangs, plan, ground_of(plan)))
        if isinstance(found, Unknown):
            unknown = unknown or Undecided(found.why, found.hint)
        else:
            witness.append(Stage(tuple(gang.name for gang in gangs), found.runs))
    return unknown or Fits(tuple(witness))
