"""Secondary networks: what the topology file says of the cards that carry a job's traffic."""

from collections.abc import Mapping

from bayplan.core.values import NamedTuple

SHARING = ("macvlan", "ipoib")
"""Kinds whose pods share a card unless the file says otherwise: the others hand the whole card, or a part of it that is
a device of its own, to one pod."""


class Rail(NamedTuple):
    """One network card of each node, and how a pod gets it."""

    network: str = ""  # the NetworkAttachmentDefinition, as namespace/name; gke: the Network
    resource: str = ""  # its extended resource; several rails may share one
    hca: str = ""  # its RDMA device, as NCCL_IB_HCA names it
    interface: str = ""  # in the pod; empty: net1, net2, ... in the order attached. hostnetwork: the node's
    subnet: str = ""
    gateway: str = ""
    gpu: int | None = None  # the number of the GPU next to it
    numa: int | None = None
    device: str = ""  # the port's network interface on the node
    selectors: tuple[str, ...] = ()  # dranet: CEL over a device


class Ipam(NamedTuple):
    """Who gives out the addresses of the rails, and which."""

    kind: str = ""  # nv-ipam | whereabouts | static | host-local | dhcp; empty: nobody said
    per_node: int = 0  # nv-ipam: addresses a node (perNodeBlockSize)
    exclude: tuple[str, ...] = ()
    range_start: str = ""
    range_end: str = ""
    namespace: str = ""  # nv-ipam: the operator's, in which its pools must be


class Fabric(NamedTuple):
    """A secondary network of several rails, and how pods are attached to it."""

    name: str
    kind: str  # macvlan ipoib hostdevice sriov spectrumx dranet efa gke hostnetwork none
    link_type: str = ""  # infiniband | ethernet
    attach: str = ""  # exclusive | shared
    rails: tuple[Rail, ...] = ()
    env: Mapping[str, str] = {}
    ipam: Ipam = Ipam()
    memlock: str = ""  # unlimited: nodes do not limit locked memory
    source_routing: bool = False
    injector: bool = False  # network-resources-injector adds resources to pods by itself
    ipc_lock: bool | None = None  # whether pods need IPC_LOCK; None: as its kind does
    privileged: bool = False
    device_class: str = ""  # dranet
    shm: str = ""
    mtu: int = 0
    vendor_ids: tuple[str, ...] = ()
    device_ids: tuple[str, ...] = ()
    shares: int = 0  # pods of a node that can share a card; 0: nobody said

    @property
    def shared(self) -> bool:
        """Whether several pods use one card."""
        return self.attach == "shared" or (not self.attach and self.kind in SHARING)
