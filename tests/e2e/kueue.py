"""A case as Kueue's scheduler sees it, and the nodes to which its own code admits the pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from e2e.nodes import nodes
from e2e.pods import Member
from e2e.releases import Release
from e2e.replay_program import ask
from e2e.scene import Scene
from oracle.manifests import read_name

Object = dict[str, Any]
POD_GROUP = "kueue.x-k8s.io/pod-group-name"
OBJECTS = frozenset({"Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue"})


def bind(made: Scene, chosen: Iterable[Member], documents: Sequence[Mapping[str, Any]], release: Release) -> dict[str, str]:
    """Pod -> node. Kueue hands out domains to the pods of a podSet in the order of their ranks."""
    members = list(chosen)
    gangs = {each.gang for each in members}
    used = [each for each in documents if gangs & {_gang(template) for _, template in _templates(each)}]
    spaces = sorted({each["metadata"].get("namespace", "default") for each in (*used, *documents)})
    objects = [
        *({"kind": "Namespace", "metadata": {"name": name}} for name in spaces),
        *(_linux(each) for each in nodes(made.plan.topology)),
        *(each for each in documents if each["kind"] in OBJECTS),
        *(_stored(each) for each in used),
        *(each.body for each in members if POD_GROUP in each.body["metadata"]["labels"]),
    ]
    answer = ask(release.tool, {"objects": objects})
    return {**answer["bindings"], **dict(_bindings(members, used, answer["assignments"]))}


def _gang(document: Mapping[str, Any]) -> str:
    return str((document.get("metadata", {}).get("labels") or {}).get("bayplan.dev/gang", ""))


def _linux(node: Object) -> Object:
    labels = {**node["metadata"]["labels"], "kubernetes.io/os": "linux"}
    return {**node, "metadata": {**node["metadata"], "labels": labels}}


def _stored(document: Mapping[str, Any]) -> Object:
    """With the uid and the defaults of an API server."""
    name = document["metadata"]["name"]
    if document["kind"] == "Job":
        document = {**document, "spec": {"parallelism": 1, "completions": 1, **document["spec"]}}
    return {**document, "metadata": {"uid": name, "creationTimestamp": "2026-01-01T00:00:00Z", **document["metadata"]}}


def _bindings(
    members: Sequence[Member], used: Sequence[Mapping[str, Any]], assigned: Mapping[str, Mapping[str, Sequence[str]]]
) -> Iterator[tuple[str, str]]:
    """The nodes of each podSet of each Workload, for its pods in the order of their ranks."""
    waiting: dict[tuple[str, str], list[Member]] = {}
    for each in members:
        waiting.setdefault((each.gang, each.template), []).append(each)
    for document in used:
        found = assigned.get(document["metadata"]["name"], {})
        for name, template in _templates(document):
            pods = waiting.get((_gang(template), read_name(template, document["metadata"]["name"])), [])
            yield from ((pod.name, node) for pod, node in zip(pods, found.get(name, ()), strict=False))


def _templates(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The podSets of a workload, as Kueue names them."""
    if document["kind"] == "JobSet":
        for each in document["spec"]["replicatedJobs"]:
            yield each["name"], each["template"]["spec"]["template"]
    elif document["kind"] == "Job":
        yield "main", document["spec"]["template"]
