"""GKE multi-networking: annotations name the interfaces of a pod and their Networks (cloud.google.com, "Set up
multi-network support for Pods"). Its webhook asks for what the networks need."""

from __future__ import annotations

from bayplan.fabrics.common import pod
from bayplan.fabrics.wanted import Wanted
from bayplan.model.manifest import PodParts

DEFAULT = "networking.gke.io/default-interface"
INTERFACES = "networking.gke.io/interfaces"
PRIMARY_NETWORK = "default"


def parts(asked: Wanted) -> PodParts:
    """All interfaces, the primary one among them."""
    import json  # other kinds have no use for it

    names = interfaces(asked)
    made = pod(asked, names[0] if names else "")
    rows = [(asked.primary, PRIMARY_NETWORK), *zip(names, (rail.network for rail in asked.rails), strict=True)]
    listed = json.dumps([{"interfaceName": name, "network": network} for name, network in rows], separators=(",", ":"))
    return made._replace(annotations={DEFAULT: asked.primary, INTERFACES: listed})


def interfaces(asked: Wanted) -> tuple[str, ...]:
    """As the file declares them, else eth1, eth2 and so on after the primary one."""
    return tuple(rail.interface or f"eth{number + 1}" for number, rail in enumerate(asked.rails))
