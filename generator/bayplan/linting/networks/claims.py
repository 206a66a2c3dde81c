"""Network cards that are claimed: settings that dranet refuses as the pod starts, and constraints that nothing meets.

Sources: dranet 1.4 pkg/apis (types.go, validation.go: decoded strictly), resource.k8s.io/v1, dranet's
examples for GB200.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.kube import addresses as ip
from bayplan.kube.multus import LONGEST
from bayplan.kube.objects import group, kind
from bayplan.kube.safe import get, items, mapping, number, text
from bayplan.linting.world import World
from bayplan.words import did_you_mean

API, DRIVER, ROOT = "resource.k8s.io", "dra.net", "resource.kubernetes.io/pcieRoot"
DEVICES = {"ResourceClaimTemplate": ("spec", "spec", "devices"), "ResourceClaim": ("spec", "devices")}
KEYS: Mapping[str, tuple[str, ...]] = {
    "": ("profile", "interface", "routes", "rules", "neighbors", "ethtool"),
    "interface": (
        *("name", "addresses", "dhcp", "mtu", "hardwareAddr", "gsoMaxSize", "groMaxSize", "gsoIPv4MaxSize"),
        *("groIPv4MaxSize", "disableEbpfPrograms", "forwarding", "arpIgnore", "arpAnnounce", "vrf"),
    ),
    "routes": ("destination", "gateway", "source", "scope", "table"),
    "rules": ("priority", "source", "destination", "table"),
    "neighbors": ("destination", "hardwareAddr"),
    "ethtool": ("features", "privateFlags"),
}
"""Part of a NetworkConfig -> its keys."""

ARP_IGNORE, ARP_ANNOUNCE, LEAST = (0, 1, 2, 3, 8), (0, 1, 2), 68
Fault = tuple[tuple[str | int, ...], str, str]


def check(world: World) -> Iterator[Diagnostic]:
    """M856, M857."""
    close = not any(level.nvlink for pool in world.topology.pools for level in pool.levels)
    for one in world.objects:
        path = DEVICES.get(kind(one)) if group(one) == API else None
        if path is None:
            continue
        devices, route = mapping(one.data, *path), (*one.route, *path)
        for index, each in enumerate(items(devices, "config")):
            if text(each, "opaque", "driver") == DRIVER:
                yield from _config(get(each, "opaque", "parameters"), (*route, "config", index, "opaque", "parameters"))
        yield from _constraints(devices, route, close)


def _config(data: Any, route: Route) -> Iterator[Diagnostic]:
    for path, message, hint in _faults(data):
        text_ = f"dranet refuses its settings when the pod starts: {message}"
        yield error("M856", (*route, *path), text_, hint=hint)


def _faults(data: Any) -> Iterator[Fault]:
    if not isinstance(data, Mapping):
        yield (), "they are no mapping", "such as `interface: {name: net1}`"
        return
    yield from _unknown(data, "", ())
    for part in ("interface", "ethtool"):
        yield from _unknown(mapping(data, part), part, (part,))
    for part in ("routes", "rules", "neighbors"):
        for index, each in enumerate(items(data, part)):
            yield from _unknown(mapping(each), part, (part, index))
    yield from _interface(mapping(data, "interface"))
    if items(data, "rules") and get(data, "interface", "vrf") is not None:
        yield ("rules",), "rules do not go with a VRF", "remove one of them"
    for index, each in enumerate(items(data, "routes")):
        if ip.subnet(text(each, "destination")) is None:
            yield ("routes", index), "a route needs a `destination`", "such as 10.0.0.0/16"


def _unknown(data: Mapping[str, Any], part: str, path: tuple[str | int, ...]) -> Iterator[Fault]:
    for key in data:
        if key not in KEYS[part]:
            where = f" under `{part}`" if part else ""
            yield (*path, key), f'there is no "{key}"{where}', did_you_mean(str(key), KEYS[part])


def _interface(data: Mapping[str, Any]) -> Iterator[Fault]:
    name = text(data, "name")
    if len(name) > LONGEST or not re.fullmatch(r"[-\w.]*", name) or name in (".", ".."):
        yield ("interface", "name"), f'no interface can be called "{name}"', "at most 15 letters and digits"
    for index, each in enumerate(items(data, "addresses")):
        if not isinstance(each, str) or ip.subnet(each) is None:
            yield ("interface", "addresses", index), f'"{each}" is no address with a length', "such as 10.0.0.5/24"
    if get(data, "dhcp") is True and items(data, "addresses"):
        yield ("interface", "dhcp"), "addresses come from DHCP or from here", "remove one of them"
    mtu = number(data, "mtu")
    if mtu is not None and mtu < LEAST:
        yield ("interface", "mtu"), f"an MTU of {mtu} is too small", f"{LEAST} or more"
    for key, known in (("arpIgnore", ARP_IGNORE), ("arpAnnounce", ARP_ANNOUNCE)):
        if number(data, key) is not None and number(data, key) not in known:
            yield ("interface", key), f"`{key}` is one of {', '.join(map(str, known))}", ""


def _constraints(devices: Mapping[str, Any], route: Route, close: bool) -> Iterator[Diagnostic]:
    """M857: all devices of all requests that a constraint names must have the same value."""
    requests = {text(each, "name"): mapping(each, "exactly") or mapping(each) for each in items(devices, "requests")}
    for index, each in enumerate(items(devices, "constraints")):
        if text(each, "matchAttribute") != ROOT:
            continue
        here: Route = (*route, "constraints", index)
        named = [name for name in items(each, "requests") if isinstance(name, str)] or list(requests)
        many = [name for name in named if (number(requests.get(name), "count") or 1) > 1]
        if many:
            message = f'all devices of "{many[0]}" would have to hang off one PCIe root'
            hint = "make a request and a constraint for each pair of a GPU and a card"
            yield error("M857", here, message, hint=hint)
        elif not close and len(named) > 1:
            message = "on nodes with NVLink between them, GPUs and cards hang off different PCIe roots"
            hint = "remove the constraint, and select cards by `dra.net/numaNode`"
            yield error("M857", here, message, hint=hint)
