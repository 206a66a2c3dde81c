"""Slurm's blocks and switches as a cluster topology: one pool for each topology, with placeholder labels."""

from __future__ import annotations

import re
from binascii import crc32
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from bayplan.plugin import (
    LABEL_VALUES,
    ClusterTopology,
    Diagnostic,
    Domain,
    Level,
    Outcome,
    Part,
    Pool,
    ReadOptions,
    Route,
    SourceFile,
    count,
    error,
    has_errors,
    hostlist,
    info,
    is_safe_name,
    listing,
    merging,
    non_empty,
    ordered,
    placeholder,
    unit_name,
    upwards,
    warning,
)
from bayplan.plugin import native_topology as native
from bayplan.plugins.slurm.topology import BLOCK, Comments, Network, Unit, comments_of
from bayplan.plugins.slurm.topology.layout import with_levels
from bayplan.plugins.slurm.topology.node_names import renamed

Path = tuple[str, ...]
LONGEST = 63
"""Characters of a label value."""


class Tree(NamedTuple):
    """One topology as levels, coarse to fine, and domains."""

    levels: tuple[Level, ...]
    domains: tuple[Domain, ...]
    base: int = 0
    units: Mapping[str, str] = {}  # path -> name in Slurm, if the path does not give it


def part(read: Outcome[tuple[Network, ...]], source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The content of a file of Slurm as a part of a cluster topology."""
    if read.value is None:
        return Outcome(None, read.diagnostics)
    result = _part(read.value, comments_of(source.text), source, options)
    return Outcome(result.value, (*read.diagnostics, *result.diagnostics))


def _part(networks: Sequence[Network], comments: Comments, source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The pools of Slurm's topologies. The place of a node is its block or leaf switch."""
    part = native.part(_nested(networks, comments, source.name), source, options)
    if part.value is None:
        return part
    places = _places(networks)
    issues: list[Diagnostic] = hostlist.Issues()
    named = renamed(part.value._replace(places=places), options.nodes, {}, source.at(), issues)
    return Outcome(named, (*part.diagnostics, *issues))


def _places(networks: Iterable[Network]) -> dict[str, Route]:
    return {node: unit.route for network in networks for unit in network.units for node in unit.nodes}


def _nested(networks: Sequence[Network], comments: Comments, source: str) -> Outcome[ClusterTopology]:
    """The pools of all topologies. Nodes of several topologies are a pool, in which their blocks and switches nest.

    Slurm has had several topologies since 25.05, such as blocks beside a tree of switches. A job uses the topology of
    its partition, or the default.
    """
    held = [set(_places([network])) for network in networks]
    listed: dict[tuple[int, ...], set[str]] = {}
    for node in _places(networks):
        listed.setdefault(tuple(n for n, nodes in enumerate(held) if node in nodes), set()).add(node)
    plugins = [[networks[number].plugin for number in numbers] for numbers in listed]
    several = [[networks[number] for number in numbers] for numbers in listed if len(numbers) > 1]
    if not several or any(len(each) > len(set(each)) for each in plugins) or any(map(_switches_inside, several)):
        return _topology(networks, comments, source)  # T401 for two trees, and for switches inside blocks
    issues: list[Diagnostic] = hostlist.Issues()
    pools: list[Pool] = []
    settings: dict[str, dict[str, Any]] = {}
    for numbers, nodes in listed.items():
        parts = [_only(networks[number], nodes) for number in numbers]
        pool = _one_pool(parts, comments, source, issues)
        if pool is None:
            return Outcome(None, tuple(dict.fromkeys(issues)))
        stem = _word(parts[0].name)
        name = next(
            each for each in (stem, *(f"{stem}-{n}" for n in range(2, len(listed) + 2))) if each not in settings
        )
        pools.append(pool[0]._replace(name=name))
        settings[name] = pool[1]
    slurm = next(iter(settings.values())) if len(settings) == 1 else {"pools": settings}
    topology = ClusterTopology(_name_of(source), tuple(pools), schedulers={"slurm": slurm})
    return Outcome(topology, tuple(dict.fromkeys(issues)))


def _switches_inside(networks: Sequence[Network]) -> bool:
    """Whether a block has several leaf switches, each with nodes of no other block."""
    blocks, leaves = sorted(networks, key=lambda network: network.plugin != BLOCK)
    home = {node: unit.name for unit in blocks.units for node in unit.nodes}
    inside = [{home.get(node, "") for node in unit.nodes} for unit in leaves.units if unit.nodes]
    return all(len(each) == 1 for each in inside) and len(inside) > len({name for each in inside for name in each})


def _only(network: Network, nodes: Set[str]) -> Network:
    """The topology without other nodes, and without the units that are then empty."""
    parent = {child: unit.name for unit in network.units for child in unit.children}
    kept = {name for unit in network.units if not nodes.isdisjoint(unit.nodes) for name in upwards(unit.name, parent)}
    units = (
        unit._replace(
            nodes=tuple(node for node in unit.nodes if node in nodes),
            children=tuple(child for child in unit.children if child in kept),
        )
        for unit in network.units
        if unit.name in kept
    )
    return network._replace(units=tuple(units))


def _one_pool(
    networks: Sequence[Network], comments: Comments, source: str, issues: list[Diagnostic]
) -> tuple[Pool, dict[str, Any]] | None:
    """The pool of nodes that all of these topologies list, and its settings: those of the first blocks, and the others.

    The sizes that Slurm plans with are levels only if these nest in the switches.
    """
    blocks_first = sorted(networks, key=lambda network: network.plugin != BLOCK)
    for planned in (True, False):
        parts: list[Part] = []
        for network in blocks_first:
            read = _topology([network if planned else network._replace(sizes=network.sizes[:1])], comments, source)
            issues += read.diagnostics if planned else ()
            if read.value is None:
                return None
            parts.append(Part(read.value, _places([network]), source=f'topology "{network.name}"'))
        bare = [part._replace(topology=part.topology._replace(schedulers={})) for part in reversed(parts)]
        merged = merging.merge(bare)
        if merged.value is not None:
            break
    issues += merged.diagnostics
    if merged.value is None:
        return None
    (pool,) = merged.value.topology.pools
    first, *also = (_further(network, pool, part) for network, part in zip(blocks_first, parts, strict=True))
    whole = len(first["levels"]) == len(pool.levels)
    own = {key: value for key, value in first.items() if key != "default" and not (key == "levels" and whole)}
    return pool, {**own, **non_empty(also=also)}


def _further(network: Network, pool: Pool, part: Part) -> dict[str, Any]:
    """The settings of a topology of the nodes of a pool: its name, and which of the pool's levels it has.

    Blocks also have the levels above them, as sizes that Slurm plans with.
    """
    depths = merging.depths_in(pool, part)
    kept = range(depths[-1] + 1) if network.plugin == BLOCK and depths else depths
    own = with_levels(pool, [pool.levels[depth].name for depth in kept])
    units = dict(merging.unit_names(own, part))
    if network.plugin == BLOCK:
        units = {path: name for path, name in units.items() if path.count("/") == len(own.levels) - 1}
    return non_empty(
        topology=network.name,
        plugin=network.plugin,
        default=network.default,
        levels=[level.name for level in own.levels],
        units=ordered(units),
    )


def _topology(networks: Sequence[Network], comments: Comments, source: str) -> Outcome[ClusterTopology]:
    """A pool for each network. The diagnostics report what the file does not give."""
    issues: list[Diagnostic] = hostlist.Issues()
    pools: list[Pool] = []
    settings: dict[str, dict[str, Any]] = {}
    for network in networks:
        tree = _blocks(network, comments, issues) if network.plugin == BLOCK else _tree(network, comments, issues)
        issues += (*_unlabelled(network, tree), *_changed(network, comments))
        name = _word(network.name)
        pools.append(_pool(name, tree))
        topology = network.name if network.name != name else ""
        settings[name] = non_empty(plugin=network.plugin, topology=topology, units=ordered(dict(tree.units)))
    alone = {**next(iter(settings.values())), "topology": networks[0].name} if len(settings) == 1 else {}
    schedulers = {"slurm": alone or {"pools": settings}}
    wrong = not pools or has_errors(issues)
    result = ClusterTopology(_name_of(source), tuple(pools), schedulers=schedulers)
    return Outcome(None if wrong else result, tuple(issues))


def _name_of(source: str) -> str:
    """The name of a topology from that of its file."""
    return _word(re.sub(r"\.(yaml|yml|conf|txt)$", "", source.replace("\\", "/").rpartition("/")[2])) or "slurm"


def _pool(name: str, tree: Tree) -> Pool:
    levels = tree.levels
    if tree.base and tree.base < max((len(domain.nodes) for domain in tree.domains), default=0):
        levels = (*levels[:-1], levels[-1]._replace(plan=tree.base))
    return Pool(name, native.UNDESCRIBED, levels, tree.domains)


def _word(text: str) -> str:
    """A valid name in Kubernetes."""
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")[:63].strip("-")


def label_value(text: str) -> str:
    """A valid label value. Longer values end in a hash, so that different values stay different."""
    result = re.sub(r"[^A-Za-z0-9_.-]", "-", text).strip("-_.") or "none"
    return result if len(result) <= LONGEST else f"{result[: LONGEST - 9].rstrip('-_.')}-{crc32(text.encode()):08x}"


def _unlabelled(network: Network, tree: Tree) -> Iterator[Diagnostic]:
    made_up = [f'"{level.label}"' for level in tree.levels if level.apply]
    if made_up:
        message = f'Slurm does not know node labels; topology "{network.name}" uses placeholders: {", ".join(made_up)}'
        hint = "write the labels of your nodes, or set these labels with `topology export --to node-labels`"
        yield info("T482", network.route, message, hint=hint)


def _changed(network: Network, comments: Comments) -> Iterator[Diagnostic]:
    """T536: names that are not valid label values, and names that become equal to others."""
    result: dict[Path, Path] = {}
    changed: list[tuple[str, Unit]] = []
    for unit in network.units:
        path = tuple(comments.original(network.name, unit.name).split("/"))
        short = tuple(map(label_value, path))
        if result.setdefault(short, path) != path:
            message = f'"{"/".join(result[short])}" and "{"/".join(path)}" both become "{"/".join(short)}"'
            yield error("T536", unit.route, message, hint="rename one of the two")
        elif short != path:
            changed.append(("/".join(path), unit))
    if changed:
        name, unit = changed[0]
        message = f'changed {count(len(changed), "name")} to a valid label value, such as "{name}"'
        yield info("T536", unit.route, message, hint=LABEL_VALUES)


def _blocks(network: Network, comments: Comments, issues: list[Diagnostic]) -> Tree:
    """Blocks by the paths in comments, or below the blocks that Slurm aggregates."""
    filled = [unit for unit in network.units if unit.nodes]
    empty = [unit.name for unit in network.units if not unit.nodes]
    if empty:
        named = f"{', '.join(empty[:4])}{', ...' if len(empty) > 4 else ''}"
        message = f"left out {count(len(empty), 'empty block')}: {named}"
        hint = "no action needed: `topology export` adds empty blocks again to align others"
        issues.append(info("T425", network.route, message, hint=hint))
    base = network.sizes[0] if network.sizes else max((len(unit.nodes) for unit in filled[:1]), default=0)
    levels = comments.levels.get(network.name, ())
    paths = {
        unit.name: tuple(map(label_value, comments.original(network.name, unit.name).split("/"))) for unit in filled
    }
    if levels and all(len(path) == len(levels) for path in paths.values()):
        issues += _cut(network, levels, paths)
        domains = tuple(Domain(paths[unit.name], unit.nodes) for unit in filled)
        return Tree(levels, domains, base, _units((paths[unit.name], unit.name) for unit in filled))
    return _aggregated(network, comments, base)


def _cut(network: Network, levels: Sequence[Level], paths: Mapping[str, Path]) -> Iterator[Diagnostic]:
    """T510: runs of blocks that Slurm plans together, and that divide domains in comments."""
    units = network.units
    for size in sorted(set(network.sizes))[1:]:
        count = size // network.sizes[0]
        for depth, level in enumerate(levels[:-1], 1):
            whole = Counter(path[:depth] for path in paths.values())
            runs = (units[at : at + count] for at in range(0, len(units), count))
            parted = next((run for run in runs if _cuts(run, whole, depth, paths)), None)
            if parted:
                ends = f'"{parted[0].name}" to "{parted[-1].name}"'
                message = f'Slurm plans {ends} together as {size} nodes, across the boundary of a "{level.name}"'
                hint = (
                    f'list the blocks of each "{level.name}" one after another, and fill them up with empty blocks to'
                    f" a multiple of {count}"
                )
                yield warning("T510", parted[0].route, message, hint=hint)
                return


def _cuts(run: Sequence[Unit], whole: Mapping[Path, int], depth: int, paths: Mapping[str, Path]) -> bool:
    """Whether a run divides domains."""
    held = Counter(paths[unit.name][:depth] for unit in run if unit.name in paths)
    return len(held) > 1 and any(number < whole[path] for path, number in held.items())


def _aggregated(network: Network, comments: Comments, base: int) -> Tree:
    """Each larger planning size as a level. The first block gives a domain its name."""
    above = [size // base for size in sorted(set(network.sizes), reverse=True) if size > base and base]
    useful = [count for count in above if count < len(network.units)]
    names = [label_value(comments.original(network.name, unit.name)) for unit in network.units]
    domains: list[Domain] = []
    units: list[tuple[Path, str]] = []
    for number, unit in enumerate(network.units):
        if unit.nodes:
            groups = (label_value(f"{names[number - number % count]}-x{count}") for count in useful)
            domains.append(Domain((*groups, names[number]), unit.nodes))
            units.append((domains[-1].path, unit.name))
    levels = tuple(placeholder(name) for name in (*(f"blocks-{count}" for count in useful), "block"))
    return Tree(levels, tuple(domains), base, _units(units))


def _units(named: Iterable[tuple[Path, str]]) -> dict[str, str]:
    """Names that an export would not derive from the paths."""
    return {"/".join(path): name for path, name in named if unit_name(path[-1]) != name and is_safe_name(name)}


def _tree(network: Network, comments: Comments, issues: list[Diagnostic]) -> Tree:
    """Every path from a top switch to a leaf. A leaf at a smaller depth than others repeats its name."""
    by_name = {unit.name: unit for unit in network.units}
    parent = {child: unit.name for unit in network.units for child in unit.children}
    leaves = [unit for unit in network.units if unit.nodes]
    paths = {unit.name: upwards(unit.name, parent) for unit in _in_order(network, by_name, parent) if unit.nodes}
    depth = max((len(path) for path in paths.values()), default=1)
    shallow = [name for name, path in paths.items() if len(path) < depth]
    if shallow:
        message = f"leaf switches have fewer switches above them than others: {listing(shallow, 'and', 3)}"
        hint = "give such nodes a pool of their own: bayplan repeats the leaf's name for the missing levels"
        issues.append(warning("T532", network.route, message, hint=hint))
    levels = comments.levels.get(network.name, ())
    tops = {path[0] for path in paths.values()}
    if levels and depth == len(levels) + 1 and len(tops) == 1 and tops.pop().endswith("-all"):
        paths, depth = {name: path[1:] for name, path in paths.items()}, depth - 1
    values = {name: label_value(comments.original(network.name, name).rpartition("/")[2]) for name in by_name}
    domains = tuple(Domain(tuple(values[each] for each in at_depth(paths[u], depth)), by_name[u].nodes) for u in paths)
    if len(levels) != depth:
        levels = tuple(placeholder(f"switch-{height}") for height in reversed(range(depth)))
    filled = [at_depth(paths[name], depth) for name in paths]
    switches = {
        tuple(values[each] for each in path[:end]): path[end - 1] for path in filled for end in range(1, depth + 1)
    }
    return Tree(levels if leaves else (), domains, units=_units(switches.items()))


def at_depth(path: Path, depth: int) -> Path:
    """A path of that depth, which repeats its leaf."""
    return (*path[:-1], *(path[-1:] * (depth - len(path) + 1)))


def _in_order(network: Network, by_name: Mapping[str, Unit], parent: Mapping[str, str]) -> Iterator[Unit]:
    """The switches depth first from the tops, with children in their order."""
    waiting = [unit.name for unit in reversed(network.units) if unit.name not in parent]
    while waiting:
        unit = by_name[waiting.pop()]
        yield unit
        waiting += reversed(unit.children)
