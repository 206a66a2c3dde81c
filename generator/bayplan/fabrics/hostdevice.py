"""Host device: a card, or a virtual function, moves into the pod (network-operator, HostDeviceNetwork).

Multus hands each attachment one of the devices that the pod was given: as many are asked for as are attached.
"""

from __future__ import annotations

from bayplan.fabrics.attached import attached
from bayplan.fabrics.wanted import Wanted
from bayplan.model.manifest import PodParts


def parts(asked: Wanted) -> PodParts:
    """A network and a device for each rail."""
    return attached(asked, locked=True)
