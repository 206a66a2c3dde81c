"""The parts of the NicClusterPolicy that a topology's fabrics need. There is one such object in a cluster, called
nic-cluster-policy; applied on the server's side these parts go into it, and the rest of it stays.

The configurations of both device plugins are JSON texts (k8s-rdma-shared-dev-plugin, SR-IOV Network Device Plugin
3.11; schemas of the Network Operator's webhook).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.fabrics import NETWORKED, shares_verbs
from bayplan.kube.objects import given
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Fabric, Rail
from bayplan.topologies.network_operator.addressing import text
from bayplan.topologies.network_operator.sriov import VENDOR

NAME = "nic-cluster-policy"
SHARES = 63
"""`rdmaHcaMax` where the file says none: what upstream's examples have."""

SHARED_PREFIX = "rdma"
LINKS = {"ethernet": "ether", "infiniband": "infiniband"}
Resource = tuple[Fabric, str, Sequence[Rail]]


def write(topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """The policy, if any fabric needs a part of it."""
    common, own = list(map(_shared, shared(topology))), list(map(_exclusive, exclusive(topology)))
    spec = given(
        rdmaSharedDevicePlugin=_plugin("k8s-rdma-shared-dev-plugin", "configList", common),
        sriovDevicePlugin=_plugin("sriov-network-device-plugin", "resourceList", own),
        secondaryNetwork=_secondary(topology),
        nvIpam={"image": "nvidia-k8s-ipam"} if _nv_ipam(topology) else {},
    )
    if spec:
        yield {
            "apiVersion": "mellanox.com/v1alpha1",
            "kind": "NicClusterPolicy",
            "metadata": {"name": NAME},
            "spec": spec,
        }


def _nv_ipam(topology: ClusterTopology) -> bool:
    return any(each.ipam.kind == "nv-ipam" and each.kind in NETWORKED for each in topology.fabrics.values())


def _plugin(image: str, key: str, entries: list[Any]) -> dict[str, Any]:
    return {"image": image, "config": text({key: entries})} if entries else {}


def _secondary(topology: ClusterTopology) -> dict[str, Any]:
    """Multus and its plugins. OpenShift brings its own; the plugin for IPoIB is in none of them."""
    kinds = {each.kind for each in topology.fabrics.values()} & set(NETWORKED)
    own = kinds and topology.platform != "openshift"
    return given(
        cniPlugins={"image": "plugins"} if own else {},
        ipoib={"image": "ipoib-cni"} if "ipoib" in kinds else {},
        multus={"image": "multus-cni"} if own else {},
    )


def by_resource(fabric: Fabric) -> Iterator[Resource]:
    """The resources of a fabric, each with its rails."""
    for name in dict.fromkeys(rail.resource for rail in fabric.rails if rail.resource):
        yield fabric, name, [rail for rail in fabric.rails if rail.resource == name]


def shared(topology: ClusterTopology) -> list[Resource]:
    """What the shared device plugin offers."""
    return [each for fabric in topology.fabrics.values() if shares_verbs(fabric) for each in by_resource(fabric)]


def exclusive(topology: ClusterTopology) -> list[Resource]:
    """What the SR-IOV device plugin offers: cards, or functions of them that are there already."""
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
        **given(deviceIDs=list(fabric.device_ids), linkTypes=[LINKS[fabric.link_type]] if fabric.link_type else []),
    }


def _exclusive(resource: Resource) -> dict[str, Any]:
    fabric, name, rails = resource
    prefix, _, plain = name.rpartition("/")
    return {"resourcePrefix": prefix, "resourceName": plain, "selectors": _exclusive_selectors(fabric, rails)}


def _exclusive_selectors(fabric: Fabric, rails: Sequence[Rail]) -> Mapping[str, Any]:
    """By PCI address a whole card; by a port's name its virtual functions, and never itself (GetPfName in
    pkg/utils/utils.go is empty for what is no function)."""
    ports = list(dict.fromkeys(rail.device for rail in rails if rail.device))
    return {
        "vendors": list(fabric.vendor_ids or (VENDOR,)),
        **given(
            devices=list(fabric.device_ids),
            pciAddresses=[port for port in ports if ":" in port],
            pfNames=[port for port in ports if ":" not in port],
        ),
        "isRdma": True,
    }
