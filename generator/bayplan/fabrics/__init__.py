"""One file per way of attaching pods to a secondary network; each returns PodParts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayplan.fabrics.wanted import Wanted, amounts, offering, wanted
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.target import Target

Parts = Callable[[Wanted], PodParts]
Claim = Callable[[Wanted, str, Target], Manifest | None]

PARTS: Mapping[str, Parts] = {}
"""Kind of fabric -> what a pod on it carries."""

CLAIMS: Mapping[str, Claim] = {}
"""Kind of fabric -> the claim template to make beside the pods, for those that need one."""

__all__ = ["CLAIMS", "PARTS", "Wanted", "amounts", "offering", "wanted"]
