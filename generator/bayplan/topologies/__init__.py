"""Topology sources: descriptions of a cluster by other systems, for `topology import` and `topology export`.

`native` is bayplan's format. Each other format has a row here. The commands, their completion, the tables of the
documentation and the tests follow from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Doc(NamedTuple):
    """A row of the table of formats in the documentation: what the files are, what they contain, what they lack."""

    title: str
    contains: str
    lacks: str = ""


class Source(NamedTuple):
    """A topology source. bayplan loads the modules, which are in this folder, when it needs them.

    `reader` has `sniff(source)` and `new(source, options)`. It has `needed_labels(source)` if the node labels that it
    needs depend on the file. `writer` has `write(topology, target)`. It can have `judge(topology, target)`, which gives
    diagnostics before the export. Without a `writer`, the scheduler `to` writes the format.
    """

    name: str  # the word after --from
    reader: str = ""
    doc: Doc | None = None
    objects: bool = False  # its files have Kubernetes objects, and one file can have objects for several sources
    nodes: bool = True  # it names nodes; bayplan reads other sources first, because they name the labels of levels
    states: tuple[str, ...] = ()  # the states of unusable nodes that it knows
    node_labels: tuple[str, ...] = ()  # labels that it needs of every node (`ReadOptions.nodes`)
    to: str = ""  # the word after --to
    writer: str = ""
    scheduler: str = ""  # the scheduler whose limits apply to the output of `writer`
    losses: str = ""  # what the format cannot represent: names of `losses.LOSSES`, in the order of their removal


HOSTNAME = ("kubernetes.io/hostname",)
"""Every node has it, so a source that needs it gets all nodes."""
IN_SLURM = (*HOSTNAME, "slinky.slurm.net/slurm-nodename")
STATES = ("cordoned", "notReady", "unhealthy")

SETTINGS = "name read versions images data priorities defaults schedulers accelerators fabrics namespaces"
"""Facts about a cluster besides its nodes and its queues."""
UNNETWORKED = SETTINGS.replace(" fabrics", "")
NODE = "cards resources template"
"""What a node offers."""
PLACEMENT = "selectors tolerations"
"""How pods select a pool's nodes."""
LEVEL = "plan unique apply"
"""Fields of a level besides name and label."""
ROW = "nvlink_domains leaves"
"""Fields of a domain besides its place and nodes."""
POOL = f"{SETTINGS} queues {NODE} {PLACEMENT}"
NODELESS = "domains unusable"
NAMES = "level_names nvlink_unknown"

SOURCES: tuple[Source, ...] = (
    Source(
        *("nodes", "kubernetes_nodes.source"),
        Doc("Kubernetes nodes", "levels as node labels, domains with nodes, node resources, node state, versions"),
        objects=True,
        states=STATES,
    ),
    Source(
        *("koordinator", "koordinator"),
        Doc("Koordinator ClusterNetworkTopology", "levels as node labels", "domains, nodes"),
        objects=True,
        nodes=False,
        to="koordinator",
        losses=f"{POOL} nvlink {LEVEL} {NODELESS} layers",
    ),
    Source(
        *("hypernodes", "hypernodes.reading"),
        Doc("Volcano HyperNodes", "domains with nodes", "node resources, node state"),
        objects=True,
        to="volcano",
        losses=f"{POOL.removeprefix('name ')} nvlink {LEVEL} {ROW} unlevelled unusable_nodes empty one_tree by_name",
    ),
    Source(
        *("kueue", "kueue"),
        Doc(
            "Kueue Topologies, ResourceFlavors and queues",
            "levels as node labels, flavors, queues, quotas",
            "domains, nodes",
        ),
        objects=True,
        nodes=False,
        to="kueue",
        losses=f"default_queue kueue_quotas flavors {SETTINGS} {NODE} every_node {NAMES} {LEVEL} {NODELESS}",
    ),
    Source(
        *("slurm", "slurm.topology_yaml"),
        Doc(
            "Slurm topology.yaml, `scontrol show topoconf`",
            "domains with nodes; topologies of the same nodes become one pool",
            "node labels, node resources",
        ),
        node_labels=IN_SLURM,
        to="slurm",
        losses=f"slurm_pools slurm_nodes slurm_plan {POOL} unique apply {ROW} unlevelled unusable order empty",
    ),
    Source(
        *("slurm-conf", "slurm.topology_conf"),
        Doc(
            "Slurm topology.conf, `scontrol show topology`",
            "domains with nodes, one topology",
            "node labels, node resources",
        ),
        node_labels=IN_SLURM,
        to="slurm-conf",
        writer="slurm.topology_conf",
        scheduler="slurm",
        losses=f"slurm_one slurm_called slurm_nodes slurm_plan {POOL} unique apply {ROW} unusable order empty",
    ),
    Source(
        *("topograph", "topograph.model"),
        Doc("Topograph model", "switches above blocks of nodes, accelerator domains", "node resources, node state"),
        to="topograph",
        writer="topograph.model",
        losses=f"{POOL} unusable empty",
    ),
    Source(
        *("topograph-graph", "topograph.graph"),
        Doc(
            "response of Topograph's graph engine",
            "switches above each instance, accelerator domains, node labels",
            "node resources, node state, `leaves`",
        ),
        to="topograph-graph",
        writer="topograph.graph",
        losses=f"{POOL} leaves unusable empty",
    ),
    Source(
        *("topograph-request", "topograph.request"),
        Doc("Topograph request that lists nodes", "regions, the node of each instance", "the network"),
    ),
    Source(
        *("ibnetdiscover", "fabric_managers.ibnetdiscover"),
        Doc("output of `ibnetdiscover`", "switches, links and hosts of an InfiniBand fabric", "node resources"),
        node_labels=HOSTNAME,
    ),
    Source(
        *("ufm", "fabric_managers.ufm"),
        Doc(
            "UFM ports, `/ufmRest/resources/ports`",
            "switches, links and hosts of an InfiniBand fabric",
            "node resources",
        ),
        node_labels=HOSTNAME,
    ),
    Source(
        *("netq", "fabric_managers.netq"),
        Doc("NetQ topology graph as JSON", "switches, links and hosts of an Ethernet fabric", "node resources"),
        node_labels=HOSTNAME,
    ),
    Source(
        *("nmx", "fabric_managers.nmx"),
        Doc(
            "NMX compute nodes, `/nmx/v1/compute-nodes`",
            "NVLink domain, tray and health of each node",
            "the network, node resources",
        ),
        node_labels=("nvidia.com/gpu.clique",),
    ),
    Source(
        *("slurm-nodes", "slurm.node_lines"),
        Doc(
            "`NodeName` lines of slurm.conf, `scontrol show nodes`",
            "nodes, GPUs, CPUs, memory, state, host names",
            "the network, unless nodes have `Topology=`",
        ),
        states=STATES,
        node_labels=IN_SLURM,
    ),
    Source(
        *("cloud", "cloud"),
        Doc(
            "responses of AWS, Google Cloud, OCI, Nebius and Lambda",
            "the location of each instance",
            "node names, node resources",
        ),
        node_labels=HOSTNAME,
    ),
    Source(
        *("kai", "kai"),
        Doc("KAI Topology and Queues", "levels as node labels, queues", "domains, nodes"),
        objects=True,
        nodes=False,
        to="kai",
        losses=f"default_queue kai_quotas {SETTINGS} {NODE} {PLACEMENT} {NAMES} {LEVEL} {NODELESS} lists numbered",
    ),
    Source(
        *("resource-slices", "resource_slices"),
        Doc(
            "ResourceSlices of DRA drivers",
            "GPUs and NICs of each node; on CoreWeave also fabric, superpod and leaf group",
            "the network on other platforms",
        ),
        objects=True,
    ),
    Source(
        *("volcano-discovery", "volcano_discovery"),
        Doc("configuration of Volcano's HyperNode discovery", "levels as node labels", "domains, nodes"),
        objects=True,
        nodes=False,
        to="volcano-discovery",
        losses=f"{POOL} {NAMES} {LEVEL} {NODELESS} unlevelled lists numbered",
    ),
    Source(
        *("launch-kit", "launch_kit"),
        Doc(
            "cluster configuration of the NVIDIA Launch Kit",
            "node selectors, nodes, rails of a fabric",
            "GPUs of a node, the network",
        ),
        nodes=False,
    ),
    Source(
        *("slurm-config-map", "slurm.config_map"),
        Doc("ConfigMap with Slurm files, from Slinky or soperator", "the content of the files"),
        objects=True,
    ),
    Source(
        *("network-operator", "network_operator.reading"),
        Doc(
            "objects of the NVIDIA Network Operator, Multus networks",
            "fabrics: networks, resources, ports, addresses",
            "nodes, RDMA devices",
        ),
        objects=True,
        nodes=False,
        to="network-operator",
        writer="network_operator.writing",
        losses=f"cloud_fabrics unattached fabric_pods rail_devices every_pool {UNNETWORKED} queues",
    ),
    Source(
        *("node-labels", ""),
        Doc(
            "Node objects with labels, read with `--from nodes`",
            "levels as node labels",
            "order of levels, node resources",
        ),
        to="node-labels",
        writer="node_labels",
        losses=f"{POOL} {ROW} unusable empty carried {NAMES} {LEVEL} unlevelled one_tree by_path",
    ),
    Source(
        *("slinky", ""),
        Doc("Slinky node annotations", "the block or switch of each node", "levels, node resources"),
        to="slinky",
        writer="slurm.slinky",
        losses=f"slurm_pools slurm_nodes {POOL} {ROW} unlevelled unusable empty places",
    ),
)
"""In the order of detection."""

OSMO_POOL = "osmo-pool"
"""OSMO's pools (`osmo_pool`; FILE#POOL names one): the format of a file that no source recognizes."""

READ: Mapping[str, Source] = {each.name: each for each in SOURCES if each.reader}
"""By the word after `topology import --from`."""

FROM = (OSMO_POOL, *READ)
"""All words after `topology import --from`."""

WRITTEN: Mapping[str, Source] = {each.to: each for each in SOURCES if each.writer}
"""By the word after `topology export --to`, without the formats of schedulers."""
