"""Rules for objects that slurm-bridge schedules (`wellknown`, `slurmjobir`, `admission`; 1.0 to 1.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.plugin import (
    KEY,
    Diagnostic,
    LintContext,
    Object,
    PodTemplate,
    Route,
    Rule,
    Target,
    containers,
    did_you_mean,
    error,
    get,
    items,
    mapping,
    name,
    quantity,
    text,
    warning,
)
from bayplan.plugin import grouped_objects as grouped
from bayplan.plugins.slurm.bridge.pod_group import GPU_DEVICE_CLASS, POD_GROUP_LABEL, PREFIX, SCHEDULER

FORMER_PREFIX = "slinky.slurm.net/"
RESERVED = {"labels": "scheduler.slinky.slurm.net/slurm-jobid", "annotations": "slinky.slurm.net/slurm-node"}
NUMBERS = ("max-nodes", "min-nodes", "priority", "timelimit")
QUANTITIES = ("cpu-per-task", "mem-per-node")
TEXTS = ("account", "constraints", "exclusive", "gres", "group-id", "job-name", "licenses", "partition", "qos")
KNOWN = (*NUMBERS, *QUANTITIES, *TEXTS, "reservation", "user-id", "wckey")
SINCE = {"exclusive": "1.1", "priority": "1.2"}
DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
CPU_CLASS = f"{DEVICE_CLASS}dra.cpu"
CLASSES = (CPU_CLASS, GPU_DEVICE_CLASS, f"{DEVICE_CLASS}gpu.example.com")
LARGEST = 2**31 - 1


def check_objects(context: LintContext) -> Iterator[Diagnostic]:
    """M707, M767, M815, M824: annotations, pods and PodGroups."""
    scheduler = context.topology.scheduler_name("slurm-bridge", SCHEDULER)
    own_pods = [pods for pods in context.templates if text(pods.spec, "schedulerName") == scheduler]
    for pods in context.templates:
        yield from _reserved_keys(pods)
        yield from _unread_annotations(pods)
    for each in context.objects:
        yield from _annotations(each, context.target)
    for pods in own_pods:
        yield from _refused_fields(pods)
    yield from _pod_groups(context.of("scheduling.x-k8s.io", "PodGroup"), own_pods)


def _reserved_keys(pods: PodTemplate) -> Iterator[Diagnostic]:
    for kind, key in RESERVED.items():
        if text(pods.data, "metadata", kind, key):
            message = f'slurm-bridge refuses pods with "{key}", because only slurm-bridge may set it'
            yield error("M824", (*pods.route, "metadata", kind, key, KEY), message, hint="remove it")


def _own_annotations(data: Any) -> Mapping[str, Any]:
    """Annotations with the current or the former prefix of slurm-bridge."""
    annotations = mapping(data, "metadata", "annotations")
    return {
        key: value
        for key, value in annotations.items()
        if isinstance(key, str) and key.startswith((PREFIX, FORMER_PREFIX))
    }


def _annotations(one: Object, target: Target) -> Iterator[Diagnostic]:
    for key, value in _own_annotations(one.data).items():
        at, suffix = (*one.route, "metadata", "annotations", key), key.removeprefix(PREFIX)
        if key.startswith(FORMER_PREFIX):
            if key.removeprefix(FORMER_PREFIX) in KNOWN:
                message = f'since 1.0, slurm-bridge ignores "{key}"'
                yield warning("M815", (*at, KEY), message, hint=f'write "{PREFIX}{key.removeprefix(FORMER_PREFIX)}"')
        elif suffix not in KNOWN:
            message = f'slurm-bridge ignores the unknown annotation "{key}"'
            yield warning("M815", (*at, KEY), message, hint=did_you_mean(suffix, list(KNOWN)))
        elif not target.since("slurmBridge", SINCE.get(suffix, "1.0")):
            message = f'slurm-bridge {target.version("slurmBridge")} ignores "{key}"'
            yield warning("M815", (*at, KEY), message, hint=f"use slurm-bridge {SINCE[suffix]} or later")
        elif isinstance(value, str) and (wanted := _malformed(suffix, value)):
            message = f'slurm-bridge cannot read "{value}", which is not {wanted}, so the pods stay pending'
            yield error("M767", at, message, hint=_HINTS.get(suffix, ""))


_HINTS = {"timelimit": "write the minutes as an integer", "mem-per-node": 'write a quantity such as "64Gi"'}


def _malformed(suffix: str, value: str) -> str:
    """The type that the value should have (`strconv.ParseInt`, `resource.ParseQuantity`); empty if it is valid."""
    if suffix in NUMBERS:
        whole = re.fullmatch(r"[+-]?\d{1,10}", value, re.ASCII)
        wanted = "a number of minutes" if suffix == "timelimit" else "a 32-bit integer"
        return "" if whole and -LARGEST - 1 <= int(value) <= LARGEST else wanted
    if suffix in QUANTITIES:
        try:
            quantity.parse(value)
        except ValueError:
            return "a quantity"
    return ""


def _unread_annotations(pods: PodTemplate) -> Iterator[Diagnostic]:
    """M815: slurm-bridge ignores annotations of pods of a workload, and of a workload whose pods have a PodGroup."""
    in_group = bool(_pod_group_name(pods))
    where = [(pods.data, pods.route)] if pods.owned or in_group else []
    if pods.owned and text(pods.labels, POD_GROUP_LABEL):
        where.append((pods.object.data, pods.object.route))
    for data, route in where:
        for key in (each for each in _own_annotations(data) if each.startswith(PREFIX)):
            reads = "the PodGroup" if in_group else "the outermost workload"
            message = f'slurm-bridge ignores "{key}" here: it reads annotations only from {reads}'
            yield warning("M815", (*route, "metadata", "annotations", key, KEY), message, hint=f"move it to {reads}")


def _refused_fields(pods: PodTemplate) -> Iterator[Diagnostic]:
    """M824: fields that admission or the scheduler refuses (`ValidateCreate`, `validateDeviceClassRequestsForPods`)."""
    if get(pods.spec, "resourceClaims") is not None:
        hint = f"request {GPU_DEVICE_CLASS} or nvidia.com/gpu in `resources`"
        message = "slurm-bridge refuses pods with `resourceClaims`, because it creates the claims itself"
        yield error("M824", (*pods.spec_route, "resourceClaims"), message, hint=hint)
    if items(pods.spec, "topologySpreadConstraints"):
        message = "slurm-bridge up to 1.2 ignores `topologySpreadConstraints`, and later releases refuse them"
        yield warning("M824", (*pods.spec_route, "topologySpreadConstraints"), message, hint="remove them")
    places = dict(_requested_resources(pods))
    for resource, at in _requested_resources(pods):
        if resource.startswith(DEVICE_CLASS) and resource not in CLASSES:
            message = f'slurm-bridge creates no claims for the device class of "{resource}"'
            yield error("M824", at, message, hint=f"use one of {', '.join(CLASSES)}")
    if {"cpu", CPU_CLASS} <= places.keys():
        message = f'slurm-bridge refuses pods that request both "cpu" and "{CPU_CLASS}"'
        yield error("M824", places[CPU_CLASS], message, hint="remove one of the two")


def _requested_resources(pods: PodTemplate) -> Iterator[tuple[str, Route]]:
    for route, container in containers(pods):
        for word in ("requests", "limits"):
            for resource in mapping(container, "resources", word):
                yield str(resource), (*route, "resources", word, resource)


def _pod_group_name(pods: PodTemplate) -> str:
    own = text(pods.spec, "schedulingGroup", "podGroupName")
    return own or text(pods.labels, POD_GROUP_LABEL)


def _pod_groups(groups: Sequence[Object], own_pods: Sequence[PodTemplate]) -> Iterator[Diagnostic]:
    """M707: PodGroups of scheduler-plugins and the pods that name them. slurm-bridge ignores a missing one."""
    names = [name(each) for each in groups]
    members = grouped(lambda pods: text(pods.labels, POD_GROUP_LABEL), own_pods)
    for label, unknown in members.items():
        for pods in unknown if label and label not in names else ():
            if not text(pods.spec, "schedulingGroup", "podGroupName"):
                message = f'the manifests have no PodGroup "{label}": without it, each pod becomes its own Slurm job'
                route = (*pods.route, "metadata", "labels", POD_GROUP_LABEL)
                yield warning("M707", route, message, hint=did_you_mean(label, names))


RULES: tuple[Rule, ...] = (check_objects,)
