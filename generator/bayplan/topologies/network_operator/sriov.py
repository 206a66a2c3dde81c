"""SR-IOV: a policy makes virtual functions of a port, a network gives them to pods (SR-IOV Network Operator v1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.fabrics import network_of, pools_of, selectors_of
from bayplan.kube.objects import given
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Fabric, Rail
from bayplan.topologies.network_operator import pools
from bayplan.topologies.network_operator.addressing import ipam, text
from bayplan.topologies.network_operator.attachments import meta

API = "sriovnetwork.openshift.io/v1"
OPENSHIFT = "openshift-sriov-network-operator"
PRESENT = {"feature.node.kubernetes.io/pci-15b3.present": "true"}
"""Nodes with a card of NVIDIA's, as Node Feature Discovery labels them."""

VENDOR = "15b3"


def namespace(fabric: Fabric, topology: ClusterTopology) -> str:
    """Where the SR-IOV operator looks for its objects."""
    return OPENSHIFT if topology.platform == "openshift" else pools.namespace(fabric)


def write(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """A policy for each resource and kind of node, then a network for each rail."""
    for rail in pools.firsts(fabric, "resource"):
        yield from _policies(fabric, rail, topology)
    for rail in fabric.rails:
        yield _network(fabric, rail, topology)


def _policies(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Iterator[Manifest]:
    nodes = selectors_of(topology, fabric.name) or (PRESENT,)
    name = rail.resource.rpartition("/")[2]
    for number, labels in enumerate(nodes):
        called = name.lower().replace("_", "-") + (f"-{number}" if len(nodes) > 1 else "")
        yield {
            "apiVersion": API,
            "kind": "SriovNetworkNodePolicy",
            "metadata": {"name": called, "namespace": namespace(fabric, topology)},
            "spec": {
                "resourceName": name,
                "nodeSelector": {**labels},
                "numVfs": functions(fabric, rail, topology),
                "nicSelector": {**selector(fabric, rail)},
                "deviceType": "netdevice",
                "isRdma": True,
                **given(linkType={"ethernet": "eth", "infiniband": "ib"}.get(fabric.link_type, ""), mtu=fabric.mtu),
            },
        }


def functions(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> int:
    """Virtual functions of each port: what the nodes offer of the resource, by the ports that it has; else 1."""
    ports = len({each.device or n for n, each in enumerate(fabric.rails) if each.resource == rail.resource})
    offered = [pool.node.resources.get(rail.resource, 0) // 1000 for pool in pools_of(topology, fabric.name)]
    return max(1, -(-max(offered, default=0) // ports))


def selector(fabric: Fabric, rail: Rail) -> Mapping[str, Any]:
    """The ports behind a resource: by name or PCI address, and by what kind of card they are."""
    ports = list(dict.fromkeys(each.device for each in fabric.rails if each.resource == rail.resource and each.device))
    named = [port for port in ports if ":" not in port]
    kind = given(vendor=(*fabric.vendor_ids, VENDOR)[0], deviceID="".join(fabric.device_ids[:1]))
    return {**kind, **given(pfNames=named, rootDevices=[port for port in ports if ":" in port])}


def _network(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Manifest:
    space, name = network_of(rail, topology)
    infiniband = fabric.link_type == "infiniband"
    return {
        "apiVersion": API,
        "kind": "SriovIBNetwork" if infiniband else "SriovNetwork",
        "metadata": {"name": name, "namespace": namespace(fabric, topology)},
        "spec": {
            "resourceName": rail.resource.rpartition("/")[2],
            "networkNamespace": space,
            **({"linkState": "enable"} if infiniband else {}),
            **given(ipam=text(ipam(fabric, rail, topology)), metaPlugins=meta(fabric)),
        },
    }
