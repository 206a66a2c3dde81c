"""What one pod asks of a node, and what one node offers: the only code that the search and the verifier share.

Amounts are thousandths. Besides Kubernetes resource names there are `accelerator:NAME` (cards), `imex-channel` (one a
node) and `whole-node` (one a node).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan import accelerators, fabrics
from bayplan.kube import pod, quantity
from bayplan.kube.ranks import master_port
from bayplan.model.manifest import PodParts
from bayplan.model.plan import Pods
from bayplan.model.topology import ClusterTopology, NodeShape, Pool

ONE = 1000
CHANNEL = "imex-channel"
WHOLE = "whole-node"
SLOTS = "pods"
DEFAULT_SLOTS = 110 * ONE
"""Pods a node where the topology gives none: the kubelet's default `maxPods` (kubernetes 1.32 to 1.37)."""

OPEN = ("cpu", "memory", "ephemeral-storage")
"""Resources that do not limit a pool whose topology does not state them; any other unstated resource is absent."""


BOUNDED = "at-most:"
"""Before what a node has a known number of, which follows: `at-most:1:port 80 of the node`."""


def accelerator(name: str) -> str:
    """The key of an accelerator kind."""
    return f"accelerator:{name}"


def demand(pods: Pods, topology: ClusterTopology) -> dict[str, int]:
    """What one pod of `pods` asks of its node: cards, channel, whole node, then requests (else limits) and network
    cards, one pod slot.

    Sidecars and init containers count as the kubelet counts them. Zero amounts are left out.
    """
    pool = topology.pool(pods.pool) or Pool(pods.pool, NodeShape())
    requests = _requests(pods, pool)
    cards = {accelerator(kind): amount for kind, amount in _cards(pods, pool, topology, requests).items()}
    marks = {CHANNEL: ONE if pods.compute_domain else 0, WHOLE: ONE if pods.spec.whole_node else 0}
    devices = {**fabrics.amounts(pods.spec, topology), **_slices(pods, topology)}
    plain = {name: amount for name, amount in sorted(requests.items()) if name not in _own_names(topology)}
    plain |= {name: max(amount * ONE, plain.get(name, 0)) for name, amount in sorted(devices.items())}
    bounded = fabrics.bounded(pods.spec, topology, pool, _master(pods))
    marks |= {BOUNDED + name: amount * ONE for name, amount in bounded.items()}
    return {name: amount for name, amount in {**cards, **marks, **plain, SLOTS: ONE}.items() if amount > 0}


def _master(pods: Pods) -> int:
    """The port on which a pod listens for all others, where it is rank 0 for sure: of several pods one is."""
    first = pods.ranks is not None and pods.ranks.master.pods in (pods.name, *pods.instances)
    return master_port(pods) if first and pods.replicas == 1 else 0


def capacity(pool: Pool) -> dict[str, int]:
    """What one node of a pool offers to pods."""
    node = pool.node
    cards = {accelerator(node.accelerator): node.accelerators * ONE} if node.accelerator else {}
    return {**cards, CHANNEL: ONE, WHOLE: ONE, SLOTS: DEFAULT_SLOTS, **node.resources}


def room(offered: Mapping[str, int], name: str) -> int | None:
    """How much of a resource a node has; None where it is not stated and so does not limit."""
    if name.startswith(BOUNDED):
        return int(name.removeprefix(BOUNDED).partition(":")[0]) * ONE
    return offered.get(name, None if name in OPEN else 0)


def per_node(asked: Mapping[str, int], offered: Mapping[str, int]) -> tuple[int, str]:
    """How many pods that ask this one empty node holds, and which resource says so (the first in `demand`'s order)."""
    limits = [(has // amount, name) for name, amount in asked.items() if (has := room(offered, name)) is not None]
    return min(limits, key=lambda limit: limit[0])


def _cards(pods: Pods, pool: Pool, topology: ClusterTopology, requests: Mapping[str, int]) -> dict[str, int]:
    """Cards by accelerator kind, however they are asked for. A whole node takes all of its node's.

    Shares count as the part of a card that the podSet's accelerator says.
    """
    asked = {kind: requests.get(name, 0) for name, kind in _card_names(topology).items()}
    if pods.spec.accelerator:
        kind = pods.spec.accelerator.name
        asked[kind] = max(asked.get(kind, 0), pods.spec.accelerator.per_pod * pods.spec.accelerator.portion)
    if pods.spec.whole_node and pool.node.accelerator:
        kind = pool.node.accelerator
        asked[kind] = max(asked.get(kind, 0), pool.node.accelerators * ONE)
    return asked


def _slices(pods: Pods, topology: ClusterTopology) -> dict[str, int]:
    """Slices of cards that have a resource of their own."""
    asked = pods.spec.accelerator
    kind = topology.accelerators.get(asked.name) if asked else None
    return accelerators.amounts(asked, kind) if asked and kind else {}


def _own_names(topology: ClusterTopology) -> set[str]:
    """What says how many cards a pod takes, and how much of each: no amount of the node's own."""
    kinds = topology.accelerators.values()
    return {*_card_names(topology), *(name for kind in kinds for name in accelerators.part_names(kind))}


def _card_names(topology: ClusterTopology) -> dict[str, str]:
    """Extended resource name -> the accelerator kind that it counts cards of."""
    return {kind.resources["count"]: name for name, kind in topology.accelerators.items() if "count" in kind.resources}


def _requests(pods: Pods, pool: Pool) -> dict[str, int]:
    spec = pods.spec
    if not spec.template and not pool.template:
        return amounts(spec.resources)
    made = pod.template(spec, pool, PodParts(resources=spec.resources), ())["spec"]
    steady, peak = _added(map(_requested, made.get("containers") or ())), dict[str, int]()
    sidecars: dict[str, int] = {}
    for container in made.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars = _added((sidecars, _requested(container)))
        else:
            peak = _highest(peak, _added((sidecars, _requested(container))))
    total = _highest(_added((steady, sidecars)), peak) | _requested(made)
    return _added((total, amounts(made.get("overhead") or {})))


def _requested(owner: Mapping[str, Any]) -> dict[str, int]:
    """Requests of a container, or of a pod as a whole; a limit without a request is one."""
    resources = owner.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def amounts(texts: Mapping[str, Any]) -> dict[str, int]:
    """Resource name -> thousandths."""
    return {name: quantity.parse(str(text)) for name, text in texts.items()}


def _added(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _highest(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}
