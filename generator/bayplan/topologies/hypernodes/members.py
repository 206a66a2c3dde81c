"""Members of HyperNodes that are selected by labels or patterns -> the nodes that another source tells of."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, warning
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import items, mapping, text
from bayplan.model.topology import HOSTNAME_LABEL
from bayplan.topologies.grouping import natural
from bayplan.topologies.hypernodes.tree import NODE, Labels, Member, Seen, matches, unreadable


def keys(found: Iterable[Seen]) -> frozenset[str]:
    """The labels that members are selected by; that of the host name where any are, so that all nodes are told."""
    unnamed = [member for each in found for member in each.members if member.kind == NODE and not member.name]
    wanted = {key for member in unnamed for key in _of(member)}
    return frozenset((*wanted, HOSTNAME_LABEL) if unnamed else ())


def _of(member: Member) -> Iterator[str]:
    match = mapping(member.selector, "labelMatch")
    yield from (key for key in mapping(match, "matchLabels") if isinstance(key, str))
    yield from (text(rule, "key") for rule in items(match, "matchExpressions") if text(rule, "key"))


class Known(NamedTuple):
    """The nodes, ways to look them up, and how many more may be tried on patterns."""

    nodes: Mapping[str, Labels]
    names: Sequence[str]  # sorted
    holders: Mapping[tuple[str, str], Mapping[str, Labels]]  # (label, value) -> the nodes that carry it
    tries: list[int]


TOLD = 20
"""Members that are told of one by one."""

MOST_TRIES = 20_000_000
"""Names that patterns are tried on: some ten seconds. Patterns that begin with `^` and plain letters try few names."""


def expanded(found: Sequence[Seen], nodes: Mapping[str, Labels]) -> tuple[list[Seen], list[Diagnostic]]:
    """The HyperNodes with a member for each node that they select; T567 for members that select none."""
    if not nodes or not keys(found):
        return list(found), []
    index: dict[tuple[str, str], dict[str, Labels]] = {}
    for name, own in nodes.items():
        for pair in own.items():
            index.setdefault(pair, {})[name] = own
    known = Known(nodes, sorted(nodes), index, [MOST_TRIES])
    told: list[Diagnostic] = []
    made = [each._replace(members=tuple(_members(each, known, told))) for each in found]
    if len(told) > TOLD:
        message = f"none of the {len(nodes)} nodes is one that {len(told) - TOLD} more members select"
        told[TOLD:] = [warning("T567", told[TOLD].route, message, hint=told[TOLD].hint)]
    return made, told


def _members(each: Seen, known: Known, told: list[Diagnostic]) -> Iterator[Member]:
    for member in each.members:
        chosen = _chosen(member, known) if member.kind == NODE and not member.name else None
        if chosen is None:
            yield member
            continue
        if not chosen:
            message = f'none of the {len(known.nodes)} nodes is one that HyperNode "{each.name}" selects here'
            told.append(warning("T567", member.route, message, hint="correct the selector, or give all nodes"))
        yield from (member._replace(name=name) for name in sorted(chosen, key=natural))


def _chosen(member: Member, known: Known) -> list[str] | None:
    """The nodes; None where they cannot be told."""
    pattern = text(member.selector, "regexMatch", "pattern")
    if pattern and (unreadable(pattern) or _OTHERWISE.search(pattern)):
        return None
    if pattern:
        names = _beginning(_PLAIN.match(pattern), known.names)
        known.tries[0] -= len(names)
        return matches(member, {name: known.nodes[name] for name in names}) if known.tries[0] > 0 else None
    plain = mapping(member.selector, "labelMatch", "matchLabels")
    pairs = [(key, value) for key, value in plain.items() if isinstance(key, str) and isinstance(value, str)]
    if len(pairs) < len(plain):
        return []
    return matches(member, min((known.holders.get(pair, {}) for pair in pairs), key=len, default=known.nodes))


_OTHERWISE = re.compile(r"\[:|\\[pPQEC]|\(\?[a-zA-Z]*[sUm-]")
"""Words of Go's patterns that Python reads otherwise, or not at all."""

_PLAIN = re.compile(r"\^((?:[a-z0-9-](?![?*+{|]))*)(?![^|]*\|)")
"""The letters that every name begins with that a pattern matches: what follows them may not be left out."""


def _beginning(found: re.Match[str] | None, names: Sequence[str]) -> Sequence[str]:
    """The names that begin with some letters."""
    if found is None or not found[1]:
        return names
    return names[bisect_left(names, found[1]) : bisect_right(names, f"{found[1]}\U0010ffff")]
