"""Adapters as fabric managers list them, sorted by the hosts that they are in: what is no compute node is left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, warning
from bayplan.core.values import NamedTuple
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology
from bayplan.topologies import native
from bayplan.topologies.fabric_managers import RenamedNames, graph, left_out, node_name, pools, some, stem
from bayplan.topologies.fabric_managers.graph import Fabric

SYSTEMS = frozenset({"localhost", "ubuntu", "debian", "centos", "rocky", "redhat", "linux", "node", "host", "(none)"})
"""What hosts are called before anybody names them: several machines may be."""
USUAL = 4
"""Adapters of most hosts from which on one that has half of them or fewer is taken for no compute node."""


class Adapter(NamedTuple):
    """A port of an adapter, and the switch that it is linked to. `host` is empty where nothing names it."""

    host: str
    device: str
    guid: str
    switch: str
    route: Route
    description: str = ""


class FabricHosts(NamedTuple):
    """Hosts by node name, as `Fabric` wants them."""

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
    """T545: hosts of which no adapter is linked to a switch."""
    linked = {each.host for each in adapters}
    alone = [name for name in dict.fromkeys(names) if name not in linked]
    hint = "look at their cables, or import them from another source"
    issues += left_out("T545", alone, "hosts without a link to a switch", at, hint)


def _report_unnamed(unnamed: list[Adapter], at: Route, issues: list[Diagnostic]) -> None:
    """T537: adapters of which nothing says whose they are."""
    if unnamed:
        descriptions = Counter(each.host or each.description for each in unnamed)
        names = [f'{number} x "{text}"' for text, number in descriptions.most_common()]
        hint = "name the hosts (the description of each adapter), or take them from another source"
        why = "adapters that name no host of their own"
        issues.append(
            warning("T537", unnamed[0].route or at, f"left out: {len(unnamed)} {why}: {some(names)}", hint=hint)
        )


def _report_twice(twice: Mapping[str, Adapter], result: FabricHosts, issues: list[Diagnostic]) -> None:
    """T502: a name that two machines have would tie their switches together."""
    for name, each in twice.items():
        message = f'left out: two adapters call themselves "{each.device}" of host "{name}"'
        issues.append(warning("T502", each.route, message, hint="name each host differently"))
        del result.hosts[name], result.places[name]


def _keep(result: FabricHosts, node_names: Container[str], at: Route, issues: list[Diagnostic]) -> None:
    """T515: hosts that another source does not know as nodes."""
    strange = [name for name in result.hosts if name not in node_names]
    issues += left_out("T515", strange, "hosts of the fabric that are no nodes of the other source", at)
    _remove(result, strange)


def _drop(result: FabricHosts, at: Route, issues: list[Diagnostic]) -> None:
    """T515: hosts that nobody knows as nodes, and that look like none. One that is called like its neighbours has lost
    its links, which T545 tells."""
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
    why = "hosts that look like no compute nodes, by their name or their number of adapters"
    issues += left_out("T515", shown, why, result.places[strange[0]] if strange else at, KEEP)
    _remove(result, strange)


def _series(name: str) -> str:
    """What names of one row of hosts have in common: `dgx-00` and `dgx-17` are of one."""
    return _NUMBER.sub("0", name)


_NUMBER = re.compile(r"[0-9]+")
KEEP = "storage and management look like this; import the Kubernetes nodes too, and hosts that are nodes stay"


def _remove(result: FabricHosts, names: Iterable[str]) -> None:
    for name in names:
        del result.hosts[name], result.places[name]


def part(
    source: SourceFile, options: ReadOptions, hosts: FabricHosts, fabric: Fabric, at: Route, issues: list[Diagnostic]
) -> Outcome[Part]:
    """The reduced fabric as a part of a cluster."""
    rows = graph.rows(fabric, at, issues)
    if not rows:
        hint = "give the whole output of the fabric that the compute nodes hang on"
        issues.append(error("T530", at, "no host of it can be a node", hint=hint))
        return Outcome(None, tuple(issues))
    topology = ClusterTopology(stem(source.name), pools(rows, graph.WORDS, at, issues))
    kept = {node for row in rows for node in row.nodes}
    places = {name: route for name, route in hosts.places.items() if name in kept}
    aliases = {other: name for other, name in hosts.aliases.items() if name in kept}
    return Outcome(Part(native.planned(topology, options.plan), places, aliases, source=source.name), tuple(issues))
