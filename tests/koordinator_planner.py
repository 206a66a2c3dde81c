"""Koordinator's planner for gangs with a network-topology-spec, in our words, to ask it what manifests lead to.

After pkg/scheduler/frameworkext/networktopology/tree.go and pkg/scheduler/plugins/coscheduling/core/
network_topology_solver.go, v1.7.0 and v1.8.0. It knows nothing of bayplan: a ClusterNetworkTopology, labels of nodes,
free places on them, a network-topology-spec and pod names go in; pod -> node comes out, or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Labels = Mapping[str, Mapping[str, str]]  # node -> its labels


class Domain:
    """A node of the tree."""

    def __init__(self, layer: str, name: str, above: Domain | None) -> None:
        self.layer, self.name, self.above = layer, name, above
        self.below: dict[str, Domain] = {}
        self.places = 0


def tree(topology: Mapping[str, Any], nodes: Labels) -> tuple[Domain, list[str]]:
    """The cluster as one domain, and the layers coarse to fine. One domain a layer and value, whatever is above."""
    entries = {each["topologyLayer"]: each for each in topology["spec"]["networkTopologySpec"]}
    layers, current = [], "NodeTopologyLayer"
    for _ in entries:
        layers.insert(0, current)
        current = entries[current].get("parentTopologyLayer", "")
    root, known = Domain("ClusterTopologyLayer", "", None), dict[tuple[str, str], Domain]()
    for node, labels in nodes.items():
        path = [_value(entries[layer], node, labels) for layer in layers]
        if not path[-2:][0]:
            path[-2] = node
        if all(path):
            at = root
            for layer, value in zip(layers, path, strict=True):
                if (layer, value) not in known:
                    at.below[value] = known[layer, value] = Domain(layer, value, at)
                at = known[layer, value]
    return root, layers


def _value(entry: Mapping[str, Any], node: str, labels: Mapping[str, str]) -> str:
    if entry["topologyLayer"] == "NodeTopologyLayer":
        return node
    return next((labels[key] for key in entry.get("labelKey", ()) if labels.get(key)), "")


def place(
    topology: Mapping[str, Any], nodes: Labels, free: Mapping[str, int], spec: str, pods: Sequence[str]
) -> dict[str, str] | None:
    """Pod -> node, as Koordinator plans it; None when it finds no domain."""
    root, layers = tree(topology, nodes)
    rules = json.loads(spec)["gatherStrategy"]
    must = [rule["layer"] for rule in rules if rule["strategy"] == "MustGather"]
    deepest = max(must, key=layers.index) if must else root.layer
    multiples = {rule["layer"]: rule.get("podCountMultiple", 1) for rule in rules}
    _count(root, free, multiples)
    level, candidates = _of_layer(root, deepest), list[Domain]()
    while fitting := [each for each in level if each.places >= len(pods)]:
        candidates = fitting
        level = [child for each in fitting for child in each.below.values()]
    for candidate in sorted(candidates, key=_fullest_first):
        dealt = _deal(len(pods), candidate, multiples)
        if sum(count for _, count in dealt) >= len(pods):
            slots = [node for node, count in dealt for _ in range(count)]
            return dict(zip(sorted(pods), slots, strict=True))
    return None


def _count(domain: Domain, free: Mapping[str, int], multiples: Mapping[str, int]) -> None:
    for child in domain.below.values():
        _count(child, free, multiples)
    inside = sum(child.places for child in domain.below.values())
    domain.places = free.get(domain.name, 0) if domain.layer == "NodeTopologyLayer" else inside
    multiple = multiples.get(domain.layer, 1)
    domain.places = domain.places // multiple * multiple


def _of_layer(domain: Domain, layer: str) -> list[Domain]:
    if domain.layer == layer:
        return [domain]
    return [found for child in domain.below.values() for found in _of_layer(child, layer)]


def _fullest_first(domain: Domain) -> tuple[list[int], str]:
    return [each.places for each in _upwards(domain)], domain.name


def _emptiest_first(domain: Domain) -> tuple[list[int], str]:
    return [-each.places for each in _upwards(domain)], domain.name


def _upwards(domain: Domain | None) -> list[Domain]:
    return [] if domain is None else [domain, *_upwards(domain.above)]


def _deal(wanted: int, domain: Domain, multiples: Mapping[str, int]) -> list[tuple[str, int]]:
    """Nodes in the order in which pods take them, and how many each takes."""
    multiple = multiples.get(domain.layer, 1)
    most = min(wanted, domain.places) // multiple * multiple
    if domain.layer == "NodeTopologyLayer":
        return [(domain.name, most)]
    dealt: list[tuple[str, int]] = []
    for child in sorted(domain.below.values(), key=_emptiest_first):
        mine = _deal(most, child, multiples)
        most -= sum(count for _, count in mine)
        dealt += mine
    return dealt
