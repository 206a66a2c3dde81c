"""HyperNodes (topology.volcano.sh/v1alpha1): one object for each domain, from the finest level up.

Volcano 1.14 and 1.15, staging/.../topology/v1alpha1/hypernode_types.go and pkg/scheduler/api/hyper_node_info.go. Tier 1
is the finest level. Members have exact names: for HyperNodes the scheduler supports no other selector, and other
selectors of nodes depend on the rest of the cluster.
"""

from __future__ import annotations

import re
from binascii import crc32
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Domain
from bayplan.topologies.grouping import natural
from bayplan.topologies.hypernodes import GROUP, LEVEL, PATH, TOPOLOGY

API_VERSION = f"{GROUP}/v1alpha1"
LONGEST, LONGEST_LABEL = 253, 63
DISCOVERY = "volcano-controller-configmap"
LONGEST_TYPE = 20
"""Characters of the name of a topology type. Discovery ignores longer ones (Volcano 1.15, discovery/label/label.go)."""

Key = tuple[tuple[str, str], ...]
"""A domain: label and value of each level from the coarsest one down. Pools share domains with equal keys."""


class HyperNode(NamedTuple):
    """One domain: its tier, and the domains or nodes directly below it."""

    level: str
    tier: int
    below: dict[Key, None]
    nodes: list[str]


def write(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """The HyperNodes of a topology, coarse ones first, or the configuration of Volcano's discovery."""
    if topology.schedulers.get("volcano", {}).get("hyperNodes") == "discovered":
        return (_discovery(topology),)
    domains = tree(topology)
    object_names = names(domains)
    return tuple(_document(topology, key, each, object_names) for key, each in domains.items())


def tree(topology: ClusterTopology) -> Mapping[Key, HyperNode]:
    """Every domain with usable nodes, in the order of names. All pools with levels have the same number of levels."""
    domains: dict[Key, HyperNode] = {}
    for pool in topology.pools:
        unusable = pool.unusable_nodes()
        for domain in sorted(pool.domains, key=place) if pool.levels else ():
            usable = [node for node in domain.nodes if node not in unusable]
            key = tuple(zip((level.label for level in pool.levels), domain.path, strict=False))
            for depth, level in enumerate(pool.levels if usable else (), 1):
                each = domains.setdefault(key[:depth], HyperNode(level.name, len(pool.levels) - depth + 1, {}, []))
                if depth < len(key):
                    each.below[key[: depth + 1]] = None
                else:
                    each.nodes.extend(usable)
    return domains


def place(domain: Domain) -> tuple[Any, ...]:
    """A sort key for domains by name, r2 before r10, so that the output does not depend on the order of rows."""
    return tuple(natural(value) for value in domain.path)


def names(domains: Mapping[Key, Any]) -> dict[Key, str]:
    """A DNS-1123 name for each domain, made of its values. Names that would be equal end in a hash of the original."""
    plain = {
        key: ".".join(re.sub("[^a-z0-9]+", "-", value.lower()).strip("-") or "x" for _, value in key) for key in domains
    }
    uses = Counter(plain.values())
    return {
        key: name if len(name) <= LONGEST and uses[name] == 1 else _hashed(name, key) for key, name in plain.items()
    }


def _hashed(name: str, key: Key) -> str:
    whole = "/".join(f"{label}={value}" for label, value in key)
    return f"{name[: LONGEST - 9].rstrip('-.')}-{crc32(whole.encode()):08x}"


def _document(topology: ClusterTopology, key: Key, each: HyperNode, object_names: Mapping[Key, str]) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": "HyperNode",
        "metadata": {
            "name": object_names[key],
            **({"labels": {TOPOLOGY: topology.name}} if len(topology.name) <= LONGEST_LABEL else {}),
            "annotations": {LEVEL: each.level, PATH: "/".join(value for _, value in key)},
        },
        "spec": {
            "tier": each.tier,
            "tierName": key[-1][0],
            "members": [
                *(_member("HyperNode", object_names[child]) for child in each.below),
                *(_member("Node", node) for node in each.nodes),
            ],
        },
    }


def _member(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def _discovery(topology: ClusterTopology) -> Manifest:
    """The configuration of Volcano's controller, which has only this key. The host's label must be last, because
    discovery always ignores the last label."""
    types = "".join(_type(name, labels) for name, labels in _types(topology))
    head = "networkTopologyDiscovery:\n- source: label\n  enabled: true\n  config:\n    networkTopologyTypes:\n"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": DISCOVERY, "namespace": "volcano-system"},
        "data": {"volcano-controller.conf": head + types},
    }


def _types(topology: ClusterTopology) -> Iterator[tuple[str, tuple[str, ...]]]:
    """One type for each list of levels, under the first pool's name."""
    lists = {tuple(level.label for level in pool.levels): pool.name for pool in reversed(topology.pools) if pool.levels}
    taken: set[str] = set()
    for labels, name in reversed(lists.items()):
        short = name if len(name) <= LONGEST_TYPE else f"{name[: LONGEST_TYPE - 9]}-{crc32(name.encode()):08x}"
        if short not in taken:
            taken.add(short)
            yield short, labels


def _type(name: str, labels: tuple[str, ...]) -> str:
    lines = "".join(f"      - nodeLabel: {label}\n" for label in (*labels, HOSTNAME_LABEL))
    return f"      {name}:\n{lines}"
