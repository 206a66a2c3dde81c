"""The promise in one place: 64 pods in 4 groups of 16, each in one rack of 18 nodes, all under one spine."""

from __future__ import annotations

import copy
from typing import Any

import support


def spares(topology: dict[str, Any] = support.TOPOLOGY, **unusable: str) -> dict[str, Any]:
    """The topology with some nodes unusable."""
    changed = copy.deepcopy(topology)
    changed["spec"]["pools"][0]["unusable"] = unusable
    return changed


def test_one_pod_group_with_four_leaves_of_16_and_four_compute_domains() -> None:
    result = support.run(support.workflow(support.pretrain()))
    (group,) = result.kinds("PodGroup")
    assert group["spec"]["minMember"] == 64
    assert group["spec"]["topologyConstraint"]["requiredTopologyLevel"] == "example.com/spine"
    leaves = [(each["name"], each["minMember"], each["topologyConstraint"]) for each in group["spec"]["subGroups"]]
    inside = {
        "topology": "hall",
        "requiredTopologyLevel": "nvidia.com/gpu.clique",
        "preferredTopologyLevel": "nvidia.com/gpu.clique",
    }
    assert leaves == [(f"replica-{i}", 16, inside) for i in range(4)]
    assert [each["metadata"]["name"] for each in result.kinds("ComputeDomain")] == [
        f"train-replica-{i}" for i in range(4)
    ]


def test_every_pod_carries_group_subgroup_claim_and_rank() -> None:
    result = support.run(support.workflow(support.pretrain()))
    (group,) = result.kinds("PodGroup")
    pods = list(support.pods(result.documents))
    assert len(pods) == 64
    for pod in pods:
        part = pod.labels["bayplan.dev/group"]
        assert pod.annotations["pod-group-name"] == group["metadata"]["name"]
        assert pod.annotations["kai.scheduler/skip-podgrouper"] == "true"
        assert pod.labels["kai.scheduler/subgroup-name"] == part
        assert pod.spec["schedulerName"] == "kai-scheduler"
        assert pod.spec["resourceClaims"][0]["resourceClaimTemplateName"] == f"train-{part}"
        assert int(pod.env["NODE_RANK"]) // 16 == int(pod.env["GROUP_INDEX"]) == int(part.removeprefix("replica-"))


def test_one_gpu_a_pod_on_nodes_of_four_is_refused_with_the_channel_rule() -> None:
    result = support.run(support.workflow(support.pretrain(accelerator={"name": "gb200", "count": 1})))
    (finding,) = [each for each in result.diagnostics if each.code == "P506"]
    assert "a node has one channel" in finding.message
    assert "computeDomain: never" in finding.hint


def test_18_pods_where_17_nodes_are_usable_are_refused_with_the_deficit() -> None:
    broken = ",".join(f"n{spine}{rack}-01" for spine in range(2) for rack in range(4))
    result = support.run(support.workflow(support.pretrain(replicas=18)), spares(notReady=broken))
    (finding,) = [each for each in result.diagnostics if each.severity == "error"]
    assert finding.code == "P551"
    assert "18" in finding.message
    assert "17" in finding.message
    assert any("17 of 18 nodes available (1 notReady)" in note.message for note in finding.notes)
    assert "17" in finding.hint


def test_a_preferred_spine_that_is_too_small_is_placed_with_an_info() -> None:
    gang = support.pretrain()
    gang["groups"][0]["replicas"] = 6
    required = support.run(support.workflow(gang))
    assert required.compiled is None
    preferred = support.run(support.workflow({**gang, "placement": {"preferred": "spine"}}))
    assert preferred.compiled is not None
    assert [(each.code, each.severity) for each in preferred.diagnostics] == [("P516", "info")]
    assert preferred.kinds("PodGroup")[0]["spec"]["topologyConstraint"]["preferredTopologyLevel"] == "example.com/spine"


def test_a_gap_that_is_accepted_is_rendered_and_noted() -> None:
    gang = {**support.pretrain(), "workload": "pods", "ttlSecondsAfterFinished": 60}
    refused = support.run(support.workflow(gang))
    assert refused.codes == ["F609"]
    accepted = support.run(support.workflow(gang), accept=frozenset({"F609"}))
    assert [(each.code, each.severity) for each in accepted.diagnostics] == [("F609", "warning")]
    assert {pod.annotations["bayplan.dev/accepted"] for pod in support.pods(accepted.documents)} == {"F609"}


def test_labels_of_the_workflow_go_on_every_object() -> None:
    flow = support.workflow(support.pretrain())
    flow["metadata"] |= {"labels": {"team": "a"}, "annotations": {"example.com/ticket": "7"}}
    documents = support.run(flow).documents
    assert all(each["metadata"]["labels"]["team"] == "a" for each in documents)
    assert all(each["metadata"]["annotations"]["example.com/ticket"] == "7" for each in documents)
    assert all(pod.labels["team"] == "a" for pod in support.pods(documents))


def test_copies_of_a_gang_are_all_of_one_kind() -> None:
    worker = {**support.WORKER, "replicas": 2, "restartPolicy": "Always"}
    result = support.run(support.workflow({"name": "main", "replicas": 3, "podSets": [worker]}))
    assert {each["kind"] for each in result.documents} == {"PodGroup", "Service", "Pod"}


def test_two_chains_of_gangs_make_two_jobsets() -> None:
    worker = {**support.WORKER, "replicas": 1}
    gangs = [
        {"name": name, "dependsOn": after, "podSets": [worker]}
        for name, after in (("a", []), ("b", ["a"]), ("c", []), ("d", ["c"]))
    ]
    jobsets = support.run(support.workflow(*gangs)).kinds("JobSet")
    made = {each["metadata"]["name"]: [job["name"] for job in each["spec"]["replicatedJobs"]] for each in jobsets}
    assert made == {"train-a": ["a-worker", "b-worker"], "train-c": ["c-worker", "d-worker"]}
    (second,) = support.run(support.workflow(*gangs), gangs=("c", "d")).kinds("JobSet")
    assert second["metadata"]["name"] == "train-c"


def test_gangs_wait_for_the_lead_of_others() -> None:
    first = {"name": "a", "lead": "worker", "podSets": [{**support.WORKER, "replicas": 1}]}
    second = {"name": "b", "dependsOn": ["a"], "podSets": [{**support.WORKER, "replicas": 1}]}
    (jobset,) = support.run(support.workflow(first, second)).kinds("JobSet")
    waits = {
        job["name"]: [each["name"] for each in job.get("dependsOn", ())] for job in jobset["spec"]["replicatedJobs"]
    }
    assert waits == {"a-worker": [], "b-worker": ["a-worker"]}


def test_pods_that_fill_their_node_by_cpu_need_the_channel_too() -> None:
    worker = {
        **support.WORKER,
        "replicas": 4,
        "accelerator": {"name": "gb200", "count": 1},
        "resources": {"cpu": "100"},
    }
    result = support.run(support.workflow({"name": "main", "placement": {"required": "rack"}, "podSets": [worker]}))
    assert "P506" in result.codes


def test_what_upstream_would_refuse_cannot_be_accepted() -> None:
    worker = {**support.WORKER, "replicas": 2, "restartPolicy": "Always"}
    gang = {"name": "main", "workload": "job", "podSets": [worker]}
    result = support.run(support.workflow(gang), accept=frozenset({"F769"}))
    assert result.compiled is None
    assert "F769" in result.codes


def test_a_job_may_restart_its_containers_where_the_user_says_so() -> None:
    gang = support.pretrain(restartPolicy="OnFailure")
    for job in support.run(support.workflow(gang)).kinds("JobSet")[0]["spec"]["replicatedJobs"]:
        assert "backoffLimit" not in job["template"]["spec"]
