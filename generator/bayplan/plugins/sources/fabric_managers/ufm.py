"""The list of ports of UFM: `GET /ufmRest/resources/ports` (UFM Enterprise 6.15 to 6.20).

Volcano reads the same list for its HyperNodes (Volcano 1.15, pkg/controllers/hypernode/discovery/ufm/ufm.go): a port
with "computer" in its description belongs to a host, and its peer is the leaf switch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.plugin import AT, Diagnostic, Outcome, Part, ReadOptions, Route, SourceFile, grouped, has_errors, text
from bayplan.plugins.sources.fabric_managers import hosts as fabric_hosts
from bayplan.plugins.sources.fabric_managers import listed
from bayplan.plugins.sources.fabric_managers.graph import Fabric
from bayplan.plugins.sources.fabric_managers.hosts import Adapter
from bayplan.plugins.sources.fabric_managers.ibnetdiscover import AGGREGATION, switch_name

_SNIFF = re.compile(r"\s*\[\s*\{")
DEFAULT = "Mellanox Technologies"
"""Part of the description of an adapter before its host is up. UFM then has a number as name of the system."""
NO_PEER = frozenset({"", "N/A", "n/a", "None"})


def sniff(source: SourceFile) -> bool:
    """Whether the file is a list whose entries have a peer."""
    head = source.head
    return bool(_SNIFF.match(head)) and '"peer_node_name"' in head and '"system_name"' in head


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The hosts below merged leaf switches."""
    issues: list[Diagnostic] = []
    at = source.at()
    data = listed(source, "ports", "use the answer of `/ufmRest/resources/ports`", issues)
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    computers = [(n, each) for n, each in enumerate(data) if "computer" in text(each, "description").lower()]
    start = (*at, AT, 1, 1)
    adapters = list(_adapters(computers, at))
    hosts_named = (host for _, each in computers if (host := _host(each)))
    fabric_hosts.unlinked(hosts_named, adapters, start, issues)
    hosts = fabric_hosts.sort(adapters, options, start, issues)
    links = _links([each for each in data if "switch" in text(each, "description").lower()])
    names = {each: switch_name(each) for adapters in hosts.hosts.values() for each in adapters.values()}
    return fabric_hosts.part(source, options, hosts, Fabric(hosts.hosts, links, names, hosts.places), start, issues)


def _adapters(ports: Sequence[tuple[int, dict[str, Any]]], at: Route) -> Iterator[Adapter]:
    for number, each in ports:
        peer, description = text(each, "peer_node_name"), text(each, "node_description")
        if peer in NO_PEER or description == AGGREGATION:
            continue
        words = description.split()
        device = words[1] if len(words) == 2 else text(each, "dname") or text(each, "name") or str(number)
        guid = text(each, "node_guid") or text(each, "system_guid") or text(each, "systemID") or device
        yield Adapter(_host(each), device, guid, peer, (*at, number), description or text(each, "system_name"))


def _host(port: dict[str, Any]) -> str:
    description = text(port, "node_description")
    return "" if DEFAULT in description else text(port, "system_name") or description.split(" ")[0]


def _links(ports: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Both directions of every link between switches."""
    ends = [(text(each, "system_name"), text(each, "peer_node_name")) for each in ports]
    switches = {own for own, _ in ends}
    links = ((own, peer) for own, peer in ends if own and own != peer and peer in switches)
    return grouped(pair for own, peer in links for pair in ((own, peer), (peer, own)))
