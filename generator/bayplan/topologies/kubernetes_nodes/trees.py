"""The tree of nodes with equal hardware: levels from labels, NVLink partitions, and nodes without a place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bayplan.core.diagnostics import info
from bayplan.core.phrases import count, listing
from bayplan.core.values import grouped
from bayplan.model.formats import ReadOptions
from bayplan.model.topology import Level, Pool
from bayplan.topologies import grouping
from bayplan.topologies.grouping import CLIQUE
from bayplan.topologies.kubernetes_nodes import AllNodes, NodeGroup, Report, hardware, levels, nodes_of, proposals, size
from bayplan.topologies.kubernetes_nodes.levels import (
    MOST,
    PLACES,
    Path,
    Places,
    Row,
    Tier,
    Tiers,
    Tree,
    even,
    has,
    lack,
    minority,
    named,
    placed,
    report_two_places,
)


class Family(NamedTuple):
    """Nodes that become pools with one list of levels. `frame`: the pool that another source describes."""

    name: str
    machine: hardware.Machine
    kind: str  # of the accelerator
    groups: tuple[NodeGroup, ...]
    frame: Pool | None = None
    plain: bool = False  # nodes without accelerators beside others that have some


def families(all_nodes: AllNodes, options: ReadOptions, report: Report) -> list[Family]:
    """All workers. Reports and leaves out other nodes."""
    frames, accelerated = options.frames, any(map(hardware.is_accelerated, all_nodes.groups))
    cards = accelerated and (options.accelerated_only or bool(frames))
    sorted_in = [(each, _frame(each, frames) if frames else None) for each in all_nodes.groups]
    workers = [(each, frame) for each, frame in sorted_in if frame or not _no_worker(each, cards)]
    kept = workers or sorted_in  # a cluster whose control-plane nodes also run workloads
    if workers:
        _report_left_out([each for each, frame in sorted_in if not frame and _no_worker(each, cards)], report)
    result = [(each, frame, hardware.machine_of(each)) for each, frame in kept]
    kinds = hardware.kinds_of(machine.product for _, _, machine in result if machine.resource)
    taken = {frame.name: frame for _, frame in kept if frame}
    names = _names({machine for _, frame, machine in result if not frame}, kinds, taken)
    _report_unmodelled([each for each, _ in kept], report)
    _report_nameless([each for each, _ in kept], report)
    pools = grouped((frame.name if frame else names[machine], (machine, each)) for each, frame, machine in result)
    return [
        _family(name, grouped(pairs), kinds, taken.get(name), report)._replace(
            plain=accelerated and not any(hardware.is_accelerated(each) for _, each in pairs)
        )
        for name, pairs in sorted(pools.items())
    ]


def _frame(group: NodeGroup, frames: Sequence[Pool]) -> Pool | None:
    """The first pool whose selector matches the nodes, or the first without a selector that has as many GPUs."""
    for frame in frames:
        selector = frame.node.node_selector
        if selector and all(group.labels.get(key) == value for key, value in selector.items()):
            return frame
    resource = hardware.resource_of(group)
    if hardware.is_control(group) or hardware.unmodelled(group):
        return None
    if not resource:
        plain = (each for each in frames if each.node.resources and not each.node.accelerator)
        accelerated = any(each.node.accelerator for each in frames)
        return next((each for each in plain if accelerated and not each.node.node_selector), None)
    kinds = ("", hardware.kind_of(hardware.product_of(group)))
    counts = (0, hardware.built_in(group)[resource])
    fits = (each for each in frames if each.node.accelerator in kinds and each.node.accelerators in counts)
    return next((each for each in fits if not each.node.node_selector), None)


def _no_worker(group: NodeGroup, cards: bool) -> bool:
    return hardware.is_control(group) or (cards and not hardware.is_accelerated(group))


def _report_left_out(groups: Sequence[NodeGroup], report: Report) -> None:
    """T515."""
    control = nodes_of(filter(hardware.is_control, groups))
    plain = nodes_of(each for each in groups if not hardware.is_control(each))
    for names, why in ((control, "of the control plane"), (plain, "without GPUs")):
        if names:
            report.info("T515", names, f"left out {named(names)} {why}")


def _report_unmodelled(groups: Iterable[NodeGroup], report: Report) -> None:
    """T527: accelerators that bayplan has no kind for."""
    unmodelled = grouped((strange, each) for each in groups if (strange := hardware.unmodelled(each)))
    for resource, own in sorted(unmodelled.items()):
        names = nodes_of(own)
        message = f'{has(names)} "{resource}", which bayplan writes under `resources`, not as an accelerator'
        hint = "request it under `resources` of a podSet; `accelerator` and `wholeNode` do not include it"
        report.warning("T527", names, message, hint=hint)


def _report_nameless(groups: Iterable[NodeGroup], report: Report) -> None:
    """T527: GPU feature discovery labelled some nodes with their GPU product, and not these nodes."""
    by_name = grouped((bool(hardware.labelled(each)), each) for each in groups if hardware.resource_of(each))
    if len(by_name) == 2:
        names = nodes_of(by_name[False])
        resource = hardware.resource_of(by_name[False][0])
        like = _neighbours(by_name[False], by_name[True])
        products = sorted({hardware.labelled(each) for each in like})
        message = (
            f'{has(names)} "{resource}" without the label "{hardware.label_of(like[0])}", which'
            f" {count(size(like), 'other node')} set to {listing(products, 'or', 3)}; bayplan makes a separate pool"
        )
        hint = "check that GPU feature discovery runs there; if the GPUs are the same, the nodes need the label"
        report.warning("T527", names, message, hint=hint)


def _neighbours(nameless: Sequence[NodeGroup], named: Sequence[NodeGroup]) -> list[NodeGroup]:
    """The nodes with as many GPUs, or all if no node has as many."""
    cards = [hardware.built_in(each) for each in nameless]
    return [each for each in named if hardware.built_in(each) in cards] or list(named)


def _names(
    machines: set[hardware.Machine], kinds: Mapping[str, str], taken: Iterable[str]
) -> dict[hardware.Machine, str]:
    """A name for the pool of each machine: its GPU, or its instance type."""
    used = set(taken)
    stems = {
        machine: kinds[machine.product] if machine.resource else grouping.dns_label(machine.product) or "cpu"
        for machine in machines
    }
    return {machine: grouping.free(stems[machine], used) for machine in sorted(machines)}


def _family(
    name: str,
    machines: Mapping[hardware.Machine, list[NodeGroup]],
    kinds: Mapping[str, str],
    frame: Pool | None,
    report: Report,
) -> Family:
    """The nodes of one pool. Only a pool of another source can combine several machines."""
    first, *others = sorted(machines, key=lambda machine: (not machine.resource, -size(machines[machine]), machine))
    many = nodes_of(machines[first])[0]
    for other in others:
        few = nodes_of(machines[other])
        if first.resource and not other.resource:
            message = f'left out {named(few)} without GPUs, although the selector of pool "{name}" matches'
            report.warning("T515", few, message, hint="use a selector that matches only GPU nodes")
        else:
            kinds_of = _machine_name(first), _machine_name(other)
            message = f'pool "{name}" has {kinds_of[0]}, such as "{many}", and {kinds_of[1]}, such as "{few[0]}"'
            hint = "give each kind of node its own pool with its own `nodeSelector`"
            report.error("T514", few, message, hint=hint)
    kind = (frame.node.accelerator if frame else "") or kinds.get(first.product, "") if first.resource else ""
    return Family(name, first, kind, tuple(machines[first]), frame)


def _machine_name(machine: hardware.Machine) -> str:
    return (
        f"nodes with {machine.product or machine.resource or 'no GPUs'}{f' on {machine.arch}' if machine.arch else ''}"
    )


# NVLink partitions: compares the cliques of nodes with the levels.

ZERO = "00000000-0000-0000-0000-000000000000"
"""The ClusterUUID of GPUs whose fabric is down."""
KINDS = ("gb200", "gb300", "vr200", "vr300")
"""Accelerators that have NVLink between nodes, even if no label gives a clique."""


def clique(group: NodeGroup) -> str:
    """The NVLink partition of nodes; empty if they have none, or none yet."""
    declared = group.labels.get(CLIQUE, "")
    return "" if declared.startswith(ZERO) else declared


def lacking(groups: Sequence[NodeGroup]) -> list[NodeGroup]:
    """Nodes without a clique, if most have one."""
    without = [each for each in groups if not clique(each)]
    return without if 2 * size(without) <= size(groups) else []


def with_accelerators(tree: Tree, beside: Sequence[Tier], where: str, report: Report) -> Tree:
    """The tree with the levels of accelerators: below the switches, above them, or in place of some."""
    for tier in beside:
        tree = _placed(tree, tier, where, report)
    return tree


def _placed(tree: Tree, tier: Tier, where: str, report: Report) -> Tree:
    pairs = [(row.group.labels[tier.label], row.path) for row in tree.rows]
    values, depth = {value for value, _ in pairs}, len(tree.levels)
    while depth and len({(value, path[:depth]) for value, path in pairs}) > len(values):
        depth -= 1
    below = tree.levels[depth:]
    if below and _few(tree, tier, depth, report):
        return tree
    nested = len(set(pairs)) == len({path for _, path in pairs})  # each domain below is in one rack
    if not nested and below:
        names = listing([level.name for level in below], "and")
        message = f'left out {names} of {where}, not nested with "{tier.name}" ("{tier.label}")'
        hint = "schedulers support only nested levels; choose others with --level"
        report.warning("T510", tree.rows[0].group.names, message, hint=hint)
    keep = len(tree.levels) if nested else depth
    rows = tuple(
        Row((*path[:depth], value, *path[depth:keep]), row.group)
        for (value, path), row in zip(pairs, tree.rows, strict=True)
    )
    return Tree((*tree.levels[:depth], Level(tier.name, tier.label), *tree.levels[depth:keep]), rows)


def _few(tree: Tree, tier: Tier, depth: int, report: Report) -> bool:
    """T505: only a few nodes put a rack into a second place."""
    above = placed((row.group.labels[tier.label], row.path[: depth + 1], row.group) for row in tree.rows)
    wrong = {value: held for value, held in above.items() if len(held) > 1 and not even(held)}
    for value, held in list(wrong.items())[:MOST]:
        report_two_places(tier, value, tree.levels[depth].name, tree.levels[depth].label, depth, held, report)
    return bool(wrong)


class NvlinkTree(NamedTuple):
    """A tree with a marked NVLink level. `partitions`: path -> the clique of its nodes."""

    tree: Tree
    partitions: Mapping[Path, str] = {}


def with_nvlink(tree: Tree, candidates: Sequence[int], extend: bool, where: str, report: Report) -> NvlinkTree:
    """Marks the level whose domains are the cliques, or adds a level below racks that cliques divide evenly."""
    rows = [row for row in tree.rows if clique(row.group)]
    if not rows:
        return NvlinkTree(_marked(tree, candidates[0]) if candidates else tree)
    for depth in candidates:
        if matches(tree, depth):
            of = {row.path[: depth + 1]: clique(row.group) for row in rows}
            return NvlinkTree(_marked(tree, depth), _named(tree, of, depth))
    if not candidates:
        return NvlinkTree(tree)
    return _divided(tree, rows, candidates[0], extend, where, report)


def matches(tree: Tree, depth: int) -> bool:
    """Whether the domains of a level are the NVLink partitions of the nodes that have one."""
    pairs = {(row.path[: depth + 1], own) for row in tree.rows if (own := clique(row.group))}
    return len(pairs) == len({path for path, _ in pairs}) == len({name for _, name in pairs}) > 0


def _marked(tree: Tree, depth: int) -> Tree:
    levels = list(tree.levels)
    levels[depth] = levels[depth]._replace(nvlink=True)
    return tree._replace(levels=tuple(levels))


def _named(tree: Tree, of: Mapping[Path, str], depth: int) -> dict[Path, str]:
    """The clique of each path, if the label of the level does not give it."""
    if tree.levels[depth].label == CLIQUE:
        return {}
    return {row.path: of[row.path[: depth + 1]] for row in tree.rows if row.path[: depth + 1] in of}


def _divided(tree: Tree, rows: Sequence[Row], depth: int, extend: bool, where: str, report: Report) -> NvlinkTree:
    """More than one clique in a rack: a new level if they are equal parts, as in racks of 2 x 36 GPUs."""
    level, names, before = tree.levels[depth], rows[0].group.names, len(report.diagnostics)
    _report_uneven(tree, depth, level, report)
    _report_spread(rows, depth, level, report)
    if len(report.diagnostics) > before:
        return NvlinkTree(tree)
    most = max(Counter(path for path, _ in {(row.path[: depth + 1], clique(row.group)) for row in rows}).values())
    message = f"each {level.name} of {where} has up to {most} NVLink partitions of equal size"
    if not extend:
        report.warning("T522", names, message, hint=f"add it as the finest level: --level clique={CLIQUE},nvlink")
        return NvlinkTree(tree)
    report.info("T522", names, message, hint=f'no action needed: bayplan adds the level "clique" ("{CLIQUE}")')
    levels = (*tree.levels, Level("clique", CLIQUE, nvlink=True))
    return NvlinkTree(Tree(levels, tuple(Row((*row.path, clique(row.group)), row.group) for row in rows)))


def _report_uneven(tree: Tree, depth: int, level: Level, report: Report) -> None:
    """T505: a rack with two cliques, one of which has few nodes. Nodes without a known clique could be in either."""
    unknown = Counter(row.path[: depth + 1] for row in tree.rows if not clique(row.group) for _ in row.group.names)
    linked = (row for row in tree.rows if clique(row.group))
    held = placed((row.path[: depth + 1], (clique(row.group),), row.group) for row in linked)
    wrong = [path for path, cliques in held.items() if _difference(cliques) > unknown[path]]
    for path in wrong[:MOST]:
        few, many = minority(held[path])
        names, most = nodes_of(held[path][few]), count(size(held[path][many]), "node")
        message = (
            f'{level.name} "{path[-1]}" has two NVLink partitions: "{many[0]}" on {most},'
            f' and "{few[0]}" on {named(names)}'
        )
        hint = f'correct the label "{CLIQUE}" or "{level.label}" of {named(names)}; partitions must be equal in size'
        report.error("T505", names, message, hint=hint)


def _difference(parts: Places) -> int:
    sizes = [size(each) for each in parts.values()]
    return max(sizes) - min(sizes)


def _report_spread(rows: Sequence[Row], depth: int, level: Level, report: Report) -> None:
    """T505: a clique in two racks."""
    held = placed((clique(row.group), row.path[: depth + 1], row.group) for row in rows)
    several = [(name, paths) for name, paths in held.items() if len(paths) > 1]
    for name, paths in several[:MOST]:
        few, many = minority(paths)
        names, most = nodes_of(paths[few]), count(size(paths[many]), "node")
        message = (
            f'the NVLink partition "{name}" is in two places: {level.name} "{many[-1]}" on {most},'
            f' and "{few[-1]}" on {named(names)}'
        )
        hint = f'correct the label "{CLIQUE}" or "{level.label}" of {named(names)}'
        report.error("T505", names, message, hint=hint)


class FamilyTree(NamedTuple):
    """A family and its tree. `partitions`: path -> NVLink partition; `unlinked`: nodes without a partition."""

    family: Family
    tree: Tree
    partitions: Mapping[Path, str]
    unlinked: frozenset[str]
    flat: bool = False  # no label gives the place of nodes with GPUs
    proposed: tuple[Level, ...] = ()  # levels with unknown labels that divide the nodes evenly


def family_tree(family: Family, options: ReadOptions, report: Report) -> FamilyTree:
    """The tree of a family. Plain nodes whose labels have errors get no levels."""
    if not family.plain or (family.frame and family.frame.levels):
        return _family_tree(family, options, report)
    attempt = Report(report.places, [])
    result = _family_tree(family, options, attempt)
    if not attempt.has_errors():
        report.diagnostics.extend(attempt.diagnostics)
        return result
    first = next(each for each in attempt.diagnostics if each.severity == "error")
    message = f'pool "{family.name}" has no levels, because {first.message}'
    report.diagnostics.append(info("T518", first.route, message, hint=first.hint))
    return FamilyTree(family, Tree((), tuple(Row((), each) for each in family.groups)), {}, frozenset())


def _family_tree(family: Family, options: ReadOptions, report: Report) -> FamilyTree:
    where = f'pool "{family.name}"'
    tiers = _tiers(family, options, where, report)
    every = (*tiers.tree, *tiers.beside)
    levels.report_incomplete(family.groups, every, where, options.exclude_incomplete, report)
    rows = levels.rows_of([each for each in family.groups if _complete(each, every)], tiers.tree)
    before = len(report.diagnostics)
    fixed = options.fixed_levels and bool(family.frame and family.frame.levels)
    tree = levels.tree_of(rows, tiers.tree, where, report, fixed=fixed)
    if not report.has_errors(before):
        tree = with_accelerators(tree, tiers.beside, where, report)
    result, candidates = NvlinkTree(tree), list[int]()
    if not report.has_errors(before):
        candidates = _candidates(family, tiers, tree, options)
        result = with_nvlink(tree, candidates, not tiers.declared, where, report)
    unlinked = nodes_of(lacking(family.groups))
    _report_unlinked(unlinked, {name for row in result.tree.rows for name in row.group.names}, where, report)
    _report_hashes(result.tree, where, report)
    cards = bool(family.machine.resource)
    if tiers.declared and cards and not family.frame and not report.has_errors(before):
        _report_unnamed_cliques(result.tree, candidates, where, report)
    proposed = proposals.proposed(result.tree.levels, result.tree.rows) if cards and not tiers.declared else ()
    flat = not every and cards and size(family.groups) > 1
    if proposed and not flat and not report.has_errors(before):
        message = f"{_unused(result.tree, proposed)} also {_divide(result.tree, proposed)} the nodes of {where} evenly"
        report.info("T518", result.tree.rows[0].group.names, message, hint=_propose(proposed))
    return FamilyTree(family, result.tree, result.partitions, frozenset(unlinked), flat, proposed)


def _propose(proposed: Sequence[Level]) -> str:
    return f"if they are places in the network, add {proposals.flags(proposed)}"


def _unused(tree: Tree, proposed: Sequence[Level]) -> str:
    return listing([each.label for each in proposed if each not in tree.levels], "and")


def _divide(tree: Tree, proposed: Sequence[Level]) -> str:
    return "divides" if len(proposed) == len(tree.levels) + 1 else "divide"


def _report_unnamed_cliques(tree: Tree, candidates: Sequence[int], where: str, report: Report) -> None:
    """T518: --level names no level of NVLink partitions, and the nodes have some."""
    rows = [row for row in tree.rows if clique(row.group)]
    if not rows or candidates or any(level.nvlink for level in tree.levels):
        return
    message = f'no level of {where} has its NVLink partitions, the label "{CLIQUE}"'
    found = proposals.with_clique(tree.levels, rows, [clique(row.group) for row in rows])
    whole = f"choose levels that do not divide partitions, and end with --level clique={CLIQUE},nvlink"
    hint = f"use {proposals.flags(found)}" if found else whole
    report.warning("T518", rows[0].group.names, message, hint=hint)


def without_lost(grown: Sequence[FamilyTree], options: ReadOptions, report: Report) -> list[FamilyTree]:
    """The families without GPU nodes whose labels give no product and no place, while others have both (T503).
    Reports other flat pools (T518)."""
    treed = [each for each in grown if each.tree.levels and each.family.machine.resource]
    lost = [each for each in grown if treed and _lost(each)]
    for each in lost:
        like = next((one for one in treed if one.family.machine.resource == each.family.machine.resource), treed[0])
        _report_lost(nodes_of(each.family.groups), like, options.exclude_incomplete, report)
    kept = [each for each in grown if each not in lost]
    for each in kept:
        if each.flat:
            _report_flat(each, report)
    return kept


def _report_lost(names: Sequence[str], like: FamilyTree, excluded: bool, report: Report) -> None:
    label, other = like.tree.levels[-1].label, nodes_of(like.family.groups)[0]
    if excluded:
        message = f'left out {named(names)} without the label "{label}" and without a GPU label'
        report.info("T503", names, message, hint="label the nodes to include them")
    else:
        message = f'{lack(names)} the label "{label}"; "{other}" and others of pool "{like.family.name}" have it'
        report.error("T503", names, message, hint=levels.LABEL_THEM)


def _lost(grown: FamilyTree) -> bool:
    family = grown.family
    return bool(family.machine.resource) and not (
        family.frame or grown.tree.levels or any(map(hardware.labelled, family.groups))
    )


def _complete(group: NodeGroup, tiers: Sequence[Tier]) -> bool:
    """Whether nodes have all labels. A clique of zeros does not count."""
    return all(clique(group) if tier.label == CLIQUE else group.labels.get(tier.label) for tier in tiers)


def _tiers(family: Family, options: ReadOptions, where: str, report: Report) -> Tiers:
    """The declared levels, or the levels of the best preset, and the NVLink partitions."""
    carried = levels.carried(family.groups)
    if family.frame and family.frame.levels:  # nodes get the labels of some levels only later
        return levels.declared_tiers([each for each in family.frame.levels if each.label in carried or not each.apply])
    if declared := [each for each in options.levels if each.label in carried]:
        return levels.declared_tiers(declared)
    names = (options.preset,) if options.preset else levels.preset_of(family.groups)
    networks = [name for name in names if name not in PLACES]
    if len(networks) > 1:
        message = f'nodes of {where} have labels from {listing(networks, "and")}; bayplan uses those of "{networks[0]}"'
        report.info("T518", nodes_of(family.groups), message, hint=f"to use others, give --preset {networks[1]}")
    tiers = levels.preset_tiers(names[0] if names else "", family.groups)
    if tiers.beside or not any(map(clique, family.groups)):
        return tiers
    name = "rack" if all(tier.name != "rack" for tier in tiers.tree) else "clique"
    return tiers._replace(beside=(Tier(name, CLIQUE, accelerator=True),))


def _candidates(family: Family, tiers: Tiers, tree: Tree, options: ReadOptions) -> list[int]:
    """Depths of levels that can be the NVLink level, coarse to fine."""
    if tiers.declared:
        named = family.frame.levels if family.frame and family.frame.levels else options.levels
        marked = {each.label for each in named if each.nvlink} | {CLIQUE}
        return _depths(tree, marked) or _finest(tree)
    with_nvlink = any(map(clique, family.groups)) or hardware.kind_of(family.machine.product) in (
        grouping.NAMELESS,
        *KINDS,
    )
    return _depths(tree, {tier.label for tier in tiers.beside}) if with_nvlink else []


def _depths(tree: Tree, labels: set[str]) -> list[int]:
    return [depth for depth, level in enumerate(tree.levels) if level.label in labels]


def _finest(tree: Tree) -> list[int]:
    """The finest level, if no level has the NVLink mark and there are several racks with one clique each."""
    depth = len(tree.levels) - 1
    return [depth] if len({row.path for row in tree.rows}) > 1 and matches(tree, depth) else []


def _report_unlinked(names: Sequence[str], in_tree: set[str], where: str, report: Report) -> None:
    """T513: their fabric is down, or not discovered yet."""
    for some, then in (
        ([name for name in names if name in in_tree], "lists such nodes as unhealthy"),
        ([name for name in names if name not in in_tree], "leaves such nodes out"),
    ):
        if some:
            message = f"{lack(some)} an NVLink partition, which others of {where} have; bayplan {then}"
            hint = f'check the GPU fabric of the node, and its label "{CLIQUE}"'
            report.warning("T513", some, message, hint=hint)


_HASH = re.compile(r"x[0-9a-f]{16}")


def _report_hashes(tree: Tree, where: str, report: Report) -> None:
    """T536: Topograph replaces a name that is too long for a label by a hash (v1.0, `pkg/engines/k8s/labeler.go`)."""
    for depth, level in enumerate(tree.levels):
        row = next((row for row in tree.rows if _HASH.fullmatch(row.path[depth])), None)
        if row and "topo" in level.label:
            message = f'"{level.label}" of {where} has hashes of long names, such as "{row.path[depth]}"'
            report.info("T536", row.group.names, message, hint="no action needed; another source may use the names")


def _report_flat(grown: FamilyTree, report: Report) -> None:
    where, proposed = f'pool "{grown.family.name}"', grown.proposed
    message = f"{where} has no levels: no label gives the place of its nodes in a network or an NVLink partition"
    hint = "name a label with --level, or add a source that knows the network, such as Topograph, Slurm or UFM"
    if proposed:
        divide = f"{_unused(grown.tree, proposed)} {_divide(grown.tree, proposed)}"
        message = f"{where} has no levels, but {divide} its nodes evenly"
        hint = _propose(proposed)
    report.warning("T518", nodes_of(grown.family.groups), message, hint=hint)
