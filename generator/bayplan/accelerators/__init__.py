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


def _hami(asked: Accelerator, kind: AcceleratorKind, claim: str) -> PodParts:
    """Imported where somebody has it."""
    from bayplan.accelerators import hami

    return hami.parts(asked, kind, claim)


PARTS: Mapping[str, Parts] = {device_plugin.NAME: device_plugin.parts, dra.NAME: dra.parts, "hami": _hami}
"""Allocator -> what a pod carries. The last argument names the claim template."""

CLAIMS: Mapping[str, Claim] = {dra.NAME: dra.claim_template}
"""Allocator -> the claim template to make beside the pods, for those that need one."""


def allocator(asked: Accelerator, kind: AcceleratorKind) -> str:
    """The allocator asked for, else the accelerator's first."""
    return asked.allocator or kind.allocators[0]


def amounts(asked: Accelerator, kind: AcceleratorKind) -> dict[str, int]:
    """Extended resources other than its cards that a pod takes of its node: slices that have a name of their own."""
    if not asked.profile or allocator(asked, kind) != device_plugin.NAME or kind.profile:
        return {}
    return {device_plugin.counted(asked, kind): asked.per_pod}


def part_names(kind: AcceleratorKind) -> tuple[str, ...]:
    """Resources by which parts of its cards are asked for; none where they are handed out whole."""
    if "hami" not in kind.allocators:
        return ()
    from bayplan.kube.vendors import names

    own = names(kind)
    return tuple(filter(None, (own.memory, own.percentage, own.cores)))
