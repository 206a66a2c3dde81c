"""Slices of NVIDIA's GPUs (MIG): what they are called, and how much of a card they are at least.

The device plugin has two strategies (NVIDIA/k8s-device-plugin 0.17, README): `mixed` offers each profile as a resource
of its own, `single` offers slices as `nvidia.com/gpu`. The DRA driver has a device class for them, and each tells its
profile (dra-driver-nvidia-gpu 25.3 to 0.4, `deviceclass-mig.yaml`).
"""

from __future__ import annotations

from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator

PREFIX = "nvidia.com/mig-"
CLASS = "mig.nvidia.com"
SLICES = 7
"""Compute slices of a card."""


def resource(profile: str) -> str:
    """`1g.10gb+me` -> `nvidia.com/mig-1g.10gb.me`: a plus is none of the signs that a resource name may have."""
    return PREFIX + profile.replace("+", ".")


def counted(asked: Accelerator, kind: AcceleratorKind) -> str:
    """The extended resource of a profile: of its own name, unless the kind's count is of just these slices."""
    own = kind.resources.get("count", "nvidia.com/gpu")
    return own if kind.profile == asked.profile else resource(asked.profile)


def selector(profile: str) -> str:
    """The CEL expression that finds slices of a profile."""
    return f"device.attributes['gpu.nvidia.com'].profile == '{profile}'"


def device_class(kind: AcceleratorKind) -> str:
    """The kind's class, unless that is of whole cards."""
    return kind.device_class if kind.device_class not in ("", "gpu.nvidia.com") else CLASS


def portion(profile: str) -> int:
    """The least of a card that a slice can be, in thousandths: no card has more of them, whatever its memory."""
    return 1000 // max(1, SLICES // max(1, compute(profile)))


def compute(profile: str) -> int:
    """`3g.40gb` -> 3; of `1c.3g.40gb`, which shares a slice with others, 1."""
    first = profile.partition(".")[0]
    return min(SLICES, int(first[:-1] or 0))
