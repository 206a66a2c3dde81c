"""Hand documents to the server as users do, and say what it did not take, warned of, changed or lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from e2e.apiserver.client import APPLY, Document, Reply
from e2e.apiserver.cluster import Cluster
from judges import name

STRICT = {"fieldValidation": "Strict", "fieldManager": "bayplan"}
AT_ONCE = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}


def apply(cluster: Cluster, documents: Sequence[Document]) -> list[str]:
    """Complaints about documents applied one after the other, in their order, and then removed again."""
    try:
        return [f"{name(each)}: {complaint}" for each in documents for complaint in complaints(cluster, each)]
    finally:
        for each in reversed(documents):
            remove(cluster, each)


def complaints(cluster: Cluster, document: Document) -> Iterator[str]:
    """Create as a dry run, apply, apply again, look at what is stored, create what the controllers would."""
    if not cluster.serves(document):
        yield f"create: there is no {document['kind']} in {document['apiVersion']}"
        return
    client, path = cluster.client, cluster.path(document)
    yield from about("create", create(cluster, document))
    first = client.send("PATCH", path, document, APPLY, **STRICT)
    yield from about("apply", first)
    if not first.taken:
        return
    second = client.send("PATCH", path, document, APPLY, **STRICT)
    yield from about("apply again", second)
    if version(first) != version(second):
        yield "applied again it changes"
    yield from lost(document, second.body, "")
    for job in jobs(document):
        yield from (f"{name(job)}: {each}" for each in about("create", create(cluster, job)))


def create(cluster: Cluster, document: Document) -> Reply:
    """A dry run: everything but the writing."""
    return cluster.client.send("POST", cluster.folder(document), document, dryRun="All", **STRICT)


def about(verb: str, reply: Reply) -> Iterator[str]:
    """A refusal, and the warnings."""
    if not reply.taken:
        yield f"{verb}: {reply.status} {reply.message}"
    yield from (f"{verb}: warning: {each}" for each in reply.warnings)


def version(reply: Reply) -> Any:
    """What changes with every change of an object."""
    return reply.body["metadata"]["resourceVersion"] if reply.taken else None


def lost(sent: Any, stored: Any, path: str) -> Iterator[str]:
    """What was sent and is not stored. The server may add fields, and entries at the end of lists."""
    if isinstance(sent, Mapping) and isinstance(stored, Mapping):
        for key, value in sent.items():
            yield from lost(value, stored.get(key), f"{path}.{key}")
    elif isinstance(sent, list) and isinstance(stored, list) and len(sent) <= len(stored):
        for index, value in enumerate(sent):
            yield from lost(value, stored[index], f"{path}[{index}]")
    elif sent != stored:
        yield f"{path.lstrip('.')}: {sent!r} is stored as {stored!r}"


def jobs(document: Document) -> Iterator[Document]:
    """The first Job of each replicatedJob of a JobSet (JobSet 0.12, pkg/controllers/jobset_controller.go)."""
    if document["kind"] != "JobSet":
        return
    metadata = document["metadata"]
    for each in document["spec"]["replicatedJobs"]:
        job = f"{metadata['name']}-{each['name']}-{each['replicas'] - 1}"
        own = {**each["template"].get("metadata", {}), "name": job, "namespace": metadata["namespace"]}
        yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": own, "spec": each["template"]["spec"]}


def remove(cluster: Cluster, document: Document) -> None:
    """Delete an object if it is there."""
    if not cluster.serves(document):
        return
    reply = cluster.client.send("DELETE", cluster.path(document), AT_ONCE)
    assert reply.taken or reply.status == 404, reply.message
