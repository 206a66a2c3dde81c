"""Pools from nodes in a tree: their shapes, and their nodes that are not ready, cordoned, unhealthy or reserved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.core.phrases import count
from bayplan.core.values import grouped
from bayplan.kube import quantity
from bayplan.model.formats import ReadOptions
from bayplan.model.topology import AcceleratorKind, Domain, NodeShape, Pool
from bayplan.topologies import grouping
from bayplan.topologies.kubernetes_nodes import AllNodes, NodeGroup, Report, Taint, hardware, nodes_of, size
from bayplan.topologies.kubernetes_nodes.levels import Path, Row, has, named
from bayplan.topologies.kubernetes_nodes.trees import FamilyTree

NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def states(
    groups: Sequence[NodeGroup],
    devices: Mapping[str, int],
    tolerated: Sequence[Taint],
    no_ready: bool,
    unlinked: frozenset[str],
) -> dict[str, str]:
    """Node -> reason why it is unusable. `no_ready`: no node has a Ready condition."""
    reasons: dict[str, str] = {}
    for each in groups:
        reason = state(each, no_ready) or ("unhealthy" if hardware.short_of(each, devices) else "")
        reason = reason or ("reserved" if _extra(each, tolerated) else "")
        if reason:
            reasons |= dict.fromkeys(each.names, reason)
        if unlinked and reason in ("", "reserved"):
            reasons |= {name: "unhealthy" for name in each.names if name in unlinked}
    return reasons


def state(group: NodeGroup, no_ready: bool) -> str:
    """The state that the node itself reports; empty if it is ready."""
    offer = group.offer
    keys = {key for key, _, _ in offer.taints}
    if (offer.ready != "True" and not no_ready) or not keys.isdisjoint(NOT_READY):
        return "notReady"
    return "cordoned" if offer.cordoned or UNSCHEDULABLE in keys else ""


def _extra(group: NodeGroup, tolerated: Sequence[Taint]) -> list[Taint]:
    return [taint for taint in hardware.holding(group.offer.taints) if taint not in tolerated]


def report_states(
    groups: Sequence[NodeGroup],
    devices: Mapping[str, int],
    tolerated: Sequence[Taint],
    no_ready: bool,
    report: Report,
) -> None:
    """Why ready nodes are unusable: one diagnostic for each reason."""
    ready = [each for each in groups if not state(each, no_ready)]
    short_of = grouped((first, each) for each in ready for first in list(hardware.short_of(each, devices).items())[:1])
    extra = grouped((taint, each) for each in ready for taint in _extra(each, tolerated)[:1])
    for (key, allocatable), held in sorted(short_of.items()):
        _report_short(key, allocatable, devices[key], nodes_of(held), report)
    for taint, held in sorted(extra.items()):
        names, (key, value, effect) = nodes_of(held), taint
        whole = f"{key}{f'={value}' if value else ''}:{effect}"
        message = f"{has(names)} the taint {whole}, which most nodes of the pool lack; bayplan counts them as reserved"
        report.info("T513", names, message, hint="remove the taint if any pod of the pool may run there")


def _report_short(key: str, allocatable: int, wanted: int, names: Sequence[str], report: Report) -> None:
    if key in hardware.CARDS:
        message = f'{has(names)} {wanted} GPUs, but only {allocatable} of "{key}" in status.allocatable'
        hint = "check the GPUs; bayplan counts such nodes as unhealthy, because a pod for a whole node does not fit"
        report.warning("T513", names, message, hint=hint)
    else:
        message = (
            f'{has(names)} {allocatable} of "{key}" in status.allocatable; other nodes of these racks have {wanted}'
        )
        report.warning(
            "T513", names, message, hint="check the devices and their driver; bayplan counts it as unhealthy"
        )


# One pool for each set of devices, with the smallest amounts of its nodes.

MOST_PODS = 10_000_000
"""Thousandths of a pod. Virtual kubelets offer any number."""
Devices = Mapping[str, int]
"""GPUs and network cards of a node, by resource."""


def pools(grown: Sequence[FamilyTree], all_nodes: AllNodes, options: ReadOptions, report: Report) -> tuple[Pool, ...]:
    """All pools, sorted by name, plain ones last. Pools of one family get numbers."""
    used: set[str] = set()
    in_tree = {row.group.names[0] for each in grown for row in each.tree.rows}
    away = [each for each in all_nodes.groups if each.names[0] not in in_tree]
    made = [
        (each.family, _pool(each, devices, rows, grouping.free(each.family.name, used), (all_nodes, away), report))
        for each in grown
        for devices, rows in _equipped(each.tree.rows)
    ]
    everything = [pool for _, pool in made]
    plain = {pool.name for family, pool in made if family.plain and not family.frame}
    result = [pool for pool in everything if not (pool.name in plain and _useless(pool, everything, options, report))]
    return tuple(sorted(result, key=lambda pool: (pool.name in plain, natural(pool.name))))


def _useless(pool: Pool, everything: Sequence[Pool], options: ReadOptions, report: Report) -> bool:
    """T515: nodes without accelerators that have no room, or whose pods the scheduler can place on other nodes."""
    names = pool.domains[0].nodes
    some = f'left out pool "{pool.name}" ({count(sum(1 for _ in pool.nodes()), "node")} without GPUs): '
    if any(0 <= pool.node.resources.get(key, -1) <= amount for key, amount in options.headroom.items()):
        report.info("T515", names, f"{some}the headroom leaves nothing", hint="no action needed")
        return True
    if pool.node.node_selector or not any(pool.tolerates(other) for other in everything if other is not pool):
        return False
    hint = f'to include them, give them a label such as "{hardware.INSTANCE_TYPE}" with a value of their own'
    report.info("T515", names, f"{some}no known label selects only these nodes", hint=hint)
    return True


def _equipped(rows: Iterable[Row]) -> list[tuple[Devices, list[Row]]]:
    """Rows by their devices. A few rows with fewer devices than their neighbors are broken, and not another set."""
    held = grouped((tuple(sorted(hardware.built_in(row.group).items())), row) for row in rows)
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
    return size(row.group for row in rows)


def _pool(
    grown: FamilyTree,
    devices: Devices,
    rows: Sequence[Row],
    name: str,
    counted: tuple[AllNodes, Sequence[NodeGroup]],
    report: Report,
) -> Pool:
    """A pool. `counted`: all nodes, and the nodes that are in no pool."""
    family, groups, all_nodes = grown.family, [row.group for row in rows], counted[0]
    taints = hardware.tolerated(groups)
    no_ready = not any(each.offer.ready for each in all_nodes.groups)
    countable = (
        devices if has_plugin(grown) else {key: n for key, n in devices.items() if key != family.machine.resource}
    )
    report_states(groups, countable, taints, no_ready, report)
    reasons = states(groups, countable, taints, no_ready, grown.unlinked)
    usable = [each for each in groups if each.names[0] not in reasons] or groups
    node = NodeShape(
        family.kind,
        devices.get(family.machine.resource, 0),
        _resources(usable, family.machine.resource),
        (family.frame.node.node_selector if family.frame else {}) or _selector(groups, name, *counted, report),
        tuple(grouping.toleration(*taint) for taint in taints),
    )
    by_reason = grouped((reason, node_name) for node_name, reason in reasons.items())
    unusable = {reason: tuple(in_order(names)) for reason, names in sorted(by_reason.items())}
    return Pool(name, node, grown.tree.levels, tuple(_domains(rows, grown.partitions)), unusable)


def has_plugin(grown: FamilyTree) -> bool:
    """Whether a device plugin offers the GPUs of any of the nodes."""
    return any(each.offer.amounts.get(grown.family.machine.resource) for each in grown.family.groups)


def _offered(group: NodeGroup) -> str:
    """The accelerators that a node offers; empty for CPU only, and a dash for the control plane."""
    return "-" if hardware.is_control(group) else hardware.resource_of(group) or hardware.unmodelled(group)


def _selector(
    groups: Sequence[NodeGroup], name: str, all_nodes: AllNodes, away: Sequence[NodeGroup], report: Report
) -> dict[str, str]:
    """A selector for only this pool's nodes, or for no other pool's nodes and some that bayplan left out."""
    own = {each.names[0] for each in groups}
    others = [each for each in all_nodes.groups if each.names[0] not in own]
    if exact := hardware.selector(groups, others):
        return exact
    offered = {_offered(each) for each in groups}
    plain = [] if "" in offered else [each for each in others if not _offered(each)]  # no place for pods with GPUs
    out = {each.names[0] for each in (*away, *plain)}
    result = hardware.selector(groups, (each for each in others if each.names[0] not in out))
    usable = (each for each in away if _offered(each) in offered and not each.offer.cordoned)
    also = [each for each in usable if result.items() <= each.labels.items()]
    if result and also and not report.has_errors():
        (key, value), names = next(iter(result.items())), nodes_of(also)
        message = f'the selector of pool "{name}", {key}={value}, also matches {named(names)} outside of all pools'
        hint = "label them like the other nodes, or cordon them; otherwise pods can land on them"
        report.warning("T433", names, message, hint=hint)
    return result


def _resources(groups: Iterable[NodeGroup], counted: str) -> dict[str, int]:
    """The smallest amounts of the nodes, without GPUs, which `count` has."""
    amounts = grouping.least(each.offer.amounts for each in groups)
    return {
        key: amount if key != "pods" else min(amount, MOST_PODS)
        for key, amount in sorted(amounts.items())
        if amount > 0 and key not in (*hardware.CARDS, counted) and not key.startswith(hardware.VOLUMES)
    }


def _domains(rows: Iterable[Row], partitions: Mapping[Path, str]) -> Iterator[Domain]:
    held = grouped((row.path, name) for row in rows for name in row.group.names)
    columns = [in_order(set(values)) for values in zip(*held, strict=True)]
    tiers = [{value: tier for tier, value in enumerate(column)} for column in columns]
    for path in sorted(held, key=lambda path: [tier[value] for tier, value in zip(tiers, path, strict=True)]):
        yield Domain(path, tuple(in_order(held[path])), partitions.get(path, ""))


_NUMBERS = re.compile(r"([0-9]+)")


def natural(text: str) -> tuple[list[str | int], str]:
    """A sort key that puts n10 after n9."""
    parts = _NUMBERS.split(text)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], text


def in_order(names: Iterable[str]) -> list[str]:
    """Sorted, with numbers by value."""
    listed = sorted(names)
    if len({*map(len, listed)}) < 2:
        return listed
    return sorted(listed, key=len if _one_number(listed) else natural)


def _one_number(listed: Sequence[str]) -> bool:
    """Whether sorted names differ in only one number, so that a longer name has a greater number."""
    first, last = listed[0], listed[-1]
    start = next(place for place, pair in enumerate(zip(f"{first}\0", last, strict=False)) if pair[0] != pair[1])
    start = len(first[:start].rstrip("0123456789"))
    tail = first[start:].lstrip("0123456789")
    numbers = [name[start : len(name) - len(tail)] for name in listed if name.endswith(tail)]
    return len(numbers) == len(listed) and all(each.isdecimal() and each[0] != "0" for each in numbers)


def accelerators(grown: Sequence[FamilyTree], report: Report) -> dict[str, AcceleratorKind]:
    """How pods request the GPUs of each family, by kind."""
    result: dict[str, AcceleratorKind] = {}
    for each in grown:
        kind, resource, by_plugin = each.family.kind, each.family.machine.resource, has_plugin(each)
        if kind and (by_plugin or kind not in result):
            result[kind] = hardware.accelerator(kind, resource, by_plugin)
        if kind and hardware.is_part(each.family.machine.product):
            _report_part(each, report)
        if kind and not by_plugin:
            message = f'no node of pool "{each.family.name}" offers "{resource}", so pods request GPUs through DRA'
            hint = "if you do not use DRA, check that the device plugin runs"
            report.info("T527", nodes_of(each.family.groups), message, hint=hint)
    return dict(sorted(result.items()))


def _report_part(grown: FamilyTree, report: Report) -> None:
    """T527: workloads that need whole GPUs must not get parts of GPUs."""
    family = grown.family
    offered = min(each.offer.amounts.get(family.machine.resource, 0) for each in family.groups) // 1000
    message = (
        f'nodes of pool "{family.name}" offer parts of GPUs ({offered} of "{family.machine.resource}"), so their'
        f' accelerator is "{family.kind}" ({family.machine.product.strip("-")})'
    )
    hint = "no action needed; whole GPUs are another accelerator, which these nodes do not offer"
    report.info("T527", nodes_of(family.groups), message, hint=hint)


# Headroom: pods of DaemonSets request part of the allocatable CPU and memory, and a node list does not say how much. A
# pod for the whole node (`wholeNode`) requests everything that the file declares, so it stays Pending without headroom.

KINDS = ("cpu", "memory")


def less_headroom(pools: Sequence[Pool], headroom: Mapping[str, int]) -> tuple[Pool, ...]:
    """The pools with the headroom subtracted from each node."""
    return tuple(pool._replace(node=pool.node._replace(resources=_less(pool, headroom))) for pool in pools)


def _less(pool: Pool, headroom: Mapping[str, int]) -> dict[str, int]:
    return {key: amount - headroom.get(key, 0) for key, amount in pool.node.resources.items()}


def report_headroom(pools: Sequence[Pool], options: ReadOptions, report: Report) -> None:
    """T592: no headroom, or more than nodes have. Pools with amounts from another source keep these."""
    headroom = options.headroom
    described = {frame.name for frame in options.frames if set(KINDS) & frame.node.resources.keys()}
    for pool in pools:
        for key in [key for key in headroom if 0 <= pool.node.resources.get(key, -1) <= headroom[key]]:
            amounts = quantity.show(headroom[key]), quantity.show(pool.node.resources[key])
            message = (
                f'the headroom of {amounts[0]} {key} leaves nothing of {amounts[1]} on nodes of pool "{pool.name}"'
            )
            report.error("T592", pool.domains[0].nodes, message, hint="give a smaller --headroom")
    new = (pool for pool in pools if pool.node.accelerator and pool.name not in described)
    gpus = next((pool for pool in new if set(KINDS) & pool.node.resources.keys()), None)
    if gpus and not headroom:
        message = "`cpu` and `memory` of the pools include what DaemonSets use, so `wholeNode` pods would stay Pending"
        hint = "subtract it, for example with --headroom cpu=4,memory=32Gi"
        report.info("T592", gpus.domains[0].nodes, message, hint=hint)
