"""Where Volcano 1.15 binds the pods that the controllers of LeaderWorkerSets and MPIJobs make."""

from __future__ import annotations

import copy
from typing import Any

from bayplan.model.topology import ClusterTopology
from e2e.nodes import nodes
from e2e.releases import BY_NAME
from e2e.releases import require as require_release
from e2e.scheduler import Object, World
from e2e.test_workloads import HALL, POD, hall, lws, mpijob, of, racks, taken
from e2e.workloads import Made, members

GROUP_NAME = "scheduling.k8s.io/group-name"
SCHEDULING = "scheduling.volcano.sh/v1beta1"
QUEUE = of("Queue", SCHEDULING, {"weight": 1}, "default")
RACK_TIER = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}


def named(template: Object = POD) -> Object:
    """The pod template for Volcano, in the PodGroup `own`."""
    spec = {**copy.deepcopy(template["spec"]), "schedulerName": "volcano"}
    return {"metadata": {"annotations": {GROUP_NAME: "own"}}, "spec": spec}


def group(least: int, **spec: Any) -> Object:
    return of("PodGroup", SCHEDULING, {"minMember": least, "queue": "default", **spec}, "own")


def hyper_nodes(topology: ClusterTopology) -> list[Object]:
    """A HyperNode of tier 1 for each rack, and of tier 2 for each spine."""
    domains = [("-".join(each.path), "-".join(each.path[:-1]), each.nodes) for each in topology.pools[0].domains]
    first = [_hyper_node(1, rack, "Node", *names) for rack, _, names in domains]
    spines = sorted({spine for _, spine, _ in domains})
    return [*first, *(_hyper_node(2, each, "HyperNode", *(d[0] for d in domains if d[1] == each)) for each in spines)]


def _hyper_node(tier: int, name: str, kind: str, *inside: str) -> Object:
    parts = [{"type": kind, "selector": {"exactMatch": {"name": each}}} for each in inside]
    return of("HyperNode", "topology.volcano.sh/v1alpha1", {"tier": tier, "members": parts}, name)


def bound(found: Made, *groups: Object) -> dict[str, str]:
    """Pod -> node."""
    release = BY_NAME["volcano 1.15.1"]
    require_release(release)
    known = hall(HALL)
    documents = [QUEUE, *hyper_nodes(known), *groups]
    return dict(release.scheduler.bind(World(known, list(nodes(known)), members(found.pods), documents), release))


def serving(replicas: int, size: int) -> Object:
    return lws(replicas, size, template={"workerTemplate": named()})


def test_a_pod_group_of_the_annotation_is_a_gang_in_a_rack() -> None:
    found = taken(serving(1, 4))
    where = bound(found, group(4, **RACK_TIER))
    assert len(racks(where, "serve-0", "serve-0-1", "serve-0-2", "serve-0-3")) == 1
    assert bound(taken(serving(1, 5)), group(5, **RACK_TIER)) == {}


def test_all_groups_of_a_leader_worker_set_are_in_the_one_pod_group_of_the_annotation() -> None:
    """So a rack for each group cannot be had by an annotation: it reaches all groups alike."""
    assert bound(taken(serving(2, 4)), group(8, **RACK_TIER)) == {}
    assert len(bound(taken(serving(2, 4)), group(8))) == 8


def test_the_pod_groups_of_lws_own_provider_are_gangs_anywhere() -> None:
    manifest = lws(2, 6)
    manifest["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["schedulerName"] = "volcano"
    found = taken(manifest, gang="volcano")
    groups = [
        {**each, "spec": {**each["spec"], "queue": "default"}} for each in found.objects if each["kind"] == "PodGroup"
    ]
    assert len(bound(found, *groups)) == 12


def test_lws_own_provider_takes_the_annotation_away() -> None:
    found = taken(serving(1, 2), gang="volcano")
    assert {each["metadata"]["annotations"][GROUP_NAME][:8] for each in found.pods} == {"serve-0-"}


def test_an_mpi_job_is_a_gang_by_the_annotation() -> None:
    part = {"template": named(), "restartPolicy": "Never"}
    job = mpijob(mpiReplicaSpecs={"Launcher": {**part, "replicas": 1}, "Worker": {**part, "replicas": 3}})
    where = bound(taken(job), group(4, **RACK_TIER))
    assert len(where) == 4
    assert len(racks(where, *where)) == 1
