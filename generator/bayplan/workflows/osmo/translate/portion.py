"""What a task gets of its cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.values import NamedTuple
from bayplan.workflows.osmo.translate.source import Task
from bayplan.workflows.osmo.units import quantity

AMOUNTS = (("cpu", "cpu"), ("memory", "memory"), ("ephemeral-storage", "storage"))
"""Kubernetes' name and OSMO's, in the order in which they are written."""

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


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


def kept_off(template: Mapping[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """The template, its pods kept off these nodes. A platform's template may have seen to that itself."""
    if not nodes or all(f"'{node}'" in repr(template) for node in nodes):
        return dict(template)
    one = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": sorted(nodes)}
    spec = dict(template.get("spec") or {})
    affinity = dict(spec.get("affinity") or {})
    rules = dict(affinity.get("nodeAffinity") or {})
    terms = (rules.get(REQUIRED) or {}).get("nodeSelectorTerms") or [{}]  # a node that fits any of them will do
    kept = [{**term, "matchExpressions": [*(term.get("matchExpressions") or ()), one]} for term in terms]
    affinity["nodeAffinity"] = {**rules, REQUIRED: {"nodeSelectorTerms": kept}}
    return {**template, "spec": {**spec, "affinity": affinity}}
