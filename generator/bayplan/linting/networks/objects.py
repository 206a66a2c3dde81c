"""The operator's network objects: names, namespaces, ports, versions (FAB05, FAB10).

Sources: Network Operator 26.7, api/v1alpha1 and manifests/state-*-network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.kube.multus import RESOURCE as DEVICE
from bayplan.kube.networks import MULTUS, NVIDIA, Network, networks, parsed
from bayplan.kube.objects import group, kind, named, title
from bayplan.kube.safe import get, items, mapping, text
from bayplan.linting.networks.scene import Scene
from bayplan.linting.world import World
from bayplan.model.manifest import Object

RESOURCE = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
CHAINING = "26.7"
MODES = ("bridge", "private", "vepa", "passthru")
KINDS = ("MacvlanNetwork", "IPoIBNetwork", "HostDeviceNetwork")
LARGEST = 65_536
"""Bytes (Linux, the loopback's)."""

DEVICES: Mapping[str, tuple[str, ...]] = {
    "host-device": ("device", "hwaddr", "kernelpath", "pciBusID", "deviceID"),
    "sriov": ("deviceID",),
    "ib-sriov": ("deviceID",),
}
"""Plugin -> the keys any of which names its device."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    "MacvlanNetwork": ("networkNamespace", "master", "mode", "mtu", "ipam", "metaPlugins"),
    "IPoIBNetwork": ("networkNamespace", "master", "ipam"),
    "HostDeviceNetwork": ("networkNamespace", "resourceName", "ipam", "metaPlugins"),
}


def check(world: World, known: Scene) -> Iterator[Diagnostic]:
    """M848, M850, M854."""
    for one in world.objects:
        if group(one) == NVIDIA and kind(one) in KINDS:
            yield from _namespace(one)
            yield from _fields(one, world)
            if kind(one) == "HostDeviceNetwork":
                yield from _resource(one)
            if kind(one) == "MacvlanNetwork":
                yield from _macvlan(one)
        if group(one) == NVIDIA and kind(one) in ("NicClusterPolicy", "NicNodePolicy"):
            yield from _policy(one, world)
        if (group(one), kind(one)) == (MULTUS, "NetworkAttachmentDefinition"):
            yield from _definition(one)
    for each in networks(world.objects):
        yield from _links(each, known)
        yield from _mtu(each)


def _namespace(one: Object) -> Iterator[Diagnostic]:
    if text(one.data, "spec", "networkNamespace"):
        return
    route: Route = (*one.route, "spec", "networkNamespace")
    if kind(one) == "HostDeviceNetwork":
        message = f"{title(one)} names no namespace, and the operator makes a network without one"
        yield error("M850", route, message, hint="add `networkNamespace:`, the namespace of the pods or a common one")
    else:
        message = f'{title(one)} names no namespace; its network is made in "default"'
        yield warning("M850", route, message, hint="add `networkNamespace:`")


def _fields(one: Object, world: World) -> Iterator[Diagnostic]:
    for key in mapping(one.data, "spec"):
        route = (*one.route, "spec", key)
        if key not in FIELDS[kind(one)]:
            message = f"{kind(one)} has no field `{key}`"
            yield error("M850", route, message, hint=f"it has {', '.join(FIELDS[kind(one)])}")
        elif key == "metaPlugins" and not world.target.since("networkOperator", CHAINING):
            message = f"the Network Operator {world.target.version('networkOperator')} has no `metaPlugins`"
            hint = f"upgrade to {CHAINING}, or write the NetworkAttachmentDefinition with its plugins by hand"
            yield error("M854", route, message, hint=hint)


def _resource(one: Object) -> Iterator[Diagnostic]:
    name, route = text(one.data, "spec", "resourceName"), (*one.route, "spec", "resourceName")
    if not name:
        message = f"{title(one)} names no resource, and its pods get no device"
        yield error("M850", route, message, hint="name a resource of the SR-IOV device plugin, without nvidia.com/")
    elif "/" in name:
        message = f'the operator puts nvidia.com/ before "{name}" by itself'
        yield error("M850", route, message, hint=f"write {name.rpartition('/')[2]}")
    elif not RESOURCE.fullmatch(name):
        message = f'"{name}" is no name of a resource: letters, digits, dashes, dots and underscores'
        yield error("M850", route, message, hint="such as rail_0")


def _macvlan(one: Object) -> Iterator[Diagnostic]:
    spec = mapping(one.data, "spec")
    mode = get(spec, "mode")
    if mode is not None and mode not in MODES:
        message = f'macvlan has no mode "{str(mode)[:40]}"'
        yield error("M850", (*one.route, "spec", "mode"), message, hint=f"one of {', '.join(MODES)}")
    if not text(spec, "master"):
        message = f"{title(one)} names no `master`, and takes the interface of the node's default route"
        hint = "name the port of the rail: pods would share the node's own network"
        yield warning("M850", (*one.route, "spec"), message, hint=hint)


def _definition(one: Object) -> Iterator[Diagnostic]:
    """A plugin that moves a device into the pod is told which: by Multus, of the resource in the annotation, or by its
    configuration (Multus 4.3, pkg/types; CNI plugins 1.7, host-device)."""
    config = parsed(text(one.data, "spec", "config"))
    first = next(iter(items(config, "plugins")), config)
    plugin = text(first, "type")
    told = DEVICES.get(plugin, ())
    if told and not text(one.data, "metadata", "annotations", DEVICE) and not any(get(first, key) for key in told):
        message = f"nothing tells the plugin {plugin} of {title(one)} its device, and no pod on it starts"
        hint = f"add the annotation {DEVICE}, with the extended resource that pods ask for"
        yield error("M850", (*one.route, "spec", "config"), message, hint=hint)


def _mtu(one: Network) -> Iterator[Diagnostic]:
    if not 0 <= one.mtu <= LARGEST:
        at = "config" if group(one.object) == MULTUS else "mtu"
        message = f"an MTU of {one.mtu} is none, and no pod on {title(one.object)} starts"
        yield error("M850", (*one.object.route, "spec", at), message, hint="such as 1500, 4092 or 9000")


def _links(one: Network, known: Scene) -> Iterator[Diagnostic]:
    """M848: macvlan over an InfiniBand port fails, and an IPoIB interface has only such a port (network-operator#1017).

    Names of InfiniBand interfaces begin with `ib` (systemd.net-naming-scheme)."""
    route = (*one.object.route, "spec", "master")
    links = next((each.link_type for each in known.by_name.get(one.name, ()) if each.fabric), "")
    infiniband = one.master.startswith("ib") or links == "infiniband"
    if one.kind == "macvlan" and infiniband:
        message = f'macvlan works over Ethernet, and "{one.master}" is an InfiniBand port'
        yield error("M848", route, message, hint="make it an IPoIBNetwork")
    if one.kind == "ipoib" and (one.master.startswith(("en", "eth")) or links == "ethernet"):
        message = f'IP over InfiniBand needs an InfiniBand port, and "{one.master}" is an Ethernet interface'
        yield error("M848", route, message, hint="make it a MacvlanNetwork")
    if one.kind == "ipoib" and not one.master:
        yield error("M850", route, f"{title(one.object)} names no `master`", hint="such as ibs3f0")


def _policy(one: Object, world: World) -> Iterator[Diagnostic]:
    name = text(one.data, "metadata", "name")
    if kind(one) == "NicClusterPolicy" and name != "nic-cluster-policy":
        message = f'the operator looks at the NicClusterPolicy "nic-cluster-policy" alone, and this is "{name}"'
        yield error("M850", named(one), message, hint="rename it")
    if kind(one) == "NicNodePolicy" and len(name) > 30:
        message = f'"{name}" has {len(name)} characters; the operator makes labels of it and takes 30'
        yield error("M850", named(one), message, hint="shorten it")
    if kind(one) == "NicNodePolicy":
        for other in world.of(NVIDIA, "NicClusterPolicy"):
            for key in ("ofedDriver", "rdmaSharedDevicePlugin", "sriovDevicePlugin"):
                if key in mapping(one.data, "spec") and key in mapping(other.data, "spec"):
                    message = f"both {title(other)} and {title(one)} have `{key}`, and the operator refuses the second"
                    yield error("M850", (*one.route, "spec", key), message, hint="take it out of one of them")
