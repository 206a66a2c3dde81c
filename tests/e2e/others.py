"""The pods of a world: the case's own, and those of others, which run on the nodes that the topology calls reserved.

The pods of others leave no room for any of the case's pods. By turns a node has no accelerator left, or too few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from bayplan.model.topology import Pool
from e2e.nodes import BUSY_SLOTS, CHANNEL_CLASS, GPUS, accelerator_resource, claimed
from e2e.pods import claim_templates, with_claims
from e2e.scheduler import Change, Object, World

OTHERS = "others"
"""Their namespace and their queue."""


def pods(world: World, marked: Change) -> list[tuple[Object, list[Object]]]:
    """Each pod with its claims: first those of others, with a scheduler's marks, then the case's own."""
    running = list(map(marked, others(world)))
    templates = {**claim_templates(world.documents), **_templates(running)}
    return with_claims([*running, *(each.body for each in world.members)], templates)


def others(world: World) -> list[Object]:
    """Running pods for each reserved node: one that takes accelerators and CPU, and more if pods request neither."""
    own = [_requested(world, each.body) for each in world.members]
    least = min((cards for cards, _ in own if cards), default=1)
    light = any(not cards and not cpu for cards, cpu in own)
    offers = {each["metadata"]["name"]: each["status"]["allocatable"] for each in world.nodes}
    found = []
    for pool in world.topology.pools:
        for number, node in enumerate(pool.unusable.get("reserved", ())):
            held = max(pool.node.accelerators - (least - 1) * (number % 2), 0)
            found.append(_pod(world, pool, node, held, offers[node]["cpu"]))
            found += [_running(f"other-{node}-{i}", node, {}) for i in range(1, BUSY_SLOTS) if light]
    return found


def _pod(world: World, pool: Pool, node: str, held: int, cpu: str) -> Object:
    resource = accelerator_resource(world.topology, pool)
    if not held or not claimed(world.topology, pool):
        return _running(f"other-{node}", node, {"cpu": cpu, **({resource: str(held)} if held else {})})
    pod = _running(f"other-{node}", node, {"cpu": cpu})
    claims = [{"name": "gpu", "resourceClaimTemplateName": f"{OTHERS}-{held}"}]
    return {**pod, "spec": {**pod["spec"], "resourceClaims": claims}}


def _running(name: str, node: str, requests: Mapping[str, str]) -> Object:
    container = {"name": "run", "image": "registry.example.com/x:1", "resources": {"requests": dict(requests)}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": OTHERS, "uid": name, "creationTimestamp": "2025-01-01T00:00:00Z"},
        "spec": {"nodeName": node, "containers": [container]},
        "status": {"phase": "Running"},
    }


def _templates(running: Iterable[Object]) -> dict[str, Object]:
    claims = chain.from_iterable(each["spec"].get("resourceClaims", ()) for each in running)
    names = {each["resourceClaimTemplateName"] for each in claims}
    return {name: _gpus(int(name.removeprefix(f"{OTHERS}-"))) for name in names}


def _gpus(count: int) -> Object:
    exactly = {"deviceClassName": GPUS, "allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def _requested(world: World, pod: Mapping[str, Any]) -> tuple[int, bool]:
    """How many accelerators the pod requests, and whether it requests CPU."""
    resources = [each.get("resources") or {} for each in pod["spec"]["containers"]]
    amounts = [{**(each.get("limits") or {}), **(each.get("requests") or {})} for each in resources]
    names = {accelerator_resource(world.topology, pool) for pool in world.topology.pools}
    counted = sum(int(value) for each in amounts for name, value in each.items() if name in names)
    templates = claim_templates(world.documents)
    specs = (templates[each["resourceClaimTemplateName"]] for each in pod["spec"].get("resourceClaims") or ())
    requests = (each["exactly"] for spec in specs for each in spec["devices"]["requests"])
    taken = sum(each.get("count", 1) for each in requests if each["deviceClassName"] != CHANNEL_CLASS)
    return counted + taken, any("cpu" in each for each in amounts)
