"""A tree of HyperNodes as a native ClusterTopology: each path from a root to a leaf is a line of domains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, Route, error, has_errors, warning
from bayplan.core.phrases import shorten
from bayplan.kube.objects import is_kind, items, text
from bayplan.model.formats import Asked, Part, SourceFile
from bayplan.model.manifest import Object
from bayplan.schemas import is_dns_subdomain
from bayplan.topologies import hostlist, native
from bayplan.topologies.grouping import UNKNOWN, word
from bayplan.topologies.hypernodes.members import expanded, keys
from bayplan.topologies.hypernodes.tree import (
    GROUP,
    HYPER_NODE,
    LEVEL,
    NODE,
    PATH,
    TOPOLOGY,
    Seen,
    Tree,
    faults,
    seen,
    unreadable,
)

TOLD = 20
"""Members that are told of one by one."""

Chain = tuple[Seen, ...]
"""HyperNodes from a root down to a leaf."""


def new(source: SourceFile, asked: Asked) -> Outcome[Part]:
    """The topology, or why the HyperNodes are none."""
    objects = list(_hyper_nodes(source))
    written = [seen(each) for each in objects]
    found, told = expanded(written, asked.nodes)
    made = native.part(
        _made(objects, found, (*_broken(written), *faults(written, None), *told), bool(asked.nodes)), source, asked
    )
    if made.value is None:
        return made
    places = {member.name: member.route for each in found for member in each.of(NODE)}
    return Outcome(made.value._replace(places=places), made.diagnostics)


def label_keys(source: SourceFile) -> frozenset[str]:
    """The labels that must be known of every node, so that it is clear which nodes are selected by them."""
    return keys(seen(each) for each in _hyper_nodes(source))


def _made(
    objects: Sequence[Object], found: Sequence[Seen], wrong: tuple[Diagnostic, ...], given: bool
) -> Outcome[dict[str, Any]]:
    tree: Tree = {each.name: each for each in found}
    chains = [] if has_errors(wrong) else list(_chains(tree))
    wrong += (*_uneven(chains), *_unnamed(found, given), *_no_nodes(found))
    if has_errors(wrong):
        return Outcome(None, wrong)
    name = next((text(each.data, "metadata", "labels", TOPOLOGY) for each in objects), "")
    return Outcome(_document(name or "hypernodes", chains), wrong)


def _broken(found: Sequence[Seen]) -> Iterator[Diagnostic]:
    """T454: what the API server would refuse, or would take for one object."""
    first: dict[str, Seen] = {}
    for each in found:
        if not each.name or each.tier is None or each.tier < 0:
            message = "a HyperNode needs a name, and a tier that is a whole number from 0 on"
            yield error("T454", each.route, message, hint="give what `kubectl get hypernodes -o yaml` prints")
        elif not is_dns_subdomain(each.name):
            message = f'"{each.name[:80]}" is no name of a HyperNode'
            yield error("T454", (*each.route, "metadata", "name"), message, hint="names are lower-case, as of hosts")
        elif each.name in first:
            notes = (Note("the first is here", first[each.name].route),)
            message = f'HyperNode "{each.name}" is there twice'
            yield error("T454", (*each.route, "metadata", "name"), message, notes=notes, hint="remove or rename one")
        first.setdefault(each.name, each)
        for member in each.of(NODE):
            if not is_dns_subdomain(member.name):
                message = f'"{member.name[:80]}" is no name of a node'
                yield error("T454", member.route, message, hint="names are lower-case, as of hosts")


def _hyper_nodes(source: SourceFile) -> Iterator[Object]:
    for number, document in enumerate(source.documents):
        at = source.at(number)
        inside = (((*at, "items", i), each) for i, each in enumerate(items(document.data, "items")))
        listed: list[tuple[Route, Any]] = [(at, document.data), *inside]
        yield from (Object(route, data) for route, data in listed if is_kind(data, GROUP, "HyperNode"))


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
            f'HyperNode "{one[-1].name}" stands below tiers {_tiers(one)} and "{other[-1].name}" below {_tiers(other)};'
            " one list of levels cannot say both"
        )
        hint = "split the file by trees, and copy the pools of each into one topology"
        yield error("T453", (*other[-1].route, "spec", "tier"), message, hint=hint)


def _tiers(chain: Chain) -> str:
    return ", ".join(str(each.tier) for each in chain[:-1]) or "none"


ONE_BY_ONE = (
    "its pattern could take for ever to try here: name the nodes with `exactMatch`, or write it without repeats"
)


def _unnamed(found: Sequence[Seen], given: bool) -> Iterator[Diagnostic]:
    """Members that only the cluster can tell. `given`: the nodes are known, and a pattern is not one to try on them."""
    unnamed = [
        (each, one)
        for each in found
        for one in each.members
        if one.kind == NODE and not one.name and not unreadable(text(one.selector, "regexMatch", "pattern"))
    ]
    hint = ONE_BY_ONE if given else "give the nodes beside: `kubectl get nodes -o json`"
    for each, member in unnamed[:TOLD]:
        message = f'which nodes HyperNode "{each.name}" selects, only the cluster knows; they are left out'
        yield warning("T452", member.route, message, hint=hint)
    if len(unnamed) > TOLD:
        message = f"which nodes {len(unnamed) - TOLD} more members select, only the cluster knows too"
        yield warning("T452", unnamed[TOLD][1].route, message, hint=hint)


def _no_nodes(found: Sequence[Seen]) -> Iterator[Diagnostic]:
    """T537: members that no node can be."""
    for each in found:
        for member in each.of(NODE):
            if not is_dns_subdomain(member.name):
                message = f'HyperNode "{each.name}" names {shorten(member.name)}, which no node can be called'
                yield error("T537", member.route, message, hint="write the name that `kubectl get nodes` prints")


def _document(name: str, chains: Sequence[Chain]) -> dict[str, Any]:
    domains = [
        {"path": "/".join(_values(chain)), "nodes": hostlist.compress(member.name for member in chain[-1].of(NODE))}
        for chain in chains
        if any(chain[-1].of(NODE))
    ]
    pool = {"name": "nodes", "node": {}, "levels": list(_levels(chains[0])) if chains else [], "domains": domains}
    return {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": name},
        "spec": {"defaults": {"scheduler": "volcano"}, "pools": [pool]},
    }


def _values(chain: Chain) -> tuple[str, ...]:
    """The original level values where bayplan wrote them down, else the HyperNodes' own names."""
    noted = tuple(text(chain[-1].annotations, PATH).split("/"))
    return noted if len(noted) == len(chain) and all(noted) else tuple(each.name for each in chain)


def _unlabelled(each: Seen) -> dict[str, Any]:
    """A level whose label no node carries."""
    return {"label": f"{UNKNOWN}/tier-{each.tier}", "apply": True}


def _levels(chain: Chain) -> Iterator[Mapping[str, Any]]:
    """Levels by what their tiers are called: discovery puts the label's key there, and so does bayplan."""
    taken: set[str] = set()
    for each in chain:
        label = each.tier_name if re.fullmatch(r"([a-z0-9.-]+/)?[A-Za-z0-9][A-Za-z0-9._-]*", each.tier_name) else ""
        name = word(text(each.annotations, LEVEL) or label.rpartition("/")[2])
        unique = name if name and name not in (*taken, "host") else f"tier-{each.tier}"
        taken.add(unique)
        yield {"name": unique, "label": label} if label else {**_unlabelled(each), "name": unique}
