"""The cluster: pools of equal nodes, each a tree of levels."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple

from bayplan.model.encoding import Encoded, decode_named

Name = Annotated[str, Encoded("")]
"""A name that is the key of the mapping with the other fields."""

# Secondary networks: the network cards that carry a job's traffic.

SHARING = ("macvlan", "ipoib")
"""Kinds whose pods share a card unless the file says otherwise. Other kinds give one pod the whole card, or a part of
it that is a device of its own."""


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
    """The IPAM plugin of the rails, and its addresses."""

    kind: Annotated[str, Encoded("type")] = ""  # nv-ipam | whereabouts | static | host-local | dhcp; empty: unknown
    per_node: int = 0  # nv-ipam: addresses a node (perNodeBlockSize)
    exclude: tuple[str, ...] = ()
    range_start: str = ""
    range_end: str = ""
    namespace: str = ""  # nv-ipam: the operator's, in which its pools must be


class Fabric(NamedTuple):
    """A secondary network with its rails, and how it attaches pods."""

    name: Name
    kind: str  # macvlan ipoib hostdevice sriov spectrumx dranet efa gke hostnetwork none
    link_type: str = ""  # `infiniband` | `ethernet`
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
    vendor_ids: Annotated[tuple[str, ...], Encoded("vendorIDs")] = ()
    device_ids: Annotated[tuple[str, ...], Encoded("deviceIDs")] = ()
    shares: int = 0  # pods of a node that can share a card; 0: unknown

    @property
    def shared(self) -> bool:
        """Whether several pods use one card."""
        return self.attach == "shared" or (not self.attach and self.kind in SHARING)


HOST_LEVEL = "host"
HOSTNAME_LABEL = "kubernetes.io/hostname"


class Level(NamedTuple):
    """A named rank of the tree. `plan` limits the nodes of each of its domains that plans may use."""

    name: str
    label: str
    nvlink: bool = False
    plan: int | None = None
    unique: str = "global"  # "parent": its values repeat under other parents
    apply: bool = False  # no node has the label yet: `topology export --to node-labels` writes it


HOST = Level(HOST_LEVEL, HOSTNAME_LABEL)
"""The last level of every pool, which users never write."""


class Domain(NamedTuple):
    """One finest domain: a value per level, coarse to fine, and its nodes in file order."""

    path: tuple[str, ...]
    nodes: tuple[str, ...]
    nvlink_domain: str = ""
    leaves: tuple[str, ...] = ()  # merged switches of a rail-optimised fabric


class NodeShape(NamedTuple):
    """What every node of a pool offers to pods. Amounts are in thousandths of their unit (millicores, milli-bytes)."""

    accelerator: str = ""
    accelerators: Annotated[int, Encoded("count")] = 0  # cards per node
    resources: Annotated[
        Mapping[str, int], Encoded("")
    ] = {}  # cpu, memory, ephemeral-storage, pods, extended resources: thousandths
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Mapping[str, Any], ...] = ()
    fabrics: tuple[str, ...] | None = None  # the fabrics of the nodes; None: all

    @property
    def described(self) -> bool:
        """Whether the file describes what the nodes offer."""
        return bool(self.accelerator or self.accelerators or set(self.resources) - {"pods"})


class DataMover(NamedTuple):
    """The image with rclone's command line for URLs of one scheme, and the Secret with its settings as variables."""

    name: Name  # the scheme
    image: str
    command: tuple[str, ...] = ("rclone",)
    secret: str = ""


class Pool(NamedTuple):
    """One node shape and one list of levels. `levels` does not include the host level, which is always last."""

    name: str
    node: NodeShape
    levels: tuple[Level, ...] = ()
    domains: tuple[Domain, ...] = ()
    unusable: Mapping[str, tuple[str, ...]] = {}  # reason (cordoned, notReady, spare, ...) -> node names
    template: Mapping[str, Any] = {}
    data_movers: Mapping[str, DataMover] = {}  # scheme -> mover, in addition to the cluster's
    data_store: str = ""  # instead of the cluster's

    def nodes(self) -> Iterator[str]:
        """All its nodes, in file order."""
        return (node for domain in self.domains for node in domain.nodes)

    def unusable_nodes(self) -> frozenset[str]:
        """Its nodes that are unusable for any reason."""
        return frozenset(node for nodes in self.unusable.values() for node in nodes)

    def tolerates(self, other: "Pool") -> bool:
        """Whether its pods have all tolerations that pods of the other pool have, so that no taint keeps them off."""
        return all(each in self.node.tolerations for each in other.node.tolerations)

    def renamed(self, called: Mapping[str, str]) -> "Pool":
        """The pool with new names for its nodes."""

        def names(nodes: Iterable[str]) -> tuple[str, ...]:
            return tuple(called.get(node, node) for node in nodes)

        domains = tuple(each._replace(nodes=names(each.nodes)) for each in self.domains)
        return self._replace(domains=domains, unusable={why: names(nodes) for why, nodes in self.unusable.items()})

    def without(self, gone: frozenset[str]) -> "Pool":
        """The pool in which its nodes among these are unusable, with `removed` as the only reason."""
        if gone.isdisjoint(self.nodes()):
            return self
        others = {why: tuple(each for each in nodes if each not in gone) for why, nodes in self.unusable.items()}
        out = (*others.pop("removed", ()), *(each for each in self.nodes() if each in gone))
        return self._replace(unusable={**{why: nodes for why, nodes in others.items() if nodes}, "removed": out})

    def level(self, name: str) -> Level | None:
        """The level of that name, including the host level."""
        return next((level for level in (*self.levels, HOST) if level.name == name), None)

    def depth(self, name: str) -> int:
        """0 for the coarsest level; len(levels) for the host level. ValueError if the level does not exist."""
        return [level.name for level in (*self.levels, HOST)].index(name)


def _one_or_more(data: str | list[str]) -> tuple[str, ...]:
    """A string counts as a list with this string."""
    return (data,) if isinstance(data, str) else tuple(data)


class AcceleratorKind(NamedTuple):
    """How pods request one kind of GPU."""

    name: Name
    vendor: str = "nvidia"
    allocators: Annotated[tuple[str, ...], Encoded("allocator", read=_one_or_more)] = ("device-plugin",)
    resources: Mapping[str, str] = {}  # role (count, memory, cores, ...) -> extended resource name
    device_class: str = ""
    profile: str = ""  # the MIG profile of the slices that `count` counts; empty: whole cards
    memory: str = ""  # of one card, as a quantity; empty: unknown
    max_pods: int = 0  # that may share a card; 0: unknown
    link_zones: tuple[tuple[int, ...], ...] = ()  # indices of cards with the fastest links between them
    topology_annotated: bool | None = None  # MetaX: whether all nodes have annotations of links; None: unknown

    @property
    def count_resource(self) -> str:
        """The extended resource that counts its cards, or the slices of its profile."""
        return self.resources.get("count", "nvidia.com/gpu")


class Namespace(NamedTuple):
    """A namespace in which workloads run."""

    name: Name
    pod_security: str = "privileged"
    primary_interface: str = ""
    scc: str = ""
    service_account: str = ""
    image_pull_secrets: tuple[str, ...] = ()


GPU = "gpu"
"""The resource of a quota that counts whole cards of all kinds which device plugins offer."""


class Quota(NamedTuple):
    """How much of one resource a queue has, in thousandths. None: not stated, so it does not limit.

    `guaranteed`: its own share, of which others use what it leaves. `limit`: the most that it can ever hold.
    """

    resource: str  # a Kubernetes resource, or GPU
    pool: str = ""  # only on nodes of this pool; empty: of all pools together
    guaranteed: int | None = None
    limit: int | None = None


def card_resource(topology: "ClusterTopology") -> str:
    """The extended resource of all cards; empty if kinds of cards have different ones."""
    names = {
        kind.count_resource
        for kind in topology.accelerators.values()
        if not kind.profile and "device-plugin" in kind.allocators
    }
    return names.pop() if len(names) == 1 else ""


class Queue(NamedTuple):
    """A queue of a scheduler. Workflows name those that are not the parent of others."""

    name: str
    parent: str = ""
    quotas: tuple[Quota, ...] = ()


def leaves(queues: Collection[Queue]) -> tuple[str, ...]:
    """The names of the queues that are not the parent of others: workflows can name them."""
    parents = {each.parent for each in queues}
    return tuple(each.name for each in queues if each.name not in parents)


def named_queues(*names: str) -> tuple[Queue, ...] | None:
    """Queues without numbers; None for no names, so that any queue is accepted."""
    return tuple(map(Queue, names)) or None


class ClusterTopology(NamedTuple):
    """The whole cluster topology file."""

    name: Name
    pools: Annotated[tuple[Pool, ...], Encoded("")]
    versions: Mapping[str, str] = {}
    defaults: Mapping[str, str] = {}  # scheduler, namespace, queue, priorityClassName
    queues: Annotated[tuple[Queue, ...] | None, Encoded("")] = None  # None: not given, any queue is accepted
    schedulers: Mapping[str, Mapping[str, Any]] = {}
    accelerators: Annotated[Mapping[str, AcceleratorKind], Encoded(read=partial(decode_named, AcceleratorKind))] = {}
    fabrics: Annotated[Mapping[str, Fabric], Encoded(read=partial(decode_named, Fabric))] = {}
    namespaces: Annotated[Mapping[str, Namespace], Encoded(read=partial(decode_named, Namespace))] = {}
    priority_classes: Annotated[Mapping[str, int], Encoded("priorityClasses")] = {}
    images: Mapping[str, str] = {}  # kubectl: what the adopt Job runs
    data_movers: Annotated[Mapping[str, DataMover], Encoded(read=partial(decode_named, DataMover))] = {}
    data_store: str = ""  # URL of the folder that `store:` URLs name
    platform: str = "kubernetes"  # `kubernetes` | `openshift`
    cluster_domain: str = "cluster.local"
    read: str = ""  # the day on which its sources were read: 2026-11-22

    @property
    def paths(self) -> Mapping[str, tuple[str, ...]]:
        """Node -> the path of its finest domain."""
        return {node: domain.path for pool in self.pools for domain in pool.domains for node in domain.nodes}

    def pool(self, name: str) -> Pool | None:
        """The pool of that name."""
        return next((pool for pool in self.pools if pool.name == name), None)

    def without(self, nodes: Iterable[str]) -> "ClusterTopology":
        """The topology in which these nodes are unusable, with `removed` as the only reason."""
        gone = frozenset(nodes)
        return self._replace(pools=tuple(pool.without(gone) for pool in self.pools))

    def level_label(self, pool: str, level: str) -> str:
        """The node label of a pool's level; empty for no level."""
        own_pool = self.pool(pool)
        rank = own_pool.level(level) if own_pool and level else None
        return rank.label if rank else ""

    def movers(self, pool: str) -> Mapping[str, DataMover]:
        """The data movers of a pool's pods by scheme."""
        own_pool = self.pool(pool)
        return {**self.data_movers, **(own_pool.data_movers if own_pool else {})}

    def store(self, pool: str) -> str:
        """The URL of the store of a pool's pods; empty if they have none."""
        own_pool = self.pool(pool)
        return (own_pool.data_store if own_pool else "") or self.data_store

    @property
    def queue_names(self) -> tuple[str, ...] | None:
        """The queues that workflows can name. None: any."""
        return None if self.queues is None else leaves(self.queues)

    @property
    def queues_or_default(self) -> tuple[Queue, ...]:
        """The queues of the file, or else the default queue of workflows, without numbers."""
        default = self.defaults.get("queue")
        return self.queues or ((Queue(default),) if default else ())

    @property
    def has_quotas(self) -> bool:
        """Whether any queue has numbers."""
        return any(each.quotas for each in self.queues or ())

    def ancestry(self, name: str) -> Iterator[tuple[int, Queue]]:
        """The queue of that name and its parents, each with its number in the file."""
        numbers = {each.name: number for number, each in enumerate(self.queues or ())}
        seen: set[str] = set()
        while name in numbers and name not in seen:
            seen.add(name)
            queue = (self.queues or ())[numbers[name]]
            yield numbers[name], queue
            name = queue.parent

    def scheduler_name(self, scheduler: str, default: str) -> str:
        """The `schedulerName` of a scheduler: its name in this cluster, otherwise its default name."""
        return str(self.schedulers.get(scheduler, {}).get("schedulerName") or default)

    def gates(self, scheduler: str) -> Mapping[str, bool]:
        """The features of a scheduler that the file states: on or off. A missing feature may be either."""
        gates: Mapping[str, bool] = self.schedulers.get(scheduler, {}).get("featureGates", {})
        return gates


def makes_channels(topology: ClusterTopology) -> bool:
    """Whether Grove makes a ComputeDomain for each copy of a PodCliqueSet (`network.autoMNNVLEnabled`)."""
    return bool(topology.schedulers.get("kai", {}).get("groveComputeDomains"))
