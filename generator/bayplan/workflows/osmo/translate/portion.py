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
    """The pool that a task runs in (empty: the only one that can hold it), amounts, GPUs, pod fields, exit actions."""

    pool: str = ""
    resources: Mapping[str, str] = {}
    accelerators: int = 0
    template: Mapping[str, Any] = {}
    exit_actions: Mapping[str, str] = {}


def amounts(task: Task) -> dict[str, str]:
    """What a task's resource asks besides GPUs, as Kubernetes quantities."""
    asked = {kube: task.resource.get(own) for kube, own in AMOUNTS}
    plain = {
        name: text(value) if name == "cpu" else quantity(value) for name, value in asked.items() if value is not None
    }
    return {name: value for name, value in plain.items() if value and value != "0"}


def gpus(task: Task) -> int:
    """How many GPUs a task asks for."""
    return int(task.resource.get("gpu") or 0)


def text(value: Any) -> str:
    """A scalar as OSMO makes a text of it (pydantic, coerce_numbers_to_str; str(True) for truth values)."""
    return value if isinstance(value, str) else str(value)
