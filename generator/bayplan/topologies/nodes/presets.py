"""Whose node labels say where a node hangs, and what they are called: one row a platform, each level named.

Numbers in keys run in both directions (AWS: 1 is the top; Nebius, Topograph: 0 is the bottom), so nothing is sorted by
them. Labels that name a single host (GKE's gce-topology-host, OKE's rdma.host_id) are no levels.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.values import NamedTuple

CLIQUE = "nvidia.com/gpu.clique"
"""`<ClusterUUID>.<CliqueID>`: the NVLink partition (GPU feature discovery, internal/lm/imex.go)."""


class Rank(NamedTuple):
    """A level. `accelerator`: a set of nodes with one accelerator network, which need not follow the tree of switches;
    `repeats`: its values are known to repeat under other parents."""

    name: str
    label: str
    accelerator: bool = False
    repeats: bool = False


def _ranks(prefix: str, *named: str) -> tuple[Rank, ...]:
    """`rack=key`: a rank; `rack*=key`: an accelerator's."""
    pairs = (each.partition("=") for each in named)
    return tuple(Rank(name.strip("*"), f"{prefix}{key or name.strip('*')}", "*" in name) for name, _, key in pairs)


PRESETS: Mapping[str, tuple[Rank, ...]] = {
    # NVIDIA/topograph v1.0.0, docs/reference/node-labels.md; tier 0 is nearest to the node
    "topograph": (
        *_ranks("fabric.topograph.run/", *(f"tier-{number}" for number in range(15, -1, -1))),
        *_ranks("accelerator.topograph.run/", "domain*", "sub-domain*"),
    ),
    # 0.2 to 0.5
    "topograph-0.5": _ranks("network.topology.nvidia.com/", "core", "spine", "leaf", "accelerator*"),
    # 0.1
    "topograph-0.1": _ranks("network.topology.nvidia.com/", "datacenter", "spine", "block", "accelerator*"),
    # docs.coreweave.com; a superpod is a small number, unique inside its fabric
    "coreweave": (
        Rank("fabric", "backend.coreweave.cloud/fabric"),
        Rank("superpod", "backend.coreweave.cloud/superpod", repeats=True),
        Rank("leaf", "backend.coreweave.cloud/leafgroup"),
        Rank("rack", "ds.coreweave.com/nvlink.domain", accelerator=True),
    ),
    "coreweave-legacy": (
        Rank("fabric", "ib.coreweave.cloud/fabric"),
        Rank("superpod", "ib.coreweave.cloud/superpod", repeats=True),
    ),
    # a sub-block of A4X is one NVL72
    "gke": _ranks("cloud.google.com/gce-topology-", "block", "subblock*"),
    # layer 1 is the top; some types have four
    "eks": (
        *_ranks("topology.k8s.aws/network-node-", "layer-1", "layer-2", "layer-3", "layer-4"),
        Rank("ultraserver", "topology.k8s.aws/ultraserver-id", accelerator=True),
    ),
    "oke": _ranks(
        "oci.oraclecloud.com/rdma.",
        "island=hpc_island_id",
        "network-block=network_block_id",
        "local-block=local_block_id",
    ),
    "oke-host": _ranks("oci.oraclecloud.com/host.", "network-block=network_block_id", "rack*=rack_id"),
    # tier 0 is an NVL instance group
    "nebius": _ranks("topology.nebius.com/", "tier-3", "tier-2", "tier-1", "tier-0*"),
    # jobs cannot leave a partition
    "crusoe": _ranks("crusoe.ai/", "partition=ib.partition.id", "pod=pod.id"),
    "volcano": _ranks("volcano.sh/", "hypercluster", "hypernode", "tor"),
    "generic": _ranks("topology.kubernetes.io/", "region", "zone", "block", "rack"),
    "clique": (Rank("rack", CLIQUE, accelerator=True),),
}
"""Of several networks the one counts of which nodes carry the most labels, and the first of equals."""

PLACES = ("generic", "clique")
"""Those that are tried where nodes carry labels of no network."""

LABELS = frozenset(rank.label for ranks in PRESETS.values() for rank in ranks) | {CLIQUE}
