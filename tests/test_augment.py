"""Workloads that are there: what is put on them, what goes beside them, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from bayplan.augment import augment
from bayplan.core.diagnostics import Diagnostic
from bayplan.linting.objects import collect
from bayplan.model.augment import AugmentRequest
from bayplan.text import document
from judges import kueue
from oracle import ORACLES
from tools.effort import examples

COVERS = {"A950", "W319", "W514", "W515", "W516", "F740", "F741", "F626", "W608"}

GPUS: dict[str, Any] = {"limits": {"nvidia.com/gpu": 4}}


def pod(**more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "image": "x:1", "resources": GPUS}], **more}}


def job(pods: int = 4, template: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template or pod()}


def workload(kind: str, version: str, spec: Mapping[str, Any], **annotations: str) -> dict[str, Any]:
    asked = {f"bayplan.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "train", "labels": {"app.kubernetes.io/instance": "r1"}, "annotations": asked},
        "spec": dict(spec),
    }


def a_job(pods: int = 4, template: Mapping[str, Any] | None = None, **asked: str) -> dict[str, Any]:
    return workload("Job", "batch/v1", job(pods, template), **asked)


def a_jobset(*jobs: tuple[str, int, int], **asked: str) -> dict[str, Any]:
    """(name, Jobs, pods a Job) of each replicatedJob."""
    parts = [{"name": name, "replicas": copies, "template": {"spec": job(pods)}} for name, copies, pods in jobs]
    return workload("JobSet", "jobset.x-k8s.io/v1alpha2", {"replicatedJobs": parts}, **asked)


def an_lws(replicas: int, size: int, leader: bool = False, **asked: str) -> dict[str, Any]:
    template = {"size": size, "workerTemplate": pod(), **({"leaderTemplate": pod()} if leader else {})}
    return workload(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io/v1",
        {"replicas": replicas, "leaderWorkerTemplate": template},
        **asked,
    )


class Outcome:
    """What came of it: the objects as they are afterwards, and what was said."""

    def __init__(self, *objects: Mapping[str, Any], policy: Sequence[Mapping[str, Any]] = (), **more: Any) -> None:
        self.before = objects
        (topology,) = _documents([more.pop("topology", support.TOPOLOGY)], "topology")
        rules = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Policy", "metadata": {"name": "p"}}
        given = _documents([{**rules, "spec": {"rules": list(policy)}}], "policy")[0] if policy else None
        collected = collect(_documents(objects, "manifest")).objects
        outcome, _ = augment(AugmentRequest(collected, topology, given, **more))
        self.found: tuple[Diagnostic, ...] = outcome.diagnostics
        self.codes = sorted({each.code for each in self.found if each.severity != "info"})
        self.value = outcome.value
        changed = {each.route: each.data for each in outcome.value.changes} if outcome.value else {}
        self.after = [changed.get(each.route, each.data) for each in collected]
        self.added = [each.data for each in outcome.value.added] if outcome.value else []

    def new(self, kind: str) -> Mapping[str, Any]:
        (found,) = [each for each in self.added if each["kind"] == kind]
        return found


def _documents(objects: Sequence[Mapping[str, Any]], subject: str) -> tuple[document.Document, ...]:
    return tuple(
        document.Document(f"{subject}.yaml", json.dumps(each), 0, json.loads(json.dumps(each))) for each in objects
    )


def test_a_job_gets_a_pod_group_and_keeps_what_it_says() -> None:
    asked = a_job(placement="required=rack")
    made = Outcome(asked, namespace="ml")
    assert made.found == ()
    (after,) = made.after
    template = after["spec"]["template"]
    group = made.new("PodGroup")
    assert template["metadata"]["annotations"]["pod-group-name"] == group["metadata"]["name"]
    assert template["spec"]["schedulerName"] == "kai-scheduler"
    assert template["spec"]["resourceClaims"] == [{"name": "compute-domain", "resourceClaimTemplateName": "train"}]
    assert template["spec"]["containers"][0]["resources"] == {**GPUS, "claims": [{"name": "compute-domain"}]}
    assert group["spec"]["minMember"] == 4
    assert group["spec"]["topologyConstraint"]["requiredTopologyLevel"] == "nvidia.com/gpu.clique"
    assert group["metadata"]["labels"]["app.kubernetes.io/instance"] == "r1"
    assert "namespace" not in group["metadata"]
    assert made.new("ComputeDomain")["metadata"]["name"] == "train"
    assert {key: after["spec"][key] for key in ("parallelism", "completions")} == {"parallelism": 4, "completions": 4}


def test_what_was_placed_is_read_back() -> None:
    made = Outcome(a_jobset(("lead", 1, 1), ("worker", 1, 15), placement="required=rack"))
    (gang,) = ORACLES["kai"].read([*made.after, *made.added]).value or ()
    assert (gang.queue, gang.root.required, gang.compute_domains) == ("research", "nvidia.com/gpu.clique", ("train",))
    assert sorted((each.name, each.replicas, each.minimum) for each in gang.root.pods) == [
        ("lead", 1, 1),
        ("worker", 15, 15),
    ]


GROUPS = [
    {"name": "one", "placement": {"required": "rack"}, "podSets": ["one"]},
    {"name": "two", "placement": {"required": "rack"}, "podSets": ["two"]},
]


def test_groups_with_templates_of_their_own_are_subgroups_with_a_compute_domain_each() -> None:
    rule = {"match": {"kind": "JobSet"}, "gang": {"placement": {"required": "spine"}}, "groups": GROUPS}
    made = Outcome(a_jobset(("one", 1, 16), ("two", 1, 16)), policy=[rule])
    assert made.codes == []
    assert [each["name"] for each in made.new("PodGroup")["spec"]["subGroups"]] == ["one-0", "two-0"]
    names = [each["metadata"]["name"] for each in made.added if each["kind"] == "ComputeDomain"]
    assert names == ["train-one-0", "train-two-0"]
    (after,) = made.after
    claims = [
        part["template"]["spec"]["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"]
        for part in after["spec"]["replicatedJobs"]
    ]
    assert claims == names


def test_jobs_of_one_template_are_left_to_the_podgrouper_with_one_compute_domain() -> None:
    asked = a_jobset(("worker", 4, 16), placement="required=spine", group_size="16", group_placement="required=rack")
    made = Outcome(asked)
    assert made.codes == ["F626"]
    (after,) = made.after
    notes = after["metadata"]["annotations"]
    assert notes["kai.scheduler/topology-required-placement"] == "example.com/spine"
    job_notes = after["spec"]["replicatedJobs"][0]["template"]["metadata"]["annotations"]
    assert job_notes["kai.scheduler/topology-required-placement"] == "nvidia.com/gpu.clique"
    assert [each["kind"] for each in made.added] == ["ComputeDomain"]


def test_segments_stand_on_the_workers_template() -> None:
    """KAI 0.17, pkg/podgrouper/podgrouper/plugins/leaderworkerset."""
    asked = an_lws(1, 32, placement="required=spine", group_size="16", group_placement="required=rack")
    made = Outcome(asked)
    assert made.codes == ["F626"]
    (after,) = made.after
    notes = after["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["annotations"]
    assert notes["kai.scheduler/segment-size"] == "16"
    assert notes["kai.scheduler/segment-topology-required-placement"] == "nvidia.com/gpu.clique"
    assert "kai.scheduler/segment-size" not in after["metadata"]["annotations"]


def test_groups_of_a_leader_worker_set_are_gangs_of_their_own() -> None:
    made = Outcome(an_lws(3, 4, placement="required=rack"))
    assert made.codes == ["F626"]
    assert [(each["kind"], each["metadata"]["name"]) for each in made.added] == [("ComputeDomain", "train")]
    assert made.new("ComputeDomain")["metadata"]["labels"]["bayplan.dev/gang"] == "train"


RAILS = {"kind": "hostdevice", "rails": [{"network": "net/rail-0", "resource": "nvidia.com/rail_0"}]}
ALONE = {**support.TOPOLOGY["spec"]["pools"][0]["node"], "fabrics": []}
ELSEWHERE = {"fabrics": {"rails": RAILS}, "pools": [{**support.TOPOLOGY["spec"]["pools"][0], "node": ALONE}]}
REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "Jobs of one template, below KAI 0.16": (
        a_jobset(("worker", 2, 16), group_size="16", group_placement="required=rack", compute_domain="never"),
        {"target": {"kai": "0.15"}},
        ["F741"],
    ),
    "ranks of a Job": (
        a_job(32, group_size="16", group_placement="required=rack", compute_domain="never"),
        {},
        ["F741"],
    ),
    "any controller, below KAI 0.15": (a_job(placement="required=rack"), {"target": {"kai": "0.14"}}, ["F740"]),
    "several gangs of one template, below KAI 0.15": (
        an_lws(2, 4, placement="required=rack"),
        {"target": {"kai": "0.14"}},
        ["F740"],
    ),
    "a size that does not divide": (
        a_jobset(("worker", 1, 20), group_size="16", group_placement="required=rack", compute_domain="never"),
        {},
        ["W608"],
    ),
    "a ComputeDomain for each Job of one template": (
        a_jobset(("worker", 2, 16), group_size="16", group_placement="required=rack", compute_domain="group"),
        {},
        ["F626"],
    ),
    "another scheduler's pods": (
        a_job(template=pod(schedulerName="volcano"), placement="required=rack"),
        {},
        ["A950"],
    ),
    "more gangs than can be proven": (an_lws(250_000, 4, placement="required=rack"), {}, ["W309"]),
    "an amount that is none": (
        a_job(template=pod(overhead={"cpu": [1]}), placement="required=rack"),
        {},
        ["W319"],
    ),
    "tolerations that are no list": (
        a_job(template=pod(tolerations={"key": "x"}, resourceClaims="all"), placement="required=rack"),
        {},
        ["A950"],
    ),
    "a fabric that the nodes are not on": (
        a_job(placement="required=rack", fabric="rails"),
        {"topology": {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], **ELSEWHERE}}},
        ["W521"],
    ),
    "a level that the topology lacks": (a_job(placement="required=row"), {}, ["W323"]),
    "more pods than any domain holds": (a_job(40, placement="required=rack"), {}, ["P551"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(name: str) -> None:
    asked, more, codes = REFUSED[name]
    made = Outcome(asked, **more)
    assert made.value is None
    assert set(codes) <= set(made.codes), made.found
    assert all(each.route for each in made.found)


def test_a_rule_that_adopts_replaces_what_contradicts() -> None:
    rule = {"match": {"kind": "Job"}, "gang": {"placement": {"required": "rack"}}, "adopt": True}
    made = Outcome(a_job(template=pod(schedulerName="volcano")), policy=[rule])
    assert made.codes == []
    assert made.after[0]["spec"]["template"]["spec"]["schedulerName"] == "kai-scheduler"


def test_a_contradiction_names_both_places() -> None:
    (found,) = Outcome(a_job(template=pod(schedulerName="volcano"), placement="required=rack")).found
    assert found.route == ("manifest:0", "spec", "template", "spec", "schedulerName")
    assert found.notes[0].route == ("manifest:0", "metadata", "annotations", "bayplan.dev/placement")


def test_the_queue_that_the_workload_names_is_kept() -> None:
    asked = a_job(placement="required=rack")
    asked["metadata"]["labels"]["kai.scheduler/queue"] = "prod"
    made = Outcome(asked)
    assert made.codes == []
    assert made.new("PodGroup")["spec"]["queue"] == "prod"


DOMAIN = {
    "apiVersion": "resource.nvidia.com/v1beta1",
    "kind": "ComputeDomain",
    "metadata": {"name": "mine"},
    "spec": {"numNodes": 4, "channel": {"resourceClaimTemplate": {"name": "mine-channel"}}},
}
CLAIM = {"resourceClaims": [{"name": "channel", "resourceClaimTemplateName": "mine-channel"}]}


@pytest.mark.parametrize("level", ["rack", "spine"])
def test_a_charts_own_compute_domain_is_kept_and_checked(level: str) -> None:
    made = Outcome(DOMAIN, a_job(template=pod(**CLAIM), placement=f"required={level}"))
    assert made.codes == ([] if level == "rack" else ["P507"])
    assert [each["kind"] for each in made.added] == ["PodGroup"]
    assert made.after[1]["spec"]["template"]["spec"]["resourceClaims"] == CLAIM["resourceClaims"]
    assert made.after[0] == DOMAIN


def test_somebody_elses_object_of_the_same_name_stays() -> None:
    taken = {**DOMAIN, "metadata": {"name": "train"}}
    made = Outcome(taken, a_job(placement="required=rack"))
    assert (made.value, made.codes) == (None, ["A950"])


SELECTED = {
    "job": a_job(placement="required=rack"),
    "jobset": a_jobset(("worker", 4, 16), placement="required=spine", group_size="16", group_placement="required=rack"),
    "lws": an_lws(3, 4, placement="required=rack"),
    "two replicatedJobs": a_jobset(("lead", 1, 1), ("worker", 1, 15), placement="required=rack"),
}


@pytest.mark.parametrize("name", SELECTED)
def test_a_second_run_changes_nothing(name: str) -> None:
    first = Outcome(SELECTED[name])
    noted = [
        {**each, "metadata": {**each["metadata"], "annotations": {"example.com/by": "another tool"}}}
        for each in first.added
    ]
    again = Outcome(*first.after, *noted)
    assert again.value is not None
    assert (again.value.changes, again.value.added) == ((), ())


def test_what_changed_since_is_brought_up_to_date() -> None:
    first = Outcome(a_job(4, placement="required=rack"))
    (group,) = (each for each in first.added if each["kind"] == "PodGroup")
    larger = {**first.after[0], "spec": {**first.after[0]["spec"], "parallelism": 8, "completions": 8}}
    again = Outcome(larger, *first.added)
    assert again.value is not None
    assert [each.data["spec"]["minMember"] for each in again.value.changes] == [8]
    assert group["spec"]["minMember"] == 4


def test_objects_that_nobody_selects_are_left_alone() -> None:
    asked = a_job()
    del asked["metadata"]["annotations"]
    made = Outcome(asked, {"apiVersion": "example.com/v1", "kind": "Strange", "metadata": {"name": "x"}, "spec": [1]})
    assert made.value is not None
    assert (made.value.changes, made.value.added, made.found) == ((), (), ())


def test_alike_workloads_are_planned_once_and_come_out_as_if_alone() -> None:
    several = [
        {**(one := a_job(placement="required=rack")), "metadata": {**one["metadata"], "name": f"j{n}"}}
        for n in range(3)
    ]
    together = Outcome(*several)
    for number, each in enumerate(several):
        alone = Outcome(each)
        assert together.after[number] == alone.after[0]
        assert [new for new in together.added if new["metadata"]["name"].startswith(f"j{number}")] == alone.added


def test_cards_that_are_no_number_are_found_beside_a_workload_that_is_alike_without_any() -> None:
    plain, wrong = ({"spec": {"containers": [{"name": "m", "image": "x", "resources": each}]}} for each in ({}, FOUR))
    several = [a_job(4, each, placement="required=rack") for each in (plain, wrong)]
    for name, each in zip("ab", several, strict=True):
        each["metadata"]["name"] = name
    assert Outcome(*several).codes == ["W319"]


FOUR = {"limits": {"nvidia.com/gpu": "four"}}


def test_a_channel_goes_to_the_container_that_claims_the_cards() -> None:
    topology = json.loads(json.dumps(support.TOPOLOGY))
    topology["spec"]["accelerators"]["gb200"].update(allocator="dra", deviceClass="gpu.nvidia.com")
    request = {"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 4}}
    cards = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpus"},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }
    main = {"name": "main", "image": "x:1", "resources": {"claims": [{"name": "gpu"}]}}
    claim = {"name": "gpu", "resourceClaimTemplateName": "gpus"}
    template = {"spec": {"resourceClaims": [claim], "containers": [{"name": "log", "image": "x:1"}, main]}}
    made = Outcome(a_job(4, template, placement="required=rack"), cards, topology=topology)
    log, trained = made.after[0]["spec"]["template"]["spec"]["containers"]
    assert "resources" not in log
    assert trained["resources"]["claims"] == [{"name": "gpu"}, {"name": "compute-domain"}]
    again = Outcome(*made.after, *made.added, topology=topology)
    assert again.value is not None
    assert (again.value.changes, again.value.added) == ((), ())


def _claiming(template: str) -> dict[str, Any]:
    main = {"name": "main", "image": "x:1", "resources": {**GPUS, "claims": [{"name": "imex"}]}}
    return {
        "spec": {
            "resourceClaims": [{"name": "imex", "resourceClaimTemplateName": template}],
            "containers": [main],
        }
    }


def test_a_claim_that_nobody_describes_may_be_a_channel_and_gets_no_second_one() -> None:
    asked = a_job(4, _claiming("elsewhere"), placement="required=rack")
    made = Outcome(asked)
    assert (made.value, made.codes) == (None, ["W514"])
    assert made.found[0].route[-1] == "resourceClaimTemplateName"
    taken = Outcome(asked, accept=frozenset({"W514"}))
    assert ([each.severity for each in taken.found], len(taken.added)) == (["warning"], 2)
    without = Outcome(a_job(4, _claiming("elsewhere"), placement="required=rack", compute_domain="never"))
    assert [(each.code, each.severity) for each in without.found] == [("W514", "warning")]
    domain = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "own"},
        "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "elsewhere"}}},
    }
    assert Outcome(asked, domain).codes == []


SPREAD = {"maxSkew": 1, "topologyKey": "nvidia.com/gpu.clique", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ({"nodeName": "n00-01"}, ["W515"]),
        ({"schedulingGates": [{"name": "example.com/later"}]}, ["W515"]),
        ({"topologySpreadConstraints": [SPREAD]}, ["P518"]),
        ({"topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]}, []),
    ],
)
def test_what_keeps_pods_from_their_nodes_is_told_of_each_workload(more: dict[str, Any], codes: list[str]) -> None:
    free, bound = a_job(placement="required=rack"), a_job(template=pod(**more), placement="required=rack")
    for name, each in zip("ab", (free, bound), strict=True):
        each["metadata"]["name"] = name
    assert Outcome(free, bound).codes == codes


def test_kueue_cuts_no_groups_of_pods_without_a_number() -> None:
    words = {"group_size": "16", "group_placement": "required=rack"}
    mixed = a_job(32, **words)
    mixed["spec"]["completionMode"] = "NonIndexed"
    parts = {"Launcher": {"template": pod()}, "Worker": {"replicas": 32, "template": pod()}}
    led = workload("MPIJob", "kubeflow.org/v2beta1", {"mpiReplicaSpecs": parts, "runLauncherAsWorker": True})
    rule = {"match": {"kind": "MPIJob"}, "groups": [{"name": "g", "size": 16, "podSets": ["worker"]}]}
    assert "F741" in Outcome(mixed, scheduler="kueue").codes
    assert "F741" in Outcome(led, policy=[rule], scheduler="kueue").codes
    assert "F741" not in Outcome(a_job(32, **words), scheduler="kueue").codes


CPU_ONLY = {"name": "main", "image": "x:1", "resources": {"requests": {"cpu": "1"}}}


@pytest.mark.parametrize("groups", [False, True])
def test_kueue_reads_the_roles_of_an_mpi_job(groups: bool) -> None:
    """Kueue reads the queue from the MPIJob, and the level of each role from its pod template; it ignores
    `schedulingPolicy` (pkg/controller/jobs/mpijob/mpijob_controller.go, PodSets)."""
    launcher = {"template": {"spec": {"containers": [CPU_ONLY]}}}
    roles = {"Worker": {"replicas": 8, "template": pod()}, "Launcher": launcher}
    policy = {"schedulingPolicy": {"minAvailable": 9, "queue": "theirs", "priorityClass": "high"}}
    job = workload("MPIJob", "kubeflow.org/v2beta1", {"mpiReplicaSpecs": roles, "runPolicy": policy})
    cut = {"groups": [{"name": "g", "size": 4, "podSets": ["worker"], "placement": {"required": "rack"}}]}
    whole = {"gang": {"queue": "research", "placement": {"required": "rack"}}}
    rule = {"match": {"kind": "MPIJob"}, **({"gang": {"queue": "research"}, **cut} if groups else whole)}
    made = Outcome(job, policy=[rule], scheduler="kueue")
    (after,) = made.after
    assert after["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"
    assert after["spec"]["runPolicy"] == policy
    assert kueue.judge(after, {"kueue": "0.19"}) == []
    asked = [{k.removeprefix(kueue.P): v for k, v in each.annotations.items()} for each in kueue.pod_sets(after)]
    level = "nvidia.com/gpu.clique"
    pair = {"required-topology": level, "group-name": "train-launcher"}
    sliced = {"slice-required-topology": level, "slice-size": "4"}
    assert asked == ([{}, sliced] if groups else [pair, pair])


@pytest.mark.parametrize(
    ("more", "scheduler", "codes"),
    [
        ({}, "kai", []),
        ({}, "kueue", []),
        ({"replicas": 1}, "kueue", []),
        ({"replicas": 2}, "kueue", ["F740"]),
        ({"replicas": 2}, "kai", ["W512"]),
        ({"replicas": 2, "strategy": {"rollingUpdate": {"maxSurge": 0}}}, "kai", []),
        ({"replicas": 2, "strategy": {"type": "Recreate"}}, "kai", []),
        ({"replicas": 2, "strategy": {"type": "Recreate"}}, "kueue", ["F740"]),
        ({}, "slurm-bridge", ["F740"]),
    ],
)
def test_a_deployment_of_one_pod_needs_no_gang(more: dict[str, Any], scheduler: str, codes: list[str]) -> None:
    """Without `replicas` it has one pod. Kueue admits each pod of a Deployment by itself."""
    one = workload("Deployment", "apps/v1", {"selector": {}, "template": pod(), **more}, placement="required=rack")
    assert [each.code for each in Outcome(one, scheduler=scheduler).found if each.severity == "error"] == codes


def test_a_second_group_finds_the_marks_of_a_pod_group_in_the_way() -> None:
    one = Outcome(an_lws(1, 4, placement="required=rack"))
    (after,) = one.after
    more = {**after, "spec": {**after["spec"], "replicas": 2}}
    made = Outcome(more, *one.added)
    assert made.codes == ["A950", "F626"]
    assert sorted(str(each.route[-1]) for each in made.found if each.code == "A950") == [
        "kai.scheduler/skip-podgrouper",
        "kai.scheduler/skip-podgrouper",
        "pod-group-name",
    ]
    taken = Outcome(more, *one.added, policy=[{"match": {"kind": "LeaderWorkerSet"}, "adopt": True}])
    assert taken.value is not None
    assert "skip-podgrouper" not in json.dumps(taken.after[0])
    fewer = a_jobset(("worker", 4, 16), placement="required=spine", group_size="16", group_placement="required=rack")
    fewer["metadata"]["annotations"]["kai.scheduler/batch-min-member"] = "4"
    assert "A950" in Outcome(fewer).codes


def test_pods_without_accelerators_follow_their_gang_into_the_pool_that_has_its_level() -> None:
    topology = json.loads(json.dumps(support.TOPOLOGY))
    level = {"name": "row", "label": "example.com/row"}
    cpus = {"name": "cpu", "node": {"cpu": "64", "memory": "256Gi"}, "levels": [level]}
    topology["spec"]["pools"].append({**cpus, "domains": [{"path": "r1", "nodes": "c[1-9]"}]})
    head = {"spec": {"containers": [{"name": "head", "image": "x:1"}]}}
    workers = [{"groupName": "w", "replicas": 3, "template": pod()}]
    spec = {"headGroupSpec": {"template": head}, "workerGroupSpecs": workers}
    made = Outcome(workload("RayCluster", "ray.io/v1", spec, placement="required=rack"), topology=topology)
    assert made.codes == ["T433"]
    assert made.new("PodGroup")["spec"]["topologyConstraint"]["requiredTopologyLevel"] == "nvidia.com/gpu.clique"


def test_a_compute_domain_that_is_there_is_not_one_for_each_group() -> None:
    asked = a_jobset(("one", 1, 4), ("two", 1, 4))
    for part in asked["spec"]["replicatedJobs"]:
        part["template"]["spec"]["template"] = _claiming("own")
    domain = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "own"},
        "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "own"}}},
    }
    groups = [{**each, "computeDomain": "group"} for each in GROUPS]
    made = Outcome(asked, domain, policy=[{"match": {"kind": "JobSet"}, "groups": groups}])
    assert (made.value, made.codes) == (None, ["F626"])
    assert made.found[0].route == ("policy", "spec", "rules", 0, "groups", 0, "computeDomain")


def test_slurm_bridge_refuses_constraints_that_it_does_not_read() -> None:
    asked = a_job(template=pod(topologySpreadConstraints=[SPREAD]), compute_domain="never")
    assert Outcome(asked, scheduler="slurm-bridge").codes == ["F736"]


def test_cards_of_sidecars_count_beside_the_others() -> None:
    container = {"name": "side", "image": "x:1", "resources": GPUS}
    beside = pod(initContainers=[{**container, "restartPolicy": "Always"}])
    assert Outcome(a_job(template=beside, placement="required=rack")).codes == ["P552"]
    assert Outcome(a_job(template=pod(initContainers=[container]), placement="required=rack")).codes == []


def test_two_workloads_of_one_name_would_share_a_pod_group() -> None:
    made = Outcome(a_job(placement="required=rack"), a_jobset(("worker", 1, 4), placement="required=rack"))
    assert (made.value, made.codes) == (None, ["A950"])
    (group,) = (each for each in Outcome(a_job(placement="required=rack")).added if each["kind"] == "PodGroup")
    later = Outcome(group, a_job(placement="required=rack"), a_jobset(("worker", 1, 8), placement="required=rack"))
    assert (later.value, later.codes) == (None, ["A950"])


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "a" * 80, "4", "nvidia.com/gpu", "64Gi"]),
    st.sampled_from([[], {}, [1], [{}], [[]], {"a": 1}, {"name": [1]}]),
)
BASES = [
    *SELECTED.values(),
    workload("StatefulSet", "apps/v1", {"replicas": 4, "template": pod()}, placement="required=rack", pool="gb200"),
    workload(
        "PyTorchJob",
        "kubeflow.org/v1",
        {"pytorchReplicaSpecs": {"Worker": {"replicas": 16, "template": pod(affinity={"podAffinity": {}})}}},
        placement="required=rack",
    ),
    workload(
        "RayCluster",
        "ray.io/v1",
        {
            "headGroupSpec": {"template": pod()},
            "workerGroupSpecs": [{"groupName": "w", "replicas": 3, "template": pod()}],
        },
        placement="required=rack",
    ),
]


def _paths(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    for key, each in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from _paths(each, (*path, key))


def _spoilt(data: Any, path: tuple[str | int, ...], junk: Any) -> Any:
    whole = json.loads(json.dumps(data))
    place = whole
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = junk
    return whole


@settings(deadline=None, max_examples=examples(20, 150))
@given(base=st.sampled_from(BASES), data=st.data())
def test_whatever_stands_in_a_workload_it_is_placed_for_good_or_refused(
    base: dict[str, Any], data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from([path for path in _paths(base) if path]))
    asked = _spoilt(base, path, data.draw(JUNK))
    made = Outcome(asked)
    assert made.value is not None or made.codes
    if made.value is not None:
        again = Outcome(*made.after, *made.added)
        assert again.value is not None, again.found
        assert (again.value.changes, again.value.added) == ((), ())


def test_a_gang_has_one_priority_or_says_so() -> None:
    asked = a_jobset(("lead", 1, 1), ("worker", 1, 15), placement="required=rack")
    first = asked["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    asked["spec"]["replicatedJobs"][0]["template"]["spec"]["template"] = {
        "spec": {**first, "priorityClassName": "high"}
    }
    made = Outcome(asked)
    assert made.codes == ["W516"]
    assert "priorityClassName" not in made.new("PodGroup")["spec"]
