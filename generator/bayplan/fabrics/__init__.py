"""Secondary networks of pods: what a podSet requests of its fabric, and what the nodes on a fabric offer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from bayplan.kube.objects import mapping
from bayplan.kube.pod import host_network, host_ports, templates
from bayplan.model.plan import allocator
from bayplan.model.topology import ClusterTopology, Fabric, Pool, Rail
from bayplan.model.workflow import Attachment, PodSet

ONE = 1000
"""Amounts of node resources are in thousandths."""

PRIMARY = "eth0"
"""The interface on the primary network (CRI-O and containerd pass this name to the CNI)."""

DRANET, DRA = "dranet", "dra"

LOCK = "IPC_LOCK"
"""Verbs pin memory, which needs this capability; the pod need not be privileged (network-operator 26.4,
example/rdma-test-pod1.yml)."""


class FabricRequest(NamedTuple):
    """What one podSet requests of its fabric, with its pool and namespace."""

    attachment: Attachment
    fabric: Fabric
    rails: tuple[Rail, ...]  # that are attached, in the order of the file
    pool: Pool
    namespace: str
    primary: str = PRIMARY  # the pod's interface on the primary network
    vendor: str = ""  # of its accelerator; empty: it has none
    cards: int = 0  # accelerators a pod
    claim: str = ""  # the name of its claim template
    spec: PodSet = PodSet("")
    together: bool = False  # its accelerators are claimed, too: one claim holds both, so that they can be neighbours


def fabric_request(
    spec: PodSet, topology: ClusterTopology, namespace: str = "", pool: str = "", claim: str = ""
) -> FabricRequest | None:
    """The request of a podSet; None if it has no fabric, or if the fabric does not exist."""
    attachment, own_pool, fabric = spec.fabric, topology.pool(pool), fabric_of(spec, topology)
    if attachment is None or fabric is None:
        return None
    own_namespace = topology.namespaces.get(namespace)
    kind = topology.accelerators.get(spec.accelerator.name) if spec.accelerator else None
    return FabricRequest(
        attachment,
        fabric,
        rails_of(attachment, fabric),
        own_pool or topology.pools[0],
        namespace,
        (own_namespace.primary_interface if own_namespace else "") or PRIMARY,
        kind.vendor if kind else "",
        spec.accelerator.per_pod if spec.accelerator else 0,
        claim,
        spec,
        fabric.kind == DRANET and bool(kind and spec.accelerator and allocator(spec.accelerator, kind) == DRA),
    )


def fabric_of(spec: PodSet, topology: ClusterTopology) -> Fabric | None:
    """The fabric of a podSet; None if it has none, or if the fabric does not exist."""
    return topology.fabrics.get(spec.fabric.name) if spec.fabric else None


def rails_of(attachment: Attachment, fabric: Fabric) -> tuple[Rail, ...]:
    """The requested rails, without numbers that the fabric does not have."""
    if not attachment.rails:
        return fabric.rails
    return tuple(rail for number, rail in enumerate(fabric.rails) if number in attachment.rails)


def amounts(spec: PodSet, topology: ClusterTopology) -> dict[str, int]:
    """Extended resources that a pod requests for its fabric.

    Cards of its own count one by one. One share of a shared pool is enough, because it brings all cards of the pool
    (`k8s-rdma-shared-dev-plugin`, pkg/resources/server.go).
    """
    fabric = fabric_of(spec, topology)
    return resources(fabric, rails_of(spec.fabric, fabric)) if spec.fabric and fabric else {}


def resources(fabric: Fabric, rails: tuple[Rail, ...]) -> dict[str, int]:
    """Extended resource -> the amount that a pod on these rails requests."""
    counted = Counter(rail.resource for rail in rails if rail.resource)
    return {name: 1 if fabric.shared else count for name, count in counted.items()}


def bounded(spec: PodSet, topology: ClusterTopology, pool: Pool | None, master: int = 0) -> dict[str, int]:
    """Things of which a node has a fixed number that its file does not state: key with the bound -> a pod's request.

    Claimed cards are not a resource of the node. A rail that names its card serves one pod; a node has as many other
    cards as its fabric has rails. Only one pod can use a port of the node. `master`: the port of rank 0.
    """
    fabric = fabric_of(spec, topology)
    bounds: dict[str, int] = {}
    if spec.fabric and fabric and fabric.kind == DRANET:
        for number, rail in enumerate(fabric.rails):
            if not spec.fabric.rails or number in spec.fabric.rails:
                named = rail.hca or rail.device or rail.selectors
                key = f"1:rail {number} of {fabric.name}" if named else f"{len(fabric.rails)}:rail of {fabric.name}"
                bounds[key] = bounds.get(key, 0) + 1
    shared = on_host(spec, fabric, pool)
    patches = (mapping(each, "spec") for each in templates(spec, pool))
    ports = [port for patch in patches for port in host_ports(patch, shared)]
    if shared:
        ports += (*spec.ports.values(), *((master,) if master else ()))
    return bounds | {f"1:port {port} of the node": 1 for port in ports}


def on_host(spec: PodSet, fabric: Fabric | None, pool: Pool | None) -> bool:
    """Whether pods use their node's network: their template decides, then their pool's, then their fabric."""
    requested = host_network(spec, pool)
    return fabric is not None and fabric.kind == "hostnetwork" if requested is None else requested


def offering(topology: ClusterTopology) -> ClusterTopology:
    """The topology whose nodes also offer the resources of their fabrics' rails, unless the file states them."""
    if not any(rail.resource for fabric in topology.fabrics.values() for rail in fabric.rails):
        return topology
    return topology._replace(pools=tuple(_offering(pool, topology.fabrics) for pool in topology.pools))


def _offering(pool: Pool, fabrics: Mapping[str, Fabric]) -> Pool:
    names = fabrics if pool.node.fabrics is None else pool.node.fabrics
    implied: dict[str, int] = {}
    for fabric in (fabrics[name] for name in names if name in fabrics):
        shares = fabric.shares * ONE or pool.node.resources.get("pods", 110 * ONE)
        own = resources(fabric, fabric.rails)
        implied |= {name: shares if fabric.shared else count * ONE for name, count in own.items()}
    return pool._replace(node=pool.node._replace(resources=dict(sorted({**implied, **pool.node.resources}.items()))))


# The nodes on each fabric, and properties of the kinds of fabrics.

NETWORKED = ("macvlan", "ipoib", "hostdevice", "sriov", "spectrumx")
"""Kinds whose rails are networks of Multus."""

MOVING = ("hostdevice", "sriov", "spectrumx")
"""Kinds that move a device into the pod for each attachment: one of the devices that the pod requested."""


def pools_of(topology: ClusterTopology, fabric: str) -> tuple[Pool, ...]:
    """The pools whose nodes are on a fabric."""
    return tuple(each for each in topology.pools if each.node.fabrics is None or fabric in each.node.fabrics)


def nodes_of(topology: ClusterTopology, fabric: str) -> int:
    """The number of nodes on a fabric."""
    return sum(len(domain.nodes) for pool in pools_of(topology, fabric) for domain in pool.domains)


def selectors_of(topology: ClusterTopology, fabric: str) -> tuple[Mapping[str, str], ...]:
    """The labels of the nodes on a fabric, one mapping for each pool; empty if labels do not select these nodes."""
    pools = pools_of(topology, fabric)
    selectors = [dict(each.node.node_selector) for each in pools]
    if not all(selectors) or len(pools) == len(topology.pools) == 1:
        return tuple(selectors[:1]) if selectors and selectors[0] else ()
    return tuple(each for number, each in enumerate(selectors) if each not in selectors[:number])


def network_of(rail: Rail, topology: ClusterTopology) -> tuple[str, str]:
    """Namespace and name of a rail's network. Without a namespace it is in the default one."""
    space, _, name = rail.network.rpartition("/")
    return space or topology.defaults.get("namespace", ""), name


def shares_verbs(fabric: Fabric) -> bool:
    """Whether the shared device plugin gives pods the RDMA devices. A device for only one pod has one share."""
    return fabric.kind in ("macvlan", "ipoib") or (fabric.kind == "none" and fabric.shared)


def pins(request: FabricRequest) -> bool:
    """Whether the rails are RDMA, not a network only for TCP."""
    return any(rail.hca or rail.resource for rail in request.rails)
