"""Labels that look like levels: unknown keys whose values divide the nodes of a pool evenly and nest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bayplan.model.topology import Level
from bayplan.topologies.grouping import CLIQUE
from bayplan.topologies.kubernetes_nodes import NodeGroup, hardware, levels
from bayplan.topologies.kubernetes_nodes.levels import PLACES, PRESETS, Row
from bayplan.topologies.kueue import level_name

NETWORKS = frozenset(tier.label for name, tiers in PRESETS.items() if name not in PLACES for tier in tiers)
"""Labels of systems that know the network. Nodes with one need no proposal."""
KNOWN = levels.LABELS | hardware.LABELS
DOMAINS = (
    *("kubernetes.io", "k8s.io", "k3s.io", "openshift.io", "karpenter.sh", "cilium.io", "slurm.net", "topograph.run"),
    *("nvidia.com", "amd.com", "intel.com", "mellanox.com", "google.com", "amazonaws.com", "aws.com", "k8s.aws"),
    *("azure.com", "oraclecloud.com", "alibabacloud.com", "coreweave.com", "coreweave.cloud", "nebius.com"),
)
"""Domains of label keys that describe hardware, software or node groups, or that are presets already."""


def may_be_level(key: str) -> bool:
    """Whether an unknown key can name a place. Zones and regions have well-known keys; others repeat them."""
    domain, _, name = key.rpartition("/")
    if key in KNOWN or name in ("zone", "region", "hostname"):
        return False
    parts = domain.split(".")
    own = domain == "topology.kubernetes.io" or not any(
        domain == each or domain.endswith(f".{each}") for each in DOMAINS
    )
    return own and "csi" not in parts


class _Division(NamedTuple):
    """A label and the value of each group of nodes."""

    level: Level
    values: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(set(self.values))

    def contains(self, finer: _Division) -> bool:
        """Whether each value of the other is in one value of this."""
        return len(set(zip(self.values, finer.values, strict=True))) == finer.size


def proposed(tree: Sequence[Level], rows: Sequence[Row]) -> tuple[Level, ...]:
    """The levels of the tree and the unknown labels that nest in them, coarse to fine; none without such labels."""
    groups = [row.group for row in rows]
    own = [_Division(level, tuple("/".join(row.path[: depth + 1]) for row in rows)) for depth, level in enumerate(tree)]
    found: list[_Division] = []
    for division in sorted(_divisions(groups), key=lambda each: (each.size, each.level.label)):
        others = [*own, *found]
        same = any(each.size == division.size and each.contains(division) for each in others)
        if not same and all(each.contains(division) or division.contains(each) for each in own):
            found.append(division)
    chain = _longest(found)
    return tuple(each.level for each in sorted((*own, *chain), key=lambda each: each.size)) if chain else ()


def _divisions(groups: Sequence[NodeGroup]) -> Iterable[_Division]:
    """The labels that all nodes have, with two or more values that divide the nodes evenly."""
    carried = [{key for key, value in each.labels.items() if value} for each in groups]
    for key in filter(may_be_level, set.intersection(*carried) if carried else ()):
        sizes = Counter[str]()
        for each in groups:
            sizes[each.labels[key]] += len(each.names)
        if _even(sorted(sizes.values())):
            yield _Division(Level(level_name(key), key), tuple(each.labels[key] for each in groups))


def _even(sizes: Sequence[int]) -> bool:
    """Whether each of several values has two or more nodes, and at most twice as many as another. The last unit of a
    cluster may be smaller."""
    return len(sizes) > 1 < sizes[0] and 2 * sizes[1 if len(sizes) > 2 else 0] >= sizes[-1]


def _longest(divisions: Sequence[_Division]) -> Sequence[_Division]:
    """The longest chain in which each contains the next. `divisions` go from few values to many."""
    chains: list[tuple[_Division, ...]] = []
    for each in divisions:
        above = (chain for chain in chains if chain[-1].contains(each))
        chains.append((*max(above, key=len, default=()), each))
    return max(chains, key=lambda chain: (len(chain), chain[-1].size), default=())


def flags(listed: Iterable[Level]) -> str:
    """The options of `topology import` for these levels."""
    return " ".join(f"--level {each.name}={each.label}{',nvlink' if each.nvlink else ''}" for each in listed)


def with_clique(tree: Sequence[Level], rows: Sequence[Row], cliques: Sequence[str]) -> tuple[Level, ...]:
    """The levels with one of NVLink partitions; none if they do not nest. `cliques`: the partition of each row."""
    depth = len(tree)
    while depth and len({(own, row.path[:depth]) for own, row in zip(cliques, rows, strict=True)}) > len(set(cliques)):
        depth -= 1
    pairs = {(own, row.path[: depth + 1]) for own, row in zip(cliques, rows, strict=True)}
    if len(pairs) > len({path for _, path in pairs}) and depth < len(tree):
        return ()
    name = "rack" if all(each.name != "rack" for each in tree) else "clique"
    return (*tree[:depth], Level(name, CLIQUE, nvlink=True), *tree[depth:])
