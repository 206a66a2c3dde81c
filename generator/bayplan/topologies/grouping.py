"""Pools of equal nodes, from sources that list nodes one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Route, warning
from bayplan.core.phrases import listing
from bayplan.core.values import common, grouped
from bayplan.kube.objects import flattened, mapping, non_empty
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.manifest import Object
from bayplan.model.topology import AcceleratorKind, ClusterTopology, Domain, Level, NodeShape, Pool
from bayplan.topologies.native import planned

LONGEST = 63
PLACEHOLDER = "topology.bayplan.dev"
"""The prefix of placeholder labels, which nodes do not have yet: `topology export --to node-labels` sets them."""
LABEL_VALUES = "label values have at most 63 letters, digits, dashes, dots and underscores"
CLIQUE = "nvidia.com/gpu.clique"
"""`<ClusterUUID>.<CliqueID>`: the NVLink partition (GPU feature discovery, internal/lm/imex.go)."""


def placeholder(name: str, nvlink: bool = False) -> Level:
    """A level with a placeholder label, which nodes do not have yet."""
    return Level(name, f"{PLACEHOLDER}/{name}", nvlink, apply=True)


class SourceNode(NamedTuple):
    """One node in a source."""

    name: str
    route: Route
    product: str = ""  # of its GPUs, in the words of the source
    cards: int = 0
    resources: Mapping[str, int] = {}  # in thousandths
    levels: tuple[Level, ...] = ()
    path: tuple[str, ...] = ()
    reason: str = ""  # why it is unusable


def text_of(value: Any) -> str:
    """A string, or an integer as string; empty for other values and extreme numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**30 else ""
    return value if isinstance(value, str) else ""


def dns_label(text: str) -> str:
    """The string as a DNS label; empty if no character of it is valid."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST].strip("-")


@cache
def value(text: str) -> str:
    """The string as the value of a node label."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", text).strip("-_.")[:LONGEST].strip("-_.")


NAMELESS = "gpu"
"""The name of GPUs if a source has only their number."""


@cache
def accelerator(product: str) -> str:
    """`NVIDIA H100 80GB HBM3`, `NVIDIA-H100-80GB-HBM3-SHARED`, `h100` -> `h100`: the words up to one with a digit."""
    words = re.sub("[^a-z0-9]+", "-", product.lower()).strip("-")
    words = re.sub("^((nvidia|amd|tesla|instinct|graphics-device)-)+", "", words)
    match = re.match("(?:[a-z]+-)*?[a-z]*[0-9][a-z0-9]*", words)
    return (match[0] if match else words)[:LONGEST].strip("-") or NAMELESS


def part(name: str, nodes: Iterable[SourceNode], source: SourceFile, options: ReadOptions) -> Part:
    """The nodes in pools: one for each kind and number of GPUs and list of levels."""
    listed = list(nodes)
    groups = grouped(
        ((accelerator(node.product) if node.cards else "", node.cards, node.levels), node) for node in listed
    )
    taken: set[str] = set()
    rest = "cpu" if any(kind for kind, _, _ in groups) else "nodes"  # nodes without GPUs
    pools = tuple(_pool(free(key[0] or rest, taken), *key, held) for key, held in groups.items())
    kinds = {pool.node.accelerator: AcceleratorKind(pool.node.accelerator) for pool in pools if pool.node.accelerator}
    topology = planned(ClusterTopology(dns_label(name) or "cluster", pools, accelerators=kinds), options.plan)
    return Part(topology, {node.name: node.route for node in listed}, source=source.name)


def free(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken. Adds the result to the taken names."""
    result, number = name, 2
    while result in taken:
        result, number = f"{name[: LONGEST - 6]}-{number}", number + 1
    taken.add(result)
    return result


def _pool(name: str, kind: str, cards: int, levels: tuple[Level, ...], nodes: Sequence[SourceNode]) -> Pool:
    rows = grouped((node.path, node.name) for node in nodes)
    unusable = grouped((node.reason, node.name) for node in nodes if node.reason)
    return Pool(
        name,
        NodeShape(kind, cards, dict(sorted(least(node.resources for node in nodes).items()))),
        levels,
        tuple(Domain(path, tuple(names)) for path, names in rows.items()),
        {reason: tuple(names) for reason, names in sorted(unusable.items())},
    )


def least(offers: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """What every node has: the smallest amount of each resource that all nodes have."""
    first, *rest = {id(amounts): amounts for amounts in offers}.values()
    kept = dict(first)
    for amounts in rest:
        kept = {key: min(amount, amounts[key]) for key, amount in kept.items() if key in amounts}
    return kept


def in_order(nodes: Iterable[SourceNode]) -> list[SourceNode]:
    """The nodes by their paths, then by name."""
    listed = list(nodes)
    keys = {path: tuple(map(natural, path)) for path in {node.path for node in listed}}
    return sorted(listed, key=lambda node: (keys[node.path], natural(node.name)))


def natural(name: str) -> tuple[object, ...]:
    """Sorts `n2` before `n10`."""
    parts = re.split(r"([0-9]+)", name)
    return tuple(_number(each) if number % 2 else each for number, each in enumerate(parts))


def _number(digits: str) -> tuple[int, str, str]:
    significant = digits.lstrip("0")
    return len(significant), significant, digits


def nested(nodes: Sequence[SourceNode], at: Route) -> tuple[list[SourceNode], tuple[Diagnostic, ...]]:
    """The nodes with levels that nest. An NVLink domain below several switches keeps only the levels above all of them,
    and T510 reports the levels that are left out."""
    linked = (node for node in nodes if node.levels and node.levels[-1].nvlink)
    above = grouped(((node.levels, node.path[-1]), node.path[:-1]) for node in linked)
    depth: dict[tuple[Level, ...], int] = {}
    for (levels, _), paths in above.items():
        depth[levels] = min(depth.get(levels, len(levels)), len(common(dict.fromkeys(paths))))
    crossed = {levels: kept for levels, kept in depth.items() if kept < len(levels) - 1}
    return [_above(node, crossed) for node in nodes], tuple(
        _crossed(levels, kept, at) for levels, kept in crossed.items()
    )


def _above(node: SourceNode, crossed: Mapping[tuple[Level, ...], int]) -> SourceNode:
    kept = crossed.get(node.levels, len(node.levels))
    if kept == len(node.levels):
        return node
    return node._replace(levels=(*node.levels[:kept], node.levels[-1]), path=(*node.path[:kept], node.path[-1]))


def _crossed(levels: tuple[Level, ...], kept: int, at: Route) -> Diagnostic:
    names = listing([each.name for each in levels[kept:-1]], "and")
    message = f'left out {names}: domains of "{levels[-1].name}" are in several domains of it'
    hint = "correct the place of the nodes if it is wrong; schedulers support only nested levels"
    return warning("T510", at, message, hint=hint)


def toleration(key: str, value: str, effect: str) -> dict[str, str]:
    """A toleration of the taint."""
    operator = {"operator": "Equal", "value": value} if value else {"operator": "Exists"}
    return {"key": key, **operator, **non_empty(effect=effect)}


def upwards(name: str, parent: Mapping[str, str]) -> tuple[str, ...]:
    """The ancestors of a name, top first, and the name."""
    path = [name]
    while path[0] in parent:
        path.insert(0, parent[path[0]])
    return tuple(path)


def kube_objects(source: SourceFile) -> Iterator[Object]:
    """The Kubernetes objects of a file, with the items of lists, even if the `kind` at the end of a list is missing."""
    for number, document in enumerate(source.documents):
        yield from flattened(Object(source.at(number), {"kind": "List", **mapping(document.data)}))
