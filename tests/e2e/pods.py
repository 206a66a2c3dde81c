"""The pods that controllers would make from the manifests, with the claims that go with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.kube.kinds import GANG_LABEL
from bayplan.kube.pod import COMPUTE_DOMAIN_API
from e2e.nodes import CHANNEL_CLASS
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
        "spec": _mounted(template["spec"]),
        "status": {"phase": "Pending"},
    }


def _mounted(spec: Fields) -> Object:
    """Without PersistentVolumeClaims: a snapshot has no PersistentVolumes to bind them to."""
    volumes = [_volume(each) for each in spec.get("volumes") or ()]
    return {**spec, **({"volumes": volumes} if volumes else {})}


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
    """The pod as a cluster without DRA would take it."""
    spec = {key: value for key, value in pod["spec"].items() if key != "resourceClaims"}
    spec["containers"] = [_unclaimed(each) for each in spec["containers"]]
    return {**pod, "spec": spec}


def _unclaimed(container: Fields) -> Object:
    resources = {key: value for key, value in (container.get("resources") or {}).items() if key != "claims"}
    return {**container, "resources": resources}


def with_claims(pod: Object, templates: Mapping[str, Fields]) -> tuple[Object, list[Object]]:
    """The pod with the names of its claims in its status, and the claims, as the claim controller makes them."""
    claims, statuses = [], []
    metadata = pod["metadata"]
    for each in pod["spec"].get("resourceClaims") or ():
        name = f"{metadata['name']}-{each['name']}"
        statuses.append({"name": each["name"], "resourceClaimName": name})
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
        }
        place = {
            "name": name,
            "namespace": metadata["namespace"],
            "uid": name,
            "resourceVersion": "1",
            "ownerReferences": [owner],
        }
        spec = templates[each["resourceClaimTemplateName"]]
        claims.append({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": place, "spec": spec})
    return {**pod, "status": {**pod["status"], "resourceClaimStatuses": statuses}}, claims


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
