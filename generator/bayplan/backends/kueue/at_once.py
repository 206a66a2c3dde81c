"""Gangs of one JobSet have to fit at the same time, although they run one after the other.

Kueue makes one Workload of a JobSet and looks for quota and domains for all of its podSets (Kueue 0.14 to 0.19,
`jobset_controller.go`): a plan that fits only step by step is never admitted.
"""

from __future__ import annotations

from bayplan.core.diagnostics import Diagnostic, error
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.planning.fit import Impossible
from bayplan.planning.fit import prove as fits


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """F659 where the gangs are proven not to fit without their order. For one podSet, Kueue finds what there is."""
    waiting = next((gang for gang in plan.gangs if gang.after), None)
    if waiting is None:
        return ()
    together = plan._replace(gangs=tuple(gang._replace(after=()) for gang in plan.gangs))
    if not isinstance(fits(together), Impossible):
        return ()
    message = (
        f'gang "{waiting.gang.name}" and the gangs that it waits for do not fit at the same time, and'
        f" Kueue {target.version('kueue')} admits their JobSet only when there is room for all of them"
    )
    hint = "render the gangs apart with `--gang NAME` and start one after the other"
    return (error("F659", (*waiting.route, "dependsOn"), message, hint=hint),)
