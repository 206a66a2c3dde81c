"""IPoIB: a child of an InfiniBand port for each pod (network-operator, IPoIBNetwork). macvlan cannot sit on such.

As with macvlan the network names no resource, and the RDMA device is asked for apart.
"""

from __future__ import annotations

from bayplan.fabrics.attached import attached
from bayplan.fabrics.common import pins
from bayplan.fabrics.wanted import Wanted
from bayplan.model.manifest import PodParts


def parts(asked: Wanted) -> PodParts:
    """Networks and shares; without RDMA nothing pins memory."""
    return attached(asked, pins(asked))
