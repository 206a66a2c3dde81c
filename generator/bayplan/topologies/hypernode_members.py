"""Members of HyperNodes that are selected by labels or patterns -> the nodes that another source tells of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.diagnostics import Diagnostic, warning
from bayplan.kube.safe import items, mapping, text
from bayplan.model.topology import HOSTNAME_LABEL
from bayplan.topologies.grouping import natural
from bayplan.topologies.hypernode_tree import NODE, Labels, Member, Seen, matches

Index = Mapping[tuple[str, str], Mapping[str, Labels]]
"""(label, value) -> the nodes that carry it."""


def keys(found: Iterable[Seen]) -> frozenset[str]:
    """The labels that members are selected by; that of the host name where any are, so that all nodes are told."""
    unnamed = [member for each in found for member in each.members if member.kind == NODE and not member.name]
    wanted = {key for member in unnamed for key in _of(member)}
    return frozenset((*wanted, HOSTNAME_LABEL) if unnamed else ())


def _of(member: Member) -> Iterator[str]:
    match = mapping(member.selector, "labelMatch")
    yield from (key for key in mapping(match, "matchLabels") if isinstance(key, str))
    yield from (text(rule, "key") for rule in items(match, "matchExpressions") if text(rule, "key"))


def expanded(found: Sequence[Seen], nodes: Mapping[str, Labels]) -> tuple[list[Seen], list[Diagnostic]]:
    """The HyperNodes with a member for each node that they select; T567 for members that select none."""
    if not nodes or not keys(found):
        return list(found), []
    index: dict[tuple[str, str], dict[str, Labels]] = {}
    for name, own in nodes.items():
        for pair in own.items():
            index.setdefault(pair, {})[name] = own
    told: list[Diagnostic] = []
    return [each._replace(members=tuple(_members(each, nodes, index, told))) for each in found], told


def _members(each: Seen, nodes: Mapping[str, Labels], index: Index, told: list[Diagnostic]) -> Iterator[Member]:
    for member in each.members:
        chosen = _chosen(member, nodes, index) if member.kind == NODE and not member.name else None
        if chosen is None:
            yield member
            continue
        if not chosen:
            message = f'none of the {len(nodes)} nodes is one that HyperNode "{each.name}" selects here'
            told.append(warning("T567", member.route, message, hint="correct the selector, or give all nodes"))
        yield from (member._replace(name=name) for name in sorted(chosen, key=natural))


def _chosen(member: Member, nodes: Mapping[str, Labels], index: Index) -> list[str] | None:
    """The nodes; None where they cannot be told. Labels are looked up: there may be thousands of HyperNodes."""
    plain = mapping(member.selector, "labelMatch", "matchLabels")
    pairs = [(key, value) for key, value in plain.items() if isinstance(key, str) and isinstance(value, str)]
    if len(pairs) < len(plain):
        return []
    fewest = min((index.get(pair, {}) for pair in pairs), key=len, default=nodes)
    return matches(member, fewest)
