"""macvlan: an interface of its own on a card that all pods of the node share (network-operator, MacvlanNetwork).

The network names no resource: the RDMA device is asked for apart, one share of each pool.
"""

from __future__ import annotations

from bayplan.fabrics.attached import attached
from bayplan.fabrics.common import pins
from bayplan.fabrics.wanted import Wanted
from bayplan.model.manifest import PodParts


def parts(asked: Wanted) -> PodParts:
    """Networks and shares; without RDMA nothing pins memory."""
    return attached(asked, pins(asked))
