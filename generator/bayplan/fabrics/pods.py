"""What pods on every kind of fabric have: resources, locked memory, shared memory, and variables for libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bayplan.core.phrases import listing
from bayplan.fabrics import LOCK, FabricRequest, resources
from bayplan.kube.pod import entries, has_shared_memory, shm_mount, shm_volume
from bayplan.model.manifest import PodParts

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
    """A /dev/shm of the size in the file, if the podSet does not say what it has."""
    if request.spec.shm or has_shared_memory(request.spec, request.pool):
        return {}
    return {"volumes": (shm_volume(request.fabric.shm),), "mounts": (shm_mount(),)}


class Derived(NamedTuple):
    """A variable that follows from the fabric: its value for a request and the interface of the sockets; empty: unset.

    `vendors`: only where the pod's accelerator is of one of these; empty: everywhere.
    """

    name: str
    value: Callable[[FabricRequest, str], str]
    vendors: tuple[str, ...] = ()


def _devices(request: FabricRequest, _: str) -> str:
    """The RDMA devices of the attached rails, and no others: a container sees those of the whole node
    (`k8s-rdma-shared-dev-plugin`#93)."""
    return f"={','.join(names)}" if (names := hcas(request)) else ""


DERIVED = (
    # one exact name, without "=" or "^" (gloo, transport/tcp)
    Derived("GLOO_SOCKET_IFNAME", lambda request, socket: socket),
    # names are prefixes unless "=" precedes them: `net1` also matches `net10` (NCCL 2.30, `env.rst`)
    Derived("NCCL_SOCKET_IFNAME", lambda request, socket: socket and f"={socket}", NCCL),
    Derived("NCCL_IB_HCA", _devices, NCCL),
    # device:port (UCX 1.19, docs/source/faq.md, "Which network devices does UCX use?")
    Derived("UCX_NET_DEVICES", lambda request, _: ",".join(f"{name}:1" for name in hcas(request))),
    # the row of the address table, where the topology states it for NCCL (UCX 1.19, src/uct/ib/base/ib_iface.c)
    Derived("UCX_IB_GID_INDEX", lambda request, _: request.fabric.env.get("NCCL_IB_GID_INDEX", "")),
)
"""Variables of NCCL, Gloo and UCX."""


def variables(request: FabricRequest, interface: str) -> Mapping[str, str]:
    """The variables that follow from the fabric. The topology's `env` takes precedence."""
    socket = interface if request.attachment.bootstrap == "fabric" else request.primary
    rows = (row for row in DERIVED if not row.vendors or request.vendor in row.vendors)
    return {**{row.name: value for row in rows if (value := row.value(request, socket))}, **request.fabric.env}


def on_node(request: FabricRequest) -> Mapping[str, str]:
    """The variables of processes that run in their node's network without a pod, for every kind of fabric."""
    node = request._replace(primary="", fabric=request.fabric._replace(kind="hostnetwork"))
    hosts = request.fabric.kind == "hostnetwork"
    names = ((rail.interface if hosts else "") or rail.device for rail in request.rails)
    return variables(node, next(filter(None, names), ""))


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
