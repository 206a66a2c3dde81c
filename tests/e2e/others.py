"""The pods of others: what runs on the nodes before a case starts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from bayplan.model.formats import SourceFile
from bayplan.model.plan import Occupant
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.occupancy import read
from bayplan.topologies.occupancy.ledger import Ledger
from e2e.nodes import CHANNEL_CLASS, GPUS, accelerator_resource, claimed, nodes
from e2e.pods import claim_templates, with_claims
from e2e.scheduler import Change, Object, Other, World

OTHERS = "others"
"""Their queue."""

DAEMONS = "monitoring/exporter"
"""A DaemonSet, whose pods no scheduler of batch jobs binds."""

PORTS = (8080, 9090)
"""Ports of nodes that others use. Some workflows use the first one too."""

GIB = 1024
ONE = 1000


# What a random case has on its nodes


class _Left:
    """What is left of a node, while pods are drawn."""

    def __init__(self, node: Mapping[str, Any]) -> None:
        self.cards = int(node.get("count", 0))
        self.cpu = int(node["cpu"]) * ONE
        self.memory = int(node["memory"].removesuffix("Gi")) * GIB
        self.slots = int(node.get("pods", 110))
        self.channel = True
        self.ports = set(PORTS) | {9100}

    def take(self, each: Other) -> bool:
        """Whether there is room for the pod, which then takes it."""
        amounts = each.cards <= self.cards and each.cpu <= self.cpu and each.memory <= self.memory and self.slots > 0
        free = amounts and (self.channel or not each.channel) and (not each.port or each.port in self.ports)
        if free:
            self.cards, self.cpu, self.memory = self.cards - each.cards, self.cpu - each.cpu, self.memory - each.memory
            self.slots -= 1
            self.channel = self.channel and not each.channel
            self.ports.discard(each.port)
        return free


def half(draw: Random, pools: Iterable[Mapping[str, Any]]) -> Iterator[Other]:
    """Pods that take about half of all nodes: scattered, or by racks or nodes."""
    style = draw.choice(("scattered", "scattered", "racks", "nodes"))
    for pool in pools:
        daemons = Other(DAEMONS, "", cpu=100, memory=64, port=draw.choice((0, 9100)))
        everywhere = draw.random() < 0.4
        for domain in pool["domains"]:
            crowded = draw.random() < 0.5
            for node in domain["nodes"].split(","):
                share = {
                    "scattered": draw.choice((0, 0.25, 0.5, 0.75, 1)),
                    "racks": draw.choice((0.75, 1, 1) if crowded else (0, 0, 0.25)),
                    "nodes": draw.choice((0, 1)),
                }[style]
                left = _Left(pool["node"])
                if everywhere:
                    left.take(daemons)
                    yield daemons._replace(node=node)
                yield from (each for each in _on(draw, node, pool, share, left) if left.take(each))


def some(draw: Random, pool: Mapping[str, Any], nodes: Iterable[str]) -> Iterator[Other]:
    """Pods that take most of a few nodes: by turns all accelerators, or all but one."""
    for number, node in enumerate(nodes):
        left = _Left(pool["node"])
        first = Other(
            "team-a/train-1", node, cards=max(left.cards - number % 2, 0), cpu=left.cpu * draw.choice((1, 2, 3)) // 3
        )
        yield from (each for each in (first, *_on(draw, node, pool, 0, left)) if left.take(each))


FORMS = ("plain", "plain", "plain", "init", "sidecar", "overhead")


def _on(draw: Random, node: str, pool: Mapping[str, Any], share: float, left: _Left) -> Iterator[Other]:
    """Pods for one node: jobs with accelerators up to a share of them, and now and then others."""
    cards, cpu = int(pool["node"].get("count", 0)), int(pool["node"]["cpu"]) * ONE
    wanted, number = round(share * cards), 0
    while wanted:
        count = draw.randint(1, wanted)
        wanted, number = wanted - count, number + 1
        asked = draw.choice((0, 500, 1000, cpu * count // cards))
        channel = (
            count == cards and any(level.get("nvlink") for level in pool.get("levels", ())) and draw.random() < 0.3
        )
        owner = f"team-{draw.choice('ab')}/train-{draw.randint(1, 3)}"
        yield Other(owner, node, count, asked, GIB * draw.choice((0, 1, 8)), channel, form=draw.choice(FORMS))
    if draw.random() < (0.4 if cards else share):
        asked = draw.choice((250, 1000, left.cpu // 2, left.cpu if not cards else 1000))
        yield Other("team-c/web", node, cpu=asked, memory=GIB, form=draw.choice(FORMS))
    if draw.random() < 0.1:
        yield Other("team-c/idle", node)  # best effort: takes a slot
    if draw.random() < 0.15:
        yield Other("team-c/proxy", node, cpu=100, port=draw.choice(PORTS))
    if draw.random() < 0.1:
        yield Other("team-d/done", node, cards, cpu, ended=True)


# As bayplan counts them


def occupied(running: Sequence[Other], topology: ClusterTopology) -> dict[str, tuple[Occupant, ...]]:
    """What bayplan reads from what kubectl prints of the nodes, the pods and their claims."""
    objects = list(nodes(topology))
    for pod, claims in with_claims(*_running(running, topology)):
        objects += [pod, *claims]
    ledger = Ledger(topology)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    assert not list(read(SourceFile("running.json", text), ledger))
    return ledger.occupied()


def drawn(running: Iterable[Other], topology: ClusterTopology) -> dict[str, dict[str, int]]:
    """What is taken of each node: counted from what was drawn, not from the pods."""
    kinds = {node: pool.node.accelerator for pool in topology.pools for node in pool.nodes()}
    found: dict[str, list[Other]] = {}
    for each in running:
        if not each.ended:
            found.setdefault(each.node, []).append(each)
    return {node: _amounts(pods, kinds[node]) for node, pods in found.items()}


def _amounts(pods: list[Other], kind: str) -> dict[str, int]:
    ports = {f"at-most:1:port {each.port} of the node": ONE for each in pods if each.port}
    amounts = {
        f"accelerator:{kind}": sum(each.cards for each in pods) * ONE,
        "imex-channel": sum(each.channel for each in pods) * ONE,
        **ports,
        "cpu": sum(each.cpu for each in pods),
        "memory": sum(each.memory for each in pods) * 2**20 * ONE,
        "pods": len(pods) * ONE,
    }
    return {name: amount for name, amount in amounts.items() if amount}


# As schedulers see them


def pods(world: World, marked: Change) -> list[tuple[Object, list[Object]]]:
    """Each pod with its claims: first those of others, with a scheduler's marks, then the case's own."""
    running, templates = _running(world.others, world.topology)
    own = [each.body for each in world.members]
    return with_claims([*map(marked, running), *own], {**claim_templates(world.documents), **templates})


def unended(world: World) -> World:
    """Without the pods that have ended: the API server does not send them to kube-scheduler and its derivatives."""
    return world._replace(others=[each for each in world.others if not each.ended])


def others(world: World) -> list[Object]:
    """The pods of others, as the API server has them."""
    return _running(world.others, world.topology)[0]


def _running(running: Iterable[Other], topology: ClusterTopology) -> tuple[list[Object], dict[str, Object]]:
    """The pods, and the templates of their claims."""
    kinds = {
        node: (accelerator_resource(topology, pool), claimed(topology, pool))
        for pool in topology.pools
        for node in pool.nodes()
    }
    pods = [_pod(each, f"other-{number}", *kinds[each.node]) for number, each in enumerate(running)]
    names = {each["name"] for pod in pods for each in pod["spec"].get("resourceClaims", ())}
    return pods, {name: _template(name.removeprefix(f"{OTHERS}-")) for name in names}


def _pod(each: Other, name: str, resource: str, by_claim: bool) -> Object:
    namespace, owner = each.owner.split("/")
    counted = {resource: str(each.cards)} if each.cards and not by_claim else {}
    spec = SPECS[each.form](each.cpu)
    main = spec["containers"][0]
    main["resources"]["requests"] |= {**counted, **({"memory": f"{each.memory}Mi"} if each.memory else {})}
    main |= {"ports": [{"containerPort": each.port, "hostPort": each.port, "protocol": "TCP"}]} if each.port else {}
    claims = [f"{OTHERS}-{each.cards}"] if each.cards and by_claim and not each.ended else []
    claims += [f"{OTHERS}-channel"] if each.channel else []
    if claims:
        spec["resourceClaims"] = [{"name": one, "resourceClaimTemplateName": one} for one in claims]
    kind = "DaemonSet" if each.owner == DAEMONS else "Job"
    parent = {"apiVersion": "apps/v1" if kind == "DaemonSet" else "batch/v1", "kind": kind, "name": owner}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": name,
            "creationTimestamp": "2025-01-01T00:00:00Z",
            "ownerReferences": [{**parent, "uid": each.owner, "controller": True}],
        },
        "spec": {"nodeName": each.node, **spec},
        "status": {"phase": "Succeeded" if each.ended else "Running"},
    }


def _container(name: str, cpu: int, **more: str) -> Object:
    requests = {"cpu": f"{cpu}m"} if cpu else {}
    return {"name": name, "image": "registry.example.com/x:1", "resources": {"requests": requests}, **more}


SPECS: Mapping[str, Callable[[int], Object]] = {
    "plain": lambda cpu: {"containers": [_container("run", cpu)]},
    "init": lambda cpu: {
        "containers": [_container("run", cpu // 2)],
        "initContainers": [_container("first", cpu)],
    },
    "sidecar": lambda cpu: {
        "containers": [_container("run", cpu // 2)],
        "initContainers": [_container("beside", cpu - cpu // 2, restartPolicy="Always")],
    },
    "overhead": lambda cpu: {
        "containers": [_container("run", cpu // 2)],
        "overhead": {"cpu": f"{cpu - cpu // 2}m"},
    },
}
"""Form -> the spec of a pod that takes so much CPU, however its containers request it."""


def _template(what: str) -> Object:
    device = {"deviceClassName": GPUS, "count": int(what)} if what != "channel" else {"deviceClassName": CHANNEL_CLASS}
    return {
        "devices": {"requests": [{"name": "device", "exactly": {"allocationMode": "ExactCount", "count": 1, **device}}]}
    }
