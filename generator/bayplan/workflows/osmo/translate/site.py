"""Where an OSMO workflow is to run: the topology, and OSMO's own pool configuration if it is given beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Outcome
from bayplan.model.formats import Context
from bayplan.model.topology import ClusterTopology
from bayplan.values import NamedTuple
from bayplan.workflows.osmo.pool.jinja import Render
from bayplan.workflows.osmo.pool.values import SUBJECT, PoolConfig
from bayplan.workflows.osmo.rules.places import ROOT
from bayplan.workflows.osmo.units import seconds

LONGEST = 2**31 - 1
"""The largest activeDeadlineSeconds of a pod (Kubernetes, ValidatePodSpec)."""


class Limits(NamedTuple):
    """Seconds, at least one: how long a pod may run, and how long a gang may wait and run; None for no limit.

    The first is the pod's activeDeadlineSeconds, which the kubelet counts from the pod's start; the second the Job's,
    which is counted from its creation and so holds the time in the queue.
    """

    execution: int | None
    total: int | None


class Site(NamedTuple):
    """`keys`: the topology keys of the pool configuration, coarse to fine; `levels`: the level of each, by label."""

    topology: ClusterTopology | None
    config: PoolConfig | None = None
    keys: tuple[str, ...] = ()
    levels: Mapping[str, str] = {}
    render: Render | None = None  # runs the templates of pod templates


def site(spec: Mapping[str, Any], context: Context) -> Outcome[Site]:
    """What the context says, the pool chosen that the workflow names."""
    document = context.beside.get(SUBJECT)
    if document is None:
        return Outcome(Site(context.topology))
    from bayplan.workflows.osmo import pool

    config = pool.read(document, str(spec.get("pool") or ""))
    if config.value is None:
        return Outcome(None, config.diagnostics)
    keys, render = tuple(key.key for key in config.value.keys), context.render
    if context.topology is None:
        return Outcome(Site(None, config.value, keys, render=render), config.diagnostics)
    joined = pool.levels(config.value, context.topology)
    found = (*config.diagnostics, *joined.diagnostics, *pool.group_templates(config.value))
    if joined.value is None:
        return Outcome(None, found)
    return Outcome(Site(context.topology, config.value, keys, joined.value, render), found)


def limits(spec: Mapping[str, Any], config: PoolConfig | None) -> Outcome[Limits]:
    """The timeouts of a workflow, with its pool's defaults and maxima (W457)."""
    given = spec.get("timeout") or {}
    execution, queue = seconds(given.get("exec_timeout")) or None, seconds(given.get("queue_timeout")) or None
    found: tuple[Diagnostic, ...] = ()
    if config:
        from bayplan.workflows.osmo import pool

        bounded, found = pool.timeouts(config, execution, queue, (*ROOT, "timeout"))
        execution, queue = (_whole(bounded.execution), _whole(bounded.queue)) if bounded else (None, None)
    total = None if execution is None or queue is None else min(execution + queue, LONGEST)
    return Outcome(Limits(execution and min(execution, LONGEST), total), found)


def _whole(value: float | None) -> int | None:
    return None if value is None else -int(-value // 1)
