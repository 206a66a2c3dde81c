"""Pools from the switches above nodes: nodes at the same depth are one pool, and each tier of switches is one level.

Kueue drops nodes that lack a level's label, and Volcano accepts no uneven trees. So nodes of a pool have equal depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    PLACEHOLDER,
    Diagnostic,
    Domain,
    Level,
    NodeShape,
    Pool,
    Route,
    SourceFile,
    count,
    dns_label,
    error,
    free,
    grouped,
    has_errors,
    info,
    warning,
)

LONGEST_VALUE = 63
LONGEST_NAME = 253
_NODE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_BASIS, _PRIME = 0xCBF29CE484222325, 0x100000001B3


def node_name(text: str) -> str:
    """The Kubernetes node of a host: its name in lower case. Empty if it is not a valid name of a node."""
    lower = text.lower()
    return lower if len(lower) <= LONGEST_NAME and _NODE.fullmatch(lower) else ""


def value(text: str) -> str:
    """The string as a valid label value. A hash replaces a value that is too long, as in Topograph."""
    if len(text) > LONGEST_VALUE:
        return f"x{fnv64a(text):x}"
    if _VALUE.fullmatch(text):
        return text
    return re.sub(r"[^A-Za-z0-9_.-]", "-", text).strip("-_.") or f"x{fnv64a(text):x}"


def fnv64a(text: str) -> int:
    """The hash of Topograph's long label values (Topograph 1.0, `pkg/engines/k8s/labeler.go`)."""
    digest = _BASIS
    for byte in text.encode("utf-8", "surrogatepass"):
        digest = (digest ^ byte) * _PRIME & 0xFFFFFFFFFFFFFFFF
    return digest


def stem(path: str) -> str:
    """A file's name without folder and extension, as the name of a topology."""
    return dns_label(re.sub(r"\.[A-Za-z]+$", "", path.replace("\\", "/").rpartition("/")[2])) or "fabric"


class RenamedNames(NamedTuple):
    """Names that bayplan changed: (name in the source, new name)."""

    what: str
    pairs: list[tuple[str, str]]

    def note(self, old: str, new: str) -> str:
        """The new name. Records the pair if it differs."""
        if old != new:
            self.pairs.append((old, new))
        return new

    def reported(self, route: Route) -> Iterator[Diagnostic]:
        """T536, once for all names."""
        pairs = list(dict.fromkeys(self.pairs))
        if pairs:
            changed = some([f"{old} to {new}" for old, new in pairs])
            message = f"changed {count(len(pairs), self.what)} to fit Kubernetes: {changed}"
            hint = "no action needed: other sources can use the old names" if self.what == "node name" else ""
            yield info("T536", route, message, hint=hint)


def some(names: Sequence[str], most: int = 4) -> str:
    """The first few names, and the number of the others."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


POOL = "nodes"


class Row(NamedTuple):
    """Nodes below the same switches: coarse to fine, each name unique in the fabric.

    `groups`: their domains of other levels (`domain`, `sub-domain`). `pool`, `levels` with their label values, and the
    NVLink `partition` are set if the source knows them.
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
    """A level of a pool, and its value for each row, unique among the rows."""

    level: Level
    values: tuple[str, ...]
    shown: tuple[str, ...] = ()  # the label values, if they differ


class LevelNames(NamedTuple):
    """The levels of a source. `tiers`: finest first; `groups`: by their key in `Row.groups`."""

    tiers: tuple[Level, ...]
    groups: Mapping[str, Level] = {}


def document(source: SourceFile, issues: list[Diagnostic]) -> Any:
    """The data of the file's first document, or None and its faults in `issues`."""
    if source.documents:
        return source.documents[0].data
    issues += source.faults
    return None


def listed(source: SourceFile, what: str, hint: str, issues: list[Diagnostic]) -> list[dict[str, Any]]:
    """The data as a list of mappings. T530 if it is not a list of `what`."""
    data = document(source, issues)
    if has_errors(issues):
        return []
    if isinstance(data, list) and all(isinstance(each, dict) for each in data):
        return data
    issues.append(error("T530", source.at(), f"the file is not a list of {what}", hint=hint))
    return []


def pools(rows: Sequence[Row], naming: LevelNames, at: Route, issues: list[Diagnostic]) -> tuple[Pool, ...]:
    """The rows as pools, the largest first."""
    rows = rows if any(row.pool or row.levels for row in rows) else list(_deep(rows, naming, at, issues))
    kinds = grouped(((row.pool, row.levels, len(row.switches), *sorted(row.groups)), row) for row in rows)
    ordered = list(kinds.values())
    if not any(row.pool for row in rows):
        ordered.sort(key=lambda each: -sum(len(row.nodes) for row in each))
        issues += _uneven(ordered, at)
    renamed = RenamedNames("label value", [])
    taken: set[str] = set()
    result = tuple(
        _pool(free(dns_label(each[0].pool) or POOL, taken), each, naming, renamed, issues) for each in ordered
    )
    issues += renamed.reported(at)
    return result


def _deep(rows: Sequence[Row], naming: LevelNames, at: Route, issues: list[Diagnostic]) -> Iterator[Row]:
    """Rows of one depth: a leaf at a smaller depth repeats its name, as in a tree of Slurm, so that each switch is on
    one level. Nodes on a switch above other switches become a separate pool with the level of that switch."""
    inner = {switch for row in rows for switch in row.switches[:-1]}
    deepest: dict[tuple[str, ...], int] = {}
    for row in rows:
        groups = tuple(sorted(row.groups))
        deepest[groups] = max(deepest.get(groups, 0), len(row.switches))
    missing = [deepest[tuple(sorted(row.groups))] - len(row.switches) if row.switches else 0 for row in rows]
    shallow = [row for row, lacks in zip(rows, missing, strict=True) if lacks and row.switches[-1] not in inner]
    if shallow:
        leaves = list(dict.fromkeys(row.switches[-1] for row in shallow))
        message = f"leaf switches have fewer switches above them than others: {some(leaves)}"
        hint = "check that the source is complete: bayplan repeats the leaf's name for the missing levels"
        issues.append(warning("T532", shallow[0].route or at, message, hint=hint))
    for row, lacks in zip(rows, missing, strict=True):
        if lacks and row.switches[-1] in inner:
            heights = range(lacks + len(row.switches) - 1, lacks - 1, -1)
            levels = tuple(_word(naming, height) for height in heights)
            yield row._replace(levels=levels, values=tuple(map(value, row.switches)))
        else:
            yield row._replace(switches=(*row.switches, *row.switches[-1:] * lacks))


def _uneven(kinds: Sequence[Sequence[Row]], at: Route) -> Iterator[Diagnostic]:
    """T532: nodes that cannot share one list of levels with most others."""
    for rows in kinds[1:]:
        most, row = kinds[0][0], rows[0]
        lacks = sorted(set(most.groups) - set(row.groups))
        why = f"without {' and '.join(lacks)}" if lacks else f"below {_switches(row)}, not {_switches(most)}"
        names = [node for each in rows for node in each.nodes]
        message = f"bayplan makes a separate pool of nodes {why}, unlike most nodes: {some(names)}"
        hint = "complete the source if these nodes are equal to the others"
        yield warning("T532", row.route or at, message, hint=hint)


def _switches(row: Row) -> str:
    number = len(row.switches)
    return "no switch" if not number else "1 switch" if number == 1 else f"{number} switches"


def _pool(name: str, rows: Sequence[Row], naming: LevelNames, renamed: RenamedNames, issues: list[Diagnostic]) -> Pool:
    tiers = [_tier(rows, naming, number) for number in range(len(rows[0].switches))]
    partition: tuple[str, ...] = ()
    for key, level in naming.groups.items():
        if key in rows[0].groups:
            values = tuple(row.groups[key] for row in rows)
            partition = values if level.nvlink else partition
            tiers = placed(tiers, Tier(level, values), rows[0].route, issues)
    levels = tuple(_once(tier.level for tier in tiers))
    return Pool(name, NodeShape(), levels, tuple(_domains(rows, tiers, partition, renamed)))


def _tier(rows: Sequence[Row], naming: LevelNames, number: int) -> Tier:
    values = tuple(row.switches[number] for row in rows)
    if rows[0].levels:
        return Tier(rows[0].levels[number], values, tuple(row.values[number] for row in rows))
    return Tier(_word(naming, len(rows[0].switches) - 1 - number), values)


def _word(naming: LevelNames, height: int) -> Level:
    """The level at a height. Higher tiers than the source names get the highest name with a number."""
    if height < len(naming.tiers):
        return naming.tiers[height]
    last = naming.tiers[-1]
    return last._replace(name=f"{last.name}-{height}", label=f"{last.label}-{height}")


def _once(levels: Iterable[Level]) -> Iterator[Level]:
    """Levels with unique names and labels, even if a source gives two tiers one name."""
    names: set[str] = set()
    labels: set[str] = set()
    for number, level in enumerate(levels):
        name = level.name if level.name not in names else f"{level.name}-{number}"
        label = level.label if level.label not in labels else f"{PLACEHOLDER}/{name}"
        names.add(name)
        labels.add(label)
        yield level._replace(name=name, label=label)


def placed(tiers: Sequence[Tier], new: Tier, route: Route, issues: list[Diagnostic]) -> list[Tier]:
    """The tiers with another partition of the same rows where it nests. An equal tier becomes the NVLink level.

    A partition that does not nest goes below the last tier that contains it whole, and replaces the tiers it crosses.
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
        message = f'level "{new.level.name}" replaces {" and ".join(crossed)}, because they do not nest with it'
        hint = f"schedulers support only nested levels; to keep the switches, remove {new.level.name} from the source"
        issues.append(warning("T510", route, message, hint=hint))
    return [*tiers[:above], new, *(tier for tier in tiers[above:] if tier.level.name not in crossed)]


def refines(fine: Tier, coarse: Tier) -> bool:
    """Whether all rows with one value of `fine` have one value of `coarse`."""
    held: dict[str, str] = {}
    return all(held.setdefault(a, b) == b for a, b in zip(fine.values, coarse.values, strict=True))


def _domains(
    rows: Sequence[Row], tiers: Sequence[Tier], partition: Sequence[str], renamed: RenamedNames
) -> Iterator[Domain]:
    """One domain for each path with all its rows, in the order of the first row."""
    columns = [_values(tier, renamed) for tier in tiers]
    nvlink = next((n for n, tier in enumerate(tiers) if tier.level.nvlink), None)
    result = grouped((tuple(column[number] for column in columns), number) for number in range(len(rows)))
    for path, numbers in result.items():
        declared = rows[numbers[0]].partition
        named = partition[numbers[0]] if partition and nvlink is not None else ""
        own = "" if nvlink is None or named in (path[nvlink], tiers[nvlink].values[numbers[0]]) else named
        leaves = dict.fromkeys(leaf for number in numbers for leaf in rows[number].leaves)
        nodes = tuple(node for number in numbers for node in rows[number].nodes)
        yield Domain(path, nodes, _visible(own if declared is None else declared), tuple(leaves))


def _visible(text: str) -> str:
    """An NVLink partition with only the characters that bayplan's schema allows."""
    return "".join(c if "!" <= c <= "~" else "-" for c in text)[:128]


def _values(tier: Tier, renamed: RenamedNames) -> tuple[str, ...]:
    """Label values, as unique as the names that they come from."""
    if tier.shown:
        return tier.shown
    result: dict[str, str] = {}
    taken: set[str] = set()
    for each in dict.fromkeys(tier.values):
        plain = value(each)
        result[each] = plain if plain not in taken else f"x{fnv64a(each):x}"
        taken.add(result[each])
        renamed.note(each, result[each])
    return tuple(result[each] for each in tier.values)


def roots(rows: Sequence[Row], at: Route) -> Iterator[Diagnostic]:
    """T545: no link connects parts of the fabric."""
    sizes: dict[str, int] = {}
    for row in rows:
        if row.switches:
            sizes[row.switches[0]] = sizes.get(row.switches[0], 0) + len(row.nodes)
    return apart([*sizes.items()], at)


def apart(parts: Sequence[tuple[str, int]], at: Route) -> Iterator[Diagnostic]:
    """T545 for parts, each with its top switch and its number of nodes."""
    if len(parts) > 1:
        shown = some([f"{name} with {size} nodes" for name, size in parts])
        message = f"no link connects {len(parts)} parts of the fabric: {shown}"
        hint = "a gang cannot span them; if it can, add the switches above them to the source"
        yield warning("T545", at, message, hint=hint)


def left_out(code: str, names: Sequence[str], noun: str, why: str, at: Route, hint: str = "") -> Iterator[Diagnostic]:
    """A warning that counts what bayplan leaves out, and names the first few."""
    if names:
        yield warning(code, at, f"left out {count(len(names), noun)} {why}: {some(names)}", hint=hint)
