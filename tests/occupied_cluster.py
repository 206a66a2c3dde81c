"""Random pods on nodes, as an API server returns them, and a server that returns them to kubectl."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

from bayplan.model.topology import AcceleratorKind, ClusterTopology, Domain, Level, NodeShape, Pool

NODES = ("n0", "n1", "n2", "n3")
RACKS = (Domain(("r0",), NODES[:2]), Domain(("r1",), NODES[2:]))
CARD = "nvidia.com/gpu"
TOPOLOGY = ClusterTopology(
    "hall",
    (Pool("gpu", NodeShape("h100", 64), (Level("rack", "example.com/rack"),), RACKS),),
    accelerators={"h100": AcceleratorKind("h100", resources={"count": CARD})},
)
"""A pool that states no amounts but cards, so that everything a pod takes is an amount of its node."""

QUANTITIES = {
    "cpu": ("100m", "1", "1500m", "2.5", "0", "1e1"),
    "memory": ("128Mi", "1Gi", "1500M", "1e9", "0", "1500m"),
    "ephemeral-storage": ("1Gi", "10M"),
    CARD: ("1", "2"),
    "example.com/rail": ("1", "3"),
    "hugepages-2Mi": ("2Mi", "64Mi"),
}


def amounts(random: Random, names: Sequence[str], most: int = 3) -> dict[str, str]:
    """Quantities of some resources."""
    chosen = random.sample(names, random.randrange(min(most, len(names)) + 1))
    return {name: random.choice(QUANTITIES[name]) for name in chosen}


def resources(random: Random) -> dict[str, Any]:
    """Requests and limits as the API server stores them: it copies limits to missing requests."""
    limits = amounts(random, tuple(QUANTITIES), 2)
    requests = {**limits, **amounts(random, ("cpu", "memory", "ephemeral-storage"))}
    found = {"limits": limits, "requests": requests}
    return {key: value for key, value in found.items() if value}


def container(random: Random, name: str, ports: Iterator[int]) -> dict[str, Any]:
    """A container, perhaps with a port of the node."""
    own: dict[str, Any] = {"name": name, "image": "train", "resources": resources(random)}
    if random.random() < 0.2:
        port = next(ports)
        own["ports"] = [{"containerPort": port, "hostPort": port, "protocol": random.choice(("TCP", "TCP", "UDP"))}]
    elif random.random() < 0.2:
        own["ports"] = [{"containerPort": 80, "protocol": "TCP", "name": "web"}]
    return own


def pod(random: Random, number: int, ports: Iterator[int], resized: bool = True) -> dict[str, Any]:
    """A pod in any state."""
    containers = [container(random, f"c{n}", ports) for n in range(random.randrange(1, 4))]
    before = [container(random, f"i{n}", ports) for n in range(random.choice((0, 0, 1, 2, 4)))]
    for each in before:
        if random.random() < 0.5:
            each["restartPolicy"] = "Always"
    spec: dict[str, Any] = {"containers": containers}
    if before:
        spec["initContainers"] = before
    if random.random() < 0.2:
        spec["overhead"] = {"cpu": "250m", "memory": "120Mi"}
    if random.random() < 0.2:
        spec["resources"] = {"requests": {"cpu": "64", "memory": "64Gi"}}
    if random.random() < 0.9:
        spec["nodeName"] = random.choice((*NODES, "login"))
    status: dict[str, Any] = {
        "phase": random.choice(("Running", "Running", "Running", "Pending", "Succeeded", "Failed"))
    }
    if "nodeName" not in spec:
        status["phase"] = "Pending"
    if resized and random.random() < 0.3:
        actual = [
            {"name": each["name"], "allocatedResources": amounts(random, ("cpu", "memory"))} for each in containers
        ]
        status["containerStatuses"] = [
            each if random.random() < 0.5 else {**each, "resources": {"requests": amounts(random, ("cpu", "memory"))}}
            for each in actual
        ]
        reason = random.choice(("Infeasible", "Deferred", ""))
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else []
    metadata: dict[str, Any] = {
        "name": f"pod-{number}",
        "namespace": random.choice(("a", "b")),
        **owned(random, number),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def owned(random: Random, number: int) -> dict[str, Any]:
    """Labels and the owner of a pod: in one of the ways of Kubernetes."""

    def owner(kind: str, name: str) -> list[dict[str, Any]]:
        return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True, "uid": "1"}]

    return random.choice(
        (
            {},
            {"labels": {"app": "x"}, "ownerReferences": owner("StatefulSet", "db")},
            {
                "labels": {"jobset.sigs.k8s.io/jobset-name": "train", "batch.kubernetes.io/job-name": "train-worker-0"},
                "ownerReferences": owner("Job", "train-worker-0"),
            },
            {"labels": {"pod-template-hash": "7b5d9c"}, "ownerReferences": owner("ReplicaSet", "web-7b5d9c")},
            {"labels": {"job-name": f"job-{number}"}, "ownerReferences": owner("Job", f"job-{number}")},
        )
    )


def pods(seed: int, number: int = 24, resized: bool = True) -> list[dict[str, Any]]:
    """Random pods. No two on one node use the same port."""
    random, ports = Random(seed), iter(range(30000, 40000))
    return [pod(random, each, ports, resized) for each in range(number)]


def listed(items: Sequence[Any]) -> str:
    """As `kubectl get -o json` prints objects."""
    return json.dumps(
        {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}, indent=4
    )


GROUPS = {"v1": ("pods", "nodes"), "resource.k8s.io/v1": ("resourceclaims",)}
KINDS = {"pods": "Pod", "nodes": "Node", "resourceclaims": "ResourceClaim"}


@contextmanager
def api_server(objects: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The address of a server that lists these objects, which is all that `kubectl get` requests."""

    def answer(path: str) -> dict[str, Any]:
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            version = {"groupVersion": "resource.k8s.io/v1", "version": "v1"}
            group = {"name": "resource.k8s.io", "versions": [version], "preferredVersion": version}
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]}
        name = path.rpartition("/")[2]
        if name in KINDS:
            version = next(version for version, names in GROUPS.items() if name in names)
            found = [each for each in objects if each["kind"] == KINDS[name]]
            bare = [{key: value for key, value in each.items() if key not in ("kind", "apiVersion")} for each in found]
            return {"kind": f"{KINDS[name]}List", "apiVersion": version, "metadata": {}, "items": bare}
        version = path.removeprefix("/api/").removeprefix("/apis/")
        rows = [
            {"name": each, "kind": KINDS[each], "namespaced": each != "nodes", "verbs": ["get", "list"]}
            for each in GROUPS[version]
        ]
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": rows}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answer(self.path.partition("?")[0])).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
