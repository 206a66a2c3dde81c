"""What Kueue's own code makes of LeaderWorkerSets, StatefulSets, Deployments and MPIJobs, and where their pods go.

Kueue's webhooks mark the workloads, the controllers make pods of these (workloads.py), and Kueue's reconcilers make
Workloads of both, which its scheduler admits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from e2e.releases import BY_NAME
from e2e.releases import require as require_release
from e2e.scheduler import Documents, Object, ask, edited
from e2e.workloads import NEWEST, made, stored

SERVERS = frozenset({"LeaderWorkerSet", "StatefulSet", "Deployment"})


class Admitted(NamedTuple):
    """Pod -> node, podSets of Workloads -> their nodes, why others wait, and what a webhook refuses."""

    nodes: Mapping[str, str]
    assignments: Mapping[str, Mapping[str, list[str]]]
    reasons: Mapping[str, str]
    refused: list[str]


def admitted(documents: Documents, cluster: Iterable[Object]) -> Admitted:
    """`cluster`: nodes, and the Topology, ResourceFlavor and queues of Kueue. An MPIJob has no pods until it starts."""
    release = BY_NAME["kueue 0.19.2"]
    require_release(release)
    spaces = sorted({each["metadata"].get("namespace", "default") for each in documents})
    world = [
        *({"kind": "Namespace", "metadata": {"name": name}} for name in spaces),
        *edited(list(cluster), "Node metadata labels", lambda labels: {**labels, "kubernetes.io/os": "linux"}),
    ]
    given = [_known(stored(each, NEWEST.versions)) for each in documents]
    servers = [each for each in given if each["kind"] in SERVERS]
    jobs = [each for each in given if each["kind"] == "MPIJob"]
    answer = ask(release.program, {"mark": True, "objects": [*world, *servers]})
    marked, refused = answer.get("marked") or [], answer.get("refused") or []
    found = made(marked)
    parts = [each for each in found.objects if each["kind"] == "StatefulSet" and "ownerReferences" in each["metadata"]]
    objects = [*world, *marked, *(_suspended(each) for each in jobs), *parts, *found.pods]
    answer = ask(release.program, {"objects": objects})
    return Admitted(answer["bindings"], answer["assignments"], answer.get("reasons") or {}, [*refused, *found.refused])


def _known(document: Object) -> Object:
    """With the uid of an API server."""
    metadata = document["metadata"]
    born = {"uid": f"uid-{metadata['name']}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {**document, "metadata": {**born, **metadata}}


def _suspended(job: Object) -> Object:
    policy = {**(job["spec"].get("runPolicy") or {}), "suspend": True}
    return {**job, "spec": {**job["spec"], "runPolicy": policy}}
