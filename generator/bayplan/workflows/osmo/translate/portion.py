"""What a task gets of its cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.values import NamedTuple
from bayplan.workflows.osmo.translate.source import Task
from bayplan.workflows.osmo.units import quantity

AMOUNTS = (("cpu", "cpu"), ("memory", "memory"), ("ephemeral-storage", "storage"))
"""Kubernetes' name and OSMO's, in the order in which they are written."""


class Portion(NamedTuple):
    """The pool that a task runs in (empty: the only one that can hold it), and what goes into its podSet."""

    pool: str = ""
    resources: Mapping[str, str] = {}
    accelerators: int = 0
    template: Mapping[str, Any] = {}
    exit_actions: Mapping[str, str] = {}
    mounts: tuple[str, ...] = ()  # SOURCE[:TARGET] of the node's folders


def amounts(task: Task) -> dict[str, str]:
    """What a task's resource asks besides GPUs, as Kubernetes quantities."""
    asked = {kube: value for kube, own in AMOUNTS if (value := task.resource.get(own)) is not None}
    amounts = {name: str(value) if name == "cpu" else quantity(value) for name, value in asked.items()}
    return {name: value for name, value in amounts.items() if value and value != "0"}


def gpus(task: Task) -> int:
    """How many GPUs a task asks for."""
    return task.resource.get("gpu") or 0
