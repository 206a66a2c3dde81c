"""The pods that controllers would make from the manifests, with the claims that go with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.kube.kinds import GANG_LABEL
from bayplan.kube.pod import COMPUTE_DOMAIN_API
from e2e.nodes import CHANNEL_CLASS, CHANNELS, GPUS
from oracle.manifests import READERS

Object = dict[str, Any]
Fields = Mapping[str, Any]


Folded = Mapping[tuple[str, str], Mapping[int, str]]
"""Gang and podSet in the manifests -> number of a pod -> podSet instance of the plan."""


class Member(NamedTuple):
    """One pod, and the podSet instance that it belongs to."""

    gang: str
    pods: str
    body: Object
    template: str  # the podSet's name in the manifests, which share one template between folded instances

    @property
    def name(self) -> str:
        """The pod's name."""
        return str(self.body["metadata"]["name"])


def members(documents: Sequence[Fields], folded: Folded | None = None) -> Iterator[Member]:
    """Every pod of the manifests, pending, in the order of their ranks. Its name is built from its podSet instance."""
    seen: dict[tuple[str, str], int] = {}
    for document in documents:
        for found in (each for read in READERS for each in read(document)):
            labels = (found.template.get("metadata") or {}).get("labels") or {}
            gang = str(labels.get(GANG_LABEL, ""))
            for _ in range(found.replicas):
                number = seen.setdefault((gang, found.name), 0)
                seen[gang, found.name] += 1
                instance = ((folded or {}).get((gang, found.name)) or {}).get(number, found.name)
                body = _pod(f"{gang}-{found.name}-{number}", found.owner, found.template)
                yield Member(gang, instance, body, found.name)


def _pod(name: str, owner: Fields, template: Fields) -> Object:
    own = template.get("metadata") or {}
    kept = {key: dict(own[key]) for key in ("labels", "annotations") if own.get(key)}
    place = {"name": name, "namespace": owner["namespace"], "uid": name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**place, **kept, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": mounted(template["spec"]),
        "status": {"phase": "Pending"},
    }


def mounted(spec: Fields) -> Object:
    """Without PersistentVolumeClaims: a snapshot has no PersistentVolumes to bind them to."""
    volumes = [_volume(each) for each in spec.get("volumes") or ()]
    containers = [_on_host(each) for each in spec["containers"]] if spec.get("hostNetwork") else spec["containers"]
    return {**spec, "containers": containers, **({"volumes": volumes} if volumes else {})}


def _on_host(container: Fields) -> Object:
    """With the API server's default: in the node's network, each port is one of the node."""
    ports = [{"hostPort": each["containerPort"], **each} for each in container.get("ports") or ()]
    return {**container, **({"ports": ports} if ports else {})}


def _volume(volume: Fields) -> Object:
    if {"persistentVolumeClaim", "ephemeral"} & set(volume):
        return {"name": volume["name"], "emptyDir": {}}
    return dict(volume)


def config_maps(pod: Fields) -> Iterator[str]:
    """The names of ConfigMaps that the pod takes volumes or environment from."""
    for volume in pod["spec"].get("volumes") or ():
        if "configMap" in volume:
            yield str(volume["configMap"]["name"])
    for container in (*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())):
        sources = [each.get("configMapRef") for each in container.get("envFrom") or ()]
        keys = [(each.get("valueFrom") or {}).get("configMapKeyRef") for each in container.get("env") or ()]
        yield from (str(each["name"]) for each in (*sources, *keys) if each)


def without_claims(pod: Object) -> Object:
    """The pod as a cluster without DRA and PersistentVolumes would take it."""
    spec = {key: value for key, value in mounted(pod["spec"]).items() if key != "resourceClaims"}
    spec["containers"] = [_unclaimed(each) for each in spec["containers"]]
    return {**pod, "spec": spec}


def _unclaimed(container: Fields) -> Object:
    resources = {key: value for key, value in (container.get("resources") or {}).items() if key != "claims"}
    return {**container, "resources": resources}


def with_claims(pods: Iterable[Object], templates: Mapping[str, Fields]) -> list[tuple[Object, list[Object]]]:
    """Each pod with the names of its claims in its status, and its claims, as the claim controller makes them.

    The claims of running pods are allocated, with the first free devices of the node.
    """
    taken: Counter[tuple[str, str]] = Counter()
    found = []
    for pod in pods:
        claims = [_claim(pod, each, templates, taken) for each in pod["spec"].get("resourceClaims") or ()]
        names = (each["name"] for each in pod["spec"].get("resourceClaims") or ())
        statuses = [
            {"name": name, "resourceClaimName": claim["metadata"]["name"]}
            for name, claim in zip(names, claims, strict=True)
        ]
        found.append(({**pod, "status": {**pod["status"], "resourceClaimStatuses": statuses}}, claims))
    return found


def _claim(pod: Fields, named: Fields, templates: Mapping[str, Fields], taken: Counter[tuple[str, str]]) -> Object:
    metadata = pod["metadata"]
    name = f"{metadata['name']}-{named['name']}"
    own = {"name": metadata["name"], "uid": metadata["uid"]}
    place = {
        "name": name,
        "namespace": metadata["namespace"],
        "uid": name,
        "resourceVersion": "1",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", **own, "controller": True}],
    }
    spec = templates[named["resourceClaimTemplateName"]]
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": place, "spec": spec}
    node = pod["spec"].get("nodeName")
    if not node:
        return claim
    results = [each for request in spec["devices"]["requests"] for each in _devices(request, node, taken)]
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    return {**claim, "status": {"allocation": allocation, "reservedFor": [{"resource": "pods", **own}]}}


def _devices(request: Fields, node: str, taken: Counter[tuple[str, str]]) -> Iterator[Object]:
    channel = request["exactly"]["deviceClassName"] == CHANNEL_CLASS
    driver, kind = (CHANNELS, "channel") if channel else (GPUS, "gpu")
    for _ in range(request["exactly"].get("count", 1)):
        device = f"{kind}-{taken[node, driver]}"
        taken[node, driver] += 1
        yield {"request": request["name"], "driver": driver, "pool": node, "device": device}


def claim_templates(documents: Sequence[Fields]) -> dict[str, Fields]:
    """Template name -> spec: those rendered, and those that the driver makes for ComputeDomains."""
    found: dict[str, Fields] = {}
    for each in documents:
        if each["kind"] == "ResourceClaimTemplate":
            found[each["metadata"]["name"]] = each["spec"]["spec"]
        elif each["apiVersion"] == COMPUTE_DOMAIN_API:
            exactly = {"deviceClassName": CHANNEL_CLASS, "allocationMode": "ExactCount", "count": 1}
            channel = {"name": "channel", "exactly": exactly}
            found[each["spec"]["channel"]["resourceClaimTemplate"]["name"]] = {"devices": {"requests": [channel]}}
    return found
