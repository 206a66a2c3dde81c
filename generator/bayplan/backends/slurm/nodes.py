"""What one node of a job is asked for: how many pods share it, and their amounts together."""

from __future__ import annotations

from bayplan.core.values import NamedTuple
from bayplan.kube import quantity
from bayplan.model.plan import Pods
from bayplan.model.topology import Pool

MEBIBYTE = 2**20


class Amounts(NamedTuple):
    """Of all pods on one node. `cpus` is for each task; 0 or an empty text: not asked for."""

    gpus: int = 0
    cpus: int = 0
    memory: str = ""
    scratch: str = ""


def per_node(pods: Pods, pool: Pool) -> int:
    """How many pods of an instance a node takes: as many as fit and divide the instance evenly.

    One, where a pod owns its node's IMEX channel, wants the whole node, or asks for nothing that could be counted.
    """
    spec = pods.spec
    if spec.whole_node or pods.compute_domain:
        return 1
    fits: list[int] = []
    if spec.accelerator:
        fits.append(pool.node.accelerators // spec.accelerator.per_pod)
    for name, text in spec.resources.items():
        amount = quantity.parse(str(text))
        if amount and name in pool.node.resources:
            fits.append(pool.node.resources[name] // amount)
    most = max(1, min(fits, default=1))
    return next(number for number in range(min(most, pods.replicas), 0, -1) if pods.replicas % number == 0)


def amounts(pods: Pods, share: int) -> Amounts:
    """The amounts of `share` pods of one podSet."""
    spec = pods.spec
    cpu, memory, scratch = (_amount(pods, name) for name in ("cpu", "memory", "ephemeral-storage"))
    return Amounts(
        gpus=spec.accelerator.per_pod * share if spec.accelerator else 0,
        cpus=0 if spec.whole_node else -(-cpu // 1000),
        memory="" if spec.whole_node else _size(memory * share),
        scratch=_size(scratch * share),
    )


def _amount(pods: Pods, name: str) -> int:
    return quantity.parse(str(pods.spec.resources.get(name, "0")))


def _size(thousandths: int) -> str:
    """Slurm's M and G are powers of 1024; anything smaller is rounded up."""
    mebibytes = -(-thousandths // (1000 * MEBIBYTE))
    if not mebibytes:
        return ""
    return f"{mebibytes // 1024}G" if mebibytes % 1024 == 0 else f"{mebibytes}M"


def exclusive(pods: Pods) -> bool:
    """Whether the node is the job's alone: the user says so, or its one IMEX channel is."""
    return pods.spec.whole_node or bool(pods.compute_domain)
