"""A workflow's timeouts within what its pool says."""

from __future__ import annotations

from bayplan.workflows.osmo.pool.values import PoolConfig, Timeouts


def timeouts(config: PoolConfig, execution: float | None, queue: float | None) -> Timeouts:
    """Seconds that a task group may run and wait: the workflow's or the pool's default, at most the pool's maximum.

    None or zero: the workflow says nothing (src/utils/job/workflow.py, TimeoutSpec.fill_defaults).
    """
    return Timeouts(
        _within(execution or config.default_exec_timeout, config.max_exec_timeout),
        _within(queue or config.default_queue_timeout, config.max_queue_timeout),
    )


def _within(asked: float | None, most: float | None) -> float | None:
    return min((each for each in (asked, most) if each is not None), default=None)
