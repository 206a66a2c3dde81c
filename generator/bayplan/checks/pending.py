"""What the formats can say and bayplan cannot carry out yet: refused, never dropped."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.places import pod_sets
from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.model.topology import AcceleratorKind, ClusterTopology
from bayplan.model.workflow import GANGS, Accelerator, Workflow
from bayplan.planning.pools import gang_pools

WORKLOADS = ("lws",)
HAMI = "hami"


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W392 to W396."""
    for index, gang in enumerate(workflow.gangs):
        if gang.workload in WORKLOADS:
            hint = "use jobset, job, pods or volcano-job"
            yield _not_yet("W396", (*GANGS, index, "workload"), f'workload "{gang.workload}"', hint)
    for place in pod_sets(workflow):
        if place.pods.accelerator:
            yield from _accelerator(place.pods.accelerator, (*place.route, "accelerator"), topology)
    if any(_hami(kind) for kind in topology.accelerators.values()):
        yield from _whole_nodes(workflow, topology)


def _accelerator(asked: Accelerator, route: Route, topology: ClusterTopology) -> Iterator[Diagnostic]:
    for key in ("memory", "cores"):
        if getattr(asked, key):
            yield _not_yet("W392", (*route, key), "a share of a GPU", "ask for whole GPUs")
    if asked.profile:
        yield _not_yet("W393", (*route, "profile"), "a MIG profile", "ask for whole GPUs")
    for key in ("node", "links"):
        if getattr(asked, key):
            yield _not_yet("W394", (*route, key), f'"{key}"', "remove it")
    if asked.allocator == HAMI or (not asked.allocator and _hami(topology.accelerators.get(asked.name))):
        yield _no_hami(route)


def _whole_nodes(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """A whole node takes its pool's accelerators without naming them."""
    pools = {
        route: name
        for index, gang in enumerate(workflow.gangs)
        for route, name in gang_pools(workflow, gang, (*GANGS, index), topology).items()
    }
    for place in pod_sets(workflow):
        name = pools[place.route]
        pool = topology.pool(name) if isinstance(name, str) else None
        kind = topology.accelerators.get(pool.node.accelerator) if pool else None
        if place.pods.whole_node and not place.pods.accelerator and _hami(kind):
            yield _no_hami((*place.route, "wholeNode"))


def _hami(kind: AcceleratorKind | None) -> bool:
    return kind is not None and kind.allocators[0] == HAMI


def _no_hami(route: Route) -> Diagnostic:
    return _not_yet("W395", route, "the allocator hami", "use device-plugin or dra")


def _not_yet(code: str, route: Route, what: str, hint: str) -> Diagnostic:
    return error(code, route, f"{what} is not supported yet", hint=hint)
