"""Reduces the graph of a fabric, with links from hosts to switches and between switches, to nested domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from bayplan.plugin import Diagnostic, Route, count, grouped, info, natural, placeholder, upwards, warning
from bayplan.plugins.sources.fabric_managers import LevelNames, Row, apart, some, value


class Fabric(NamedTuple):
    """`hosts`: the switch of each adapter of a host. `links`: the switches that each switch has links to.

    `names`: the names of switches; switches without one have their identifier as name. `places` of hosts.
    """

    hosts: Mapping[str, Mapping[str, str]]
    links: Mapping[str, Iterable[str]]
    names: Mapping[str, str] = {}
    places: Mapping[str, Route] = {}


class Groups:
    """Disjoint sets that can be joined (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def top(self, member: str) -> str:
        """The representative of a member's set."""
        parent = self._parent
        root = parent.setdefault(member, member)
        while parent[root] != root:
            root = parent[root]
        while parent[member] != root:
            parent[member], member = root, parent[member]
        return root

    def join(self, members: Iterable[str]) -> None:
        """Joins the sets of all members."""
        first = ""
        for each in members:
            top = self.top(each)
            first = first or top
            self._parent[top] = first
            first = self.top(first)

    def sets(self) -> dict[str, list[str]]:
        """Representative of each set -> its members."""
        return grouped((self.top(member), member) for member in self._parent)


# A few hosts can have cables to leaf switches that no other host shares, most likely by mistake. Leaf switches that
# share a host are one domain, so one such host would join two domains.

Hosts = Mapping[str, Mapping[str, str]]


def without_bridging_hosts(fabric: Fabric, at: Route, issues: list[Diagnostic]) -> Fabric:
    """The fabric without the links of these hosts to other groups of leaf switches than their own."""
    groups = _rail_groups(fabric.hosts)
    unexpected = [host for host, own in fabric.hosts.items() if len({groups.top(each) for each in own.values()}) > 1]
    kept = _minority(unexpected, fabric.hosts)
    if not kept:
        return fabric
    usual = Counter(device for own in fabric.hosts.values() for device in own)
    homes = {host: _home(fabric.hosts[host], groups, usual) for host in kept}
    issues.append(_report_bridges(homes, groups, fabric, at))
    hosts = {
        host: {d: s for d, s in own.items() if host not in homes or groups.top(s) == groups.top(homes[host])}
        for host, own in fabric.hosts.items()
    }
    return fabric._replace(hosts=hosts)


def _rail_groups(hosts: Hosts) -> Groups:
    """The rails of one group: leaf switches that share more than half of the hosts of the smaller one."""
    groups = Groups()
    sizes: Counter[str] = Counter()
    shared: Counter[tuple[str, str]] = Counter()
    for leaves, number in Counter(frozenset(own.values()) for own in hosts.values()).items():
        ordered = sorted(leaves)
        sizes.update(dict.fromkeys(ordered, number))
        shared.update(dict.fromkeys(combinations(ordered, 2), number))
    for (one, other), number in shared.items():
        if 2 * number > min(sizes[one], sizes[other]):
            groups.join((one, other))
    return groups


def _minority(unexpected: list[str], hosts: Hosts) -> list[str]:
    """The hosts that are a minority of the domain they join. If most hosts do the same, it is the fabric's design."""
    whole = Groups()
    for own in hosts.values():
        whole.join(own.values())
    size = Counter(whole.top(next(iter(own.values()))) for own in hosts.values())
    top = {host: whole.top(next(iter(hosts[host].values()))) for host in unexpected}
    many = Counter(top.values())
    return [host for host in unexpected if 2 * many[top[host]] < size[top[host]]]


def _home(own: Mapping[str, str], groups: Groups, usual: Counter[str]) -> str:
    """The switch of the group with most of a host's adapters. Between equal groups, the most common adapter decides."""
    reach = Counter(groups.top(switch) for switch in own.values())
    best = min(own, key=lambda device: (-reach[groups.top(own[device])], -usual[device], natural(device)))
    return own[best]


def _report_bridges(homes: Mapping[str, str], groups: Groups, fabric: Fabric, at: Route) -> Diagnostic:
    shown = [f"{host} ({', '.join(_cables(fabric, groups, host, home))})" for host, home in homes.items()]
    hosts = count(len(homes), "host")
    message = f"links of {hosts} join groups of leaf switches that other hosts keep apart: {some(shown)}"
    hint = "check these cables; bayplan keeps each host below the switches with most of its adapters"
    return warning("T545", fabric.places.get(next(iter(homes)), at), message, hint=hint)


def _cables(fabric: Fabric, groups: Groups, host: str, home: str) -> Iterator[str]:
    """The adapters on other groups of switches, each with the group that the host stays in."""
    for device, switch in fabric.hosts[host].items():
        if groups.top(switch) != groups.top(home):
            name, own = fabric.names.get(switch, switch), fabric.names.get(home, home)
            yield f'{device} on "{name}", the others on "{own}"'


# A rail-optimized fabric has one leaf switch for each rail, and every host has links to several of them. A scheduler
# cannot distinguish leaf switches that share a host, so the connected components of that relation are the finest
# domains. bayplan merges the switches above if one domain below has links to several of them. (Volcano 1.15 does the
# first for UFM, pkg/controllers/hypernode/discovery/ufm; Topograph 1.0 merges switches with the same children,
# pkg/topology/merger.go.)

LEVELS = ("leaf", "spine", "core")
WORDS = LevelNames(tuple(map(placeholder, LEVELS)))
UPPER = 4
"""A switch above others can have hosts. It has at least so many times fewer than the switches below it."""


class Stage(NamedTuple):
    """One tier: the group of each of its switches, and the switches of each group, sorted by name."""

    group: Mapping[str, str]
    members: Mapping[str, Sequence[str]]


def rows(fabric: Fabric, at: Route, issues: list[Diagnostic]) -> list[Row]:
    """The hosts by the merged switches above them. Leaves out and reports tiers that do not separate nodes."""
    fabric = without_bridging_hosts(_without_bridges(_without_upper_hosts(fabric, at, issues), at, issues), at, issues)
    stages = list(_stages(fabric))
    if not stages:
        return []
    below = _below(stages, fabric.links)
    leaf_of = {host: stages[0].group[next(iter(adapters.values()))] for host, adapters in fabric.hosts.items()}
    result = grouped((leaf_of[host], host) for host in sorted(fabric.hosts, key=natural))
    paths = {leaf: upwards(leaf, below) for leaf in result}
    issues += (*_reported(stages, result, at), *_parts(fabric, paths, result, at))
    kept = _kept(paths, stages, at, issues)
    issues += _uneven_hosts(fabric, stages[0], result, at)
    names = _Names(fabric.names)
    ready = [_row(fabric, stages[0], kept[leaf], hosts, leaf, names) for leaf, hosts in result.items()]
    return sorted(ready, key=lambda row: tuple(map(natural, row.switches)))


def _row(fabric: Fabric, leaves: Stage, path: Sequence[str], hosts: Sequence[str], leaf: str, names: _Names) -> Row:
    members = tuple(value(names.of(each)) for each in leaves.members[leaf])
    place = fabric.places.get(hosts[0], ())
    return Row(tuple(map(names.of, path)), tuple(hosts), leaves=members if len(members) > 1 else (), route=place)


class _Names:
    """A group has the name of its first switch. Two switches with one name have their identifiers as names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names, self._often = names, Counter(names.values())

    def of(self, switch: str) -> str:
        name = self._names.get(switch, "")
        return name if name and self._often[name] == 1 else switch


def _stages(fabric: Fabric) -> Iterator[Stage]:
    """The leaf switches, then each tier above. A switch belongs to the lowest possible tier."""
    groups = Groups()
    for switches in fabric.hosts.values():
        groups.join(switches.values())
    seen: set[str] = set()
    while stage := _stage(groups, fabric.names):
        yield stage
        seen |= stage.group.keys()
        groups = Groups()
        for members in stage.members.values():
            groups.join(sorted({up for each in members for up in fabric.links.get(each, ())} - seen))


def _stage(groups: Groups, names: Mapping[str, str]) -> Stage | None:
    members: dict[str, Sequence[str]] = {}
    for each in groups.sets().values():
        ordered = sorted(each, key=lambda switch: (natural(names.get(switch) or switch), switch))
        members[ordered[0]] = ordered
    return Stage({switch: top for top, each in members.items() for switch in each}, members) if members else None


def _below(stages: Sequence[Stage], links: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Group -> the one group of the next tier that it has links to."""
    parent: dict[str, str] = {}
    for stage, upper in pairwise(stages):
        for top, members in stage.members.items():
            ends = (each for member in members for each in links.get(member, ()))
            up = next((upper.group[each] for each in ends if each in upper.group), "")
            if up:
                parent[top] = up
    return parent


def _kept(
    paths: Mapping[str, tuple[str, ...]], stages: Sequence[Stage], at: Route, issues: list[Diagnostic]
) -> Mapping[str, tuple[str, ...]]:
    """The paths without tiers whose domains have the same nodes as the tier below, or all nodes."""
    tier = {top: n for n, stage in enumerate(stages) for top in stage.members}
    columns: list[dict[str, set[str]]] = [{} for _ in stages]
    for path in paths.values():
        for upper, lower in pairwise(path):
            columns[tier[upper]].setdefault(upper, set()).add(lower)
    useless = {n for n, groups in enumerate(columns) if n and all(len(below) == 1 for below in groups.values())}
    even = len({len(path) for path in paths.values()}) == 1
    useless |= {n for n, groups in enumerate(columns) if even and n and len(groups) == 1}
    if useless:
        switches = sum(len(stages[n].group) for n in useless)
        message = f"{switches} switches above the leaves make no level, because they do not separate any nodes"
        issues.append(info("T555", at, message, hint="no action needed"))
    return {leaf: tuple(top for top in path if tier[top] not in useless) for leaf, path in paths.items()}


def _parts(
    fabric: Fabric, paths: Mapping[str, tuple[str, ...]], hosts: Mapping[str, Sequence[str]], at: Route
) -> Iterator[Diagnostic]:
    """T545: parts of the fabric without links between them."""
    tops: dict[str, int] = {}
    for leaf, path in paths.items():
        tops[path[0]] = tops.get(path[0], 0) + len(hosts[leaf])
    if len(tops) > 1 and any(fabric.links.values()):
        yield from apart([(fabric.names.get(top) or top, size) for top, size in tops.items()], at)


def _reported(stages: Sequence[Stage], hosts: Mapping[str, Sequence[str]], at: Route) -> Iterator[Diagnostic]:
    """T555: the merged switches."""
    merged = [members for members in stages[0].members.values() if len(members) > 1]
    if merged:
        switches = len(stages[0].group)
        sizes = sorted(map(len, hosts.values()))
        most = f"{sizes[0]} to {sizes[-1]}" if sizes[0] != sizes[-1] else str(sizes[0])
        message = (
            f"rail-optimized fabric: merged {switches} leaf switches that share hosts into"
            f" {count(len(stages[0].members), 'domain')} with {most} hosts each"
        )
        hint = "no action needed: a domain has the name of its first switch, and `leaves` lists all of them"
        yield info("T555", at, message, hint=hint)
    for tier, stage in enumerate(stages[1:], 2):
        if len(stage.members) not in (1, len(stage.group)):
            message = f"merged {len(stage.group)} switches of tier {tier} into {len(stage.members)} domains"
            hint = "no action needed: each domain below them has links to all switches that became one domain"
            yield info("T555", at, message, hint=hint)


def _uneven_hosts(fabric: Fabric, leaves: Stage, hosts: Mapping[str, Sequence[str]], at: Route) -> Iterator[Diagnostic]:
    """T545: hosts that miss rails of their group."""
    short: list[str] = []
    for members in hosts.values():
        reach = {host: len(set(fabric.hosts[host].values())) for host in members}
        usual = Counter(reach.values()).most_common(1)[0][0]
        short += [f"{host} ({number} of {usual})" for host, number in reach.items() if number < usual]
    if short:
        message = (
            f"links to some leaf switches of the neighbors are missing on {count(len(short), 'host')}: {some(short)}"
        )
        yield warning("T545", at, message, hint="check the cables and adapters of these hosts")


def _without_upper_hosts(fabric: Fabric, at: Route, issues: list[Diagnostic]) -> Fabric:
    """The fabric without hosts on switches above the leaves (storage, management), which would join all leaves."""
    sizes = Counter(switch for adapters in fabric.hosts.values() for switch in set(adapters.values()))
    upper: dict[str, int] = {}
    for switch, number in sizes.items():
        beside = [sizes[each] for each in fabric.links.get(switch, ()) if each in sizes]
        if len(beside) > 1 and number * UPPER < max(beside):
            upper[switch] = len(beside)
    unexpected = [
        host for host, adapters in fabric.hosts.items() if upper and any(s in upper for s in adapters.values())
    ]
    if unexpected:
        one = next(switch for switch in fabric.hosts[unexpected[0]].values() if switch in upper)
        name = fabric.names.get(one, one)
        hosts = count(len(unexpected), "host")
        message = f'left out {hosts} on switches above the leaves, such as "{name}": {some(unexpected)}'
        hint = "if pods run on them, add a pool for them by hand; these are usually storage and management"
        issues.append(warning("T515", fabric.places.get(unexpected[0], at), message, hint=hint))
    gone = set(unexpected)
    return fabric._replace(hosts={host: each for host, each in fabric.hosts.items() if host not in gone})


def _without_bridges(fabric: Fabric, at: Route, issues: list[Diagnostic]) -> Fabric:
    """The fabric without an adapter that by itself joins many groups, such as the adapter of a storage network."""
    devices = Counter(device for adapters in fabric.hosts.values() for device in adapters)
    whole = _number(fabric.hosts)
    best: tuple[int, str] = (whole, "")
    for device, number in sorted(devices.items()) if len(devices) > 1 else ():
        kept = _less(fabric.hosts, device)
        if len(kept) == len(fabric.hosts) and 2 * number > len(fabric.hosts):
            best = max(best, (_number(kept), device))
    groups, device = best
    if not device or groups < 2 * whole:
        return fabric
    message = (
        f'ignored the adapter "{device}" of {devices[device]} hosts, which joins {groups} groups of leaf switches'
        f" into {whole}"
    )
    hint = "it looks like a storage network; if it is a rail, the fabric is one domain"
    issues.append(warning("T545", at, message, hint=hint))
    return fabric._replace(hosts=_less(fabric.hosts, device))


def _less(hosts: Mapping[str, Mapping[str, str]], device: str) -> dict[str, Mapping[str, str]]:
    result = {host: {d: s for d, s in adapters.items() if d != device} for host, adapters in hosts.items()}
    return {host: adapters for host, adapters in result.items() if adapters}


def _number(hosts: Mapping[str, Mapping[str, str]]) -> int:
    groups = Groups()
    for adapters in hosts.values():
        groups.join(adapters.values())
    return len(groups.sets())
