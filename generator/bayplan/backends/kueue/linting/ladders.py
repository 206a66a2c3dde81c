"""The lists of levels that a workload's annotations may name: of Topologies among the manifests, and of the pools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from bayplan.kube.objects import items, text
from bayplan.model.manifest import Object
from bayplan.model.topology import HOST, ClusterTopology

Ladder = tuple[str, ...]
"""Node labels, coarse to fine."""


def ladders(objects: Iterable[Object], topology: ClusterTopology) -> tuple[Ladder, ...]:
    """Every list of levels there is."""
    pools = [tuple(level.label for level in (*pool.levels, HOST)) for pool in topology.pools]
    return tuple(dict.fromkeys([*(levels_of(each) for each in objects if is_topology(each)), *pools]))


def is_topology(each: Object) -> bool:
    """Whether the object is Kueue's Topology."""
    return each.data.get("kind") == "Topology" and text(each.data, "apiVersion").startswith("kueue.x-k8s.io/")


def levels_of(topology: Object) -> Ladder:
    """The node labels of a Topology."""
    return tuple(text(level, "nodeLabel") for level in items(topology.data, "spec", "levels"))


def ordered(labels: Sequence[str], ladder: Ladder, *, strictly: bool = True) -> bool:
    """Whether the labels stand in the ladder from coarse to fine."""
    if not set(labels) <= set(ladder):
        return False
    places = [ladder.index(label) for label in labels]
    return all(a < b or (a == b and not strictly) for a, b in pairwise(places))
