"""Rules for the schedulers that pods name."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, Note, Route, info, warning
from bayplan.core.phrases import did_you_mean
from bayplan.kube import owners
from bayplan.kube.objects import kind, text, title
from bayplan.kube.templates import PodTemplate
from bayplan.linting.objects import LintContext, grouped
from bayplan.model.manifest import Object
from bayplan.model.topology import ClusterTopology
from bayplan.workflows.requests import first_annotation

DEFAULT = "default-scheduler"

NAMES = (
    DEFAULT,
    "kai-scheduler",
    "volcano",
    "koord-scheduler",
    "slurm-bridge-scheduler",
    "tenant-slurm-slurm-scheduler",
    "hami-scheduler",
    "scheduler-plugins-scheduler",
)
"""The names of the schedulers in their charts."""


def scheduler_of(template: PodTemplate) -> str:
    """The scheduler of the pods. A Volcano Job names it once for all tasks."""
    own = text(template.spec, "schedulerName")
    return own or text(template.object.data, "spec", "schedulerName") or DEFAULT


def known_names(topology: ClusterTopology) -> tuple[str, ...]:
    """The names of schedulers in their charts, and those that the topology declares."""
    declared = {str(each.get("schedulerName", "")) for each in topology.schedulers.values()}
    return tuple(dict.fromkeys((*NAMES, *sorted(declared - {""}))))


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M705: if no scheduler has the name, the pods stay pending without an event."""
    known = known_names(context.topology)
    for template in context.templates:
        name = text(template.spec, "schedulerName")
        if name and name not in known:
            route = (*template.spec_route, "schedulerName")
            near = did_you_mean(name, known)
            message = f'unknown scheduler "{name}"'
            hint = "check that the cluster has it: otherwise the pods stay pending without an event"
            yield warning("M705", route, message, hint=near) if near else info("M705", route, message, hint=hint)


# Workloads whose pods name several schedulers (M706).

LAUNCHED = ("MPIJob", "RayCluster", "PodCliqueSet")
"""Kinds whose launcher or head often uses another scheduler on purpose, and one with an own rule (M883)."""

ONE_BY_ONE = frozenset((DEFAULT, "hami-scheduler"))
"""Schedulers without gangs. HAMi's webhook gives its own only to the pods that request cards from HAMi."""


def check_gangs(context: LintContext) -> Iterator[Diagnostic]:
    """M706: a gang scheduler sees only its part of the workload. It waits for the rest, or starts without it."""
    owned = [each for each in context.templates if each.owned and kind(each.object) not in LAUNCHED]
    for templates in grouped(lambda each: each.object.route, owned).values():
        first = templates[0]
        for other in templates[1:]:
            own, rest = scheduler_of(other), scheduler_of(first)
            if own != rest and not {own, rest} <= ONE_BY_ONE:
                message = f'the pods of {title(first.object)} use two schedulers, "{own}" and "{rest}"'
                note = Note("the other pods are here", _scheduler(first))
                hint = f"set the same `schedulerName` in all pod templates; without one, {DEFAULT} takes the pods"
                yield warning("M706", _scheduler(other), message, hint=hint, notes=(note,))
                break


def _scheduler(template: PodTemplate) -> Route:
    return (*template.spec_route, "schedulerName") if text(template.spec, "schedulerName") else template.spec_route


# Workloads that several schedulers, or a scheduler and Kueue, handle as a whole (M706).


def check_owners(context: LintContext) -> Iterator[Diagnostic]:
    """M706: a workload with the marks of two schedulers, or of another one than its annotations request."""
    called = owners.names(context.topology)
    for one in {each.object.route: each.object for each in context.templates}.values():
        found = tuple(owners.marks(one, called))
        placed = next((each.owner for each in found if each.owner != "kueue"), "kueue")
        scheduler = _requested(one, context) or placed
        hint = (
            f"remove what gives it to {{}}, or what gives it to {scheduler}; post-render removes it with `adopt: true`"
        )
        yield from owners.belongs(owners.foreign(found, scheduler), f"its pods are for {scheduler}", hint, "M706")


def _requested(one: Object, context: LintContext) -> str:
    """The scheduler for which annotations of bayplan request a placement; empty without such annotations.

    As for post-render, `-s` comes before the topology's default.
    """
    if first_annotation(one) is None:
        return ""
    annotation = text(one.data, "metadata", "annotations", "bayplan.dev/scheduler")
    return annotation or context.scheduler or context.topology.defaults.get("scheduler", "")
