"""Every reference in a set of objects, followed: what does each name lead to? It imports nothing of bayplan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

Key = tuple[str, str, str, str]  # group, kind, namespace, name

LABELS = {
    "pod-group.scheduling.sigs.k8s.io": ("scheduling.sigs.k8s.io", "PodGroup"),
    "scheduling.x-k8s.io/pod-group": ("scheduling.x-k8s.io", "PodGroup"),
}
ANNOTATIONS = {
    "pod-group-name": ("scheduling.run.ai", "PodGroup"),
    "scheduling.k8s.io/group-name": ("scheduling.volcano.sh", "PodGroup"),
}
HOST = re.compile(r"[a-z0-9][-a-z0-9]*(\.[a-z0-9][-a-z0-9]*)+")
ADDRESSES = ("MASTER_ADDR", "PET_MASTER_ADDR")
CLUSTER_SCOPED = ("Topology", "ClusterQueue", "ResourceFlavor", "Queue")


def key(data: Any) -> Key:
    """What makes an object itself."""
    metadata = data["metadata"]
    group = data["apiVersion"].rpartition("/")[0]
    namespace = "" if data["kind"] in CLUSTER_SCOPED else metadata.get("namespace", "")
    return group, data["kind"], namespace, metadata["name"]


def made(data: Any) -> Iterator[Key]:
    """The object, and what a controller or a driver makes of it by name."""
    _, kind, namespace, name = own = key(data)
    yield own
    if kind == "ComputeDomain":
        channel = data["spec"]["channel"]["resourceClaimTemplate"]["name"]
        yield "resource.k8s.io", "ResourceClaimTemplate", namespace, channel
    if kind == "JobSet":
        yield "", "Service", namespace, data["spec"].get("network", {}).get("subdomain", name)
    if kind in ("LeaderWorkerSet", "MPIJob") or "svc" in data.get("spec", {}).get("plugins", {}):
        yield "", "Service", namespace, name


def templates(data: Any) -> Iterator[Any]:
    """Every pod and pod template."""
    if isinstance(data, dict):
        if isinstance(data.get("spec"), dict) and "containers" in data["spec"]:
            yield data
        for value in data.values():
            yield from templates(value)
    elif isinstance(data, list):
        for value in data:
            yield from templates(value)


def hosts(data: Any) -> frozenset[str]:
    """The names under which pods of the object answer below their Service."""
    name = data["metadata"]["name"]
    if data["kind"] == "JobSet":
        return frozenset(
            f"{name}-{each['name']}-{job}-{pod}"
            for each in data["spec"]["replicatedJobs"]
            for job in range(each.get("replicas", 1))
            for pod in range(each["template"]["spec"].get("completions", 1))
        )
    if data["apiVersion"].startswith("batch.volcano.sh/"):
        return frozenset(
            f"{name}-{each['name']}-{pod}" for each in data["spec"]["tasks"] for pod in range(each.get("replicas", 0))
        )
    if data["kind"] == "Job":
        return frozenset(f"{name}-{pod}" for pod in range(data["spec"].get("completions", 1)))
    if data["kind"] == "Pod":
        return frozenset({data["spec"].get("hostname", name)})
    if data["kind"] == "StatefulSet":
        return frozenset(f"{name}-{pod}" for pod in range(data["spec"].get("replicas", 1)))
    if data["kind"] == "LeaderWorkerSet":
        return frozenset(
            {f"{name}-$(GANG_INDEX)", *(f"{name}-{copy}" for copy in range(data["spec"].get("replicas", 1)))}
        )
    if data["kind"] == "MPIJob":
        workers = data["spec"]["mpiReplicaSpecs"].get("Worker", {}).get("replicas", 0)
        return frozenset({f"{name}-launcher", *(f"{name}-worker-{pod}" for pod in range(workers))})
    return frozenset()


def wanted(data: Any) -> Iterator[tuple[str, str, str]]:
    """Group, kind and name of everything that an object refers to in its namespace."""
    kind, spec = data["kind"], data.get("spec", {})
    for pod in templates(data):
        metadata, inner = pod.get("metadata", {}), pod["spec"]
        for claim in inner.get("resourceClaims", ()):
            yield "resource.k8s.io", "ResourceClaimTemplate", claim["resourceClaimTemplateName"]
        for label, (group, referred) in LABELS.items():
            if label in metadata.get("labels", {}):
                yield group, referred, metadata["labels"][label]
        for annotation, (group, referred) in ANNOTATIONS.items():
            if annotation in metadata.get("annotations", {}):
                yield group, referred, metadata["annotations"][annotation]
        if "schedulingGroup" in inner:
            yield "scheduling.k8s.io", "PodGroup", inner["schedulingGroup"]["podGroupName"]
        if "subdomain" in inner:
            yield "", "Service", inner["subdomain"]
        if "serviceAccountName" in inner:
            yield "", "ServiceAccount", inner["serviceAccountName"]
        for volume in inner.get("volumes", ()):
            if "configMap" in volume:
                yield "", "ConfigMap", volume["configMap"]["name"]
        for container in (*inner["containers"], *inner.get("initContainers", ())):
            sources = (e["configMapRef"] for e in container.get("envFrom", ()) if "configMapRef" in e)
            yield from (("", "ConfigMap", each["name"]) for each in sources)
            waits = (e["value"] for e in container.get("env", ()) if e["name"] == "BARRIER_SERVICE")
            yield from (("", "Service", each.replace("$(BARRIER_GROUP)", "0")) for each in waits)
    if kind == "PodGroup":
        places = [spec, *spec.get("subGroups", ())]
        yield from (
            ("kai.scheduler", "Topology", p["topologyConstraint"]["topology"])
            for p in places
            if "topologyConstraint" in p
        )
    if kind == "RoleBinding":
        yield "rbac.authorization.k8s.io", "Role", data["roleRef"]["name"]
        yield from (("", "ServiceAccount", each["name"]) for each in data["subjects"])


def addresses(data: Any) -> Iterator[str]:
    """Host names in the environment of its pods."""
    for pod in templates(data):
        for container in pod["spec"]["containers"]:
            yield from (
                e["value"] for e in container.get("env", ()) if e["name"] in ADDRESSES and "." in e.get("value", "")
            )


def dangling(objects: Iterable[Any], outside: Iterable[tuple[str, str]] = ()) -> list[str]:
    """What leads nowhere. `outside`: kind and name of what the cluster has already."""
    everything = list(objects)
    present = {each for data in everything for each in made(data)}
    answering = {(data["metadata"].get("namespace", ""), host) for data in everything for host in hosts(data)}
    elsewhere = set(outside)
    lost = []
    for data in everything:
        own, namespace = f"{data['kind']}/{data['metadata']['name']}", data["metadata"].get("namespace", "")
        for group, kind, name in wanted(data):
            where = "" if kind in CLUSTER_SCOPED else namespace
            if (group, kind, where, name) not in present and (kind, name) not in elsewhere:
                lost.append(f"{own} -> {kind}/{name}")
        for address in addresses(data):
            host, service = address.split(".")[:2]
            if (namespace, host) not in answering or ("", "Service", namespace, service) not in present:
                lost.append(f"{own} -> host {address}")
    return lost


def twice(*sets: Iterable[Any]) -> list[Key]:
    """What several sets of objects would both make."""
    seen: set[Key] = set()
    met: list[Key] = []
    for each in sets:
        mine = {one for data in each for one in made(data) if data["kind"] not in CLUSTER_SCOPED}
        met += sorted(mine & seen)
        seen |= mine
    return met
