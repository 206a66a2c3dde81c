"""A case as kube-scheduler sees it, and where its own code binds the pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from e2e.mutations import count, level, requests
from e2e.nodes import classes, slices
from e2e.others import pods, unended
from e2e.scheduler import Mutation, Object, Release, Scheduler, World, ask, removed, stored

GROUPS = frozenset({"Workload", "PodGroup", "CompositePodGroup"})


def bind(world: World, release: Release) -> Mapping[str, str]:
    """Pod -> node."""
    found: dict[str, str] = ask(release.program, {"objects": list(_objects(world))})["bindings"]
    return found


def _objects(world: World) -> Iterator[Object]:
    yield from (*world.nodes, *classes(world.topology), *slices(world.topology))
    yield from (stored(each) for each in world.documents if each["kind"] in GROUPS)
    for pod, claims in pods(unended(world), lambda pod: pod):
        yield from (*claims, {**pod, "spec": {"schedulerName": "default-scheduler", **pod["spec"]}})


def _versions(release: Release) -> dict[str, str]:
    return {"kubernetes": release.version.rpartition(".")[0]}


GROUP = "PodGroup spec schedulingConstraints"
COMPOSITE = "CompositePodGroup spec schedulingConstraints"

NATIVE = Scheduler(
    "native",
    bind,
    constraints=(GROUP, COMPOSITE),
    mutations=(
        *level("level of a PodGroup", f"{GROUP} topology * key", GROUP),
        *level("level of a CompositePodGroup", f"{COMPOSITE} topology * key", COMPOSITE),
        *count("minCount", "PodGroup spec schedulingPolicy gang minCount"),
        *count("minGroupCount", "CompositePodGroup spec schedulingPolicy gang minGroupCount"),
        Mutation("no parent", "* spec parentCompositePodGroupName", removed),
        *requests(),
    ),
    seeds=(1, 3, 5, 10, 17, 18, 35, 100031),
    doubts=frozenset({"F604", "F636", "F639", "F690"}),
    versions=_versions,
)
