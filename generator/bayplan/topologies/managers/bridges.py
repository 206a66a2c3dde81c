"""Few hosts whose cables join leaf switches that most hosts keep apart: a cable in the wrong switch, most likely.

Leaf switches that share a host are one domain, so that a single such host would make one domain of two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations

from bayplan.core.diagnostics import Diagnostic, Route, warning
from bayplan.topologies.managers.links import Fabric, Groups, natural
from bayplan.topologies.managers.names import some

Hosts = Mapping[str, Mapping[str, str]]


def cut(fabric: Fabric, at: Route, found: list[Diagnostic]) -> Fabric:
    """The fabric without the links of these hosts that lead out of the group of leaf switches that they stay in."""
    groups = _strong(fabric.hosts)
    strange = [host for host, own in fabric.hosts.items() if len({groups.top(each) for each in own.values()}) > 1]
    kept = _few(strange, fabric.hosts)
    if not kept:
        return fabric
    usual = Counter(device for own in fabric.hosts.values() for device in own)
    homes = {host: _home(fabric.hosts[host], groups, usual) for host in kept}
    found.append(_told(homes, groups, fabric, at))
    hosts = {
        host: {d: s for d, s in own.items() if host not in homes or groups.top(s) == groups.top(homes[host])}
        for host, own in fabric.hosts.items()
    }
    return fabric._replace(hosts=hosts)


def _strong(hosts: Hosts) -> Groups:
    """Leaf switches that share more than half of the hosts of the smaller one: the rails of one group."""
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


def _few(strange: list[str], hosts: Hosts) -> list[str]:
    """Those of them that are the minority of what they join: where most hosts do it, it is how the fabric is built."""
    whole = Groups()
    for own in hosts.values():
        whole.join(own.values())
    size = Counter(whole.top(next(iter(own.values()))) for own in hosts.values())
    top = {host: whole.top(next(iter(hosts[host].values()))) for host in strange}
    many = Counter(top.values())
    return [host for host in strange if 2 * many[top[host]] < size[top[host]]]


def _home(own: Mapping[str, str], groups: Groups, usual: Counter[str]) -> str:
    """The switch of the group with most of a host's adapters; of two equal ones that of the adapter most hosts have."""
    reach = Counter(groups.top(switch) for switch in own.values())
    best = min(own, key=lambda device: (-reach[groups.top(own[device])], -usual[device], natural(device)))
    return own[best]


def _told(homes: Mapping[str, str], groups: Groups, fabric: Fabric, at: Route) -> Diagnostic:
    shown = [f"{host} ({', '.join(_cables(fabric, groups, host, home))})" for host, home in homes.items()]
    message = f"{len(homes)} hosts hang on leaf switches of several groups that no other host joins: {some(shown)}"
    hint = "look at these cables; the hosts are kept below the switches with most of their adapters, without the others"
    return warning("T549", fabric.places.get(next(iter(homes)), at), message, hint=hint)


def _cables(fabric: Fabric, groups: Groups, host: str, home: str) -> Iterator[str]:
    """The adapters that are elsewhere, and the one by which the host was placed."""
    for device, switch in fabric.hosts[host].items():
        if groups.top(switch) != groups.top(home):
            name, own = fabric.names.get(switch, switch), fabric.names.get(home, home)
            yield f'{device} on "{name}", not with "{own}"'
