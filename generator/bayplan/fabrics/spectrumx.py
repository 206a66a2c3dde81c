"""Spectrum-X: a virtual function for each rail, whose network and resource are called after it (spectrum-x-operator,
SpectrumXRailPoolConfig v1alpha2). Its RDMA device is called `rdma_<rail>`."""

from __future__ import annotations

from bayplan.fabrics.attached import attached
from bayplan.fabrics.wanted import Wanted
from bayplan.model.manifest import PodParts


def parts(asked: Wanted) -> PodParts:
    """A network and a virtual function for each rail."""
    return attached(asked, locked=True)
