"""Pools of nv-ipam: an IPPool cuts one subnet into blocks, a CIDRPool gives every node a subnet of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.fabrics import NETWORKED, pools_of, selectors_of
from bayplan.kube import networks as ip
from bayplan.kube.objects import given
from bayplan.model.manifest import Manifest
from bayplan.model.topology import ClusterTopology, Fabric, Rail
from bayplan.topologies.network_operator import addressing

API = "nv-ipam.nvidia.com/v1alpha1"
NAMESPACE = "nvidia-network-operator"
"""Where the operator and its pools are, unless the file says otherwise."""


def namespace(fabric: Fabric) -> str:
    """The operator's: nv-ipam looks for pools nowhere else."""
    return fabric.ipam.namespace or NAMESPACE


def firsts(fabric: Fabric, key: str) -> tuple[Rail, ...]:
    """The first rail with each value of a key, in their order."""
    found: dict[str, Rail] = {}
    for rail in fabric.rails:
        found.setdefault(getattr(rail, key), rail)
    return tuple(found.values())


def write(fabric: Fabric, topology: ClusterTopology) -> Iterator[Manifest]:
    """A pool for each subnet."""
    if fabric.ipam.kind != "nv-ipam" or fabric.kind not in NETWORKED:
        return
    for rail in firsts(fabric, "subnet"):
        spec = _cidr(fabric, rail) if fabric.kind == "spectrumx" else _block(fabric, rail)
        yield {
            "apiVersion": API,
            "kind": "CIDRPool" if fabric.kind == "spectrumx" else "IPPool",
            "metadata": {"name": addressing.pool_name(fabric, rail, topology), "namespace": namespace(fabric)},
            "spec": {**spec, **given(nodeSelector=_nodes(fabric, topology))},
        }


def _block(fabric: Fabric, rail: Rail) -> dict[str, Any]:
    block = {"subnet": rail.subnet, "perNodeBlockSize": fabric.ipam.per_node}
    return {**block, **given(gateway=rail.gateway, exclusions=list(exclusions(fabric, rail)))}


def exclusions(fabric: Fabric, rail: Rail) -> Iterator[dict[str, str]]:
    """What is excluded, and what of the subnet is before or behind the range."""
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
    return {**cidr, **given(exclusions=list(exclusions(fabric, rail)))}


def _nodes(fabric: Fabric, topology: ClusterTopology) -> dict[str, Any]:
    """Terms for the nodes on the fabric, where others are not."""
    if len(pools_of(topology, fabric.name)) == len(topology.pools):
        return {}
    terms = [
        {"matchExpressions": [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]}
        for labels in selectors_of(topology, fabric.name)
        if labels
    ]
    return {"nodeSelectorTerms": terms} if terms else {}
