"""What the workflow names and the topology must have: namespace, queue, pools, accelerators, fabrics."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.places import Place, owners, pod_sets
from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.model.topology import AcceleratorKind, ClusterTopology
from bayplan.model.workflow import Accelerator, Workflow
from bayplan.words import did_you_mean, suggest


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W321 to W323, W327 to W331."""
    yield from _namespace(workflow, topology)
    yield from _queue(workflow, topology)
    yield from _pool(workflow.pool, ("workflow", "spec"), topology)
    for owner in owners(workflow):
        yield from _pool(owner.node.pool, owner.route, topology)
    for place in pod_sets(workflow):
        yield from _pool(place.pods.pool, place.route, topology)
        yield from _accelerator(place, topology)
        yield from _by_hand(place, topology)
        yield from _fabric(place, topology)


def _namespace(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    name = workflow.namespace
    if name and topology.namespaces and name not in topology.namespaces:
        hint = did_you_mean(name, topology.namespaces) or "add it to the topology's `namespaces`"
        message = f'the topology knows nothing of the namespace "{name}"'
        yield warning("W321", ("workflow", "metadata", "namespace"), message, hint=hint)


def _queue(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    if workflow.queue and topology.queues is not None and workflow.queue not in topology.queues:
        message = f'there is no queue "{workflow.queue}"'
        yield error(
            "W322", ("workflow", "spec", "queue"), message, hint=suggest(workflow.queue, topology.queues, "queues")
        )


def _pool(name: str, route: Route, topology: ClusterTopology) -> Iterator[Diagnostic]:
    if name and topology.pool(name) is None:
        names = [pool.name for pool in topology.pools]
        yield error("W323", (*route, "pool"), f'there is no pool "{name}"', hint=suggest(name, names, "pools"))


def _accelerator(place: Place, topology: ClusterTopology) -> Iterator[Diagnostic]:
    asked = place.pods.accelerator
    if asked is None or not asked.name:  # that of a pool which planning does not find either, and says so
        return
    route: Route = (*place.route, "accelerator")
    kind = topology.accelerators.get(asked.name)
    if kind is None:
        hint = suggest(asked.name, topology.accelerators, "accelerators") or "the topology declares none"
        yield error("W327", (*route, "name"), f'there is no accelerator "{asked.name}"', hint=hint)
        return
    yield from _allocation(asked, kind, route)


def _allocation(asked: Accelerator, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    if asked.allocator and asked.allocator not in kind.allocators:
        message = f'the topology does not offer "{kind.name}" through "{asked.allocator}"'
        hint = suggest(asked.allocator, kind.allocators, "offered")
        yield error("W329", (*route, "allocator"), message, hint=hint)
    elif asked.selectors and (asked.allocator or kind.allocators[0]) != "dra":
        message = "selectors choose among devices, which only DRA can do; these GPUs come from a device plugin"
        hint = "add `allocator: dra`" if "dra" in kind.allocators else "remove them"
        yield error("W330", (*route, "selectors"), message, hint=hint)


def _by_hand(place: Place, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """GPUs among `resources` would be counted by nobody, or twice."""
    counted = {resource: kind.name for kind in topology.accelerators.values() for resource in kind.resources.values()}
    for name in place.pods.resources:
        if name in counted:
            message = f'"{name}" belongs to the accelerator "{counted[name]}"'
            hint = f"write `accelerator: {{name: {counted[name]}, count: ...}}` instead"
            yield error("W331", (*place.route, "resources", name), message, hint=hint)


def _fabric(place: Place, topology: ClusterTopology) -> Iterator[Diagnostic]:
    asked = place.pods.fabric
    if asked and asked.name not in topology.fabrics:
        hint = suggest(asked.name, topology.fabrics, "fabrics") or "the topology declares none"
        yield error("W328", (*place.route, "fabric"), f'there is no fabric "{asked.name}"', hint=hint)
