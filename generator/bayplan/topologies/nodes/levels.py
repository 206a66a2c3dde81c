"""Which labels of some nodes are their levels, and whether they are a tree: each domain in one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.core.phrases import count, listing
from bayplan.core.values import NamedTuple
from bayplan.model.topology import HOST_LEVEL, Level
from bayplan.topologies.nodes.census import Alike, nodes_of, size
from bayplan.topologies.nodes.presets import CLIQUE, PLACES, PRESETS, Rank
from bayplan.topologies.nodes.words import as_said, has

Path = tuple[str, ...]
LABEL_THEM = "label them, leave the level out with --level, or the nodes with --exclude-incomplete"
MOST = 10
"""Domains of a level that are complained of."""


class Ranks(NamedTuple):
    """Levels to look for. `beside`: those of accelerators, whose place in the tree the nodes tell; `given`: by a user
    or another source, who have said all levels there are."""

    tree: tuple[Rank, ...] = ()
    beside: tuple[Rank, ...] = ()
    given: bool = False


class Row(NamedTuple):
    """Alike nodes and where they hang."""

    path: Path
    alike: Alike


class Tree(NamedTuple):
    """Levels, coarse to fine, and the nodes that hang on them."""

    levels: tuple[Level, ...]
    rows: tuple[Row, ...]


def preset_of(alike: Iterable[Alike]) -> tuple[str, ...]:
    """The presets of which nodes carry labels, the best first."""
    labels = carried(alike)
    scores = {name: sum(rank.label in labels for rank in ranks) for name, ranks in PRESETS.items()}
    networks = sorted((name for name in scores if name not in PLACES and scores[name]), key=lambda name: -scores[name])
    return (*networks, *(name for name in PLACES if scores[name]))


def ranks_of(preset: str, alike: Iterable[Alike]) -> Ranks:
    """The levels of a preset that a node has: a platform has more than one of its networks has."""
    labels = carried(alike)
    ranks = [rank for rank in PRESETS.get(preset, ()) if rank.label in labels]
    return Ranks(
        tuple(rank for rank in ranks if not rank.accelerator), tuple(rank for rank in ranks if rank.accelerator)
    )


def carried(alike: Iterable[Alike]) -> set[str]:
    """The labels that any of the nodes has."""
    return {key for each in alike for key, value in each.labels.items() if value}


def given_ranks(levels: Sequence[Level]) -> Ranks:
    """Levels that somebody has named."""
    return Ranks(tuple(Rank(each.name, each.label, repeats=each.unique == "parent") for each in levels), (), True)


def rows_of(alike: Iterable[Alike], ranks: Sequence[Rank]) -> tuple[Row, ...]:
    """Where nodes hang that have all labels."""
    labels = [rank.label for rank in ranks]
    paths = ((tuple(each.labels.get(label, "") for label in labels), each) for each in alike)
    return tuple(Row(path, each) for path, each in paths if all(path))


def tree_of(rows: tuple[Row, ...], ranks: Sequence[Rank], where: str, places: Mapping[str, Route]) -> Judged:
    """The tree of these levels, without those that every node has for itself; None where it is no tree."""
    found: list[Diagnostic] = []
    while ranks and _alone(rows):
        rank, names = ranks[-1], {name for row in rows for name in row.alike.names}
        found.append(_one_each(rank, rows, len(ranks) == 1 and {row.path[-1] for row in rows} == names, where, places))
        ranks, rows = ranks[:-1], joined(rows, len(ranks) - 1)
    upside_down = list(_order(rows, ranks, where, places))
    levels = [Level(rank.name, rank.label) for rank in ranks]
    for depth in range(1, len(ranks)) if not upside_down else ():
        if _repeat(rows, depth, ranks, where, places, found):
            levels[depth] = levels[depth]._replace(unique="parent")
    return Judged(Tree(tuple(levels), rows), (*found, *upside_down))


class Judged(NamedTuple):
    """A tree and what is to be said of it."""

    tree: Tree
    found: tuple[Diagnostic, ...]


def joined(rows: Iterable[Row], depth: int) -> tuple[Row, ...]:
    """The rows without levels below a depth."""
    return tuple(row._replace(path=row.path[:depth]) for row in rows)


def _alone(rows: Sequence[Row]) -> bool:
    """Whether every node has a value of the finest level for itself."""
    return (
        len(rows) > 1
        and all(len(row.alike.names) == 1 for row in rows)
        and len({row.path[-1:] for row in rows}) == len(rows)
    )


def _one_each(rank: Rank, rows: Sequence[Row], names: bool, where: str, places: Mapping[str, Route]) -> Diagnostic:
    place = places[rows[0].alike.names[0]]
    hint = f'every pool ends in the level "{HOST_LEVEL}" by itself'
    if names:
        message = f'the only level of {where}, "{rank.label}", holds the names of the nodes'
        return error("T509", place, message, hint=f"leave it out: {hint}")
    message = f'every node of {where} has its own "{rank.label}", so it is left out'
    return warning("T509", place, message, hint=hint)


def _order(rows: Sequence[Row], ranks: Sequence[Rank], where: str, places: Mapping[str, Route]) -> Iterator[Diagnostic]:
    """T508: a value of the coarser level says what the finer one is."""
    for depth in range(1, len(ranks)):
        coarse, fine = len({row.path[depth - 1] for row in rows}), len({row.path[depth] for row in rows})
        if fine < coarse and len({row.path[depth - 1 : depth + 1] for row in rows}) == coarse:
            one, other = ranks[depth - 1], ranks[depth]
            message = (
                f'{where} has {count(fine, "value")} of "{other.label}" and {coarse} of "{one.label}", which is to be'
                " the coarser one"
            )
            place = places[rows[0].alike.names[0]]
            yield error("T508", place, message, hint=f'name "{other.label}" first: levels go from coarse to fine')


def _repeat(
    rows: Sequence[Row],
    depth: int,
    ranks: Sequence[Rank],
    where: str,
    places: Mapping[str, Route],
    found: list[Diagnostic],
) -> bool:
    """Whether the values of a level repeat under other parents; T505 where they rather are mistakes."""
    parents: dict[str, dict[Path, list[Alike]]] = {}
    for row in rows:
        parents.setdefault(row.path[depth], {}).setdefault(row.path[:depth], []).append(row.alike)
    several = {value: held for value, held in parents.items() if len(held) > 1}
    rank = ranks[depth]
    if not several or rank.repeats:
        return bool(several)
    structural = len(several) > 2 or all(map(even, several.values()))
    if structural and 2 * len(several) >= len(parents):
        message = f'the values of "{rank.label}" repeat under other parents in {where}: {listing(several, "and", 3)}'
        place = places[rows[0].alike.names[0]]
        found.append(info("T506", place, message, hint="the level is marked `unique: parent`"))
        return True
    found += (_suspects(rank, value, held, ranks[:depth], places) for value, held in list(several.items())[:MOST])
    return False


def _suspects(
    rank: Rank,
    value: str,
    parents: Mapping[Path, Sequence[Alike]],
    above: Sequence[Rank],
    places: Mapping[str, Route],
) -> Diagnostic:
    """T505: those who are few are named."""
    few, many = minority(parents)
    depth = next(depth for depth, pair in enumerate(zip(few, many, strict=True)) if pair[0] != pair[1])
    return elsewhere(rank, value, above[depth].name, above[depth].label, (many[depth], few[depth]), parents, places)


def elsewhere(
    rank: Rank,
    value: str,
    level: str,
    label: str,
    named: tuple[str, str],
    parents: Mapping[Path, Sequence[Alike]],
    places: Mapping[str, Route],
) -> Diagnostic:
    """T505: a domain lies in the first of the domains named, as most say, and in the second."""
    few, many = minority(parents)
    names = nodes_of(parents[few])
    most = count(size(parents[many]), "node")
    message = (
        f'{rank.name} "{value}" lies in {level} "{named[0]}", as {most} say, and in "{named[1]}", {as_said(names)}'
    )
    hint = f'correct the label "{label}" or "{rank.label}" of {"this node" if len(names) == 1 else "these nodes"}'
    return error("T505", places[names[0]], message, hint=hint)


def minority(parents: Mapping[Path, Sequence[Alike]]) -> tuple[Path, Path]:
    """The place that the fewest nodes name, and the one that the most name."""
    sizes = sorted((size(held), path) for path, held in parents.items())
    return sizes[0][1], sizes[-1][1]


def even(parents: Mapping[Path, Sequence[Alike]]) -> bool:
    """Whether no place has less than half the nodes of another: then it is no mistake of a few."""
    sizes = [size(held) for held in parents.values()]
    return 2 * min(sizes) >= max(sizes)


def incomplete(
    alike: Sequence[Alike], ranks: Sequence[Rank], where: str, places: Mapping[str, Route], excluded: bool
) -> Iterator[Diagnostic]:
    """T503, or T504 where they are to be left out: nodes that lack a label that others have."""
    told: set[str] = set()
    for rank in ranks if alike else ():
        lacking = nodes_of(each for each in alike if not each.labels.get(rank.label))
        new = [name for name in lacking if name not in told and rank.label != CLIQUE]
        told.update(new)
        if new and excluded:
            yield info("T504", places[new[0]], f'{has(new)} no label "{rank.label}": {len(new)} left out of {where}')
        elif new:
            having = nodes_of(each for each in alike if each.labels.get(rank.label))
            others = f', unlike "{having[0]}" and others of {where}' if having else ""
            yield error("T503", places[new[0]], f'{has(new)} no label "{rank.label}"{others}', hint=LABEL_THEM)
