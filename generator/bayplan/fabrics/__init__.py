"""One file per way of attaching pods to a secondary network; each returns PodParts."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from bayplan.fabrics.wanted import Wanted, amounts, bounded, fabric_of, offering, on_host, rails_of, wanted
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.target import Target

MODULES: Mapping[str, str] = {
    "macvlan": "macvlan",
    "ipoib": "ipoib",
    "hostdevice": "hostdevice",
    "sriov": "sriov",
    "spectrumx": "spectrumx",
    "dranet": "dranet",
    "efa": "efa",
    "gke": "gke",
    "hostnetwork": "hostnetwork",
    "none": "none",
}
"""Kind of fabric -> its module here, which has `parts`, and `claim_template` where cards are claimed. Loaded when asked
for: most clusters have one kind."""


def parts(asked: Wanted) -> PodParts:
    """What a pod on the fabric carries."""
    made: PodParts = import_module(f"bayplan.fabrics.{MODULES[asked.fabric.kind]}").parts(asked)
    return made


def claim_template(asked: Wanted, gpus: Manifest | None, target: Target) -> Manifest | None:
    """The claim template to make beside the pods, for kinds that need one. It holds what `gpus`, the one of the pods'
    accelerators, asks for."""
    make = getattr(import_module(f"bayplan.fabrics.{MODULES[asked.fabric.kind]}"), "claim_template", None)
    made: Manifest | None = make(asked, gpus, target) if make else None
    return made


__all__ = [
    "MODULES",
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
