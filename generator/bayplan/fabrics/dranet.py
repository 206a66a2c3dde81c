"""DRA for networks: pods claim cards, and the driver dra.net moves them into the pod (dranet 1.4).

There is no annotation, no Multus and no extended resource. If the pod also claims GPUs, one claim has both, so that
each card can be next to a GPU. Each pair has its own request and constraint: `matchAttribute` over one request with a
count would require that all its devices share one PCIe root.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.fabrics import FabricRequest
from bayplan.fabrics.pods import pod
from bayplan.kube.objects import non_empty
from bayplan.kube.pod import device_request, resource_api
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.target import Target
from bayplan.model.topology import Pool, Rail

CLAIM = "nic"
CLASS = "dranet"
DRIVER = "dra.net"
"""The driver of devices and of the settings in a claim (dranet 1.4, pkg/driver)."""

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
MOST_REQUESTS = 32
"""Requests, and constraints, of one claim (`resource.k8s.io/v1`, types.go)."""


def parts(request: FabricRequest) -> PodParts:
    """The claim, unless the claim of the GPUs has the cards too."""
    names = interfaces(request)
    claim = {"name": CLAIM, "resourceClaimTemplateName": request.claim}
    return pod(request, names[0] if names else "", locked=True)._replace(claims=() if request.together else (claim,))


def interfaces(request: FabricRequest) -> tuple[str, ...]:
    """The names in the claim; other interfaces keep their name on the node."""
    return tuple(name for rail in request.rails if (name := rail.interface or rail.device))


def claim_template(request: FabricRequest, gpus: Manifest | None, target: Target) -> Manifest:
    """The ResourceClaimTemplate of the cards, or of GPUs and cards."""
    cards = [
        device_request(f"{CLAIM}-{number}", _request(request, rail), target)
        for number, rail in enumerate(request.rails)
    ]
    singles = list(_singles(gpus)) if gpus else []
    devices = {
        "requests": [*singles, *cards],
        **non_empty(constraints=list(_pairs(request, len(singles))), config=list(_settings(request))),
    }
    name = gpus["metadata"]["name"] if gpus else request.claim
    head = {"apiVersion": resource_api(target), "kind": "ResourceClaimTemplate", "metadata": {"name": name}}
    return {**head, "spec": {"spec": {"devices": devices}}}


def requests(request: FabricRequest) -> int:
    """The number of requests in the claim."""
    return len(request.rails) + (request.cards if request.together else 0)


def neighbours(pool: Pool) -> bool:
    """Whether a GPU and a card can share a PCIe root. On nodes with NVLink between them, such as GB200, they never do
    (dranet, examples of BM.GPU.GB200)."""
    return not any(level.nvlink for level in pool.levels)


def _request(request: FabricRequest, rail: Rail) -> dict[str, Any]:
    return {
        "deviceClassName": request.fabric.device_class or CLASS,
        **non_empty(selectors=[{"cel": {"expression": each}} for each in selectors(request, rail)]),
        "allocationMode": "ExactCount",
        "count": 1,
    }


def selectors(request: FabricRequest, rail: Rail) -> tuple[str, ...]:
    """The rail's own selectors, otherwise its RDMA device or interface. Adds its NUMA node if PCIe roots differ.

    An attribute that a device does not have would be an error and end the search for all, so `has` comes first.
    """
    if rail.selectors:
        return rail.selectors
    named = {"rdmaDevice": rail.hca} if rail.hca else {"ifName": rail.device} if rail.device else {}
    expressions = [_equals(key, f'"{value}"') for key, value in named.items()]
    if rail.numa is not None and not neighbours(request.pool):
        expressions.append(_equals("numaNode", str(rail.numa)))
    return tuple(expressions)


def _equals(attribute: str, value: str) -> str:
    path = f'device.attributes["{DRIVER}"].{attribute}'
    return f"has({path}) && {path} == {value}"


def _singles(gpus: Manifest) -> Iterator[dict[str, Any]]:
    """One request for each GPU, made from the request for all of them."""
    number = 0
    for request in gpus["spec"]["spec"]["devices"]["requests"]:
        exact = request.get("exactly") or {key: value for key, value in request.items() if key != "name"}
        for _ in range(exact.get("count", 1)):
            single = {**exact, "count": 1}
            yield {"name": f"gpu-{number}", **({"exactly": single} if "exactly" in request else single)}
            number += 1


def _pairs(request: FabricRequest, gpus: int) -> Iterator[dict[str, Any]]:
    """Each card with the GPU next to it, in the order of their numbers; without numbers, in the order of cards. Slices
    of GPUs have no pairs, because they may not publish their PCIe root."""
    sliced = request.spec.accelerator is not None and bool(request.spec.accelerator.profile)
    if sliced or not neighbours(request.pool):
        return
    numbers = sorted({rail.gpu for rail in request.rails if rail.gpu is not None})
    for place, rail in enumerate(request.rails):
        gpu = numbers.index(rail.gpu) if rail.gpu is not None else place
        if gpu < gpus:
            yield {"requests": [f"gpu-{gpu}", f"{CLAIM}-{place}"], "matchAttribute": PCIE_ROOT}


def _settings(request: FabricRequest) -> Iterator[dict[str, Any]]:
    """The name and the packet size of interfaces. When a pod starts, the driver refuses unknown keys."""
    for number, rail in enumerate(request.rails):
        if interface := non_empty(name=rail.interface, mtu=request.fabric.mtu):
            opaque = {"driver": DRIVER, "parameters": {"interface": interface}}
            yield {"requests": [f"{CLAIM}-{number}"], "opaque": opaque}
