"""Secondary networks of pods: each kind of fabric returns PodParts."""

from __future__ import annotations

from bayplan.fabrics.requests import Wanted, amounts, bounded, fabric_of, offering, on_host, rails_of, wanted
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.target import Target


def parts(asked: Wanted) -> PodParts:
    """What a pod on the fabric carries. The kinds are loaded when a workload has a fabric."""
    from bayplan.fabrics.kinds import KINDS

    return KINDS[asked.fabric.kind].parts(asked)


def claim_template(asked: Wanted, gpus: Manifest | None, target: Target) -> Manifest | None:
    """The claim template to make beside the pods, for kinds that need one. It holds what `gpus`, the one of the pods'
    accelerators, asks for."""
    if asked.fabric.kind != "dranet":
        return None
    from bayplan.fabrics import dranet

    return dranet.claim_template(asked, gpus, target)


__all__ = [
    "Wanted",
    "amounts",
    "bounded",
    "claim_template",
    "fabric_of",
    "offering",
    "on_host",
    "parts",
    "rails_of",
    "wanted",
]
