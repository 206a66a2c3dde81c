"""What pods on every kind of fabric have: resources, locked memory, shared memory, and variables for libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.core.phrases import listing
from bayplan.fabrics import LOCK, FabricRequest, resources
from bayplan.kube.objects import items, text
from bayplan.kube.pod import SHM, entries, main_patches
from bayplan.model.manifest import PodParts

SHARED_MEMORY = "/dev/shm"
"""The path by which NCCL exchanges data on a node. By default a container has 64 MiB of it."""

NCCL = ("nvidia", "amd")
"""Vendors whose collective library reads NCCL_*: NCCL, and RCCL, which is a fork of it. For others, the topology sets
all variables in `env`."""

MASTERS = ("MASTER_ADDR", "PET_MASTER_ADDR", "PET_RDZV_ENDPOINT")
"""Variables with the address of rank 0."""

MOST_HCAS = 32
"""The most names of NCCL_IB_HCA that NCCL reads (NCCL 2.30, `env.rst`)."""


def pod(request: FabricRequest, interface: str = "", locked: bool = False) -> PodParts:
    """What pods on any fabric have. `interface`: the first one of the fabric; `locked`: whether the kind pins memory,
    unless the file says otherwise."""
    fabric = request.fabric
    return PodParts(
        resources={name: str(amount) for name, amount in resources(fabric, request.rails).items()},
        capabilities=(LOCK,) if fabric.ipc_lock or (locked and fabric.ipc_lock is None) else (),
        env=entries(variables(request, interface)),
        **shared_memory(request),
    )


def shared_memory(request: FabricRequest) -> dict[str, Any]:
    """A /dev/shm of the size in the file, if the podSet does not have its own."""
    if request.spec.shm or has_own(request, SHARED_MEMORY):
        return {}
    size = {"sizeLimit": request.fabric.shm} if request.fabric.shm else {}
    volume = {"name": SHM, "emptyDir": {"medium": "Memory", **size}}
    return {"volumes": (volume,), "mounts": ({"name": SHM, "mountPath": SHARED_MEMORY},)}


def has_own(request: FabricRequest, path: str) -> bool:
    """Whether a template mounts a volume at the path."""
    patches = main_patches(request.spec, request.pool)
    return any(text(each, "mountPath") == path for patch in patches for each in items(patch, "volumeMounts"))


def variables(request: FabricRequest, interface: str) -> Mapping[str, str]:
    """The variables of NCCL and Gloo. The topology's `env` takes precedence.

    NCCL reads names as prefixes unless "=" precedes them (`net1` also matches `net10`). Gloo reads one exact name,
    without "=" or "^" (NCCL 2.30, `env.rst`; gloo, transport/tcp).
    """
    own = interface if request.attachment.bootstrap == "fabric" else request.primary
    sockets = {"GLOO_SOCKET_IFNAME": own} if own else {}
    if request.vendor in NCCL:
        sockets |= {"NCCL_SOCKET_IFNAME": f"={own}"} if own else {}
        sockets |= devices(request)
    return {**sockets, **request.fabric.env}


def on_node(request: FabricRequest) -> Mapping[str, str]:
    """The variables of processes that run in their node's network without a pod, for every kind of fabric."""
    node = request._replace(primary="", fabric=request.fabric._replace(kind="hostnetwork"))
    hosts = request.fabric.kind == "hostnetwork"
    names = ((rail.interface if hosts else "") or rail.device for rail in request.rails)
    return variables(node, next(filter(None, names), ""))


def devices(request: FabricRequest) -> dict[str, str]:
    """The RDMA devices of the attached rails, and no others: a container sees those of the whole node
    (`k8s-rdma-shared-dev-plugin`#93)."""
    names = hcas(request)
    return {"NCCL_IB_HCA": f"={','.join(names)}"} if names else {}


def hcas(request: FabricRequest) -> tuple[str, ...]:
    """The RDMA devices of the attached rails, each once."""
    return tuple(dict.fromkeys(each for each in (hca(request, n) for n in range(len(request.rails))) if each))


def hca(request: FabricRequest, number: int) -> str:
    """The RDMA device of a rail. Spectrum-X derives its name from the rail (spectrum-x-operator, v1alpha2)."""
    rail = request.rails[number]
    if rail.hca or request.fabric.kind != "spectrumx" or not rail.network:
        return rail.hca
    return f"rdma_{rail.network.rpartition('/')[2]}"


def hca_difference(value: str, attached: tuple[str, ...]) -> str:
    """How an NCCL_IB_HCA and the attached devices differ; empty if they do not."""
    names = [name.partition(":")[0] for name in value.lstrip("=^").split(",") if name]
    exact = value[:1] == "=" or value[:2] == "^="
    met = {each for each in attached if any(each == name if exact else each.startswith(name) for name in names)}
    if value[:1] == "^":
        return f"it leaves out {listing(sorted(met), 'and')}" if met else ""
    strange = [name for name in names if not any(each == name if exact else each.startswith(name) for each in attached)]
    if strange:
        return f'no attached rail has "{strange[0]}"'
    lacking = [each for each in attached if each not in met]
    return f"it leaves out {listing(lacking, 'and')}" if lacking else ""
