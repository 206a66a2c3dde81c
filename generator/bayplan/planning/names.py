"""Names of everything that is derived: nothing random, no time, no version of ours.

A gang is called after its workflow, with `-<gang>` where there are several and the copy's number where it has any. What
it holds adds `-<group>-<i>` for each group around it, and `-<podSet>`.
"""

from __future__ import annotations

from bayplan.model.workflow import Gang, Workflow


def gang_name(workflow: Workflow, gang: Gang, copy: int) -> str:
    """The object name of one copy of a gang."""
    base = workflow.name if len(workflow.gangs) == 1 else f"{workflow.name}-{gang.name}"
    return f"{base}-{copy}" if gang.replicas > 1 else base


def joined(*parts: str) -> str:
    """The parts that are not empty, with dashes."""
    return "-".join(part for part in parts if part)
