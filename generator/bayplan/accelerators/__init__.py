"""One file per way of getting GPUs into a pod; each returns PodParts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayplan.accelerators import device_plugin, dra
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.target import Target
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator

Parts = Callable[[Accelerator, AcceleratorKind, str], PodParts]
Claim = Callable[[Accelerator, AcceleratorKind, str, Target], Manifest | None]

PARTS: Mapping[str, Parts] = {device_plugin.NAME: device_plugin.parts, dra.NAME: dra.parts}
"""Allocator -> what a pod carries. The last argument names the claim template."""

CLAIMS: Mapping[str, Claim] = {dra.NAME: dra.claim_template}
"""Allocator -> the claim template to make beside the pods, for those that need one."""


def allocator(asked: Accelerator, kind: AcceleratorKind) -> str:
    """The allocator asked for, else the accelerator's first."""
    return asked.allocator or kind.allocators[0]
