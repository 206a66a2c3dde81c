"""Spectrum-X: one object lists the rails, and its operator makes policies and networks of their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.fabrics import network_of, selectors_of
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Fabric, Rail
from bayplan.topologies.network_operator import pools
from bayplan.topologies.network_operator.addressing import ipam, pool_name, text

API = "spectrumx.nvidia.com/v1alpha2"


def write(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """One for each kind of node. Pods take the cards from the device plugin, so `draEnabled` is off."""
    nodes = selectors_of(topology, fabric.name) or ({},)
    for number, labels in enumerate(nodes):
        yield {
            "apiVersion": API,
            "kind": "SpectrumXRailPoolConfig",
            "metadata": {
                "name": fabric.name + (f"-{number}" if len(nodes) > 1 else ""),
                "namespace": pools.namespace(fabric),
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
    made = {
        "name": network_of(rail, topology)[1],
        "nicSelector": {"pfNames": [rail.device]},
        "mtu": fabric.mtu,
    }
    if fabric.ipam.kind == "nv-ipam":
        return {**made, "cidrPoolRef": pool_name(fabric, rail, topology)}
    own = text(ipam(fabric, rail, topology))
    return {**made, "ipam": own} if own else made
