"""The `ipam` of a network: a JSON string, which the operator puts between single quotes (Network Operator 26.7,
manifests/state-*-network). So it cannot contain single quotes, and its values cannot contain blanks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayplan.plugin import (
    NETWORKED,
    RESOURCE,
    ClusterTopology,
    Fabric,
    Manifest,
    Rail,
    Target,
    network_of,
    non_empty,
    pools_of,
    selectors_of,
)
from bayplan.plugin import pod_networks as ip

Made = Mapping[str, Any]


def pool_name(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> str:
    """nv-ipam: rails of one subnet take their addresses from one pool, called like the network of the first."""
    first = next((each for each in fabric.rails if each.subnet == rail.subnet), rail)
    return network_of(first, topology)[1]


def _nv_ipam(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Made:
    kind = "cidrpool" if fabric.kind == "spectrumx" else "ippool"
    return {"type": "nv-ipam", "poolName": pool_name(fabric, rail, topology), "poolType": kind}


def _whereabouts(fabric: Fabric, rail: Rail, _: ClusterTopology) -> Made:
    own = fabric.ipam
    return {
        "type": "whereabouts",
        "range": rail.subnet,
        **non_empty(range_start=own.range_start, range_end=own.range_end, exclude=list(_whole(own.exclude))),
        **non_empty(gateway=rail.gateway),
    }


def _whole(texts: tuple[str, ...]) -> Iterator[str]:
    """whereabouts excludes subnets; an address is one of its own."""
    for text in texts:
        one = ip.address(text)
        yield text if "/" in text or one is None else f"{text}/{one.max_prefixlen}"


def _host_local(fabric: Fabric, rail: Rail, _: ClusterTopology) -> Made:
    own = fabric.ipam
    span = non_empty(rangeStart=own.range_start, rangeEnd=own.range_end, gateway=rail.gateway)
    return {"type": "host-local", "ranges": [[{"subnet": rail.subnet, **span}]]}


BY_TYPE: Mapping[str, Callable[[Fabric, Rail, ClusterTopology], Made]] = {
    "nv-ipam": _nv_ipam,
    "whereabouts": _whereabouts,
    "host-local": _host_local,
    "static": lambda *_: {"type": "static"},
    "dhcp": lambda *_: {"type": "dhcp"},
    "": lambda *_: {},
}


def ipam(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Made:
    """The IPAM of a rail; empty if the fabric has none."""
    return BY_TYPE[fabric.ipam.kind](fabric, rail, topology)


def json_text(data: Any) -> str:
    """JSON with spaces; empty for an empty value."""
    import json

    return f"{json.dumps(data, indent=2)}\n" if data else ""


# Pools of nv-ipam: an IPPool divides one subnet into blocks; a CIDRPool gives each node its own subnet.

POOL_API = "nv-ipam.nvidia.com/v1alpha1"
NAMESPACE = "nvidia-network-operator"
"""The default namespace of the operator and its pools."""


def operator_namespace(fabric: Fabric) -> str:
    """The operator's namespace: nv-ipam looks for pools only there."""
    return fabric.ipam.namespace or NAMESPACE


def firsts(fabric: Fabric, key: str) -> tuple[Rail, ...]:
    """The first rail with each value of a key, in their order."""
    first: dict[str, Rail] = {}
    for rail in fabric.rails:
        first.setdefault(getattr(rail, key), rail)
    return tuple(first.values())


def write_pools(fabric: Fabric, topology: ClusterTopology) -> Iterator[Manifest]:
    """A pool for each subnet."""
    if fabric.ipam.kind != "nv-ipam" or fabric.kind not in NETWORKED:
        return
    for rail in firsts(fabric, "subnet"):
        spec = _cidr(fabric, rail) if fabric.kind == "spectrumx" else _block(fabric, rail)
        yield {
            "apiVersion": POOL_API,
            "kind": "CIDRPool" if fabric.kind == "spectrumx" else "IPPool",
            "metadata": {"name": pool_name(fabric, rail, topology), "namespace": operator_namespace(fabric)},
            "spec": {**spec, **non_empty(nodeSelector=_nodes(fabric, topology))},
        }


def _block(fabric: Fabric, rail: Rail) -> dict[str, Any]:
    block = {"subnet": rail.subnet, "perNodeBlockSize": fabric.ipam.per_node}
    return {**block, **non_empty(gateway=rail.gateway, exclusions=list(exclusions(fabric, rail)))}


def exclusions(fabric: Fabric, rail: Rail) -> Iterator[dict[str, str]]:
    """The excluded addresses, and the addresses of the subnet before and after the range."""
    net = ip.subnet(rail.subnet)
    if net is None:
        return
    whole, range_ = ip.hosts(net), ip.within(net, fabric.ipam.range_start, fabric.ipam.range_end)
    spans = [ip.Span(whole.first, range_.first - 1), *ip.excluded(fabric.ipam.exclude)]
    make = type(net.network_address)
    for span in (*spans, ip.Span(range_.last + 1, whole.last)):
        first, last = max(span.first, whole.first), min(span.last, whole.last)
        if first <= last:
            yield {"startIP": str(make(first)), "endIP": str(make(last))}


def _cidr(fabric: Fabric, rail: Rail) -> dict[str, Any]:
    """The gateway of a point-to-point link is its first address, of a larger subnet the one after (helpers.go)."""
    net = ip.subnet(rail.subnet)
    prefix = ip.block(net, fabric.ipam.per_node, bool(rail.gateway)) if net else 0
    index = {"gatewayIndex": 0 if net and prefix >= net.max_prefixlen - 1 else 1} if rail.gateway else {}
    cidr = {"cidr": rail.subnet, "perNodeNetworkPrefix": prefix, **index}
    return {**cidr, **non_empty(exclusions=list(exclusions(fabric, rail)))}


def _nodes(fabric: Fabric, topology: ClusterTopology) -> dict[str, Any]:
    """Terms for the nodes on the fabric, if other nodes are not on it."""
    if len(pools_of(topology, fabric.name)) == len(topology.pools):
        return {}
    terms = [
        {"matchExpressions": [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]}
        for labels in selectors_of(topology, fabric.name)
        if labels
    ]
    return {"nodeSelectorTerms": terms} if terms else {}


# MacvlanNetworks, IPoIBNetworks, HostDeviceNetworks: the operator creates a NetworkAttachmentDefinition for each.
#
# Operators before 26.7 chain no plugins after these, and rails in one subnet need two. For them, bayplan writes the
# definition that the operator would create (manifests/state-macvlan-network, state-hostdevice-network).

NETWORK_API = "mellanox.com/v1alpha1"
CHAINING = "26.7"
SYSCTLS = {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "0"}
ROUTING: tuple[dict[str, Any], ...] = (
    {
        "type": "tuning",
        "sysctl": {f"net.ipv4.conf.{of}.{key}": value for of in ("all", "IFNAME") for key, value in SYSCTLS.items()},
    },
    {"type": "sbr"},
)
"""Answers leave through the interface with their address, an interface answers ARP only for its own addresses, and the
kernel does not check the reverse path (Network Operator README, multi-rail). `tuning` replaces IFNAME by the name."""


def chains(target: Target) -> bool:
    """Whether the operator supports `metaPlugins`: 26.7 is new, so the file must name this version."""
    return "networkOperator" in target.versions and target.since("networkOperator", CHAINING)


def meta(fabric: Fabric) -> str:
    """`metaPlugins`: plugins in sequence, without the brackets of a list."""
    return ",\n".join(json_text(each).strip() for each in ROUTING) + "\n" if fabric.source_routing else ""


def macvlan(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """In `bridge` mode, pods of one node also reach each other."""
    for rail in fabric.rails:
        own = {"master": rail.device, "mode": "bridge", **non_empty(mtu=fabric.mtu)}
        config = {"type": "macvlan", **own}
        yield _attachment("MacvlanNetwork", own, config, fabric, rail, topology, target)


def host_device(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """The operator adds `nvidia.com/` before the resource's name."""
    for rail in fabric.rails:
        own = {"resourceName": rail.resource.rpartition("/")[2]}
        yield _attachment("HostDeviceNetwork", own, {"type": "host-device"}, fabric, rail, topology, target)


def ipoib(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """These networks chain no plugins in any version."""
    for rail in fabric.rails:
        yield _network("IPoIBNetwork", {"master": rail.device}, fabric, rail, topology)


def _attachment(
    kind: str,
    own: dict[str, Any],
    config: dict[str, Any],
    fabric: Fabric,
    rail: Rail,
    topology: ClusterTopology,
    target: Target,
) -> Manifest:
    if fabric.source_routing and not chains(target):
        return _definition(config, fabric, rail, topology)
    return _network(kind, {**own, **non_empty(metaPlugins=meta(fabric))}, fabric, rail, topology)


def _network(kind: str, own: dict[str, Any], fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Manifest:
    space, name = network_of(rail, topology)
    addresses = non_empty(ipam=json_text(ipam(fabric, rail, topology)))
    return {
        "apiVersion": NETWORK_API,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"networkNamespace": space, **own, **addresses},
    }


def _definition(config: dict[str, Any], fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Manifest:
    space, name = network_of(rail, topology)
    plugins = [{**config, **non_empty(ipam=ipam(fabric, rail, topology))}, *ROUTING]
    annotations = {RESOURCE: rail.resource} if fabric.kind == "hostdevice" else {}
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": space, **non_empty(annotations=annotations)},
        "spec": {"config": json_text({"cniVersion": "0.3.1", "name": name, "plugins": plugins})},
    }


# SR-IOV: a policy makes virtual functions of a port, a network gives them to pods (SR-IOV Network Operator v1).

SRIOV_API = "sriovnetwork.openshift.io/v1"
OPENSHIFT = "openshift-sriov-network-operator"
PRESENT = {"feature.node.kubernetes.io/pci-15b3.present": "true"}
"""Nodes with an NVIDIA network device, by the label of Node Feature Discovery."""

VENDOR = "15b3"


def sriov_namespace(fabric: Fabric, topology: ClusterTopology) -> str:
    """The namespace of the SR-IOV operator's objects."""
    return OPENSHIFT if topology.platform == "openshift" else operator_namespace(fabric)


def write_sriov(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """A policy for each resource and kind of node, then a network for each rail."""
    for rail in firsts(fabric, "resource"):
        yield from _policies(fabric, rail, topology)
    for rail in fabric.rails:
        yield _sriov_network(fabric, rail, topology)


def _policies(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Iterator[Manifest]:
    nodes = selectors_of(topology, fabric.name) or (PRESENT,)
    name = rail.resource.rpartition("/")[2]
    for number, labels in enumerate(nodes):
        policy = name.lower().replace("_", "-") + (f"-{number}" if len(nodes) > 1 else "")
        yield {
            "apiVersion": SRIOV_API,
            "kind": "SriovNetworkNodePolicy",
            "metadata": {"name": policy, "namespace": sriov_namespace(fabric, topology)},
            "spec": {
                "resourceName": name,
                "nodeSelector": {**labels},
                "numVfs": functions(fabric, rail, topology),
                "nicSelector": {**selector(fabric, rail)},
                "deviceType": "netdevice",
                "isRdma": True,
                **non_empty(linkType={"ethernet": "eth", "infiniband": "ib"}.get(fabric.link_type, ""), mtu=fabric.mtu),
            },
        }


def functions(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> int:
    """Virtual functions of each port: the amount of the resource on the nodes divided by its ports, or 1."""
    ports = len({each.device or n for n, each in enumerate(fabric.rails) if each.resource == rail.resource})
    offered = [pool.node.resources.get(rail.resource, 0) // 1000 for pool in pools_of(topology, fabric.name)]
    return max(1, -(-max(offered, default=0) // ports))


def selector(fabric: Fabric, rail: Rail) -> Mapping[str, Any]:
    """The ports of a resource: by name or PCI address, and by kind of device."""
    ports = list(dict.fromkeys(each.device for each in fabric.rails if each.resource == rail.resource and each.device))
    named = [port for port in ports if ":" not in port]
    kind = non_empty(vendor=(*fabric.vendor_ids, VENDOR)[0], deviceID="".join(fabric.device_ids[:1]))
    return {**kind, **non_empty(pfNames=named, rootDevices=[port for port in ports if ":" in port])}


def _sriov_network(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Manifest:
    space, name = network_of(rail, topology)
    infiniband = fabric.link_type == "infiniband"
    return {
        "apiVersion": SRIOV_API,
        "kind": "SriovIBNetwork" if infiniband else "SriovNetwork",
        "metadata": {"name": name, "namespace": sriov_namespace(fabric, topology)},
        "spec": {
            "resourceName": rail.resource.rpartition("/")[2],
            "networkNamespace": space,
            **({"linkState": "enable"} if infiniband else {}),
            **non_empty(ipam=json_text(ipam(fabric, rail, topology)), metaPlugins=meta(fabric)),
        },
    }


# Spectrum-X: one object lists the rails, and its operator creates a policy and a network for each.

SPECTRUM_API = "spectrumx.nvidia.com/v1alpha2"


def write_spectrum(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """One object for each kind of node. Pods get the devices from the device plugin, so `draEnabled` is off."""
    nodes = selectors_of(topology, fabric.name) or ({},)
    for number, labels in enumerate(nodes):
        yield {
            "apiVersion": SPECTRUM_API,
            "kind": "SpectrumXRailPoolConfig",
            "metadata": {
                "name": fabric.name + (f"-{number}" if len(nodes) > 1 else ""),
                "namespace": operator_namespace(fabric),
            },
            "spec": {
                **({"nodeSelector": {**labels}} if labels else {}),
                "networkNamespace": network_of(fabric.rails[0], topology)[0],
                "draEnabled": False,
                "numVfs": 1,
                "railTopology": [_rail(fabric, rail, topology) for rail in fabric.rails],
            },
        }


def _rail(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> dict[str, Any]:
    result = {
        "name": network_of(rail, topology)[1],
        "nicSelector": {"pfNames": [rail.device]},
        "mtu": fabric.mtu,
    }
    if fabric.ipam.kind == "nv-ipam":
        return {**result, "cidrPoolRef": pool_name(fabric, rail, topology)}
    own = json_text(ipam(fabric, rail, topology))
    return {**result, "ipam": own} if own else result


# dranet: the DeviceClass that claim templates name. The driver publishes the devices itself (dranet 1.4).

DRIVER = "dra.net"
CLASS = "dranet"


def api_version(target: Target) -> str:
    """`resource.k8s.io` is v1beta1 in 1.32, v1beta2 in 1.33, v1 since 1.34."""
    if target.since("kubernetes", "1.34"):
        return "resource.k8s.io/v1"
    return "resource.k8s.io/v1beta2" if target.since("kubernetes", "1.33") else "resource.k8s.io/v1beta1"


def write_device_class(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """All devices of the driver. The claims distinguish the rails."""
    yield {
        "apiVersion": api_version(target),
        "kind": "DeviceClass",
        "metadata": {"name": fabric.device_class or CLASS},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
    }
