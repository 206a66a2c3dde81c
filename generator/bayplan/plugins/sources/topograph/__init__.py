"""Labels and annotations of Topograph, and bayplan's own, which a later import reads back (Topograph 1.0).

Topograph counts tiers from the nodes up, at every depth (docs/reference/node-labels.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.plugin import (
    PLACEHOLDER,
    ClusterTopology,
    Diagnostic,
    Domain,
    Level,
    Outcome,
    Part,
    Pool,
    ReadOptions,
    Route,
    SourceFile,
    dns_label,
    has_errors,
    is_label_key,
)
from bayplan.plugin import native_topology as native
from bayplan.plugins.sources.fabric_managers import (
    LevelNames,
    RenamedNames,
    Row,
    left_out,
    node_name,
    pools,
    stem,
    value,
)

TIERS = 20
"""The most tiers of a source: a fabric has three or four, and Slurm accepts no more than this."""
DOMAIN, SUB_DOMAIN = "domain", "sub-domain"
DOMAIN_LABEL = "accelerator.topograph.run/domain"
SUB_DOMAIN_LABEL = "accelerator.topograph.run/sub-domain"
DOMAIN_NOTE = "accelerator.topology.test/domain"
SUB_DOMAIN_NOTE = "accelerator.topology.test/sub-domain"
POOL, LEVELS = "bayplan.dev/pool", "bayplan.dev/levels"
LEAVES, NVLINK = "bayplan.dev/leaves", "bayplan.dev/nvlink-domain"
INSTANCE = "i-"
"""Topograph's prefix for the simulated instance of a model's node."""

GROUPS: Mapping[str, Level] = {
    DOMAIN: Level(DOMAIN, DOMAIN_LABEL, nvlink=True, apply=True),
    SUB_DOMAIN: Level(SUB_DOMAIN, SUB_DOMAIN_LABEL, apply=True),
}
WORDS = LevelNames(
    tuple(Level(f"tier-{n}", f"fabric.topograph.run/tier-{n}", apply=True) for n in range(TIERS)), GROUPS
)


def words(options: ReadOptions) -> LevelNames:
    """The level names, with the levels of --level, which are labels of nodes and not switches."""
    return WORDS._replace(groups={**GROUPS, **{each.label: each for each in options.levels}})


def groups(labels: Mapping[str, str], domain: str, sub_domain: str, options: ReadOptions) -> dict[str, str]:
    """The domains of nodes besides switches."""
    held = {DOMAIN: domain, SUB_DOMAIN: sub_domain if domain else ""}
    held |= {each.label: labels.get(each.label, "") for each in options.levels}
    return {key: each for key, each in held.items() if each}


def strings(data: Any) -> dict[str, str]:
    """The strings of a mapping. Topograph treats integers as strings."""
    result = data if isinstance(data, dict) else {}
    return {key: shown(each) for key, each in result.items() if isinstance(key, str) and shown(each)}


def shown(data: Any) -> str:
    """A string, or an integer as string; otherwise empty."""
    return data if isinstance(data, str) else str(data) if type(data) is int else ""


def applied(label: str) -> bool:
    """Whether nodes get this label from such a file."""
    return label.startswith((f"{PLACEHOLDER}/", "fabric.topograph.run/", "accelerator.topograph.run/"))


def levels_text(levels: Iterable[Level]) -> str:
    """Levels in one line: `zone=example.com/zone rack=example.com/rack,nvlink,plan=16`."""
    return " ".join(",".join((f"{each.name}={each.label}", *_marks(each))) for each in levels)


def _marks(each: Level) -> Iterator[str]:
    yield from (dns_label for dns_label in ("nvlink", "apply") if getattr(each, dns_label))
    if each.unique == "parent":
        yield "parent"
    if each.plan is not None:
        yield f"plan={each.plan}"


def read_levels(text: str) -> tuple[Level, ...]:
    """The levels of such a line; none if the line is not valid."""
    result: list[Level] = []
    for each in text.split():
        head, *marks = each.split(",")
        name, _, label = head.partition("=")
        plan = next((mark[5:] for mark in marks if mark.startswith("plan=")), "")
        if (
            not name
            or dns_label(name) != name
            or not is_label_key(label)
            or not f"0{plan}".isdecimal()
            or len(plan) > 6
        ):
            return ()
        unique = "parent" if "parent" in marks else "global"
        result.append(Level(name, label, "nvlink" in marks, int(plan) if plan else None, unique, "apply" in marks))
    return tuple(result)


def known(row: Row, levels: str, labels: Mapping[str, str], partition: str) -> Row:
    """A row as bayplan wrote it, if the switches in the file still match the labels."""
    own = read_levels(levels)
    values = tuple(labels.get(each.label, "") for each in own)
    if not row.pool or len(own) != len(row.switches) or any(value(each) != each for each in values):
        return row
    groups = {key: each for key, each in row.groups.items() if key not in GROUPS}
    return row._replace(levels=own, values=values, groups=groups, partition=partition)


def level(name: str, label: str) -> Level:
    """The level of a label in a file."""
    return Level(dns_label(name) or dns_label(label.rpartition("/")[2]) or "level", label, apply=applied(label))


class Nodes:
    """Names of nodes in Topograph and in Kubernetes."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.places: dict[str, Route] = {}
        self.labels: dict[str, Mapping[str, str]] = {}
        self.invalid: list[str] = []
        self._renamed = RenamedNames("node name", [])

    def take(self, name: str, route: Route) -> str:
        """The node with that name; empty if the name is not valid."""
        node = node_name(name)
        if not node:
            self.invalid.append(name)
        else:
            self.places[node] = route
            if self._renamed.note(name, node) != name:
                self.aliases |= {name: node, INSTANCE + name: node}
        return node

    def reported(self, at: Route) -> Iterator[Diagnostic]:
        """T536, T537."""
        yield from self._renamed.reported(at)
        yield from left_out(
            "T537",
            self.invalid,
            "name",
            "that is not valid for a Kubernetes node",
            at,
            "correct the names in the source",
        )


def part(
    source: SourceFile, options: ReadOptions, rows: list[Row], nodes: Nodes, issues: list[Diagnostic], at: Route
) -> Outcome[Part]:
    """The rows as a part of the cluster."""
    issues += nodes.reported(at)
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    topology = ClusterTopology(stem(source.name), pools(rows, words(options), at, issues))
    reserved = tuple(pool._replace(levels=tuple(map(_not_host, pool.levels))) for pool in topology.pools)
    topology = native.planned(topology._replace(pools=reserved), options.plan)
    return Outcome(Part(topology, nodes.places, nodes.aliases, nodes.labels, source.name), tuple(issues))


def _not_host(each: Level) -> Level:
    """The level, renamed if it has the name of the host level."""
    return each._replace(name="host-group") if each.name == "host" else each


def wanted(labels: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """The labels with these keys."""
    return {key: labels[key] for key in keys if key in labels}


# The switches that both formats write. Nodes keep their labels, so that a cluster simulated from them has the labels of
# the levels. A later import reads back the annotations and labels of `bayplan.dev`.

Key = tuple[tuple[str, str], ...]
"""A switch: label and value of each level from the coarsest one down. Pools share switches with equal keys."""


def switches(topology: ClusterTopology) -> dict[Key, dict[Key, None]]:
    """Every domain of every level with the domains directly below it, coarse domains first."""
    children: dict[Key, dict[Key, None]] = {}
    for pool in topology.pools:
        for domain in pool.domains:
            key = domain_key(pool, domain)
            for depth in range(1, len(key) + 1):
                children.setdefault(key[:depth], {})
                if depth > 1:
                    children[key[: depth - 1]][key[:depth]] = None
    return children


def switch_names(keys: Iterable[Key]) -> dict[Key, str]:
    """The name of a switch: the name of its domain, or the whole path if several domains have that name."""
    listed = list(keys)
    plain = Counter(key[-1][1] for key in listed)
    result = {key: key[-1][1] if plain[key[-1][1]] == 1 else ".".join(value for _, value in key) for key in listed}
    twice = Counter(result.values())
    return {
        key: name if twice[name] == 1 else ".".join(f"{label}={value}" for label, value in key)
        for key, name in result.items()
    }


def domain_key(pool: Pool, domain: Domain) -> Key:
    """The switch of the nodes of a domain."""
    return tuple(zip((level.label for level in pool.levels), domain.path, strict=False))


def nvlink_partition(pool: Pool, domain: Domain, names: Mapping[Key, str]) -> str:
    """The NVLink partition, if the pool has a level for it."""
    depth = next((n for n, level in enumerate(pool.levels, 1) if level.nvlink), 0)
    return domain.nvlink_domain or names[domain_key(pool, domain)[:depth]] if depth else ""
