"""Names that Slurm has for nodes, blocks and switches (`schedulers.slurm` of a topology).

They are part of the topology format: several sources of one cluster name the same nodes, and Slurm does not start when
a saved name is gone.
"""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bayplan.model.topology import ClusterTopology, Domain, Pool

Path = tuple[str, ...]

LONGEST_NAME = 64
"""Characters of a name that Slurm accepts."""


def settings(topology: ClusterTopology, pool: str = "") -> Mapping[str, Any]:
    """The Slurm settings of the topology file. Settings of the pool override the general ones."""
    own = topology.schedulers.get("slurm", {})
    return {**own, **own.get("pools", {}).get(pool, {})}


class NameRule(NamedTuple):
    """A pattern of node names, and the name in Slurm of the nodes that match it."""

    pattern: re.Pattern[str]
    name: str


def name_rules(topology: ClusterTopology) -> tuple[NameRule, ...]:
    """`schedulers.slurm.names`, which the reader of the topology has checked."""
    return tuple(NameRule(re.compile(each["from"]), each["to"]) for each in settings(topology).get("names", ()))


def slurm_name(node: str, rules: Iterable[NameRule]) -> str:
    """Slurm's name of a node. It is the same name if no rule matches all of it."""
    for rule in rules:
        if match := rule.pattern.fullmatch(node):
            return match.expand(rule.name)
    return node


def slurm_names(topology: ClusterTopology) -> dict[str, str]:
    """Slurm's names of nodes -> their names. Empty if the file has no rules."""
    rules = name_rules(topology)
    return {slurm_name(node, rules): node for pool in topology.pools for node in pool.nodes()} if rules else {}


def known_units(topology: ClusterTopology, pool: Pool) -> Mapping[str, str]:
    """Path -> the current name of the block or switch in Slurm. Slurm saves the names with its nodes and does not start
    if one changes, so bayplan keeps known names."""
    units: Mapping[str, str] = settings(topology, pool.name).get("units", {})
    return units


def is_safe_name(name: str) -> bool:
    """Whether a name of a unit is valid in all of Slurm's files and in bayplan's, by the same rule as the schema."""
    sound = len(name) <= LONGEST_NAME and name.isascii() and name.isprintable()
    return sound and not set(name) & set(' "#$,=[]\\')


def unit_name(text: str) -> str:
    """A name without special characters of hostlists. It ends in at most 18 digits, because Slurm reads these as a
    64-bit number (25.11, `hostlist.c`)."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", text) or "unit"
    if len(name) > LONGEST_NAME - 4:
        name = f"{name[: LONGEST_NAME - 13]}-{crc32(text.encode()):08x}"
    return f"{name}_" if len(name) - len(name.rstrip("0123456789")) > 18 else name


def siblings_together(domains: Iterable[Domain]) -> list[Domain]:
    """The domains in file order, with the domains of one parent together."""
    first: dict[Path, int] = {}
    listed = list(domains)
    for number, each in enumerate(listed):
        for depth in range(len(each.path) + 1):
            first.setdefault(each.path[:depth], number)
    return sorted(listed, key=lambda each: [first[each.path[: depth + 1]] for depth in range(len(each.path))])
