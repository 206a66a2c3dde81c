"""A request to Topograph: `POST /v1/generate` (Topograph 1.0, docs/api.md, pkg/topology/request.go).

Only its list of nodes describes a cluster: the node and the region of each instance. bayplan does not read or print
credentials. If a request has any, messages have no place, because they would show its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bayplan.plugin import (
    Diagnostic,
    Level,
    Outcome,
    Part,
    ReadOptions,
    Route,
    SourceFile,
    error,
    get,
    has_errors,
    items,
    mapping,
    text,
)
from bayplan.plugins.sources import topograph
from bayplan.plugins.sources.fabric_managers import Row, document, value
from bayplan.plugins.sources.topograph import Nodes, shown

REGION = Level("region", "topology.kubernetes.io/region")
NOWHERE = ("", "none")
CREDENTIALS = '"creds"'
_SNIFF = re.compile(r"\s*\{")
_ASKS = re.compile(r'"(?:provider|engine)"\s*:\s*\{')
_NODES = re.compile(r'"nodes"\s*:\s*\[\s*\{\s*"(?:region|instances)"')


def sniff(source: SourceFile) -> bool:
    """Whether the file names a provider or an engine, or lists instances by region."""
    head = source.head
    if not _SNIFF.match(head) or not (_ASKS.search(head) or _NODES.search(head)):
        return False
    if not source.documents:
        return CREDENTIALS in head
    data = source.documents[0].data
    return isinstance(data, dict) and bool(data) and data.keys() <= {"provider", "engine", "nodes"}


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The nodes of a request by region. T530 if it has no nodes."""
    issues: list[Diagnostic] = []
    data = document(source, issues)
    if has_errors(issues):
        quiet = tuple(each._replace(route=(), notes=()) for each in issues)
        return Outcome(None, quiet if CREDENTIALS in source.head else tuple(issues))
    at: Route = () if mapping(data, "provider", "creds") else source.at()
    if not items(data, "nodes"):
        return Outcome(None, (_without(source.name, data, at),))
    nodes = Nodes()
    regions = list(_regions(data, at, nodes, issues))
    alone = len(regions) == 1 and regions[0][0] in NOWHERE
    rows = [
        Row((), own) if alone else Row((region,), own, levels=(REGION,), values=(value(region or NOWHERE[1]),))
        for region, own in regions
    ]
    if not any(row.nodes for row in rows) and not has_errors(issues):
        issues.append(error("T530", at, "the request names no nodes", hint=SHAPE))
    result = topograph.part(source, options, rows, nodes, issues, at)
    hidden = result.value and result.value._replace(places={})
    return Outcome(hidden if at != source.at() else result.value, result.diagnostics)


SHAPE = "write nodes: [{region, instances: {ID: NODE}}]; see Topograph's docs/api.md"


def _without(file: str, data: Any, at: Route) -> Diagnostic:
    """T530: the request does not contain a topology."""
    name = text(data, "provider", "name")
    model = text(data, "provider", "params", "modelFileName")
    asks = f'asks the provider "{name}"' if name else "asks the configured provider"
    if name == "test" or name.endswith("-sim"):
        what = f' to simulate "{model}"' if model else " to simulate an answer"
        hint = f'import the model file "{model}"' if model else "import the model file of the simulation"
        return error("T530", at, f'the request "{file}" {asks}{what}, and contains no topology', hint=hint)
    hint = 'send it to Topograph with the engine "graph", and import the answer'
    return error("T530", at, f'the request "{file}" {asks} for the topology and names no nodes', hint=hint)


def _regions(data: Any, at: Route, nodes: Nodes, issues: list[Diagnostic]) -> Iterator[tuple[str, tuple[str, ...]]]:
    seen: dict[str, str] = {}
    regions: dict[str, list[str]] = {}
    for each in items(data, "nodes"):
        if not isinstance(each, dict) or not isinstance(get(each, "instances") or {}, dict):
            issues.append(error("T530", at, "an entry of `nodes` must be a mapping with `instances`", hint=SHAPE))
            continue
        own = regions.setdefault(shown(each.get("region")), [])
        for instance, name in mapping(each, "instances").items():
            node = nodes.take(shown(name) or shown(instance), at) if shown(name) else ""
            if node and seen.setdefault(node, instance) == instance:
                own.append(node)
                nodes.aliases |= {instance: node, instance.lower(): node} if instance != node else {}
            elif node:
                message = f'node "{name}" has two instances, "{seen[node]}" and "{instance}"'
                issues.append(error("T401", at, message, hint="remove one of them"))
    yield from ((region, tuple(own)) for region, own in regions.items() if own)
