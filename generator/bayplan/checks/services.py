"""Gangs that serve: the ports of their Services, and how many copies autoscalers and rollouts may have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.core.phrases import did_you_mean, listing, suggest
from bayplan.kube.objects import get, items
from bayplan.model.workflow import GANGS, Autoscale, Gang, Placement, PodSet, Service, Workflow, pod_sets_of, serves

METRICS: Mapping[str, str] = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
"""Type of a metric -> the field that describes it (`MetricSpec`, autoscaling/v2)."""


def check(workflow: Workflow) -> Iterator[Diagnostic]:
    """W367 to W369, W373 and W371."""
    for index, gang in enumerate(workflow.gangs):
        sets, route = tuple(pod_sets_of(gang)), (*GANGS, index)
        if gang.workload == "auto":
            yield from _misread(gang, route)
        if gang.service and sets:
            yield from _service(gang, gang.service, sets, (*route, "service"))
        if gang.autoscale and sets:
            yield from _autoscale(gang, gang.autoscale, sets[0], route)


def _misread(gang: Gang, route: Route) -> Iterator[Diagnostic]:
    """W373: pods counted as a Deployment counts copies. W371: a job with a Service. Who names the kind knows both."""
    if gang.service and not serves(gang):
        message = f'gang "{gang.name}" has a Service, but is a job: once its pods end, nothing answers'
        yield info("W371", (*route, "service"), message, hint="if it runs without end, set `lifecycle: service`")
    elif serves(gang) and gang.replicas == 1 and not gang.autoscale and gang.placement == Placement():
        for pods in (each for each in gang.pod_sets if len(gang.pod_sets) == 1 and each.replicas > 1):
            count = pods.replicas
            message = f'the {count} pods of podSet "{pods.name}" are one copy of gang "{gang.name}", not {count} copies'
            hint = f"for {count} copies of one pod, move `replicas: {count}` to the gang; for one copy, set `placement`"
            yield info("W373", (*route, "podSets", 0, "replicas"), message, hint=hint)


def _service(gang: Gang, service: Service, sets: tuple[PodSet, ...], route: Route) -> Iterator[Diagnostic]:
    names = [each.name for each in sets]
    if service.pod_set and service.pod_set not in names:
        message = f'gang "{gang.name}" has no podSet "{service.pod_set}", which its Service names'
        yield error("W367", (*route, "podSet"), message, hint=suggest(service.pod_set, names, "podSets"))
        return
    answers = next(each for each in sets if each.name == (service.pod_set or names[0]))
    for number, port in enumerate(service.ports):
        if isinstance(port, str) and port not in answers.ports:
            message = f'podSet "{answers.name}" has no port "{port}", which its Service names'
            hint = suggest(port, answers.ports, "ports") or f"add `ports: {{{port}: ...}}` to the podSet"
            yield error("W367", (*route, "ports", number), message, hint=hint)
    if not (answers.ports or service.ports):
        others = [each.name for each in sets if each.ports]
        message = f'podSet "{answers.name}" has no `ports`, and a Service needs one'
        hint = "write the number of the port, as in `ports: [8000]`"
        hint += f", or name {listing(others)} as `podSet`" if others else ""
        yield error("W367", route, message, hint=hint)


def _autoscale(gang: Gang, scale: Autoscale, first: PodSet, route: Route) -> Iterator[Diagnostic]:
    at, least, most = (*route, "autoscale"), scale.min_replicas, scale.max_replicas
    if least < gang.replicas <= most:
        message = (
            f'an autoscaler decides how many copies gang "{gang.name}" has, from {least} to {most}, so'
            f" `replicas: {gang.replicas}` only counts in the proof"
        )
        hint = f"remove `replicas`, or set `autoscale.minReplicas: {gang.replicas}`"
        yield warning("W369", (*route, "replicas"), message, hint=hint)
    for number, metric in enumerate(scale.metrics):
        yield from _metric(metric, (*at, "metrics", number))
    if (scale.cpu_percent or not scale.metrics) and not _asks_cpu(first):
        message = (
            f'podSet "{first.name}" requests no CPU, so the autoscaler of gang "{gang.name}" cannot compute how much of'
            " it is used, and adds no copies"
        )
        yield warning("W369", (*at, "cpuPercent") if scale.cpu_percent else at, message, hint="set `resources.cpu`")


def _metric(metric: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W339 for a metric that Kubernetes refuses (pkg/apis/autoscaling/validation, 1.37)."""
    kind = str(metric.get("type", ""))
    if kind not in METRICS:
        message = f'autoscaling/v2 has no metrics of the type "{kind}"' if kind else "a metric has no `type`"
        hint = did_you_mean(kind, METRICS) or f"set `type` to {listing(METRICS)}"
        yield error("W339", (*route, "type") if kind else route, message, hint=hint)
    elif not metric.get(METRICS[kind]):
        message = f'a metric of the type "{kind}" is described by its field `{METRICS[kind]}`, which is missing'
        yield error("W339", route, message, hint=f"add `{METRICS[kind]}: ...`")


def _asks_cpu(pods: PodSet) -> bool:
    """Whether the podSet has a CPU request; a whole node's is that of the node."""
    own = [
        get(each, "resources", key, "cpu")
        for each in items(pods.template, "spec", "containers")
        for key in ("requests", "limits")
    ]
    return pods.whole_node or "cpu" in pods.resources or any(each is not None for each in own)
