"""GPUs as an extended resource of a device plugin."""

from __future__ import annotations

from bayplan.model.manifest import PodParts
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator

NAME = "device-plugin"


def parts(asked: Accelerator, kind: AcceleratorKind, claim: str) -> PodParts:
    """Request equals limit, as Kubernetes demands of extended resources."""
    return PodParts(resources={kind.resources.get("count", "nvidia.com/gpu"): str(asked.per_pod)})
