"""Claims of pods (DRA): declared and used, in the dialect of the cluster, and what the driver takes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.kube.safe import get, items, mapping, text
from bayplan.kube.templates import PodTemplate, containers
from bayplan.linting.world import World
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.words import did_you_mean, suggest

API = "resource.k8s.io"
SINCE = {"v1beta1": "1.32", "v1beta2": "1.33", "v1": "1.34"}
"""Version of the API -> the Kubernetes that first serves it."""

GONE = ("v1alpha1", "v1alpha2")
CLASSIC = "gpu.resource.nvidia.com"
"""Kinds of the driver's first claims, GpuClaimParameters and others: no release since 25.3 knows them."""

OBSOLETE_CLASSES = {"imex.nvidia.com": "compute-domain-default-channel.nvidia.com, by way of a ComputeDomain"}
SHARING = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}
"""Strategy -> the feature gate of the driver, alpha and off (pkg/featuregates/featuregates.go, v25.3 to v0.4)."""

CONFIGS: Mapping[str, tuple[str, ...]] = {
    "GpuConfig": ("sharing",),
    "MigDeviceConfig": ("sharing",),
    "VfioDeviceConfig": ("iommu",),
    "ComputeDomainChannelConfig": ("domainID", "allocationMode"),
    "ComputeDomainDaemonConfig": ("domainID",),
}
"""Kind -> its fields (NVIDIA DRA driver, api/nvidia.com/resource/v1beta1). An unknown one is fatal at prepare."""


def check(world: World) -> Iterator[Diagnostic]:
    """M804, M805, M811, M813."""
    for template in world.templates:
        yield from _use(template)
    for one in world.objects:
        if text(one.data, "apiVersion").startswith((f"{API}/", f"{CLASSIC}/")):
            yield from _dialect(one, world.target)


def claims(template: PodTemplate) -> Iterator[tuple[Route, Mapping[str, Any]]]:
    """Entries of `resourceClaims` with their places."""
    for index, each in enumerate(items(template.spec, "resourceClaims")):
        if isinstance(each, Mapping):
            yield (*template.spec_route, "resourceClaims", index), each


def _use(template: PodTemplate) -> Iterator[Diagnostic]:
    """A device reaches a container only through both: the pod's claim and the container's."""
    declared = {text(each, "name"): route for route, each in claims(template) if text(each, "name")}
    used: set[str] = set()
    for route, container in containers(template):
        for index, each in enumerate(items(container, "resources", "claims")):
            name = text(each, "name")
            used.add(name)
            if name and name not in declared:
                message = (
                    f'container "{text(container, "name")}" uses the claim "{name}", which the pod does not declare'
                )
                hint = suggest(name, declared, "declared") or "add it to `resourceClaims` of the pod"
                yield error("M805", (*route, "resources", "claims", index, "name"), message, hint=hint)
    for name, route in declared.items():
        if name not in used and not _grouped(template):
            message = f'the pod declares the claim "{name}", and no container uses it'
            hint = f"a container sees the devices only with `resources: {{claims: [{{name: {name}}}]}}`"
            yield error("M804", (*route, "name"), message, hint=hint)


def _grouped(template: PodTemplate) -> bool:
    """Since 1.36 a PodGroup may hold claims that its pods merely name."""
    return bool(mapping(template.spec, "schedulingGroup"))


def _dialect(one: Object, target: Target) -> Iterator[Diagnostic]:
    version = text(one.data, "apiVersion").rpartition("/")[2]
    route: Route = (*one.route, "apiVersion")
    served = "resource.k8s.io/v1" if target.since("kubernetes", "1.34") else "resource.k8s.io/v1beta1"
    if version in GONE:
        message = f"no Kubernetes that bayplan knows serves {text(one.data, 'apiVersion')}"
        yield error("M811", route, message, hint=f"rewrite it for {served}")
        return
    if version in SINCE and not target.since("kubernetes", SINCE[version]):
        message = f"Kubernetes {target.version('kubernetes')} does not serve {API}/{version}"
        yield error("M811", route, message, hint=f"use {served}")
    yield from _requests(one, version)


def _requests(one: Object, version: str) -> Iterator[Diagnostic]:
    nested = ("spec", "spec", "devices") if get(one.data, "kind") == "ResourceClaimTemplate" else ("spec", "devices")
    for index, each in enumerate(items(one.data, *nested, "requests")):
        route = (*one.route, *nested, "requests", index)
        flat = get(each, "deviceClassName") is not None
        if flat and version in ("v1", "v1beta2"):
            hint = "write `exactly: {deviceClassName: ...}`, with the selectors and the count beside it"
            yield error(
                "M811", (*route, "deviceClassName"), f"{API}/{version} has no `deviceClassName` here", hint=hint
            )
        if version == "v1beta1" and get(each, "exactly") is not None:
            message = f"{API}/v1beta1 has no `exactly`"
            yield error("M811", (*route, "exactly"), message, hint="move what is in it up, beside `name`")
        yield from _class(each, route)
    for index, each in enumerate(items(one.data, *nested, "config")):
        yield from _config(get(each, "opaque"), (*one.route, *nested, "config", index, "opaque"))


def _class(request: object, route: Route) -> Iterator[Diagnostic]:
    for path in (("deviceClassName",), ("exactly", "deviceClassName")):
        name = text(request, *path)
        if name in OBSOLETE_CLASSES:
            message = f'the driver has no DeviceClass "{name}" any more'
            yield error("M811", (*route, *path), message, hint=f"claim {OBSOLETE_CLASSES[name]}")


def _config(opaque: object, route: Route) -> Iterator[Diagnostic]:
    """What is written for NVIDIA's driver is decoded strictly, when the pod starts."""
    if not text(opaque, "driver").endswith("nvidia.com"):
        return
    own, place = mapping(opaque, "parameters"), (*route, "parameters")
    kind = text(own, "kind")
    if kind not in CONFIGS:
        hint = did_you_mean(kind, CONFIGS)
        yield error("M813", (*place, "kind"), f'the driver knows no configuration of the kind "{kind}"', hint=hint)
        return
    for key in own:
        if key not in ("apiVersion", "kind", *CONFIGS[kind]):
            message = f'{kind} has no field "{key}", and the driver then prepares no device'
            yield error("M813", (*place, key), message, hint=did_you_mean(key, CONFIGS[kind]))
    strategy = text(own, "sharing", "strategy")
    if own.get("sharing") is not None:
        gate = SHARING.get(strategy)
        if gate is None:
            message = f'the driver shares GPUs by TimeSlicing or MPS, not by "{strategy}"'
            yield warning("M813", (*place, "sharing"), message, hint="set `strategy`")
        else:
            message = f"the driver refuses {strategy} unless its feature gate {gate} is on"
            yield info("M813", (*place, "sharing"), message, hint="it is alpha, and off by default")
