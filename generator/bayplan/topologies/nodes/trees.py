"""Each stock of nodes on its tree: levels from labels, NVLink partitions, and nodes that hang nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, error, has_errors, info, warning
from bayplan.core.phrases import listing
from bayplan.core.values import NamedTuple
from bayplan.model.formats import Asked
from bayplan.topologies import grouping
from bayplan.topologies.nodes import levels, nvlink, shapes
from bayplan.topologies.nodes.census import Alike, nodes_of, size
from bayplan.topologies.nodes.levels import Path, Ranks, Tree
from bayplan.topologies.nodes.presets import CLIQUE, PLACES, Rank
from bayplan.topologies.nodes.stocks import Stock
from bayplan.topologies.nodes.words import are, has


class Grown(NamedTuple):
    """A stock on its tree. `partitions`: path -> NVLink partition; `sick`: nodes without the one of their siblings."""

    stock: Stock
    tree: Tree
    partitions: Mapping[Path, str]
    sick: frozenset[str]
    flat: bool = False  # nothing says where nodes with GPUs are


def grow(stock: Stock, places: Mapping[str, Route], asked: Asked, found: list[Diagnostic]) -> Grown:
    """The tree of a stock, and what is to be said of it."""
    where = f'pool "{stock.name}"'
    ranks = _ranks(stock, asked, where, places, found)
    every = (*ranks.tree, *ranks.beside)
    found += levels.incomplete(stock.alike, every, where, places, asked.exclude_incomplete)
    rows = levels.rows_of([each for each in stock.alike if _complete(each, every)], ranks.tree)
    tree, said = levels.tree_of(rows, ranks.tree, where, places)
    found += said
    if not has_errors(said):
        tree, said = nvlink.placed(tree, ranks.beside, where, places)
        found += said
    made = nvlink.Linked(tree, {}, ())
    if not has_errors(said):
        made = nvlink.linked(tree, _candidates(stock, ranks, tree, asked), not ranks.given, where, places)
        found += made.found
    sick = nodes_of(nvlink.lacking(stock.alike))
    found += _sick(sick, {name for row in made.tree.rows for name in row.alike.names}, where, places)
    found += _hashes(made.tree, where, places)
    flat = not every and bool(stock.make.resource) and size(stock.alike) > 1
    return Grown(stock, made.tree, made.partitions, frozenset(sick), flat)


def rooted(grown: Sequence[Grown], places: Mapping[str, Route], asked: Asked, found: list[Diagnostic]) -> list[Grown]:
    """Those that may hang on no tree. T503, or T504, for GPU nodes whose labels tell neither product nor place, where
    others have both; other flat pools are told of (T518)."""
    treed = [each for each in grown if each.tree.levels and each.stock.make.resource]
    lost = [each for each in grown if treed and _lost(each)]
    for each in lost:
        like = next((one for one in treed if one.stock.make.resource == each.stock.make.resource), treed[0])
        found.append(_nowhere(nodes_of(each.stock.alike), like, places, asked.exclude_incomplete))
    kept = [each for each in grown if each not in lost]
    found += (_flat(each.stock, f'pool "{each.stock.name}"', places) for each in kept if each.flat)
    return kept


def _nowhere(names: Sequence[str], like: Grown, places: Mapping[str, Route], excluded: bool) -> Diagnostic:
    label, other = like.tree.levels[-1].label, nodes_of(like.stock.alike)[0]
    if excluded:
        message = f'{has(names)} no label "{label}", and none of GPUs: {len(names)} left out'
        return info("T504", places[names[0]], message)
    message = f'{has(names)} no label "{label}", unlike "{other}" and others of pool "{like.stock.name}"'
    return error("T503", places[names[0]], message, hint=levels.LABEL_THEM)


def _lost(grown: Grown) -> bool:
    stock = grown.stock
    return bool(stock.make.resource) and not (
        stock.frame or grown.tree.levels or any(map(shapes.labelled, stock.alike))
    )


def _complete(alike: Alike, ranks: Sequence[Rank]) -> bool:
    """Whether nodes have all labels; one of zeros is no clique."""
    return all(nvlink.clique(alike) if rank.label == CLIQUE else alike.labels.get(rank.label) for rank in ranks)


def _ranks(stock: Stock, asked: Asked, where: str, places: Mapping[str, Route], found: list[Diagnostic]) -> Ranks:
    """The levels that are named, else those of the preset that fits best, and the NVLink partitions."""
    carried = levels.carried(stock.alike)
    if stock.frame and stock.frame.levels:  # nodes get the labels of some levels only later
        return levels.given_ranks([each for each in stock.frame.levels if each.label in carried or not each.apply])
    if asked.levels:
        return levels.given_ranks([each for each in asked.levels if each.label in carried])
    names = (asked.preset,) if asked.preset else levels.preset_of(stock.alike)
    networks = [name for name in names if name not in PLACES]
    if len(networks) > 1:
        message = f'nodes of {where} have labels of {listing(networks, "and")}; those of "{networks[0]}" are levels'
        first = nodes_of(stock.alike)[0]
        found.append(info("T519", places[first], message, hint=f"for others: --preset {networks[1]}"))
    ranks = levels.ranks_of(names[0] if names else "", stock.alike)
    if ranks.beside or not any(map(nvlink.clique, stock.alike)):
        return ranks
    name = "rack" if all(rank.name != "rack" for rank in ranks.tree) else "clique"
    return ranks._replace(beside=(Rank(name, CLIQUE, accelerator=True),))


def _candidates(stock: Stock, ranks: Ranks, tree: Tree, asked: Asked) -> list[int]:
    """Depths of levels that may be those of NVLink, coarse to fine."""
    if ranks.given:
        given = stock.frame.levels if stock.frame and stock.frame.levels else asked.levels
        marked = {each.label for each in given if each.nvlink} | {CLIQUE}
        return _depths(tree, marked) or _finest(tree)
    linked = any(map(nvlink.clique, stock.alike)) or shapes.kind_of(stock.make.product) in (
        grouping.NAMELESS,
        *nvlink.KINDS,
    )
    return _depths(tree, {rank.label for rank in ranks.beside}) if linked else []


def _depths(tree: Tree, labels: set[str]) -> list[int]:
    return [depth for depth, level in enumerate(tree.levels) if level.label in labels]


def _finest(tree: Tree) -> list[int]:
    """The finest level, where nobody has said which is NVLink's and the nodes do: several racks, each with a clique."""
    depth = len(tree.levels) - 1
    return [depth] if len({row.path for row in tree.rows}) > 1 and nvlink.matches(tree, depth) else []


def _sick(names: Sequence[str], hung: set[str], where: str, places: Mapping[str, Route]) -> Iterator[Diagnostic]:
    """T507: their fabric is down, or nobody has looked yet."""
    for some, then in (
        ([name for name in names if name in hung], "counted as unhealthy"),
        ([name for name in names if name not in hung], "left out"),
    ):
        if some:
            message = f"{are(some)} in no NVLink partition, unlike others of {where}: {len(some)} {then}"
            hint = f'look at the GPU fabric of the node, and at its label "{CLIQUE}"'
            yield warning("T507", places[some[0]], message, hint=hint)


_HASH = re.compile(r"x[0-9a-f]{16}")


def _hashes(tree: Tree, where: str, places: Mapping[str, Route]) -> Iterator[Diagnostic]:
    """T512: what is too long for a label, Topograph writes as a hash (v1.0, pkg/engines/k8s/labeler.go)."""
    for depth, level in enumerate(tree.levels):
        row = next((row for row in tree.rows if _HASH.fullmatch(row.path[depth])), None)
        if row and "topo" in level.label:
            message = (
                f'"{row.path[depth]}" and the like in "{level.label}" of {where} stand for names too long for labels'
            )
            yield info("T512", places[row.alike.names[0]], message, hint="another source may know the names")


def _flat(stock: Stock, where: str, places: Mapping[str, Route]) -> Diagnostic:
    message = f"{where} is flat: its nodes have no label that says where in a network they are, and no NVLink clique"
    hint = "name a label with --level, or give a second source that knows the network: Topograph, Slurm, UFM"
    return warning("T518", places[nodes_of(stock.alike)[0]], message, hint=hint)
