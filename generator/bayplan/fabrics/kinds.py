"""The kinds of fabrics, one row each: what a pod on it carries, and how its interfaces are called.

All kinds share resources, locked memory, shared memory, and the variables that the libraries read. Kinds with networks
of Multus write its annotation as `kube/multus.py` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bayplan.core.values import NamedTuple
from bayplan.fabrics import Wanted, dranet, pins
from bayplan.fabrics.pods import pod
from bayplan.kube.pod import NETWORKS
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.target import Target
from bayplan.model.topology import Rail


def _with_shared_devices(asked: Wanted) -> PodParts:
    """A network for each rail that names no resource; shares of RDMA devices are asked for apart. Without RDMA nothing
    pins memory."""
    return _attached(asked, pins(asked))


def _with_own_devices(asked: Wanted) -> PodParts:
    """A network and a device for each rail. Multus hands each attachment one of the devices that the pod was given: as
    many are asked for as are attached."""
    return _attached(asked, locked=True)


def _attached(asked: Wanted, locked: bool) -> PodParts:
    """A pod that is attached to each rail."""
    names = _network_interfaces(asked)
    made = pod(asked, names[0] if names else "", locked)
    return made._replace(annotations={NETWORKS: _annotation(asked)}) if names else made


def _network_interfaces(asked: Wanted) -> tuple[str, ...]:
    """How the interfaces of the attached networks are called, in order: by their place where nobody names them."""
    found = (rail.interface or f"net{number + 1}" for number, rail in enumerate(_networked(asked)))
    return tuple(found)


def _networked(asked: Wanted) -> tuple[Rail, ...]:
    """The rails that have a network."""
    return tuple(rail for rail in asked.rails if rail.network)


def _annotation(asked: Wanted) -> str:
    """`ns/name@interface, ...`; JSON where one has an address of its own, for which the short form has no place."""
    if not asked.asked.address:
        return ",".join(rail.network + (f"@{rail.interface}" if rail.interface else "") for rail in _networked(asked))
    import json  # rank 0 of few workflows

    rails = [_entry(asked, number, rail) for number, rail in enumerate(_networked(asked))]
    return json.dumps(rails, separators=(",", ":"))


def _entry(asked: Wanted, number: int, rail: Rail) -> dict[str, Any]:
    namespace, _, name = rail.network.rpartition("/")
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        **({"interface": rail.interface} if rail.interface else {}),
        **({} if number else {"ips": [asked.asked.address]}),
    }


def _only_devices(asked: Wanted) -> PodParts:
    """RDMA devices without a network of their own: native InfiniBand needs no more than verbs (AKS: `rdma/ib`)."""
    return pod(asked, locked=pins(asked))


def _efa(asked: Wanted) -> PodParts:
    """Elastic Fabric Adapters as an extended resource. The topology's `env` says what libfabric reads (FI_*), and its
    `ipcLock` whether pods need IPC_LOCK."""
    return pod(asked)


GKE_DEFAULT = "networking.gke.io/default-interface"
GKE_INTERFACES = "networking.gke.io/interfaces"
GKE_PRIMARY_NETWORK = "default"


def _gke(asked: Wanted) -> PodParts:
    """GKE multi-networking: annotations name all interfaces of a pod, the primary one among them, and their Networks
    (cloud.google.com, "Set up multi-network support for Pods"). Its webhook asks for what the networks need."""
    import json  # other kinds have no use for it

    names = _gke_interfaces(asked)
    made = pod(asked, names[0] if names else "")
    networks = (rail.network for rail in asked.rails)
    rows = [(asked.primary, GKE_PRIMARY_NETWORK), *zip(names, networks, strict=True)]
    listed = json.dumps([{"interfaceName": name, "network": network} for name, network in rows], separators=(",", ":"))
    return made._replace(annotations={GKE_DEFAULT: asked.primary, GKE_INTERFACES: listed})


def _gke_interfaces(asked: Wanted) -> tuple[str, ...]:
    """As the file declares them, else eth1, eth2 and so on after the primary one."""
    return tuple(rail.interface or f"eth{number + 1}" for number, rail in enumerate(asked.rails))


def _host_network(asked: Wanted) -> PodParts:
    """The node's own network; privileged where the file says so. Nobody knows the name of its primary interface.

    RDMA devices come of a device plugin, where rails name a resource; privileged pods see those of the node, as on bare
    metal of OKE. Pods find Services by the cluster's DNS all the same, because pod templates with hostNetwork get
    `dnsPolicy: ClusterFirstWithHostNet`.
    """
    names = dranet.interfaces(asked)
    handed = any(rail.resource for rail in asked.rails)
    made = pod(asked._replace(primary=""), names[0] if names else "", locked=handed)
    return made._replace(spec={"hostNetwork": True}, privileged=asked.fabric.privileged)


def _no_interfaces(asked: Wanted) -> tuple[str, ...]:
    return ()


class Kind(NamedTuple):
    """What a pod on a fabric of the kind carries, and the names of its interfaces, in the order of the rails, as far as
    anybody can tell."""

    parts: Callable[[Wanted], PodParts]
    interfaces: Callable[[Wanted], tuple[str, ...]] = _no_interfaces


KINDS: Mapping[str, Kind] = {
    # an interface of its own on a card that all pods of the node share (network-operator, MacvlanNetwork)
    "macvlan": Kind(_with_shared_devices, _network_interfaces),
    # a child of an InfiniBand port for each pod (network-operator, IPoIBNetwork); macvlan cannot sit on such
    "ipoib": Kind(_with_shared_devices, _network_interfaces),
    # a card, or a virtual function, moves into the pod (network-operator, HostDeviceNetwork)
    "hostdevice": Kind(_with_own_devices, _network_interfaces),
    # a virtual function for each rail (sriov-network-operator, SriovNetwork and SriovIBNetwork)
    "sriov": Kind(_with_own_devices, _network_interfaces),
    # a virtual function for each rail, whose network and resource are called after it; its RDMA device is called
    # `rdma_<rail>` (spectrum-x-operator, SpectrumXRailPoolConfig v1alpha2)
    "spectrumx": Kind(_with_own_devices, _network_interfaces),
    "dranet": Kind(dranet.parts, dranet.interfaces),
    "efa": Kind(_efa),
    "gke": Kind(_gke, _gke_interfaces),
    "hostnetwork": Kind(_host_network, dranet.interfaces),
    "none": Kind(_only_devices),
}


def interfaces(asked: Wanted) -> tuple[str, ...]:
    """The interfaces that a pod has through its fabric, in the order of the rails, as far as anybody can tell."""
    return KINDS[asked.fabric.kind].interfaces(asked)


def parts(asked: Wanted) -> PodParts:
    """What a pod on the fabric carries."""
    return KINDS[asked.fabric.kind].parts(asked)


def claim_template(asked: Wanted, gpus: Manifest | None, target: Target) -> Manifest | None:
    """The claim template to make beside the pods, for kinds that need one. It holds what `gpus`, the one of the pods'
    accelerators, asks for."""
    return dranet.claim_template(asked, gpus, target) if asked.fabric.kind == "dranet" else None
