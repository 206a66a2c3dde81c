"""The node's own network: no attachment.

RDMA devices come of a device plugin, where rails name a resource; privileged pods see those of the node, as on bare
metal of OKE. Pods find Services by the cluster's DNS all the same, because pod templates with hostNetwork get
`dnsPolicy: ClusterFirstWithHostNet`.
"""

from __future__ import annotations

from bayplan.fabrics.common import pod
from bayplan.fabrics.wanted import Wanted
from bayplan.model.manifest import PodParts


def parts(asked: Wanted) -> PodParts:
    """hostNetwork; privileged where the file says so. Nobody knows what the node calls its primary interface."""
    names = interfaces(asked)
    handed = any(rail.resource for rail in asked.rails)
    made = pod(asked._replace(primary=""), names[0] if names else "", locked=handed)
    return made._replace(spec={"hostNetwork": True}, privileged=asked.fabric.privileged)


def interfaces(asked: Wanted) -> tuple[str, ...]:
    """Those of the node."""
    return tuple(name for rail in asked.rails if (name := rail.interface or rail.device))
