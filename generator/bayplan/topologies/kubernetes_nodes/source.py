"""Pools from Kubernetes nodes: `kubectl get nodes` as JSON or YAML, or an extract with one line for each node."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, error, has_errors, warning
from bayplan.core.phrases import did_you_mean, listing, shorten, suggest
from bayplan.kube.objects import get, items
from bayplan.model.formats import HEAD, Part, ReadOptions, SourceFile
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology
from bayplan.schemas import LABEL_VALUE, is_label_key
from bayplan.topologies import grouping, native
from bayplan.topologies.kubernetes_nodes import AllNodes, NodeCounter, NodeGroup, Report, reading, trees
from bayplan.topologies.kubernetes_nodes import pools as nodes_pools
from bayplan.topologies.kubernetes_nodes.hardware import CARDS, MIG, SHARES
from bayplan.topologies.kubernetes_nodes.hardware import LABELS as SHAPE_LABELS
from bayplan.topologies.kubernetes_nodes.levels import LABELS, PRESETS, has
from bayplan.topologies.kubernetes_nodes.proposals import NETWORKS, may_be_level
from bayplan.topologies.kubernetes_nodes.software import KINDS

LONGEST = 63
MOST = 20
MOST_CARDS = 1024


def faults(all_nodes: AllNodes, keys: frozenset[str]) -> Iterator[Diagnostic]:
    """T530 for labels, taints and resources that Kubernetes does not accept, once for each kind of node."""
    reported, good, checked = 0, {""}, set[int]()
    for each in all_nodes.groups:
        declared = [key for key, value in each.labels.items() if value not in good and key in keys]
        faulty = [
            *(_label(each, key, good) for key in declared),
            *(_offer(each) if id(each.offer) not in checked else ()),
        ]
        checked.add(id(each.offer))
        for what in filter(None, faulty):
            reported += 1
            if reported <= MOST:
                name = each.names[0]
                hint = "use the unchanged output of kubectl; names and values have letters, digits, dashes, dots and _"
                yield error("T530", all_nodes.places[name], f'node "{name}" has {what}', hint=hint)


def _label(group: NodeGroup, key: str, good: set[str]) -> str:
    value = group.labels[key]
    if _is_value(value):
        good.add(value)
        return ""
    return f'the invalid value "{shorten(value)}" in the label "{shorten(key)}"'


def _is_value(text: str) -> bool:
    return not text or (len(text) <= LONGEST and bool(LABEL_VALUE.search(text)))


def _offer(group: NodeGroup) -> Iterator[str]:
    amounts, taints = group.offer.amounts, group.offer.taints
    yield from (f'a resource with the invalid name "{shorten(key)}"' for key in amounts if not is_label_key(key))
    yield from (f'a taint with the invalid key "{shorten(key)}"' for key, _, _ in taints if not is_label_key(key))
    yield from (f'a taint with the invalid value "{shorten(value)}"' for _, value, _ in taints if not _is_value(value))
    for key in amounts:
        if (key in CARDS or key.startswith((MIG, SHARES))) and not 0 <= amounts[key] <= MOST_CARDS * 1000:
            yield f'{amounts[key] // 1000} of "{key}", expected 0 to {MOST_CARDS}'


_JSON = re.compile(r'"apiVersion":\s*"v1",\s*"kind":\s*"Node(List)?"|"kind":\s*"Node(List)?",\s*"apiVersion":\s*"v1"')
_YAML = re.compile(r"apiVersion: v1\n *kind: Node(List)? *$|kind: Node(List)?\n *apiVersion: v1 *$", re.M)
_SOFTWARE = re.compile(rf"\"?kind\"?: *\"?({'|'.join(KINDS)})(List)?\"?[,\s}}]")
_NOTHING = re.compile(r'\s*\{[^\[\]]*"items":\s*\[\s*\][^\[\]]*\}\s*')
MOST_REPORTED = 20


def sniff(source: SourceFile) -> bool:
    """Whether the file starts like a list of nodes, or a small file contains one."""
    head = source.head
    if reading.is_extract(head):
        return True
    return (
        _nothing(head) or _has_objects(head) or ("apiVersion" in head and _whole(source) and _has_objects(source.text))
    )


def _has_objects(text: str) -> bool:
    """Whether the text has a node, or an object that reveals the version of software."""
    return bool((_JSON if _is_json(text) else _YAML).search(text) or _SOFTWARE.search(text))


def _nothing(head: str) -> bool:
    """Whether the file is an empty list, as kubectl prints it if a selector matches no node."""
    if _is_json(head):
        return bool(_NOTHING.fullmatch(head)) and bool(re.search(r'"kind":\s*"(Node)?List"', head))
    return bool(re.match(r"(---\n)?apiVersion: v1\nitems: \[\]\nkind: (Node)?List$", head, re.M))


def _whole(source: SourceFile) -> bool:
    """Whether the file is longer than its head, and small enough to read whole."""
    return len(source.head) == HEAD and bool(getattr(source, "small", True))


def _is_json(head: str) -> bool:
    return head.lstrip()[:1] in ("{", "[")


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The pools of the nodes."""
    counter = NodeCounter(_wanted(options), *(() if _is_set(options) else (_unknown,)))
    issues = list(_read(source, counter))
    all_nodes = counter.all_nodes()
    issues += (*_listed(all_nodes, options), *faults(all_nodes, _wanted(options._replace(labels=frozenset()))))
    versions = counter.software.versions(issues)
    if not all_nodes.places and counter.software.seen and not has_errors(issues):
        return Outcome(Part(ClusterTopology("cluster", (), versions)), tuple(issues))
    if not all_nodes.places and not has_errors(issues):
        hint = "write it with `kubectl get nodes -o json`, without a selector (-l) that matches no node"
        issues.append(error("T516", source.at(), "the file has no nodes", hint=hint))
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    report = Report(all_nodes.places, issues)
    grown = [trees.family_tree(each, options, report) for each in trees.families(all_nodes, options, report)]
    grown = trees.without_lost(grown, options, report)
    pools = nodes_pools.pools(grown, all_nodes, options, report)
    accelerators = nodes_pools.accelerators(grown, report)
    if not has_errors(issues):
        nodes_pools.report_headroom(pools, options, report)
        pools = nodes_pools.less_headroom(pools, options.headroom)
    if not pools and not has_errors(issues):
        issues.append(error("T516", source.at(), "no node is left", hint="-v shows why bayplan left each node out"))
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    topology = native.planned(
        ClusterTopology(_name(source), pools, versions=versions, accelerators=accelerators), options.plan
    )
    return Outcome(Part(topology, all_nodes.places, all_nodes.aliases, _labels(all_nodes, options)), tuple(issues))


def _wanted(options: ReadOptions) -> frozenset[str]:
    """The labels that the import reads."""
    levels = (*options.levels, *(level for frame in options.frames for level in frame.levels))
    selectors = (key for frame in options.frames for key in frame.node.node_selector)
    return LABELS | SHAPE_LABELS | options.labels | {level.label for level in levels} | frozenset(selectors)


def _is_set(options: ReadOptions) -> bool:
    """Whether the user or another source says which labels are levels."""
    return bool(options.levels or options.preset or any(frame.levels for frame in options.frames))


def _unknown(keys: tuple[str, ...]) -> frozenset[str]:
    """Keys that may be levels, of nodes without labels of a network."""
    return frozenset() if NETWORKS & set(keys) else frozenset(filter(may_be_level, keys))


def _read(source: SourceFile, counter: NodeCounter) -> Iterator[Diagnostic]:
    head = source.head
    if _is_json(head):
        return reading.read_json(source.chunks(), source.at(), counter)
    if reading.is_extract(head):
        return reading.read_extract(source.chunks(), source.at(), counter)
    return _documents(source, counter)


def _documents(source: SourceFile, counter: NodeCounter) -> Iterator[Diagnostic]:
    """Nodes in YAML, single or in lists."""
    if not source.documents:
        yield from getattr(source, "faults", ())
    for number, document in enumerate(source.documents):
        at = source.at(number)
        listed = items(document.data, "items")
        if listed and "kind" not in document.data:  # kubectl writes it after the items
            message = "the list has no kind after its items, so the file is truncated"
            yield error("T530", at, message, hint="write it again with `kubectl get nodes -o yaml`")
        if listed and (message := reading.goes_on(get(document.data, "metadata"))):
            yield error("T529", (*at, "metadata"), message, hint=reading.PAGES)
        pairs = [((*at, "items", n), each) for n, each in enumerate(listed)] if listed else [(at, document.data)]
        for place, each in pairs:
            try:
                reading.add_object(counter, place, reading.typed(each, document.data) if listed else each)
            except ValueError as problem:
                yield reading.unread(each, problem, place)


def _listed(all_nodes: AllNodes, options: ReadOptions) -> Iterator[Diagnostic]:
    """Faults of the list of nodes, and of the options for it."""
    for name, place in all_nodes.twice[:MOST_REPORTED]:
        notes = (Note("the first one is here", all_nodes.places[name]),)
        yield error("T401", place, f'node "{name}" is listed twice', hint="remove one of them", notes=notes)
    if len(all_nodes.twice) > MOST_REPORTED:
        yield error(
            "T401",
            all_nodes.twice[MOST_REPORTED][1],
            f"{len(all_nodes.twice) - MOST_REPORTED} more nodes are listed twice",
        )
    if not all_nodes.places:
        return
    first = next(iter(all_nodes.places.values()))
    carried = {key for each in all_nodes.groups for key, value in each.labels.items() if value}
    if options.preset and options.preset not in PRESETS:
        hint = suggest(options.preset, PRESETS, "presets")
        yield error("T503", first, f'there is no preset "{options.preset}"', hint=hint)
    elif options.preset and not any(tier.label in carried for tier in PRESETS[options.preset]):
        wanted = listing((tier.label for tier in PRESETS[options.preset][-4:]), "or")
        message = f'no node has a label of the preset "{options.preset}"'
        yield error("T503", first, message, hint=f"label the nodes with {wanted}, or choose another --preset")
    for level in options.levels:
        if level.label == HOSTNAME_LABEL:
            message = f'every pool already ends in the level of "{HOSTNAME_LABEL}", here named "{level.name}"'
            yield error("T503", first, message, hint="remove this --level")
        elif level.label not in carried:
            hint = did_you_mean(level.label, all_nodes.keys) or "use a label of `kubectl get nodes --show-labels`"
            yield error("T503", first, f'no node has the label "{level.label}"', hint=hint)
    if all_nodes.hosts:
        names = sorted(all_nodes.hosts)
        message = f'{has(names)} another name in "{HOSTNAME_LABEL}", such as "{all_nodes.hosts[names[0]]}"'
        hint = "bayplan uses the names; a pod that selects a host by this label must use the label's value"
        yield warning("T537", all_nodes.places[names[0]], message, hint=hint)


def _name(source: SourceFile) -> str:
    """The name of the file, or `cluster` if the file has a general name."""
    stem = re.sub(r"(\.[A-Za-z0-9]+)+$", "", source.name.replace("\\", "/").rpartition("/")[2])
    declared = grouping.dns_label(stem)
    return "cluster" if declared in ("", "nodes") or stem.startswith("<") else declared


def _labels(all_nodes: AllNodes, options: ReadOptions) -> dict[str, dict[str, str]]:
    """Node -> the labels in `options.labels`."""
    if not options.labels:
        return {}
    by_node: dict[str, dict[str, str]] = {}
    for each in all_nodes.groups:
        shared = {key: each.labels[key] for key in options.labels if key in each.labels}
        by_node |= dict.fromkeys(each.names, shared)
    if HOSTNAME_LABEL in options.labels:
        return {name: {**held, HOSTNAME_LABEL: all_nodes.hosts.get(name, name)} for name, held in by_node.items()}
    return by_node
