"""Rules for pods of the SUNK Pod Scheduler (docs.coreweave.com, SUNK 7.6 to 8.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.plugin import (
    KEY,
    Diagnostic,
    LintContext,
    PodTemplate,
    Route,
    Rule,
    did_you_mean,
    error,
    get,
    items,
    mapping,
    number_in,
    quantity,
    text,
    warning,
)
from bayplan.plugins.slurm.sunk import KILL_MARGIN, KILL_WAIT, LOCK_TAINT, PREFIX, SCHEDULER

NUMBERS = ("timeout",)
EXCLUSIVE = ("none", "user", "ok")
KNOWN = ("account", "comment", "exclusive", "group-id", "partition", "qos", "reservation", "timeout", "user-id")
DEFAULT_GRACE_PERIOD = 30
"""The default of Kubernetes, in seconds."""


def check_pods(context: LintContext) -> Iterator[Diagnostic]:
    """M815, M824: pods that have SUNK's annotations or name its scheduler."""
    wait = int(context.topology.schedulers.get("sunk", {}).get("killWait", KILL_WAIT))
    scheduler = context.topology.scheduler_name("sunk", SCHEDULER)
    for pods in context.templates:
        annotations = {key: value for key, value in pods.annotations.items() if str(key).startswith(PREFIX)}
        if annotations or text(pods.spec, "schedulerName") == scheduler:
            yield from _annotations(annotations, pods.route)
            yield from _grace(pods, wait)
            yield from _toleration(pods)
            yield from _resources(pods)


def _annotations(annotations: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    for key, value in annotations.items():
        at, suffix = (*route, "metadata", "annotations", key), key.removeprefix(PREFIX)
        if suffix not in KNOWN:
            hint = did_you_mean(suffix, list(KNOWN))
            yield warning("M815", (*at, KEY), f'unknown annotation "{key}" of the SUNK Pod Scheduler', hint=hint)
        elif suffix == "exclusive" and value not in EXCLUSIVE:
            message = f'"{value}" is not a mode in which SUNK shares a node'
            yield error("M815", at, message, hint=f"use one of {', '.join(EXCLUSIVE)}")
        elif suffix in NUMBERS and not (isinstance(value, str) and value.isascii() and value.isdigit()):
            yield error("M815", at, f'"{value}" is not a number of seconds', hint="write an integer in quotes")


def _grace(pods: PodTemplate, wait: int) -> Iterator[Diagnostic]:
    grace = number_in(pods.spec, "terminationGracePeriodSeconds")
    seconds = DEFAULT_GRACE_PERIOD if grace is None else grace
    if seconds >= wait - KILL_MARGIN:
        duration = f"{seconds} seconds" + (" (the default)" if grace is None else "")
        at = (*pods.spec_route, *(() if grace is None else ("terminationGracePeriodSeconds",)))
        message = f"the grace period of the pod is {duration}, but SUNK requires less than {wait - KILL_MARGIN}"
        yield error("M824", at, message, hint=f"set `terminationGracePeriodSeconds: {wait - KILL_MARGIN - 1}` or less")


def _toleration(pods: PodTemplate) -> Iterator[Diagnostic]:
    if not any(_tolerates(each) for each in items(pods.spec, "tolerations")):
        message = f'SUNK evicts the pod, because it does not tolerate the taint "{LOCK_TAINT["key"]}" of SUNK'
        hint = f'add {{key: {LOCK_TAINT["key"]}, operator: Equal, value: "true", effect: NoExecute}}'
        yield error("M824", pods.spec_route, message, hint=hint)


def _tolerates(each: Any) -> bool:
    key, effect = text(each, "key"), text(each, "effect")
    every = get(each, "operator") == "Exists"
    value = every or text(each, "value") == LOCK_TAINT["value"]
    return value and effect in ("", LOCK_TAINT["effect"]) and (key == LOCK_TAINT["key"] or (every and not key))


def _resources(pods: PodTemplate) -> Iterator[Diagnostic]:
    """M824: CPU and memory are requested, and the kubelet pins no cores, as it does for integer CPUs with limits."""
    containers = [*items(pods.spec, "containers"), *items(pods.spec, "initContainers")]
    requested = [
        {**mapping(each, "resources", "limits"), **mapping(each, "resources", "requests")} for each in containers
    ]
    for name in ("cpu", "memory"):
        if not any(_amount(each.get(name)) for each in requested):
            message = f"SUNK does not schedule the pod, because no container requests {name}"
            yield error("M824", (*pods.spec_route, "containers"), message, hint=f"add `resources.requests.{name}`")
    if containers and all(map(_guaranteed, containers)):
        for index, each in enumerate(items(pods.spec, "containers")):
            if _amount(get(each, "resources", "limits", "cpu")) % 1000 == 0:
                at = (*pods.spec_route, "containers", index, "resources", "limits", "cpu")
                message = "requests and limits are equal, so the kubelet pins cores that Slurm counts as free"
                yield error("M824", at, message, hint="remove the CPU limit")


def _guaranteed(container: Any) -> bool:
    limits, requests = mapping(container, "resources", "limits"), mapping(container, "resources", "requests")
    return all(
        _amount(limits.get(name)) and _amount(limits.get(name)) == _amount(requests.get(name, limits.get(name)))
        for name in ("cpu", "memory")
    )


def _amount(value: Any) -> int:
    """The quantity in thousandths; 0 without a value, or if it is not a quantity."""
    try:
        return quantity.parse(str(value)) if isinstance(value, str | int | float) else 0
    except ValueError:
        return 0


RULES: tuple[Rule, ...] = (check_pods,)
