"""What a cluster must have before manifests come: upstream's CRDs, namespaces, priority classes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from e2e.apiserver.client import Client, Document, Reply
from judges import builtin, crd
from judges.syntax import walk

SECONDS = 60
"""How long a CRD may take to be served."""

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Cluster(NamedTuple):
    """A server, the versions of the components whose CRDs it has, and `apiVersion, kind` -> how to reach objects."""

    client: Client
    target: Mapping[str, str]
    served: Mapping[tuple[str, str], tuple[str, bool]]

    def serves(self, document: Document) -> bool:
        """Whether there are objects of its kind at all."""
        return (document["apiVersion"], document["kind"]) in self.served

    def folder(self, document: Document) -> str:
        """The path that objects like this one are created at."""
        version = document["apiVersion"]
        plural, namespaced = self.served[version, document["kind"]]
        inner = f"/namespaces/{document['metadata']['namespace']}" if namespaced else ""
        return f"{root(version)}{inner}/{plural}"

    def path(self, document: Document) -> str:
        """The path of the object itself."""
        return f"{self.folder(document)}/{document['metadata']['name']}"


def furnish(client: Client, target: Mapping[str, str], documents: Iterable[Document]) -> Cluster:
    """Install what the documents need and do not bring along themselves."""
    listed = list(documents)
    for path in sorted({path for each in listed if (path := definition(each, target))}):
        install(client, crd.read(path))
    for name in sorted({each["metadata"]["namespace"] for each in listed if "namespace" in each["metadata"]}):
        must(client.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}}))
        account = {"metadata": {"name": "default"}}  # of which the controller manager makes one for every namespace
        must(client.send("POST", f"/api/v1/namespaces/{name}/serviceaccounts", account))
    for name in sorted(set(priorities(listed))):
        body = {"metadata": {"name": name}, "value": 50}
        must(client.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body))
    versions = sorted({each["apiVersion"] for each in listed} | {"batch/v1", "v1"})
    return Cluster(client, target, dict(found for version in versions for found in discover(client, version)))


def definition(document: Document, target: Mapping[str, str]) -> Path | None:
    """The CRD of a document's kind; None for Kubernetes' own kinds."""
    group, _, kind = builtin.split(document)
    return None if builtin.knows(document) else crd.find(group, kind, tuple(sorted(target.items())))


def install(client: Client, document: Any) -> None:
    """Create a CRD, strictly, and wait until it is served."""
    must(client.send("POST", CRDS, document, fieldValidation="Strict"))
    name, end = document["metadata"]["name"], time.monotonic() + SECONDS
    while not established(must(client.get(f"{CRDS}/{name}")).body):
        assert time.monotonic() < end, f"{name} is not served after {SECONDS} s"
        time.sleep(0.05)
    spec = document["spec"]
    for version in (each["name"] for each in spec["versions"] if each["served"]):
        path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
        while not client.get(path).taken:
            assert time.monotonic() < end, f"{path} is not served after {SECONDS} s"
            time.sleep(0.05)


def established(definition: Any) -> bool:
    """Whether the server took the names and the schema."""
    conditions = {each["type"]: each["status"] for each in definition["status"]["conditions"] or ()}
    assert conditions.get("NonStructuralSchema", "False") == "False", definition["status"]
    return conditions.get("Established") == "True"


def discover(client: Client, version: str) -> Iterator[tuple[tuple[str, str], tuple[str, bool]]]:
    """The kinds of an API version; none where the server has no such version."""
    reply = client.get(root(version))
    assert reply.taken or reply.status == 404, reply.message
    for each in reply.body["resources"] if reply.taken else ():
        if "/" not in each["name"]:
            yield (version, each["kind"]), (each["name"], each["namespaced"])


def root(version: str) -> str:
    """The path of an API version."""
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def priorities(documents: Iterable[Document]) -> Iterator[str]:
    """The priority classes that documents name."""
    for each in documents:
        yield from (value for place, value in walk(each) if place[-1:] == ("priorityClassName",))


def must(reply: Reply) -> Reply:
    """The reply, which must be a success."""
    assert reply.taken, reply.message
    return reply
