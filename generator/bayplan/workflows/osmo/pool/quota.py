"""What a pool guarantees to workflows that cannot be preempted."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Note, Route, warning
from bayplan.words import count
from bayplan.workflows.osmo.pool.values import PoolConfig

UNLIMITED = -1


def quota(config: PoolConfig, group: str, gpus: int, route: Route) -> Iterator[Diagnostic]:
    """W452 where a task group asks for more GPUs than the pool guarantees.

    OSMO refuses the workflow then, unless it is submitted with priority LOW (src/service/core/workflow/objects.py,
    validate_workflow_spec). Priorities stand in no file, so this is no error here.
    """
    if config.guarantee == UNLIMITED or gpus <= config.guarantee:
        return
    message = f'"{group}" asks for {count(gpus, "GPU")}, and the pool "{config.name}" guarantees {config.guarantee}'
    hint = "OSMO takes it with priority LOW only, so that it can be preempted; here the scheduler's queue decides"
    notes = (Note("the guarantee is here", config.places.get("guarantee", config.route)),)
    yield warning("W452", route, message, hint=hint, notes=notes)
