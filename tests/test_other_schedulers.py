"""Workloads that belong to another scheduler already, nodes that their templates select, and podSets left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import judges
import workloads
from bayplan.backends import BACKENDS
from bayplan.kube import owners
from bayplan.kube.pod_fields import covers
from bayplan.linting.objects import collect
from bayplan.text.document import read
from support import TOPOLOGY
from test_augment import GPUS, Outcome, a_job, a_jobset, pod, workload
from tools.data import parse, parse_all
from tools.golden import GOLDEN
from tools.run import bayplan

COVERS = {"A950", "P502", "A940"}

ADOPT = {"match": {"kind": "*"}, "gang": {"placement": {"required": "rack"}}, "adopt": True}
SCHEDULERS = ("kai", "volcano", "kueue", "koordinator", "native")
NEW = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "versions": {"kubernetes": "1.37", "kai": "0.17"}}}


def placed(*objects: Mapping[str, Any], scheduler: str, adopt: bool = True) -> Outcome:
    rule = {**ADOPT, "adopt": adopt}
    return Outcome(*objects, policy=[rule], scheduler=scheduler, topology=NEW, namespace="ml")


def whole(made: Outcome) -> list[Any]:
    """All objects afterwards."""
    removed = set(made.value.removed) if made.value else set()
    kept = [each for number, each in enumerate(made.after) if (f"manifest:{number}",) not in removed]
    return json.loads(json.dumps([*made.added, *kept]))


@pytest.mark.parametrize("first", SCHEDULERS)
@pytest.mark.parametrize("second", SCHEDULERS)
def test_a_workload_of_one_scheduler_is_refused_or_migrated_by_another(first: str, second: str) -> None:
    asked = a_jobset(("w", 1, 4))
    asked["metadata"]["annotations"] = {"example.com/team": "a"}
    before = whole(placed(asked, scheduler=first))
    refused = placed(*before, scheduler=second, adopt=False)
    migrated = placed(*before, scheduler=second)
    assert ("A950" in refused.codes) == (first != second)
    assert (refused.value is None) == (first != second)
    fresh = placed(asked, scheduler=second)
    assert sorted(whole(migrated), key=kind_of) == sorted(whole(fresh), key=kind_of)


def kind_of(one: Mapping[str, Any]) -> str:
    return str(one["kind"])


def test_what_kueue_holds_back_starts_after_its_migration() -> None:
    asked = a_job()
    asked["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "lq"
    asked["spec"] |= {"suspend": True, "template": pod()}
    note = {"kueue.x-k8s.io/podset-required-topology": "nvidia.com/gpu.clique"}
    asked["spec"]["template"]["metadata"] = {"annotations": note}
    (error,) = [each for each in placed(asked, scheduler="kai", adopt=False).found if each.severity == "error"]
    assert error.route[-1] == "kueue.x-k8s.io/queue-name"
    assert [each.route[-1] for each in error.notes[:-1]] == [*note, "suspend"]
    after = placed(asked, scheduler="kai").after[0]
    assert "suspend" not in after["spec"]
    assert "kueue" not in json.dumps(after)
    assert placed(asked, scheduler="kueue", adopt=False).codes == []
    asked["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    assert "managedBy" not in placed(asked, scheduler="kai").after[0]["spec"]
    del asked["spec"]["managedBy"]
    del asked["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], asked["spec"]["template"]["metadata"]
    assert placed(asked, scheduler="kai", adopt=False).after[0]["spec"]["suspend"] is True  # suspended by a user


def test_an_object_that_others_name_stays() -> None:
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {}}
    mine = a_job(
        template={**pod(schedulerName="volcano"), "metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}}
    )
    other = json.loads(json.dumps(mine))
    other["metadata"]["name"] = "other"
    rule = {**ADOPT, "match": {"name": "train"}}
    made = Outcome(group, mine, other, policy=[rule], scheduler="kai")
    assert made.value
    assert made.value.removed == ()
    made = Outcome(group, mine, policy=[rule], scheduler="kai")
    assert made.value
    assert made.value.removed == (("manifest:0",),)


def test_a_ray_cluster_names_its_scheduler_in_a_label() -> None:
    (cluster,) = workloads.KINDS["raycluster"](2)
    cluster["metadata"].setdefault("labels", {})["ray.io/scheduler-name"] = "volcano"
    assert "A950" in placed(cluster, scheduler="kai", adopt=False).codes
    assert "A950" not in placed(cluster, scheduler="volcano", adopt=False).codes


@pytest.mark.parametrize("scheduler", sorted(BACKENDS))
def test_own_output_belongs_to_no_other_scheduler(scheduler: str) -> None:
    for path in sorted((GOLDEN / scheduler).glob("*.yaml")):
        documents = read(path.name, path.read_bytes(), "manifest", own=False).value or ()
        for one in collect(documents).objects:
            assert owners.foreign(owners.marks(one), scheduler) == (), path


LIST = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: before}
- apiVersion: scheduling.volcano.sh/v1beta1
  kind: PodGroup
  metadata: {name: g}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: between}
- apiVersion: scheduling.volcano.sh/v1beta1
  kind: PodGroup
  metadata: {name: h}
"""


def test_lists_lose_only_the_objects_of_the_other_scheduler(tmp_path: Any) -> None:
    jobs = []
    for name in "gh":
        one = a_job(
            template={
                **pod(schedulerName="volcano"),
                "metadata": {"annotations": {"scheduling.k8s.io/group-name": name}},
            }
        )
        one["metadata"]["name"] = name
        jobs.append(one)
    rule = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Policy", "spec": {"rules": [ADOPT]}}
    for name, data in (("topology", TOPOLOGY), ("policy", rule)):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(data), encoding="utf-8")
    stream = LIST + "".join(f"---\n{json.dumps(each)}\n" for each in jobs)
    done = bayplan("post-render", "-t", "topology.yaml", "--policy", "policy.yaml", cwd=tmp_path, stdin=stream)
    assert done.returncode == 0, done.stderr
    after = [each for each in parse_all(done.stdout) if each]
    (items,) = [each["items"] for each in after if each["kind"] == "List"]
    assert [each["metadata"]["name"] for each in items] == ["before", "between"]
    request = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": [*parse(LIST)["items"], *jobs],
        "functionConfig": {
            "apiVersion": "bayplan.dev/v1alpha1",
            "kind": "PlaceWorkloads",
            "metadata": {"name": "place"},
            "spec": {"topology": "topology.yaml", "policy": "policy.yaml"},
        },
    }
    done = bayplan("krm", cwd=tmp_path, stdin=json.dumps(request))
    assert done.returncode == 0, done.stderr
    listed = parse(done.stdout)["items"]
    assert [each["metadata"]["name"] for each in listed if each["kind"] == "ConfigMap"] == ["before", "between"]
    assert {each["apiVersion"] for each in listed if each["kind"] == "PodGroup"} == {"scheduling.run.ai/v2alpha2"}


# TrainJobs whose runtime others use too.


def a_train_job(**more: Any) -> list[dict[str, Any]]:
    """A TrainJob of a ClusterTrainingRuntime, which has no resources."""
    job, runtime = workloads.KINDS["trainjob"](8)
    job["spec"] = {"runtimeRef": {"name": runtime["metadata"]["name"]}, "trainer": {"resourcesPerNode": GPUS}, **more}
    template = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["spec"]["containers"] = [{"name": "node", "image": "x:1"}]
    runtime["kind"] = "ClusterTrainingRuntime"
    del runtime["metadata"]["namespace"]
    return [job, runtime]


def test_a_train_job_of_a_shared_runtime_gets_a_patch_of_its_own() -> None:
    theirs = {"manager": "example.com/team", "trainingRuntimeSpec": {"template": {"metadata": {"labels": {"a": "b"}}}}}
    objects = a_train_job(runtimePatches=[theirs])
    rule = {"match": {"kind": "TrainJob"}, "gang": {"placement": {"required": "spine"}}}
    made = Outcome(*objects, policy=[rule], scheduler="kueue", topology=NEW)
    assert made.codes == []
    job, runtime = made.after
    assert runtime == objects[1]
    first, second = job["spec"]["runtimePatches"]
    assert (first, second["manager"]) == (theirs, "bayplan.dev/placement")
    (part,) = second["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    annotations = part["template"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {"kueue.x-k8s.io/podset-required-topology": "example.com/spine"}
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"
    if (judges.UPSTREAM / "crds").is_dir():
        for target in judges.targets_for(NEW["spec"]["versions"]):
            assert judges.judge(json.loads(json.dumps(job)), target) == []
    again = Outcome(job, runtime, policy=[rule], scheduler="kueue", topology=NEW)
    assert again.value
    assert again.value.changes == ()
    refused = Outcome(*objects, policy=[rule], scheduler="kai", topology=NEW)
    assert refused.codes == ["W508"]
    assert "`schedulerName`" in refused.found[-1].message


OLDER = {"kubernetes": "1.34", "kueue": "0.16", "jobset": "0.10", "trainer": "2.1"}
"""Versions that belong together."""


def at(versions: dict[str, str]) -> dict[str, Any]:
    """The topology of a cluster with these versions, whose nodes have a label."""
    (pool,) = TOPOLOGY["spec"]["pools"]
    labelled = {**pool, "node": {**pool["node"], "nodeSelector": {"example.com/gpus": "h100"}}}
    return {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "versions": versions, "pools": [labelled]}}


def again(objects: list[Any], **more: Any) -> list[Any]:
    """The changes of what is placed already."""
    made = Outcome(*objects, **more)
    assert made.value, made.codes
    return list(made.value.changes)


def test_a_train_job_of_trainer_2_1_gets_an_override_of_its_own() -> None:
    theirs = {"targetJobs": [{"name": "node"}], "metadata": {"labels": {"a": "b"}}}
    rule = {"match": {"kind": "TrainJob"}, "gang": {"placement": {"required": "spine"}}}
    asked = {"policy": [rule], "scheduler": "kueue", "topology": at(OLDER)}
    made = Outcome(*a_train_job(podTemplateOverrides=[theirs]), **asked)
    assert made.codes == []
    job = made.after[0]
    first, second = job["spec"]["podTemplateOverrides"]
    assert (first, second["targetJobs"]) == (theirs, [{"name": "node"}])
    assert second["metadata"]["annotations"] == {"kueue.x-k8s.io/podset-required-topology": "example.com/spine"}
    assert second["spec"] == {"nodeSelector": {"example.com/gpus": "h100"}}
    assert again(made.after, **asked) == []
    if judges.versions.stored("trainer", OLDER["trainer"]):
        assert judges.judge(json.loads(json.dumps(job)), {**judges.versions.NEWEST, **OLDER}) == []
    newer = Outcome(*a_train_job(podTemplateOverrides=[theirs]), **asked | {"topology": at({"kubernetes": "1.34"})})
    assert newer.codes == ["W508"]


def test_a_train_job_of_trainer_2_0_has_one_override_of_each_job() -> None:
    theirs = {"targetJobs": [{"name": "node"}, {"name": "other"}], "nodeSelector": {"kubernetes.io/os": "linux"}}
    rule = {"match": {"kind": "TrainJob"}, "gang": {}}
    asked = {"policy": [rule], "scheduler": "none", "topology": at({"kubernetes": "1.34", "trainer": "2.0"})}
    made = Outcome(*a_train_job(podSpecOverrides=[theirs]), **asked)
    assert made.codes == ["F615", "F683"]
    assert made.after[0]["spec"]["podSpecOverrides"] == [
        {**theirs, "targetJobs": [{"name": "other"}]},
        {"targetJobs": [{"name": "node"}], "nodeSelector": {**theirs["nodeSelector"], "example.com/gpus": "h100"}},
    ]
    assert again(made.after, **asked) == []
    rule["gang"] = {"placement": {"required": "spine"}}
    refused = Outcome(*a_train_job(), **asked)
    assert "W508" in refused.codes
    assert '`affinity` of the pods of TrainJob "llama", which `podSpecOverrides` cannot' in refused.found[-1].message


# Nodes that templates select.


def ray(head: Mapping[str, Any], worker: Mapping[str, Any] = {}, **asked: str) -> dict[str, Any]:
    spec = {
        "headGroupSpec": {"template": {"spec": {"containers": [{"name": "h", "image": "x:1"}], **head}}},
        "workerGroupSpecs": [{"groupName": "w", "replicas": 4, "minReplicas": 4, "template": pod(**worker)}],
    }
    return workload("RayCluster", "ray.io/v1", spec, **asked)


SYSTEM = {"nodeSelector": {"nodepool": "system"}}


def with_pool_of_cpus() -> dict[str, Any]:
    spec = TOPOLOGY["spec"]
    levels = spec["pools"][0]["levels"][:1]
    cpus = {"name": "cpus", "node": {"cpu": "32", "memory": "64Gi", "nodeSelector": {"nodepool": "system"}}}
    gpus = {**spec["pools"][0], "node": {**spec["pools"][0]["node"], "nodeSelector": {"nodepool": "gpus"}}}
    pools = [gpus, {**cpus, "levels": levels, "domains": [{"path": "s0", "nodes": "c[1-2]"}]}]
    return {**TOPOLOGY, "spec": {**spec, "pools": pools}}


def test_pods_without_gpus_that_select_other_nodes_are_no_gpu_pods() -> None:
    asked = {"placement": "required=spine"}
    assert Outcome(ray(SYSTEM, **asked)).codes == ["P502"]
    left = Outcome(ray(SYSTEM, **asked, leave_out="he*"))
    assert left.codes == []
    (after,) = left.after
    assert after["spec"]["headGroupSpec"] == ray(SYSTEM)["spec"]["headGroupSpec"]
    assert left.new("PodGroup")["spec"]["minMember"] == 4
    apart = {"groups": [{"name": "w", "podSets": ["w"], "placement": {"required": "rack"}}]}
    rule = {"match": {"kind": "RayCluster"}, **apart}
    described = Outcome(ray(SYSTEM), policy=[rule], topology=with_pool_of_cpus())
    assert described.codes == []
    (after,) = described.after
    templates = (after["spec"]["headGroupSpec"], after["spec"]["workerGroupSpecs"][0])
    assert [each["template"]["spec"]["nodeSelector"]["nodepool"] for each in templates] == ["system", "gpus"]
    again = Outcome(after, *described.added, policy=[rule], topology=with_pool_of_cpus())
    assert again.value
    assert again.value.changes == again.value.added == ()


@pytest.mark.parametrize(
    ("expression", "codes"),
    [
        ({"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}, []),
        ({"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}, ["P502"]),
        ({"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}, ["P518"]),
        ({"key": "node-role.kubernetes.io/control-plane", "operator": "DoesNotExist"}, ["P518"]),
        ({"key": "nodepool", "operator": "Exists"}, ["P502"]),
    ],
)
def test_what_a_head_without_gpus_may_require_of_nodes(expression: Mapping[str, Any], codes: list[str]) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    head = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}
    assert Outcome(ray(head, placement="required=spine")).codes == codes


def test_gpus_of_a_label_that_the_topology_lacks_are_a_warning() -> None:
    assert Outcome(ray({}, SYSTEM, placement="required=spine")).codes == ["P518"]
    two = with_pool_of_cpus()
    described = ray(SYSTEM, {"nodeSelector": {"nodepool": "gpus"}}, placement="required=spine", leave_out="head")
    assert Outcome(described, topology=two).codes == []
    wrong = Outcome(ray({}, SYSTEM, placement="required=spine", leave_out="head"), topology=two)
    assert wrong.codes == ["P502"]


ANY, GPU = {"operator": "Exists"}, {"key": "nvidia.com/gpu", "operator": "Exists"}
NO_SCHEDULE = {**GPU, "effect": "NoSchedule"}
PRESENT = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}


@pytest.mark.parametrize(
    ("own", "wanted", "covered"),
    [
        (ANY, NO_SCHEDULE, True),
        (GPU, NO_SCHEDULE, True),
        (GPU, PRESENT, True),
        (NO_SCHEDULE, GPU, False),
        (PRESENT, GPU, False),
        ({**PRESENT, "operator": None}, {**PRESENT, "effect": "NoExecute"}, True),
        ({**PRESENT, "value": "absent"}, PRESENT, False),
        ({**NO_SCHEDULE, "effect": "NoExecute"}, NO_SCHEDULE, False),
        ({**GPU, "tolerationSeconds": 5}, GPU, False),
        ({"key": "other", "operator": "Exists"}, GPU, False),
        (GPU, ANY, False),
    ],
)
def test_a_toleration_that_covers_another(own: Any, wanted: Any, covered: bool) -> None:
    assert covers(own, wanted) == covered


def test_every_scheduler_with_a_name_for_its_pods_has_marks() -> None:
    placing = {name for name in BACKENDS if name not in ("none", "slurm")}
    assert placing == set(owners.OWNERS)
