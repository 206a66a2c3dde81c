"""Rules for the network objects of operators: names, ports, versions (FAB05, FAB10), addresses (FAB11) and plugins.

Sources: Network Operator 26.7, api/v1alpha1 and manifests/state-*-network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import did_you_mean, listing
from bayplan.kube import networks as ip
from bayplan.kube.networks import MULTUS, NVIDIA, SRIOV, Network, parsed
from bayplan.kube.networks import RESOURCE as DEVICE
from bayplan.kube.objects import get, group, items, kind, mapping, name, named, namespace, number_in, text, title
from bayplan.linting.network_index import AttachedPods, NetworkIndex
from bayplan.linting.objects import LintContext, same_namespace
from bayplan.model.manifest import Object

RESOURCE = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
CHAINING = "26.7"
MODES = ("bridge", "private", "vepa", "passthru")
KINDS = ("MacvlanNetwork", "IPoIBNetwork", "HostDeviceNetwork")
LARGEST = 65_536
"""The largest MTU in bytes (Linux, the loopback interface)."""

DEVICES: Mapping[str, tuple[str, ...]] = {
    "host-device": ("device", "hwaddr", "kernelpath", "pciBusID", "deviceID"),
    "sriov": ("deviceID",),
    "ib-sriov": ("deviceID",),
}
"""Plugin -> the keys that can name its device."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    "MacvlanNetwork": ("networkNamespace", "master", "mode", "mtu", "ipam", "metaPlugins"),
    "IPoIBNetwork": ("networkNamespace", "master", "ipam"),
    "HostDeviceNetwork": ("networkNamespace", "resourceName", "ipam", "metaPlugins"),
}


CHECKED = frozenset({*ip.KINDS, ip.DEFINITION, (NVIDIA, "NicClusterPolicy"), (NVIDIA, "NicNodePolicy")})
"""API groups and kinds of the objects that `check_objects` checks."""


def check_objects(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M850, M850: objects of the Network Operator, and NetworkAttachmentDefinitions."""
    for one in context.among(CHECKED):
        if group(one) == NVIDIA and kind(one) in KINDS:
            yield from _namespace(one)
            yield from _fields(one, context)
            if kind(one) == "HostDeviceNetwork":
                yield from _resource(one)
            if kind(one) == "MacvlanNetwork":
                yield from _macvlan(one)
        if group(one) == NVIDIA and kind(one) in ("NicClusterPolicy", "NicNodePolicy"):
            yield from _policy(one, context)
        if (group(one), kind(one)) == ip.DEFINITION:
            yield from _definition(one)
    for each in described.networks:
        yield from _links(each, described)
        yield from _mtu(each)


def _namespace(one: Object) -> Iterator[Diagnostic]:
    if text(one.data, "spec", "networkNamespace"):
        return
    route: Route = (*one.route, "spec", "networkNamespace")
    if kind(one) == "HostDeviceNetwork":
        message = f"{title(one)} has no `networkNamespace`, so the operator fails to create its network"
        yield error("M850", route, message, hint="set `networkNamespace:` to the namespace of the pods or a common one")
    else:
        message = f'{title(one)} has no `networkNamespace`, so the operator creates its network in "default"'
        yield warning("M850", route, message, hint="set `networkNamespace:`")


def _fields(one: Object, context: LintContext) -> Iterator[Diagnostic]:
    for key in mapping(one.data, "spec"):
        route = (*one.route, "spec", key)
        if key not in FIELDS[kind(one)]:
            message = f"{kind(one)} has no field `{key}`"
            yield error("M850", route, message, hint=f"use one of {', '.join(FIELDS[kind(one)])}")
        elif key == "metaPlugins" and not context.target.since("networkOperator", CHAINING):
            message = f"Network Operator {context.target.version('networkOperator')} drops `metaPlugins`"
            hint = f"upgrade to {CHAINING}, or write a NetworkAttachmentDefinition with these plugins"
            yield error("M850", route, message, hint=hint)


def _resource(one: Object) -> Iterator[Diagnostic]:
    if text(one.data, "spec", "resourceName"):
        yield from _resource_name(one, "nvidia.com/", RESOURCE, "letters, digits, dashes, dots and underscores")
    else:
        message = f"{title(one)} has no `resourceName`, so its pods get no device"
        hint = "name a resource of the SR-IOV device plugin, without nvidia.com/"
        yield error("M850", (*one.route, "spec", "resourceName"), message, hint=hint)


def _resource_name(one: Object, prefix: str, pattern: re.Pattern[str], allowed: str) -> Iterator[Diagnostic]:
    name, route = text(one.data, "spec", "resourceName"), (*one.route, "spec", "resourceName")
    if "/" in name:
        message = f'"{name}" has a prefix, but the operator adds {prefix} itself'
        yield error("M850", route, message, hint=f"write {name.rpartition('/')[2]}")
    elif not pattern.fullmatch(name):
        message = f'"{name}" is not a valid resource name'
        yield error("M850", route, message, hint=f"use only {allowed}, such as rail_0")


def _macvlan(one: Object) -> Iterator[Diagnostic]:
    spec = mapping(one.data, "spec")
    mode = get(spec, "mode")
    if mode is not None and mode not in MODES:
        message = f'macvlan has no mode "{str(mode)[:40]}"'
        yield error("M850", (*one.route, "spec", "mode"), message, hint=f"use one of {', '.join(MODES)}")
    if not text(spec, "master"):
        message = f"{title(one)} has no `master`, so its pods share the interface of the node's default route"
        hint = "set `master` to the port of the rail"
        yield warning("M850", (*one.route, "spec"), message, hint=hint)


def _definition(one: Object) -> Iterator[Diagnostic]:
    """M850: a plugin that moves a device into the pod needs a device.

    Multus selects it from the resource in the annotation, or the configuration names it (Multus 4.3, pkg/types; CNI
    plugins 1.7, host-device).
    """
    config = parsed(text(one.data, "spec", "config"))
    first = next(iter(items(config, "plugins")), config)
    plugin = text(first, "type")
    keys = DEVICES.get(plugin, ())
    if keys and not text(one.data, "metadata", "annotations", DEVICE) and not any(get(first, key) for key in keys):
        message = f"{title(one)} names no device for its plugin {plugin}, so its pods do not start"
        hint = f"add the annotation {DEVICE} with the extended resource that the pods request"
        yield error("M850", (*one.route, "spec", "config"), message, hint=hint)


def _mtu(one: Network) -> Iterator[Diagnostic]:
    if not 0 <= one.mtu <= LARGEST:
        at = "config" if group(one.object) == MULTUS else "mtu"
        message = f"{one.mtu} is not a valid MTU, so the pods on {title(one.object)} do not start"
        yield error("M850", (*one.object.route, "spec", at), message, hint="set an MTU such as 1500, 4092 or 9000")


def _links(one: Network, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M850: macvlan needs an Ethernet port, and IPoIB an InfiniBand port (network-operator#1017).

    Names of InfiniBand interfaces begin with `ib` (systemd.net-naming-scheme).
    """
    route = (*one.object.route, "spec", "master")
    links = next((each.link_type for each in described.by_name.get(one.name, ()) if each.fabric), "")
    infiniband = one.master.startswith("ib") or links == "infiniband"
    if one.kind == "macvlan" and infiniband:
        message = f'macvlan needs an Ethernet port, but "{one.master}" is an InfiniBand port'
        yield error("M850", route, message, hint="use an IPoIBNetwork")
    if one.kind == "ipoib" and (one.master.startswith(("en", "eth")) or links == "ethernet"):
        message = f'IP over InfiniBand needs an InfiniBand port, but "{one.master}" is an Ethernet interface'
        yield error("M850", route, message, hint="use a MacvlanNetwork")
    if one.kind == "ipoib" and not one.master:
        hint = "set `master` to an InfiniBand interface such as ibs3f0"
        yield error("M850", route, f"{title(one.object)} has no `master`", hint=hint)


def _policy(one: Object, context: LintContext) -> Iterator[Diagnostic]:
    name = text(one.data, "metadata", "name")
    if kind(one) == "NicClusterPolicy" and name != "nic-cluster-policy":
        message = f'the operator ignores NicClusterPolicy "{name}": it reads only "nic-cluster-policy"'
        yield error("M850", named(one), message, hint="rename it to nic-cluster-policy")
    if kind(one) == "NicNodePolicy" and len(name) > 30:
        message = f'"{name}" has {len(name)} characters, but the operator uses it in labels and accepts at most 30'
        yield error("M850", named(one), message, hint="shorten the name")
    if kind(one) == "NicNodePolicy":
        for other in context.of(NVIDIA, "NicClusterPolicy"):
            for key in ("ofedDriver", "rdmaSharedDevicePlugin", "sriovDevicePlugin"):
                if key in mapping(one.data, "spec") and key in mapping(other.data, "spec"):
                    message = f"{title(other)} and {title(one)} both have `{key}`, so the operator refuses the second"
                    yield error("M850", (*one.route, "spec", key), message, hint="remove it from one of the two")


# Addresses of networks: invalid IPAM configurations, subnets that are too small, gateways outside of them (FAB11).
#
# Sources: whereabouts 0.9 pkg/types and pkg/config, `nvidia-k8s-ipam` v1alpha1 validation, Network Operator 26.7
# manifests/state-*-network (the operator inserts the text between single quotes).

TYPES = ("nv-ipam", "whereabouts", "static", "host-local", "dhcp")
POOLS = "nv-ipam.nvidia.com"


def check_addresses(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M849, M849: the addresses of networks and pools."""
    for each in described.networks:
        yield from _network(each, context, described)
    for pool in context.of(POOLS, "IPPool"):
        yield from _ip_pool(pool, context)
    for pool in context.of(POOLS, "CIDRPool"):
        yield from _cidr_pool(pool, context)
    for pods in described.attached:
        yield from _together(pods)


def _network(one: Network, context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    if one.ipam is None or not one.ipam.strip():
        return
    config = parsed(one.ipam)
    if not isinstance(config, dict):
        message = f"`ipam` of {title(one.object)} is not valid JSON"
        hint = "use only double quotes, and remove a comma after the last entry"
        yield error("M849", one.ipam_route, message, hint=hint)
        return
    if group(one.object) == NVIDIA:
        yield from _pasted(one, config)
    kind = text(config, "type")
    if kind not in TYPES:
        message = f'unknown IPAM plugin "{kind}"' if kind else "`ipam` has no `type`"
        hint = did_you_mean(kind, TYPES) or f"known: {listing(TYPES, 'and')}"
        yield (warning if kind else error)("M849", one.ipam_route, message, hint=hint)
    elif kind == "whereabouts":
        yield from _whereabouts(one, config, described)
    elif kind == "nv-ipam":
        yield from _pool(one, config, context)


def _pasted(one: Network, config: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """M849: the operator inserts the text between single quotes. For macvlan and IPoIB, it removes all spaces."""
    if "'" in (one.ipam or ""):
        message = f"`ipam` of {title(one.object)} has a single quote, but the operator inserts it between single quotes"
        yield error("M849", one.ipam_route, message, hint="remove the single quote")
    blank = next((key for key, value in config.items() if isinstance(value, str) and " " in value), "")
    if blank and one.kind in ("macvlan", "ipoib"):
        message = f"the value of `{blank}` has a space, but the operator removes all spaces from `ipam`"
        yield error("M849", one.ipam_route, message, hint="remove the space")


def _whereabouts(one: Network, config: Mapping[str, Any], described: NetworkIndex) -> Iterator[Diagnostic]:
    text_ = text(config, "range") or text(config, "ipRanges", 0, "range")
    start, dash, _ = text_.partition("-")
    net = ip.subnet(text_.rpartition("-")[2] if dash else text_)
    if net is None:
        message = f'`range` of {title(one.object)} is "{text_}", which is not a subnet'
        yield error("M849", one.ipam_route, message, hint="write a subnet such as 10.0.0.0/24")
        return
    gateway = ip.address(text(config, "gateway"))
    if gateway is not None and (gateway.version != net.version or gateway not in net):
        message = f"the gateway {gateway} is outside {net}, which whereabouts does not report"
        hint = f"use an address between {net.network_address} and {net.broadcast_address}"
        yield warning("M849", one.ipam_route, message, hint=hint)
    span = ip.within(net, text(config, "range_start") or (start if dash else ""), text(config, "range_end"))
    out = [each for each in items(config, "exclude") if isinstance(each, str)]
    yield from _room(one, ip.left(span, list(ip.excluded(out))), str(net), described)


def _room(one: Network, free: int, net: str, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M849: the range of a network has an address for each of its pods."""
    wanted = [
        (each.template.pods, sum(f is not None and f.network == one for f in each.networks))
        for each in described.attached
    ]
    needed = sum(pods * times for pods, times in wanted if pods is not None)
    if needed > free or not free:
        message = f"{net} leaves {free} addresses for pods, and the pods request {needed}"
        yield error("M849", one.ipam_route, message, hint="use a larger range, or exclude fewer addresses")


def _pool(one: Network, config: Mapping[str, Any], context: LintContext) -> Iterator[Diagnostic]:
    called = text(config, "poolName")
    if not called:
        yield error("M849", one.ipam_route, f"`ipam` of {title(one.object)} has no `poolName`", hint="add `poolName`")
        return
    kind = {"cidrpool": "CIDRPool"}.get(text(config, "poolType").lower(), "IPPool")
    pools = {name(each): each for each in (*context.of(POOLS, "IPPool"), *context.of(POOLS, "CIDRPool"))}
    same = {name(each) for each in context.of(POOLS, kind)}
    if called in pools and called not in same:
        message = f'the pool "{called}" has the kind {get(pools[called].data, "kind")}, but `ipam` requests {kind}'
        other = "ippool" if kind == "CIDRPool" else "cidrpool"
        yield error("M849", one.ipam_route, message, hint=f"add `poolType: {other}`")
    elif pools and called not in pools:
        message = f'the manifests have no pool "{called}"'
        hint = did_you_mean(called, pools) or f"known pools: {listing(sorted(pools), 'and')}"
        yield warning("M849", one.ipam_route, message, hint=hint)


def _ip_pool(pool: Object, context: LintContext) -> Iterator[Diagnostic]:
    spec, route = mapping(pool.data, "spec"), (*pool.route, "spec")
    net, block = ip.subnet(text(spec, "subnet")), number_in(spec, "perNodeBlockSize") or 0
    if net is None:
        hint = "set `subnet` to a subnet such as 10.0.0.0/24"
        yield error("M849", (*route, "subnet"), f"{title(pool)} has no valid subnet", hint=hint)
        yield from _routes(pool, "gateway")
        return
    room, nodes = ip.hosts(net).size, _nodes(context, spec)
    if block < 1 or block > room:
        message = f"each node gets {block} addresses, but {net} has {room}"
        yield error("M849", (*route, "perNodeBlockSize"), message, hint=f"set 1 to {room}")
    elif nodes * block > room:
        message = f"{nodes} nodes with {block} addresses each need {nodes * block}, but {net} has {room}"
        hint = "use a larger subnet, a smaller block, or a `nodeSelector`"
        yield error("M849", (*route, "perNodeBlockSize"), message, hint=hint)
    yield from _gateway(pool, net)


def _gateway(pool: Object, net: ip.Subnet) -> Iterator[Diagnostic]:
    spec, route = mapping(pool.data, "spec"), (*pool.route, "spec")
    gateway = ip.address(text(spec, "gateway"))
    if text(spec, "gateway") and (gateway is None or gateway.version != net.version or gateway not in net):
        message = f"the gateway {text(spec, 'gateway')} of {title(pool)} is outside {net}"
        hint = f"use an address between {net.network_address} and {net.broadcast_address}"
        yield error("M849", (*route, "gateway"), message, hint=hint)
    yield from _routes(pool, "gateway")


def _routes(pool: Object, key: str) -> Iterator[Diagnostic]:
    spec = mapping(pool.data, "spec")
    if get(spec, key) in (None, "") and (get(spec, "defaultGateway") is True or items(spec, "routes")):
        message = f"{title(pool)} has routes, but no `{key}`"
        yield error("M849", (*pool.route, "spec"), message, hint=f"add `{key}`")


def _cidr_pool(pool: Object, context: LintContext) -> Iterator[Diagnostic]:
    spec, route = mapping(pool.data, "spec"), (*pool.route, "spec")
    cidr, prefix = text(spec, "cidr"), number_in(spec, "perNodeNetworkPrefix") or 0
    net = ip.subnet(cidr)
    if net is None or ip.host_bits(cidr):
        message = f'"{cidr}" is not a subnet' if net is None else f'"{cidr}" is an address in {net}, not a subnet'
        hint = "write a subnet such as 10.0.0.0/16" if net is None else f"write {net}"
        yield error("M849", (*route, "cidr"), message, hint=hint)
    if net is not None and not net.prefixlen <= prefix <= net.max_prefixlen:
        message = f"a subnet of /{prefix} for each node does not fit into {net}"
        hint = f"set {net.prefixlen} to {net.max_prefixlen}"
        yield error("M849", (*route, "perNodeNetworkPrefix"), message, hint=hint)
    elif net is not None and (nodes := _nodes(context, spec)) > 1 << (prefix - net.prefixlen):
        message = f"{net} has {1 << (prefix - net.prefixlen)} subnets of /{prefix}, but the topology has {nodes} nodes"
        yield error("M849", (*route, "cidr"), message, hint="use a larger subnet, or a longer prefix for each node")
    yield from _routes(pool, "gatewayIndex")


def _nodes(context: LintContext, spec: Mapping[str, Any]) -> int:
    """The number of nodes that use an address pool; 0 if the pool selects some of the nodes."""
    if get(spec, "nodeSelector"):
        return 0
    return sum(len(domain.nodes) for pool in context.topology.pools for domain in pool.domains)


def _together(pods: AttachedPods) -> Iterator[Diagnostic]:
    """M849: with several interfaces in one subnet, replies may leave through the wrong one (nccl#2158)."""
    ranged = [(one, net) for one in pods.networks if one and one.network and (net := _range(one.network))]
    for (one, first), (other, second) in combinations(ranged, 2):
        chained = {*(one.network.chained if one.network else ()), *(other.network.chained if other.network else ())}
        routed = "sbr" in chained or bool(one.fabric and one.fabric.source_routing)
        if first == second and not routed:
            same = one is other
            message = f'the pod has two interfaces of "{one.title}"' if same else f'"{one.title}" and "{other.title}"'
            message += f" are both in {first}" if not same else f", both in {first}"
            hint = "give each rail its own subnet, or chain the plugins tuning and sbr after the first (`metaPlugins`)"
            route: Route = pods.route
            yield (info if same else warning)("M849", route, message, hint=hint)
            return


def _range(one: Network) -> ip.Subnet | None:
    config = parsed(one.ipam) if one.ipam else None
    return ip.subnet(text(config, "range") or text(config, "subnet"))


# Objects of the SR-IOV operator: objects that its webhook refuses, and networks that contradict their policies.
#
# Source: SR-IOV Network Operator, pkg/webhook/validate.go and the CRDs.

SRIOV_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?")
SELECTORS = ("vendor", "deviceID", "pfNames", "rootDevices", "netFilter")
LINKS = {"SriovNetwork": "eth", "SriovIBNetwork": "ib"}
REQUIRED = ("resourceName", "nodeSelector", "numVfs", "nicSelector")


def check_sriov(context: LintContext) -> Iterator[Diagnostic]:
    """M850, M850: policies and networks of the SR-IOV operator."""
    policies = context.of(SRIOV, "SriovNetworkNodePolicy")
    for one in policies:
        yield from _node_policy(one)
    for each in LINKS:
        for one in context.of(SRIOV, each):
            yield from _sriov_resource(one)
            yield from _policy_of(one, [policy for policy in policies if _serves(policy, one)], bool(policies))


def _sriov_resource(one: Object) -> Iterator[Diagnostic]:
    allowed = "letters, digits, dashes and underscores"
    yield from _resource_name(one, "its prefix", SRIOV_NAME, allowed)


def _node_policy(one: Object) -> Iterator[Diagnostic]:
    spec, route = mapping(one.data, "spec"), (*one.route, "spec")
    for key in REQUIRED:
        if get(spec, key) is None:
            yield error("M850", route, f"{title(one)} has no `{key}`, but its CRD requires it", hint=f"add `{key}`")
    if "resourceName" in spec:
        yield from _sriov_resource(one)
    if "nicSelector" in spec and not any(get(spec, "nicSelector", key) for key in SELECTORS):
        message = f"{title(one)} selects no card"
        yield error(
            "M850", (*route, "nicSelector"), message, hint="select a vendor, a device, ports or their addresses"
        )
    if text(spec, "deviceType") == "vfio-pci" and get(spec, "isRdma") is True:
        message = "`deviceType: vfio-pci` detaches the card from the kernel, but `isRdma: true` needs it there"
        yield error("M850", (*route, "deviceType"), message, hint="set `deviceType: netdevice`")
    if text(spec, "linkType").lower() == "ib" and text(spec, "eSwitchMode") == "switchdev":
        message = "`eSwitchMode: switchdev` needs Ethernet links, but `linkType` is InfiniBand"
        yield error("M850", (*route, "eSwitchMode"), message, hint="remove `eSwitchMode`")
    yield from _virtual_functions(one)


def _virtual_functions(one: Object) -> Iterator[Diagnostic]:
    """M850: the number of virtual functions, and their ranges in port names such as `ens1f0#0-3`."""
    spec, route = mapping(one.data, "spec"), (*one.route, "spec")
    most = number_in(spec, "numVfs")
    if most == 0:
        message = f"{title(one)} creates no virtual functions"
        yield error("M850", (*route, "numVfs"), message, hint="set 1 or more")
    for index, each in enumerate(items(spec, "nicSelector", "pfNames")):
        match = re.fullmatch(r"[^#]+#(\d{1,4})-(\d{1,4})", each) if isinstance(each, str) and "#" in each else None
        if (
            isinstance(each, str)
            and "#" in each
            and (match is None or int(match[1]) > int(match[2]) or (most is not None and int(match[2]) >= most))
        ):
            message = f'"{each}" is not a range of the {most} functions of a port, which are numbered from 0'
            hint = "write a range such as ens1f0#0-3"
            yield error("M850", (*route, "nicSelector", "pfNames", index), message, hint=hint)


def _serves(policy: Object, network: Object) -> bool:
    same_resource = text(policy.data, "spec", "resourceName") == text(network.data, "spec", "resourceName")
    return same_resource and same_namespace(namespace(policy), namespace(network))


def _policy_of(one: Object, policies: list[Object], policies_exist: bool) -> Iterator[Diagnostic]:
    name = text(one.data, "spec", "resourceName")
    route: Route = (*one.route, "spec", "resourceName")
    if policies_exist and not policies:
        message = f'no policy in the manifests creates functions for the resource "{name}"'
        yield warning("M850", route, message, hint="add a SriovNetworkNodePolicy with that `resourceName`")
    for policy in policies:
        links = text(policy.data, "spec", "linkType").lower()
        if links and links != LINKS[kind(one)]:
            other = next(each for each in LINKS if each != kind(one))
            message = f'{title(one)} needs links of type "{LINKS[kind(one)]}", but its functions have "{links}"'
            notes = (Note("this policy creates them", (*policy.route, "spec", "linkType")),)
            yield error("M850", (*one.route, "kind"), message, hint=f"use a {other}", notes=notes)


# The JSON configurations of both device plugins in a policy, and the resources that networks use.
#
# Sources: schemas of the Network Operator's webhook (26.7, off by default), SR-IOV Network Device Plugin 3.11
# (ValidResourceName), k8s-rdma-shared-dev-plugin.

RESOURCE_PREFIX = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z]{2,})+")
ACCEPTED = re.compile(r"[A-Za-z0-9_-]+")


class Plugin(NamedTuple):
    """A device plugin: the key of its list, its selectors, and the names that the webhook accepts."""

    entries: str
    selectors: tuple[str, ...]
    names: re.Pattern[str]
    prefix: str


PLUGINS: Mapping[str, Plugin] = {
    "rdmaSharedDevicePlugin": Plugin(
        "configList",
        ("vendors", "deviceIDs", "drivers", "ifNames", "linkTypes"),
        RESOURCE,
        "rdma",
    ),
    "sriovDevicePlugin": Plugin(
        "resourceList",
        (
            *("vendors", "devices", "drivers", "pciAddresses", "pfNames", "rootDevices", "linkTypes", "ddpProfiles"),
            *("isRdma", "needVhostNet", "vdpaType", "auxTypes", "acpiIndexes", "pKeys"),
        ),
        re.compile(r"([A-Za-z0-9][A-Za-z0-9_.]*)?[A-Za-z0-9]"),
        "intel.com",
    ),
}


def check_plugins(context: LintContext) -> Iterator[Diagnostic]:
    """M850: configurations of device plugins, and networks whose resource no plugin offers."""
    offered: dict[str, set[str]] = {}
    sriov_config = False
    for policy in ("NicClusterPolicy", "NicNodePolicy"):
        for one in context.of(NVIDIA, policy):
            for key, plugin in PLUGINS.items():
                config = get(one.data, "spec", key, "config")
                if config is not None:
                    yield from _config(one, key, plugin, config)
                    sriov_config |= key == "sriovDevicePlugin"
                    _offer(offered, plugin, parsed(config) if isinstance(config, str) else None)
    for one in context.of(NVIDIA, "HostDeviceNetwork") if sriov_config else ():
        yield from _offered(one, offered)


def _offer(offered: dict[str, set[str]], plugin: Plugin, config: Any) -> None:
    for each in items(config, plugin.entries):
        prefix = text(each, "resourcePrefix") or plugin.prefix
        offered.setdefault(text(each, "resourceName"), set()).add(prefix)


def _offered(one: Object, offered: Mapping[str, set[str]]) -> Iterator[Diagnostic]:
    """M850 (FAB05): the operator always adds nvidia.com/ to the name, even if the plugin has another prefix."""
    name, route = text(one.data, "spec", "resourceName"), (*one.route, "spec", "resourceName")
    if name and name not in offered:
        message = f'no device plugin in the manifests offers "{name}"'
        hint = did_you_mean(name, offered) or f"offered: {listing(sorted(offered), 'and', 4)}"
        yield warning("M850", route, message, hint=hint)
    elif name and "nvidia.com" not in offered[name]:
        has = sorted(offered[name])[0]
        message = f"{title(one)} uses nvidia.com/{name}, but the plugin offers {has}/{name}"
        yield error("M850", route, message, hint="add `resourcePrefix: nvidia.com` to the plugin's configuration")


def _config(one: Object, key: str, plugin: Plugin, config: Any) -> Iterator[Diagnostic]:
    route: Route = (*one.route, "spec", key, "config")
    data = parsed(config) if isinstance(config, str) else None
    if not isinstance(data, dict):
        message = f"`{key}.config` of {title(one)} is not valid JSON, so the plugin does not start"
        yield error("M850", route, message, hint=f'write {{"{plugin.entries}": [...]}}')
        return
    if not items(data, plugin.entries):
        message = f"`{key}.config` lists no resources"
        yield error("M850", route, message, hint=f"add `{plugin.entries}`")
    for number, each in enumerate(items(data, plugin.entries)):
        for message, hint, grave in _entry(key, plugin, each):
            severity = error if grave else warning
            yield severity("M850", route, f"entry {number} of `{key}.config`: {message}", hint=hint)


def _entry(key: str, plugin: Plugin, entry: Any) -> Iterator[tuple[str, str, bool]]:
    name, prefix = text(entry, "resourceName"), text(entry, "resourcePrefix")
    sriov = key == "sriovDevicePlugin"
    if not name:
        yield "it has no `resourceName`", "add `resourceName`", True
    elif sriov and not ACCEPTED.fullmatch(name):
        yield f'the plugin refuses the name "{name}"', "use only letters, digits, dashes and underscores", True
    elif not plugin.names.fullmatch(name):
        yield f'the operator\'s webhook, if it is on, refuses the name "{name}"', "use a name such as rail_0", False
    if prefix and not RESOURCE_PREFIX.fullmatch(prefix):
        hint = "use a domain such as nvidia.com"
        yield f'the operator\'s webhook, if it is on, refuses the prefix "{prefix}", which is not a domain', hint, False
    if not sriov and (number_in(entry, "rdmaHcaMax") or 0) < 1:
        yield "it does not set how many pods may share a card", "add `rdmaHcaMax`, such as 63", True
    yield from _selectors(plugin, entry, sriov)


def _selectors(plugin: Plugin, entry: Any, sriov: bool) -> Iterator[tuple[str, str, bool]]:
    selectors = get(entry, "selectors")
    listed = [selectors] if isinstance(selectors, dict) else items(entry, "selectors")
    used_keys = [key for each in listed for key in mapping(each) if get(each, key) not in (None, [], "", False)]
    if not used_keys and not items(entry, "devices"):
        yield "it selects no card", f"add `selectors` with any of {', '.join(plugin.selectors[:5])}", True
    for key in dict.fromkeys(key for each in listed for key in mapping(each)):
        if key not in plugin.selectors:
            hint = did_you_mean(key, plugin.selectors) or f"use one of {', '.join(plugin.selectors[:9])}"
            yield f'the plugin has no selector "{key}"', hint, True
