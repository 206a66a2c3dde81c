"""The compute nodes of NMX with their NVLink domain, tray and health: `GET /nmx/v1/compute-nodes` (Manager 85.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    CLIQUE,
    ClusterTopology,
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
    info,
    natural,
    number_in,
    placeholder,
    text,
)
from bayplan.plugin import native_topology as native
from bayplan.plugins.sources.fabric_managers import (
    LevelNames,
    RenamedNames,
    Row,
    left_out,
    listed,
    node_name,
    pools,
    some,
    stem,
)

DOMAIN = placeholder("nvlink-domain", nvlink=True)
WORDS = LevelNames((DOMAIN,))
NOWHERE = re.compile(r"[0-]*")
HEALTHY = frozenset({"", "HEALTHY", "UNKNOWN"})
_SNIFF = re.compile(r"\s*\[\s*\{")


class Tray(NamedTuple):
    """A compute node and its place. `place` sorts: chassis, tray."""

    node: str
    name: str
    domain: str
    health: str
    place: tuple[int, int]
    route: Route


def sniff(source: SourceFile) -> bool:
    """Whether the file is a list of entries with an NVLink domain."""
    head = source.head
    return bool(_SNIFF.match(head)) and '"DomainUUID"' in head and '"Name"' in head


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """One domain for each NVLink domain, its nodes by tray."""
    issues: list[Diagnostic] = []
    at = source.at()
    data = listed(source, "compute nodes", "use the answer of `/nmx/v1/compute-nodes`", issues)
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    trays = list(_trays(data, at, issues))
    named = not any(own.get(CLIQUE) for own in options.nodes.values())
    rows = list(_rows(trays, named))
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    if not rows:
        hint = "import again when the NVLink fabric is up: NMX then knows the domain of each node"
        issues.append(error("T530", at, "no compute node has an NVLink domain", hint=hint))
        return Outcome(None, tuple(issues))
    result = pools(rows, WORDS, at, issues)
    unhealthy = [each for each in trays if each.health not in HEALTHY and not NOWHERE.fullmatch(each.domain)]
    issues += _report_unhealthy(unhealthy, at)
    unusable = {"unhealthy": tuple(each.node for each in unhealthy)} if unhealthy else {}
    topology = ClusterTopology(stem(source.name), tuple(pool._replace(unusable=unusable) for pool in result))
    places = {each.node: each.route for each in trays if not NOWHERE.fullmatch(each.domain)}
    aliases = {each.name: each.node for each in trays if each.name != each.node and each.node in places}
    return Outcome(Part(native.planned(topology, options.plan), places, aliases, source=source.name), tuple(issues))


def _trays(data: Sequence[Mapping[str, Any]], at: Route, issues: list[Diagnostic]) -> Iterator[Tray]:
    renamed = RenamedNames("node name", [])
    nameless: list[str] = []
    homeless: list[str] = []
    seen: dict[str, Route] = {}
    for n, each in enumerate(data):
        name, domain = text(each, "Name"), text(each, "DomainUUID")
        node = node_name(name)
        if not node:
            nameless.append(name or text(each, "ID") or f"entry {n + 1}")
            continue
        if node in seen:
            message = f'compute node "{name}" is listed twice'
            issues.append(error("T401", (*at, n, "Name"), message, hint="remove one of them: a node is in one tray"))
            continue
        seen[node] = (*at, n)
        renamed.note(name, node)
        if NOWHERE.fullmatch(domain):
            homeless.append(name)
        chassis, tray = number_in(each, "LocationInfo", "ChassisID"), number_in(each, "LocationInfo", "TrayIndex")
        yield Tray(node, name, domain, text(each, "Health").upper(), (chassis or 0, tray or 0), (*at, n))
    issues += renamed.reported(at)
    hint = "give them valid names of Kubernetes nodes"
    issues += left_out("T537", nameless, "compute node", "without a valid node name", at, hint)
    hint = "bring up their NVLink fabric; if pods can run on them anyway, also import the Kubernetes nodes"
    issues += left_out("T557", homeless, "compute node", "without an NVLink domain", at, hint)


def _rows(trays: list[Tray], named: bool) -> Iterator[Row]:
    """`named`: rows also have their domain, in case another source has other names for the same nodes."""
    by_place = sorted(trays, key=lambda tray: (tray.place, natural(tray.node)))
    domains = grouped((each.domain, each) for each in by_place if not NOWHERE.fullmatch(each.domain))
    for domain, own in sorted(domains.items()):
        yield Row((domain,), tuple(each.node for each in own), route=own[0].route, partition=domain if named else None)


def _report_unhealthy(unhealthy: list[Tray], at: Route) -> Iterator[Diagnostic]:
    """T513."""
    if unhealthy:
        names = some([f"{each.name} ({each.health})" for each in unhealthy])
        message = f"listed {count(len(unhealthy), 'compute node')} as unhealthy: {names}"
        yield info("T513", unhealthy[0].route or at, message, hint="import again when they are healthy")
