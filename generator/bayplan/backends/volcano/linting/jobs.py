"""Volcano Jobs (Volcano 1.14.3 to 1.15.1, pkg/webhooks/admission/jobs and what it lets pass)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.backends.volcano.linting.levels import Levels, constraint, order, queue
from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.kube.objects import get, is_kind, items, mapping, number_in, text
from bayplan.model.manifest import Object
from bayplan.model.topology import ClusterTopology


def check(objects: Sequence[Object], levels: Levels, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """M731 to M734, M737, M739 for every Job."""
    for each in objects:
        if is_kind(each.data, "batch.volcano.sh", "Job"):
            spec, at = mapping(each.data, "spec"), (*each.route, "spec")
            what = f'Volcano Job "{text(each.data, "metadata", "name")}"'
            yield from constraint(spec, at, what, levels)
            yield from queue(spec, at, what, topology)
            yield from _total(spec, at, what)
            for i, task in enumerate(items(spec, "tasks")):
                yield from _task(spec, at, task, (*at, "tasks", i), levels)


def _total(spec: Any, at: Route, what: str) -> Iterator[Diagnostic]:
    """The gang's minimum against its tasks'."""
    tasks, least = items(spec, "tasks"), number_in(spec, "minAvailable")
    pods = sum(number_in(task, "replicas") or 0 for task in tasks)
    inner = sum(_least(task) for task in tasks)
    if least is not None and least > pods > 0:
        message = f"{what} waits for {least} pods and has {pods}"
        yield error("M733", (*at, "minAvailable"), message, hint=f"lower minAvailable to {pods} or less")
    elif least and least < inner and any(map(_states, tasks)):
        message = (
            f"{what} starts with {least} pods, fewer than the {inner} that its tasks ask for; those do not count then"
        )
        hint = f"set minAvailable to {inner}, or give each task its own"
        yield warning("M737", (*at, "minAvailable"), message, hint=hint)


def _states(task: Any) -> bool:
    """Whether a task says itself how much of it must start; a gang of fewer pods than all is no mistake."""
    return number_in(task, "minAvailable") is not None or get(task, "partitionPolicy") is not None


def _least(task: Any) -> int:
    """What the mutating webhook makes of a task without minAvailable."""
    stated, policy = number_in(task, "minAvailable"), mapping(task, "partitionPolicy")
    if stated is not None:
        return stated
    partitions = (number_in(policy, "minPartitions") or 0) * (number_in(policy, "partitionSize") or 0)
    return partitions or number_in(task, "replicas") or 0


def _task(spec: Any, outer: Route, task: Any, at: Route, levels: Levels) -> Iterator[Diagnostic]:
    what = f'task "{text(task, "name")}"'
    replicas, least = number_in(task, "replicas"), number_in(task, "minAvailable")
    if "replicas" not in mapping(task):
        yield error("M733", at, f"{what} has no replicas, and so no pods", hint="add `replicas`")
    elif least is not None and replicas is not None and least > replicas:
        message = f"{what} waits for {least} pods and has {replicas}"
        yield error("M733", (*at, "minAvailable"), message, hint=f"lower it to {replicas} or less")
    if get(task, "partitionPolicy") is not None:
        policy, inside = mapping(task, "partitionPolicy"), (*at, "partitionPolicy")
        yield from constraint(policy, inside, f"the partitions of {what}", levels)
        yield from order(spec, policy, (outer, inside), f"a partition of {what}")
        yield from _partitions(task, policy, inside, what)


def _partitions(task: Any, policy: Any, at: Route, what: str) -> Iterator[Diagnostic]:
    """M733: the product; M737: partitions of which none must be whole."""
    total, size = number_in(policy, "totalPartitions") or 0, number_in(policy, "partitionSize") or 0
    replicas, least, minimum = (
        number_in(task, "replicas"),
        number_in(task, "minAvailable"),
        number_in(policy, "minPartitions"),
    )
    if replicas is not None and total * size != replicas:
        message = f"{what} has {replicas} pods, but {total} partitions of {size} are {total * size}"
        yield error("M733", (*at, "totalPartitions"), message, hint="make replicas = totalPartitions x partitionSize")
    if not minimum:
        message = f"{what} needs none of its partitions whole: minPartitions is 0 unless it is stated"
        yield warning("M737", at, message, hint=f"add `minPartitions: {total}`, and minAvailable: {total * size}")
    elif least is not None and minimum * size != least:
        message = f"{what} waits for {least} pods, but {minimum} partitions of {size} are {minimum * size}"
        yield error("M733", (*at, "minPartitions"), message, hint="make minAvailable = minPartitions x partitionSize")
