"""Names in the workflow that the topology must declare: namespace, queue, pools, accelerators, fabrics, levels."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.core.phrases import did_you_mean, listing, suggest
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Pool
from bayplan.model.workflow import GANGS, Group, Owner, Place, Workflow, nearest_pool, owners, pod_sets


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W323, W331, W550."""
    name = workflow.namespace
    if name and topology.namespaces and name not in topology.namespaces:
        hint = did_you_mean(name, topology.namespaces) or "add it to the topology's `namespaces`"
        message = f'the topology does not describe the namespace "{name}"'
        yield warning("W323", ("workflow", "metadata", "namespace"), message, hint=hint)
    named: list[tuple[str, Route]] = [(workflow.queue, ("workflow", "spec", "queue"))]
    named += [(gang.queue, (*GANGS, index, "queue")) for index, gang in enumerate(workflow.gangs)]
    for queue, route in (each for each in named if each[0]):
        yield from _queue(queue, route, topology)
    if (
        workflow.priority_class
        and topology.priority_classes
        and workflow.priority_class not in topology.priority_classes
    ):
        hint = suggest(workflow.priority_class, topology.priority_classes, "classes")
        message = f'the topology has no PriorityClass "{workflow.priority_class}"'
        yield error("W323", ("workflow", "spec", "priorityClassName"), message, hint=hint)
    yield from _pool(workflow.pool, ("workflow", "spec"), topology)
    for owner in owners(workflow):
        yield from _pool(owner.node.pool, owner.route, topology)
    for place in pod_sets(workflow):
        yield from _pool(place.pods.pool, place.route, topology)
        yield from _accelerator(place, topology)
        yield from _by_hand(place, topology)
        yield from _fabric(place, topology)


def _queue(queue: str, route: Route, topology: ClusterTopology) -> Iterator[Diagnostic]:
    below = [each.name for each in topology.queues or () if each.parent == queue]
    if below:
        message = f'queue "{queue}" is the parent of other queues, and schedulers run workloads only below it'
        yield error("W323", route, message, hint=f"name {listing(below)}")
    elif topology.queue_names is not None and queue not in topology.queue_names:
        hint = suggest(queue, topology.queue_names, "queues")
        yield error("W323", route, f'the topology has no queue "{queue}"', hint=hint)


def _pool(name: str, route: Route, topology: ClusterTopology) -> Iterator[Diagnostic]:
    if name and topology.pool(name) is None:
        names = [pool.name for pool in topology.pools]
        message = f'the topology has no pool "{name}"'
        yield error("W323", (*route, "pool"), message, hint=suggest(name, names, "pools"))


def _accelerator(place: Place, topology: ClusterTopology) -> Iterator[Diagnostic]:
    accelerator = place.pods.accelerator
    if accelerator is None or not accelerator.name:  # planning reports that it finds no pool
        return
    route: Route = (*place.route, "accelerator")
    kind = topology.accelerators.get(accelerator.name)
    if kind is None:
        hint = suggest(accelerator.name, topology.accelerators, "accelerators") or "declare it in the topology"
        message = f'the topology has no accelerator "{accelerator.name}"'
        yield error("W323", (*route, "name"), message, hint=hint)
    elif accelerator.allocator and accelerator.allocator not in kind.allocators:
        message = f'accelerator "{kind.name}" has no allocator "{accelerator.allocator}" in the topology'
        hint = suggest(accelerator.allocator, kind.allocators, "allocators")
        yield error("W550", (*route, "allocator"), message, hint=hint)
    elif accelerator.selectors and (accelerator.allocator or kind.allocators[0]) != "dra":
        message = f'`selectors` need DRA, and allocator "{accelerator.allocator or kind.allocators[0]}" is not DRA'
        hint = "add `allocator: dra`" if "dra" in kind.allocators else "remove `selectors`"
        yield error("W550", (*route, "selectors"), message, hint=hint)


def _by_hand(place: Place, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """GPUs in `resources` would count twice or not at all."""
    counted = {resource: kind.name for kind in topology.accelerators.values() for resource in kind.resources.values()}
    for name in place.pods.resources:
        if name in counted:
            message = f'`resources` cannot request "{name}", which is a resource of the accelerator "{counted[name]}"'
            hint = f"set `accelerator: {{name: {counted[name]}, count: ...}}` instead"
            yield error("W331", (*place.route, "resources", name), message, hint=hint)


def _fabric(place: Place, topology: ClusterTopology) -> Iterator[Diagnostic]:
    attachment = place.pods.fabric
    if attachment and attachment.name not in topology.fabrics:
        hint = suggest(attachment.name, topology.fabrics, "fabrics") or "declare it in the topology"
        message = f'the topology has no fabric "{attachment.name}"'
        yield error("W323", (*place.route, "fabric"), message, hint=hint)


# Levels that a workflow names: they must exist, and become finer from gangs to inner groups.


def check_levels(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W323, W325. If the workflow names no pool here, any pool is possible; planning chooses it."""
    for owner in owners(workflow):
        pool = topology.pool(nearest_pool(workflow, owner))
        pools = (pool,) if pool and not _names_pools_below(owner.node) else topology.pools
        yield from _known(owner, pools)
        required, preferred = owner.node.placement
        if _coarser(preferred, required, pools):
            message = f'{owner.title()} prefers "{preferred}", which is coarser than "{required}", which it requires'
            route: Route = (*owner.route, "placement", "preferred")
            yield error("W325", route, message, hint=f'remove it, or prefer a level that is finer than "{required}"')
        yield from _nested(owner, pools)


def _names_pools_below(node: object) -> bool:
    below = (*getattr(node, "groups", ()), *getattr(node, "pod_sets", ()))
    return any(each.pool or _names_pools_below(each) for each in below)


def _known(owner: Owner, pools: tuple[Pool, ...]) -> Iterator[Diagnostic]:
    node, place = owner.node, (*owner.route, "placement")
    named: list[tuple[str, Route]] = [
        (node.placement.required, (*place, "required")),
        (node.placement.preferred, (*place, "preferred")),
    ]
    if isinstance(node, Group):
        named.append((node.separate, (*owner.route, "separate")))
    levels = dict.fromkeys(level.name for pool in pools for level in pool.levels) | {HOST_LEVEL: None}
    for name, route in named:
        if name and name not in levels:
            where = f'pool "{pools[0].name}"' if len(pools) == 1 else "the topology"
            yield error("W323", route, f'{where} has no level "{name}"', hint=suggest(name, levels, "levels"))


def _nested(owner: Owner, pools: tuple[Pool, ...]) -> Iterator[Diagnostic]:
    """W325: the nearest required level above must not be finer."""
    required = owner.node.placement.required
    for height, above in enumerate(reversed(owner.above), 1):
        outer = above.placement.required
        if outer:
            if _coarser(required, outer, pools):
                note = Note("required here", (*owner.route[: len(owner.route) - 2 * height], "placement", "required"))
                message = (
                    f'{owner.title()} requires "{required}", and "{above.name}" around it the finer level "{outer}"'
                )
                here: Route = (*owner.route, "placement", "required")
                yield error("W325", here, message, hint="swap the two levels, or remove one", notes=(note,))
            return


def _coarser(one: str, other: str, pools: tuple[Pool, ...]) -> bool:
    """Whether `one` is coarser than `other` in every pool that has both. False if no pool has both."""
    both = [pool for pool in pools if one and other and pool.level(one) and pool.level(other)]
    return bool(both) and all(pool.depth(one) < pool.depth(other) for pool in both)
