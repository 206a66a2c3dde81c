"""Topograph's model file: switches above blocks of nodes (Topograph 0.5 and 1.0, docs/modeling.md, pkg/models).

`switches`: name -> child switches, labels, annotations; `blocks`: nodes, their switch, labels, annotations. Blocks
inherit labels and annotations from their switches and can override them. A leaf switch does not need its own entry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.plugin import (
    AT,
    KEY,
    ClusterTopology,
    Diagnostic,
    Domain,
    File,
    Note,
    Outcome,
    Part,
    Pool,
    ReadOptions,
    Route,
    SourceFile,
    Target,
    error,
    get,
    has_errors,
    hostlist,
    items,
    mapping,
    warning,
)
from bayplan.plugins.sources import topograph
from bayplan.plugins.sources.fabric_managers import Row, document, roots, some
from bayplan.plugins.sources.topograph import (
    DOMAIN_NOTE,
    INSTANCE,
    LEAVES,
    LEVELS,
    NVLINK,
    POOL,
    SUB_DOMAIN_NOTE,
    TIERS,
    Nodes,
    shown,
    strings,
)

_LIST = re.compile(r"([^\[\]]*)(\[[^\[\]]*\])?")


class Switch(NamedTuple):
    """A switch with an entry, or only a reference to it."""

    name: str
    labels: Mapping[str, str]
    notes: Mapping[str, str]
    children: tuple[str, ...]
    route: Route


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The blocks below their switches."""
    issues: list[Diagnostic] = hostlist.Issues()
    at = source.at()
    start = (*at, AT, 1, 1)
    data = document(source, issues)
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    if len(source.documents) > 1:
        hint = "put the switches and blocks of both into one document, or import one of them"
        issues.append(
            error("T530", source.at(1), "the file has a second document, but a model has only one", hint=hint)
        )
    switches = dict(_switches(data, at, issues))
    parent = _parents(switches, issues)
    nodes = Nodes()
    rows = [] if has_errors(issues) else list(_rows(data, at, switches, parent, nodes, options, issues))
    if not rows and not has_errors(issues):
        hint = "list the nodes under `blocks`; a file with only switches is truncated"
        issues.append(error("T530", at, "the model has no nodes", hint=hint))
    if not has_errors(issues):
        issues += (*_empty(switches, rows), *roots(rows, start))
    return topograph.part(source, options, rows, nodes, issues, start)


def _switches(data: Any, at: Route, issues: list[Diagnostic]) -> Iterator[tuple[str, Switch]]:
    """Switches with an entry, then switches that are only children of others."""
    listed = get(data, "switches")
    if listed is not None and not isinstance(listed, dict):
        message = "`switches` must be a mapping of switches by their names"
        issues.append(error("T530", (*at, "switches"), message, hint=SHAPE))
    result: dict[str, Switch] = {}
    for name, each in mapping(data, "switches").items():
        route = (*at, "switches", name)
        children = get(each, "switches") or []
        if not isinstance(each, dict) or not isinstance(children, list) or not all(map(shown, children)):
            message = f'switch "{name}" must be a mapping with a list of `switches`'
            issues.append(error("T530", route, message, hint=SHAPE))
            continue
        notes = strings(each.get("annotations"))
        result[name] = Switch(name, strings(each.get("labels")), notes, tuple(map(shown, children)), route)
    leaves = {child: each for each in result.values() for child in each.children if child not in result}
    yield from result.items()
    for child, each in leaves.items():
        yield child, Switch(child, {}, {}, (), (*each.route, "switches", each.children.index(child)))


SHAPE = "write switches: {NAME: {switches: [...]}}, blocks: [{switch: NAME, nodes: [...]}]; see Topograph's modeling.md"


def _parents(switches: Mapping[str, Switch], issues: list[Diagnostic]) -> dict[str, str]:
    """The switch above each switch. T532 for two parents, and for circles."""
    parent: dict[str, str] = {}
    for each in switches.values():
        for child in each.children:
            if parent.setdefault(child, each.name) != each.name:
                message = f'switch "{child}" is below "{parent[child]}" and "{each.name}"'
                notes = (Note("the other parent is here", switches[parent[child]].route),)
                hint = "merge switches with the same children into one: Topograph accepts one parent"
                issues.append(error("T532", (*each.route, "switches"), message, notes=notes, hint=hint))
    issues += _circles(switches, parent)
    return parent


def _circles(switches: Mapping[str, Switch], parent: Mapping[str, str]) -> Iterator[Diagnostic]:
    sound: set[str] = set()
    for name in switches:
        path: dict[str, None] = {}
        while name in parent and name not in sound and name not in path:
            path[name] = None
            name = parent[name]
        if name in path:
            names = list(path)[list(path).index(name) :]
            message = f"the switches form a circle: {some([*names, name], 8)}"
            yield error("T532", switches[name].route, message, hint="correct the children of one of these switches")
        sound |= path.keys()


def _rows(
    data: Any,
    at: Route,
    switches: Mapping[str, Switch],
    parent: Mapping[str, str],
    nodes: Nodes,
    options: ReadOptions,
    issues: list[Diagnostic],
) -> Iterator[Row]:
    if not isinstance(get(data, "blocks") or [], list):
        issues.append(error("T530", (*at, "blocks"), "`blocks` must be a list", hint=SHAPE))
    seen: dict[str, Route] = {}
    for number, each in enumerate(items(data, "blocks")):
        route = (*at, "blocks", number)
        switch = shown(get(each, "switch"))
        if not isinstance(each, dict) or (switch and switch not in switches):
            if switch:
                hint = f'add "{switch}" to `switches`, or correct the name'
                issues.append(error("T532", route, f'the block names the unknown switch "{switch}"', hint=hint))
            else:
                issues.append(error("T530", route, "a block must be a mapping", hint=SHAPE))
            continue
        path = _path(switch, parent) if switch else []
        if len(path) > TIERS:
            message = f'switch "{switch}" is more than {TIERS} levels deep'
            issues.append(error("T532", route, message, hint="remove switches that have only one switch below them"))
            continue
        named = list(_names(each.get("nodes"), (*route, "nodes"), issues))
        own = tuple(_taken(named, route, nodes, seen, issues))
        yield _row(each, [switches[name] for name in path], own, nodes, options)._replace(route=route)


def _row(data: Any, path: list[Switch], own: tuple[str, ...], nodes: Nodes, options: ReadOptions) -> Row:
    labels: dict[str, str] = {}
    notes: dict[str, str] = {}
    for each in (*path, None):
        labels |= strings(data.get("labels")) if each is None else each.labels
        notes |= strings(data.get("annotations")) if each is None else each.notes
    if options.labels:
        nodes.labels |= {node: topograph.wanted(labels, options.labels) for node in own}
    for node in own:
        nodes.aliases.setdefault(INSTANCE + node, node)
    held = topograph.groups(labels, notes.get(DOMAIN_NOTE, ""), notes.get(SUB_DOMAIN_NOTE, ""), options)
    row = Row(tuple(each.name for each in path), own, held, _leaves(notes), notes.get(POOL, ""))
    return topograph.known(row, notes.get(LEVELS, ""), labels, notes.get(NVLINK, ""))


def _leaves(notes: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return hostlist.expand(notes.get(LEAVES, ""))
    except ValueError:
        return ()


def _path(name: str, parent: Mapping[str, str]) -> list[str]:
    """The switches from the top, or the lowest of them if the path is too deep."""
    path = [name]
    while path[-1] in parent and len(path) <= TIERS:
        path.append(parent[path[-1]])
    return path[::-1]


def _names(data: Any, route: Route, issues: list[Diagnostic]) -> Iterator[str]:
    """The names in a list of hostlists. Each one has one bracket, at its end (Topograph 1.0, internal/cluset)."""
    if not isinstance(data, list) or not data:
        issues.append(error("T530", route, "a block must list at least one node under `nodes`", hint=SHAPE))
        return
    for number, each in enumerate(data):
        written = shown(each)
        match = _LIST.fullmatch(written)
        try:
            if not match or not written or set(" ,\t\n") & set(match[1]):
                raise ValueError("Topograph accepts only one bracket, at the end, as in n[01-18]")
            yield from hostlist.expand_of_file(written, issues)
        except ValueError as reason:
            hint = "write it like n[01-18], and several lists as separate entries"
            message = f'cannot read the hostlist "{written[:60]}": {reason}'
            issues.append(error("T414", (*route, number), message, hint=hint))


def _taken(
    names: list[str], route: Route, nodes: Nodes, seen: dict[str, Route], issues: list[Diagnostic]
) -> Iterator[str]:
    """Nodes by name. T401 for a second one with the same name."""
    for name in names:
        node = nodes.take(name, route)
        if not node:
            continue
        if node in seen:
            notes = (Note("the first one is here", seen[node]),)
            hint = "remove one of them; names are equal if they differ only in case"
            issues.append(error("T401", (*route, "nodes"), f'node "{name}" is listed twice', notes=notes, hint=hint))
            continue
        seen[node] = route
        yield node


def _empty(switches: Mapping[str, Switch], rows: list[Row]) -> Iterator[Diagnostic]:
    """T425: switches without nodes."""
    used = {name for row in rows for name in row.switches}
    empty = [each for each in switches.values() if each.name not in used and not each.children]
    if empty:
        names = some([each.name for each in empty])
        message = f"left out switches without nodes: {names}"
        route = empty[0].route if empty[0].route[-1] != empty[0].name else (*empty[0].route, KEY)
        yield warning("T425", route, message, hint="check that the file is complete: a missing block looks the same")


FILE = "model.yaml"
_SNIFF = re.compile(r'^(?:\{\s*)?"?(?:switches|blocks)"?\s*:(?:\s|$)', re.MULTILINE)


def sniff(source: SourceFile) -> bool:
    """Whether the file is a mapping of switches and blocks."""
    if not _SNIFF.search(source.head):
        return False
    data = source.documents[0].data if source.documents else None
    return isinstance(data, dict) and bool(data) and data.keys() <= {"switches", "blocks"}


def write(topology: ClusterTopology, target: Target) -> tuple[File, ...]:
    """A model file with one block for each domain. Strings are JSON, which is also YAML."""
    switches = topograph.switches(topology)
    names = topograph.switch_names(switches)
    lines = [f"# {topology.name}: a model for Topograph 1.0"]
    if switches:
        lines.append("switches:")
    for key, children in switches.items():
        label, value = map(json.dumps, key[-1])
        lines += [f"  {json.dumps(names[key])}:", f"    labels: {{{label}: {value}}}"]
        if children:
            lines += ["    switches:", *(f"    - {json.dumps(names[child])}" for child in children)]
    lines.append("blocks:")
    for pool in topology.pools:
        for domain in pool.domains:
            lines += _block(pool, domain, names) if domain.nodes else ()
    return (File(FILE, "".join(f"{line}\n" for line in lines)),)


def _block(pool: Pool, domain: Domain, names: Mapping[topograph.Key, str]) -> Iterator[str]:
    key = topograph.domain_key(pool, domain)
    nodes = ", ".join(map(json.dumps, _lists(domain.nodes)))
    yield f"- switch: {json.dumps(names[key])}" if key else f"- nodes: [{nodes}]"
    if key:
        yield f"  nodes: [{nodes}]"
    notes = {
        POOL: pool.name,
        LEVELS: topograph.levels_text(pool.levels),
        NVLINK: domain.nvlink_domain,
        DOMAIN_NOTE: topograph.nvlink_partition(pool, domain, names),
        LEAVES: hostlist.compress(domain.leaves),
    }
    yield f"  annotations: {{{', '.join(f'{name}: {json.dumps(each)}' for name, each in notes.items() if each)}}}"


def _lists(nodes: Iterable[str]) -> Iterator[str]:
    """Hostlists, each with one bracket at its end."""
    run: list[str] = []
    for each in nodes:
        if run and _stem(run[-1]) != _stem(each):
            yield hostlist.compress(run)
            run = []
        run.append(each)
    if run:
        yield hostlist.compress(run)


def _stem(name: str) -> str:
    """The part of a name before its final number. A name without a final number is in a list of its own."""
    stem = name.rstrip("0123456789")
    return stem if 0 < len(name) - len(stem) <= 9 else f"{name}\n"
