"""A case as Kueue's scheduler sees it, and the nodes to which its own code admits the pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.kube.kinds import GANG_LABEL
from e2e.mutations import count, level, preference, requests
from e2e.others import others
from e2e.pods import Member
from e2e.random_cases import richer
from e2e.scheduler import Case, Mutation, Object, Release, Scheduler, World, ask, counted, edited, removed
from oracle.manifests import read_name

GROUP = "kueue.x-k8s.io/pod-group-name"
QUEUE = "kueue.x-k8s.io/queue-name"
TOPOLOGY = "kueue.x-k8s.io/podset-"
OBJECTS = frozenset({"Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue"})
KINDS = {"job": "jobset"}
"""Kueue admits each Job by itself, so only gangs of one podSet may be Jobs: the others are JobSets."""

TOGETHER = {"pods": "jobset"}
"""In the richer half of the random cases: Kueue cannot tell podSets of bare pods from each other by their names."""


def bind(world: World, release: Release) -> Mapping[str, str]:
    """Pod -> node. Kueue hands out domains to the pods of a podSet in the order of their ranks."""
    gangs = {each.gang for each in world.members}
    used = [each for each in world.documents if gangs & {_gang(template) for _, template in _templates(each)}]
    spaces = sorted({each["metadata"].get("namespace", "default") for each in world.documents})
    objects = [
        *({"kind": "Namespace", "metadata": {"name": name}} for name in spaces),
        *edited(world.nodes, "Node metadata labels", lambda labels: {**labels, "kubernetes.io/os": "linux"}),
        *(each for each in world.documents if each["kind"] in OBJECTS),
        *(_stored(each) for each in used),
        *others(world),
        *(each.body for each in world.members if GROUP in each.body["metadata"]["labels"]),
    ]
    answer = ask(release.program, {"objects": objects})
    return {**answer["bindings"], **dict(_bindings(world.members, used, answer["assignments"]))}


def _gang(document: Mapping[str, Any]) -> str:
    return str((document.get("metadata", {}).get("labels") or {}).get(GANG_LABEL, ""))


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
    ranks: dict[tuple[str, str], list[str]] = {}
    for each in members:
        ranks.setdefault((each.gang, each.template), []).append(each.name)
    waiting = {key: iter(names) for key, names in ranks.items()}
    for document in used:
        found = assigned.get(document["metadata"]["name"], {})
        for name, template in _templates(document):
            pods = waiting.get((_gang(template), read_name(template, document["metadata"]["name"])), iter(()))
            yield from ((pod, node) for node, pod in zip(found.get(name, ()), pods, strict=False))


def _templates(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The podSets of a workload, as Kueue names them."""
    if document["kind"] == "JobSet":
        for each in document["spec"]["replicatedJobs"]:
            yield each["name"], each["template"]["spec"]["template"]
    elif document["kind"] == "Job":
        yield "main", document["spec"]["template"]


def _fitted(case: Case, _release: Release) -> Case:
    """With counted devices and without ports of nodes, because Kueue does not count claims and ports, and with kinds
    that it takes.

    The richer half of the random cases without `minReplicas` too, which Kueue does not have.
    """
    kinds = {**KINDS, **(TOGETHER if richer(case) else {})}
    flows = edited([counted(case).workflow], "Workflow spec gangs * workload", lambda kind: kinds.get(kind, kind))
    if richer(case):
        flows = edited(flows, "Workflow ** minReplicas", removed)
    flows = edited(flows, "Workflow ** hostNetwork", removed)
    plain = tuple(each._replace(channel=False, port=0) for each in case.others)
    return counted(case)._replace(workflow=flows[0], others=plain)


def _unbound(world: World) -> World:
    """Each pod as a Job of its own: a podSet has one node selector for all its pods."""
    kept = [each for each in world.documents if each["kind"] in OBJECTS]
    queues = {_gang(each): each["metadata"]["labels"].get(QUEUE) for each in world.documents if _gang(each)}
    members = [each._replace(body=_bare(each.body)) for each in world.members]
    jobs = [_job(each.body, queues[each.gang]) for each in members]
    named = [each._replace(template=read_name(each.body, each.name)) for each in members]
    return world._replace(members=named, documents=[*kept, *jobs])


def _bare(pod: Object) -> Object:
    """Without Kueue's labels and annotations."""
    metadata = pod["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if not key.startswith("kueue.x-k8s.io/")}
    return {
        **pod,
        "metadata": {**metadata, "labels": labels, "annotations": {f"{TOPOLOGY}unconstrained-topology": "true"}},
    }


def _job(pod: Object, queue: str) -> Object:
    metadata = pod["metadata"]
    template = {"metadata": {key: metadata[key] for key in ("labels", "annotations")}, "spec": pod["spec"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "labels": {QUEUE: queue}},
        "spec": {"suspend": True, "template": template},
    }


KUEUE = Scheduler(
    "kueue",
    bind,
    constraints=(),
    mutations=(
        *level("required level", f"* ** annotations {TOPOLOGY}required-topology"),
        *preference("preferred level", f"* ** annotations {TOPOLOGY}preferred-topology"),
        *level("level of slices", f"* ** annotations {TOPOLOGY}slice-required-topology"),
        *count("slice size", f"* ** annotations {TOPOLOGY}slice-size"),
        Mutation("no groups of podSets", f"* ** annotations {TOPOLOGY}group-name", removed),
        *requests(),
    ),
    seeds=(1, 4, 5, 6, 12, 13, 67, 91, 160, 282, 302, 729, 100048),
    doubts=frozenset({"F690"}),
    fitted=_fitted,
    unbound=_unbound,
)
