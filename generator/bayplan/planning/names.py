"""Names of everything that is derived: nothing random, no time, no version of ours.

`<workflow>` (one gang) or `<workflow>-<gang>`, a copy's number, then `-<group>-<i>` and `-<podSet>`.
"""

from __future__ import annotations

from bayplan.model.workflow import Gang, Workflow

LABEL_LIMIT = 63
"""DNS labels and label values (RFC 1123, Kubernetes validation)."""


def gang_name(workflow: Workflow, gang: Gang, copy: int) -> str:
    """The object name of one copy of a gang."""
    base = workflow.name if len(workflow.gangs) == 1 else f"{workflow.name}-{gang.name}"
    return f"{base}-{copy}" if gang.replicas > 1 else base


def joined(*parts: str) -> str:
    """The parts that are not empty, with dashes."""
    return "-".join(part for part in parts if part)
