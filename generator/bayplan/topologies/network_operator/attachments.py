"""MacvlanNetworks, IPoIBNetworks, HostDeviceNetworks: the operator makes a NetworkAttachmentDefinition of each.

Operators before 26.7 chain no plugins behind these, and rails in one subnet need two: then the definition itself is
written, as the operator would make it (manifests/state-macvlan-network, state-hostdevice-network).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.fabrics import network_of
from bayplan.kube.networks import RESOURCE
from bayplan.kube.objects import given
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Fabric, Rail
from bayplan.topologies.network_operator.addressing import ipam, text

API = "mellanox.com/v1alpha1"
CHAINING = "26.7"
SYSCTLS = {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "0"}
ROUTING: tuple[dict[str, Any], ...] = (
    {
        "type": "tuning",
        "sysctl": {f"net.ipv4.conf.{of}.{key}": value for of in ("all", "IFNAME") for key, value in SYSCTLS.items()},
    },
    {"type": "sbr"},
)
"""Answers leave by the interface whose address they carry, ARP is answered for its own addresses alone, and nothing is
dropped for the way it came (Network Operator README, multi-rail). `tuning` puts the interface's name for IFNAME."""


def chains(target: Target) -> bool:
    """Whether the operator is known to take `metaPlugins`: 26.7 is new, so the file has to say that it is there."""
    return "networkOperator" in target.versions and target.since("networkOperator", CHAINING)


def meta(fabric: Fabric) -> str:
    """`metaPlugins`: plugins one after the other, without the brackets of a list."""
    return ",\n".join(text(each).strip() for each in ROUTING) + "\n" if fabric.source_routing else ""


def macvlan(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """In `bridge` mode, pods of one node reach each other too."""
    for rail in fabric.rails:
        own = {"master": rail.device, "mode": "bridge", **given(mtu=fabric.mtu)}
        config = {"type": "macvlan", **own}
        yield _one("MacvlanNetwork", own, config, fabric, rail, topology, target)


def host_device(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """The operator puts `nvidia.com/` before the resource's name."""
    for rail in fabric.rails:
        own = {"resourceName": rail.resource.rpartition("/")[2]}
        yield _one("HostDeviceNetwork", own, {"type": "host-device"}, fabric, rail, topology, target)


def ipoib(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """These chain nothing, in any version."""
    for rail in fabric.rails:
        yield _wanted("IPoIBNetwork", {"master": rail.device}, fabric, rail, topology)


def _one(
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
    return _wanted(kind, {**own, **given(metaPlugins=meta(fabric))}, fabric, rail, topology)


def _wanted(kind: str, own: dict[str, Any], fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Manifest:
    space, name = network_of(rail, topology)
    addresses = given(ipam=text(ipam(fabric, rail, topology)))
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"networkNamespace": space, **own, **addresses},
    }


def _definition(config: dict[str, Any], fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Manifest:
    space, name = network_of(rail, topology)
    plugins = [{**config, **given(ipam=ipam(fabric, rail, topology))}, *ROUTING]
    annotations = {RESOURCE: rail.resource} if fabric.kind == "hostdevice" else {}
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": space, **given(annotations=annotations)},
        "spec": {"config": text({"cniVersion": "0.3.1", "name": name, "plugins": plugins})},
    }
