"""Topology sources: what other systems say of a cluster, read by `topology import` and written by `topology export`.

`native` is our own format. Each other one has a row here: the commands and their completion, the tables of the
documentation and the tests follow from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.values import NamedTuple


class Source(NamedTuple):
    """A topology source. Modules are those of this folder, loaded when they are needed.

    `reader` has `sniff(source)` and `new(source, asked)`; it may have `needed_labels(source)`, where which labels of
    nodes it needs depends on the file. `writer` has `write(topology, target)`; it may have `judge(topology, target)`,
    what is said of a topology before it is written. Without a `writer`, the scheduler `to` writes the format.
    """

    name: str  # the word after --from
    reader: str = ""
    told: str = ""  # what it says of a cluster, for the documentation
    objects: bool = False  # its files hold Kubernetes objects: one file may hold objects of several sources
    nodes: bool = True  # it names nodes; sources that do not are read first, for they say which labels are levels
    states: tuple[str, ...] = ()  # the reasons for which it can call nodes unusable
    node_labels: tuple[str, ...] = ()  # labels that it needs to know of every node (`Asked.nodes`)
    to: str = ""  # the word after --to
    writer: str = ""
    scheduler: str = ""  # whose limits hold for what `writer` writes
    losses: str = ""  # what the written format cannot hold: names of `losses.LOSSES`, in the order of their removal
    page: str = ""  # the page of the documentation whose table has a row for it
    title: str = ""  # what its files are
    lacks: str = ""


HOSTNAME = ("kubernetes.io/hostname",)
"""Every node has it, so a source that needs it learns of all nodes."""
IN_SLURM = (*HOSTNAME, "slinky.slurm.net/slurm-nodename")
STATES = ("cordoned", "notReady", "unhealthy")

SETTINGS = "name read versions images defaults schedulers accelerators fabrics namespaces"
"""What is said of a cluster besides its nodes and its queues."""
NODE = "cards resources template"
"""What a node offers."""
PLACEMENT = "selectors tolerations"
"""Which pods go to a pool's nodes."""
LEVEL = "plan unique apply"
"""What a level is besides a name and a label."""
ROW = "nvlink_domains leaves"
"""What a domain is besides a place with nodes."""
POOL = f"{SETTINGS} queues {NODE} {PLACEMENT}"
NODELESS = "domains unusable"
NAMES = "level_names nvlink_unknown"

SOURCES: tuple[Source, ...] = (
    Source(
        *("nodes", "kubernetes_nodes.source"),
        objects=True,
        states=STATES,
    ),
    Source(
        *("koordinator", "koordinator"),
        objects=True,
        nodes=False,
        to="koordinator",
        losses=f"{POOL} nvlink {LEVEL} {NODELESS} layers",
    ),
    Source(
        *("hypernodes", "hypernodes.reading", "every domain; nodes that are selected by labels with the nodes beside"),
        objects=True,
        to="volcano",
        losses=f"{POOL.removeprefix('name ')} nvlink {LEVEL} {ROW} unlevelled unusable_nodes empty one_tree by_name",
        page="topology-sources",
        title="HyperNodes",
        lacks="the state of nodes",
    ),
    Source(
        *("kueue", "kueue"),
        objects=True,
        nodes=False,
        to="kueue",
        losses=f"flavors default_queue {SETTINGS} {NODE} every_node {NAMES} {LEVEL} {NODELESS}",
    ),
    Source(
        *("slurm", "slurm.topology_yaml", "every domain with its nodes, one topology a pool"),
        node_labels=IN_SLURM,
        to="slurm",
        losses=f"slurm_pools slurm_nodes slurm_plan {POOL} unique apply {ROW} unlevelled unusable order empty",
        page="topology-sources",
        title="topology.yaml, `scontrol show topoconf`",
        lacks="node labels, what nodes offer",
    ),
    Source(
        *("slurm-conf", "slurm.topology_conf", "the same, one topology"),
        node_labels=IN_SLURM,
        to="slurm-conf",
        writer="slurm.topology_conf",
        scheduler="slurm",
        losses=f"slurm_one slurm_called slurm_nodes slurm_plan {POOL} unique apply {ROW} unusable order empty",
        page="topology-sources",
        title="topology.conf, `scontrol show topology`",
        lacks="the same",
    ),
    Source(
        *("topograph", "topograph.model", "switches above blocks of nodes, accelerator domains"),
        to="topograph",
        writer="topograph.model",
        losses=f"{POOL} unusable empty",
        page="topology-fabrics",
        title="Topograph's model file",
    ),
    Source(
        *("topograph-graph", "topograph.graph", "the same, for each instance; labels of nodes"),
        to="topograph-graph",
        writer="topograph.graph",
        losses=f"{POOL} leaves unusable empty",
        page="topology-fabrics",
        title="the answer of Topograph's graph engine",
    ),
    Source(
        *("topograph-request", "topograph.request", "regions; which instance is which node"),
        page="topology-fabrics",
        title="a request to Topograph that lists nodes",
    ),
    Source(
        *("ibnetdiscover", "fabric_managers.ibnetdiscover", "switches, links, hosts of an InfiniBand fabric"),
        node_labels=HOSTNAME,
        page="topology-fabrics",
        title="what `ibnetdiscover` prints",
    ),
    Source(
        *("ufm", "fabric_managers.ufm", "the same"),
        node_labels=HOSTNAME,
        page="topology-fabrics",
        title="UFM's ports, `/ufmRest/resources/ports`",
    ),
    Source(
        *("netq", "fabric_managers.netq", "the same, of an Ethernet fabric"),
        node_labels=HOSTNAME,
        page="topology-fabrics",
        title="NetQ's topology graph, as JSON",
    ),
    Source(
        *("nmx", "fabric_managers.nmx", "NVLink domain, tray and health of each node"),
        node_labels=("nvidia.com/gpu.clique",),
        page="topology-fabrics",
        title="NMX's compute nodes, `/nmx/v1/compute-nodes`",
    ),
    Source(
        *("slurm-nodes", "slurm.node_lines", "nodes, GPUs, CPUs, memory, state, host names"),
        states=STATES,
        node_labels=IN_SLURM,
        page="topology-sources",
        title="`NodeName` lines of a slurm.conf, `scontrol show nodes`",
        lacks="the tree, unless nodes have `Topology=`",
    ),
    Source(
        *("cloud", "cloud", "the place of every instance"),
        node_labels=HOSTNAME,
        page="topology-sources",
        title="answers of AWS, Google Cloud, OCI, Nebius and Lambda",
        lacks="what nodes are called, what they offer",
    ),
    Source(
        *("kai", "kai", "node labels of levels, queues"),
        objects=True,
        nodes=False,
        to="kai",
        losses=f"default_queue {SETTINGS} {NODE} {PLACEMENT} {NAMES} {LEVEL} {NODELESS} lists numbered",
        page="topology-sources",
        title="KAI's Topology and Queues",
        lacks="nodes",
    ),
    Source(
        *("resource-slices", "resource_slices"),
        "GPUs of every node, rails of network cards; on CoreWeave fabric, superpod and leaf group",
        objects=True,
        page="topology-sources",
        title="ResourceSlices of DRA drivers",
        lacks="the tree elsewhere",
    ),
    Source(
        *("volcano-discovery", "volcano_discovery", "node labels of levels"),
        objects=True,
        nodes=False,
        to="volcano-discovery",
        losses=f"{POOL} {NAMES} {LEVEL} {NODELESS} unlevelled lists numbered",
        page="topology-sources",
        title="Volcano's discovery of HyperNodes",
        lacks="nodes",
    ),
    Source(
        *("launch-kit", "launch_kit", "node selectors, nodes, the rails of the fabric"),
        nodes=False,
        page="topology-sources",
        title="cluster configuration of NVIDIA's Launch Kit",
        lacks="GPUs of a node, the tree",
    ),
    Source(
        *("slurm-config-map", "slurm.config_map", "what the files tell"),
        objects=True,
        page="topology-sources",
        title="a ConfigMap with Slurm's files, as Slinky and soperator keep them",
    ),
    Source(
        *("network-operator", "network_operator.reading", "fabrics: networks, resources, ports, addresses"),
        objects=True,
        nodes=False,
        to="network-operator",
        writer="network_operator.writing",
        losses="cloud_fabrics unattached fabric_pods rail_devices every_pool"
        f" {SETTINGS.replace(' fabrics', '')} queues",
        page="topology-sources",
        title="[objects of NVIDIA's Network Operator](network-operator.md), and networks of Multus",
        lacks="nodes, RDMA devices",
    ),
    Source(
        "node-labels",
        to="node-labels",
        writer="node_labels",
        losses=f"{POOL} {ROW} unusable empty carried {NAMES} {LEVEL} unlevelled one_tree by_path",
    ),
    Source(
        "slinky",
        to="slinky",
        writer="slurm.slinky",
        losses=f"slurm_pools slurm_nodes {POOL} {ROW} unlevelled unusable empty places",
    ),
)
"""In the order in which they are tried on a file."""

OSMO_POOL = "osmo-pool"
"""OSMO's pools (`osmo_pool`, of which FILE#POOL is one): what a file is taken for that no source recognises."""

READ: Mapping[str, Source] = {each.name: each for each in SOURCES if each.reader}
"""By the word after `topology import --from`."""

FROM = (OSMO_POOL, *READ)
"""All words after `topology import --from`."""

WRITTEN: Mapping[str, Source] = {each.to: each for each in SOURCES if each.writer}
"""By the word after `topology export --to`: what is no scheduler's."""
