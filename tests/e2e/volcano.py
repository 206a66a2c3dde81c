"""A case as Volcano's scheduler sees it, and where its own code binds the pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from e2e.mutations import count, level, more, requests
from e2e.nodes import classes, slices
from e2e.pods import claim_templates, with_claims
from e2e.scheduler import Mutation, Object, Release, Scheduler, World, ask, removed, stored

SESSIONS = 20
"""Volcano opens a session every second; a gang that needs more than this many is not started."""

WITH_CLAIMS = 300
"""Sessions for pods with claims, which Volcano starts only after many if several domains have room (F645)."""

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


def bind(world: World, release: Release) -> Mapping[str, str]:
    """Pod -> node."""
    objects = list(_objects(world))
    sessions = WITH_CLAIMS if any(each["kind"] == "ResourceClaim" for each in objects) else SESSIONS
    case = {"configuration": CONFIGURATION, "sessions": sessions, "objects": objects}
    found: dict[str, str] = ask(release.program, case)["bindings"]
    return found


def _objects(world: World) -> Iterator[Object]:
    yield from (*world.nodes, *classes(world.topology), *slices(world.topology))
    groups = {_group(each.body) for each in world.members}
    for each in world.documents:
        if each["kind"] == "Queue":
            yield stored(each, state="Open")
        elif each["kind"] in ("HyperNode", "PriorityClass"):
            yield stored(each)
        elif each["kind"] == "PodGroup" and each["metadata"]["name"] in groups:
            yield stored(each, phase="Pending")
    templates = claim_templates(world.documents)
    for member in world.members:
        pod, claims = with_claims(member.body, templates)
        yield from (*claims, pod)


def _group(pod: Mapping[str, Any]) -> Any:
    return (pod["metadata"].get("annotations") or {}).get("scheduling.k8s.io/group-name")


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
        *requests(),
    ),
    seeds=(1, 2, 7, 15, 17, 25, 31, 45, 53, 112, 206, 264, 282),
    doubts=frozenset({"F645", "F690"}),
    runs=3,  # Volcano goes through Go's maps, whose order is random
)
