"""The parts of the NicClusterPolicy that a topology's fabrics need. A cluster has one such object with the name
nic-cluster-policy. A server-side apply merges these parts into it and keeps the rest.

The configurations of both device plugins are JSON strings (`k8s-rdma-shared-dev-plugin`, SR-IOV Network Device Plugin
3.11; schemas of the Network Operator's webhook).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.plugin import (
    NETWORKED,
    ClusterTopology,
    Diagnostic,
    Fabric,
    Manifest,
    Rail,
    Route,
    Target,
    error,
    has_errors,
    info,
    listing,
    network_of,
    non_empty,
    shares_verbs,
    warning,
)
from bayplan.plugins.sources import network_operator
from bayplan.plugins.sources.network_operator import CHAINING, VENDOR, chains
from bayplan.plugins.sources.network_operator import json_text as text

POLICY = "nic-cluster-policy"
SHARES = 63
"""The default of `rdmaHcaMax`, from upstream's examples."""

SHARED_PREFIX = "rdma"
LINKS = {"ethernet": "ether", "infiniband": "infiniband"}
Resource = tuple[Fabric, str, Sequence[Rail]]


def write_policy(topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """The policy, if any fabric needs a part of it."""
    common, own = list(map(_shared, shared(topology))), list(map(_exclusive, exclusive(topology)))
    nv_ipam = any(each.ipam.kind == "nv-ipam" and each.kind in NETWORKED for each in topology.fabrics.values())
    spec = non_empty(
        rdmaSharedDevicePlugin=_plugin("k8s-rdma-shared-dev-plugin", "configList", common),
        sriovDevicePlugin=_plugin("sriov-network-device-plugin", "resourceList", own),
        secondaryNetwork=_secondary(topology),
        nvIpam={"image": "nvidia-k8s-ipam"} if nv_ipam else {},
    )
    if spec:
        yield {
            "apiVersion": "mellanox.com/v1alpha1",
            "kind": "NicClusterPolicy",
            "metadata": {"name": POLICY},
            "spec": spec,
        }


def _plugin(image: str, key: str, entries: list[Any]) -> dict[str, Any]:
    return {"image": image, "config": text({key: entries})} if entries else {}


def _secondary(topology: ClusterTopology) -> dict[str, Any]:
    """Multus and its plugins. OpenShift has its own, without the plugin for IPoIB."""
    kinds = {each.kind for each in topology.fabrics.values()} & set(NETWORKED)
    own = kinds and topology.platform != "openshift"
    return non_empty(
        cniPlugins={"image": "plugins"} if own else {},
        ipoib={"image": "ipoib-cni"} if "ipoib" in kinds else {},
        multus={"image": "multus-cni"} if own else {},
    )


def by_resource(fabric: Fabric) -> Iterator[Resource]:
    """The resources of a fabric and the rails of each."""
    for name in dict.fromkeys(rail.resource for rail in fabric.rails if rail.resource):
        yield fabric, name, [rail for rail in fabric.rails if rail.resource == name]


def shared(topology: ClusterTopology) -> list[Resource]:
    """The resources of the shared device plugin."""
    return [each for fabric in topology.fabrics.values() if shares_verbs(fabric) for each in by_resource(fabric)]


def exclusive(topology: ClusterTopology) -> list[Resource]:
    """The resources of the SR-IOV device plugin: devices, or their existing virtual functions."""
    fabrics = (each for each in topology.fabrics.values() if each.kind == "hostdevice")
    verbs = (each for each in topology.fabrics.values() if each.kind == "none" and not each.shared)
    return [each for fabric in (*fabrics, *verbs) for each in by_resource(fabric)]


def _shared(resource: Resource) -> dict[str, Any]:
    fabric, name, rails = resource
    prefix, _, plain = name.rpartition("/")
    return {
        **({"resourcePrefix": prefix} if prefix != SHARED_PREFIX else {}),
        "resourceName": plain,
        "rdmaHcaMax": (fabric.shares or SHARES) if fabric.shared else 1,
        "selectors": _shared_selectors(fabric, rails),
    }


def _shared_selectors(fabric: Fabric, rails: Sequence[Rail]) -> Mapping[str, Any]:
    names = list(dict.fromkeys(rail.device for rail in rails if rail.device))
    if names:
        return {"ifNames": names}
    return {
        "vendors": list(fabric.vendor_ids or (VENDOR,)),
        **non_empty(deviceIDs=list(fabric.device_ids), linkTypes=[LINKS[fabric.link_type]] if fabric.link_type else []),
    }


def _exclusive(resource: Resource) -> dict[str, Any]:
    fabric, name, rails = resource
    prefix, _, plain = name.rpartition("/")
    return {"resourcePrefix": prefix, "resourceName": plain, "selectors": _exclusive_selectors(fabric, rails)}


def _exclusive_selectors(fabric: Fabric, rails: Sequence[Rail]) -> Mapping[str, Any]:
    """A PCI address selects a whole device. The name of a port selects only its virtual functions (GetPfName in
    pkg/utils/utils.go is empty for other devices)."""
    ports = list(dict.fromkeys(rail.device for rail in rails if rail.device))
    return {
        "vendors": list(fabric.vendor_ids or (VENDOR,)),
        **non_empty(
            devices=list(fabric.device_ids),
            pciAddresses=[port for port in ports if ":" in port],
            pfNames=[port for port in ports if ":" not in port],
        ),
        "isRdma": True,
    }


# What the file must declare before fabrics can be exported, and what the operator's version does not support.

FABRICS: Route = ("topology", "spec", "fabrics")
RANGES = ("nv-ipam", "whereabouts", "host-local")
OURS = (*NETWORKED, "dranet", "none")
RAIL_POOLS, GLOBAL = "26.4", "26.1"


def judge(topology: ClusterTopology, target: Target) -> tuple[Diagnostic, ...]:
    """Facts that the file lacks, and fields that the operator's version does not support: T613, T614, T615."""
    issues = tuple(_judge_fabrics(topology, target))
    issues += () if has_errors(issues) else tuple(_collisions(topology, target))
    return issues if has_errors(issues) else (*issues, *_one_policy(topology, target), *_prefixes(topology))


def _judge_fabrics(topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    for fabric in topology.fabrics.values():
        route: Route = (*FABRICS, fabric.name)
        if fabric.kind not in OURS:
            message = f'no objects for the {fabric.kind} fabric "{fabric.name}": the cloud creates its networks'
            yield info("T613", route, message, hint="no action needed")
            continue
        if fabric.kind in NETWORKED:
            yield from _placed(fabric, topology, route)
            yield from _ranges(fabric, route)
        yield from _ports(fabric, route)
        yield from _versions(fabric, target, route)


def _placed(fabric: Fabric, topology: ClusterTopology, route: Route) -> Iterator[Diagnostic]:
    for index, rail in enumerate(fabric.rails):
        if not network_of(rail, topology)[0]:
            message = f'the namespace of the network "{rail.network}" is missing'
            hint = f"write NAMESPACE/{rail.network}, or set `defaults: {{namespace: ...}}`"
            yield error("T613", (*route, "rails", index, "network"), message, hint=hint)


def _ranges(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    own = fabric.ipam
    if own.kind == "nv-ipam" and not own.per_node:
        message = "nv-ipam needs the number of addresses for each node"
        hint = "add `perNode:` with the number of pods of a node on one rail, plus one"
        yield error("T613", (*route, "ipam"), message, hint=hint)
    for index, rail in enumerate(fabric.rails):
        if own.kind in RANGES and not rail.subnet:
            message = f"{own.kind} needs the subnet of the rail"
            yield error("T613", (*route, "rails", index), message, hint="add `subnet:`, such as 10.0.0.0/24")
    if own.kind == "host-local" and own.exclude:
        message = "host-local ignores `exclude`"
        yield warning("T613", (*route, "ipam", "exclude"), message, hint="use `rangeStart` to keep addresses free")
    if not own.kind and any(rail.subnet for rail in fabric.rails):
        message = f'the rails of fabric "{fabric.name}" have subnets, but no IPAM assigns their addresses'
        yield warning("T613", route, message, hint="add `ipam: {type: nv-ipam, perNode: 16}`")


def _ports(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    """The ports of rails."""
    resources = {rail.resource for rail in fabric.rails}
    needed = fabric.kind in ("macvlan", "ipoib", "spectrumx")
    several = len(resources) > 1 and (fabric.kind in ("hostdevice", "sriov", "none") or shares_verbs(fabric))
    for index, rail in enumerate(fabric.rails):
        if not rail.device and (needed or several):
            why = "" if needed else ", which distinguishes the resources of the fabric"
            message = f"the rail has no port{why}"
            hint = "add `device:`, the port's interface on the nodes, such as ens1f0np0"
            yield error("T613", (*route, "rails", index), message, hint=hint)
        elif ":" in rail.device and fabric.kind not in ("hostdevice", "sriov", "none"):
            message = f"{fabric.kind} needs the name of an interface, not a PCI address"
            yield error("T613", (*route, "rails", index, "device"), message, hint="write a name such as ens1f0np0")
    named = [n for n, rail in enumerate(fabric.rails) if rail.device and ":" not in rail.device]
    if named and fabric.kind in ("hostdevice", "none") and not fabric.shared:
        message = f'"{fabric.rails[named[0]].device}" selects the virtual functions of the port, and not the port'
        hint = "if pods use whole ports, write PCI addresses: `device: 0000:1a:00.0`"
        yield info("T613", (*route, "rails", named[0], "device"), message, hint=hint)
    if fabric.kind == "spectrumx" and not fabric.mtu:
        yield error("T613", route, "rails of Spectrum-X need an MTU", hint="add `mtu: 9000`")


def _versions(fabric: Fabric, target: Target, route: Route) -> Iterator[Diagnostic]:
    """T614."""
    release = target.versions.get("networkOperator", "")
    if fabric.kind == "spectrumx" and not target.since("networkOperator", RAIL_POOLS):
        message = f"the Network Operator {release} has no SpectrumXRailPoolConfig, which exists since {RAIL_POOLS}"
        yield error("T614", (*route, "kind"), message, hint="upgrade the operator, or use the kind sriov")
    if fabric.source_routing and fabric.kind in ("macvlan", "hostdevice") and not chains(target):
        which = f"the Network Operator {release} has" if release else f"Network Operators before {CHAINING} have"
        message = f"{which} no `metaPlugins`, so bayplan writes NetworkAttachmentDefinitions instead"
        hint = f'no action needed; for {CHAINING}, write `versions: {{networkOperator: "{CHAINING}"}}`'
        yield info("T614", (*route, "sourceRouting"), message, hint=hint)


def _one_policy(topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """T615: the policy's parts lack settings that are not in a topology."""
    if not any(write_policy(topology, target)):
        return
    message = "the NicClusterPolicy lacks the registry and version of its images"
    hint = "merge it with `kubectl apply --server-side`; `global` of the cluster's policy has registry and version"
    if not target.since("networkOperator", GLOBAL):
        hint = "add `repository` and `version` to each part, as in the cluster's policy"
    yield info("T615", ("topology", "spec", "fabrics"), message, hint=hint)


def _prefixes(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T615: the SR-IOV operator gives all its resources one prefix."""
    for fabric in topology.fabrics.values():
        prefixes = sorted({rail.resource.rpartition("/")[0] for rail in fabric.rails})
        usual = "openshift.io" if topology.platform == "openshift" else "nvidia.com"
        if fabric.kind == "sriov" and prefixes != [usual]:
            found = listing(prefixes, "and")
            message = f'resources of the SR-IOV operator have the prefix "{usual}", but the file has {found}'
            hint = f"set `resourcePrefix` of the operator to {prefixes[0]}, or correct `resource` of the rails"
            yield warning("T615", (*FABRICS, fabric.name, "rails", 0, "resource"), message, hint=hint)


def _collisions(topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """T613: two networks that need one object. Some objects are cluster-scoped and have the name of the network."""
    first: dict[tuple[str, str, str], Manifest] = {}
    for fabric, manifest in _networks(topology, target):
        key = _key(manifest)
        if first.setdefault(key, manifest) != manifest:
            message = f'two networks need the same {key[0]} "{key[2]}"'
            hint = "rename one: an object has the name of its network, without the namespace"
            yield error("T613", (*FABRICS, fabric.name), message, hint=hint)


# The objects of a topology's fabrics, which set up the networks of a cluster.
#
# Network Operator 25.7 to 26.7 (api/v1alpha1, manifests/state-*-network), `nvidia-k8s-ipam` v1alpha1, SR-IOV Network
# Operator v1, spectrum-x-operator v1alpha2, dranet 1.4.

Write = Callable[[Fabric, ClusterTopology, Target], Iterator[Manifest]]

NETWORKS: Mapping[str, Write] = {
    "macvlan": network_operator.macvlan,
    "ipoib": network_operator.ipoib,
    "hostdevice": network_operator.host_device,
    "sriov": network_operator.write_sriov,
    "spectrumx": network_operator.write_spectrum,
    "dranet": network_operator.write_device_class,
}
"""Kind of fabric -> its networks. Other kinds have networks of the cloud, or no networks."""


def write(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """The policy of the operator, pools of addresses, then networks. Each object once, because rails can share them."""
    pools = (each for fabric in topology.fabrics.values() for each in network_operator.write_pools(fabric, topology))
    networks = (manifest for _, manifest in _networks(topology, target))
    return tuple({_key(each): each for each in (*write_policy(topology, target), *pools, *networks)}.values())


def _networks(topology: ClusterTopology, target: Target) -> Iterator[tuple[Fabric, Manifest]]:
    for fabric in topology.fabrics.values():
        if fabric.kind in NETWORKS:
            yield from ((fabric, manifest) for manifest in NETWORKS[fabric.kind](fabric, topology, target))


def _key(manifest: Manifest) -> tuple[str, str, str]:
    return manifest["kind"], manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]
