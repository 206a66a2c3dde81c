"""Which nodes hang on which fabric, and what the kinds of fabrics have in common."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.model.fabric import Fabric, Rail
from bayplan.model.topology import ClusterTopology, Pool

NETWORKED = ("macvlan", "ipoib", "hostdevice", "sriov", "spectrumx")
"""Kinds whose rails are networks of Multus."""


MOVING = ("hostdevice", "sriov", "spectrumx")
"""Those that move a device into the pod for each attachment: one of those that the pod was given."""


def pools_of(topology: ClusterTopology, fabric: str) -> tuple[Pool, ...]:
    """The pools whose nodes hang on a fabric."""
    return tuple(each for each in topology.pools if each.node.fabrics is None or fabric in each.node.fabrics)


def nodes_of(topology: ClusterTopology, fabric: str) -> int:
    """How many nodes those are."""
    return sum(len(domain.nodes) for pool in pools_of(topology, fabric) for domain in pool.domains)


def selectors_of(topology: ClusterTopology, fabric: str) -> tuple[Mapping[str, str], ...]:
    """The labels of the nodes on a fabric, one mapping for each kind of node; empty where nodes cannot be told."""
    pools = pools_of(topology, fabric)
    found = [dict(each.node.node_selector) for each in pools]
    if not all(found) or len(pools) == len(topology.pools) == 1:
        return tuple(found[:1]) if found and found[0] else ()
    return tuple(each for number, each in enumerate(found) if each not in found[:number])


def network_of(rail: Rail, topology: ClusterTopology) -> tuple[str, str]:
    """Namespace and name of a rail's network; a network that names no namespace stands in the default one."""
    space, _, name = rail.network.rpartition("/")
    return space or topology.defaults.get("namespace", ""), name


def shares_verbs(fabric: Fabric) -> bool:
    """Whether the shared device plugin gives pods its RDMA devices: that of one pod alone has one share."""
    return fabric.kind in ("macvlan", "ipoib") or (fabric.kind == "none" and fabric.shared)
