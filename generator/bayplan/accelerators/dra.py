"""GPUs through Dynamic Resource Allocation: one ResourceClaimTemplate a podSet, one claim a pod."""

from __future__ import annotations

from typing import Any

from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.target import Target
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator

NAME = "dra"
CLAIM = "gpu"


def parts(asked: Accelerator, kind: AcceleratorKind, claim: str) -> PodParts:
    """The pod claims from the template; its container names the claim."""
    return PodParts(claims=({"name": CLAIM, "resourceClaimTemplateName": claim},))


def claim_template(asked: Accelerator, kind: AcceleratorKind, name: str, target: Target) -> Manifest:
    """The ResourceClaimTemplate in the dialect of the Kubernetes version (resource.k8s.io: v1 since 1.34)."""
    request = _request(asked, kind)
    flat = api_version(target) == "resource.k8s.io/v1beta1"
    spec = {"name": CLAIM, **request} if flat else {"name": CLAIM, "exactly": request}
    return {
        "apiVersion": api_version(target),
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": {"requests": [spec]}}},
    }


def api_version(target: Target) -> str:
    """resource.k8s.io is v1beta1 in 1.32, v1beta2 in 1.33, v1 since 1.34."""
    if target.since("kubernetes", "1.34"):
        return "resource.k8s.io/v1"
    return "resource.k8s.io/v1beta2" if target.since("kubernetes", "1.33") else "resource.k8s.io/v1beta1"


def _request(asked: Accelerator, kind: AcceleratorKind) -> dict[str, Any]:
    expressions, device_class = asked.selectors, kind.device_class or "gpu.nvidia.com"
    if asked.profile:
        from bayplan.accelerators import mig

        expressions, device_class = (mig.selector(asked.profile), *expressions), mig.device_class(kind)
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return {
        "deviceClassName": device_class,
        **({"selectors": selectors} if selectors else {}),
        "allocationMode": "ExactCount",
        "count": asked.per_pod,
    }
