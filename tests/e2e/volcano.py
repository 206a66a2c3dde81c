"""A case as Volcano's scheduler sees it, and where its own code binds the pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.backends.volcano import prove
from bayplan.backends.volcano.pod_group import API_VERSION, POD_GROUP, ROLE, SCHEDULER
from bayplan.kube.kinds import GANG_LABEL
from bayplan.kube.kinds.volcano_job import API_VERSION as JOB_API_VERSION
from e2e.mutations import count, finer, level, more, requests
from e2e.nodes import classes, slices
from e2e.others import OTHERS, others, pods, unended
from e2e.pods import Member
from e2e.random_cases import richer
from e2e.scheduler import Case, Mutation, Object, Release, Scheduler, World, ask, edited, removed, stored

SESSIONS = 20
"""Volcano opens a session every second; a gang that needs more than this many is not started."""

WITH_CLAIMS = 300
"""Sessions for pods with claims, which Volcano starts only after many if several domains have room (F605)."""

CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
"""
"""The default of Volcano's Helm chart, with the plugin for which bayplan asks (F689)."""

GROUP = "PodGroup spec networkTopology"
SUBGROUP = "PodGroup spec subGroupPolicy * networkTopology"
JOB = "Job spec networkTopology"
PARTITION = "Job spec tasks * partitionPolicy networkTopology"


def bind(world: World, release: Release) -> Mapping[str, str]:
    """Pod -> node.

    Volcano keeps the domains of running gangs in memory, so it places all pods itself before some of them start again.
    """
    restarted = [each.name for each in world.members if "nodeName" not in each.body["spec"]]
    if len(restarted) == len(world.members):
        restarted = []
    objects = list(_objects(unended(world)._replace(members=[_pending(each) for each in world.members])))
    sessions = WITH_CLAIMS if any(each["kind"] == "ResourceClaim" for each in objects) else SESSIONS
    case = {"configuration": CONFIGURATION, "sessions": sessions, "restarted": restarted, "objects": objects}
    found: dict[str, str] = ask(release.program, case)["bindings"]
    return found


def _pending(member: Member) -> Member:
    spec = {key: value for key, value in member.body["spec"].items() if key != "nodeName"}
    return member._replace(body={**member.body, "spec": spec, "status": {"phase": "Pending"}})


def _objects(world: World) -> Iterator[Object]:
    yield from (*world.nodes, *classes(world.topology), *slices(world.topology))
    gangs, groups = {each.gang for each in world.members}, {_group(each.body) for each in world.members}
    for each in world.documents:
        if each["kind"] == "Queue":
            yield stored(each, state="Open")
        elif each["kind"] in ("HyperNode", "PriorityClass"):
            yield stored(each)
        elif each["kind"] == "PodGroup" and each["metadata"]["name"] in groups:
            yield stored(each, phase="Pending")
        elif each["apiVersion"] == JOB_API_VERSION and _gang(each) in gangs:
            yield stored(each)
    yield stored({"apiVersion": API_VERSION, "kind": "Queue", "metadata": {"name": OTHERS}, "spec": {}}, state="Open")
    yield from map(_group_of_others, others(world))
    for pod, claims in pods(world, _of_others):
        yield from (*claims, pod)


def _of_others(pod: Object) -> Object:
    metadata = {**pod["metadata"], "annotations": {POD_GROUP: pod["metadata"]["name"]}}
    return {**pod, "metadata": metadata, "spec": {"schedulerName": SCHEDULER, **pod["spec"]}}


def _group_of_others(pod: Object) -> Object:
    place = {key: pod["metadata"][key] for key in ("name", "namespace")}
    spec = {"minMember": 1, "queue": OTHERS}
    return stored(
        {"apiVersion": API_VERSION, "kind": "PodGroup", "metadata": place, "spec": spec}, phase="Running", running=1
    )


def _gang(document: Mapping[str, Any]) -> str:
    return str((document["metadata"].get("labels") or {}).get(GANG_LABEL, ""))


def _group(pod: Mapping[str, Any]) -> Any:
    return (pod["metadata"].get("annotations") or {}).get(POD_GROUP)


def _fitted(case: Case, _release: Release) -> Case:
    """In the richer half of the random cases with Volcano Jobs in place of Jobs."""
    kinds = {"job": "volcano-job"} if richer(case) else {}
    (flow,) = edited([case.workflow], "Workflow spec gangs * workload", lambda kind: kinds.get(kind, kind))
    return case._replace(workflow=flow)


def _unbound(world: World) -> World:
    """With PodGroups in place of Volcano Jobs, and no roles: pods of one role are equal for Volcano."""
    documents = [_as_pod_group(each) if each["apiVersion"] == JOB_API_VERSION else each for each in world.documents]
    documents = edited(documents, "PodGroup spec minTaskMember", removed)
    jobs = {_gang(each) for each in world.documents if each["apiVersion"] == JOB_API_VERSION}
    marked = [_grouped(each) if each.gang in jobs else each for each in world.members]
    members = [
        each._replace(body=edited([each.body], f"Pod metadata annotations {ROLE}", removed)[0]) for each in marked
    ]
    return world._replace(documents=documents, members=members)


def _as_pod_group(job: Mapping[str, Any]) -> Object:
    spec = {"minMember": job["spec"]["minAvailable"], "queue": job["spec"]["queue"]}
    return {"apiVersion": API_VERSION, "kind": "PodGroup", "metadata": job["metadata"], "spec": spec}


def _grouped(member: Member) -> Member:
    """All Volcano Jobs of random cases are called after their gang."""
    metadata = {**member.body["metadata"], "annotations": {POD_GROUP: member.gang}}
    spec = {"schedulerName": SCHEDULER, **member.body["spec"]}
    return member._replace(body={**member.body, "metadata": metadata, "spec": spec})


VOLCANO = Scheduler(
    "volcano",
    bind,
    constraints=(GROUP, SUBGROUP),
    mutations=(
        *level("tier of the gang", f"{GROUP} highestTierAllowed"),
        *level("tier of a group", f"{SUBGROUP} highestTierAllowed"),
        Mutation("no constraint of the gang", GROUP, removed),
        Mutation("no constraint of a group", SUBGROUP, removed),
        Mutation("a gang's mode soft", f"{GROUP} mode", lambda _: "soft"),
        Mutation("a group's mode soft", f"{SUBGROUP} mode", lambda _: "soft"),
        *count("minMember", "PodGroup spec minMember"),
        # One fewer changes nothing that random cases show: the gang's minMember holds all of it back.
        Mutation("minSubGroups + 1", "PodGroup spec subGroupPolicy * minSubGroups", more),
        *count("subGroupSize", "PodGroup spec subGroupPolicy * subGroupSize"),
        Mutation("no subgroups", "PodGroup spec subGroupPolicy", removed),
        *level("tier of a Volcano Job", f"{JOB} highestTierAllowed", JOB),
        # Partitions without a tier change nothing that random cases show, unless bayplan reports that Volcano may fail.
        Mutation("tier of partitions finer", f"{PARTITION} highestTierAllowed", finer),
        *count("partitionSize", "Job spec tasks * partitionPolicy partitionSize"),
        *requests(),
    ),
    seeds=(100036, 100311, 100421, 1, 2, 7, 9, 15, 17, 25, 31, 45, 53, 112, 206, 264, 282, 949),
    doubts=frozenset({"F605", "F690"}),
    fitted=_fitted,
    known=prove,
    unbound=_unbound,
    runs=3,  # Volcano goes through Go's maps, whose order is random
)
