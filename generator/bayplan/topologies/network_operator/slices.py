"""dranet: the DeviceClass that claim templates name. The driver publishes the cards by itself (dranet 1.4)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Fabric

DRIVER = "dra.net"
CLASS = "dranet"


def api_version(target: Target) -> str:
    """resource.k8s.io is v1beta1 in 1.32, v1beta2 in 1.33, v1 since 1.34."""
    if target.since("kubernetes", "1.34"):
        return "resource.k8s.io/v1"
    return "resource.k8s.io/v1beta2" if target.since("kubernetes", "1.33") else "resource.k8s.io/v1beta1"


def write(fabric: Fabric, topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    """Every card of the driver; what tells rails apart stands in the claims."""
    yield {
        "apiVersion": api_version(target),
        "kind": "DeviceClass",
        "metadata": {"name": fabric.device_class or CLASS},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
    }
