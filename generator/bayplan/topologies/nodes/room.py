"""What is left free of a node: pods of DaemonSets ask for CPU and memory out of what is allocatable.

How much, no list of nodes tells. A pod for the whole node (`wholeNode`) asks for all that the file says, so it stays
Pending where nothing is left free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.kube import quantity
from bayplan.model.formats import Asked
from bayplan.model.topology import Pool

KINDS = ("cpu", "memory")


def left(pools: Sequence[Pool], headroom: Mapping[str, int]) -> tuple[Pool, ...]:
    """The pools with so much less of each node."""
    return tuple(pool._replace(node=pool.node._replace(resources=_less(pool, headroom))) for pool in pools)


def _less(pool: Pool, headroom: Mapping[str, int]) -> dict[str, int]:
    return {key: amount - headroom.get(key, 0) for key, amount in pool.node.resources.items()}


def said(pools: Sequence[Pool], asked: Asked, places: Mapping[str, Route]) -> list[Diagnostic]:
    """T592: nothing is left free, or more than there is. Pools whose amounts another source has said keep those."""
    found, headroom = [], asked.headroom
    known = {frame.name for frame in asked.frames if set(KINDS) & frame.node.resources.keys()}
    for pool in pools:
        place = places[pool.domains[0].nodes[0]]
        for key in [key for key in headroom if 0 <= pool.node.resources.get(key, -1) <= headroom[key]]:
            amounts = quantity.show(headroom[key]), quantity.show(pool.node.resources[key])
            message = f'a headroom of {amounts[0]} {key} is all that nodes of pool "{pool.name}" have, {amounts[1]}'
            found.append(error("T592", place, message, hint="leave less free with --headroom"))
    new = (pool for pool in pools if pool.node.accelerator and pool.name not in known)
    gpus = next((pool for pool in new if set(KINDS) & pool.node.resources.keys()), None)
    if gpus and not headroom:
        message = "`cpu` and `memory` are all that nodes can allocate, and the pods of DaemonSets need some of it"
        hint = "pods with `wholeNode` would stay Pending: leave room with, say, --headroom cpu=4,memory=32Gi"
        found.append(info("T592", places[gpus.domains[0].nodes[0]], message, hint=hint))
    return found
