"""What must be switched on in Volcano for the manifests to mean what they say."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.accelerators import allocator
from bayplan.backends.volcano import task
from bayplan.backends.volcano.lowering import VOLCANO_JOB
from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.core.values import NamedTuple
from bayplan.model.manifest import Shape
from bayplan.model.plan import Plan, all_pods, once, walk
from bayplan.model.target import Target


class Switch(NamedTuple):
    """Something that is off, or may be, unless the administrator has turned it on."""

    name: str  # in `schedulers: {volcano: {featureGates: ...}}`
    need: str  # what the plan wants of it
    lost: str  # what happens without it
    where: str  # how it is turned on


TOPOLOGY = Switch(
    "NetworkTopologyAware",
    "placements are enforced by the plugin `network-topology-aware`",
    "without it Volcano ignores every level",
    "add `- name: network-topology-aware` to a tier of volcano-scheduler.conf, which lacks it by default",
)
NUMA = Switch(
    "NumaAware",
    "NUMA policies are kept by the plugin `numaaware`",
    "without it the pods are placed as if they had none",
    "add `- name: numaaware` to volcano-scheduler.conf, and run the resource exporter on the nodes",
)
DRA = Switch(
    "DynamicResourceAllocation",
    "claims on ComputeDomains and GPUs are seen by the plugin `predicates` alone",
    "below Volcano 1.15 it does not look at them by default",
    "give that plugin the argument `predicate.DynamicResourceAllocationEnable: true` in volcano-scheduler.conf",
)


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """One for each switch, silent where the topology says that it is on; and what Volcano Jobs cannot hold."""
    gates = plan.topology.gates("volcano")
    told = (_notice(switch, gates.get(switch.name)) for switch in _wanted(plan, target))
    return (*(each for each in told if each), *_gaps(shape))


def _wanted(plan: Plan, target: Target) -> Iterator[Switch]:
    units = [unit for gang in plan.gangs for unit in walk(gang.root)]
    everyone = [pods for gang in plan.gangs for pods in all_pods(gang.root)]
    if any(unit.required or unit.preferred for unit in units):
        yield TOPOLOGY
    if any(pods.spec.numa for pods in everyone):
        yield NUMA
    if not target.since("volcano", "1.15") and _claims(plan):
        yield DRA


def _claims(plan: Plan) -> bool:
    if any(gang.compute_domains for gang in plan.gangs):
        return True
    kinds, networks = plan.topology.accelerators, plan.topology.fabrics
    everyone = [pods.spec for gang in plan.gangs for pods in once(all_pods(gang.root))]
    attached = [networks[each.fabric.name].kind for each in everyone if each.fabric and each.fabric.name in networks]
    if "dranet" in attached:
        return True
    asked = [each.accelerator for each in everyone]
    return any(each and each.name in kinds and allocator(each, kinds[each.name]) == "dra" for each in asked)


def _notice(switch: Switch, state: bool | None) -> Diagnostic | None:
    route: Route = ("topology", "spec", "schedulers", "volcano", "featureGates", switch.name)
    if state is None:
        message = f"{switch.need}; {switch.lost}"
        return info("F689", ("workflow", "metadata", "name"), message, hint=switch.where)
    if not state:
        message = f"{switch.need}, which this cluster has switched off; {switch.lost}"
        return error("F689", route, message, hint=switch.where)
    return None


def _gaps(shape: Shape) -> Iterator[Diagnostic]:
    for workload in shape.workloads:
        if workload.kind == VOLCANO_JOB:
            for gang in workload.gangs:
                if gang.copy == 0:
                    yield from task.gaps(gang)
