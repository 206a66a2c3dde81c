"""Slurm's topology.conf, and what `scontrol show topology` prints (Slurm 24.11 to 25.11).

Keys are case-insensitive, `#` starts a comment, a backslash at the end continues a line (`src/common/parse_config.c`).
`scontrol` prints the nodes below a switch beside its switches, and blocks that Slurm aggregated itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bayplan.plugin import (
    AT,
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
    hostlist,
)
from bayplan.plugins.slurm.topology import BLOCK, TREE, UNCUT, Line, Network, Unit, judged, lines, names_in, reading
from bayplan.plugins.slurm.topology.layout import SlurmLayout, one_layout

FILE = "topology.conf"
POOL = "default"

_FIRST = re.compile(r"^\s*(SwitchName|BlockName|BlockSizes|AggregatedBlock|RingName)\s*=", re.IGNORECASE)
KEYS: Mapping[str, frozenset[str]] = {
    "switchname": frozenset({"switches", "nodes", "linkspeed", "level"}),
    "blockname": frozenset({"nodes", "blockindex", "blocksize"}),
    "aggregatedblock": frozenset({"nodes", "blockindex", "blocksize"}),
    "blocksizes": frozenset(),
}


def sniff(source: SourceFile) -> bool:
    """Whether the first line with content describes switches or blocks."""
    declared = (line for line in source.head.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    return bool(_FIRST.match(next(declared, "")))


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The pool that the file describes."""
    return reading.part(networks(source.text, source.at()), source, options)


def networks(text: str, at: Route = ("source:0:0",)) -> Outcome[tuple[Network, ...]]:
    """The one topology of the file."""
    issues: list[Diagnostic] = hostlist.Issues()
    listed = [line for line in _lines(text, at, issues) if _known(line, issues)]
    start: Route = (*at, AT, 1, 1)
    blocks = [line for line in listed if line.kind != "switchname"]
    if blocks and len(blocks) < len(listed):
        message = "the topology.conf has both blocks and switches; Slurm reads one kind"
        issues.append(error("T530", start, message, hint=APART))
    if not listed and not issues:
        issues.append(error("T530", start, "the file has no block and no switch", hint="use a topology.conf"))
    network = _blocks(listed, start, issues) if blocks else _switches(listed, start, issues)
    return judged((network,), issues)


APART = "write them as two topologies of a topology.yaml (Slurm 25.05)"


def _lines(text: str, at: Route, issues: list[Diagnostic]) -> Iterator[Line]:
    for line in lines(text, at):
        if line.rest or not line.kind:
            message = f'"{line.rest[:40]}" is not Key=Value'
            issues.append(error("T530", line.route, message, hint="write it like BlockName=a Nodes=n[01-18]"))
        else:
            yield line


def _known(line: Line, issues: list[Diagnostic]) -> bool:
    if line.kind not in KEYS:
        kinds = "SwitchName, BlockName and BlockSizes"
        message = f'bayplan does not read lines of "{line.kind}", only {kinds}'
        issues.append(error("T530", line.route, message, hint=UNREAD))
        return False
    if strange := sorted(set(line.pairs) - KEYS[line.kind] - {line.kind}):
        message = f'a line of {line.kind} cannot have the key "{strange[0]}"'
        issues.append(error("T530", line.route, message, hint="remove the key"))
    return True


UNREAD = "remove rings and toruses, and put the lines of included files into this file"


def _blocks(listed: list[Line], start: Route, issues: list[Diagnostic]) -> Network:
    units: list[Unit] = []
    sizes: tuple[int, ...] = ()
    planned: set[int] = set()
    shown = any("blockindex" in line.pairs for line in listed)
    for line in listed:
        if line.kind == "blocksizes":
            sizes = _numbers(line.pairs["blocksizes"], line.route, issues)
            continue
        if shown and "blocksize" not in line.pairs:
            issues.append(error("T529", line.route, "the line is truncated before its BlockSize", hint=UNCUT))
        planned |= set(_numbers(line.pairs.get("blocksize", ""), line.route, issues))
        nodes = names_in(line.pairs.get("nodes", ""), line.route, issues)
        if line.kind == "blockname":
            units.append(Unit(line.pairs["blockname"], line.route, nodes))
    return Network(POOL, BLOCK, start, tuple(units), sizes or tuple(sorted(planned)), True)


def _numbers(text: str, route: Route, issues: list[Diagnostic]) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    wrong = [part for part in parts if not part.isdecimal() or len(part) > 9]
    if wrong:
        message = f'the block size "{wrong[0][:40]}" is not an integer'
        issues.append(error("T475", route, message, hint="write sizes such as 18,36,72"))
    return tuple(int(part) for part in parts if part not in wrong)


def _switches(listed: list[Line], start: Route, issues: list[Diagnostic]) -> Network:
    """With `Level=`, as scontrol prints it, an upper switch lists the nodes of the switches below it."""
    units: list[Unit] = []
    below: dict[str, frozenset[str]] = {}
    for line in listed:
        nodes = names_in(line.pairs.get("nodes", ""), line.route, issues)
        children = names_in(line.pairs.get("switches", ""), line.route, issues)
        name, upper = line.pairs["switchname"], line.pairs.get("level", "0") != "0"
        if upper:
            below[name] = frozenset(nodes)
        units.append(Unit(name, line.route, () if upper else nodes, children))
    network = Network(POOL, TREE, start, tuple(units), (), True)
    if not issues:
        issues += _incomplete(network, below)
    return network


def _incomplete(network: Network, below: Mapping[str, frozenset[str]]) -> Iterator[Diagnostic]:
    """T529: an upper switch in scontrol's output lists other nodes than its children, so a line is truncated."""
    by_name = {unit.name: unit for unit in network.units}
    for unit in network.units:
        children = [by_name[child] for child in unit.children if child in by_name]
        if unit.name not in below or any(child.name == unit.name for child in children):
            continue
        held = frozenset().union(*(below.get(child.name, frozenset(child.nodes)) for child in children))
        if below[unit.name] and held != below[unit.name]:
            message = (
                f'switch "{unit.name}" lists {len(below[unit.name])} nodes, and the switches below it list {len(held)}'
            )
            yield error("T529", unit.route, f"{message}: a line is truncated", hint=UNCUT)


def write(topology: ClusterTopology, target: Target) -> tuple[File, ...]:
    """One topology.conf with one topology: pools with different levels share its blocks or switches."""
    return (File(FILE, "".join(f"{line}\n" for line in _written(topology, one_layout(topology, target)))),)


def _written(topology: ClusterTopology, layout: SlurmLayout) -> Iterator[str]:
    yield f"# Slurm's topology.conf of {topology.name}, TopologyPlugin=topology/{layout.plugin}."
    yield from layout.comments
    if layout.plugin == BLOCK:
        yield f"BlockSizes={','.join(map(str, layout.sizes))}"
    for unit in layout.units:
        if unit.original:
            yield f"# {unit.name}={unit.original}"
        nodes = f" Nodes={hostlist.compress(unit.nodes)}" if unit.nodes else ""
        children = f" Switches={','.join(unit.children)}" if unit.children else ""
        yield f"{'BlockName' if layout.plugin == BLOCK else 'SwitchName'}={unit.name}{children}{nodes}"
