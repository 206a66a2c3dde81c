"""The lines of Slurm's configuration files (Slurm 25.11, `src/common/parse_config.c`).

Keys are case-insensitive, `#` starts a comment, a backslash at the end continues a line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.plugin import (
    AT,
    LONGEST_NAME,
    PLACEHOLDER,
    Diagnostic,
    Level,
    Outcome,
    Route,
    count,
    error,
    has_errors,
    hostlist,
    info,
    warning,
)

_PAIR = re.compile(r'(\w+)\s*=\s*("[^"]*"|[^\s"]+|)\s*')


class Line(NamedTuple):
    """One line: its first key in lower case, its `key=value` pairs, and the rest of the line."""

    kind: str
    pairs: Mapping[str, str]
    route: Route
    rest: str = ""


def lines(text: str, at: Route) -> Iterator[Line]:
    """Every line with content."""
    for number, whole in logical(text):
        pairs: dict[str, str] = {}
        end = 0
        while pair := _PAIR.match(whole, end):
            pairs[pair[1].lower()] = pair[2].strip('"')
            end = pair.end()
        yield Line(next(iter(pairs), ""), pairs, (*at, AT, number, 1), whole[end:])


def logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, continued ones joined, with the number of the first."""
    held: list[str] = []
    first = 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.split("#", 1)[0].rstrip()
        first = first if held else number
        held.append(line.removesuffix("\\"))
        if line.endswith("\\"):
            continue
        if whole := "".join(held).strip():
            yield first, whole
        held = []
    if whole := "".join(held).strip():
        yield first, whole


# Slurm's model of a network, common to both of its file formats: blocks, or a tree of switches.
#
# Rules from Slurm 24.11 to 25.11: `src/plugins/topology/block/block_record.c`, `.../tree/switch_record.c`.

DIGITS = 18
"""Digits at the end of a name. Longer numbers overflow, so Slurm changes the name (25.11, `src/common/hostlist.c`)."""
MOST_NODES = 65_536
"""MAX_SLURM_NODES (Slurm 25.11, `src/common/hostlist.h`)."""
DEEPEST = 20
"""Levels of switches (Slurm 25.11, `switch_record.c`)."""
LEVELS = 15
"""A block size is the base times 2^k with k up to this (Slurm 25.11, `block_record.c`)."""
UNSTATED = 16
"""Without BlockSizes, the sizes are the base times 1, 2, 4, 8 and 16 (Slurm 25.11, `block_record.c`)."""

BLOCK, TREE, FLAT = "block", "tree", "flat"


class Unit(NamedTuple):
    """A block or a switch."""

    name: str
    route: Route
    nodes: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


class Network(NamedTuple):
    """One topology of a Slurm cluster. `sizes`: the planning sizes of blocks, the base first."""

    name: str
    plugin: str
    route: Route
    units: tuple[Unit, ...] = ()
    sizes: tuple[int, ...] = ()
    default: bool = False


class Comments(NamedTuple):
    """The content of comments: the original names of units by topology, and the levels of a topology.

    Comments above the first topology are those of "".
    """

    names: Mapping[str, Mapping[str, str]] = {}
    levels: Mapping[str, tuple[Level, ...]] = {}

    def original(self, topology: str, unit: str) -> str:
        """The name of a unit at its origin, or its own name if no comment gives it."""
        return self.names.get(topology, {}).get(unit) or self.names.get("", {}).get(unit, unit)


_ORIGINAL = re.compile(r"^\s*#\s*([^\s=#]+)=(\S+)\s*$")
_TOPOLOGY = re.compile(r"""[\s{-]*["']?topology["']?\s*:([^,}#]*)""")
_LEVELS = re.compile(r"^\s*#\s*levels of (\S+):((?:\s+[^\s=]+=\S+)+)\s*$")


def comments_of(text: str) -> Comments:
    """The comments that Topograph and bayplan write: `# block1=<original name>` and the levels of a topology."""
    names: dict[str, dict[str, str]] = {}
    levels: dict[str, tuple[Level, ...]] = {}
    topology = ""
    for line in text.split("\n"):
        if "#" in line and (match := _LEVELS.match(line)):
            levels[match[1]] = tuple(_level(each) for each in match[2].split())
        elif "#" in line and (match := _ORIGINAL.match(line)):
            names.setdefault(topology, {})[match[1]] = match[2]
        elif (match := _TOPOLOGY.match(line)) and (name := match[1].strip(" \t\r\"'")):
            topology = name
    return Comments(names, levels)


def _level(text: str) -> Level:
    name, _, label = text.partition("=")
    key = label.removesuffix(",nvlink")
    return Level(name, key, label.endswith(",nvlink"), apply=key.startswith(f"{PLACEHOLDER}/"))


def names_in(text: Any, route: Route, issues: list[Diagnostic]) -> tuple[str, ...]:
    """The names of a hostlist. T529 if it is truncated, T530 if it is not valid."""
    written = str(text)
    truncated = written.count("[") > written.count("]") or written.endswith(("...", "\u2026", ","))
    if truncated:
        issues.append(error("T529", route, f'the list "{_end(written)}" is truncated', hint=UNCUT))
        return ()
    try:
        return hostlist.expand_of_file(written, issues)
    except ValueError as reason:
        issues.append(error("T530", route, f"cannot read the hostlist: {reason}", hint=WRITE))
        return ()


UNCUT = "unset SLURM_TOPO_LEN, which truncates the lines of `scontrol show topology`, or use `scontrol show topoconf`"
WRITE = 'write it like "n[01-18],login2"'


def _end(text: str) -> str:
    return text if len(text) < 40 else f"...{text[-36:]}"


def check(network: Network) -> Iterator[Diagnostic]:
    """What Slurm refuses, and what Slurm accepts but handles differently."""
    yield from _names(network)
    yield from _two_places(network)
    yield from _sizes(network) if network.plugin == BLOCK else _tree(network)


def _names(network: Network) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for unit in network.units:
        if unit.name in seen:
            message = f'"{unit.name}" is described twice; slurmctld does not start'
            yield error("T401", unit.route, message, hint=RENAME)
        seen.add(unit.name)
        if len(unit.name) > LONGEST_NAME:
            message = (
                f'the name "{unit.name[:40]}..." has {len(unit.name)} characters; Slurm accepts at most {LONGEST_NAME}'
            )
            yield error("T480", unit.route, message, hint="shorten the name")
        elif len(unit.name) - len(unit.name.rstrip("0123456789")) > DIGITS:
            message = f'the name "{unit.name}" ends in more than {DIGITS} digits, which overflow in Slurm'
            yield warning("T480", unit.route, message, hint="add a letter or an underscore to its end")
    total = sum(len(unit.nodes) for unit in network.units)
    if total > MOST_NODES:
        message = f'topology "{network.name}" lists {total} nodes; a Slurm cluster has at most {MOST_NODES}'
        yield error("T480", network.route, message, hint="split the cluster")


RENAME = "give each one its own name"


def _two_places(network: Network) -> Iterator[Diagnostic]:
    """Slurm uses the first block that lists a node, and only warns about a node on two leaf switches."""
    yield from _spelt_alike(network)
    home: dict[str, str] = {}
    for unit in network.units:
        twice = [node for node in unit.nodes if home.setdefault(node, unit.name) != unit.name]
        if twice:
            message = (
                f'"{home[twice[0]]}" and "{unit.name}" both list {count(len(twice), "node")}, such as "{twice[0]}"'
            )
            yield error("T401", unit.route, message, hint="list each node on one unit; merge the rails of a host")


def _spelt_alike(network: Network) -> Iterator[Diagnostic]:
    """T401: a node twice in one unit; T536: names that differ only in upper and lower case."""
    names: dict[str, str] = {}
    nodes: dict[str, str] = {}
    for unit in network.units:
        twice = [node for node, times in Counter(unit.nodes).items() if times > 1]
        if twice:
            message = f'"{unit.name}" lists {count(len(twice), "node")} twice, such as "{twice[0]}"'
            yield error("T401", unit.route, message, hint="list each node once")
        for spellings, listed in ((names, (unit.name,)), (nodes, unit.nodes)):
            other = next((name for name in listed if spellings.setdefault(name.lower(), name) != name), "")
            if other:
                message = f'"{spellings[other.lower()]}" and "{other}" differ only in upper and lower case'
                yield warning("T536", unit.route, message, hint="correct the one that is misspelt")


def _sizes(network: Network) -> Iterator[Diagnostic]:
    sizes, filled = network.sizes, [unit for unit in network.units if unit.nodes]
    yield from wrong_sizes(sizes, network.route)
    for unit in filled if sizes else ():
        if len(unit.nodes) < sizes[0]:
            message = (
                f'block "{unit.name}" has {count(len(unit.nodes), "node")}, fewer than the planning size {sizes[0]}'
            )
            hint = f"complete the block, or lower the size {sizes[0]}: Slurm before 25.05 does not start"
            yield warning("T475", unit.route, message, hint=hint)
    nodes = sum(len(unit.nodes) for unit in filled)
    largest = max(sizes) if sizes else len(filled[0].nodes) * UNSTATED if filled else 0
    if 0 < largest < nodes:
        message = f"Slurm starts no job on more than {largest} of the {nodes} nodes, because no planning size is larger"
        hint = "add a size that holds all nodes, as `topology export` does"
        yield info("T475", network.route, message, hint=hint)


def wrong_sizes(sizes: Iterable[int], route: Route) -> Iterator[Diagnostic]:
    """Planning sizes are the base times a power of two."""
    base = 0
    for size in sizes:
        base = base or size
        times = size // base if base > 0 else 0
        if size <= 0 or size % base or times & (times - 1) or times.bit_length() - 1 > LEVELS:
            message = f"the block size {size} is not the base size {base} times a power of two up to 2^{LEVELS}"
            hint = f"use sizes such as {max(base, 1)}, {max(base, 1) * 2}, {max(base, 1) * 8}"
            yield error("T475", route, message, hint=hint)
            return


def _tree(network: Network) -> Iterator[Diagnostic]:
    units = {unit.name: unit for unit in network.units}
    parent: dict[str, str] = {}
    for unit in network.units:
        if unit.nodes and unit.children:
            message = f'switch "{unit.name}" has nodes and switches; Slurm then ignores the switches'
            yield error("T532", unit.route, message, hint="move the nodes to a leaf switch below it")
        for child in unit.children:
            if child not in units:
                message = f'switch "{unit.name}" has the child "{child}", which no line describes'
                yield error("T532", unit.route, message, hint=f"add a line for {child}, or correct the name")
            elif parent.setdefault(child, unit.name) != unit.name:
                message = f'switch "{child}" is below "{parent[child]}" and "{unit.name}"; Slurm keeps only the last'
                yield error("T532", unit.route, message, hint="merge the switches that have the same children")
    yield from _circles(units, parent)


def _circles(units: Mapping[str, Unit], parent: Mapping[str, str]) -> Iterator[Diagnostic]:
    safe: set[str] = set()
    for name, unit in units.items():
        path = {name: None}
        last = name
        while last in parent and parent[last] not in path and last not in safe:
            last = parent[last]
            path[last] = None
        if last not in safe and last in parent:
            circle = [*path, parent[last]]
            shown = circle if len(circle) < 9 else [*circle[:4], "...", *circle[-4:]]
            message = f"the switches form a circle: {' < '.join(shown)}"
            yield error("T532", unit.route, message, hint="correct the children of one of these switches")
            parent = {child: above for child, above in parent.items() if child not in circle}
        safe |= path.keys()
    yield from _too_deep(units, parent)


def _too_deep(units: Mapping[str, Unit], parent: Mapping[str, str]) -> Iterator[Diagnostic]:
    """T480 for the first switch that is too deep."""
    for name, unit in units.items():
        depth, above = 1, name
        while above in parent and depth <= DEEPEST:
            depth, above = depth + 1, parent[above]
        if depth > DEEPEST:
            message = f'switch "{name}" is at least {depth} levels deep; Slurm accepts {DEEPEST}'
            yield error("T480", unit.route, message, hint="remove levels of switches")
            return


def judged(networks: Iterable[Network], issues: Iterable[Diagnostic]) -> Outcome[tuple[Network, ...]]:
    """The networks with all their diagnostics; None if one has an error."""
    kept = tuple(networks)
    reported = (*issues, *(each for network in kept for each in check(network)))
    return Outcome(None if has_errors(reported) else kept, reported)
