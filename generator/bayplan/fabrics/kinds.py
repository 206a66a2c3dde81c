"""The kinds of fabrics, one row each: what a pod on it has, and the names of its interfaces.

All kinds share resources, locked memory, shared memory, and the variables that the libraries read. Kinds with networks
of Multus write its annotation as `kube/networks.py` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bayplan.fabrics import FabricRequest, dranet, pins
from bayplan.fabrics.pods import pod
from bayplan.kube.objects import non_empty
from bayplan.kube.pod import NETWORKS
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.target import Target
from bayplan.model.topology import SHARING, Rail


def _attached(request: FabricRequest) -> PodParts:
    """A network for each rail, and its device: Multus gives each attachment one of the devices that the pod requested.

    Kinds whose pods share cards request shares of RDMA devices instead; without RDMA nothing pins memory.
    """
    names = _network_interfaces(request)
    pod_parts = pod(request, names[0] if names else "", request.fabric.kind not in SHARING or pins(request))
    return pod_parts._replace(annotations={NETWORKS: _annotation(request)}) if names else pod_parts


def _network_interfaces(request: FabricRequest) -> tuple[str, ...]:
    """The names of the attached networks' interfaces, in order. Without a name, the place decides."""
    return tuple(rail.interface or f"net{number + 1}" for number, rail in enumerate(_networked(request)))


def _networked(request: FabricRequest) -> tuple[Rail, ...]:
    """The rails that have a network."""
    return tuple(rail for rail in request.rails if rail.network)


def _annotation(request: FabricRequest) -> str:
    """`ns/name@interface, ...`; JSON if one has a fixed address, which the short form cannot express."""
    if not request.attachment.address:
        return ",".join(rail.network + (f"@{rail.interface}" if rail.interface else "") for rail in _networked(request))
    import json  # rank 0 of few workflows

    rails = [_entry(request, number, rail) for number, rail in enumerate(_networked(request))]
    return json.dumps(rails, separators=(",", ":"))


def _entry(request: FabricRequest, number: int, rail: Rail) -> dict[str, Any]:
    namespace, _, name = rail.network.rpartition("/")
    return {
        "name": name,
        **non_empty(namespace=namespace, interface=rail.interface),
        **({} if number else {"ips": [request.attachment.address]}),
    }


GKE_DEFAULT = "networking.gke.io/default-interface"
GKE_INTERFACES = "networking.gke.io/interfaces"
GKE_PRIMARY_NETWORK = "default"


def _gke(request: FabricRequest) -> PodParts:
    """GKE multi-networking: annotations name all interfaces of a pod, including the primary one, and their Networks
    (cloud.google.com, "Set up multi-network support for Pods"). Its webhook requests what the networks need."""
    import json  # other kinds have no use for it

    names = _gke_interfaces(request)
    pod_parts = pod(request, names[0] if names else "")
    rows = [(request.primary, GKE_PRIMARY_NETWORK), *zip(names, (rail.network for rail in request.rails), strict=True)]
    listed = json.dumps([{"interfaceName": name, "network": network} for name, network in rows], separators=(",", ":"))
    return pod_parts._replace(annotations={GKE_DEFAULT: request.primary, GKE_INTERFACES: listed})


def _gke_interfaces(request: FabricRequest) -> tuple[str, ...]:
    """The names in the file, otherwise eth1, eth2 and so on after the primary one."""
    return tuple(rail.interface or f"eth{number + 1}" for number, rail in enumerate(request.rails))


def _host_network(request: FabricRequest) -> PodParts:
    """The node's own network, privileged if the file says so. The name of its primary interface is unknown.

    RDMA devices come from a device plugin if rails name a resource. Privileged pods see those of the node, as on bare
    metal of OKE. Pods still find Services by the cluster's DNS, because pod templates with hostNetwork get
    `dnsPolicy: ClusterFirstWithHostNet`.
    """
    names = dranet.interfaces(request)
    handed = any(rail.resource for rail in request.rails)
    pod_parts = pod(request._replace(primary=""), names[0] if names else "", locked=handed)
    return pod_parts._replace(spec={"hostNetwork": True}, privileged=request.fabric.privileged)


class Kind(NamedTuple):
    """What a pod on a fabric of the kind has, and the names of its interfaces in the order of the rails, if they are
    known."""

    parts: Callable[[FabricRequest], PodParts]
    interfaces: Callable[[FabricRequest], tuple[str, ...]] = lambda request: ()


KINDS: Mapping[str, Kind] = {
    # an interface of its own on a card that all pods of the node share (network-operator, MacvlanNetwork)
    "macvlan": Kind(_attached, _network_interfaces),
    # a child of an InfiniBand port for each pod (network-operator, IPoIBNetwork); macvlan cannot use such a port
    "ipoib": Kind(_attached, _network_interfaces),
    # a card, or a virtual function, moves into the pod (network-operator, HostDeviceNetwork)
    "hostdevice": Kind(_attached, _network_interfaces),
    # a virtual function for each rail (sriov-network-operator, SriovNetwork and SriovIBNetwork)
    "sriov": Kind(_attached, _network_interfaces),
    # a virtual function for each rail, whose network and resource have its name; its RDMA device is called
    # `rdma_<rail>` (spectrum-x-operator, SpectrumXRailPoolConfig v1alpha2)
    "spectrumx": Kind(_attached, _network_interfaces),
    "dranet": Kind(dranet.parts, dranet.interfaces),
    # an extended resource; `env` of the topology sets FI_* for libfabric, and `ipcLock` says whether pods need IPC_LOCK
    "efa": Kind(pod),
    "gke": Kind(_gke, _gke_interfaces),
    "hostnetwork": Kind(_host_network, dranet.interfaces),
    # RDMA devices without a network of their own: native InfiniBand needs only verbs (AKS: `rdma/ib`)
    "none": Kind(lambda request: pod(request, locked=pins(request))),
}


def interfaces(request: FabricRequest) -> tuple[str, ...]:
    """The interfaces that a pod has through its fabric, in the order of the rails, if they are known."""
    return KINDS[request.fabric.kind].interfaces(request)


def parts(request: FabricRequest) -> PodParts:
    """What a pod on the fabric has."""
    return KINDS[request.fabric.kind].parts(request)


def claim_template(request: FabricRequest, gpus: Manifest | None, target: Target) -> Manifest | None:
    """The claim template of the pods, for kinds that need one. It includes the requests of `gpus`, the template of the
    pods' accelerators."""
    return dranet.claim_template(request, gpus, target) if request.fabric.kind == "dranet" else None
