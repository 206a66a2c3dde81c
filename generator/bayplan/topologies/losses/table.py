"""What each format of `topology export` cannot hold: declared here, told on every export, and proven by tests.

A loss is a function that takes something out of a topology. What comes back from a format is the topology less all of
the format's losses: `minus(word, read(write(t))) == minus(word, t)` (tests/test_round_trips.py). So one table says what
the documentation promises, what a user is told of the file at hand, and what the tests forgive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.core.diagnostics import Diagnostic, Route, info, warning
from bayplan.core.phrases import listing
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.losses import rows, slurm
from bayplan.topologies.losses.rows import Loss

SETTINGS = (
    rows.name,
    rows.read,
    rows.versions,
    rows.images,
    rows.defaults,
    rows.schedulers,
    rows.accelerators,
    rows.fabrics,
    rows.namespaces,
)
"""What is said of the cluster besides its nodes and its queues."""

OFFER = (rows.cards, rows.resources, rows.template)
"""What a node offers."""

CHOICE = (rows.selectors, rows.tolerations)
"""Which pods go to a pool's nodes."""

MARKS = (rows.plan, rows.unique, rows.apply)
"""What a level is besides a name and a label."""

ROW = (rows.nvlink_domains, rows.leaves)
"""What a domain is besides a place with nodes."""

NODES = (rows.domains, rows.unusable)

DISCOVERED = "volcano-discovery"
"""What `--to volcano` writes where Volcano finds its HyperNodes by labels."""

LOST: Mapping[str, tuple[Loss, ...]] = {
    "kueue": (
        *(rows.flavors, rows.default_queue, *SETTINGS, *OFFER, rows.every_node),
        *(rows.level_names, rows.nvlink_unknown, *MARKS, *NODES),
    ),
    "kai": (
        *(rows.default_queue, *SETTINGS, *OFFER, *CHOICE, rows.level_names, rows.nvlink_unknown, *MARKS, *NODES),
        *(rows.lists, rows.numbered),
    ),
    "koordinator": (*SETTINGS, rows.queues, *OFFER, *CHOICE, rows.nvlink, *MARKS, *NODES, rows.layers),
    "volcano": (
        *(*SETTINGS[1:], rows.queues, *OFFER, *CHOICE, rows.nvlink, *MARKS, *ROW),
        *(rows.unlevelled, rows.unusable_nodes, rows.empty, rows.one_tree, rows.by_name),
    ),
    DISCOVERED: (
        *(*SETTINGS, rows.queues, *OFFER, *CHOICE, rows.level_names, rows.nvlink_unknown, *MARKS, *NODES),
        *(rows.unlevelled, rows.lists, rows.numbered),
    ),
    "slurm": (
        *(slurm.pools, slurm.nodes, slurm.plan, *SETTINGS, rows.queues, *OFFER, *CHOICE),
        *(rows.unique, rows.apply, *ROW, rows.unlevelled, rows.unusable, rows.order, rows.empty),
    ),
    "slurm-conf": (
        *(slurm.one, slurm.called, slurm.nodes, slurm.plan, *SETTINGS, rows.queues, *OFFER, *CHOICE),
        *(rows.unique, rows.apply, *ROW, rows.unusable, rows.order, rows.empty),
    ),
    "slinky": (
        *(slurm.pools, slurm.nodes, *SETTINGS, rows.queues, *OFFER, *CHOICE, *ROW),
        *(rows.unlevelled, rows.unusable, rows.empty, rows.places),
    ),
    "node-labels": (
        *(*SETTINGS, rows.queues, *OFFER, *CHOICE, *ROW, rows.unusable, rows.empty, rows.carried),
        *(rows.level_names, rows.nvlink_unknown, *MARKS, rows.unlevelled, rows.one_tree, rows.by_path),
    ),
    "topograph": (*SETTINGS, rows.queues, *OFFER, *CHOICE, rows.unusable, rows.empty),
    "network-operator": (
        *(rows.cloud_fabrics, rows.unattached, rows.fabric_pods, rows.rail_devices, rows.every_pool),
        *(each for each in (*SETTINGS, rows.queues) if each is not rows.fabrics),
    ),
    "topograph-graph": (*SETTINGS, rows.queues, *OFFER, *CHOICE, rows.leaves, rows.unusable, rows.empty),
}
"""Word after --to -> what that format lacks, in the order in which it is taken out."""


def lost(word: str, topology: ClusterTopology, target: Target) -> tuple[Loss, ...]:
    """The losses of a format. Before 25.05, Slurm has a topology.conf."""
    if word == "slurm" and not target.since("slurm", "25.05"):
        word = "slurm-conf"
    if word == "volcano" and topology.schedulers.get("volcano", {}).get("hyperNodes") == "discovered":
        word = DISCOVERED
    return LOST.get(word, ())


def minus(word: str, topology: ClusterTopology, target: Target) -> ClusterTopology:
    """The topology without what the format cannot hold."""
    for loss in lost(word, topology, target):
        topology = loss.drop(topology, target)
    return topology


def report(word: str, topology: ClusterTopology, target: Target, written: bool) -> Iterator[Diagnostic]:
    """T580: what of this file the format cannot hold; T581: that is all of it; T582: labels that others may set."""
    route: Route = ("topology", "metadata", "name")
    titles = [loss.title for loss in lost(word, topology, target) if loss.drop(topology, target) != topology]
    if not written:
        message = f"there is nothing in this file that {word} can hold, so nothing is written"
        what = "fabrics of networks" if word == "network-operator" else "nodes, in pools that have levels"
        yield warning("T581", route, message, hint=f"it takes {what}")
    elif titles:
        message = f"{word} does not hold all of this file. Lost: {'; '.join(titles)}"
        yield info("T580", route, message, hint="keep this file and export from it; the rest comes back by an import")
    levels = [level for pool in topology.pools for level in pool.levels]
    if written and word == "node-labels" and not any(level.apply for level in levels):
        labels = listing(dict.fromkeys(level.label for level in levels), "and", most=5)
        message = f"no level is marked `apply`, so the labels of all levels are written: {labels}"
        hint = "write `apply: true` on levels whose labels no node carries yet, and only these are written"
        yield info("T582", ("topology", "spec", "pools", 0), message, hint=hint)
