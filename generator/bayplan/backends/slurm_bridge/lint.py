"""Rules about objects that others wrote for slurm-bridge (`wellknown`, `slurmjobir`, `admission`; 1.0 to 1.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.slurm_bridge.pod_group import GPU_DEVICE_CLASS, POD_GROUP_LABEL, PREFIX
from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.core.phrases import did_you_mean
from bayplan.core.values import NamedTuple
from bayplan.kube import quantity
from bayplan.kube.objects import get, is_kind, items, mapping, number_in, pod_templates, text
from bayplan.linting.objects import LintContext, Rule
from bayplan.model.manifest import Object
from bayplan.model.target import Target

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


class Pods(NamedTuple):
    """A pod template, the object that it stands in, and where."""

    owner: Object
    path: Route
    data: Mapping[str, Any]

    @property
    def route(self) -> Route:
        """Where it stands, subject first."""
        return (*self.owner.route, *self.path)


def check_objects(context: LintContext) -> Iterator[Diagnostic]:
    """M820 to M826."""
    objects, target = context.objects, context.target
    name = context.topology.schedulers.get("slurm-bridge", {}).get("schedulerName", "slurm-bridge-scheduler")
    every = [Pods(each, path, found) for each in objects for path, found in pod_templates(each.data)]
    mine = [pods for pods in every if text(pods.data, "spec", "schedulerName") == name]
    for pods in every:
        yield from _reserved_keys(pods)
        yield from _unread_annotations(pods)
    for each in objects:
        yield from _annotations(each, target)
    for pods in mine:
        yield from _refused_fields(pods, target)
    yield from _pod_groups(objects, mine)


def _reserved_keys(pods: Pods) -> Iterator[Diagnostic]:
    for kind, key in RESERVED.items():
        if text(pods.data, "metadata", kind, key):
            message = f'"{key}" is written by slurm-bridge alone, which refuses to create a pod that has it'
            yield error("M820", (*pods.route, "metadata", kind, key, KEY), message, hint="remove it")


def _own_annotations(data: Any) -> Mapping[str, Any]:
    """Annotations that mean something to slurm-bridge, or once did."""
    found = mapping(data, "metadata", "annotations")
    return {
        key: value for key, value in found.items() if isinstance(key, str) and key.startswith((PREFIX, FORMER_PREFIX))
    }


def _annotations(one: Object, target: Target) -> Iterator[Diagnostic]:
    for key, value in _own_annotations(one.data).items():
        at, suffix = (*one.route, "metadata", "annotations", key), key.removeprefix(PREFIX)
        if key.startswith(FORMER_PREFIX):
            if key.removeprefix(FORMER_PREFIX) in KNOWN:
                message = f'slurm-bridge ignores "{key}" since 1.0'
                yield warning("M821", (*at, KEY), message, hint=f'write "{PREFIX}{key.removeprefix(FORMER_PREFIX)}"')
        elif suffix not in KNOWN:
            message, near = (
                f'slurm-bridge knows no annotation "{key}" and ignores it',
                did_you_mean(suffix, list(KNOWN)),
            )
            yield warning("M821", (*at, KEY), message, hint=near)
        elif not target.since("slurmBridge", SINCE.get(suffix, "1.0")):
            message = f'"{key}" came with slurm-bridge {SINCE[suffix]}; {target.version("slurmBridge")} ignores it'
            yield warning("M821", (*at, KEY), message)
        elif isinstance(value, str) and (wanted := _malformed(suffix, value)):
            message = f'"{value}" is no {wanted}: slurm-bridge fails to read the annotation, and its pods wait for ever'
            yield error("M822", at, message, hint=_HINTS.get(suffix, ""))


_HINTS = {"timelimit": "write minutes as a plain number", "mem-per-node": 'write a quantity such as "64Gi"'}


def _malformed(suffix: str, value: str) -> str:
    """What the value should be and is not (`strconv.ParseInt`, `resource.ParseQuantity`); empty where it is right."""
    if suffix in NUMBERS:
        whole = re.fullmatch(r"[+-]?\d{1,10}", value, re.ASCII)
        wanted = "number of minutes" if suffix == "timelimit" else "whole number of 32 bits"
        return "" if whole and -LARGEST - 1 <= int(value) <= LARGEST else wanted
    if suffix in QUANTITIES:
        try:
            quantity.parse(value)
        except ValueError:
            return "quantity"
    return ""


def _unread_annotations(pods: Pods) -> Iterator[Diagnostic]:
    """The annotations of a workload's pods are never read, nor those of anything beside a PodGroup."""
    grouped = bool(_pod_group_name(pods))
    where = [(pods.data, pods.route)] if pods.path or grouped else []
    if pods.path and text(pods.data, "metadata", "labels", POD_GROUP_LABEL):
        where.append((pods.owner.data, pods.owner.route))
    for data, route in where:
        for key in (each for each in _own_annotations(data) if each.startswith(PREFIX)):
            reads = "the PodGroup's" if grouped else "those of the outermost workload"
            message = f'slurm-bridge does not read "{key}" here, but {reads} alone'
            yield warning("M823", (*route, "metadata", "annotations", key, KEY), message, hint="move it there")


def _refused_fields(pods: Pods, target: Target) -> Iterator[Diagnostic]:
    """What admission or the scheduler refuses (`ValidateCreate`, `validateDeviceClassRequestsForPods`)."""
    spec = (*pods.route, "spec")
    if get(pods.data, "spec", "resourceClaims") is not None:
        hint = f"ask for {GPU_DEVICE_CLASS} or nvidia.com/gpu in `resources`"
        message = "slurm-bridge refuses pods with resourceClaims; it makes the claims itself"
        yield error("M824", (*spec, "resourceClaims"), message, hint=hint)
    if items(pods.data, "spec", "topologySpreadConstraints"):
        message = "slurm-bridge knows no topologySpreadConstraints: releases up to 1.2 ignore them, later ones refuse"
        yield warning("M824", (*spec, "topologySpreadConstraints"), message, hint="remove them")
    asked = list(_requested_resources(pods))
    for name, at in asked:
        if name.startswith(DEVICE_CLASS) and name not in CLASSES:
            yield error("M824", at, f'slurm-bridge makes no claims for the device class of "{name}"', hint=_CLASSES)
    if {"cpu", CPU_CLASS} <= {name for name, _ in asked}:
        at = next(at for name, at in asked if name == CPU_CLASS)
        message = f'slurm-bridge refuses pods that ask for both "cpu" and "{CPU_CLASS}"'
        yield error("M824", at, message, hint="remove one of them")


_CLASSES = f"there are {', '.join(CLASSES)}"


def _requested_resources(pods: Pods) -> Iterator[tuple[str, Route]]:
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(items(pods.data, "spec", kind)):
            for word in ("requests", "limits"):
                for name in mapping(container, "resources", word):
                    yield str(name), (*pods.route, "spec", kind, index, "resources", word, name)


def _pod_group_name(pods: Pods) -> str:
    own = text(pods.data, "spec", "schedulingGroup", "podGroupName")
    return own or text(pods.data, "metadata", "labels", POD_GROUP_LABEL)


def _pod_groups(objects: Sequence[Object], mine: Sequence[Pods]) -> Iterator[Diagnostic]:
    """PodGroups of scheduler-plugins against the pods that name them; a group that is missing is taken for none."""
    groups = [each for each in objects if is_kind(each.data, "scheduling.x-k8s.io", "PodGroup")]
    names = {text(each.data, "metadata", "name") for each in groups}
    for pods in mine:
        name = text(pods.data, "metadata", "labels", POD_GROUP_LABEL)
        if name and name not in names and not text(pods.data, "spec", "schedulingGroup", "podGroupName"):
            message = f'there is no PodGroup "{name}" here; without it every pod is a Slurm job of its own'
            yield warning(
                "M825",
                (*pods.route, "metadata", "labels", POD_GROUP_LABEL),
                message,
                hint=did_you_mean(name, list(names)),
            )
    for group in groups:
        name, least = text(group.data, "metadata", "name"), number_in(group.data, "spec", "minMember")
        counts = [_pod_count(pods) for pods in mine if text(pods.data, "metadata", "labels", POD_GROUP_LABEL) == name]
        if (
            counts
            and least is not None
            and None not in counts
            and least > (total := sum(map(int, filter(None, counts))))
        ):
            message = f'PodGroup "{name}" waits for {least} pods, and {total} name it: none of them ever starts'
            yield error("M826", (*group.route, "spec", "minMember"), message, hint=f"ask for {total}")


def _pod_count(pods: Pods) -> int | None:
    """How many pods a template makes; None where its owner is none that is known."""
    data = pods.owner.data
    if is_kind(data, "", "Pod"):
        return 1
    if is_kind(data, "batch", "Job"):
        return _number_or_one(data, "spec", "parallelism")
    if is_kind(data, "jobset.x-k8s.io", "JobSet"):
        return _number_or_one(data, *pods.path[:3], "replicas") * _number_or_one(
            data, *pods.path[:3], "template", "spec", "parallelism"
        )
    return None


def _number_or_one(data: Any, *path: Any) -> int:
    found = number_in(data, *path)
    return 1 if found is None else found


RULES: tuple[Rule, ...] = (check_objects,)
