"""Rules for rails (FAB18), NCCL's variables (FAB12) and claimed network cards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.core.phrases import did_you_mean, listing
from bayplan.fabrics import pools_of
from bayplan.fabrics.pods import MASTERS, hca_difference
from bayplan.kube import networks as ip
from bayplan.kube.networks import LONGEST, read
from bayplan.kube.objects import get, items, mapping, namespace, number_in, text
from bayplan.kube.pod import NETWORKS
from bayplan.kube.templates import PodTemplate, containers
from bayplan.linting.claims import devices_path
from bayplan.linting.network_index import AttachedPods, NetworkIndex, device_requests
from bayplan.linting.objects import LintContext
from bayplan.model.topology import Fabric


def check_rails(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M844: a pod that requests all GPUs of its node, but not all rails of the fabric."""
    for pods in described.attached:
        attached = [one for one in pods.networks if one and one.rail and one.fabric]
        for name in dict.fromkeys(one.fabric.name for one in attached if one.fabric):
            fabric = context.topology.fabrics[name]
            left = len(fabric.rails) - len({one.rail for one in attached if one.fabric == fabric})
            cards = _all_gpus(pods, fabric, context)
            if left > 0 and cards:
                message = (
                    f'the pod requests all {cards} GPUs of its node, but leaves {left} of the rails of "{name}" idle'
                )
                yield warning("M844", pods.route, message, hint="attach all rails: no other pod can use them")


def _all_gpus(pods: AttachedPods, fabric: Fabric, context: LintContext) -> int:
    """The number of GPUs of a node if the pod requests all of them, otherwise 0."""
    wanted = device_requests(pods.template)
    for pool in pools_of(context.topology, fabric.name):
        kind = context.topology.accelerators.get(pool.node.accelerator)
        cards = pool.node.accelerators
        if kind and cards > 1 and wanted.get(kind.count_resource, 0) >= cards:
            return cards
    return 0


# Variables that select the interfaces of NCCL and Gloo (FAB12).
#
# Sources: NCCL 2.30 user guide (NCCL_SOCKET_IFNAME has prefixes, exact names after `=`), PyTorch's Gloo (one name).

GLOO, NCCL, GID, HCA = "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "NCCL_IB_GID_INDEX", "NCCL_IB_HCA"
MNNVL = "NCCL_MNNVL_ENABLE"
PRIMARY = "eth0"


def check_variables(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M852, M852: variables of containers."""
    pods = {each.template.route: each for each in described.attached}
    for template in context.templates:
        for route, container in containers(template):
            for number, each in enumerate(items(container, "env")):
                here = (*route, "env", number, "value")
                if text(each, "value"):
                    yield from _nccl_variable(context, pods.get(template.route), each, here)
                    yield from _mnnvl(template, each, here)


def _nccl_variable(
    context: LintContext, pods: AttachedPods | None, entry: Mapping[str, Any], route: Route
) -> Iterator[Diagnostic]:
    name, value = text(entry, "name"), text(entry, "value")
    if name == GLOO and value[0] in "=^":
        message = f'{GLOO} must be the name of one interface, but it is "{value}"'
        yield error("M852", route, message, hint=f"set it to {value.lstrip('=^') if value[0] == '=' else PRIMARY}")
    elif name == GID and not any(GID in each.env for each in context.topology.fabrics.values()):
        message = f"{GID} may be right on one node and wrong on another; since 2.21, NCCL finds the GID itself"
        yield warning("M852", route, message, hint="remove the variable")
    elif name in (GLOO, NCCL) and pods is not None and get(pods.template.spec, "hostNetwork") is not True:
        yield from _interfaces(context, pods, name, value, route)
    elif name == HCA and pods is not None:
        yield from _hca(pods, value, route)
    elif name in MASTERS and pods is not None:
        yield from _master_address(context, pods, name, value, route)


def _hca(pods: AttachedPods, value: str, route: Route) -> Iterator[Diagnostic]:
    """M852: NCCL_IB_HCA must list the devices of the rails that the pod requests."""
    rails = [one.rail for one in pods.networks if one and one.rail and one.rail.hca]
    present = tuple(rail.hca for rail in rails) if rails and len(rails) == len(pods.networks) else ()
    if value[0] not in "=^":
        first = value.partition(",")[0]
        message = f'{HCA} matches all devices that begin with "{first}", such as "{first}0"'
        hint = f'write "={",".join(present)}"' if present else 'write "=" before the full names'
        yield warning("M852", route, message, hint=hint)
    if present and (why := hca_difference(value, present)):
        message = f"{HCA} does not match the rails of the pod: {why}"
        yield error("M852", route, message, hint=f'write "={",".join(present)}"')


def _master_address(
    context: LintContext, pods: AttachedPods, name: str, value: str, route: Route
) -> Iterator[Diagnostic]:
    """M852: an address on a rail that no pod requests."""
    host = ip.address(value.rpartition(":")[0] or value)
    nets = [net for one in pods.networks if one and one.rail and (net := ip.subnet(one.rail.subnet))]
    if host and any(host in net for net in nets) and host not in _static_addresses(context):
        message = f"{name} is {host}, an address of a rail that no pod requests"
        hint = (
            "use the Service of rank 0 (RDMA does not use this variable), or let rank 0 request the address with `ips`"
        )
        yield error("M852", route, message, hint=hint)


def _static_addresses(context: LintContext) -> frozenset[Any]:
    """The addresses that pods request."""
    annotations = (text(each.annotations, NETWORKS) for each in context.templates)
    ips = (
        one
        for each in filter(None, annotations)
        for selection in read(each).selections
        for one in items(selection.data, "ips")
    )
    return frozenset(ip.address(one.partition("/")[0]) for one in ips if isinstance(one, str))


def _mnnvl(template: PodTemplate, entry: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """M852: a pod without claims has no channel of a ComputeDomain (NCCL 2.30, `env.rst`)."""
    if text(entry, "name") == MNNVL and text(entry, "value") == "1" and not items(template.spec, "resourceClaims"):
        message = f"NCCL fails with {MNNVL}=1, because the pod claims no channel of a ComputeDomain"
        hint = "remove the variable: NCCL uses NVLink between nodes wherever it finds it"
        yield warning("M852", route, message, hint=hint)


def _interfaces(context: LintContext, pods: AttachedPods, name: str, value: str, route: Route) -> Iterator[Diagnostic]:
    exact = value.startswith("=") or name == GLOO
    if value.startswith("^") or pods.annotation.faults:  # with faults (M842), the interfaces are unknown
        return
    words = [each for each in value.lstrip("=").split(",") if each]
    namespace_policy = context.topology.namespaces.get(namespace(pods.template.object))
    present = [
        namespace_policy.primary_interface if namespace_policy and namespace_policy.primary_interface else PRIMARY,
        *pods.annotation.interfaces(),
    ]
    missing = [each for each in words if not any(one == each if exact else one.startswith(each) for one in present)]
    if missing:
        message = f'{name} names the interface "{missing[0]}", but the pod has {listing(present, "and", 4)}'
        yield error("M852", route, message, hint="name an interface of the pod")
    elif not exact:
        message = f'{name} matches all interfaces that begin with "{words[0] if words else value}"'
        yield warning("M852", route, message, hint=f'write "={value}"')


# Claimed network cards: settings that dranet refuses when the pod starts, and constraints that no node satisfies.
#
# Sources: dranet 1.4 pkg/apis (types.go, validation.go), `resource.k8s.io/v1`, dranet's examples for GB200.

API, DRIVER, ROOT = "resource.k8s.io", "dra.net", "resource.kubernetes.io/pcieRoot"
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
"""Part of a NetworkConfig -> its keys. dranet refuses other keys."""

ARP_IGNORE, ARP_ANNOUNCE, LEAST = (0, 1, 2, 3, 8), (0, 1, 2), 68
Fault = tuple[tuple[str | int, ...], str, str]


def check_claims(context: LintContext) -> Iterator[Diagnostic]:
    """M813, M857: settings and constraints of claims for dranet's cards."""
    one_pcie_root = not any(level.nvlink for pool in context.topology.pools for level in pool.levels)
    for one in context.among(((API, "ResourceClaimTemplate"), (API, "ResourceClaim"))):
        path = devices_path(one)
        devices, route = mapping(one.data, *path), (*one.route, *path)
        for index, each in enumerate(items(devices, "config")):
            if text(each, "opaque", "driver") == DRIVER:
                at = (*route, "config", index, "opaque", "parameters")
                for inner, fault, hint in _config_faults(get(each, "opaque", "parameters")):
                    message = f"dranet refuses these settings when the pod starts: {fault}"
                    yield error("M813", (*at, *inner), message, hint=hint)
        yield from _constraints(devices, route, one_pcie_root)


def _config_faults(data: Any) -> Iterator[Fault]:
    if not isinstance(data, Mapping):
        yield (), "they are not a mapping", "write a mapping such as `interface: {name: net1}`"
        return
    yield from _unknown(data, "", ())
    for part in ("interface", "ethtool"):
        yield from _unknown(mapping(data, part), part, (part,))
    for part in ("routes", "rules", "neighbors"):
        for index, each in enumerate(items(data, part)):
            yield from _unknown(mapping(each), part, (part, index))
    yield from _interface(mapping(data, "interface"))
    if items(data, "rules") and get(data, "interface", "vrf") is not None:
        yield ("rules",), "`rules` and `vrf` exclude each other", "remove one of the two"
    for index, each in enumerate(items(data, "routes")):
        if ip.subnet(text(each, "destination")) is None:
            yield ("routes", index), "a route needs a `destination`", "add one such as 10.0.0.0/16"


def _unknown(data: Mapping[str, Any], part: str, path: tuple[str | int, ...]) -> Iterator[Fault]:
    for key in data:
        if key not in KEYS[part]:
            where = f" under `{part}`" if part else ""
            yield (*path, key), f'unknown key "{key}"{where}', did_you_mean(str(key), KEYS[part])


def _interface(data: Mapping[str, Any]) -> Iterator[Fault]:
    name = text(data, "name")
    if len(name) > LONGEST or not re.fullmatch(r"[-\w.]*", name) or name in (".", ".."):
        hint = f"use at most {LONGEST} letters, digits, dashes, dots and underscores"
        yield ("interface", "name"), f'"{name}" is not a valid interface name', hint
    for index, each in enumerate(items(data, "addresses")):
        if not isinstance(each, str) or ip.subnet(each) is None:
            message = f'"{each}" is not an address with a prefix length'
            yield ("interface", "addresses", index), message, "write an address such as 10.0.0.5/24"
    if get(data, "dhcp") is True and items(data, "addresses"):
        yield ("interface", "dhcp"), "`dhcp` and `addresses` exclude each other", "remove one of the two"
    mtu = number_in(data, "mtu")
    if mtu is not None and mtu < LEAST:
        yield ("interface", "mtu"), f"an MTU of {mtu} is too small", f"set {LEAST} or more"
    for key, allowed in (("arpIgnore", ARP_IGNORE), ("arpAnnounce", ARP_ANNOUNCE)):
        if number_in(data, key) is not None and number_in(data, key) not in allowed:
            yield ("interface", key), f"`{key}` must be one of {', '.join(map(str, allowed))}", ""


def _constraints(devices: Mapping[str, Any], route: Route, one_pcie_root: bool) -> Iterator[Diagnostic]:
    """M857: all devices of all requests of a constraint must have the same value."""
    requests = {text(each, "name"): mapping(each, "exactly") or mapping(each) for each in items(devices, "requests")}
    for index, each in enumerate(items(devices, "constraints")):
        if text(each, "matchAttribute") != ROOT:
            continue
        here: Route = (*route, "constraints", index)
        named = [name for name in items(each, "requests") if isinstance(name, str)] or list(requests)
        many = [name for name in named if (number_in(requests.get(name), "count") or 1) > 1]
        if many:
            message = f'the constraint requires one PCIe root for all devices of "{many[0]}", which no node has'
            hint = "write one request for each device, and one constraint for each pair of a GPU and a card"
            yield error("M857", here, message, hint=hint)
        elif not one_pcie_root and len(named) > 1:
            message = "on nodes with NVLink between nodes, GPUs and cards are on different PCIe roots"
            hint = "remove the constraint, and select cards by `dra.net/numaNode`"
            yield error("M857", here, message, hint=hint)
