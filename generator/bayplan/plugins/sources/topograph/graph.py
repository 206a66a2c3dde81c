"""The answer of Topograph's graph engine: `{instances: [{id, network_layers, labels}]}` (1.0, docs/engines/graph.md).

`network_layers` starts with the switch that is closest to the node. `labels` are the labels of the node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.plugin import (
    AT,
    ClusterTopology,
    Diagnostic,
    Domain,
    File,
    Level,
    Note,
    Outcome,
    Part,
    Pool,
    ReadOptions,
    Route,
    SourceFile,
    Target,
    error,
    get,
    grouped,
    has_errors,
    items,
    natural,
)
from bayplan.plugins.sources import topograph
from bayplan.plugins.sources.fabric_managers import Row, document, roots, value
from bayplan.plugins.sources.topograph import DOMAIN_LABEL, NVLINK, POOL, SUB_DOMAIN_LABEL, TIERS, Nodes, shown, strings

FILE = "topology.json"
_SNIFF = re.compile(r'\s*\{\s*"instances"\s*:\s*\[')
_LAYERS = re.compile(r'"(?:network_layers|labels)"')
SHAPE = "write {instances: [{id, network_layers: [closest first], labels: {}}]}; see Topograph's docs/engines/graph.md"


class Instance(NamedTuple):
    """One node. `layers`: coarse to fine."""

    node: str
    layers: tuple[str, ...]
    labels: Mapping[str, str]
    route: Route


def sniff(source: SourceFile) -> bool:
    """Whether the file starts with instances that have layers or labels."""
    return bool(_SNIFF.match(source.head) and _LAYERS.search(source.head))


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The instances by the switches above them."""
    issues: list[Diagnostic] = []
    at = source.at()
    nodes = Nodes()
    data = document(source, issues)
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    instances = list(_instances(data, at, nodes, issues))
    if not instances and not has_errors(issues):
        issues.append(error("T530", at, "the file has no instances", hint=SHAPE))
    if options.labels:
        nodes.labels |= {each.node: topograph.wanted(each.labels, options.labels) for each in instances}
    own = any(POOL in each.labels for each in instances)
    rows = list(_rows(instances, strings(get(data, POOL)), options))
    ordered = rows if own else sorted(rows, key=lambda row: tuple(map(natural, row.switches)))
    start = (*at, AT, 1, 1)
    issues += roots(rows, start)
    return topograph.part(source, options, ordered, nodes, issues, start)


def _instances(data: Any, at: Route, nodes: Nodes, issues: list[Diagnostic]) -> Iterator[Instance]:
    seen: dict[str, Route] = {}
    for number, each in enumerate(items(data, "instances")):
        route = (*at, "instances", number)
        layers = get(each, "network_layers") or []
        if (
            not shown(get(each, "id"))
            or not isinstance(layers, list)
            or not all(map(shown, layers))
            or len(layers) > TIERS
        ):
            issues.append(error("T530", route, f"an instance must have an id and at most {TIERS} layers", hint=SHAPE))
            continue
        name = shown(each["id"])
        node = nodes.take(name, route)
        if node in seen:
            notes = (Note("the first one is here", seen[node]),)
            message = f'instance "{name}" is listed twice'
            issues.append(error("T401", route, message, notes=notes, hint="remove one of them"))
        elif node:
            seen[node] = route
            yield Instance(node, tuple(map(shown, reversed(layers))), strings(get(each, "labels")), route)


def _rows(instances: list[Instance], pools: Mapping[str, str], options: ReadOptions) -> Iterator[Row]:
    """One row for all instances in one place, with the tiers that labels of the nodes name."""
    kinds = grouped(((each.labels.get(POOL, ""), len(each.layers)), each) for each in instances)
    for (pool, depth), own in kinds.items():
        levels = _named(own, depth)
        alike: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], list[Instance]] = {}
        for each in own:
            domain, sub = each.labels.get(DOMAIN_LABEL, ""), each.labels.get(SUB_DOMAIN_LABEL, "")
            held = topograph.groups(each.labels, domain, sub, options)
            alike.setdefault((each.layers, tuple(held.items())), []).append(each)
        for (layers, groups), members in alike.items():
            values = tuple(value(members[0].labels[level.label]) for level in levels)
            row = Row(layers, tuple(each.node for each in members), dict(groups), (), pool)
            row = row._replace(route=members[0].route, levels=levels, values=values)
            labels = members[0].labels
            yield topograph.known(row, pools[pool], labels, labels.get(NVLINK, "")) if pool in pools else row


def _named(instances: list[Instance], depth: int) -> tuple[Level, ...]:
    """The level of each tier, if every tier is also a label of the nodes with the same values."""
    keys = dict.fromkeys(
        key for key in instances[0].labels if key not in (POOL, NVLINK, DOMAIN_LABEL, SUB_DOMAIN_LABEL)
    )
    labels: list[str] = []
    for n in range(depth):
        mine = (key for key in keys if key not in labels and all(_same(each, n, key) for each in instances))
        key = next(mine, "")
        if not key:
            return ()
        labels.append(key)
    return tuple(topograph.level("", key)._replace(unique=_unique(instances, n, key)) for n, key in enumerate(labels))


def _unique(instances: list[Instance], n: int, key: str) -> str:
    """The uniqueness of a level: switches of repeated values have their paths as names."""
    return "global" if all(each.layers[n] == each.labels[key] for each in instances) else "parent"


def _same(each: Instance, n: int, key: str) -> bool:
    """Whether the name of a layer is the label's value, or the values from the top down to it, joined by dots."""
    own = each.labels.get(key, "")
    return bool(own) and (each.layers[n] == own or each.layers[n].endswith(f".{own}"))


def write(topology: ClusterTopology, target: Target) -> tuple[File, ...]:
    """Every node with the switches above it and its labels, one instance on each line."""
    names = topograph.switch_names(topograph.switches(topology))
    lines = (
        json.dumps({"id": node, "network_layers": layers, "labels": labels})
        for pool in topology.pools
        for domain in pool.domains
        for layers, labels in (_written(pool, domain, names),)
        for node in domain.nodes
    )
    pools = {pool.name: topograph.levels_text(pool.levels) for pool in topology.pools}
    text = '{"instances": [\n' + ",\n".join(lines) + f'\n], "{POOL}": {json.dumps(pools)}}}\n'
    return (File(FILE, text),)


def _written(pool: Pool, domain: Domain, names: Mapping[topograph.Key, str]) -> tuple[list[str], dict[str, str]]:
    key = topograph.domain_key(pool, domain)
    partition = topograph.nvlink_partition(pool, domain, names)
    own = {POOL: pool.name, NVLINK: domain.nvlink_domain, DOMAIN_LABEL: partition}
    labels = {**dict(key), **{label: each for label, each in own.items() if each}}
    return [names[key[:depth]] for depth in range(len(key), 0, -1)], labels
