"""Pools out of nodes that hang on a tree: one for each equipment, with the least of what its nodes offer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, has_errors, info, warning
from bayplan.model.topology import AcceleratorKind, Domain, NodeShape, Pool
from bayplan.topologies import grouping
from bayplan.topologies.nodes import shapes
from bayplan.topologies.nodes.census import Alike, Census, least, nodes_of, size
from bayplan.topologies.nodes.levels import Path, Row
from bayplan.topologies.nodes.states import states, told
from bayplan.topologies.nodes.trees import Grown
from bayplan.topologies.nodes.words import named

MOST_PODS = 10_000_000
"""Thousandths: nodes that are none, as of virtual kubelets, offer any number."""
Devices = Mapping[str, int]
"""GPUs and network cards of a node, by resource."""


def pools(grown: Sequence[Grown], census: Census, found: list[Diagnostic]) -> tuple[Pool, ...]:
    """All pools, sorted by name; several of one stock are numbered."""
    used: set[str] = set()
    hung = {row.alike.names[0] for each in grown for row in each.tree.rows}
    away = [each for each in census.alike if each.names[0] not in hung]
    made = [
        _pool(each, devices, rows, grouping.free(each.stock.name, used), (census, away), found)
        for each in grown
        for devices, rows in _equipped(each.tree.rows)
    ]
    return tuple(sorted(made, key=lambda pool: natural(pool.name)))


def _equipped(rows: Iterable[Row]) -> list[tuple[Devices, list[Row]]]:
    """Rows by their equipment. A few that have less than their neighbours are broken, and no equipment of its own."""
    held: dict[tuple[tuple[str, int], ...], list[Row]] = {}
    for row in rows:
        held.setdefault(tuple(sorted(shapes.built_in(row.alike).items())), []).append(row)
    kept: list[tuple[Devices, list[Row]]] = []
    for devices in sorted(held, key=lambda devices: (-_size(held[devices]), devices)):
        own = held[devices]
        whole = next((others for more, others in kept if _broken(dict(devices), own, more, others)), None)
        if whole is None:
            kept.append((dict(devices), own))
        else:
            whole += own
    return kept


def _broken(devices: Devices, rows: Sequence[Row], whole: Devices, others: Sequence[Row]) -> bool:
    less = devices.keys() <= whole.keys() and all(devices.get(key, 0) <= amount for key, amount in whole.items())
    return less and 4 * _size(rows) <= _size(others) and {row.path for row in rows} <= {row.path for row in others}


def _size(rows: Iterable[Row]) -> int:
    return size(row.alike for row in rows)


def _pool(
    grown: Grown,
    devices: Devices,
    rows: Sequence[Row],
    name: str,
    counted: tuple[Census, Sequence[Alike]],
    found: list[Diagnostic],
) -> Pool:
    """A pool; `counted`: all nodes, and those of them that are in no pool."""
    stock, alike, census = grown.stock, [row.alike for row in rows], counted[0]
    taints = shapes.tolerated(alike)
    silent = not any(each.offer.ready for each in census.alike)
    countable = devices if plugged(grown) else {key: n for key, n in devices.items() if key != stock.make.resource}
    found += told(alike, countable, taints, silent, census.places)
    reasons = states(alike, countable, taints, silent, grown.sick)
    usable = [each for each in alike if each.names[0] not in reasons] or alike
    node = NodeShape(
        stock.kind,
        devices.get(stock.make.resource, 0),
        _resources(usable, stock.make.resource),
        (stock.frame.node.node_selector if stock.frame else {}) or _selector(alike, name, *counted, found),
        tuple(map(shapes.toleration, taints)),
    )
    return Pool(name, node, grown.tree.levels, tuple(_domains(rows, grown.partitions)), _by_reason(reasons))


def plugged(grown: Grown) -> bool:
    """Whether a device plugin offers the GPUs of any of the nodes."""
    return any(each.offer.amounts.get(grown.stock.make.resource) for each in grown.stock.alike)


def _offered(alike: Alike) -> str:
    """What pods come for: nothing but CPU where it is empty. Of the control plane they want nothing."""
    return "-" if shapes.is_control(alike) else shapes.resource_of(alike) or shapes.stranger(alike)


def _selector(
    alike: Sequence[Alike], name: str, census: Census, away: Sequence[Alike], found: list[Diagnostic]
) -> dict[str, str]:
    """What takes the nodes of this pool alone; else what takes none of another pool, but nodes that were left out."""
    own = {each.names[0] for each in alike}
    others = [each for each in census.alike if each.names[0] not in own]
    if exact := shapes.selector(alike, others):
        return exact
    out = {each.names[0] for each in away}
    made = shapes.selector(alike, (each for each in others if each.names[0] not in out))
    offered = {_offered(each) for each in alike}
    also = [each for each in away if made.items() <= each.labels.items() and _offered(each) in offered]
    if made and also and not has_errors(found):
        (key, value), names = next(iter(made.items())), nodes_of(also)
        message = f'the selector of pool "{name}", {key}={value}, also takes {named(names)}, in no pool'
        hint = "pods may be put on them: label them as the others are, or cordon them"
        found.append(warning("T591", census.places[names[0]], message, hint=hint))
    return made


def _resources(alike: Iterable[Alike], counted: str) -> dict[str, int]:
    """What is left of the least amounts without the GPUs, which are counted apart."""
    amounts = least(each.offer.amounts for each in alike)
    return {
        key: amount if key != "pods" else min(amount, MOST_PODS)
        for key, amount in sorted(amounts.items())
        if amount > 0 and key not in (*shapes.CARDS, counted) and not key.startswith(shapes.VOLUMES)
    }


def _domains(rows: Iterable[Row], partitions: Mapping[Path, str]) -> Iterator[Domain]:
    held: dict[Path, list[str]] = {}
    for row in rows:
        held.setdefault(row.path, []).extend(row.alike.names)
    columns = [in_order(set(values)) for values in zip(*held, strict=True)]
    ranks = [{value: rank for rank, value in enumerate(column)} for column in columns]
    for path in sorted(held, key=lambda path: [rank[value] for rank, value in zip(ranks, path, strict=True)]):
        yield Domain(path, tuple(in_order(held[path])), partitions.get(path, ""))


def _by_reason(reasons: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    held: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        held.setdefault(reason, []).append(name)
    return {reason: tuple(in_order(names)) for reason, names in sorted(held.items())}


_NUMBERS = re.compile(r"([0-9]+)")


def natural(text: str) -> tuple[list[str | int], str]:
    """What texts are sorted by so that n10 comes after n9."""
    parts = _NUMBERS.split(text)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], text


def in_order(names: Iterable[str]) -> list[str]:
    """Sorted, numbers as numbers."""
    listed = sorted(names)
    if len({*map(len, listed)}) < 2:
        return listed
    return sorted(listed, key=len if _one_number(listed) else natural)


def _one_number(listed: Sequence[str]) -> bool:
    """Whether sorted names differ in one number alone: then the longer one is the greater."""
    first, last = listed[0], listed[-1]
    start = next(place for place, pair in enumerate(zip(f"{first}\0", last, strict=False)) if pair[0] != pair[1])
    start = len(first[:start].rstrip("0123456789"))
    tail = first[start:].lstrip("0123456789")
    numbers = [name[start : len(name) - len(tail)] for name in listed if name.endswith(tail)]
    return len(numbers) == len(listed) and all(each.isdecimal() and each[0] != "0" for each in numbers)


def accelerators(
    grown: Sequence[Grown], places: Mapping[str, Route], found: list[Diagnostic]
) -> dict[str, AcceleratorKind]:
    """How the GPUs of each stock are asked for, by kind."""
    made: dict[str, AcceleratorKind] = {}
    for each in grown:
        kind, resource, by_plugin = each.stock.kind, each.stock.make.resource, plugged(each)
        if kind and (by_plugin or kind not in made):
            made[kind] = shapes.accelerator(kind, resource, by_plugin)
        if kind and shapes.is_part(each.stock.make.product):
            found.append(_part(each, places))
        if kind and not by_plugin:
            message = f'no node of pool "{each.stock.name}" has "{resource}" to allocate: GPUs are asked for by DRA'
            place = places[nodes_of(each.stock.alike)[0]]
            found.append(info("T525", place, message, hint="if they should not be, is the device plugin running?"))
    return dict(sorted(made.items()))


def _part(grown: Grown, places: Mapping[str, Route]) -> Diagnostic:
    """T528: who needs whole GPUs must not get these."""
    stock = grown.stock
    offered = min(each.offer.amounts.get(stock.make.resource, 0) for each in stock.alike) // 1000
    message = (
        f'nodes of pool "{stock.name}" offer parts of GPUs, such as {offered} of "{stock.make.resource}":'
        f' the accelerator "{stock.kind}" ({stock.make.product.strip("-")})'
    )
    hint = "whole GPUs are another accelerator, and these nodes have none of them to give"
    return info("T528", places[nodes_of(stock.alike)[0]], message, hint=hint)
