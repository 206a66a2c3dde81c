"""EFA: Elastic Fabric Adapters as an extended resource, without a network of their own.

What libfabric is told (FI_*) is for the topology's `env` to say, and for `ipcLock` whether pods need IPC_LOCK.
"""

from __future__ import annotations

from bayplan.fabrics.common import pod
from bayplan.fabrics.wanted import Wanted
from bayplan.model.manifest import PodParts


def parts(asked: Wanted) -> PodParts:
    """The resources of the rails."""
    return pod(asked)
