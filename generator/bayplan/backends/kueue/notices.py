"""What must be switched on in a cluster for the manifests to mean what they say (Kueue 0.14 to 0.19)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.kueue.given import switches
from bayplan.backends.kueue.requests import requests
from bayplan.backends.kueue.words import LAYER_GATE
from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.model.manifest import Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target

CODE = "F689"
TAS_GATE = "TopologyAwareScheduling"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The device class of a ComputeDomain's channel (NVIDIA DRA driver 25.3 to 0.4)."""


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """One finding for each thing."""
    return (*_gates(plan), *_pods(plan, shape, target), *switches(shape, target), *_channels(plan, target))


def _gates(plan: Plan) -> Iterator[Diagnostic]:
    """Both gates are on by default in versions that the plan can be for, unless the topology says otherwise."""
    gates = plan.topology.gates("kueue")
    asked = [request for gang in plan.gangs for request in requests(plan, gang).values()]
    placed = any(request.required or request.preferred or request.layers for request in asked)
    nested = any(len(request.layers) > 1 for request in asked)
    for gate, needed in ((TAS_GATE, placed), (LAYER_GATE, nested)):
        if needed and gates.get(gate) is False:
            at = ("topology", "spec", "schedulers", "kueue", "featureGates", gate)
            message = f"Kueue's feature gate {gate} is off, and the placement depends on it"
            yield error(CODE, at, message, hint="switch it on in Kueue's configuration, then say so here")


def _pods(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    bare = next((each for each in shape.workloads if each.kind == "pods"), None)
    if bare and not target.since("kueue", "0.16"):
        version, at = target.version("kueue"), (*bare.gangs[0].route, "workload")
        message = f"Kueue {version} leaves bare pods alone unless its configuration says so"
        yield info(CODE, at, message, hint='add "pod" to `integrations.frameworks`; 0.16 has it by default')


def _channels(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    mapped = plan.topology.schedulers.get("kueue", {}).get("deviceClassMappings", {})
    domain = next((domain for gang in plan.gangs for domain in gang.compute_domains), None)
    if domain and target.since("kueue", "0.19") and CHANNEL_CLASS not in mapped:
        message = f'Kueue admits claims only of device classes that it counts, and "{CHANNEL_CLASS}" is none by default'
        hint = (
            "map it in Kueue's configuration (`resources.deviceClassMappings`), give the queue a quota of that"
            " resource, and say so in the topology: `schedulers: {kueue: {deviceClassMappings}}`"
        )
        yield info(CODE, domain.route, message, hint=hint)
