"""GPUs, or slices of them, as an extended resource of a device plugin."""

from __future__ import annotations

from bayplan.model.manifest import PodParts
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator

NAME = "device-plugin"


def parts(asked: Accelerator, kind: AcceleratorKind, claim: str) -> PodParts:
    """Request equals limit, as Kubernetes demands of extended resources."""
    return PodParts(resources={counted(asked, kind): str(asked.per_pod)})


def counted(asked: Accelerator, kind: AcceleratorKind) -> str:
    """The resource that counts what is asked for."""
    if asked.profile:
        from bayplan.accelerators import mig

        return mig.counted(asked, kind)
    return kind.resources.get("count", "nvidia.com/gpu")
