"""Which interfaces a pod has through its fabric."""

from __future__ import annotations

from bayplan.fabrics import attached, dranet, gke, hostnetwork
from bayplan.fabrics.hanging import NETWORKED
from bayplan.fabrics.wanted import Wanted


def interfaces(asked: Wanted) -> tuple[str, ...]:
    """Their names in the pod, as far as anybody can tell, in the order of the rails."""
    if asked.fabric.kind in NETWORKED:
        return attached.interfaces(asked)
    known = {"gke": gke.interfaces, "dranet": dranet.interfaces, "hostnetwork": hostnetwork.interfaces}
    find = known.get(asked.fabric.kind)
    return find(asked) if find else ()
