"""Kubernetes nodes -> pools: `kubectl get nodes -o json`, the same as YAML, or a slim extract of a line a node."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, error, has_errors, warning
from bayplan.core.phrases import did_you_mean, listing, suggest
from bayplan.kube.objects import get, is_kind, items, mapping, text
from bayplan.model.formats import HEAD, Asked, Part, SourceFile
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology
from bayplan.topologies import native
from bayplan.topologies.nodes import objects as nodes_json
from bayplan.topologies.nodes import pools as nodes_pools
from bayplan.topologies.nodes import room
from bayplan.topologies.nodes import slim as nodes_slim
from bayplan.topologies.nodes import stocks as nodes_stocks
from bayplan.topologies.nodes import trees as nodes_trees
from bayplan.topologies.nodes.census import Census, Counting
from bayplan.topologies.nodes.offers import add
from bayplan.topologies.nodes.presets import LABELS, PRESETS
from bayplan.topologies.nodes.shapes import LABELS as SHAPE_LABELS
from bayplan.topologies.nodes.syntax import faults
from bayplan.topologies.nodes.words import has

NAME = "nodes"
STATES = ("cordoned", "notReady", "unhealthy")
"""Why nodes are unusable: where this format says nothing of that, they are usable."""

_JSON = re.compile(r'"apiVersion":\s*"v1",\s*"kind":\s*"Node(List)?"|"kind":\s*"Node(List)?",\s*"apiVersion":\s*"v1"')
_YAML = re.compile(r"apiVersion: v1\n *kind: Node(List)? *$|kind: Node(List)?\n *apiVersion: v1 *$", re.M)
_NOTHING = re.compile(r'\s*\{[^\[\]]*"items":\s*\[\s*\][^\[\]]*\}\s*')
_TOLD = 20


def sniff(source: SourceFile) -> bool:
    """Whether the file begins like a list of nodes, or holds one: of a large file the beginning must tell."""
    head = source.head
    if nodes_slim.sniff(head):
        return True
    shape = _JSON if _is_json(head) else _YAML
    return (
        bool(shape.search(head))
        or _nothing(head)
        or ("apiVersion" in head and _whole(source) and bool(shape.search(source.text)))
    )


def _nothing(head: str) -> bool:
    """Whether the file is a list of nothing, as kubectl prints where a selector takes no node."""
    if _is_json(head):
        return bool(_NOTHING.fullmatch(head)) and bool(re.search(r'"kind":\s*"(Node)?List"', head))
    return bool(re.match(r"(---\n)?apiVersion: v1\nitems: \[\]\nkind: (Node)?List$", head, re.M))


def _whole(source: SourceFile) -> bool:
    """Whether there is more of the file, and not too much of it."""
    return len(source.head) == HEAD and bool(getattr(source, "small", True))


def _is_json(head: str) -> bool:
    return head.lstrip()[:1] in ("{", "[")


def new(source: SourceFile, asked: Asked) -> Outcome[Part]:
    """The pools that the nodes make."""
    counting = Counting(_wanted(asked))
    found = list(_read(source, counting))
    census = counting.census()
    found += (*_listed(census, asked), *faults(census, _wanted(asked._replace(labels=frozenset()))))
    if not census.places and not found:
        hint = "did kubectl list it with a selector (-l) that no node meets? Write it with `kubectl get nodes -o json`"
        found.append(error("T516", source.at(), "there is no node in the file", hint=hint))
    if has_errors(found):
        return Outcome(None, tuple(found))
    stocks = nodes_stocks.stocks(census, asked.frames, found)
    grown = [nodes_trees.grow(stock, census.places, asked, found) for stock in stocks]
    grown = nodes_trees.rooted(grown, census.places, asked, found)
    pools = nodes_pools.pools(grown, census, found)
    accelerators = nodes_pools.accelerators(grown, census.places, found)
    if not has_errors(found):
        found += room.said(pools, asked, census.places)
        pools = room.left(pools, asked.headroom)
    if not pools and not has_errors(found):
        found.append(error("T516", source.at(), "no node is left", hint="which were left out is told above"))
    if has_errors(found):
        return Outcome(None, tuple(found))
    topology = native.planned(ClusterTopology(_name(source), pools, accelerators=accelerators), asked.plan)
    return Outcome(Part(topology, census.places, census.aliases, _labels(census, asked)), tuple(found))


def _wanted(asked: Asked) -> frozenset[str]:
    """The labels that somebody looks at."""
    levels = (*asked.levels, *(level for frame in asked.frames for level in frame.levels))
    selectors = (key for frame in asked.frames for key in frame.node.node_selector)
    return LABELS | SHAPE_LABELS | asked.labels | {level.label for level in levels} | frozenset(selectors)


def _read(source: SourceFile, counting: Counting) -> Iterator[Diagnostic]:
    head = source.head
    if _is_json(head):
        return nodes_json.read(source.chunks(), source.at(), counting)
    if nodes_slim.sniff(head):
        return nodes_slim.read(source.chunks(), source.at(), counting)
    return _documents(source, counting)


def _documents(source: SourceFile, counting: Counting) -> Iterator[Diagnostic]:
    """Nodes in YAML, alone or in lists."""
    if not source.documents:
        yield from getattr(source, "faults", ())
    for number, document in enumerate(source.documents):
        whole = text(document.data, "kind") == "NodeList"
        at = source.at(number)
        listed = items(document.data, "items")
        if listed and "kind" not in document.data:  # kubectl writes it behind the items
            message = "the list has no kind behind its items: the end of the file is missing"
            yield error("T501", at, message, hint="write it again with `kubectl get nodes -o yaml`")
        if listed and (message := nodes_json.goes_on(get(document.data, "metadata"))):
            yield error("T529", (*at, "metadata"), message, hint=nodes_json.PAGES)
        pairs = [((*at, "items", n), each) for n, each in enumerate(listed)] if listed else [(at, document.data)]
        for place, each in pairs:
            if is_kind(each, "", "Node") or (whole and mapping(each, "metadata") and not get(each, "kind")):
                try:
                    add(counting, place, each)
                except ValueError as problem:
                    yield nodes_json.unread(each, problem, place)


def _listed(census: Census, asked: Asked) -> Iterator[Diagnostic]:
    """What is wrong with the list of nodes, or with what is asked of it."""
    for name, place in census.twice[:_TOLD]:
        notes = (Note("the first is here", census.places[name]),)
        yield error("T502", place, f'node "{name}" is listed twice', hint="remove one of them", notes=notes)
    if len(census.twice) > _TOLD:
        yield error("T502", census.twice[_TOLD][1], f"{len(census.twice) - _TOLD} more nodes are listed twice")
    if not census.places:
        return
    first = next(iter(census.places.values()))
    carried = {key for each in census.alike for key, value in each.labels.items() if value}
    if asked.preset and asked.preset not in PRESETS:
        yield error(
            "T517", first, f'there is no preset "{asked.preset}"', hint=suggest(asked.preset, PRESETS, "presets")
        )
    elif asked.preset and not any(rank.label in carried for rank in PRESETS[asked.preset]):
        wanted = listing((rank.label for rank in PRESETS[asked.preset][-4:]), "or")
        yield error("T517", first, f'no node carries a label of "{asked.preset}"', hint=f"such as {wanted}")
    for level in asked.levels:
        if level.label == HOSTNAME_LABEL:
            message = f'the level "{level.name}" ("{HOSTNAME_LABEL}") is implied: every pool ends in it'
            yield error("T517", first, message, hint="leave this --level out")
        elif level.label not in carried:
            hint = did_you_mean(level.label, census.keys) or "is it spelled as the nodes have it?"
            yield error("T517", first, f'no node carries the label "{level.label}"', hint=hint)
    if census.hosts:
        names = sorted(census.hosts)
        message = f'{has(names)} another name in "{HOSTNAME_LABEL}", such as "{census.hosts[names[0]]}"'
        hint = "levels and lists go by the name; what pins pods by that label needs its value"
        yield warning("T511", census.places[names[0]], message, hint=hint)


def _name(source: SourceFile) -> str:
    """The file's, where that says something."""
    stem = re.sub(r"(\.[A-Za-z0-9]+)+$", "", source.name.replace("\\", "/").rpartition("/")[2])
    said = re.sub(r"[^a-z0-9]+", "-", stem.lower())[:63].strip("-")
    return "cluster" if said in ("", "nodes") or stem.startswith("<") else said


def _labels(census: Census, asked: Asked) -> dict[str, dict[str, str]]:
    """Node -> the labels that were asked for."""
    if not asked.labels:
        return {}
    found: dict[str, dict[str, str]] = {}
    for each in census.alike:
        shared = {key: each.labels[key] for key in asked.labels if key in each.labels}
        found |= dict.fromkeys(each.names, shared)
    if HOSTNAME_LABEL in asked.labels:
        return {name: {**held, HOSTNAME_LABEL: census.hosts.get(name, name)} for name, held in found.items()}
    return found
