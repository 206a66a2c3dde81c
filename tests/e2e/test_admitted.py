"""What Kueue 0.19 admits of the pods that controllers make, and to which nodes."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.admitted import SERVERS, Admitted, admitted
from e2e.kueue import OBJECTS
from e2e.nodes import nodes
from e2e.scheduler import Object
from e2e.test_workloads import HALL, LEVELS, POD, RACK, hall, lws, mpijob, of, racks
from tools.data import parse
from tools.golden import Case, documents
from tools.run import EXAMPLES

KUEUE = "kueue.x-k8s.io"
FLAVOR = {"name": "gpus", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "64"}]}
QUEUES: list[Object] = [
    {"apiVersion": f"{KUEUE}/v1beta2", "kind": kind, "metadata": {"name": name, "uid": name}, "spec": spec}
    for kind, name, spec in (
        ("Topology", "hall", LEVELS),
        ("ResourceFlavor", "gpus", {"topologyName": "hall", "nodeLabels": {}}),
        (
            "ClusterQueue",
            "all",
            {
                "namespaceSelector": {},
                "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [FLAVOR]}],
            },
        ),
    )
]
QUEUES.append(
    {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "research", "namespace": "ml"},
        "spec": {"clusterQueue": "all"},
    }
)


def queued(manifest: Object) -> Object:
    return {**manifest, "metadata": {**manifest["metadata"], "labels": {f"{KUEUE}/queue-name": "research"}}}


def noted(template: Object, **notes: str) -> Object:
    """The pod template with annotations of Kueue."""
    annotations = {f"{KUEUE}/podset-{key.replace('_', '-')}": value for key, value in notes.items()}
    return {**template, "metadata": {**(template.get("metadata") or {}), "annotations": annotations}}


def judged(*manifests: Object) -> Admitted:
    return admitted(list(manifests), [*nodes(hall(HALL)), *QUEUES])


def started(*manifests: Object) -> Admitted:
    found = judged(*manifests)
    assert (found.refused, found.reasons) == ([], {})
    return found


def leading(replicas: int, size: int, **notes: str) -> Object:
    """A LeaderWorkerSet with a leader template and the same annotations on both templates."""
    template = noted(POD, **notes)
    return queued(lws(replicas, size, template={"leaderTemplate": template, "workerTemplate": template}))


def groups(replicas: int, size: int) -> list[list[str]]:
    return [[f"serve-{n}", *(f"serve-{n}-{w}" for w in range(1, size))] for n in range(replicas)]


def test_each_group_is_a_workload_in_a_rack() -> None:
    alone = queued(lws(2, 4, template={"workerTemplate": noted(POD, required_topology=RACK)}))
    found = started(alone)
    assert [len(racks(found.nodes, *names)) for names in groups(2, 4)] == [1, 1]
    assert [{name: len(nodes) for name, nodes in each.items()} for each in found.assignments.values()] == [
        {"main": 4}
    ] * 2


def test_a_leader_is_in_the_rack_of_its_workers_only_by_a_group_of_pod_sets() -> None:
    together = started(leading(2, 4, required_topology=RACK, group_name="group"))
    assert [len(racks(together.nodes, *names)) for names in groups(2, 4)] == [1, 1]
    assert {tuple(each) for each in together.assignments.values()} == {("leader", "worker")}
    apart = started(leading(2, 4, required_topology=RACK))
    assert [len(racks(apart.nodes, *names[1:])) for names in groups(2, 4)] == [1, 1]


def test_a_group_that_fits_no_rack_waits() -> None:
    found = judged(leading(1, 5, required_topology=RACK, group_name="group"))
    assert found.nodes == {}
    assert len(found.reasons) == 1


def test_slices_of_a_leader_worker_set() -> None:
    """Eight pods of one template in slices of four: each slice in a rack."""
    notes = {"required_topology": HALL_SPINE, "slice_required_topology": RACK, "slice_size": "4"}
    found = started(queued(lws(1, 8, template={"workerTemplate": noted(POD, **notes)})))
    ((*names,),) = groups(1, 8)
    assert [len(racks(found.nodes, *names[:4])), len(racks(found.nodes, *names[4:]))] == [1, 1]


HALL_SPINE = LEVELS["levels"][1]["nodeLabel"]


@pytest.mark.parametrize(
    ("leader", "worker", "text"),
    [
        ({"required_topology": RACK, "group_name": "a"}, {"required_topology": RACK, "group_name": "b"}, "group"),
        ({"required_topology": RACK, "group_name": "a"}, {"preferred_topology": RACK, "group_name": "a"}, "opology"),
        ({}, {"required_topology": RACK, "preferred_topology": RACK}, "must not contain more than one topology"),
    ],
)
def test_the_webhook_refuses(leader: Any, worker: Any, text: str) -> None:
    template = {"leaderTemplate": noted(POD, **leader), "workerTemplate": noted(POD, **worker)}
    found = judged(queued(lws(1, 3, template=template)))
    assert found.nodes == {}
    assert len(found.refused) == 1
    assert text in found.refused[0]


def test_a_stateful_set_is_one_workload_and_a_deployments_pods_are_one_each() -> None:
    template = {**noted(POD, required_topology=RACK)}
    template["metadata"] |= {"labels": {"app": "x"}}
    head = {"replicas": 4, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    rows = queued(of("StatefulSet", "apps/v1", {**head, "serviceName": "serve", "podManagementPolicy": "Parallel"}))
    found = started(rows)
    assert len(racks(found.nodes, *(f"serve-{n}" for n in range(4)))) == 1
    assert len(found.assignments) == 1
    found = started(queued(of("Deployment", "apps/v1", head, "router")))
    assert len(found.assignments) == len(found.nodes) == 4


def test_an_mpi_job_is_one_workload() -> None:
    part = {"template": noted(POD, required_topology=RACK), "restartPolicy": "Never"}
    parts = {"Launcher": {**part, "template": POD, "replicas": 1}, "Worker": {**part, "replicas": 4}}
    found = started(queued(mpijob(mpiReplicaSpecs=parts)))
    parts = found.assignments["serve"]
    assert {name: len(each) for name, each in parts.items()} == {"launcher": 1, "worker": 4}
    assert len({node.rpartition("-")[0] for node in parts["worker"]}) == 1


def test_kueue_takes_and_starts_the_groups_that_bayplan_renders() -> None:
    written = documents(Case("kueue", "0.19", "vllm"))
    topology = parse((EXAMPLES / "vllm" / "topology.yaml").read_text("utf-8"))
    known = hall(topology)
    queues = [each for each in written if each["kind"] in OBJECTS]
    found = admitted([each for each in written if each["kind"] in SERVERS], [*nodes(known), *queues])
    assert (found.refused, found.reasons) == ([], {})
    leaves = {name: each.path[0] for pool in known.pools for each in pool.domains for name in each.nodes}
    for group in ([f"llama-{n}", f"llama-{n}-1"] for n in range(2)):
        assert len({leaves[found.nodes[name]] for name in group}) == 1
