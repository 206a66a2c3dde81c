"""Proof that a plan fits its cluster: a placement exists, or none can, with the reason. See docs/fit.md."""

from __future__ import annotations

from bayplan.core.diagnostics import Diagnostic
from bayplan.model.plan import Plan
from bayplan.planning.fit.problem import capacity, demand
from bayplan.planning.fit.prove import Stage
from bayplan.planning.fit.verdict import Fits, Impossible, Undecided, prove
from bayplan.planning.fit.witness import Run

__all__ = ["prove", "diagnose", "Fits", "Impossible", "Undecided", "Stage", "Run", "demand", "capacity"]


def diagnose(plan: Plan) -> tuple[Diagnostic, ...]:
    """Nothing when the plan fits; else what lacks where, and which proven change would help."""
    found = prove(plan)
    if isinstance(found, Fits):
        return ()
    from bayplan.planning.fit.explain import explained  # only now: success costs nothing

    return explained(plan, found)
