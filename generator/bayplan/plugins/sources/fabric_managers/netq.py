"""The topology graph of NetQ: `POST /api/netq/telemetry/v1/object/topologygraph/fetch-topology` (NetQ 4.14, 5.0).

It is one entry with links (`id`: two nodes joined by `-*-`) and nodes. Nodes of tier -1 are hosts. Topograph 1.0 reads
it in the same way (pkg/providers/netq/netq.go), and also accepts only one entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.plugin import (
    AT,
    Diagnostic,
    Outcome,
    Part,
    ReadOptions,
    Route,
    SourceFile,
    count,
    error,
    grouped,
    has_errors,
    items,
    number_in,
    text,
)
from bayplan.plugins.sources.fabric_managers import document, some
from bayplan.plugins.sources.fabric_managers import hosts as fabric_hosts
from bayplan.plugins.sources.fabric_managers.graph import Fabric
from bayplan.plugins.sources.fabric_managers.hosts import Adapter

HOST_TIER = -1
BETWEEN = "-*-"
_SNIFF = re.compile(r'\s*\[\s*\{\s*"(?:links|nodes)"')
_WORDS = re.compile(r'"compounded_(?:nodes|links)"|"id"\s*:\s*"[^"]*-\*-')


class Node(NamedTuple):
    """A host or a switch."""

    name: str
    tier: int
    route: Route


def sniff(source: SourceFile) -> bool:
    """Whether the file is a list that starts with links or nodes of NetQ."""
    return bool(_SNIFF.match(source.head) and _WORDS.search(source.head))


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The hosts below merged leaf switches."""
    issues: list[Diagnostic] = []
    at = source.at()
    data = document(source, issues)
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    if not isinstance(data, list) or len(data) != 1 or not items(data, 0, "nodes"):
        message = "the file is not a list with one topology graph"
        hint = "use the answer for one premises: `[{links: [...], nodes: [...]}]`"
        return Outcome(None, (error("T530", at, message, hint=hint),))
    nodes = dict(_nodes(data[0], (*at, 0)))
    links = list(_links(data[0], nodes, (*at, 0), issues))
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    start = (*at, AT, 1, 1)
    adapters = list(_adapters(links, nodes))
    fabric_hosts.unlinked((each.name for each in nodes.values() if each.tier == HOST_TIER), adapters, start, issues)
    hosts = fabric_hosts.sort(adapters, options, start, issues)
    between = _between(links, nodes)
    names = {key: node.name for key, node in nodes.items() if node.tier != HOST_TIER}
    return fabric_hosts.part(source, options, hosts, Fabric(hosts.hosts, between, names, hosts.places), start, issues)


def _nodes(data: Any, at: Route) -> Iterator[tuple[str, Node]]:
    for n, group in enumerate(items(data, "nodes")):
        for m, each in enumerate(items(group, "compounded_nodes")):
            tier = number_in(each, "tier")
            if text(each, "id") and tier is not None:
                route = (*at, "nodes", n, "compounded_nodes", m)
                yield text(each, "id"), Node(text(each, "name") or text(each, "id"), tier, route)


Link = tuple[str, str, Mapping[str, Any], Route]


def _links(data: Any, nodes: Mapping[str, Node], at: Route, issues: list[Diagnostic]) -> Iterator[Link]:
    """The two ends of every link. T529 if an end is not among the nodes."""
    strange: dict[str, Route] = {}
    for n, each in enumerate(items(data, "links")):
        low, _, high = text(each, "id").partition(BETWEEN)
        ends = [low, high] if high else [low]
        for end in ends:
            if end not in nodes:
                strange.setdefault(end, (*at, "links", n, "id"))
        if low in nodes and high in nodes:
            yield low, high, each, (*at, "links", n)
    if strange:
        shown = some([f'"{each}"' for each in strange])
        message = f"links lead to {count(len(strange), 'node')} that the file does not list: {shown}"
        issues.append(error("T529", next(iter(strange.values())), message, hint="use the complete answer of NetQ"))


def _adapters(links: list[Link], nodes: Mapping[str, Node]) -> Iterator[Adapter]:
    """The links between hosts and switches, once for each listed interface of the host."""
    for low, high, link, _ in links:
        host, switch = (low, high) if nodes[low].tier == HOST_TIER else (high, low)
        if nodes[host].tier != HOST_TIER or nodes[switch].tier == HOST_TIER:
            continue
        ports = [text(each, "interface") for each in _ends(link) if text(each, "node") == host]
        for port in dict.fromkeys(ports) or {switch: None}:
            yield Adapter(nodes[host].name, port, host, switch, nodes[host].route, nodes[host].name)


def _ends(link: Mapping[str, Any]) -> Iterator[Any]:
    for each in items(link, "compounded_links"):
        yield from items(each, "interfaces")


def _between(links: list[Link], nodes: Mapping[str, Node]) -> dict[str, list[str]]:
    ends = ((low, high) for low, high, _, _ in links if HOST_TIER not in (nodes[low].tier, nodes[high].tier))
    return grouped(pair for low, high in ends for pair in ((low, high), (high, low)))
