"""NVLink partitions: what the cliques of nodes say, against the levels that racks have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.core.phrases import count, listing
from bayplan.core.values import NamedTuple
from bayplan.model.topology import Level
from bayplan.topologies.nodes.census import Alike, nodes_of, size
from bayplan.topologies.nodes.levels import MOST, Judged, Path, Row, Tree, elsewhere, even, minority
from bayplan.topologies.nodes.presets import CLIQUE, Rank
from bayplan.topologies.nodes.words import as_said

ZERO = "00000000-0000-0000-0000-000000000000"
"""The ClusterUUID of GPUs whose fabric is not up."""
KINDS = ("gb200", "gb300", "vr200", "vr300")
"""Accelerators that have NVLink between nodes, also where no clique says so."""


def clique(alike: Alike) -> str:
    """The NVLink partition of nodes; empty where there is none, or none yet."""
    said = alike.labels.get(CLIQUE, "")
    return "" if said.startswith(ZERO) else said


def lacking(alike: Sequence[Alike]) -> list[Alike]:
    """Nodes without a clique where most have one."""
    without = [each for each in alike if not clique(each)]
    return without if 2 * size(without) <= size(alike) else []


def placed(tree: Tree, beside: Sequence[Rank], where: str, places: Mapping[str, Route]) -> Judged:
    """The tree with the levels of accelerators in their places: below the switches, above them, or instead of some."""
    found: list[Diagnostic] = []
    for rank in beside:
        tree = _placed(tree, rank, where, places, found)
    return Judged(tree, tuple(found))


def _placed(tree: Tree, rank: Rank, where: str, places: Mapping[str, Route], found: list[Diagnostic]) -> Tree:
    pairs = [(row.alike.labels[rank.label], row.path) for row in tree.rows]
    values, depth = {value for value, _ in pairs}, len(tree.levels)
    while depth and len({(value, path[:depth]) for value, path in pairs}) > len(values):
        depth -= 1
    below = tree.levels[depth:]
    if below and _few(tree, rank, depth, places, found):
        return tree
    nested = len(set(pairs)) == len({path for _, path in pairs})  # whatever lies below has one rack each
    if not nested and below:
        names = listing([level.name for level in below], "and")
        message = f'"{rank.name}" ("{rank.label}") does not nest with {names} in {where}: {names} left out'
        place = places[tree.rows[0].alike.names[0]]
        found.append(warning("T510", place, message, hint="schedulers hold only what nests; --level chooses others"))
    keep = len(tree.levels) if nested else depth
    rows = tuple(
        Row((*path[:depth], value, *path[depth:keep]), row.alike)
        for (value, path), row in zip(pairs, tree.rows, strict=True)
    )
    return Tree((*tree.levels[:depth], Level(rank.name, rank.label), *tree.levels[depth:keep]), rows)


def _few(tree: Tree, rank: Rank, depth: int, places: Mapping[str, Route], found: list[Diagnostic]) -> bool:
    """T505: a few nodes only say that a rack lies in two places."""
    above: dict[str, dict[Path, list[Alike]]] = {}
    for row in tree.rows:
        above.setdefault(row.alike.labels[rank.label], {}).setdefault(row.path[: depth + 1], []).append(row.alike)
    wrong = {value: held for value, held in above.items() if len(held) > 1 and not even(held)}
    for value, held in list(wrong.items())[:MOST]:
        (few, many), level = minority(held), tree.levels[depth]
        found.append(elsewhere(rank, value, level.name, level.label, (many[-1], few[-1]), held, places))
    return bool(wrong)


class Linked(NamedTuple):
    """A tree whose level of NVLink is marked; `partitions`: path -> the clique that its nodes name."""

    tree: Tree
    partitions: Mapping[Path, str]
    found: tuple[Diagnostic, ...]


def linked(tree: Tree, candidates: Sequence[int], extend: bool, where: str, places: Mapping[str, Route]) -> Linked:
    """Marks the level whose domains are the cliques; else one more level below the racks that cliques divide evenly."""
    rows = [row for row in tree.rows if clique(row.alike)]
    if not rows:
        return Linked(_marked(tree, candidates[0]) if candidates else tree, {}, ())
    for depth in candidates:
        if matches(tree, depth):
            of = {row.path[: depth + 1]: clique(row.alike) for row in rows}
            return Linked(_marked(tree, depth), _named(tree, of, depth), ())
    if not candidates:
        return Linked(tree, {}, ())
    return _divided(tree, rows, candidates[0], extend, where, places)


def matches(tree: Tree, depth: int) -> bool:
    """Whether the domains of a level are the NVLink partitions, as far as nodes know theirs."""
    pairs = {(row.path[: depth + 1], own) for row in tree.rows if (own := clique(row.alike))}
    return len(pairs) == len({path for path, _ in pairs}) == len({name for _, name in pairs}) > 0


def _marked(tree: Tree, depth: int) -> Tree:
    levels = list(tree.levels)
    levels[depth] = levels[depth]._replace(nvlink=True)
    return tree._replace(levels=tuple(levels))


def _named(tree: Tree, of: Mapping[Path, str], depth: int) -> dict[Path, str]:
    """The clique of each path, where the label of the level does not say it."""
    if tree.levels[depth].label == CLIQUE:
        return {}
    return {row.path: of[row.path[: depth + 1]] for row in tree.rows if row.path[: depth + 1] in of}


def _divided(
    tree: Tree, rows: Sequence[Row], depth: int, extend: bool, where: str, places: Mapping[str, Route]
) -> Linked:
    """More than one clique in a rack: a level of their own if they are equal parts, as in racks of 2 x 36 GPUs."""
    level, place = tree.levels[depth], places[rows[0].alike.names[0]]
    found = (*_uneven(tree, depth, level, places), *_spread(rows, depth, level, places))
    if found:
        return Linked(tree, {}, found)
    most = max(Counter(path for path, _ in {(row.path[: depth + 1], clique(row.alike)) for row in rows}).values())
    message = f"each {level.name} of {where} holds up to {most} NVLink partitions of equal size"
    if not extend:
        return Linked(tree, {}, (warning("T522", place, message, hint=f'name "{CLIQUE}" as the finest level'),))
    said = info("T522", place, message, hint=f'the level "clique" ("{CLIQUE}") stands for them')
    levels = (*tree.levels, Level("clique", CLIQUE, nvlink=True))
    return Linked(Tree(levels, tuple(Row((*row.path, clique(row.alike)), row.alike) for row in rows)), {}, (said,))


def _uneven(tree: Tree, depth: int, level: Level, places: Mapping[str, Route]) -> Iterator[Diagnostic]:
    """T520: a rack with two cliques of which one has few nodes. Nodes whose clique is not known could be of either."""
    unknown = Counter[Path]()
    held: dict[Path, dict[Path, list[Alike]]] = {}
    for row in tree.rows:
        if own := clique(row.alike):
            held.setdefault(row.path[: depth + 1], {}).setdefault((own,), []).append(row.alike)
        else:
            unknown[row.path[: depth + 1]] += len(row.alike.names)
    wrong = [path for path, cliques in held.items() if _difference(cliques) > unknown[path]]
    for path in wrong[:MOST]:
        few, many = minority(held[path])
        names, most = nodes_of(held[path][few]), count(size(held[path][many]), "node")
        message = (
            f'{level.name} "{path[-1]}" holds the NVLink partitions "{many[0]}", as {most} say,'
            f' and "{few[0]}", {as_said(names)}'
        )
        hint = f'is the label "{CLIQUE}" stale, or "{level.label}" wrong? Parts of equal size would become a level'
        yield error("T520", places[names[0]], message, hint=hint)


def _difference(parts: Mapping[Path, Sequence[Alike]]) -> int:
    sizes = [size(each) for each in parts.values()]
    return max(sizes) - min(sizes)


def _spread(rows: Sequence[Row], depth: int, level: Level, places: Mapping[str, Route]) -> Iterator[Diagnostic]:
    """T521: a clique in two racks."""
    held: dict[str, dict[Path, list[Alike]]] = {}
    for row in rows:
        held.setdefault(clique(row.alike), {}).setdefault(row.path[: depth + 1], []).append(row.alike)
    several = [(name, paths) for name, paths in held.items() if len(paths) > 1]
    for name, paths in several[:MOST]:
        few, many = minority(paths)
        names, most = nodes_of(paths[few]), count(size(paths[many]), "node")
        message = (
            f'the NVLink partition "{name}" lies in {level.name} "{many[-1]}", as {most} say,'
            f' and in "{few[-1]}", {as_said(names)}'
        )
        hint = f'is the label "{CLIQUE}" stale, or "{level.label}" wrong?'
        yield error("T521", places[names[0]], message, hint=hint)
