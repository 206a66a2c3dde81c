"""Slurm's topology.yaml (25.05 and later), and what `scontrol show topoconf` prints.

A list of topologies. Each one is a block, a tree or flat (`man topology.yaml`, Slurm 25.05 to 26.05).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.plugin import (
    ClusterTopology,
    Diagnostic,
    File,
    Outcome,
    Part,
    ReadOptions,
    Route,
    SourceFile,
    Target,
    error,
    has_errors,
    hostlist,
    settings,
    warning,
)
from bayplan.plugins.slurm.topology import BLOCK, FLAT, TREE, Network, Unit, judged, names_in, reading
from bayplan.plugins.slurm.topology.layout import SlurmLayout, all_layouts

FILE = "topology.yaml"
KINDS = (BLOCK, TREE, FLAT, "ring", "torus3d")
SHAPE = "write a list of topologies, each with one of block, tree and flat; see man topology.yaml"


def sniff(source: SourceFile) -> bool:
    """Whether the document is a list of topologies, or one topology."""
    data = source.documents[0].data if source.documents else None
    each = data[0] if isinstance(data, list) and data else data
    return isinstance(each, dict) and "topology" in each and any(kind in each for kind in KINDS)


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """One pool for each topology."""
    data = source.documents[0].data if source.documents else None
    if len(source.documents) > 1:
        message = "the file has a second document; Slurm reads only one"
        return Outcome(None, (error("T530", source.at(1), message, hint="put all topologies into one list"),))
    return reading.part(networks(data, source.at()), source, options)


def networks(data: Any, top: Route = ("source:0:0",)) -> Outcome[tuple[Network, ...]]:
    """Every topology of the file that bayplan supports."""
    issues: list[Diagnostic] = hostlist.Issues()
    listed = [((*top, number), each) for number, each in enumerate(data)] if isinstance(data, list) else [(top, data)]
    result = [network for route, each in listed for network in _network(each, route, issues)]
    if not result and issues and not has_errors(issues):
        message = "the file has no topology that bayplan supports"
        issues.append(error("T555", top, message, hint="import the nodes from another source"))
    names = [network.name for network in result]
    for network in result:
        if names.count(network.name) > 1 and network is not result[names.index(network.name)]:
            message = f'two topologies have the name "{network.name}"'
            issues.append(error("T401", network.route, message, hint="rename one of them"))
    return judged(result, issues)


def _network(data: Any, route: Route, issues: list[Diagnostic]) -> Iterator[Network]:
    if not isinstance(data, dict) or not isinstance(data.get("topology"), str):
        message = "a topology must be a mapping with its name under `topology`"
        issues.append(error("T530", route, message, hint=SHAPE))
        return
    kinds = [kind for kind in KINDS if data.get(kind) not in (None, False)]
    strange = sorted(set(map(str, data)) - {*KINDS, "topology", "cluster_default"})
    if strange or len(kinds) != 1:
        fault = f'cannot have the key "{strange[0]}"' if strange else f"must have one of {', '.join(KINDS)}"
        issues.append(error("T530", route, f"a topology {fault}", hint=SHAPE))
        return
    kind, default = kinds[0], bool(data.get("cluster_default", False))
    if kind in (BLOCK, TREE):
        body = data[kind]
        if isinstance(body, dict):
            make = _blocks if kind == BLOCK else _switches
            yield make(Network(data["topology"], kind, route, default=default), body, issues)
        else:
            issues.append(error("T530", (*route, kind), f"`{kind}` must be a mapping", hint=SHAPE))
    elif kind == FLAT:
        issues.append(warning("T555", route, f'topology "{data["topology"]}" is flat: it lists no nodes', hint=ADD))
    else:
        message = f'bayplan skips topology "{data["topology"]}", because it does not support the kind {kind}'
        issues.append(warning("T555", route, message, hint=ADD))


ADD = "add its pool by hand"


def _blocks(network: Network, body: Mapping[str, Any], issues: list[Diagnostic]) -> Network:
    route = (*network.route, BLOCK)
    sizes = body.get("block_sizes") or []
    wrong = not isinstance(sizes, list) or any(type(size) is not int for size in sizes)
    if wrong:
        hint = "write it like [18, 36, 72]"
        issues.append(error("T475", (*route, "block_sizes"), "`block_sizes` must be a list of integers", hint=hint))
    units = tuple(_units(body.get("blocks"), (*route, "blocks"), ("block", "", "nodes"), issues))
    return network._replace(units=units, sizes=() if wrong else tuple(sizes))


def _switches(network: Network, body: Mapping[str, Any], issues: list[Diagnostic]) -> Network:
    route = (*network.route, TREE, "switches")
    return network._replace(units=tuple(_units(body.get("switches"), route, ("switch", "children", "nodes"), issues)))


def _units(data: Any, route: Route, keys: tuple[str, str, str], issues: list[Diagnostic]) -> Iterator[Unit]:
    """The entries of a list. Slurm treats one mapping as a list with one entry."""
    name, children, nodes = keys
    listed = [data] if isinstance(data, dict) else data
    if not isinstance(listed, list) or not listed:
        issues.append(error("T530", route, f"this must be a list with a {name} in each entry", hint=SHAPE))
        return
    for number, each in enumerate(listed):
        at = (*route, number) if isinstance(data, list) else route
        if not isinstance(each, dict) or not isinstance(each.get(name), str | int) or not set(each) <= set(keys):
            expected = ", ".join(filter(None, keys))
            issues.append(error("T530", at, f"an entry must be a mapping with the keys {expected}", hint=SHAPE))
            continue
        below = names_in(each[children], (*at, children), issues) if each.get(children) else ()
        held = names_in(each[nodes], (*at, nodes), issues) if each.get(nodes) else ()
        yield Unit(str(each[name]), at, held, below)


def write(topology: ClusterTopology, target: Target) -> tuple[File, ...]:
    """One topology.yaml with the topologies of each pool."""
    lines = [f"# Slurm's topology.yaml of {topology.name}, for Slurm 25.05 and later."]
    written = tuple(all_layouts(topology, target))
    default = next((each.name for each in written if each.name in _defaults(topology)), written[0].name)
    for layout in written:
        lines += [*layout.comments, f"- topology: {_quoted(layout.name)}"]
        lines += [f"  cluster_default: {'true' if layout.name == default else 'false'}", *_body(layout)]
    return (File(FILE, "".join(f"{line}\n" for line in lines)),)


def _defaults(topology: ClusterTopology) -> set[str]:
    """The further topologies of pools that are the default of the cluster."""
    further = (each for pool in topology.pools for each in settings(topology, pool.name).get("also", ()))
    return {each["topology"] for each in further if each.get("default")}


def _body(layout: SlurmLayout) -> Iterator[str]:
    if layout.plugin == FLAT:
        yield "  flat: true"
        return
    unit_key, list_key = ("block", "blocks") if layout.plugin == BLOCK else ("switch", "switches")
    yield f"  {layout.plugin}:"
    if layout.plugin == BLOCK:
        yield f"    block_sizes: [{', '.join(map(str, layout.sizes))}]"
    yield f"    {list_key}:"
    for unit in layout.units:
        if unit.original:
            yield f"    # {unit.name}={unit.original}"
        below = f", children: {_quoted(','.join(unit.children))}" if unit.children else ""
        nodes = f", nodes: {_quoted(hostlist.compress(unit.nodes))}" if unit.nodes else ""
        yield f"    - {{{unit_key}: {_quoted(unit.name)}{below}{nodes}}}"


def _quoted(text: str) -> str:
    """The text in quotes. No name has a character that needs escaping."""
    return f'"{text}"'
