"""The levels of two sources as one list.

A level cuts nodes into domains. On the nodes that both know, two levels that cut alike are one level; a level that cuts
the domains of another is finer, and is put below it; levels that cross are a contradiction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Note, error
from bayplan.core.phrases import count
from bayplan.core.values import NamedTuple
from bayplan.model.formats import Part
from bayplan.model.topology import Level, Pool

Path = tuple[str, ...]
Pairs = Mapping[tuple[Path, Path], str]
"""Each pair of paths that some node has, one in either source -> such a node."""


class Sides(NamedTuple):
    """The two sources whose pools are compared, for messages."""

    one: Part
    other: Part

    def notes(self, node: str) -> tuple[Note, ...]:
        """Where each of them speaks of a node."""
        pairs = ((self.one, self.one.places.get(node)), (self.other, self.other.places.get(node)))
        return tuple(Note(f"{node} in {part.source}", place) for part, place in pairs if place)


class Rung(NamedTuple):
    """A level of the result, and its depth in each source that has it. `theirs`: its values are the second source's."""

    level: Level
    one: int | None
    other: int | None
    theirs: bool = False
    shared: bool = False  # both read the same label: either can say its value


class Chain(NamedTuple):
    """Levels coarse to fine, and how a node's path follows from its paths in the sources."""

    rungs: tuple[Rung, ...]
    learned: Mapping[tuple[int, bool, Path], str]  # (rung, from the second source, path there) -> value

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels of the pool."""
        return tuple(rung.level for rung in self.rungs)

    @property
    def by_other(self) -> bool:
        """Whether the second source has levels."""
        return any(rung.other is not None for rung in self.rungs)

    def path(self, one: Path | None, other: Path | None) -> Path | None:
        """The path of a node; None where a source that alone knows a level does not know the node."""
        values = [self._value(number, rung, one, other) for number, rung in enumerate(self.rungs)]
        return None if None in values else tuple(value for value in values if value is not None)

    def _value(self, number: int, rung: Rung, one: Path | None, other: Path | None) -> str | None:
        own, depth = (other, rung.other) if rung.theirs else (one, rung.one)
        if own is not None and depth is not None:
            return own[depth]
        away, elsewhere = (one, rung.one) if rung.theirs else (other, rung.other)
        if rung.shared and away is not None and elsewhere is not None:
            return away[elsewhere]
        prefixes = (away[:end] for end in range(len(away or ()), 0, -1)) if away else iter(())
        keys = ((number, not rung.theirs, prefix) for prefix in prefixes)
        return next((self.learned[key] for key in keys if key in self.learned), None)


def chained(pool: Pool, other: Pool, pairs: Pairs, found: list[Diagnostic], sides: Sides) -> Chain | None:
    """The levels of both pools; None where they cross (T442)."""
    order = _Order(pool, other, pairs)
    rungs = [Rung(level, depth, None) for depth, level in enumerate(pool.levels)]
    for depth, level in enumerate(other.levels):
        same = next((number for number, rung in enumerate(rungs) if _same_label(rung, level)), None)
        if same is not None:
            found += _unlike_values(rungs[same], depth, pairs, sides)
            rungs[same] = _one(rungs[same], level, depth, found)._replace(shared=True)
            continue
        twin = _twin(rungs, level, depth, order)
        if twin is not None:
            rungs[twin] = _one(rungs[twin], level, depth, found)
        elif any(rung.one is not None and order.equal(rung.one, depth) for rung in rungs):
            continue  # the other source has two levels that cut alike
        else:
            crossing = next((r for r in rungs if r.one is not None and order.crosses(r.one, depth)), None)
            if crossing is not None:
                found.append(_crossing(other, crossing, depth, pairs, sides))
                return None
            place = sum(order.above(rung, depth) for rung in rungs)
            rungs.insert(place, Rung(level, None, depth, theirs=True))
    return Chain(_planned(rungs), _learned(rungs, order, pairs))


def _same_label(rung: Rung, level: Level) -> bool:
    """Whether both sources read a level from one label of the nodes."""
    return rung.other is None and rung.level.label == level.label and not (rung.level.apply or level.apply)


def _unlike_values(rung: Rung, depth: int, pairs: Pairs, sides: Sides) -> Iterator[Diagnostic]:
    """T438: a node has one value of a label."""
    unlike = [(one, two, node) for (one, two), node in pairs.items() if one[rung.one or 0] != two[depth]]
    if unlike:
        one, two, node = unlike[0]
        values = f'"{one[rung.one or 0]}" in {sides.one.source} and "{two[depth]}" in {sides.other.source}'
        message = f'the label "{rung.level.label}" of node "{node}" is {values}'
        more = f", and of {count(len(unlike) - 1, 'other domain')}" if unlike[1:] else ""
        place = sides.other.places.get(node, ())
        hint = "one of the two is older: take the newer one"
        yield error("T438", place, f"{message}{more}", hint=hint, notes=sides.notes(node))


class _Order:
    """Which level of one source cuts the domains of which of the other."""

    def __init__(self, pool: Pool, other: Pool, pairs: Pairs) -> None:
        self.finer, self.coarser = {}, {}
        for i in range(len(pool.levels)):
            for j in range(len(other.levels)):
                cuts = {(one[: i + 1], two[: j + 1]) for one, two in pairs}
                mine, theirs = {one for one, _ in cuts}, {two for _, two in cuts}
                self.finer[i, j] = len(cuts) == len(mine)  # each of mine lies in one of theirs
                self.coarser[i, j] = len(cuts) == len(theirs)

    def equal(self, one: int, other: int) -> bool:
        return self.finer[one, other] and self.coarser[one, other]

    def crosses(self, one: int, other: int) -> bool:
        return not (self.finer[one, other] or self.coarser[one, other])

    def above(self, rung: Rung, other: int) -> bool:
        """Whether a rung is coarser than a level of the second source."""
        if rung.one is not None:
            return self.coarser[rung.one, other] and not self.finer[rung.one, other]
        return rung.other is not None and rung.other < other


def _twin(rungs: Sequence[Rung], level: Level, depth: int, order: _Order) -> int | None:
    """The rung that cuts as the level does and has no level of the second source yet; one of its name first."""
    alike = [
        number
        for number, rung in enumerate(rungs)
        if rung.one is not None and rung.other is None and order.equal(rung.one, depth)
    ]
    return next((n for n in alike if rungs[n].level.name == level.name), alike[-1] if alike else None)


def _one(rung: Rung, level: Level, depth: int, found: list[Diagnostic]) -> Rung:
    """A level of both sources. A label that nodes carry counts more than one that they are to get."""
    mine = rung.level
    if mine.plan and level.plan and mine.plan != level.plan:
        message = f'of a "{mine.name}" {mine.plan} nodes are planned in one source and {level.plan} in another'
        found.append(error("T438", (), message, hint="correct one of them, or leave one out"))
    theirs = mine.apply and not level.apply
    source = level._replace(name=mine.name) if theirs else mine
    return Rung(
        source._replace(nvlink=mine.nvlink or level.nvlink, plan=mine.plan or level.plan), rung.one, depth, theirs
    )


def _planned(rungs: Sequence[Rung]) -> tuple[Rung, ...]:
    """Only the finest level has a plan."""
    above = [rung._replace(level=rung.level._replace(plan=None)) for rung in rungs[:-1]]
    return (*above, *rungs[-1:])


def _learned(rungs: Sequence[Rung], order: _Order, pairs: Pairs) -> dict[tuple[int, bool, Path], str]:
    """What the place in one source says of the value in the other, where that is the finer one."""
    made: dict[tuple[int, bool, Path], str] = {}
    for number, rung in enumerate(rungs):
        for one, two in pairs:
            if not rung.theirs and rung.one is not None:
                ends = [j for j in range(len(two)) if order.coarser[rung.one, j]]
                made.update({(number, True, two[: j + 1]): one[rung.one] for j in ends})
            elif rung.theirs and rung.other is not None:
                ends = [i for i in range(len(one)) if order.finer[i, rung.other]]
                made.update({(number, False, one[: i + 1]): two[rung.other] for i in ends})
    return made


def _crossing(other: Pool, rung: Rung, depth: int, pairs: Pairs, sides: Sides) -> Diagnostic:
    """T442, with two nodes of either level that the other one parts."""
    assert rung.one is not None
    cut = [(one[: rung.one + 1], two[: depth + 1], node) for (one, two), node in pairs.items()]
    together = _apart([(one, two, node) for one, two, node in cut])
    apart = _apart([(two, one, node) for one, two, node in cut])
    mine, theirs = rung.level.name, other.levels[depth].name
    message = (
        f'nodes {together[0]} and {together[1]} share the {mine} "{together[2]}" in {sides.one.source} and no {theirs}'
        f" in {sides.other.source}, where"
        f' {apart[0]} and {apart[1]} share the {theirs} "{apart[2]}" and no {mine}'
    )
    hint = "levels must be nested: correct the place of a node in one source, or leave one source out"
    notes = tuple(note for node in dict.fromkeys((together[0], apart[0])) for note in sides.notes(node))
    return error("T442", sides.other.places.get(apart[0], ()), message, hint=hint, notes=notes)


def _apart(cut: Sequence[tuple[Path, Path, str]]) -> tuple[str, str, str]:
    """Two nodes in one domain of the first cut that the second one parts, and that domain: the rarest part first."""
    parts: dict[Path, Counter[Path]] = {}
    for one, two, _ in cut:
        parts.setdefault(one, Counter())[two] += 1
    domain, held = next((one, held) for one, held in parts.items() if len(held) > 1)
    rare, often = min(held, key=lambda two: held[two]), max(held, key=lambda two: held[two])
    if rare == often:
        rare, often = list(held)[:2]
    named = {two: node for one, two, node in reversed(cut) if one == domain}
    return named[rare], named[often], domain[-1]
