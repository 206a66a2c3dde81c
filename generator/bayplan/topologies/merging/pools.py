"""Pools of two sources that share nodes, as pools that know what both say: shape, levels, places, state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, error, warning
from bayplan.core.phrases import count, listing
from bayplan.model.formats import Part
from bayplan.model.topology import Domain, NodeShape, Pool
from bayplan.topologies.grouping import NAMELESS, free
from bayplan.topologies.merging.levels import Chain, Sides, chained

Row = Domain | None


def together(
    mine: Sequence[Pool], theirs: Sequence[Pool], one: Part, other: Part, found: list[Diagnostic]
) -> Iterator[Pool]:
    """The pools of both: those that share nodes, and those that are cut from one cloth. T439: there are neither."""
    sides = Sides(one, other)
    home = {node: number for number, pool in enumerate(theirs) for node in pool.nodes()}
    met = [sorted({home[node] for node in pool.nodes() if node in home}) for pool in mine]
    for number, pool in enumerate(theirs):
        if not any(number in numbers for numbers in met):
            place = next((n for n, each in enumerate(mine) if not met[n] and _alike(each, pool)), None)
            met = [[number] if n == place else numbers for n, numbers in enumerate(met)]
    if not any(met):
        found.append(_strangers(mine, theirs, sides))
    names: set[str] = set()
    for pool, numbers in zip(mine, met, strict=True):
        for each in _met(pool, [theirs[n] for n in numbers], home, found, sides):
            yield _unique(each, names)
    for number, pool in enumerate(theirs):
        if not any(number in numbers for numbers in met):
            yield _unique(pool, names)


def _alike(one: Pool, other: Pool) -> bool:
    """Whether two pools without a common node are parts of one: the same labels tell their levels and their nodes."""
    labels = [[level.label for level in pool.levels if not level.apply] for pool in (one, other)]
    same = labels[0] == labels[1] and len(labels[0]) == len(one.levels) == len(other.levels) > 0
    mine, theirs = one.node, other.node
    kinds = (mine.accelerator, mine.accelerators) == (theirs.accelerator, theirs.accelerators)
    return same and kinds and mine.node_selector == theirs.node_selector


def _strangers(mine: Sequence[Pool], theirs: Sequence[Pool], sides: Sides) -> Diagnostic:
    some = [next(pool.nodes(), "") for pool in (*mine[:1], *theirs[:1])]
    message = f'{sides.one.source} and {sides.other.source} share no node: one has "{some[0]}", the other "{some[1]}"'
    hint = "if they are the same nodes by other names, map these: `schedulers.slurm.names` of a topology after --update"
    return warning("T439", (), message, hint=hint)


def _unique(pool: Pool, names: set[str]) -> Pool:
    return pool._replace(name=free(pool.name, names))


def _met(
    pool: Pool,
    others: Sequence[Pool],
    home: Mapping[str, int],
    found: list[Diagnostic],
    sides: Sides,
) -> Iterator[Pool]:
    """The pool with what another says of its nodes; in pieces where several others do."""
    if not others:
        yield pool
    elif len(others) == 1:
        yield combined(pool, others[0], found, sides)
    else:
        for other in others:
            own = set(other.nodes())
            piece = restricted(pool, lambda node, own=own: node in own)
            known = other.node.described and not pool.node.described
            name = other.name if known else f"{pool.name}-{other.name}"[:63].strip("-")
            yield combined(piece, other, found, sides)._replace(name=name)
        rest = restricted(pool, lambda node: node not in home)
        if rest.domains:
            yield rest


def restricted(pool: Pool, keep: Any) -> Pool:
    """The pool with those of its nodes that are to be kept."""
    domains = (each._replace(nodes=tuple(filter(keep, each.nodes))) for each in pool.domains)
    unusable = {reason: tuple(filter(keep, names)) for reason, names in pool.unusable.items()}
    kept = {reason: names for reason, names in unusable.items() if names}
    return pool._replace(domains=tuple(each for each in domains if each.nodes), unusable=kept)


def combined(pool: Pool, other: Pool, found: list[Diagnostic], sides: Sides) -> Pool:
    """One pool out of two that share nodes."""
    rows = {node: domain for domain in pool.domains for node in domain.nodes}
    others = {node: domain for domain in other.domains for node in domain.nodes}
    pairs = {(rows[node].path, others[node].path): node for node in reversed(rows) if node in others}
    chain = chained(pool, other, pairs, found, sides)
    if chain is None:
        return pool
    shown = sides.notes(next(iter(pairs.values()), ""))
    before = len(found)
    domains = tuple(_domains(rows, others, chain, found, sides))
    lacking = [node for node in rows if node not in others] if pairs and other.levels else []
    if lacking and not any(each.code == "T440" for each in found[before:]):
        found.append(_lacking(lacking, sides))
    placed = {node for domain in domains for node in domain.nodes}
    unusable = {node: why for each in (other, pool) for why, names in each.unusable.items() for node in names}
    reasons = sorted(set(unusable.values()))
    return pool._replace(
        node=shape(pool.node, other.node, f'pool "{pool.name}"', shown, found),
        levels=chain.levels,
        domains=domains,
        unusable={why: tuple(node for node, w in unusable.items() if w == why and node in placed) for why in reasons},
        template=pool.template or other.template,
    )


def _domains(
    rows: Mapping[str, Domain], others: Mapping[str, Domain], chain: Chain, found: list[Diagnostic], sides: Sides
) -> Iterator[Domain]:
    """A row for each path, in the order of the first source; in that of Slurm, where order has a meaning."""
    held: dict[tuple[str, ...], list[str]] = {}
    said: dict[tuple[str, ...], list[Domain]] = {}
    lost: list[str] = []
    names = (*others, *rows) if "slurm" in sides.other.topology.schedulers and chain.by_other else (*rows, *others)
    for node in dict.fromkeys(names):
        row, also = rows.get(node), others.get(node)
        path = chain.path(row and row.path, also and also.path)
        if path is None:
            lost.append(node)
            continue
        held.setdefault(path, []).append(node)
        speakers = said.setdefault(path, [])
        speakers += [each for each in (row, also) if each and not any(each is known for known in speakers)]
    if lost:
        found.append(_unplaced(lost, rows, sides))
    added = [node for node in others if node not in rows and node not in lost]
    if added and len(added) < len(others):
        found.append(_added(added, sides))
    for path, names_ in held.items():
        yield Domain(path, tuple(names_), _partition(said[path], names_, found, sides), _leaves(said[path]))


def _unplaced(lost: Sequence[str], rows: Mapping[str, Domain], sides: Sides) -> Diagnostic:
    """T440: a node of one source, of which the levels that only the other has are not known."""
    mine = [node for node in lost if node in rows]
    some = mine or list(lost)
    knows, lacks = (sides.one, sides.other) if mine else (sides.other, sides.one)
    message = f"{_named(some)} only in {knows.source}, and where in the levels of {lacks.source}, nobody says"
    hint = (
        f"add {'it' if len(some) == 1 else 'them'} to {lacks.source}, or take {'it' if len(some) == 1 else 'them'} out"
    )
    make = error if mine else warning
    left = "" if mine else f"; {'it is' if len(some) == 1 else 'they are'} left out"
    return make("T440", knows.places.get(some[0], ()), f"{message}{left}", hint=hint)


def _lacking(lacking: Sequence[str], sides: Sides) -> Diagnostic:
    """T446: what a source does not know of its own pool follows from the neighbours, or nobody looks at it."""
    verb = "is" if len(lacking) == 1 else "are"
    message = f"{count(len(lacking), 'node')} ({listing(lacking, 'and', most=3)}) {verb} not in {sides.other.source}"
    them = "it" if len(lacking) == 1 else "them"
    hint = f"what {sides.other.source} says of levels and plans is taken to hold for {them} too"
    return warning("T446", sides.one.places.get(lacking[0], ()), message, hint=hint)


def _added(added: Sequence[str], sides: Sides) -> Diagnostic:
    message = f"{_named(added)} only in {sides.other.source}, and added to the domains of {sides.one.source}"
    hint = f"if that is not in the cluster any more, correct {sides.other.source}"
    return warning("T441", sides.other.places.get(added[0], ()), message, hint=hint)


def _named(names: Sequence[str]) -> str:
    verb = "node {} is" if len(names) == 1 else f"{count(len(names), 'node')} ({{}}) are"
    return verb.format(listing(names, "and", most=3))


def _partition(rows: Iterable[Domain], names: Sequence[str], found: list[Diagnostic], sides: Sides) -> str:
    """The NVLink partition that any of them names."""
    named = list(dict.fromkeys(row.nvlink_domain for row in rows if row.nvlink_domain))
    if len(named) > 1:
        message = f'node {names[0]} is in NVLink partition "{named[0]}", and in "{named[1]}" as another source says'
        found.append(error("T438", (), message, hint="correct one source", notes=sides.notes(names[0])))
    return named[0] if named else ""


def _leaves(rows: Iterable[Domain]) -> tuple[str, ...]:
    return next((row.leaves for row in rows if row.leaves), ())


def shape(one: NodeShape, other: NodeShape, whose: str, notes: tuple[Note, ...], found: list[Diagnostic]) -> NodeShape:
    """What nodes offer, as both say. Cards must agree; of CPUs and memory the first to speak counts: what Kubernetes
    gives to pods is less than what a node has."""
    for key, mine, theirs in (
        ("accelerator", one.accelerator, other.accelerator),
        ("count", one.accelerators, other.accelerators),
    ):
        if mine and theirs and mine != theirs and NAMELESS not in (mine, theirs):
            message = f'the nodes of {whose} have {key} "{mine}" in one source and "{theirs}" in another'
            found.append(error("T438", (), message, hint="correct one of them, or leave one out", notes=notes))
    tolerations = (*one.tolerations, *(each for each in other.tolerations if each not in one.tolerations))
    known = one.accelerator if one.accelerator != NAMELESS else other.accelerator
    return NodeShape(
        known or one.accelerator or other.accelerator,
        one.accelerators or other.accelerators,
        dict(sorted({**other.resources, **one.resources}.items())),
        dict(sorted({**other.node_selector, **one.node_selector}.items())),
        tolerations,
        _fabrics(one.fabrics, other.fabrics),
    )


def _fabrics(*said: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The fabrics that nodes hang on, as any source says; None where none does."""
    given = [each for each in said if each is not None]
    return tuple(dict.fromkeys(name for each in given for name in each)) if given else None
