"""A topology from HyperNodes. Nodes that a member selects by labels or a pattern come from another source."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, error, has_errors, warning
from bayplan.core.phrases import shorten
from bayplan.kube.objects import is_kind, items, mapping, text
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.manifest import Object
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Domain, Level, Pool
from bayplan.schemas import is_dns_subdomain
from bayplan.topologies import native
from bayplan.topologies.grouping import PLACEHOLDER, dns_label, kube_objects, natural
from bayplan.topologies.hypernodes import (
    GROUP,
    HYPER_NODE,
    LEVEL,
    NODE,
    PATH,
    TOPOLOGY,
    Labels,
    Member,
    ReadHyperNode,
    Tree,
    faults,
    matches,
    needed_steps,
    read_hyper_node,
    unreadable,
)


def keys(hyper_nodes: Iterable[ReadHyperNode]) -> frozenset[str]:
    """The labels that members select by, and the hostname label if there are any, so that all nodes are known."""
    unnamed = [member for each in hyper_nodes for member in each.members if member.kind == NODE and not member.name]
    labels = {key for member in unnamed for key in _of(member)}
    return frozenset((*labels, HOSTNAME_LABEL) if unnamed else ())


def _of(member: Member) -> Iterator[str]:
    match = mapping(member.selector, "labelMatch")
    yield from (key for key in mapping(match, "matchLabels") if isinstance(key, str))
    yield from (text(rule, "key") for rule in items(match, "matchExpressions") if text(rule, "key"))


class NodeIndex(NamedTuple):
    """The nodes, indexes of them, and the remaining number of pattern matches."""

    nodes: Mapping[str, Labels]
    names: Sequence[str]  # sorted
    holders: Mapping[tuple[str, str], Mapping[str, Labels]]  # (label, value) -> the nodes that have it
    tries: list[float]


MOST_REPORTED = 20
"""Members that bayplan reports one by one."""

MOST_TRIES = 20_000_000
"""Pattern matches of 100 steps, about ten seconds. Patterns that start with `^` and plain letters need few of them."""


def expanded(
    hyper_nodes: Sequence[ReadHyperNode], nodes: Mapping[str, Labels]
) -> tuple[list[ReadHyperNode], list[Diagnostic]]:
    """The HyperNodes with a member for each selected node. T437 for members that select no node."""
    if not nodes or not keys(hyper_nodes):
        return list(hyper_nodes), []
    index: dict[tuple[str, str], dict[str, Labels]] = {}
    for name, own in nodes.items():
        for pair in own.items():
            index.setdefault(pair, {})[name] = own
    known = NodeIndex(nodes, sorted(nodes), index, [MOST_TRIES])
    reported: list[Diagnostic] = []
    result = [each._replace(members=tuple(_members(each, known, reported))) for each in hyper_nodes]
    if len(reported) > MOST_REPORTED:
        message = f"{len(reported) - MOST_REPORTED} more members match none of the {len(nodes)} nodes"
        reported[MOST_REPORTED:] = [
            warning("T437", reported[MOST_REPORTED].route, message, hint=reported[MOST_REPORTED].hint)
        ]
    return result, reported


def _members(each: ReadHyperNode, index: NodeIndex, reported: list[Diagnostic]) -> Iterator[Member]:
    for member in each.members:
        chosen = _selected_nodes(member, index) if member.kind == NODE and not member.name else None
        if chosen is None:
            yield member
            continue
        if not chosen:
            message = f'a member of HyperNode "{each.name}" matches none of the {len(index.nodes)} nodes'
            reported.append(warning("T437", member.route, message, hint="correct the selector, or import all nodes"))
        yield from (member._replace(name=name) for name in sorted(chosen, key=natural))


def _selected_nodes(member: Member, index: NodeIndex) -> list[str] | None:
    """The selected nodes; None if they are unknown."""
    pattern = text(member.selector, "regexMatch", "pattern")
    if pattern and (unreadable(pattern) or _OTHERWISE.search(pattern)):
        return None
    if pattern:
        names = _beginning(_PLAIN.match(pattern), index.names)
        index.tries[0] -= len(names) * (1 + needed_steps(pattern, names) // 100)
        return matches(member, {name: index.nodes[name] for name in names}) if index.tries[0] > 0 else None
    plain = mapping(member.selector, "labelMatch", "matchLabels")
    pairs = [(key, value) for key, value in plain.items() if isinstance(key, str) and isinstance(value, str)]
    if len(pairs) < len(plain):
        return []
    return matches(member, min((index.holders.get(pair, {}) for pair in pairs), key=len, default=index.nodes))


_OTHERWISE = re.compile(r"\[:|\\[pPQEC]|\(\?[a-zA-Z]*[sUm-]")
"""Syntax of Go's patterns that Python reads differently or does not support."""

_PLAIN = re.compile(r"\^((?:[a-z0-9-](?![?*+{|]))*)(?![^|]*\|)")
"""The literal prefix of every match of a pattern. The character after it must not make it optional."""


def _beginning(match: re.Match[str] | None, names: Sequence[str]) -> Sequence[str]:
    """The names with the literal prefix."""
    if match is None or not match[1]:
        return names
    return names[bisect_left(names, match[1]) : bisect_right(names, f"{match[1]}\U0010ffff")]


# The tree of HyperNodes as one pool: each path from a root to a leaf is a domain.

Chain = tuple[ReadHyperNode, ...]
"""HyperNodes from a root down to a leaf."""


def sniff(source: SourceFile) -> bool:
    """Whether the file has HyperNodes, single or in a list as `kubectl get -o yaml` prints them."""
    return any(True for _ in _hyper_nodes(source))


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The topology of the HyperNodes, or their faults."""
    objects = list(_hyper_nodes(source))
    if not objects:
        hint = "use the output of `kubectl get hypernodes -o yaml`"
        return Outcome(None, (error("T530", source.at(), "the file has no HyperNode", hint=hint),))
    written = [read_hyper_node(each) for each in objects]
    hyper_nodes, reported = expanded(written, options.nodes)
    result = native.part(
        _read(objects, hyper_nodes, (*_broken(written), *faults(written, None), *reported), bool(options.nodes)),
        source,
        options,
    )
    if result.value is None:
        return result
    places = {member.name: member.route for each in hyper_nodes for member in each.of(NODE)}
    return Outcome(result.value._replace(places=places), result.diagnostics)


def needed_labels(source: SourceFile) -> frozenset[str]:
    """The node labels that the import needs to find the selected nodes."""
    return keys(read_hyper_node(each) for each in _hyper_nodes(source))


def _read(
    objects: Sequence[Object], hyper_nodes: Sequence[ReadHyperNode], wrong: tuple[Diagnostic, ...], nodes_known: bool
) -> Outcome[ClusterTopology]:
    tree: Tree = {each.name: each for each in hyper_nodes}
    chains = [] if has_errors(wrong) else list(_chains(tree))
    wrong += (*_uneven(chains), *_unnamed(hyper_nodes, nodes_known), *_no_nodes(hyper_nodes))
    if has_errors(wrong):
        return Outcome(None, wrong)
    name = next((text(each.data, "metadata", "labels", TOPOLOGY) for each in objects), "")
    return Outcome(_topology(name or "hypernodes", chains), wrong)


def _broken(hyper_nodes: Sequence[ReadHyperNode]) -> Iterator[Diagnostic]:
    """T461: objects that the API server would refuse, or that have one name."""
    first: dict[str, ReadHyperNode] = {}
    for each in hyper_nodes:
        if not each.name or each.tier is None or each.tier < 0:
            message = "a HyperNode needs a name, and an integer tier of at least 0"
            yield error("T461", each.route, message, hint="use the output of `kubectl get hypernodes -o yaml`")
        elif not is_dns_subdomain(each.name):
            message = f'"{each.name[:80]}" is not a valid name of a HyperNode'
            yield error("T461", (*each.route, "metadata", "name"), message, hint=NAMES)
        elif each.name in first:
            notes = (Note("the first one is here", first[each.name].route),)
            message = f'HyperNode "{each.name}" is in the file twice'
            hint = "remove or rename one of them"
            yield error("T461", (*each.route, "metadata", "name"), message, notes=notes, hint=hint)
        first.setdefault(each.name, each)
        for member in each.of(NODE):
            if not is_dns_subdomain(member.name):
                message = f'"{member.name[:80]}" is not a valid name of a node'
                yield error("T461", member.route, message, hint=NAMES)


NAMES = "use lower-case letters, digits, dashes and dots"


def _hyper_nodes(source: SourceFile) -> Iterator[Object]:
    return (each for each in kube_objects(source) if is_kind(each.data, GROUP, "HyperNode"))


def _chains(tree: Tree) -> Iterator[Chain]:
    held = {member.name for each in tree.values() for member in each.of(HYPER_NODE)}
    stack: list[Chain] = [(tree[name],) for name in reversed(list(tree)) if name not in held]
    while stack:
        chain = stack.pop()
        below = [tree[member.name] for member in chain[-1].of(HYPER_NODE)]
        if below:
            stack += [(*chain, child) for child in reversed(below)]
        else:
            yield chain


def _uneven(chains: Sequence[Chain]) -> Iterator[Diagnostic]:
    """One pool has one list of levels."""
    tiers = {tuple(each.tier for each in chain): chain for chain in chains}
    if len(tiers) > 1:
        one, other = list(tiers.values())[:2]
        message = (
            f'HyperNode "{one[-1].name}" is below tiers {_tiers(one)}, and "{other[-1].name}" is below'
            f" {_tiers(other)}; a pool has one list of levels"
        )
        hint = "split the file into trees, import each one, and copy their pools into one topology"
        yield error("T450", (*other[-1].route, "spec", "tier"), message, hint=hint)


def _tiers(chain: Chain) -> str:
    return ", ".join(str(each.tier) for each in chain[:-1]) or "none"


ONE_BY_ONE = "name the nodes with `exactMatch`, or write the pattern without repeats: to match it could take forever"


def _unnamed(hyper_nodes: Sequence[ReadHyperNode], nodes_known: bool) -> Iterator[Diagnostic]:
    """T557: members whose nodes are unknown. `nodes_known`: the nodes are known, but the pattern takes too long."""
    unnamed = [
        (each, one)
        for each in hyper_nodes
        for one in each.members
        if one.kind == NODE and not one.name and not unreadable(text(one.selector, "regexMatch", "pattern"))
    ]
    hint = ONE_BY_ONE if nodes_known else "also import the nodes: `kubectl get nodes -o json`"
    for each, member in unnamed[:MOST_REPORTED]:
        message = f'left out the nodes that HyperNode "{each.name}" selects, because the file does not list them'
        yield warning("T557", member.route, message, hint=hint)
    if len(unnamed) > MOST_REPORTED:
        message = f"left out the nodes that {len(unnamed) - MOST_REPORTED} more members select"
        yield warning("T557", unnamed[MOST_REPORTED][1].route, message, hint=hint)


def _no_nodes(hyper_nodes: Sequence[ReadHyperNode]) -> Iterator[Diagnostic]:
    """T537: members with an invalid name of a node."""
    for each in hyper_nodes:
        for member in each.of(NODE):
            if not is_dns_subdomain(member.name):
                message = f'HyperNode "{each.name}" names the node {shorten(member.name)}, which is not a valid name'
                yield error("T537", member.route, message, hint="use the name that `kubectl get nodes` prints")


def _topology(name: str, chains: Sequence[Chain]) -> ClusterTopology:
    leaves = ((chain, tuple(member.name for member in chain[-1].of(NODE))) for chain in chains)
    domains = tuple(Domain(_values(chain), nodes) for chain, nodes in leaves if nodes)
    pool = Pool("nodes", native.UNDESCRIBED, tuple(_levels(chains[0])) if chains else (), domains)
    return ClusterTopology(name, (pool,), defaults={"scheduler": "volcano"})


def _values(chain: Chain) -> tuple[str, ...]:
    """The original level values from bayplan's annotation, or the HyperNodes' names."""
    noted = tuple(text(chain[-1].annotations, PATH).split("/"))
    return noted if len(noted) == len(chain) and all(noted) else tuple(each.name for each in chain)


def _levels(chain: Chain) -> Iterator[Level]:
    """Levels by the names of their tiers, which are keys of labels with discovery and with bayplan."""
    taken: set[str] = set()
    for each in chain:
        label = each.tier_name if re.fullmatch(r"([a-z0-9.-]+/)?[A-Za-z0-9][A-Za-z0-9._-]*", each.tier_name) else ""
        name = dns_label(text(each.annotations, LEVEL) or label.rpartition("/")[2])
        unique = name if name and name not in (*taken, "host") else f"tier-{each.tier}"
        taken.add(unique)
        yield Level(unique, label or f"{PLACEHOLDER}/tier-{each.tier}", apply=not label)
