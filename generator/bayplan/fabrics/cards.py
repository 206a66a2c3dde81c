"""Network cards as extended resources: which resources are RDMA cards, and the fabric that their names suggest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from bayplan.core.values import grouped
from bayplan.fabrics import LOCK, ONE
from bayplan.kube.objects import items, mapping
from bayplan.kube.pod import NETWORKS, host_network, templates
from bayplan.model.manifest import PodParts
from bayplan.model.topology import ClusterTopology, Fabric, Pool, Rail
from bayplan.model.workflow import PodSet

EFA = "vpc.amazonaws.com/efa"
GKE = "networking.gke.io.networks/"
"""Prefix of a resource for each Network of GKE (cloud.google.com, "Set up multi-network support for Pods")."""
SHARED = "rdma/"
"""Default prefix of the shared device plugin (k8s-rdma-shared-dev-plugin, pkg/resources/resources_manager.go)."""
GKE_INTERFACES = "networking.gke.io/interfaces"

MOST_CARDS = 16
"""More of one resource are shares, not cards: `rdmaHcaMax` is 63 or more in all examples of the Network Operator."""

_CARD = re.compile(rf"rdma|roce|efa$|/rail|/ib|hca|mlnx|sriov|hostdev|infiniband|ovs|^{re.escape(GKE)}", re.I)
_LINKS = (("infiniband", re.compile(r"/ib|infiniband|_ib", re.I)), ("ethernet", re.compile(r"roce|eth", re.I)))


@cache
def is_card(resource: str) -> bool:
    """Whether the extended resource is a network card, by its name."""
    return bool(_CARD.search(resource)) and not resource.endswith(".IP")


def proposed(resources: Mapping[str, int]) -> dict[str, Fabric]:
    """The fabrics of a node with these amounts, in thousandths. They have no networks and no names of RDMA devices."""
    cards = {name: amount // ONE for name, amount in sorted(resources.items()) if is_card(name) and amount >= ONE}
    by_name = grouped((_fabric_name(name, count), name) for name, count in cards.items())
    return {fabric: _fabric(fabric, {name: cards[name] for name in names}) for fabric, names in by_name.items()}


def _fabric_name(resource: str, count: int) -> str:
    if resource == EFA or resource.startswith(GKE):
        return "efa" if resource == EFA else "gke"
    return "rdma-shared" if resource.startswith(SHARED) and count > MOST_CARDS else "rdma"


def _fabric(name: str, cards: Mapping[str, int]) -> Fabric:
    if name == "gke":
        return Fabric(
            name,
            name,
            "ethernet",
            rails=tuple(Rail(each.removeprefix(GKE), interface=f"eth{n}") for n, each in enumerate(cards, 1)),
        )
    links = [links for links, pattern in _LINKS if all(pattern.search(each) for each in cards)]
    if name == "rdma-shared":
        rails = tuple(Rail(resource=each) for each in cards)
        return Fabric(name, "none", "".join(links[:1]), "shared", rails, shares=min(cards.values()))
    rails = tuple(Rail(resource=each) for each, count in cards.items() for _ in range(min(count, 64)))[:64]
    return Fabric(name, "efa" if name == "efa" else "none", "" if name == "efa" else "".join(links[:1]), rails=rails)


def with_proposed(topology: ClusterTopology) -> ClusterTopology:
    """The topology with the fabrics that the resources of its nodes suggest, if no source describes any."""
    if topology.fabrics:
        return topology
    fabrics: dict[str, Fabric] = {}
    pools = []
    for pool in topology.pools:
        names = []
        for fabric in proposed(pool.node.resources).values():
            name = fabric.name if fabrics.get(fabric.name, fabric) == fabric else f"{fabric.name}-{pool.name}"[:63]
            fabrics[name] = fabric._replace(name=name)
            names.append(name)
        pools.append(pool._replace(node=pool.node._replace(fabrics=tuple(names))))
    if all(set(pool.node.fabrics or ()) == fabrics.keys() for pool in pools):
        return topology._replace(fabrics=fabrics)
    return topology._replace(fabrics=fabrics, pools=tuple(pools))


UNKNOWN = "`hca`, the RDMA device of each rail; and `network`, if pods need an interface on it"
"""What the resources of nodes do not tell."""


def unknown(fabric: Fabric) -> str:
    """What a fabric leaves out that NCCL or Multus needs; empty if it leaves out nothing."""
    return UNKNOWN if fabric.kind == "none" and not any(rail.hca for rail in fabric.rails) else ""


def shown(fabric: Fabric) -> str:
    """The fabric as a mapping for a hint. It shows at most two rails."""
    keys = {"network": "network", "resource": "resource"}
    rails = [", ".join(f"{key}: {getattr(rail, key)}" for key in keys if getattr(rail, key)) for rail in fabric.rails]
    more = ", ..." if len(rails) > 2 else ""
    attach = f"attach: shared, shares: {fabric.shares}, " if fabric.shared else ""
    listed = ", ".join(f"{{{each}}}" for each in rails[:2])
    return f"{fabric.name}: {{kind: {fabric.kind}, {attach}rails: [{listed}{more}]}}"


def by_hand(spec: PodSet, pool: Pool | None) -> bool:
    """Whether a podSet gets cards without a fabric: by resources, claims, annotations or its node's network."""
    return bool(host_network(spec, pool)) or any(map(is_card, spec.resources)) or any(_templates(spec, pool))


def _templates(spec: PodSet, pool: Pool | None) -> Iterator[bool]:
    for patch in templates(spec, pool):
        yield not {NETWORKS, GKE_INTERFACES}.isdisjoint(mapping(patch, "metadata", "annotations"))
        yield bool(items(patch, "spec", "resourceClaims"))
        for container in items(patch, "spec", "containers"):
            yield any(map(is_card, mapping(container, "resources", "limits")))


FREE = ("efa", "gke")
"""Kinds whose pods need IPC_LOCK only if the file says so."""


def unlocked(topology: ClusterTopology) -> frozenset[str]:
    """Resources of fabrics whose pods need no IPC_LOCK."""
    free = (each for each in topology.fabrics.values() if each.ipc_lock is False or each.memlock or each.kind in FREE)
    return frozenset(rail.resource for fabric in free for rail in fabric.rails)


def lock(spec: PodSet, topology: ClusterTopology) -> PodParts:
    """IPC_LOCK for cards that a podSet requests in `resources`: those of fabrics, and of the shared plugin."""
    declared = {rail.resource for fabric in topology.fabrics.values() for rail in fabric.rails}
    cards = {name for name in spec.resources if name in declared or name.startswith(SHARED)}
    return PodParts(capabilities=(LOCK,)) if cards - unlocked(topology) else PodParts()
