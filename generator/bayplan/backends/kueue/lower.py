"""Marks for Kueue: the queue on the workload, and the topology that each podSet asks for on its pod template.

Kueue needs no object of its own: its controller makes a Workload of every Job, JobSet or group of pods that has a
queue (Kueue 0.14 to 0.19, `pkg/controller/jobs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.backends.kueue.requests import Request, requests
from bayplan.backends.kueue.words import (
    LAYERS,
    POD_COUNT,
    POD_GROUP,
    POD_INDEX,
    PREFERRED,
    PRIORITY_CLASS,
    QUEUE,
    REQUIRED,
    RETRIABLE,
    SLICE_LEVEL,
    SLICE_SIZE,
    TOGETHER,
)
from bayplan.kube.kinds import instances
from bayplan.kube.kinds.pods import NUMBER_COLUMN
from bayplan.kube.objects import given
from bayplan.model.manifest import Lowered, Marks, Meta, PodParts, Shape, Slot
from bayplan.model.plan import GangPlan, Plan, all_pods
from bayplan.model.target import Target


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """No documents; marks for every podSet instance of every workload."""
    asked = {gang.name: requests(plan, gang) for gang in plan.gangs}
    marks = {
        (gang.name, pods.name): _marks(plan, gang, asked[gang.name][pods.name], workload.kind)
        for workload in shape.workloads
        for gang, pods in instances(workload)
    }
    return Lowered((), marks)


def _marks(plan: Plan, gang: GangPlan, request: Request, kind: str) -> Marks:
    group = _pod_group(gang) if kind == "pods" else PodParts()
    return Marks(
        owner=Meta({QUEUE: plan.queue, **_priority(gang)}, spec=given(suspend=kind != "pods")),
        pod=group._replace(annotations={**group.annotations, **written(request)}),
    )


def _priority(gang: GangPlan) -> dict[str, str]:
    """A WorkloadPriorityClass, which orders the queue and no pod; without one the pods' own class does both."""
    return given(**{PRIORITY_CLASS: gang.gang.backends.get("kueue", {}).get("priorityClass", "")})


def written(request: Request) -> dict[str, str]:
    """A podSet's request in Kueue's annotations."""
    return given(
        **{
            REQUIRED: request.required,
            PREFERRED: request.preferred,
            **_slices(request),
            TOGETHER: request.together,
        }
    )


def _slices(request: Request) -> Mapping[str, str]:
    """One layer has annotations of its own; several are a list in JSON, coarse to fine."""
    if len(request.layers) > 1:
        import json  # most gangs have one layer

        layers = [{"topology": layer.level, "size": layer.size} for layer in request.layers]
        return {LAYERS: json.dumps(layers, separators=(",", ":"))}
    return {key: text for layer in request.layers for key, text in _slice(layer.level, layer.size)}


def _slice(level: str, size: int) -> tuple[tuple[str, str], ...]:
    return (SLICE_LEVEL, level), (SLICE_SIZE, str(size))


def _pod_group(gang: GangPlan) -> PodParts:
    """Bare pods of one gang are one Workload. The index puts them in order; nothing replaces a pod that failed."""
    labels: dict[str, Any] = {POD_GROUP: gang.name, POD_INDEX: Slot(NUMBER_COLUMN, "text")}
    total = sum(pods.total for pods in all_pods(gang.root))
    return PodParts(labels=labels, annotations={POD_COUNT: str(total), RETRIABLE: "false"})
