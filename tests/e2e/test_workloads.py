"""What the controllers' own code makes of workloads, whether its webhooks take them, and where their pods then run."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

import support
from bayplan import pipeline
from bayplan.model.topology import ClusterTopology
from bayplan.text import document
from e2e.hand import LABELS, cluster
from e2e.nodes import nodes
from e2e.pods import without_claims
from e2e.releases import BY_NAME
from e2e.releases import require as require_release
from e2e.scheduler import Object, World
from e2e.workloads import LWS, NEWEST, OLDER, OLDEST, Grouped, Made, grouped, made, members
from judges import UPSTREAM
from test_augment import Outcome, an_lws, pod, workload
from tools.data import parse_all

POD: Object = {
    "spec": {"containers": [{"name": "main", "image": "x:1", "resources": {"limits": {"nvidia.com/gpu": "4"}}}]}
}


def lws(replicas: int = 2, size: int = 2, **spec: Any) -> Object:
    template = {"size": size, "workerTemplate": copy.deepcopy(POD), **spec.pop("template", {})}
    whole = {"replicas": replicas, "leaderWorkerTemplate": template, **spec}
    return of("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", whole)


def mpijob(workers: int = 2, **spec: Any) -> Object:
    part = {"template": POD, "restartPolicy": "Never"}
    parts = {"Launcher": {**part, "replicas": 1}, "Worker": {**part, "replicas": workers}}
    return of("MPIJob", "kubeflow.org/v2beta1", {"mpiReplicaSpecs": copy.deepcopy(parts), **spec})


def of(kind: str, version: str, spec: Mapping[str, Any], name: str = "serve") -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "ml"}, "spec": dict(spec)}


RUNTIME = of(
    "ClusterTrainingRuntime",
    "trainer.kubeflow.org/v1alpha1",
    {
        "mlPolicy": {"numNodes": 1, "torch": {}},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "x:1"}]}}},
                        },
                    }
                ]
            }
        },
    },
    "torch",
)
del RUNTIME["metadata"]["namespace"]


def trainjob(**spec: Any) -> Object:
    return of("TrainJob", "trainer.kubeflow.org/v1alpha1", {"runtimeRef": {"name": "torch"}, **spec})


def patch(name: str = "node", container: str = "node", manager: str = "example.com/me", **more: Any) -> Object:
    """A runtime patch of one container."""
    pod = {"metadata": {"annotations": {"a": "b"}}, "spec": {"containers": [{"name": container, **more}]}}
    jobs = [{"name": name, "template": {"spec": {"template": pod}}}]
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}


def taken(*documents: Object, **how: Any) -> Made:
    """What comes of manifests that are not refused."""
    found = made(documents, **how)
    assert found.refused == []
    return found


# --- LeaderWorkerSets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("controllers", [OLDEST, NEWEST], ids=lambda each: each.name)
def test_a_leader_worker_set_is_two_stateful_sets_a_group(controllers: Any) -> None:
    found = taken(lws(2, 3, template={"leaderTemplate": {**POD, "metadata": {"annotations": {"of": "the leader"}}}}),
                  controllers=controllers)  # fmt: skip
    names = ["serve-0", "serve-0-1", "serve-0-2", "serve-1", "serve-1-1", "serve-1-2"]
    pods = found.named("Pod")
    assert sorted(pods) == names
    assert sorted(found.named("StatefulSet")) == ["serve", "serve-0", "serve-1"]
    assert found.named("Service")["serve"]["spec"]["publishNotReadyAddresses"] is True
    labels = {name: pod["metadata"]["labels"] for name, pod in pods.items()}
    assert [labels[name][f"{LWS}group-index"] for name in names] == ["0", "0", "0", "1", "1", "1"]
    assert [labels[name][f"{LWS}worker-index"] for name in names] == ["0", "1", "2"] * 2
    assert pods["serve-1"]["metadata"]["annotations"]["of"] == "the leader"
    assert "of" not in pods["serve-1-1"]["metadata"]["annotations"]
    env = {each["name"]: each["value"] for each in pods["serve-1-2"]["spec"]["containers"][0]["env"]}
    assert env == {"LWS_LEADER_ADDRESS": "serve-1.serve.ml", "LWS_GROUP_SIZE": "3", "LWS_WORKER_INDEX": "2"}
    owners = {name: pod["metadata"]["ownerReferences"][0]["name"] for name, pod in pods.items()}
    assert (owners["serve-1"], owners["serve-1-2"]) == ("serve", "serve-1")


def test_the_annotations_of_a_leader_worker_set_do_not_reach_its_pods() -> None:
    marked = lws()
    marked["metadata"]["annotations"] = {"kai.scheduler/topology": "hall"}
    for each in taken(marked).pods:
        assert "kai.scheduler/topology" not in each["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("size", "subgroup", "indexes"), [(4, 2, "0011"), (5, 2, "00011"), (5, 4, "00000"), (3, 1, "001")]
)
def test_ranks_fall_into_subgroups(size: int, subgroup: int, indexes: str) -> None:
    found = taken(lws(1, size, template={"subGroupPolicy": {"subGroupSize": subgroup}}))
    labels = [pod["metadata"]["labels"] for pod in found.pods]
    assert "".join(each[f"{LWS}subgroup-index"] for each in labels) == indexes


def test_exclusive_topology_holds_workers_back_until_the_leader_has_a_node() -> None:
    marked = lws()
    marked["metadata"]["annotations"] = {f"{LWS}exclusive-topology": "example.com/rack"}
    assert sorted(taken(marked).named("Pod")) == ["serve-0", "serve-1"]
    assert sorted(taken(lws(startupPolicy="LeaderReady")).named("Pod")) == ["serve-0", "serve-1"]


def test_volcano_gets_a_pod_group_a_group_without_topology() -> None:
    found = taken(lws(2, 3), gang="volcano")
    groups = found.named("PodGroup")
    assert [name[: len("serve-0-")] for name in groups] == ["serve-0-", "serve-1-"]
    for group in groups.values():
        assert group["spec"]["minMember"] == 3
        assert "networkTopology" not in group["spec"]
    called = Counter(pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] for pod in found.pods)
    assert called == dict.fromkeys(groups, 3)


def surge(unavailable: Any, more: Any) -> Object:
    return {"rollingUpdateConfiguration": {"maxUnavailable": unavailable, "maxSurge": more}}


@pytest.mark.parametrize("controllers", [OLDEST, NEWEST], ids=lambda each: each.name)
@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        (lws(rolloutStrategy=surge(0, 0)), "must not be 0 when `maxSurge` is 0"),
        (lws(rolloutStrategy=surge("200%", 0)), "must not be greater than 100%"),
        (lws(size=0), "size must be equal or greater than 1"),
        (
            lws(size=5, template={"subGroupPolicy": {"subGroupSize": 3}}),
            "size or size - 1 must be divisible by subGroup",
        ),
        (lws(size=2, template={"subGroupPolicy": {"subGroupSize": 4}}), "subGroupSize cannot be larger than size"),
        (
            lws(size=4, template={"subGroupPolicy": {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}}),
            "size-1 must be divisible by subGroupSize when using LeaderExcluded",
        ),
        ({**lws(), "metadata": {"name": "0-serve", "namespace": "ml"}}, "a DNS-1035 label must"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_lws_refuses(manifest: Object, text: str, controllers: Any) -> None:
    (refused,) = made([manifest], controllers).refused
    assert text in refused


UPSTREAMS = (
    "config__samples__leaderworkerset_exclusiveplacement",
    "config__samples__leaderworkerset_tpu",
    "docs__examples__sample__lws",
    "docs__examples__sample__lws-rollout-strategy",
    "docs__examples__sample__lws-volume-claim-templates",
    "docs__examples__vllm__GPU__lws",
    "docs__examples__vllm__TPU__lws",
)


@pytest.mark.skipif(not (UPSTREAM / "examples" / "lws").is_dir(), reason=f"no examples at {UPSTREAM}/examples")
@pytest.mark.parametrize("name", UPSTREAMS)
def test_upstreams_leader_worker_sets_are_taken(name: str) -> None:
    """With exclusive topology there are leaders alone at first."""
    text = (UPSTREAM / "examples" / "lws" / f"{name}.yaml").read_text()
    documents = [each for each in parse_all(text) if each and each["kind"] == "LeaderWorkerSet"]
    alone = name.endswith("exclusiveplacement")
    sizes = [
        each["spec"]["replicas"] * (1 if alone else each["spec"]["leaderWorkerTemplate"]["size"]) for each in documents
    ]
    assert len(taken(*documents).pods) == sum(sizes) > 0


# --- MPIJobs, TrainJobs, StatefulSets and Deployments -----------------------------------------------------------------


def test_an_mpi_job_is_a_launcher_job_and_worker_pods() -> None:
    found = taken(mpijob(2, slotsPerWorker=4))
    assert sorted(found.named("Pod")) == ["serve-launcher-00000", "serve-worker-0", "serve-worker-1"]
    hosts = found.named("ConfigMap")["serve-config"]["data"]["hostfile"].split("\n")
    assert hosts == ["serve-worker-0.serve.ml.svc slots=4", "serve-worker-1.serve.ml.svc slots=4", ""]
    assert sorted(found.named("Secret")["serve-ssh"]["data"]) == ["ssh-privatekey", "ssh-publickey"]
    launcher = found.named("Job")["serve-launcher"]["spec"]["template"]["spec"]
    env = {each["name"]: each.get("value", "") for each in launcher["containers"][0]["env"]}
    assert env["OMPI_MCA_orte_default_hostfile"] == "/etc/mpi/hostfile"
    assert env["OMPI_MCA_orte_set_default_slots"] == "4"
    worker = found.named("Pod")["serve-worker-1"]
    assert worker["metadata"]["labels"]["training.kubeflow.org/replica-index"] == "1"
    assert worker["spec"]["containers"][0]["command"] == ["/usr/sbin/sshd", "-De"]
    assert worker["metadata"]["ownerReferences"][0]["kind"] == "MPIJob"


def test_a_launcher_that_waits_for_its_workers_is_not_there_at_first() -> None:
    found = taken(mpijob(2, launcherCreationPolicy="WaitForWorkersReady"))
    assert sorted(found.named("Pod")) == ["serve-worker-0", "serve-worker-1"]


def test_mpi_operator_makes_volcanos_pod_group() -> None:
    group = taken(mpijob(3), gang="volcano").named("PodGroup")["serve"]
    assert group["spec"]["minMember"] == 4
    assert "networkTopology" not in group["spec"]


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        (mpijob(0), "must be greater than or equal to 1"),
        (mpijob(1, mpiReplicaSpecs={}), "must have Launcher replica spec"),
        ({**mpijob(), "metadata": {"name": "s" * 60, "namespace": "ml"}}, "will not able to create pod and service"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_mpi_operator_refuses(manifest: Object, text: str) -> None:
    (refused,) = made([manifest]).refused
    assert text in refused


def test_a_train_job_is_a_job_set_of_its_runtime() -> None:
    found = taken(RUNTIME, trainjob(trainer={"numNodes": 3}, runtimePatches=[patch()]))
    (job,) = found.named("JobSet")["serve"]["spec"]["replicatedJobs"]
    spec = job["template"]["spec"]
    assert (job["name"], spec["parallelism"], spec["completions"]) == ("node", 3, 3)
    assert spec["template"]["metadata"]["annotations"] == {"a": "b"}
    env = [each["name"] for each in spec["template"]["spec"]["containers"][0]["env"]]
    assert {"PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR"} <= set(env)


@pytest.mark.parametrize(
    ("patches", "text"),
    [
        (patch(env=[{"name": "A", "value": "b"}]), "must not have envs for the dataset-initializer"),
        (patch(manager="me"), "must be a domain-prefixed path"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_trainer_refuses(patches: Object, text: str) -> None:
    (refused,) = made([RUNTIME, trainjob(runtimePatches=[patches])]).refused
    assert text in refused


def test_trainer_takes_patches_of_containers_that_its_runtime_lacks() -> None:
    """Its webhook looks for them in the runtime after the patch."""
    found = taken(RUNTIME, trainjob(runtimePatches=[patch(container="main")]))
    (job,) = found.named("JobSet")["serve"]["spec"]["replicatedJobs"]
    containers = job["template"]["spec"]["template"]["spec"]["containers"]
    assert sorted((each["name"], each.get("image", "")) for each in containers) == [("main", ""), ("node", "x:1")]


def test_trainer_refuses_a_job_before_its_runtime() -> None:
    (refused,) = made([trainjob()]).refused
    assert "must be created before the TrainJob is created" in refused


def for_trainer_2_1(scheduler: str, gang: Object) -> list[Object]:
    """What bayplan writes of four pods, beside the runtime of others."""
    one = {"name": "main", "workload": "trainjob", **gang, "podSets": [{**support.WORKER, "replicas": 4, "shm": "1Gi"}]}
    target = {"trainer": "2.1", "kueue": "0.16", "kai": "0.17"}
    result = support.run(support.workflow(one, queue="research"), scheduler=scheduler, target=target)
    assert result.documents, result.diagnostics
    return [copy.deepcopy(RUNTIME), *(dict(each) for each in result.documents)]


def test_trainer_2_1_makes_job_sets_of_runtimes_that_bayplan_writes() -> None:
    found = made(for_trainer_2_1("kai", {"maxRestarts": 2, "activeDeadlineSeconds": 60}), OLDER)
    assert found.refused == []
    spec = found.named("JobSet")["train"]["spec"]
    job = spec["replicatedJobs"][0]["template"]["spec"]
    assert (job["parallelism"], job["activeDeadlineSeconds"]) == (4, 60)
    assert (spec["failurePolicy"]["maxRestarts"], len(spec["failurePolicy"]["rules"])) == (2, 1)


def test_trainer_2_1_applies_the_overrides_that_bayplan_writes() -> None:
    gang = {"trainer": {"runtime": "torch"}, "computeDomain": "never", "placement": {"required": "rack"}}
    found = made(for_trainer_2_1("kueue", gang), OLDER)
    assert found.refused == []
    (job,) = found.named("JobSet")["train"]["spec"]["replicatedJobs"]
    pod = job["template"]["spec"]["template"]
    assert pod["metadata"]["annotations"] == {"kueue.x-k8s.io/podset-required-topology": "nvidia.com/gpu.clique"}
    (container,) = pod["spec"]["containers"]
    assert container["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "4"}
    assert job["template"]["spec"]["parallelism"] == 4


def test_stateful_sets_and_deployments() -> None:
    head = {"replicas": 2, "selector": {"matchLabels": {"app": "serve"}}}
    template = {**POD, "metadata": {"labels": {"app": "serve"}, "annotations": {"of": "a pod"}}}
    stateful = of("StatefulSet", "apps/v1", {**head, "serviceName": "serve", "template": template})
    router = of("Deployment", "apps/v1", {**head, "template": template}, "router")
    pods = taken(stateful, router).named("Pod")
    assert sorted(pods) == ["router-replay-00000", "router-replay-00001", "serve-0", "serve-1"]
    assert all(pod["metadata"]["annotations"] == {"of": "a pod"} for pod in pods.values())
    assert pods["serve-1"]["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"


# --- KAI: its podgrouper and its scheduler ----------------------------------------------------------------------------

HALL = cluster({"z/s0/r0": 4, "z/s0/r1": 4, "z/s1/r2": 4, "z/s1/r3": 4})
"""Two spines of two racks of four nodes, with room for one pod on each node."""

RACK = LABELS["rack"]
IN_RACK = {"topology": "hall", "topology-required-placement": RACK, "topology-preferred-placement": RACK}
LEVELS = {"levels": [{"nodeLabel": LABELS[name]} for name in ("zone", "spine", "rack", "host")]}
TOPOLOGY = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {"name": "hall"}, "spec": LEVELS}
UNLIMITED = {name: {"quota": -1, "limit": -1, "overQuotaWeight": 1} for name in ("gpu", "cpu", "memory")}
QUEUE = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "research"},
    "spec": {"resources": UNLIMITED},
}


def asking(manifest: Object, **notes: str) -> Object:
    """The workload for KAI, with annotations of KAI."""
    whole = _scheduled(copy.deepcopy(manifest))
    annotations = {f"kai.scheduler/{key.replace('_', '-')}": value for key, value in notes.items()}
    place = {**whole["metadata"], "labels": {"kai.scheduler/queue": "research"}, "annotations": annotations}
    return {**whole, "metadata": place}


def _scheduled(value: Any) -> Any:
    if isinstance(value, dict):
        made = {key: _scheduled(each) for key, each in value.items()}
        return {**made, "schedulerName": "kai-scheduler"} if "containers" in value else made
    return [_scheduled(each) for each in value] if isinstance(value, list) else value


def hall(topology: Object = HALL) -> ClusterTopology:
    found = pipeline.check_topology(document.Document("topology.yaml", "", 0, topology))[0].value
    assert found is not None
    return found


def bound(found: Grouped, topology: Object = HALL, *documents: Object) -> dict[str, str]:
    """Pod -> node, as KAI 0.17 binds them."""
    release = BY_NAME["kai 0.17.0"]
    require_release(release)
    known = hall(topology)
    world = World(known, list(nodes(known)), members(found.pods), [*(documents or (TOPOLOGY, QUEUE)), *found.groups])
    return dict(release.scheduler.bind(world, release))


def racks(where: Mapping[str, str], *names: str) -> set[str]:
    """The racks of some pods, which must have nodes."""
    return {where[name].rpartition("-")[0] for name in names}


def rules(found: Grouped) -> dict[str, tuple[int, list[tuple[str, int]]]]:
    """PodGroup -> its minMember, and subgroups that have one."""
    return {
        each["metadata"]["name"]: (
            each["spec"].get("minMember", 0),
            [(part["name"], part["minMember"]) for part in each["spec"].get("subGroups", ()) if "minMember" in part],
        )
        for each in found.groups
    }


SERVE = "pg-serve-LeaderWorkerSet-ml-serve-group"


def test_kai_makes_a_gang_of_each_group_and_starts_it_wherever_there_is_room() -> None:
    found = grouped(taken(asking(lws(2, 3))))
    parts = [("leader", 1), ("workers", 2)]
    assert rules(found) == {f"{SERVE}-0": (3, parts), f"{SERVE}-1": (3, parts)}
    where = bound(found)
    assert len(racks(where, "serve-0", "serve-0-1", "serve-0-2")) == 1
    assert len(racks(where, "serve-1", "serve-1-1", "serve-1-2")) == 2


def test_kai_reads_levels_of_groups_from_the_leader_worker_set() -> None:
    found = grouped(taken(asking(lws(2, 3), **IN_RACK)))
    for group in found.groups:
        assert group["spec"]["topologyConstraint"]["requiredTopologyLevel"] == RACK
    where = bound(found)
    for name in ("serve-0", "serve-1"):
        assert len(racks(where, name, f"{name}-1", f"{name}-2")) == 1


def test_kai_ignores_levels_on_the_pods_of_a_leader_worker_set() -> None:
    template = copy.deepcopy(POD)
    template["metadata"] = {"annotations": {f"kai.scheduler/{key}": value for key, value in IN_RACK.items()}}
    found = grouped(taken(asking(lws(1, 2, template={"workerTemplate": template}))))
    assert [each["spec"]["topologyConstraint"] for each in found.groups] == [{}]


def segments(size: int, each: int, **more: Any) -> Object:
    """A LeaderWorkerSet whose segments are in racks."""
    made = lws(1, size, template={"subGroupPolicy": {"subGroupSize": each, **more.pop("policy", {})}}, **more)
    notes = {f"segment-{key}": value for key, value in IN_RACK.items() if key != "topology"}
    notes["topology"] = "hall"
    template = made["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    template["metadata"] = {"annotations": {f"kai.scheduler/{key}": value for key, value in notes.items()}}
    return asking(made)


@pytest.mark.parametrize(("size", "each"), [(4, 2), (5, 2), (8, 4)])
def test_kai_puts_each_segment_into_a_rack(size: int, each: int) -> None:
    found = taken(segments(size, each))
    where = bound(grouped(found))
    parts: dict[str, list[str]] = {}
    for one in found.pods:
        parts.setdefault(one["metadata"]["labels"][f"{LWS}subgroup-index"], []).append(one["metadata"]["name"])
    assert [len(racks(where, *names)) for names in parts.values()] == [1] * (size // each)


def test_kai_never_starts_one_segment_beside_a_leader() -> None:
    """It counts the leader twice (KAI pkg/podgrouper/podgrouper/plugins/leaderworkerset, fixLastSegmentSize)."""
    for policy, part in ({}, "workers"), ({"subGroupPolicyType": "LeaderExcluded"}, "segment-0"):
        found = grouped(taken(segments(5, 4, policy=policy)))
        assert dict(rules(found)[f"{SERVE}-0"][1])[part] == 5
        assert bound(found) == {}


def test_kai_does_not_group_a_leader_with_segments_that_starts_first() -> None:
    found = grouped(taken(segments(4, 2, startupPolicy="LeaderReady")))
    assert "segmentSize 2 is greater than replicasSize 1" in found.errors["serve-0"]


def test_the_skip_mark_of_a_leader_worker_set_keeps_the_podgrouper_away() -> None:
    found = grouped(taken(asking(lws(1, 2), skip_podgrouper="true")))
    assert (found.groups, found.errors) == ([], {})


def test_kai_makes_a_gang_of_an_mpi_job_and_reads_its_levels() -> None:
    found = grouped(taken(asking(mpijob(2), **IN_RACK)))
    assert rules(found) == {"pg-serve-MPIJob-ml-serve": (3, [])}
    where = bound(found)
    assert len(racks(where, "serve-worker-0", "serve-worker-1", "serve-launcher-00000")) == 1


def test_kai_does_not_group_an_mpi_job_without_replicas() -> None:
    """mpi-operator takes one as the default, but does not write it into the MPIJob."""
    bare = asking(mpijob(2))
    del bare["spec"]["mpiReplicaSpecs"]["Launcher"]["replicas"]
    found = grouped(taken(bare))
    assert len(found.errors) == 3
    for text in found.errors.values():
        assert "doesn't allow for 0 Launcher pods" in text


def test_kai_makes_no_gang_of_stateful_sets_and_deployments() -> None:
    head = {"replicas": 2, "selector": {"matchLabels": {"app": "serve"}}, "template": POD}
    stateful = asking(of("StatefulSet", "apps/v1", {**head, "serviceName": "serve"}), batch_min_member="2", **IN_RACK)
    router = asking(of("Deployment", "apps/v1", head, "router"), **IN_RACK)
    found = grouped(taken(stateful, router))
    assert {name: least for name, (least, _) in rules(found).items()} == {
        "pg-serve-StatefulSet-ml-serve": 1,
        "pg-router-replay-00000-Pod-ml-router-replay-00000": 1,
        "pg-router-replay-00001-Pod-ml-router-replay-00001": 1,
    }
    for group in found.groups:
        assert group["spec"]["topologyConstraint"]["requiredTopologyLevel"] == RACK


# --- what bayplan adds to workloads of others -------------------------------------------------------------------------


def placed(*objects: Object) -> tuple[dict[str, str], Outcome]:
    """Where KAI binds the pods of workloads, with what bayplan adds to them."""
    outcome = Outcome(*objects, namespace="ml")
    found = taken(*({**each, "metadata": {**each["metadata"], "namespace": "ml"}} for each in outcome.after))
    own = [each for each in outcome.added if each["kind"] == "PodGroup"]
    made = grouped(found)
    groups = [{**each, "metadata": {**each["metadata"], "namespace": "ml"}} for each in own]
    levels = [level["label"] for level in support.TOPOLOGY["spec"]["pools"][0]["levels"]]
    spec = {"levels": [{"nodeLabel": each} for each in (*levels, LABELS["host"])]}
    hidden = [each._replace(body=without_claims(each.body)) for each in members(made.pods)]
    known = hall(support.TOPOLOGY)
    world = World(known, list(nodes(known)), hidden, [{**TOPOLOGY, "spec": spec}, QUEUE, *groups, *made.groups])
    release = BY_NAME["kai 0.17.0"]
    require_release(release)
    return dict(release.scheduler.bind(world, release)), outcome


def of_lws(replicas: int, size: int) -> list[list[str]]:
    """The names of the pods of each group."""
    return [[f"train-{n}", *(f"train-{n}-{w}" for w in range(1, size))] for n in range(replicas)]


@pytest.mark.parametrize("leader", [False, True], ids=["one template", "a leader"])
def test_groups_of_a_leader_worker_set_that_bayplan_places_are_in_racks(leader: bool) -> None:
    where, _ = placed(an_lws(3, 12, leader, placement="required=rack"))
    assert [len(racks(where, *names)) for names in of_lws(3, 12)] == [1, 1, 1]


def test_segments_that_bayplan_places_are_in_racks_of_one_spine() -> None:
    where, _ = placed(an_lws(1, 32, placement="required=spine", group_size="16", group_placement="required=rack"))
    ((*names,),) = of_lws(1, 32)
    assert [len(racks(where, *names[:16])), len(racks(where, *names[16:]))] == [1, 1]
    assert len({rack[:2] for rack in racks(where, *names)}) == 1


def test_one_group_that_bayplan_places_has_its_pod_group() -> None:
    """Its pods name the PodGroup, and the podgrouper leaves them alone."""
    where, outcome = placed(an_lws(1, 16, placement="required=rack"))
    assert len(racks(where, *of_lws(1, 16)[0])) == 1
    assert outcome.new("PodGroup")["spec"]["minMember"] == 16


def test_a_stateful_set_and_an_mpi_job_that_bayplan_places_are_gangs() -> None:
    head = {
        "replicas": 12,
        "serviceName": "train",
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": "x"}},
    }
    template = {**pod(), "metadata": {"labels": {"app": "x"}}}
    stateful = workload("StatefulSet", "apps/v1", {**head, "template": template}, placement="required=rack")
    where, outcome = placed(stateful)
    assert outcome.new("PodGroup")["spec"]["minMember"] == 12
    assert len(racks(where, *(f"train-{n}" for n in range(12)))) == 1
    parts = {
        name: {"replicas": n, "template": pod(), "restartPolicy": "Never"}
        for name, n in (("Launcher", 1), ("Worker", 11))
    }
    where, outcome = placed(
        workload("MPIJob", "kubeflow.org/v2beta1", {"mpiReplicaSpecs": parts}, placement="required=rack")
    )
    assert outcome.new("PodGroup")["spec"]["minMember"] == 12
    assert len(racks(where, "train-launcher-00000", *(f"train-worker-{n}" for n in range(11)))) == 1


# --- MPIJobs and TrainJobs that bayplan writes ------------------------------------------------------------------------


def written(kind: str, scheduler: str = "kai") -> list[Object]:
    """A gang of twelve pods in one rack, without a deadline, which would be over by the clock of the store."""
    more = (
        {"launcher": "mpi", "command": ["mpirun", "train"]} if kind == "mpijob" else {"command": ["torchrun", "a.py"]}
    )
    pods = {**support.WORKER, "replicas": 12, **more}
    gang = {"name": "main", "workload": kind, "placement": {"required": "rack"}, "podSets": [pods]}
    found = support.run(support.workflow(gang, queue="research"), scheduler=scheduler)
    assert found.documents, found.diagnostics
    return found.documents


def started(documents: list[Object]) -> dict[str, str]:
    """Where KAI binds their pods."""
    marked = grouped(taken(*documents))
    assert marked.groups == []  # the skip mark keeps the podgrouper away
    own = [each for each in documents if each["kind"] == "PodGroup"]
    levels = [level["label"] for level in support.TOPOLOGY["spec"]["pools"][0]["levels"]]
    spec = {"levels": [{"nodeLabel": each} for each in (*levels, LABELS["host"])]}
    topology = {**TOPOLOGY, "metadata": {"name": own[0]["spec"]["topologyConstraint"]["topology"]}, "spec": spec}
    queue = {**QUEUE, "metadata": {"name": own[0]["spec"]["queue"]}}
    hidden = [each._replace(body=without_claims(each.body)) for each in members(marked.pods)]
    known = hall(support.TOPOLOGY)
    release = BY_NAME["kai 0.17.0"]
    require_release(release)
    return dict(release.scheduler.bind(World(known, list(nodes(known)), hidden, [topology, queue, *own]), release))


MPI_PODS = ["train-launcher-00000", *(f"train-worker-{number}" for number in range(11))]


@pytest.mark.parametrize("scheduler", ["kai", "kueue", "volcano", "koordinator", "none"])
def test_mpi_operator_makes_the_pods_of_our_mpi_job(scheduler: str) -> None:
    documents = written("mpijob", scheduler)
    found = taken(*documents)
    assert sorted(each["metadata"]["name"] for each in found.pods) == sorted(MPI_PODS)
    hosts = found.named("ConfigMap")["train-config"]["data"]["hostfile"].splitlines()
    assert [host.partition(".")[0] for host in hosts] == ["train-launcher", *(f"train-worker-{n}" for n in range(11))]
    assert {host.partition(" ")[2] for host in hosts} == {"slots=4"}
    job = found.named("Job")["train-launcher"]["spec"]
    assert (job["backoffLimit"], job["template"]["spec"]["restartPolicy"]) == (0, "Never")
    for each in found.pods:
        main, *_ = each["spec"]["containers"]
        folders = {mount["mountPath"] for mount in main["volumeMounts"]}
        assert {"/etc/mpi-launcher/ssh", "/etc/mpi-launcher/launch"} <= folders
        assert {"name": "K_MPI_JOB_ROLE"}.items() <= next(
            e for e in main["env"] if e["name"] == "K_MPI_JOB_ROLE"
        ).items()
        assert each["spec"]["subdomain"] == "train"


@pytest.mark.parametrize("scheduler", ["kai", "kueue", "volcano", "koordinator", "none"])
def test_trainer_makes_a_job_set_of_our_train_job(scheduler: str) -> None:
    documents = written("trainjob", scheduler)
    found = taken(*documents)
    (job,) = found.named("JobSet")["train"]["spec"]["replicatedJobs"]
    spec, pod_ = job["template"]["spec"], job["template"]["spec"]["template"]
    assert (job["replicas"], spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 12, 12, 0)
    (runtime,) = (each for each in documents if each["kind"] == "TrainingRuntime")
    (ours,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    meant = ours["template"]["spec"]["template"]
    assert pod_["metadata"] == meant["metadata"]
    keys = ("schedulerName", "nodeSelector", "affinity", "tolerations", "resourceClaims", "volumes")
    assert {key: pod_["spec"].get(key) for key in keys} == {key: meant["spec"].get(key) for key in keys}
    (main,) = pod_["spec"]["containers"]
    env = {each["name"]: each.get("value") for each in main["env"]}
    assert (env["PET_NNODES"], env["NNODES"], env["PET_NPROC_PER_NODE"]) == ("12", "12", "4")
    assert str(env["MASTER_ADDR"]).startswith(str(env["PET_MASTER_ADDR"]))
    assert env["MASTER_PORT"] == env["PET_MASTER_PORT"]
    assert main["resources"]["claims"] == [{"name": "compute-domain"}]
    assert main["command"] == ["torchrun", "a.py"]


def test_our_mpi_job_starts_in_one_rack() -> None:
    assert len(racks(started(written("mpijob")), *MPI_PODS)) == 1
