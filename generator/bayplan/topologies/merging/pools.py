"""Merges pools of two sources that share nodes: levels, places, node shape and states.

A level divides nodes into domains. On the nodes of both sources, two levels with equal domains are one level. A level
that divides the domains of another is finer and goes below it. Levels that cross are a contradiction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, error, warning
from bayplan.core.phrases import count, listing
from bayplan.model.formats import Part
from bayplan.model.topology import Domain, Level, NodeShape, Pool
from bayplan.topologies.alignment import Alignment, Path, Relation, align, relation
from bayplan.topologies.grouping import NAMELESS, free

Pairs = Mapping[tuple[Path, Path], str]
"""As `Alignment.nodes`."""
Related = Mapping[tuple[int, int], Relation]
"""By the depth of a level in the first source and of one in the second."""


class Sides(NamedTuple):
    """The two sources of the pools, for messages."""

    one: Part
    other: Part

    def notes(self, node: str) -> tuple[Note, ...]:
        """The places of a node in both."""
        pairs = ((self.one, self.one.places.get(node)), (self.other, self.other.places.get(node)))
        return tuple(Note(f"{node} in {part.source}", place) for part, place in pairs if place)


class MergedLevel(NamedTuple):
    """A level of the result, and its depth in each source. `theirs`: its values come from the second source."""

    level: Level
    one: int | None
    other: int | None
    theirs: bool = False
    shared: bool = False  # both read the same label, so either can give its value


class MergedLevels(NamedTuple):
    """Levels, coarse to fine, and how the path of a node follows from its paths in the sources."""

    entries: tuple[MergedLevel, ...]
    inferred: Mapping[tuple[int, bool, Path], str]  # (entry, from the second source, path there) -> value

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels of the pool."""
        return tuple(entry.level for entry in self.entries)

    @property
    def by_other(self) -> bool:
        """Whether the second source has levels."""
        return any(entry.other is not None for entry in self.entries)

    def path(self, one: Path | None, other: Path | None) -> Path | None:
        """The path of a node. None if the only source with a level does not have the node."""
        values = [self._value(number, entry, one, other) for number, entry in enumerate(self.entries)]
        return None if None in values else tuple(value for value in values if value is not None)

    def _value(self, number: int, entry: MergedLevel, one: Path | None, other: Path | None) -> str | None:
        own, depth = (other, entry.other) if entry.theirs else (one, entry.one)
        if own is not None and depth is not None:
            return own[depth]
        away, elsewhere = (one, entry.one) if entry.theirs else (other, entry.other)
        if entry.shared and away is not None and elsewhere is not None:
            return away[elsewhere]
        prefixes = (away[:end] for end in range(len(away or ()), 0, -1)) if away else iter(())
        keys = ((number, not entry.theirs, prefix) for prefix in prefixes)
        return next((self.inferred[key] for key in keys if key in self.inferred), None)


def merge_levels(aligned: Alignment, issues: list[Diagnostic], sides: Sides) -> MergedLevels | None:
    """The levels of both pools. None if they cross (T438)."""
    mine, theirs, pairs = aligned.before.levels, aligned.after.levels, aligned.nodes
    related = {(i, j): relation(aligned.shared, i, j) for i in range(len(mine)) for j in range(len(theirs))}
    entries = [MergedLevel(level, depth, None) for depth, level in enumerate(mine)]
    for depth, level in enumerate(theirs):
        same = next((number for number, entry in enumerate(entries) if _same_label(entry, level)), None)
        if same is not None:
            issues += _unlike_values(entries[same], depth, pairs, sides)
            entries[same] = _merged_level(entries[same], level, depth, issues)._replace(shared=True)
            continue
        twin = _equal_level(entries, level, depth, related)
        if twin is not None:
            entries[twin] = _merged_level(entries[twin], level, depth, issues)
        elif any(entry.one is not None and related[entry.one, depth].equal for entry in entries):
            continue  # the other source has two levels with equal domains
        else:
            crossing = next((r for r in entries if r.one is not None and related[r.one, depth].crossing), None)
            if crossing is not None:
                issues.append(_crossing(level, crossing, depth, pairs, sides))
                return None
            place = sum(_above(entry, depth, related) for entry in entries)
            entries.insert(place, MergedLevel(level, None, depth, theirs=True))
    return MergedLevels(_plan_of_finest(entries), _inferred(entries, related, pairs))


def _same_label(entry: MergedLevel, level: Level) -> bool:
    """Whether both sources read a level from one label of the nodes."""
    return entry.other is None and entry.level.label == level.label and not (entry.level.apply or level.apply)


def _unlike_values(entry: MergedLevel, depth: int, pairs: Pairs, sides: Sides) -> Iterator[Diagnostic]:
    """T438: a node has one value of a label."""
    unlike = [(one, two, node) for (one, two), node in pairs.items() if one[entry.one or 0] != two[depth]]
    if unlike:
        one, two, node = unlike[0]
        values = f'"{one[entry.one or 0]}" in {sides.one.source} and "{two[depth]}" in {sides.other.source}'
        message = f'the label "{entry.level.label}" of node "{node}" is {values}'
        more = f", and also differs in {count(len(unlike) - 1, 'other domain')}" if unlike[1:] else ""
        place = sides.other.places.get(node, ())
        hint = "correct the source that is out of date"
        yield error("T438", place, f"{message}{more}", hint=hint, notes=sides.notes(node))


def _above(entry: MergedLevel, other: int, related: Related) -> bool:
    """Whether a level is coarser than a level of the second source."""
    if entry.one is not None:
        return related[entry.one, other].coarser and not related[entry.one, other].finer
    return entry.other is not None and entry.other < other


def _equal_level(entries: Sequence[MergedLevel], level: Level, depth: int, related: Related) -> int | None:
    """The entry with the same domains as the level and no level of the second source yet, by name first."""
    alike = [
        number
        for number, entry in enumerate(entries)
        if entry.one is not None and entry.other is None and related[entry.one, depth].equal
    ]
    return next((n for n in alike if entries[n].level.name == level.name), alike[-1] if alike else None)


def _merged_level(entry: MergedLevel, level: Level, depth: int, issues: list[Diagnostic]) -> MergedLevel:
    """A level of both sources. A label that nodes have wins over a label to apply later."""
    mine = entry.level
    if mine.plan and level.plan and mine.plan != level.plan:
        message = f'`plan` of level "{mine.name}" is {mine.plan} in one source, and {level.plan} in another'
        issues.append(error("T438", (), message, hint="correct one of them, or leave one source out"))
    theirs = mine.apply and not level.apply
    source = level._replace(name=mine.name) if theirs else mine
    return MergedLevel(
        source._replace(nvlink=mine.nvlink or level.nvlink, plan=mine.plan or level.plan), entry.one, depth, theirs
    )


def _plan_of_finest(entries: Sequence[MergedLevel]) -> tuple[MergedLevel, ...]:
    """Only the finest level has a plan."""
    above = [entry._replace(level=entry.level._replace(plan=None)) for entry in entries[:-1]]
    return (*above, *entries[-1:])


def _inferred(entries: Sequence[MergedLevel], related: Related, pairs: Pairs) -> dict[tuple[int, bool, Path], str]:
    """The value in one source that follows from the place in the other, finer one."""
    result: dict[tuple[int, bool, Path], str] = {}
    for number, entry in enumerate(entries):
        for one, two in pairs:
            if not entry.theirs and entry.one is not None:
                ends = [j for j in range(len(two)) if related[entry.one, j].coarser]
                result.update({(number, True, two[: j + 1]): one[entry.one] for j in ends})
            elif entry.theirs and entry.other is not None:
                ends = [i for i in range(len(one)) if related[i, entry.other].finer]
                result.update({(number, False, one[: i + 1]): two[entry.other] for i in ends})
    return result


def _crossing(level: Level, entry: MergedLevel, depth: int, pairs: Pairs, sides: Sides) -> Diagnostic:
    """T438, with two nodes for each level that the other level separates."""
    assert entry.one is not None
    placed = [(one[: entry.one + 1], two[: depth + 1], node) for (one, two), node in pairs.items()]
    together = _apart([(one, two, node) for one, two, node in placed])
    apart = _apart([(two, one, node) for one, two, node in placed])
    mine, theirs = entry.level.name, level.name
    message = (
        f"levels {mine} of {sides.one.source} and {theirs} of {sides.other.source} cross:"
        f' {together[0]} and {together[1]} share only the {mine} "{together[2]}",'
        f' and {apart[0]} and {apart[1]} share only the {theirs} "{apart[2]}"'
    )
    hint = "levels must nest: correct the place of a node in one source, or leave one source out"
    notes = tuple(note for node in dict.fromkeys((together[0], apart[0])) for note in sides.notes(node))
    return error("T438", sides.other.places.get(apart[0], ()), message, hint=hint, notes=notes)


def _apart(placed: Sequence[tuple[Path, Path, str]]) -> tuple[str, str, str]:
    """Two nodes in one domain of the first level that the second separates, and that domain; rarest part first."""
    parts: dict[Path, Counter[Path]] = {}
    for one, two, _ in placed:
        parts.setdefault(one, Counter())[two] += 1
    domain, held = next((one, held) for one, held in parts.items() if len(held) > 1)
    rare, often = min(held, key=lambda two: held[two]), max(held, key=lambda two: held[two])
    if rare == often:
        rare, often = list(held)[:2]
    named = {two: node for one, two, node in reversed(placed) if one == domain}
    return named[rare], named[often], domain[-1]


Row = Domain | None


def merge_pools(
    mine: Sequence[Pool], theirs: Sequence[Pool], one: Part, other: Part, issues: list[Diagnostic]
) -> Iterator[Pool]:
    """The pools of both, merged if they share nodes or have equal labels and shapes. T439 if no pools match.

    A pool of the second source with nodes of several pools is divided: a network has nodes of all kinds.
    """
    sides = Sides(one, other)
    home = {node: number for number, pool in enumerate(theirs) for node in pool.nodes()}
    met = [sorted({home[node] for node in pool.nodes() if node in home}) for pool in mine]
    for number, pool in enumerate(theirs):
        if not any(number in numbers for numbers in met):
            place = next((n for n, each in enumerate(mine) if not met[n] and _same_kind(each, pool)), None)
            met = [[number] if n == place else numbers for n, numbers in enumerate(met)]
    if not any(met):
        issues.append(_nothing_shared(mine, theirs, sides))
    names: set[str] = set()
    times = Counter(number for numbers in met for number in numbers)
    several = [_by_owner(pool, mine) if times[n] > 1 else None for n, pool in enumerate(theirs)]
    for index, (pool, numbers) in enumerate(zip(mine, met, strict=True)):
        parts = [_part_of(theirs[n], several[n], index) for n in numbers]
        for each in _merged_with(pool, parts, home, issues, sides):
            yield _unique(each, names)
    for number, pool in enumerate(theirs):
        rest = _part_of(pool, several[number], None)
        if times[number] > 1 and rest.domains:
            issues.append(_added(list(rest.nodes()), sides, separate=True))
        if times[number] != 1 and rest.domains:
            yield _unique(rest, names)


def _by_owner(pool: Pool, mine: Sequence[Pool]) -> dict[str, int | None]:
    """Node -> the number of its pool, or of the only pool with nodes in its domain."""
    owner = {node: number for number, each in enumerate(mine) for node in each.nodes()}
    result: dict[str, int | None] = {}
    for domain in pool.domains:
        known = {owner[node] for node in domain.nodes if node in owner}
        other = next(iter(known)) if len(known) == 1 else None
        result.update((node, owner.get(node, other)) for node in domain.nodes)
    return result


def _part_of(pool: Pool, owners: Mapping[str, int | None] | None, index: int | None) -> Pool:
    """The nodes of one owner."""
    return pool if owners is None else restrict(pool, lambda node: owners[node] == index)


def _same_kind(one: Pool, other: Pool) -> bool:
    """Whether two pools without a common node are parts of one: equal labels of levels, selectors and GPUs."""
    labels = [[level.label for level in pool.levels if not level.apply] for pool in (one, other)]
    same = labels[0] == labels[1] and len(labels[0]) == len(one.levels) == len(other.levels) > 0
    mine, theirs = one.node, other.node
    kinds = (mine.accelerator, mine.accelerators) == (theirs.accelerator, theirs.accelerators)
    return same and kinds and mine.node_selector == theirs.node_selector


def _nothing_shared(mine: Sequence[Pool], theirs: Sequence[Pool], sides: Sides) -> Diagnostic:
    some = [next(pool.nodes(), "") for pool in (*mine[:1], *theirs[:1])]
    message = f'{sides.one.source} and {sides.other.source} share no node: one has "{some[0]}", the other "{some[1]}"'
    hint = "if these nodes are the same, map their names in `schedulers.slurm.names` of a topology for --update"
    return warning("T439", (), message, hint=hint)


def _unique(pool: Pool, names: set[str]) -> Pool:
    return pool._replace(name=free(pool.name, names))


def _merged_with(
    pool: Pool,
    others: Sequence[Pool],
    home: Mapping[str, int],
    issues: list[Diagnostic],
    sides: Sides,
) -> Iterator[Pool]:
    """The pool merged with another pool of its nodes, or divided if there are several."""
    if not others:
        yield pool
    elif len(others) == 1:
        yield merge_pool(pool, others[0], issues, sides)
    else:
        for other in others:
            own = set(other.nodes())
            piece = restrict(pool, lambda node, own=own: node in own)
            described = other.node.described and not pool.node.described
            name = other.name if described else f"{pool.name}-{other.name}"[:63].strip("-")
            yield merge_pool(piece, other, issues, sides)._replace(name=name)
        rest = restrict(pool, lambda node: node not in home)
        if rest.domains:
            yield rest


def restrict(pool: Pool, keep: Any) -> Pool:
    """The pool with the nodes for which `keep` is true."""
    domains = (each._replace(nodes=tuple(filter(keep, each.nodes))) for each in pool.domains)
    unusable = {reason: tuple(filter(keep, names)) for reason, names in pool.unusable.items()}
    kept = {reason: names for reason, names in unusable.items() if names}
    return pool._replace(domains=tuple(each for each in domains if each.nodes), unusable=kept)


def merge_pool(pool: Pool, other: Pool, issues: list[Diagnostic], sides: Sides) -> Pool:
    """One pool from two that share nodes."""
    aligned = align(pool, other)
    levels = merge_levels(aligned, issues, sides)
    if levels is None:
        return pool
    shown = sides.notes(next(iter(aligned.nodes.values()), ""))
    before = len(issues)
    domains = tuple(_merged_domains(aligned, levels, issues, sides))
    lacking = [node for node in aligned.left if node not in aligned.right] if aligned.nodes and other.levels else []
    if lacking and not any(each.code == "T440" for each in issues[before:]):
        issues.append(_missing(lacking, sides))
    placed = {node for domain in domains for node in domain.nodes}
    unusable = {node: why for each in (other, pool) for why, names in each.unusable.items() for node in names}
    reasons = sorted(set(unusable.values()))
    return pool._replace(
        node=merge_shapes(pool.node, other.node, f'pool "{pool.name}"', shown, issues),
        levels=levels.levels,
        domains=domains,
        unusable={why: tuple(node for node, w in unusable.items() if w == why and node in placed) for why in reasons},
        **settings(pool, other),
    )


def settings(one: Pool, other: Pool) -> dict[str, Any]:
    """Each setting of the first pool, or of the other one if the first has none."""
    return {key: getattr(one, key) or getattr(other, key) for key in ("template", "data_movers", "data_store")}


def _merged_domains(
    aligned: Alignment, levels: MergedLevels, issues: list[Diagnostic], sides: Sides
) -> Iterator[Domain]:
    """A row for each path, in the order of the first source, or of Slurm, where order matters."""
    rows, others = aligned.left, aligned.right
    held: dict[tuple[str, ...], list[str]] = {}
    declared: dict[tuple[str, ...], list[Domain]] = {}
    lost: list[str] = []
    names = (*others, *rows) if "slurm" in sides.other.topology.schedulers and levels.by_other else (*rows, *others)
    for node in dict.fromkeys(names):
        row, also = rows.get(node), others.get(node)
        path = levels.path(row and row.path, also and also.path)
        if path is None:
            lost.append(node)
            continue
        held.setdefault(path, []).append(node)
        speakers = declared.setdefault(path, [])
        speakers += [each for each in (row, also) if each and not any(each is speaker for speaker in speakers)]
    if lost:
        issues.append(_unplaced(lost, rows, sides))
    added = [node for node in others if node not in rows and node not in lost]
    if added and len(added) < len(others):
        issues.append(_added(added, sides))
    for path, names_ in held.items():
        yield Domain(
            path,
            tuple(names_),
            _partition(declared[path], names_, issues, sides),
            next((row.leaves for row in declared[path] if row.leaves), ()),
        )


def _unplaced(lost: Sequence[str], rows: Mapping[str, Domain], sides: Sides) -> Diagnostic:
    """T440: a node of one source, with unknown values for levels that only the other source has."""
    mine = [node for node in lost if node in rows]
    some = mine or list(lost)
    knows, lacks = (sides.one, sides.other) if mine else (sides.other, sides.one)
    message = f"{_named(some)} only in {knows.source}, so the place in the levels of {lacks.source} is unknown"
    hint = f"add {'it' if len(some) == 1 else 'them'} to {lacks.source}, or remove {'it' if len(some) == 1 else 'them'}"
    make = error if mine else warning
    left = "" if mine else f"; bayplan leaves {'it' if len(some) == 1 else 'them'} out"
    return make("T440", knows.places.get(some[0], ()), f"{message}{left}", hint=hint)


def _missing(lacking: Sequence[str], sides: Sides) -> Diagnostic:
    """T446: a source lacks nodes of its own pool. Their levels follow from their neighbors."""
    verb = "is" if len(lacking) == 1 else "are"
    message = f"{count(len(lacking), 'node')} ({listing(lacking, 'and', most=3)}) {verb} not in {sides.other.source}"
    them = "it" if len(lacking) == 1 else "them"
    hint = f"check that the levels and plans of {sides.other.source} are right for {them}: bayplan applies them"
    return warning("T446", sides.one.places.get(lacking[0], ()), message, hint=hint)


def _added(added: Sequence[str], sides: Sides, *, separate: bool = False) -> Diagnostic:
    """T439. `separate`: their neighbors are of no pool of the first source, or of several."""
    them = "it" if len(added) == 1 else "them"
    then = f"makes a separate pool of {them}" if separate else f"adds {them} to domains of {sides.one.source}"
    message = f"{_named(added)} only in {sides.other.source}; bayplan {then}"
    hint = f"if {'it has' if len(added) == 1 else 'they have'} left the cluster, correct {sides.other.source}"
    return warning("T439", sides.other.places.get(added[0], ()), message, hint=hint)


def _named(names: Sequence[str]) -> str:
    verb = "node {} is" if len(names) == 1 else f"{count(len(names), 'node')} ({{}}) are"
    return verb.format(listing(names, "and", most=3))


def _partition(rows: Iterable[Domain], names: Sequence[str], issues: list[Diagnostic], sides: Sides) -> str:
    """The NVLink partition of any row."""
    named = list(dict.fromkeys(row.nvlink_domain for row in rows if row.nvlink_domain))
    if len(named) > 1:
        message = f'node {names[0]} is in NVLink partition "{named[0]}" in one source, and "{named[1]}" in another'
        issues.append(error("T438", (), message, hint="correct one of the sources", notes=sides.notes(names[0])))
    return named[0] if named else ""


def merge_shapes(
    one: NodeShape, other: NodeShape, whose: str, notes: tuple[Note, ...], issues: list[Diagnostic]
) -> NodeShape:
    """What nodes offer, from both sources. GPUs must agree. For CPUs and memory the first source wins, because
    Kubernetes offers less to pods than a node has."""
    for key, mine, theirs in (
        ("accelerator", one.accelerator, other.accelerator),
        ("count", one.accelerators, other.accelerators),
    ):
        if mine and theirs and mine != theirs and NAMELESS not in (mine, theirs):
            message = f'the nodes of {whose} have {key} "{mine}" in one source and "{theirs}" in another'
            hint = "correct one of them, or leave one source out"
            issues.append(error("T438", (), message, hint=hint, notes=notes))
    tolerations = (*one.tolerations, *(each for each in other.tolerations if each not in one.tolerations))
    named = one.accelerator if one.accelerator != NAMELESS else other.accelerator
    return NodeShape(
        named or one.accelerator or other.accelerator,
        one.accelerators or other.accelerators,
        dict(sorted({**other.resources, **one.resources}.items())),
        dict(sorted({**other.node_selector, **one.node_selector}.items())),
        tolerations,
        _fabrics(one.fabrics, other.fabrics),
    )


def _fabrics(*declared: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The fabrics of nodes from all sources. None if no source names any."""
    lists = [each for each in declared if each is not None]
    return tuple(dict.fromkeys(name for each in lists for name in each)) if lists else None
