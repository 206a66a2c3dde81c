"""The nodes of a topology, and the devices that DRA drivers would publish for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.model.plan import OPEN
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Pool
from bayplan.planning.fit.problem import DEFAULT_SLOTS

CHANNELS = "compute-domain.nvidia.com"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
GPUS = "gpu.nvidia.com"
PLENTY = {"cpu": "100000", "memory": "1000Ti", "ephemeral-storage": "1000Ti"}
"""For what the topology does not state and which then does not limit."""

Object = dict[str, Any]


def nodes(topology: ClusterTopology) -> Iterator[Object]:
    """One Node each, with its labels, taints and amounts; cordoned where it is not usable."""
    for pool in topology.pools:
        out = {name for names in pool.unusable.values() for name in names}
        for domain in pool.domains:
            values = {level.label: value for level, value in zip(pool.levels, domain.path, strict=True)}
            yield from (_node(topology, pool, name, values, name in out) for name in domain.nodes)


def _node(topology: ClusterTopology, pool: Pool, name: str, values: Mapping[str, str], cordoned: bool) -> Object:
    amounts = {**{key: PLENTY[key] for key in OPEN}, "pods": f"{DEFAULT_SLOTS}m", **_amounts(topology, pool)}
    taints = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}] if cordoned else []
    for each in pool.node.tolerations:
        if each.get("key") and each.get("effect"):
            taints.append({"key": each["key"], "effect": each["effect"], "value": each.get("value", "")})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": name,
            "labels": {HOSTNAME_LABEL: name, **pool.node.node_selector, **values},
        },
        "spec": {"taints": taints, **({"unschedulable": True} if cordoned else {})},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _amounts(topology: ClusterTopology, pool: Pool) -> dict[str, str]:
    stated = {name: f"{amount}m" for name, amount in pool.node.resources.items()}
    if pool.node.accelerator not in topology.accelerators or claimed(topology, pool):
        return stated
    return {**stated, accelerator_resource(topology, pool): str(pool.node.accelerators)}


def accelerator_resource(topology: ClusterTopology, pool: Pool) -> str:
    """The resource by which a device plugin counts the pool's cards."""
    kind = topology.accelerators.get(pool.node.accelerator)
    return kind.resources.get("count", "nvidia.com/gpu") if kind else "nvidia.com/gpu"


def claimed(topology: ClusterTopology, pool: Pool) -> bool:
    """Whether the pool's cards are handed out by a DRA driver."""
    kind = topology.accelerators.get(pool.node.accelerator)
    return bool(kind and kind.allocators[:1] == ("dra",))


def slices(topology: ClusterTopology) -> Iterator[Object]:
    """One channel a node, and its cards where they are claimed (NVIDIA DRA driver 25.12)."""
    for pool in topology.pools:
        for name in (name for domain in pool.domains for name in domain.nodes):
            yield _slice(name, CHANNELS, [_device("channel-0", type={"string": "channel"}, id={"int": 0})])
            if claimed(topology, pool):
                product = {"string": f"NVIDIA {pool.node.accelerator}"}
                cards = range(pool.node.accelerators)
                yield _slice(
                    name, GPUS, [_device(f"gpu-{i}", type={"string": "gpu"}, productName=product) for i in cards]
                )


def _slice(node: str, driver: str, devices: list[Object]) -> Object:
    name = f"{node}-{driver}"
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name, "uid": name},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def _device(name: str, **attributes: Object) -> Object:
    return {"name": name, "attributes": attributes}


def classes(topology: ClusterTopology) -> Iterator[Object]:
    """The device classes that the drivers' charts bring, and those that the topology names for cards."""
    yield _class(CHANNEL_CLASS, f"device.driver == '{CHANNELS}' && device.attributes['{CHANNELS}'].type == 'channel'")
    for name in sorted({kind.device_class or GPUS for kind in topology.accelerators.values()}):
        yield _class(name, f"device.driver == '{GPUS}' && device.attributes['{GPUS}'].type == 'gpu'")


def _class(name: str, expression: str) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, "uid": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
