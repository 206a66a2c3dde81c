"""Counts equal nodes as one group: 100,000 nodes are some thousand groups, and later stages read only groups.

A node has an offer (allocatable amounts, taints, state) and labels. bayplan keeps only the labels that the import
needs. The *form* of a node, the keys of all its labels, tells which of them it has.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Route, error, has_errors, info, warning
from bayplan.model.topology import HOSTNAME_LABEL
from bayplan.topologies.grouping import least
from bayplan.topologies.kubernetes_nodes.software import Software

Taint = tuple[str, str, str]
"""Key, value, effect."""


class Offer(NamedTuple):
    """What a node offers. Amounts are thousandths; `capacity` has only devices."""

    cordoned: bool = False
    ready: str = ""  # True, False, Unknown; empty: the node has no such condition
    amounts: Mapping[str, int] = {}
    capacity: Mapping[str, int] = {}
    taints: tuple[Taint, ...] = ()

    @property
    def kind(self) -> Hashable:
        """The key by which nodes are equal. It ignores CPU and memory: equal machines differ by some KiB of memory."""
        return self.cordoned, self.ready, _devices(self.amounts), _devices(self.capacity), self.taints


class NodeGroup(NamedTuple):
    """Equal nodes. The amounts of the offer are the smallest of the nodes."""

    offer: Offer
    labels: Mapping[str, str]
    names: tuple[str, ...]


class AllNodes(NamedTuple):
    """All nodes of a source. `hosts`: hostname labels that differ from the node's name; `keys`: all label keys."""

    groups: tuple[NodeGroup, ...]
    places: Mapping[str, Route]
    hosts: Mapping[str, str]
    aliases: Mapping[str, str]
    keys: frozenset[str]
    twice: tuple[tuple[str, Route], ...] = ()


class LabelKeys(NamedTuple):
    """The label keys of some nodes: how to pick the needed values, and the position of the hostname."""

    kind: int  # a number for each set of picked keys
    wanted: tuple[str, ...]
    pick: Callable[[Sequence[str]], tuple[str, ...]]
    host: int


class NumberedOffer(NamedTuple):
    """A known offer, by number."""

    number: int
    kind: int


class OpenGroup(NamedTuple):
    """Equal nodes during the count."""

    wanted: tuple[str, ...]
    values: tuple[str, ...]
    names: list[str]
    offers: set[int]


def _no_keys(_keys: tuple[str, ...]) -> frozenset[str]:
    return frozenset()


class NodeCounter:
    """Counts nodes. bayplan calls its methods for every node, so they do little."""

    def __init__(self, wanted: frozenset[str], unknown: Callable[[tuple[str, ...]], frozenset[str]] = _no_keys) -> None:
        self.wanted = wanted - {HOSTNAME_LABEL}
        self.unknown = unknown  # all label keys of a node -> those to read besides `wanted`
        self.forms: dict[tuple[str, ...], LabelKeys] = {}
        self.offers: list[Offer] = []
        self.known: dict[Hashable, NumberedOffer] = {}
        self.kinds: dict[Hashable, int] = {}
        self.picked: dict[tuple[str, ...], int] = {}
        self.groups: dict[tuple[int, int, tuple[str, ...]], OpenGroup] = {}
        self.places: dict[str, Route] = {}
        self.hosts: dict[str, str] = {}
        self.called: list[tuple[str, ...]] = []  # a node's name, its provider ID, and its other names
        self.twice: list[tuple[str, Route]] = []
        self.software = Software()

    def form(self, keys: tuple[str, ...]) -> LabelKeys:
        """The form of nodes with these label keys."""
        found = self.forms.get(keys)
        if found is None:
            picked = self.wanted | self.unknown(keys)
            places = [number for number, key in enumerate(keys) if key in picked]
            host = keys.index(HOSTNAME_LABEL) if HOSTNAME_LABEL in keys else -1
            wanted = tuple(keys[number] for number in places)
            kind = self.picked.setdefault(wanted, len(self.picked))
            found = self.forms[keys] = LabelKeys(kind, wanted, _picker(places), host)
        return found

    def offer(self, spelled: Hashable, make: Callable[[], Offer]) -> NumberedOffer:
        """The offer with this spelling. A new spelling makes a new offer."""
        found = self.known.get(spelled)
        if found is None:
            result = make()
            kind = self.kinds.setdefault(result.kind, len(self.kinds))
            found = self.known[spelled] = NumberedOffer(len(self.offers), kind)
            self.offers.append(result)
        return found

    def add(self, name: str, place: Route, offer: NumberedOffer, form: LabelKeys, values: Sequence[str]) -> None:
        """Counts one node. ValueError if it has no name. `checks/` validates names with the topology."""
        if not name:
            raise ValueError("it has no name")
        if name in self.places:
            self.twice.append((name, place))
            return
        self.places[name] = place
        form_kind, wanted, pick, host = form
        if host >= 0 and values[host] != name:
            self.hosts[name] = values[host]
        number, offer_kind = offer
        key = (form_kind, offer_kind, pick(values))
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = OpenGroup(wanted, key[2], [], set())
        group[2].append(name)
        group[3].add(number)

    def all_nodes(self) -> AllNodes:
        """All nodes that were added."""
        alike = tuple(map(self._group, self.groups.values()))
        keys = frozenset(key for form in self.forms for key in form)
        aliases = Aliases(self.called, self.places, self.hosts)
        return AllNodes(alike, self.places, self.hosts, aliases, keys, tuple(self.twice))

    def _group(self, group: OpenGroup) -> NodeGroup:
        offers = [self.offers[number] for number in group.offers]
        offer = offers[0] if len(offers) == 1 else offers[0]._replace(amounts=least(each.amounts for each in offers))
        return NodeGroup(offer, dict(zip(group.wanted, group.values, strict=True)), tuple(group.names))


class Report(NamedTuple):
    """Diagnostics about nodes. The place of each one is the first node that it names."""

    places: Mapping[str, Route]
    diagnostics: list[Diagnostic]

    def error(self, code: str, names: Sequence[str], message: str, hint: str = "") -> None:
        """Reports an error."""
        self.diagnostics.append(error(code, self.places[names[0]], message, hint=hint))

    def warning(self, code: str, names: Sequence[str], message: str, hint: str = "") -> None:
        """Reports a warning."""
        self.diagnostics.append(warning(code, self.places[names[0]], message, hint=hint))

    def info(self, code: str, names: Sequence[str], message: str, hint: str = "") -> None:
        """Reports an info."""
        self.diagnostics.append(info(code, self.places[names[0]], message, hint=hint))

    def has_errors(self, since: int = 0) -> bool:
        """Whether there are errors after the first `since` diagnostics."""
        return has_errors(self.diagnostics[since:])


def nodes_of(groups: Iterable[NodeGroup]) -> list[str]:
    """The names of the nodes, sorted."""
    return sorted(name for each in groups for name in each.names)


def size(groups: Iterable[NodeGroup]) -> int:
    """The number of nodes."""
    return sum(len(each.names) for each in groups)


def _devices(amounts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(item for item in amounts.items() if "/" in item[0]))


def _picker(places: list[int]) -> Callable[[Sequence[str]], tuple[str, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    return (lambda values: (values[places[0]],)) if places else (lambda _values: ())


class Aliases(Mapping[str, str]):
    """Other names of nodes -> their names: the short host name, the provider ID and its last part, and `called`.

    It leaves out names that two nodes share, and names of nodes. bayplan computes it on first use, because only a merge
    needs it.
    """

    def __init__(self, called: Sequence[tuple[str, ...]], nodes: Mapping[str, Any], hosts: Mapping[str, str]) -> None:
        self._called, self._nodes, self._hosts = called, nodes, hosts

    @cached_property
    def _by_alias(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for alias, name in self._pairs():
            if names.setdefault(alias, name) != name:
                names[alias] = ""
        return {alias: name for alias, name in names.items() if alias and name and alias not in self._nodes}

    def _pairs(self) -> Iterator[tuple[str, str]]:
        for name, provider, *others in self._called:
            yield from ((alias, name) for alias in (provider, provider.rpartition("/")[2], *others))
        yield from ((name.partition(".")[0], name) for name in self._nodes if "." in name)
        yield from ((host, name) for name, host in self._hosts.items())

    def __getitem__(self, alias: str) -> str:
        return self._by_alias[alias]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_alias)

    def __len__(self) -> int:
        return len(self._by_alias)
