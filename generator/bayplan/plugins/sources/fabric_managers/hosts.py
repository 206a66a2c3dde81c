"""Sorts the adapters of fabric managers by host, and leaves out hosts that are not compute nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from bayplan.plugin import (
    HOSTNAME_LABEL,
    ClusterTopology,
    Diagnostic,
    Outcome,
    Part,
    ReadOptions,
    Route,
    SourceFile,
    count,
    error,
    warning,
)
from bayplan.plugin import native_topology as native
from bayplan.plugins.sources.fabric_managers import RenamedNames, graph, left_out, node_name, pools, some, stem
from bayplan.plugins.sources.fabric_managers.graph import Fabric

SYSTEMS = frozenset({"localhost", "ubuntu", "debian", "centos", "rocky", "redhat", "linux", "node", "host", "(none)"})
"""Default names of hosts, which several machines can have."""
USUAL = 4
"""If most hosts have at least so many adapters, a host with half of them or fewer is not a compute node."""


class Adapter(NamedTuple):
    """A port of an adapter, and the switch at the other end. `host` is empty if the source does not name it."""

    host: str
    device: str
    guid: str
    switch: str
    route: Route
    description: str = ""


class FabricHosts(NamedTuple):
    """Hosts by node name, in the form that `Fabric` needs."""

    hosts: dict[str, dict[str, str]]
    places: dict[str, Route]
    aliases: dict[str, str]


def sort(adapters: Iterable[Adapter], options: ReadOptions, at: Route, issues: list[Diagnostic]) -> FabricHosts:
    """The adapters of each host that can be a node."""
    result = FabricHosts({}, {}, {})
    renamed = RenamedNames("node name", [])
    unnamed: list[Adapter] = []
    guids: dict[tuple[str, str], str] = {}
    twice: dict[str, Adapter] = {}
    for each in adapters:
        name = node_name(each.host)
        if not name or name in SYSTEMS:
            unnamed.append(each)
            continue
        if each.host != renamed.note(each.host, name):
            result.aliases[each.host] = name
        if guids.setdefault((name, each.device), each.guid) != each.guid:
            twice[name] = each
        own = result.hosts.setdefault(name, {})
        own[each.device if each.device not in own else f"{each.device}/{len(own)}"] = each.switch
        result.places.setdefault(name, each.route)
    _report_unnamed(unnamed, at, issues)
    _report_twice(twice, result, issues)
    node_names = {*options.nodes, *(labels.get(HOSTNAME_LABEL, "") for labels in options.nodes.values())}
    if not node_names.isdisjoint(result.hosts):
        _keep(result, node_names, at, issues)
    else:
        _drop(result, at, issues)
    issues += renamed._replace(pairs=[pair for pair in renamed.pairs if pair[1] in result.hosts]).reported(at)
    return result


def unlinked(names: Iterable[str], adapters: Sequence[Adapter], at: Route, issues: list[Diagnostic]) -> None:
    """T545: hosts without any link from an adapter to a switch."""
    linked = {each.host for each in adapters}
    alone = [name for name in dict.fromkeys(names) if name not in linked]
    hint = "check the cables of these hosts, or import them from another source"
    issues += left_out("T545", alone, "host", "without a link to a switch", at, hint)


def _report_unnamed(unnamed: list[Adapter], at: Route, issues: list[Diagnostic]) -> None:
    """T537: adapters without the name of their host."""
    if unnamed:
        descriptions = Counter(each.host or each.description for each in unnamed)
        names = [f'{number} x "{text}"' for text, number in descriptions.most_common()]
        hint = "set the host name in the description of each adapter, or import the hosts from another source"
        message = f"left out {count(len(unnamed), 'adapter')} without the name of a host: {some(names)}"
        issues.append(warning("T537", unnamed[0].route or at, message, hint=hint))


def _report_twice(twice: Mapping[str, Adapter], result: FabricHosts, issues: list[Diagnostic]) -> None:
    """T401: a name of two machines would join their switches."""
    for name, each in twice.items():
        message = f'left out host "{name}": two adapters report to be its "{each.device}"'
        issues.append(warning("T401", each.route, message, hint="give each host its own name"))
        del result.hosts[name], result.places[name]


def _keep(result: FabricHosts, node_names: Container[str], at: Route, issues: list[Diagnostic]) -> None:
    """T515: hosts that are not nodes in another source."""
    strange = [name for name in result.hosts if name not in node_names]
    hint = "no action needed, unless another source should list them as nodes"
    issues += left_out("T515", strange, "host", "outside of the nodes of the other source", at, hint)
    _remove(result, strange)


def _drop(result: FabricHosts, at: Route, issues: list[Diagnostic]) -> None:
    """T515: hosts that no source knows as nodes, and that do not look like compute nodes. A host with a name like its
    neighbors has lost its links, and T545 reports it."""
    sizes = Counter(map(len, result.hosts.values()))
    usual = max(sizes.items(), key=lambda each: (each[1], each[0]))[0] if sizes else 0
    few = usual // 2 if usual >= USUAL else 0
    series = Counter(_series(name) for name, adapters in result.hosts.items() if len(adapters) > few)
    poor = Counter(_series(name) for name, adapters in result.hosts.items() if len(adapters) <= few)
    ours = {each for each, number in poor.items() if number < series[each]}
    strange = [
        name
        for name, adapters in result.hosts.items()
        if "ufm" in name or (len(adapters) <= few and _series(name) not in ours)
    ]
    shown = [f"{name} ({len(result.hosts[name])} of {usual})" for name in strange]
    why = "unlike compute nodes by name or number of adapters"
    issues += left_out("T515", shown, "host", why, result.places[strange[0]] if strange else at, KEEP)
    _remove(result, strange)


def _series(name: str) -> str:
    """The common part of the names of similar hosts: `dgx-00` and `dgx-17` belong to one series."""
    return _NUMBER.sub("0", name)


_NUMBER = re.compile(r"[0-9]+")
KEEP = "to keep hosts that are nodes, also import the Kubernetes nodes; these look like storage or management"


def _remove(result: FabricHosts, names: Iterable[str]) -> None:
    for name in names:
        del result.hosts[name], result.places[name]


def part(
    source: SourceFile, options: ReadOptions, hosts: FabricHosts, fabric: Fabric, at: Route, issues: list[Diagnostic]
) -> Outcome[Part]:
    """The reduced fabric as a part of a cluster."""
    rows = graph.rows(fabric, at, issues)
    if not rows:
        hint = "use the complete output for the fabric of the compute nodes"
        issues.append(error("T530", at, "no host of this fabric can be a compute node", hint=hint))
        return Outcome(None, tuple(issues))
    topology = ClusterTopology(stem(source.name), pools(rows, graph.WORDS, at, issues))
    kept = {node for row in rows for node in row.nodes}
    places = {name: route for name, route in hosts.places.items() if name in kept}
    aliases = {other: name for other, name in hosts.aliases.items() if name in kept}
    return Outcome(Part(native.planned(topology, options.plan), places, aliases, source=source.name), tuple(issues))
