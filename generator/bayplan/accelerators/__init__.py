"""One file per allocator of GPUs; each returns PodParts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bayplan.kube.pod import device_request, resource_api
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.plan import allocator
from bayplan.model.target import Target
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator

# GPUs or MIG slices as an extended resource of a device plugin.

DEVICE_PLUGIN = "device-plugin"


def parts_device_plugin(accelerator: Accelerator, kind: AcceleratorKind, claim: str) -> PodParts:
    """Request equals limit, as Kubernetes requires for extended resources."""
    return PodParts(resources={counted_resource(accelerator, kind): str(accelerator.per_pod)})


def counted_resource(accelerator: Accelerator, kind: AcceleratorKind) -> str:
    """The resource that counts the requested cards or slices."""
    if accelerator.profile:
        return slice_resource(accelerator, kind)
    return kind.count_resource


# GPUs through Dynamic Resource Allocation: a ResourceClaimTemplate for each podSet, a claim for each pod.

DRA = "dra"
CLAIM = "gpu"


def parts_dra(accelerator: Accelerator, kind: AcceleratorKind, claim: str) -> PodParts:
    """The pod claims from the template; its container names the claim."""
    return PodParts(claims=({"name": CLAIM, "resourceClaimTemplateName": claim},))


def claim_template(accelerator: Accelerator, kind: AcceleratorKind, name: str, target: Target) -> Manifest:
    """The ResourceClaimTemplate for the Kubernetes version (`resource.k8s.io` is v1 since 1.34)."""
    return {
        "apiVersion": resource_api(target),
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": {"requests": [device_request(CLAIM, _request(accelerator, kind), target)]}}},
    }


def _request(accelerator: Accelerator, kind: AcceleratorKind) -> dict[str, Any]:
    expressions, device_class = accelerator.selectors, kind.device_class or "gpu.nvidia.com"
    if accelerator.profile:
        expressions = (f"device.attributes['gpu.nvidia.com'].profile == '{accelerator.profile}'", *expressions)
        device_class = CLASS if device_class == "gpu.nvidia.com" else device_class
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return {
        "deviceClassName": device_class,
        **({"selectors": selectors} if selectors else {}),
        "allocationMode": "ExactCount",
        "count": accelerator.per_pod,
    }


Parts = Callable[[Accelerator, AcceleratorKind, str], PodParts]


def _hami(accelerator: Accelerator, kind: AcceleratorKind, claim: str) -> PodParts:
    """Imports HAMi's module only if an accelerator uses it."""
    from bayplan.accelerators import hami

    return hami.parts(accelerator, kind, claim)


PARTS: Mapping[str, Parts] = {DEVICE_PLUGIN: parts_device_plugin, DRA: parts_dra, "hami": _hami}
"""Allocator -> what a pod gets. The last argument names the claim template."""


def amounts(accelerator: Accelerator, kind: AcceleratorKind) -> dict[str, int]:
    """Extended resources of its node that a pod uses besides cards: slices with a resource of their own."""
    if not accelerator.profile or allocator(accelerator, kind) != DEVICE_PLUGIN or kind.profile:
        return {}
    return {counted_resource(accelerator, kind): accelerator.per_pod}


def part_names(kind: AcceleratorKind) -> tuple[str, ...]:
    """Resources that request shares of its cards; none if there are only whole cards."""
    if "hami" not in kind.allocators:
        return ()
    from bayplan.kube.vendors import names

    own = names(kind)
    return tuple(filter(None, (own.memory, own.percentage, own.cores)))


# Slices of NVIDIA's GPUs (MIG): their names, and the smallest part of a card that each is.
#
# The device plugin has two strategies (`k8s-device-plugin` 0.17, README): `mixed` offers each profile as a resource of
# its own, `single` offers slices as `nvidia.com/gpu`. The DRA driver has a device class for them, and each slice has
# its profile as an attribute (dra-driver-nvidia-gpu 25.3 to 0.4, `deviceclass-mig.yaml`).

PREFIX = "nvidia.com/mig-"
CLASS = "mig.nvidia.com"
SLICES = 7
"""Compute slices of a card."""


def slice_resource(accelerator: Accelerator, kind: AcceleratorKind) -> str:
    """The extended resource of a profile: its own, unless the kind's `count` counts exactly these slices.

    `1g.10gb+me` -> `nvidia.com/mig-1g.10gb.me`: the name of a resource cannot have a plus.
    """
    if kind.profile == accelerator.profile:
        return kind.count_resource
    return PREFIX + accelerator.profile.replace("+", ".")


def portion(profile: str) -> int:
    """The smallest part of a card that a slice can be, in thousandths. No card has more slices, with any memory.

    `3g.40gb` has 3 compute slices; `1c.3g.40gb`, which shares a slice with others, has 1.
    """
    compute = min(SLICES, int(profile.partition(".")[0][:-1] or 0))
    return 1000 // max(1, SLICES // max(1, compute))
