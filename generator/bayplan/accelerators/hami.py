"""Cards, or parts of them, that HAMi hands out (2.8 to 2.10)."""

from __future__ import annotations

from bayplan.accelerators import policies, shares
from bayplan.kube.vendors import VOLCANO, names
from bayplan.model.manifest import PodParts
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator

NAME = "hami"
SCHEDULER = "hami-scheduler"
"""Its webhook gives it to pods of the default scheduler anyway, unless it is out of reach."""


def parts(asked: Accelerator, kind: AcceleratorKind, claim: str) -> PodParts:
    """Cards, their parts and the policies. A gang scheduler puts its own name in the place of HAMi's."""
    count = names(kind).cards
    spec = {} if count.startswith(VOLCANO) else {"schedulerName": SCHEDULER}
    return PodParts(
        resources={count: str(asked.per_pod), **shares.resources(asked, kind)},
        annotations=policies.notes(asked, kind),
        spec=spec,
    )
