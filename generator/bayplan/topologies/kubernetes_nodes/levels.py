"""Levels from the labels of Kubernetes nodes: presets for platforms, and checks that the labels form a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from bayplan.core.phrases import count, listing
from bayplan.core.values import grouped
from bayplan.model.topology import HOST_LEVEL, Level
from bayplan.topologies.grouping import CLIQUE
from bayplan.topologies.kubernetes_nodes import NodeGroup, Report, nodes_of, size


def named(names: Sequence[str]) -> str:
    """`node "n1"`, `nodes "n1", "n2" and 4 more`."""
    return f"{'node' if len(names) == 1 else 'nodes'} {listing(names, 'and', most=5)}"


def has(names: Sequence[str]) -> str:
    """`node "n1" has`."""
    return f"{named(names)} {'has' if len(names) == 1 else 'have'}"


def lack(names: Sequence[str]) -> str:
    """`node "n1" lacks`."""
    return f"{named(names)} {'lacks' if len(names) == 1 else 'lack'}"


# The topology labels of each platform, one row for each, with a name for each level.
#
# Numbers in keys go in both directions (AWS: 1 is the top; Nebius, Topograph: 0 is the bottom), so the order of rows
# matters. Labels of a single host (GKE's gce-topology-host, OKE's rdma.host_id) are not levels.


class Tier(NamedTuple):
    """A level. `accelerator`: its domains share an accelerator network, which does not have to follow the tree of
    switches. `repeats`: its values repeat under other parents by design."""

    name: str
    label: str
    accelerator: bool = False
    repeats: bool = False


def _tiers(prefix: str, *named: str) -> tuple[Tier, ...]:
    """`rack=key`: a level; `rack*=key`: a level of accelerators."""
    pairs = (each.partition("=") for each in named)
    return tuple(Tier(name.strip("*"), f"{prefix}{key or name.strip('*')}", "*" in name) for name, _, key in pairs)


PRESETS: Mapping[str, tuple[Tier, ...]] = {
    # NVIDIA/topograph v1.0.0, docs/reference/node-labels.md; tier 0 is nearest to the node
    "topograph": (
        *_tiers("fabric.topograph.run/", *(f"tier-{number}" for number in range(15, -1, -1))),
        *_tiers("accelerator.topograph.run/", "domain*", "sub-domain*"),
    ),
    # 0.2 to 0.5
    "topograph-0.5": _tiers("network.topology.nvidia.com/", "core", "spine", "leaf", "accelerator*"),
    # 0.1
    "topograph-0.1": _tiers("network.topology.nvidia.com/", "datacenter", "spine", "block", "accelerator*"),
    # docs.coreweave.com; a superpod is a small number that is unique in its fabric
    "coreweave": (
        Tier("fabric", "backend.coreweave.cloud/fabric"),
        Tier("superpod", "backend.coreweave.cloud/superpod", repeats=True),
        Tier("leaf", "backend.coreweave.cloud/leafgroup"),
        Tier("rack", "ds.coreweave.com/nvlink.domain", accelerator=True),
    ),
    "coreweave-legacy": (
        Tier("fabric", "ib.coreweave.cloud/fabric"),
        Tier("superpod", "ib.coreweave.cloud/superpod", repeats=True),
    ),
    # a sub-block of A4X is one NVL72
    "gke": _tiers("cloud.google.com/gce-topology-", "block", "subblock*"),
    # layer 1 is the top; some instance types have four layers
    "eks": (
        *_tiers("topology.k8s.aws/network-node-", "layer-1", "layer-2", "layer-3", "layer-4"),
        Tier("ultraserver", "topology.k8s.aws/ultraserver-id", accelerator=True),
    ),
    "oke": _tiers(
        "oci.oraclecloud.com/rdma.",
        "island=hpc_island_id",
        "network-block=network_block_id",
        "local-block=local_block_id",
    ),
    "oke-host": _tiers("oci.oraclecloud.com/host.", "network-block=network_block_id", "rack*=rack_id"),
    # tier 0 is an NVL instance group
    "nebius": _tiers("topology.nebius.com/", "tier-3", "tier-2", "tier-1", "tier-0*"),
    # jobs cannot leave a partition
    "crusoe": _tiers("crusoe.ai/", "partition=ib.partition.id", "pod=pod.id"),
    "volcano": _tiers("volcano.sh/", "hypercluster", "hypernode", "tor"),
    "generic": _tiers("topology.kubernetes.io/", "region", "zone", "block", "rack"),
    "clique": (Tier("rack", CLIQUE, accelerator=True),),
}
"""If nodes have labels from several networks, the network with the most labels wins, or the first among equals."""

PLACES = ("generic", "clique")
"""The presets to try if nodes have labels of no network."""

LABELS = frozenset(tier.label for tiers in PRESETS.values() for tier in tiers) | {CLIQUE}


Path = tuple[str, ...]
LABEL_THEM = "label the nodes, choose other levels with --level, or leave the nodes out with --exclude-incomplete"
MOST = 10
"""Domains of a level that bayplan reports."""


class Tiers(NamedTuple):
    """Levels to look for. `beside`: levels of accelerators, whose position in the tree follows from the nodes.
    `declared`: a user or another source declared all levels."""

    tree: tuple[Tier, ...] = ()
    beside: tuple[Tier, ...] = ()
    declared: bool = False


class Row(NamedTuple):
    """Equal nodes and their place."""

    path: Path
    group: NodeGroup


class Tree(NamedTuple):
    """Levels, coarse to fine, and the nodes in their domains."""

    levels: tuple[Level, ...]
    rows: tuple[Row, ...]


K = TypeVar("K")
Places = Mapping[Path, list[NodeGroup]]
"""Place of a domain -> the nodes that report it."""


def preset_of(groups: Iterable[NodeGroup]) -> tuple[str, ...]:
    """The presets with labels on the nodes, the best first."""
    labels = carried(groups)
    scores = {name: sum(tier.label in labels for tier in tiers) for name, tiers in PRESETS.items()}
    networks = sorted((name for name in scores if name not in PLACES and scores[name]), key=lambda name: -scores[name])
    return (*networks, *(name for name in PLACES if scores[name]))


def preset_tiers(preset: str, groups: Iterable[NodeGroup]) -> Tiers:
    """The levels of a preset that any node has: not every network of a platform has all of its levels."""
    labels = carried(groups)
    tiers = [tier for tier in PRESETS.get(preset, ()) if tier.label in labels]
    return Tiers(
        tuple(tier for tier in tiers if not tier.accelerator), tuple(tier for tier in tiers if tier.accelerator)
    )


def carried(groups: Iterable[NodeGroup]) -> set[str]:
    """The labels that any of the nodes has."""
    return {key for each in groups for key, value in each.labels.items() if value}


def declared_tiers(levels: Sequence[Level]) -> Tiers:
    """Levels that a user or another source declared."""
    return Tiers(tuple(Tier(each.name, each.label, repeats=each.unique == "parent") for each in levels), (), True)


def rows_of(groups: Iterable[NodeGroup], tiers: Sequence[Tier]) -> tuple[Row, ...]:
    """The places of nodes that have all labels."""
    labels = [tier.label for tier in tiers]
    paths = ((tuple(each.labels.get(label, "") for label in labels), each) for each in groups)
    return tuple(Row(path, each) for path, each in paths if all(path))


def tree_of(rows: tuple[Row, ...], tiers: Sequence[Tier], where: str, report: Report, *, fixed: bool = False) -> Tree:
    """The tree of these levels, without levels that have one node in each domain.

    `fixed`: these are levels of a topology file, which stay.
    """
    while tiers and not fixed and _one_node_each(rows):
        _report_one_each(tiers, rows, where, report)
        tiers, rows = tiers[:-1], joined(rows, len(tiers) - 1)
    upside_down = _report_order(rows, tiers, where, report)
    levels = [Level(tier.name, tier.label) for tier in tiers]
    for depth in range(1, len(tiers)) if not upside_down else ():
        if _repeat(rows, depth, tiers, where, report):
            levels[depth] = levels[depth]._replace(unique="parent")
    return Tree(tuple(levels), rows)


def joined(rows: Iterable[Row], depth: int) -> tuple[Row, ...]:
    """The rows without the levels below a depth."""
    return tuple(row._replace(path=row.path[:depth]) for row in rows)


def _one_node_each(rows: Sequence[Row]) -> bool:
    """Whether every node has its own value of the finest level."""
    return (
        len(rows) > 1
        and all(len(row.group.names) == 1 for row in rows)
        and len({row.path[-1:] for row in rows}) == len(rows)
    )


def _report_one_each(tiers: Sequence[Tier], rows: Sequence[Row], where: str, report: Report) -> None:
    """T509."""
    label, names = tiers[-1].label, rows[0].group.names
    hint = f'every pool ends in the level "{HOST_LEVEL}" anyway'
    if len(tiers) == 1 and {row.path[-1] for row in rows} == {name for row in rows for name in row.group.names}:
        message = f'the label "{label}", the only level of {where}, has the names of the nodes as values'
        report.error("T509", names, message, hint=f"remove the level: {hint}")
    else:
        message = f'left out the level "{label}": every node of {where} has its own value'
        report.warning("T509", names, message, hint=f"no action needed: {hint}")


def _report_order(rows: Sequence[Row], tiers: Sequence[Tier], where: str, report: Report) -> bool:
    """T405, and whether there is any: a value of the coarser level determines the value of the finer one."""
    before = len(report.diagnostics)
    for depth in range(1, len(tiers)):
        coarse, fine = len({row.path[depth - 1] for row in rows}), len({row.path[depth] for row in rows})
        if fine < coarse and len({row.path[depth - 1 : depth + 1] for row in rows}) == coarse:
            one, other = tiers[depth - 1], tiers[depth]
            message = f'"{one.label}" is finer than "{other.label}" in {where}: {coarse} values, and {fine}'
            hint = f'name "{other.label}" before "{one.label}": levels go from coarse to fine'
            report.error("T405", rows[0].group.names, message, hint=hint)
    return len(report.diagnostics) > before


def _repeat(rows: Sequence[Row], depth: int, tiers: Sequence[Tier], where: str, report: Report) -> bool:
    """Whether the values of a level repeat under other parents. T505 if these look like mistakes."""
    parents = placed((row.path[depth], row.path[:depth], row.group) for row in rows)
    several = {value: held for value, held in parents.items() if len(held) > 1}
    tier = tiers[depth]
    if not several or tier.repeats:
        return bool(several)
    structural = len(several) > 2 or all(map(even, several.values()))
    if structural and 2 * len(several) >= len(parents):
        message = f'values of "{tier.label}" repeat under several parents in {where}: {listing(several, "and", 3)}'
        hint = "no action needed: bayplan sets `unique: parent` on the level"
        report.info("T518", rows[0].group.names, message, hint=hint)
        return True
    for value, held in list(several.items())[:MOST]:
        few, many = minority(held)
        above = next(level for level, pair in enumerate(zip(few, many, strict=True)) if pair[0] != pair[1])
        report_two_places(tier, value, tiers[above].name, tiers[above].label, above, held, report)
    return False


def report_two_places(
    tier: Tier, value: str, level: str, label: str, depth: int, parents: Places, report: Report
) -> None:
    """T505: most nodes of a domain report one domain of a coarser level, and a few report another."""
    few, many = minority(parents)
    names = nodes_of(parents[few])
    most = count(size(parents[many]), "node")
    message = (
        f'{tier.name} "{value}" is in two places: {level} "{many[depth]}" on {most},'
        f' and "{few[depth]}" on {named(names)}'
    )
    hint = f'correct the label "{label}" or "{tier.label}" of {named(names)}'
    report.error("T505", names, message, hint=hint)


def placed(groups: Iterable[tuple[K, Path, NodeGroup]]) -> dict[K, Places]:
    """Domain -> place -> the nodes that report it."""
    by_domain = grouped((domain, (path, group)) for domain, path, group in groups)
    return {domain: grouped(pairs) for domain, pairs in by_domain.items()}


def minority(parents: Places) -> tuple[Path, Path]:
    """The place that the fewest nodes report, and the place that the most nodes report."""
    sizes = sorted((size(held), path) for path, held in parents.items())
    return sizes[0][1], sizes[-1][1]


def even(parents: Places) -> bool:
    """Whether no place has less than half the nodes of another, so that it is not a mistake on a few nodes."""
    sizes = [size(held) for held in parents.values()]
    return 2 * min(sizes) >= max(sizes)


def report_incomplete(
    groups: Sequence[NodeGroup], tiers: Sequence[Tier], where: str, excluded: bool, report: Report
) -> None:
    """T503: nodes that lack a label that others have. An info if `excluded`, otherwise an error."""
    reported: set[str] = set()
    for tier in tiers if groups else ():
        lacking = nodes_of(each for each in groups if not each.labels.get(tier.label))
        new = [name for name in lacking if name not in reported and tier.label != CLIQUE]
        reported.update(new)
        if new and excluded:
            message = f'left out {named(new)} of {where} without the label "{tier.label}"'
            report.info("T503", new, message, hint="label the nodes to include them")
        elif new:
            having = nodes_of(each for each in groups if each.labels.get(tier.label))
            others = f'; "{having[0]}" and others of {where} have it' if having else ""
            report.error("T503", new, f'{lack(new)} the label "{tier.label}"{others}', hint=LABEL_THEM)
