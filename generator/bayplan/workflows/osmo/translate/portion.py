"""What a task gets of its cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.diagnostics import Route
from bayplan.kube.pod import REQUIRED
from bayplan.values import NamedTuple
from bayplan.workflows.osmo.translate.exit_codes import Action
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
    exit_actions: tuple[Action, ...] = ()
    mounts: tuple[str, ...] = ()  # SOURCE[:TARGET] of the node's folders
    origins: Mapping[Route, Route] = {}  # of what the platform gives, as in `pool.values.Share`, and ("pool",)


def amounts(task: Task) -> dict[str, str]:
    """What a task's resource asks besides GPUs, as Kubernetes quantities."""
    asked = {kube: value for kube, own in AMOUNTS if (value := task.resource.get(own)) is not None}
    amounts = {name: str(value) if name == "cpu" else quantity(value) for name, value in asked.items()}
    return {name: value for name, value in amounts.items() if value and value != "0"}


def gpus(task: Task) -> int:
    """How many GPUs a task asks for."""
    return task.resource.get("gpu") or 0


def kept_off(template: Mapping[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """The template, its pods kept off these nodes. One that is no pod template stays as it is, for checks to refuse."""
    one = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": sorted(nodes)}
    path = ("spec", "affinity", "nodeAffinity", REQUIRED)
    found: list[Mapping[str, Any]] = [template]
    for key in path if nodes else ():
        found.append(found[-1].get(key) or {})
        if not isinstance(found[-1], Mapping):
            return dict(template)
    terms = found[-1].get("nodeSelectorTerms") or [{}]
    if not nodes or not isinstance(terms, list) or not all(map(_is_term, terms)):
        return dict(template)
    made: dict[str, Any] = {"nodeSelectorTerms": [_with(term, one) for term in terms]}  # any of them will do
    for key, owner in zip(reversed(path), reversed(found[:-1]), strict=True):
        made = {**owner, key: made}
    return made


def _is_term(term: Any) -> bool:
    return isinstance(term, Mapping) and isinstance(term.get("matchExpressions", []), list)


def _with(term: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
    given = term.get("matchExpressions", [])
    return {**term, "matchExpressions": given if one in given else [*given, one]}
