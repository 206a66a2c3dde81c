"""No network of its own: RDMA devices alone, as native InfiniBand needs no more than verbs (AKS: `rdma/ib`)."""

from __future__ import annotations

from bayplan.fabrics.common import pins, pod
from bayplan.fabrics.wanted import Wanted
from bayplan.model.manifest import PodParts


def parts(asked: Wanted) -> PodParts:
    """The resources of the rails."""
    return pod(asked, locked=pins(asked))
