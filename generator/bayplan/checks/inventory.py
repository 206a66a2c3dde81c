"""Checks of what the topology declares: accelerators, planned nodes, queues, versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bayplan.checks.topology import POOLS, domain_sizes, duplicates
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import suggest
from bayplan.fabrics.cards import unknown
from bayplan.kube import quantity
from bayplan.model.target import KNOWN, minor, order
from bayplan.model.topology import AcceleratorKind, ClusterTopology, Pool, Queue


def check_offer(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """A904, A907, T405, T411, T414, T421 to T433, T633."""
    for index, pool in enumerate(topology.pools):
        route: Route = (*POOLS, index)
        yield from _accelerator(topology, pool, (*route, "node"))
        yield from _plan(pool, route)
        yield from _nvlink_vendor(topology, pool, route)
    yield from _counted(topology)
    yield from _separated(topology)
    parent = topology.schedulers.get("kai", {}).get("parentQueue")
    if parent and parent in (topology.queue_names or (topology.defaults.get("queue", ""),)):
        message = (
            f'"{parent}" is both the parent of the queues and a queue for workflows; KAI schedules only leaf queues'
        )
        here: Route = ("topology", "spec", "schedulers", "kai", "parentQueue")
        yield error("T633", here, message, hint="name another parent")
    yield from _queues(topology)
    queue = topology.defaults.get("queue")
    leaves = topology.queue_names
    if queue and leaves is not None and queue not in leaves and not _own_ancestor(topology, queue):
        hint = suggest(queue, leaves, "queues")
        message = f'the default queue "{queue}" is not one of the topology\'s `queues`'
        yield error("T421", ("topology", "spec", "defaults", "queue"), message, hint=hint)
    priority = topology.defaults.get("priorityClassName")
    if priority and topology.priority_classes and priority not in topology.priority_classes:
        hint = suggest(priority, topology.priority_classes, "classes")
        message = f'the default PriorityClass "{priority}" is not one of the topology\'s `priorityClasses`'
        yield error("T421", ("topology", "spec", "defaults", "priorityClassName"), message, hint=hint)
    name = topology.defaults.get("pool")
    if name and topology.pool(name) is None:
        hint = suggest(name, [pool.name for pool in topology.pools], "pools")
        message = f'the default pool "{name}" is not one of the topology\'s `pools`'
        yield error("T421", ("topology", "spec", "defaults", "pool"), message, hint=hint)
    for component, version in topology.versions.items():
        yield from _version(component, version)


QUEUES: Route = ("topology", "spec", "queues")


def _queues(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T421: a parent or a pool that the file does not have. T633: queues and numbers that contradict each other."""
    names = [queue.name for queue in topology.queues or ()]
    yield from duplicates(names, QUEUES, "name", "T633", "two queues have the name", "rename one of them")
    for number, queue in enumerate(topology.queues or ()):
        at: Route = (*QUEUES, number)
        if queue.parent and queue.parent not in names:
            message = f'the parent "{queue.parent}" of queue "{queue.name}" is not one of the topology\'s `queues`'
            yield error("T421", (*at, "parent"), message, hint=suggest(queue.parent, names, "queues"))
        elif _own_ancestor(topology, queue.name):
            message = f'queue "{queue.name}" is its own ancestor'
            yield error("T633", (*at, "parent"), message, hint="remove `parent` from one queue")
        yield from _quotas(topology, queue, at)


def _own_ancestor(topology: ClusterTopology, queue: str) -> bool:
    return any(each.parent == queue for _, each in topology.ancestry(queue))


def _quotas(topology: ClusterTopology, queue: Queue, at: Route) -> Iterator[Diagnostic]:
    seen: set[tuple[str, str]] = set()
    for row, quota in enumerate(queue.quotas):
        route: Route = (*at, "quotas", row)
        if quota.pool and topology.pool(quota.pool) is None:
            pools = [pool.name for pool in topology.pools]
            message = f'queue "{queue.name}" has a quota of the pool "{quota.pool}", which the topology does not have'
            yield error("T421", (*route, "pool"), message, hint=suggest(quota.pool, pools, "pools"))
        if (quota.resource, quota.pool) in seen:
            message = f'queue "{queue.name}" has two quotas of {quota.resource} for the same nodes'
            yield error("T633", route, message, hint="merge the two")
        seen.add((quota.resource, quota.pool))
        if quota.guaranteed is None and quota.limit is None:
            message = f'queue "{queue.name}" has a quota of {quota.resource} without an amount'
            yield error("T633", route, message, hint="add `guaranteed` or `limit`")
        elif quota.guaranteed is not None and quota.limit is not None and quota.guaranteed > quota.limit:
            message = f'queue "{queue.name}" is guaranteed more {quota.resource} than it can hold'
            hint = f"set `limit` to {quantity.show(quota.guaranteed)} or more, or lower `guaranteed`"
            yield error("T633", (*route, "guaranteed"), message, hint=hint)


def _accelerator(topology: ClusterTopology, pool: Pool, route: Route) -> Iterator[Diagnostic]:
    name, count = pool.node.accelerator, pool.node.accelerators
    if name and name not in topology.accelerators:
        message = f'pool "{pool.name}" has the accelerator "{name}", which `accelerators` does not declare'
        line = f"add to `accelerators`: {name}: {{resources: {{count: nvidia.com/gpu}}}}"
        hint = suggest(name, topology.accelerators, "declared") or line
        yield error("T421", (*route, "accelerator"), message, hint=hint)
    if bool(name) != bool(count):
        present, missing = ("accelerator", "count") if name else ("count", "accelerator")
        message = f'the node of pool "{pool.name}" has "{present}" but no "{missing}"'
        yield error("T429", (*route, present), message, hint=f'add "{missing}:"')


def _separated(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """A proof for one pool holds only if its pods cannot run on the nodes of another."""
    for index, pool in enumerate(topology.pools if len(topology.pools) > 1 else ()):
        reached = any(pool.tolerates(other) for other in topology.pools if other is not pool)
        if reached and not pool.node.node_selector and not (pool.template.get("spec") or {}).get("nodeSelector"):
            message = f'pods of pool "{pool.name}" may run on the nodes of other pools: the pool has no `nodeSelector`'
            hint = "add a `nodeSelector` with a label that only its nodes have"
            yield warning("T433", (*POOLS, index, "node"), message, hint=hint)


def _counted(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """A device plugin offers cards under a resource name, and only NVIDIA's has a default here."""
    for name, kind in topology.accelerators.items():
        counted = {"device-plugin", "hami"} & set(kind.allocators)
        if kind.vendor != "nvidia" and counted and "count" not in kind.resources:
            message = f'accelerator "{name}" of {kind.vendor} needs the name of the resource that counts its devices'
            hint = "add `resources: {count: NAME}` with the extended resource of its device plugin"
            yield error("T429", ("topology", "spec", "accelerators", name), message, hint=hint)
        if kind.vendor != "nvidia" and "dra" in kind.allocators and not kind.device_class:
            message = f'accelerator "{name}" of {kind.vendor} needs a device class, because DRA claims its devices'
            hint = "add `deviceClass: NAME` with the DeviceClass of its DRA driver"
            yield error("T429", ("topology", "spec", "accelerators", name), message, hint=hint)


def _nvlink_vendor(topology: ClusterTopology, pool: Pool, route: Route) -> Iterator[Diagnostic]:
    """ComputeDomains are NVIDIA's."""
    kind = topology.accelerators.get(pool.node.accelerator)
    for index, level in enumerate(pool.levels):
        if level.nvlink and (not pool.node.accelerator or (kind and kind.vendor != "nvidia")):
            whose = f"devices of {kind.vendor}" if kind else "no accelerator"
            message = f'level "{level.name}" has `nvlink`, but the nodes of pool "{pool.name}" have {whose}'
            here = (*route, "levels", index, "nvlink")
            if not pool.node.described:  # an import of a network does not describe the nodes
                yield warning("T429", here, message, hint="describe the nodes: `node: {accelerator: gb200, count: 4}`")
            else:
                yield error("T429", here, message, hint="remove `nvlink`")


def _plan(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    for index, level in enumerate(pool.levels):
        here: Route = (*route, "levels", index, "plan")
        if level.plan is not None and level != pool.levels[-1]:
            message = (
                f'"plan" is on the level "{level.name}", but the domains are of the level "{pool.levels[-1].name}"'
            )
            yield error("T405", here, message, hint=f'move it to the level "{pool.levels[-1].name}"')
        elif level.plan is not None:
            yield from _short(pool, level.plan, here, (*route, "domains"))


def _short(pool: Pool, plan: int, route: Route, domains: Route) -> Iterator[Diagnostic]:
    """Domains with fewer usable nodes than planned. Domains without any nodes are placeholders."""
    out = pool.unusable_nodes()
    usable = [
        (i, sum(name not in out for name in domain.nodes)) for i, domain in enumerate(pool.domains) if domain.nodes
    ]
    short = [(index, count) for index, count in usable if count < plan]
    if short:
        message = f"{len(short)} of {len(usable)} domains have fewer usable nodes than the planned {plan}"
        notes = tuple(
            Note(f'"{"/".join(pool.domains[index].path)}" has {count}', (*domains, index)) for index, count in short[:5]
        )
        hint = f"lower `plan`; otherwise groups of {plan} nodes run only in the other domains"
        yield warning("T411", route, message, hint=hint, notes=notes)


def _version(component: str, version: str) -> Iterator[Diagnostic]:
    route: Route = ("topology", "spec", "versions", component)
    supported = [order(component, each) for each in KNOWN[component]]
    own, oldest, newest = order(component, minor(version)), KNOWN[component][0], KNOWN[component][-1]
    if own < supported[0]:
        message = f"{component} {version} is older than {oldest}, the oldest that bayplan knows"
        yield error("A904", route, message, hint=f"upgrade to {oldest} or later")
    elif own > supported[-1]:
        message = (
            f"{component} {version} is newer than {newest}, the newest that bayplan knows; bayplan uses the rules of"
            f" {newest}"
        )
        yield warning("A907", route, message, hint=f"read what changed since {newest}, or upgrade bayplan")
    elif own not in supported:
        message = f"bayplan does not know {component} {version} and uses the rules of the release before it"
        yield warning("A907", route, message, hint=f"known releases: {', '.join(KNOWN[component])}")


# Accelerators of the topology: memory, MIG profiles, links.


def check_cards(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T429, T412."""
    for name, kind in topology.accelerators.items():
        route: Route = ("topology", "spec", "accelerators", name)
        if kind.memory:
            try:
                fault = "" if quantity.parse(kind.memory) > 0 else f'"{kind.memory}" is not more than zero'
            except ValueError as reason:
                fault = str(reason)
            if fault:
                yield error("T412", (*route, "memory"), fault, hint='write it like "80Gi"')
        yield from _vendor_settings(kind, route)
        if kind.link_zones:
            yield from _zones(topology, kind, (*route, "linkZones"))


def _vendor_settings(kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    """Settings that only one vendor's cards have."""
    if kind.profile and kind.vendor != "nvidia":
        message = f'accelerator "{kind.name}" has a `profile`, but devices of {kind.vendor} have no MIG'
        yield error("T429", (*route, "profile"), message, hint="remove it")
    elif kind.profile and set(kind.allocators) != {"device-plugin"}:
        message = "`profile` is only for a device plugin that offers MIG slices; DRA and HAMi divide GPUs themselves"
        yield error("T429", (*route, "profile"), message, hint="set `allocator: device-plugin`, or remove `profile`")
    if kind.topology_annotated is not None and kind.vendor != "metax":
        message = f'`topologyAnnotated` is only for GPUs of MetaX; accelerator "{kind.name}" is of {kind.vendor}'
        yield error("T429", (*route, "topologyAnnotated"), message, hint="remove it")


def _zones(topology: ClusterTopology, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    """Each card in one zone, and no card that the nodes do not have."""
    pools = [pool for pool in topology.pools if pool.node.accelerator == kind.name]
    most = max((pool.node.accelerators for pool in pools), default=0)
    seen: set[int] = set()
    for number, zone in enumerate(kind.link_zones):
        for place, card in enumerate(zone):
            at = (*route, number, place)
            if card in seen:
                yield error("T429", at, f"device {card} appears twice in `linkZones`", hint="list each device once")
            elif most and card >= most:
                message = f"device {card} does not exist: a node has {most} devices, and they count from 0"
                yield error("T429", at, message, hint=f"use numbers from 0 to {most - 1}")
            seen.add(card)


# Infos about a topology that only `topology check` reports.

ISOLATING_LABELS = frozenset({"crusoe.ai/ib.partition.id"})
"""Labels of levels whose domains have no network between them (Crusoe: InfiniBand partitions)."""


def check_survey(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T404, T410, T449, T617."""
    for fabric in topology.fabrics.values():
        if lacking := unknown(fabric):
            message = f'fabric "{fabric.name}" does not name the RDMA devices that NCCL must use'
            yield info("T617", ("topology", "spec", "fabrics", fabric.name), message, hint=f"add {lacking}")
    for index, pool in enumerate(topology.pools):
        yield from _isolated_domains(pool, (*POOLS, index, "levels"))
        if all(len(domain.path) == len(pool.levels) for domain in pool.domains):
            for depth in range(len(pool.levels)):
                yield from _level(pool, depth, (*POOLS, index, "levels", depth))


def _isolated_domains(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    """T449: the labels of these levels show that no job can span two domains. Other labels do not show it."""
    for depth, level in enumerate(pool.levels if pool.domains else ()):
        sizes = domain_sizes(pool, depth)
        if level.label in ISOLATING_LABELS and len(sizes) > 1:
            message = (
                f'no job can span two domains of level "{level.name}" in pool "{pool.name}": it has {len(sizes)} of'
                f" them, the largest with {max(sizes.values())} nodes"
            )
            yield info("T449", (*route, depth), message, hint="plan gangs that fit into one domain")


def _level(pool: Pool, depth: int, route: Route) -> Iterator[Diagnostic]:
    sizes, name = domain_sizes(pool, depth), pool.levels[depth].name
    if len(sizes) == 1 and not pool.levels[depth].nvlink:
        message = f'pool "{pool.name}" has only one "{name}"'
        yield info(
            "T404", route, message, hint="remove the level and its part of each path, unless another pool needs it"
        )
    elif len(set(sizes.values())) > 1:
        groups = sorted(Counter(sizes.values()).items(), reverse=True)
        shown = ", ".join(f"{count} with {size} nodes" for size, count in groups[:10])
        message = f'the domains of level "{name}" differ in size: {shown}'
        yield info("T410", route, message, hint="a group that should fit into any of them must fit into the smallest")
