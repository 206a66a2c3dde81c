"""A workflow's timeouts within what its pool says."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Note, Outcome, Route, warning
from bayplan.workflows.osmo.pool.values import PoolConfig, Timeouts

STEPS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
"""Units of durations in seconds, the largest first."""


def timeouts(config: PoolConfig, execution: float | None, queue: float | None, route: Route) -> Outcome[Timeouts]:
    """Seconds that a task group may run and wait: the workflow's or the pool's default, at most the pool's maximum.

    None or zero: the workflow says nothing (src/utils/job/workflow.py, TimeoutSpec.fill_defaults). `route` leads to the
    workflow's `timeout`. W457 where the pool's maximum cuts what the workflow says.
    """
    made = Timeouts(
        _within(execution or config.default_exec_timeout, config.max_exec_timeout),
        _within(queue or config.default_queue_timeout, config.max_queue_timeout),
    )
    found = (
        *_cut(config, "exec_timeout", execution, config.max_exec_timeout, route),
        *_cut(config, "queue_timeout", queue, config.max_queue_timeout, route),
    )
    return Outcome(made, found)


def _within(asked: float | None, most: float | None) -> float | None:
    return min((each for each in (asked, most) if each is not None), default=None)


def _cut(config: PoolConfig, field: str, asked: float | None, most: float | None, route: Route) -> Iterator[Diagnostic]:
    if not asked or most is None or asked <= most:
        return
    maximum = f"max_{field}"
    message = f"{_shown(asked)} is more than the pool allows, and OSMO makes it {_shown(most)}"
    place = config.places.get(maximum)
    notes = (Note("the pool's maximum is here", place),) if place else ()
    hint = f"ask for at most {_shown(most)}, or have the pool's administrator raise {maximum}"
    yield warning("W457", (*route, field), message, hint=hint, notes=notes)


def _shown(seconds: float) -> str:
    """A duration as OSMO writes it."""
    unit, size = next(((unit, size) for unit, size in STEPS if seconds % size == 0), ("s", 1))
    return f"{seconds / size:g}{unit}" if seconds < 10**6 * size else f"{int(seconds // size)}{unit}"
