"""Claims of network cards that others wrote: constraints that are never met, and settings that dranet refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.fabrics.dranet import DRIVER, PCIE_ROOT, neighbours
from bayplan.kube.multus import bad_interface
from bayplan.kube.safe import get, items, mapping, number, text
from bayplan.linting.world import World
from bayplan.model.topology import ClusterTopology
from bayplan.words import did_you_mean

API = "resource.k8s.io"
SPECS: Mapping[str, tuple[str, ...]] = {"ResourceClaimTemplate": ("spec", "spec"), "ResourceClaim": ("spec",)}
"""Kind -> the way to its devices."""

KEYS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    (): ("profile", "interface", "subInterface", "routes", "rules", "neighbors", "ethtool"),
    ("interface",): (
        *("name", "addresses", "dhcp", "mtu", "hardwareAddr", "vrf", "ipvlan", "forwarding", "disableEbpfPrograms"),
        *("gsoMaxSize", "groMaxSize", "gsoIPv4MaxSize", "groIPv4MaxSize", "arpIgnore", "arpAnnounce"),
    ),
    ("ethtool",): ("features", "privateFlags"),
}
"""The keys of dranet's settings, from 1.0 to 1.4 (pkg/apis/types.go). It reads them strictly, when the pod starts."""

LEAST_MTU = 68


def check(world: World) -> Iterator[Diagnostic]:
    """M890 to M892."""
    for kind, path in SPECS.items():
        for one in world.of(API, kind):
            devices, route = get(one.data, *path, "devices"), (*one.route, *path, "devices")
            yield from _constraints(devices, route, world.topology)
            for index, config in enumerate(items(devices, "config")):
                if text(config, "opaque", "driver") == DRIVER:
                    yield from _settings(mapping(config, "opaque", "parameters"), (*route, "config", index))


def _constraints(devices: Any, route: Route, topology: ClusterTopology) -> Iterator[Diagnostic]:
    counts = {text(each, "name"): _count(each) for each in items(devices, "requests")}
    unlike = topology.pools and not any(neighbours(pool) for pool in topology.pools if pool.node.accelerator)
    for index, each in enumerate(items(devices, "constraints")):
        named = [str(name) for name in items(each, "requests")] or list(counts)
        at, attribute = (*route, "constraints", index), text(each, "matchAttribute")
        several = next((name for name in named if counts.get(name, 1) > 1), "")
        if attribute == PCIE_ROOT and several and len(named) > 1:
            message = f'all {counts[several]} devices of the request "{several}" would have to share one PCIe root'
            hint = "write a request for each device, and a constraint for each pair of a GPU and a card"
            yield error("M890", (*at, "matchAttribute"), message, hint=hint)
        elif attribute == PCIE_ROOT and len(named) > 1 and unlike:
            message = "no GPU of this cluster shares a PCIe root with a card: its nodes have NVLink between them"
            hint = "choose GPUs and cards of one NUMA node by selectors"
            yield error("M891", (*at, "matchAttribute"), message, hint=hint)


def _count(request: Any) -> int:
    return number(mapping(request, "exactly") or request, "count") or 1


def _settings(data: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    at: Route = (*route, "opaque", "parameters")
    for path, known in KEYS.items():
        for key in mapping(data, *path):
            if key not in known:
                hint = did_you_mean(str(key), known) or "remove it"
                message = f'dranet knows no setting "{".".join((*path, str(key)))}", and the pod would not start'
                yield warning("M892", (*at, *path, key), message, hint=hint)
    own = mapping(data, "interface")
    wrong = {
        "name": bad_interface(text(own, "name")) if text(own, "name") else "",
        "dhcp": "goes not with `addresses`" if own.get("dhcp") is True and own.get("addresses") else "",
        "mtu": f"is less than {LEAST_MTU}" if (number(own, "mtu") or LEAST_MTU) < LEAST_MTU else "",
        "vrf": "goes not with `rules`" if "vrf" in own and data.get("rules") else "",
    }
    for key, why in wrong.items():
        if why:
            yield error("M892", (*at, "interface", key), f"`{key}` of the interface {why}", hint="change one of them")
