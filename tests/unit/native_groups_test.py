"""What a gang becomes in each version of Kubernetes, and what must be switched on for it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

import support
from judges import judge, native

WORKER = {**support.WORKER, "resources": {"cpu": "2"}}
POD = {"name": "w", "replicas": 2, "resources": {"cpu": "1"}, "image": "x", "command": ["run"]}
RACK = {"placement": {"required": "rack"}}
SPINE = {"placement": {"required": "spine"}}


def gang(*groups: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "main", **more, **({"groups": list(groups)} if groups else {})}


def group(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **({} if "groups" in more else {"podSets": [POD]}), **more}


def topology(**native_settings: Any) -> dict[str, Any]:
    return {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "schedulers": {"native": native_settings}}}


def run(
    one: Mapping[str, Any], version: str = "1.37", on: Mapping[str, Any] | None = None, **spec: Any
) -> support.Result:
    result = support.run(
        support.workflow(one, **spec), on or support.TOPOLOGY, scheduler="native", target={"kubernetes": version}
    )
    assert result.compiled is not None, result.diagnostics
    own = [each for each in result.documents if each["apiVersion"] != "jobset.x-k8s.io/v1alpha2"]
    builtin = [each for each in own if "k8s.io" in each["apiVersion"] or each["kind"] in ("Job", "Pod")]
    assert [complaint for each in builtin for complaint in judge(each, {"kubernetes": version})] == []
    assert native.together(result.documents) == []
    return result


def names(result: support.Result) -> list[str]:
    """Kind and name of each group."""
    return [f"{each['kind']} {each['metadata']['name']}" for each in result.documents if "Group" in each["kind"]]


def template_names(spec: Mapping[str, Any]) -> list[str]:
    """In the order of the Workload, those inside after their parent."""
    lists = [*spec.get("podGroupTemplates", ()), *spec.get("compositePodGroupTemplates", ())]
    return [name for each in lists for name in (each["name"], *template_names(each))]


def test_1_35_counts_the_pods_of_a_gang() -> None:
    result = run(gang(workload="job", podSets=[POD, {**POD, "name": "v"}]), "1.35", priorityClassName="high")
    (workload,) = result.kinds("Workload")
    assert workload["apiVersion"] == "scheduling.k8s.io/v1alpha1"
    assert workload["spec"] == {"podGroups": [{"name": "main", "policy": {"gang": {"minCount": 4}}}]}
    assert names(result) == []
    for pod in support.pods(result.documents):
        assert pod.spec["workloadRef"] == {"name": "train", "podGroup": "main"}
        assert pod.spec["priorityClassName"] == "high"
        assert "schedulingGroup" not in pod.spec


def test_1_36_has_one_group_with_one_level() -> None:
    result = run(gang(podSets=[WORKER], **RACK), "1.36", priorityClassName="high")
    (found,) = result.kinds("PodGroup")
    assert found["apiVersion"] == "scheduling.k8s.io/v1alpha2"
    assert found["spec"] == {
        "podGroupTemplateRef": {"workload": {"workloadName": "train", "podGroupTemplateName": "main"}},
        "schedulingPolicy": {"gang": {"minCount": 16}},
        "schedulingConstraints": {"topology": [{"key": "nvidia.com/gpu.clique"}]},
    }
    assert {pod.spec["schedulingGroup"]["podGroupName"] for pod in support.pods(result.documents)} == {"train"}


def test_1_36_says_priority_and_disruption_where_its_gate_is_on() -> None:
    on = topology(featureGates={"WorkloadAwarePreemption": True})
    spec = run(gang(podSets=[WORKER], **RACK), "1.36", on, priorityClassName="high").kinds("PodGroup")[0]["spec"]
    assert spec["priorityClassName"] == "high"
    assert spec["disruptionMode"] == "PodGroup"


def test_one_level_needs_no_tree() -> None:
    flat = [group("a", replicas=3), group("b")]
    assert names(run(gang(*flat, **SPINE))) == ["PodGroup train"]
    assert names(run(gang(*flat))) == ["PodGroup train"]
    assert names(run(gang(group("a", **RACK)))) == ["PodGroup train-a-0"]


def test_placed_groups_stand_below_one_over_them() -> None:
    tree = ["CompositePodGroup train", "PodGroup train-a-0", "PodGroup train-a-1"]
    assert names(run(gang(group("a", replicas=2, **RACK)))) == tree
    assert names(run(gang(group("a", replicas=2, **RACK), **SPINE))) == tree
    inner = [group("b", replicas=2, **RACK)]
    assert names(run(gang(group("a", groups=inner), **SPINE)))[1:] == [
        "PodGroup train-a-0-b-0",
        "PodGroup train-a-0-b-1",
    ]


def test_instances_share_a_template_and_odd_ones_get_their_own() -> None:
    workload = run(gang(group("a", replicas=9, **RACK), **SPINE)).kinds("Workload")[0]
    assert template_names(workload["spec"]) == ["main", "a"]
    cut = group("a", size=4, podSets=[{**POD, "replicas": 10}], **RACK)
    workload = run(gang(cut, **SPINE)).kinds("Workload")[0]
    assert template_names(workload["spec"]) == ["main", "a", "a-2"]


def test_names_of_templates_never_meet() -> None:
    inner = group("b", podSets=[{**POD, "replicas": 3}], **RACK)
    groups = [group("main", **RACK), group("a-b", **RACK), group("a", groups=[inner])]
    workload = run(gang(*groups, **SPINE)).kinds("Workload")[0]
    assert template_names(workload["spec"]) == ["main", "main-2", "a-b", "a-b-2"]


def test_each_podset_keeps_its_minimum() -> None:
    server = {**POD, "name": "server", "replicas": 1}
    result = run(gang(podSets=[server, {**POD, "replicas": 8, "minReplicas": 4}], **SPINE))
    least = {each["metadata"]["name"]: each["spec"]["schedulingPolicy"]["gang"] for each in result.kinds("PodGroup")}
    assert least == {"train-server": {"minCount": 1}, "train-w": {"minCount": 4}}
    assert result.kinds("CompositePodGroup")[0]["spec"]["schedulingPolicy"] == {"gang": {"minGroupCount": 2}}


def test_groups_that_may_be_left_out_are_counted_apart() -> None:
    result = run(gang(group("a", replicas=3, minReplicas=2), group("b"), **SPINE))
    roots = {
        each["metadata"]["name"]: each["spec"]["schedulingPolicy"]["gang"] for each in result.kinds("CompositePodGroup")
    }
    assert roots == {"train": {"minGroupCount": 2}, "train-a": {"minGroupCount": 2}}
    parents = {
        each["metadata"]["name"]: each["spec"]["parentCompositePodGroupName"] for each in result.kinds("PodGroup")
    }
    assert parents == {"train-a-0": "train-a", "train-a-1": "train-a", "train-a-2": "train-a", "train-b-0": "train"}


def test_only_what_is_whole_is_evicted_as_a_whole() -> None:
    modes = {each["metadata"]["name"]: each["spec"].get("disruptionMode") for each in _groups(minReplicas=1)}
    assert modes == {"train": None, "train-a-0": {"all": {}}, "train-a-1": {"all": {}}}
    assert {str(each["spec"]["disruptionMode"]) for each in _groups()} == {"{'all': {}}"}


def _groups(**more: Any) -> list[dict[str, Any]]:
    result = run(gang(group("a", replicas=2, **RACK, **more), **SPINE))
    return [each for each in result.documents if "Group" in each["kind"]]


def test_a_scheduler_of_another_name_is_named_in_all_pods() -> None:
    result = run(gang(podSets=[WORKER]), on=topology(schedulerName="kube-two"))
    assert {pod.spec["schedulerName"] for pod in support.pods(result.documents)} == {"kube-two"}
    assert {pod.spec.get("schedulerName") for pod in support.pods(run(gang(podSets=[WORKER])).documents)} == {None}


def repeating() -> dict[str, Any]:
    """Two spines whose racks have equal values."""
    cluster = deepcopy(support.TOPOLOGY)
    (pool,) = cluster["spec"]["pools"]
    pool["levels"][1]["unique"] = "parent"
    pool["domains"] = [{"path": f"s{n}/r{m}", "nodes": f"n{n}{m}-[01-18]"} for n in range(2) for m in range(2)]
    return cluster


@pytest.mark.parametrize(("outer", "codes"), [(SPINE, []), ({}, ["F628"])], ids=["below a spine", "alone"])
def test_equal_racks_under_two_spines_are_harmless_below_one_of_them(outer: dict[str, Any], codes: list[str]) -> None:
    flow = support.workflow(gang(group("a", replicas=2, **RACK), **outer))
    result = support.run(flow, repeating(), scheduler="native", target={"kubernetes": "1.37"})
    assert [each.code for each in result.diagnostics if each.severity == "error"] == codes


GATES = {
    "1.35": ["GangScheduling", "GenericWorkload"],
    "1.36": ["GangScheduling", "GenericWorkload"],
    "1.37": ["GenericWorkload"],
}


@pytest.mark.parametrize(("version", "gates"), GATES.items(), ids=GATES)
def test_a_gate_is_named_until_the_topology_says_that_it_is_on(version: str, gates: list[str]) -> None:
    plain = gang(workload="pods", podSets=[WORKER])
    found = [each for each in run(plain, version).diagnostics if each.code == "F689"]
    assert sorted(next(gate for gate in gates if f"gate {gate} " in each.message) for each in found) == gates
    assert {each.severity for each in found} == {"info"}
    on = topology(featureGates=dict.fromkeys(gates, True))
    assert "F689" not in run(plain, version, on).codes


def test_only_what_is_used_is_asked_for() -> None:
    tree = run(gang(group("a", replicas=2, **RACK), **SPINE))
    told = " ".join(each.message for each in tree.diagnostics if each.code == "F689")
    assert "gate CompositePodGroup" in told
    assert "gate TopologyAwareWorkloadScheduling" in told
    flat = run(gang(podSets=[WORKER], **RACK))
    assert "CompositePodGroup" not in " ".join(each.message for each in flat.diagnostics)


@pytest.mark.parametrize("version", ["1.32", "1.33", "1.34"])
def test_older_kubernetes_is_refused(version: str) -> None:
    flow = support.workflow(gang(podSets=[WORKER]))
    result = support.run(flow, scheduler="native", target={"kubernetes": version})
    assert result.compiled is None
    assert "F615" in result.codes
    assert "F689" not in result.codes
