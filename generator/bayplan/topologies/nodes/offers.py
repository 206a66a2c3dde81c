"""What a Kubernetes Node says of itself, in values: amounts, taints, state, and its other names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.core.diagnostics import Route
from bayplan.kube import quantity
from bayplan.kube.objects import get, items, mapping, text
from bayplan.topologies.nodes.census import Counting, Offer, Taint

SLURM_NAME = "slinky.slurm.net/slurm-nodename"
"""The label by which slurm-bridge knows a node (SlinkyProject/slurm-bridge 1.2, internal/wellknown)."""
INSTANCE = "topograph.run/instance"
"""The annotation in which Topograph keeps the instance id (NVIDIA/topograph v1.0, docs/reference/node-labels.md)."""
ADDRESSES = ("Hostname", "InternalDNS")
"""Addresses of a node that are names of it."""

_KNOWN: dict[str, int] = {}  # spelling -> thousandths: few spellings stand for all nodes
_MOST_KNOWN = 100_000


def amounts_of(said: Mapping[Any, Any]) -> dict[str, int]:
    """Amounts by resource. ValueError for what is no amount."""
    return {str(key): _amount(str(key), value) for key, value in said.items()}


def _amount(key: str, value: Any) -> int:
    spelled = value if isinstance(value, str) else str(value)
    found = _KNOWN.get(spelled)
    if found is None:
        try:
            found = quantity.parse(spelled)
        except ValueError:
            raise ValueError(f'"{spelled[:40]}" is no amount of "{key[:80]}"') from None
        if len(_KNOWN) < _MOST_KNOWN:
            _KNOWN[spelled] = found
    return found


def taints_of(said: Any) -> tuple[Taint, ...]:
    """Key, value and effect of each."""
    listed = said if isinstance(said, list) else []
    return tuple(sorted((text(each, "key"), text(each, "value"), text(each, "effect")) for each in listed))


def add(counting: Counting, place: Route, data: Any) -> None:
    """Counts a Node object. ValueError says what is wrong with it."""
    name, labels = text(data, "metadata", "name"), _texts(mapping(data, "metadata", "labels"))
    spec, status = mapping(data, "spec"), mapping(data, "status")
    state = spec.get("unschedulable") is True, _ready(status)
    devices = {key: value for key, value in mapping(status, "capacity").items() if "/" in str(key)}
    given = mapping(status, "allocatable"), devices, items(spec, "taints")
    offer = counting.offer((*state, *map(repr, given)), lambda: _offer(*state, *given))
    counting.add(name, place, offer, counting.form(tuple(labels)), tuple(labels.values()))
    addresses = (text(each, "address") for each in items(status, "addresses") if get(each, "type") in ADDRESSES)
    instance = text(data, "metadata", "annotations", INSTANCE)
    counting.called.append((name, text(spec, "providerID"), labels.get(SLURM_NAME, ""), instance, *addresses))


def _texts(labels: Mapping[Any, Any]) -> Mapping[str, str]:
    if {*map(type, labels), *map(type, labels.values())} <= {str}:
        return labels
    return {key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)}


def _ready(status: Mapping[str, Any]) -> str:
    return next((text(each, "status") for each in items(status, "conditions") if get(each, "type") == "Ready"), "")


def _offer(cordoned: bool, ready: str, allocatable: Any, devices: Any, taints: Any) -> Offer:
    return Offer(cordoned, ready, amounts_of(allocatable), amounts_of(devices), taints_of(taints))
