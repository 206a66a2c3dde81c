"""Switches above nodes as pools: nodes that hang equally deep make one pool, and each tier of switches one level.

Kueue drops nodes that lack a level's label and Volcano takes no uneven trees, so a pool is even by construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Route, error, has_errors, info, warning
from bayplan.core.values import NamedTuple
from bayplan.model.formats import SourceFile
from bayplan.model.topology import Domain, Level, NodeShape, Pool
from bayplan.topologies.managers.names import Renamed, fnv64a, some, value, word

POOL = "nodes"
APPLIED = "topology.bayplan.dev"
"""The prefix of labels that no node carries before somebody writes them."""


class Row(NamedTuple):
    """Nodes that hang on the same switches: coarse to fine, each name unique in the fabric.

    `groups`: what else holds them by the name of that level (`domain`, `sub-domain`). `pool`, `levels` with their label
    values, and the NVLink `partition`: where the source knows them.
    """

    switches: tuple[str, ...]
    nodes: tuple[str, ...]
    groups: Mapping[str, str] = {}
    leaves: tuple[str, ...] = ()
    pool: str = ""
    route: Route = ()
    levels: tuple[Level, ...] = ()
    values: tuple[str, ...] = ()
    partition: str | None = None


class Tier(NamedTuple):
    """A level to be: how it is called, and the value of each row, unique among the rows."""

    level: Level
    values: tuple[str, ...]
    shown: tuple[str, ...] = ()  # the label values, where they are others


class Words(NamedTuple):
    """How a source calls its levels. `tiers`: finest first; `groups`: by their key in `Row.groups`."""

    tiers: tuple[Level, ...]
    groups: Mapping[str, Level] = {}


def document(source: SourceFile, found: list[Diagnostic]) -> Any:
    """The data of the file's first document; where there is none, found says why."""
    if source.documents:
        return source.documents[0].data
    found += source.faults
    return None


def listed(source: SourceFile, what: str, hint: str, found: list[Diagnostic]) -> list[dict[str, Any]]:
    """The data as a list of mappings; T530 where it is none: no list of `what`."""
    data = document(source, found)
    if has_errors(found):
        return []
    if isinstance(data, list) and all(isinstance(each, dict) for each in data):
        return data
    found.append(error("T530", source.at(), f"this is no list of {what}", hint=hint))
    return []


def pools(rows: Sequence[Row], words: Words, at: Route, found: list[Diagnostic]) -> tuple[Pool, ...]:
    """The rows as pools, the largest first."""
    rows = rows if any(row.pool or row.levels for row in rows) else list(_deep(rows, words, at, found))
    kinds: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        kinds.setdefault((row.pool, row.levels, len(row.switches), *sorted(row.groups)), []).append(row)
    ordered = list(kinds.values())
    if not any(row.pool for row in rows):
        ordered.sort(key=lambda each: -sum(len(row.nodes) for row in each))
        found += _uneven(ordered, at)
    renamed = Renamed("label value", [])
    taken: set[str] = set()
    made = tuple(_pool(_named(each[0].pool or POOL, taken), each, words, renamed, found) for each in ordered)
    found += renamed.told(at)
    return made


def _deep(rows: Sequence[Row], words: Words, at: Route, found: list[Diagnostic]) -> Iterator[Row]:
    """Rows of one depth: a leaf less deep than others repeats its name, as in a tree of Slurm. So a switch is on one
    level, whatever hangs below it. Nodes on a switch above others are left to a pool of their own, with its level."""
    inner = {switch for row in rows for switch in row.switches[:-1]}
    deepest: dict[tuple[str, ...], int] = {}
    for row in rows:
        groups = tuple(sorted(row.groups))
        deepest[groups] = max(deepest.get(groups, 0), len(row.switches))
    missing = [deepest[tuple(sorted(row.groups))] - len(row.switches) if row.switches else 0 for row in rows]
    shallow = [row for row, lacks in zip(rows, missing, strict=True) if lacks and row.switches[-1] not in inner]
    if shallow:
        leaves = list(dict.fromkeys(row.switches[-1] for row in shallow))
        message = f'{len(leaves)} leaf switches stand less deep than others, such as "{leaves[0]}"'
        hint = "the missing switches above them are called like the leaf; give such nodes a pool of their own"
        found.append(warning("T534", shallow[0].route or at, message, hint=hint))
    for row, lacks in zip(rows, missing, strict=True):
        if lacks and row.switches[-1] in inner:
            heights = range(lacks + len(row.switches) - 1, lacks - 1, -1)
            levels = tuple(_word(words, height) for height in heights)
            yield row._replace(levels=levels, values=tuple(map(value, row.switches)))
        else:
            yield row._replace(switches=(*row.switches, *row.switches[-1:] * lacks))


def _named(name: str, taken: set[str]) -> str:
    wanted = word(name) or POOL
    free = next(each for n in range(1, len(taken) + 2) if (each := f"{wanted}-{n}" if n > 1 else wanted) not in taken)
    taken.add(free)
    return free


def _uneven(kinds: Sequence[Sequence[Row]], at: Route) -> Iterator[Diagnostic]:
    """T534: nodes that cannot share one list of levels with most others."""
    for rows in kinds[1:]:
        most, row = kinds[0][0], rows[0]
        lacks = sorted(set(most.groups) - set(row.groups))
        why = (
            f"lacks the {' and the '.join(lacks)}" if lacks else f"hangs below {_switches(row)}, not {_switches(most)}"
        )
        names = [node for each in rows for node in each.nodes]
        message = f'"{some(names)}" {why} that most nodes have: a pool of its own'
        hint = "complete the source, or describe what these nodes are under `node`"
        yield warning("T534", row.route or at, message, hint=hint)


def _switches(row: Row) -> str:
    number = len(row.switches)
    return "no switch" if not number else "1 switch" if number == 1 else f"{number} switches"


def _pool(name: str, rows: Sequence[Row], words: Words, renamed: Renamed, found: list[Diagnostic]) -> Pool:
    tiers = [_tier(rows, words, number) for number in range(len(rows[0].switches))]
    partition: tuple[str, ...] = ()
    for key, level in words.groups.items():
        if key in rows[0].groups:
            values = tuple(row.groups[key] for row in rows)
            partition = values if level.nvlink else partition
            tiers = placed(tiers, Tier(level, values), rows[0].route, found)
    levels = tuple(_once(tier.level for tier in tiers))
    return Pool(name, NodeShape(), levels, tuple(_domains(rows, tiers, partition, renamed)))


def _tier(rows: Sequence[Row], words: Words, number: int) -> Tier:
    values = tuple(row.switches[number] for row in rows)
    if rows[0].levels:
        return Tier(rows[0].levels[number], values, tuple(row.values[number] for row in rows))
    return Tier(_word(words, len(rows[0].switches) - 1 - number), values)


def _word(words: Words, height: int) -> Level:
    """Higher tiers than the source has words for are called after the highest, with a number."""
    if height < len(words.tiers):
        return words.tiers[height]
    last = words.tiers[-1]
    return last._replace(name=f"{last.name}-{height}", label=f"{last.label}-{height}")


def _once(levels: Iterable[Level]) -> Iterator[Level]:
    """Each name and label once: a source may have called two tiers alike."""
    names: set[str] = set()
    labels: set[str] = set()
    for number, level in enumerate(levels):
        name = level.name if level.name not in names else f"{level.name}-{number}"
        label = level.label if level.label not in labels else f"{APPLIED}/{name}"
        names.add(name)
        labels.add(label)
        yield level._replace(name=name, label=label)


def placed(tiers: Sequence[Tier], new: Tier, route: Route, found: list[Diagnostic]) -> list[Tier]:
    """The tiers with another partition of the same rows where it nests: an equal tier becomes NVLink's, if it is that.

    A partition that no place is right for stands below the last tier that holds it whole, in place of what it crosses.
    """
    above = 0
    while above < len(tiers) and refines(new, tiers[above]):
        above += 1
    if above and refines(tiers[above - 1], new):
        own = tiers[above - 1]
        level = own.level._replace(nvlink=own.level.nvlink or new.level.nvlink)
        return [*tiers[: above - 1], own._replace(level=level), *tiers[above:]]
    crossed = [tier.level.name for tier in tiers[above:] if not refines(tier, new)]
    if crossed:
        message = f'level "{new.level.name}" does not nest with {" and ".join(crossed)}, which it takes the place of'
        hint = "schedulers hold nested levels alone; take it out of the source where the switches matter more"
        found.append(warning("T543", route, message, hint=hint))
    return [*tiers[:above], new, *(tier for tier in tiers[above:] if tier.level.name not in crossed)]


def refines(fine: Tier, coarse: Tier) -> bool:
    """Whether all rows of one value of the first have one value of the second."""
    held: dict[str, str] = {}
    return all(held.setdefault(a, b) == b for a, b in zip(fine.values, coarse.values, strict=True))


def _domains(
    rows: Sequence[Row], tiers: Sequence[Tier], partition: Sequence[str], renamed: Renamed
) -> Iterator[Domain]:
    """One domain for each path, its rows together, in the order of the first."""
    columns = [_values(tier, renamed) for tier in tiers]
    nvlink = next((n for n, tier in enumerate(tiers) if tier.level.nvlink), None)
    made: dict[tuple[str, ...], list[int]] = {}
    for number in range(len(rows)):
        made.setdefault(tuple(column[number] for column in columns), []).append(number)
    for path, numbers in made.items():
        said = rows[numbers[0]].partition
        known = partition[numbers[0]] if partition and nvlink is not None else ""
        own = "" if nvlink is None or known in (path[nvlink], tiers[nvlink].values[numbers[0]]) else known
        leaves = dict.fromkeys(leaf for number in numbers for leaf in rows[number].leaves)
        nodes = tuple(node for number in numbers for node in rows[number].nodes)
        yield Domain(path, nodes, _visible(own if said is None else said), tuple(leaves))


def _visible(text: str) -> str:
    """An NVLink partition as our schema takes it."""
    return "".join(c if "!" <= c <= "~" else "-" for c in text)[:128]


def _values(tier: Tier, renamed: Renamed) -> tuple[str, ...]:
    """Label values, unique like the names that they are made of."""
    if tier.shown:
        return tier.shown
    made: dict[str, str] = {}
    taken: set[str] = set()
    for each in dict.fromkeys(tier.values):
        plain = value(each)
        made[each] = plain if plain not in taken else f"x{fnv64a(each):x}"
        taken.add(made[each])
        renamed.note(each, made[each])
    return tuple(made[each] for each in tier.values)


def roots(rows: Sequence[Row], at: Route) -> Iterator[Diagnostic]:
    """T540: no link leads from one part of the fabric to another."""
    sizes: dict[str, int] = {}
    for row in rows:
        if row.switches:
            sizes[row.switches[0]] = sizes.get(row.switches[0], 0) + len(row.nodes)
    if len(sizes) > 1:
        yield from apart(list(sizes.items()), at)


def apart(parts: Sequence[tuple[str, int]], at: Route) -> Iterator[Diagnostic]:
    """The same, for the top of each part and its number of nodes."""
    shown = some([f"{name} with {size} nodes" for name, size in parts])
    message = f"nothing links {len(parts)} parts of the fabric: {shown}"
    hint = "a gang cannot span them; if it can, the source lacks the switches above"
    yield warning("T540", at, message, hint=hint)


def left_out(code: str, names: Sequence[str], why: str, at: Route, hint: str = "") -> Iterator[Diagnostic]:
    """A warning that names the first of what is not in the result, and counts all."""
    if names:
        yield warning(code, at, f"left out: {len(names)} {why}: {some(names)}", hint=hint)


def remark(code: str, at: Route, message: str, hint: str = "") -> Diagnostic:
    """An info."""
    return info(code, at, message, hint=hint)
