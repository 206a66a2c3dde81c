"""A reference placer: placements that Volcano's objects allow are those that the plan allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import support
from bayplan.model.plan import Plan, all_pods, walk
from tools.effort import examples

SPINES, RACKS, NODES = 2, 4, 18


def gangs() -> st.SearchStrategy[dict[str, Any]]:
    """A gang of a few small groups with levels at random."""
    level = st.sampled_from([{}, {"placement": {"required": "spine"}}, {"placement": {"required": "rack"}}])
    return st.builds(
        lambda outer, inner, count, sets: {
            "name": "train",
            **outer,
            "groups": [
                {"name": "a", "replicas": count, **inner, "computeDomain": "never", "podSets": sets},
                {"name": "b", "podSets": [{**support.WORKER, "name": "rest", "replicas": 1}]},
            ],
        },
        st.sampled_from([{}, {"placement": {"required": "spine"}}]),
        level,
        st.integers(1, 3),
        st.sampled_from(
            [
                [{**support.WORKER, "replicas": 2}],
                [{**support.WORKER, "name": "lead", "replicas": 1}, {**support.WORKER, "replicas": 2}],
            ]
        ),
    )


@pytest.mark.parametrize("kind", ["jobset", "pods", "volcano-job"])
@settings(max_examples=examples(8, 25), deadline=None)
@given(gang=gangs(), data=st.data())
def test_volcano_allows_what_the_plan_allows(kind: str, gang: dict[str, Any], data: st.DataObject) -> None:
    gang = {**gang, "workload": kind}
    request = {"scheduler": "volcano", "target": {"volcano": "1.15.1"}, "cluster_objects": True}
    result = support.run(support.workflow(gang), **request)
    if result.compiled is None:
        assert ("F616" in result.codes) == (kind == "volcano-job")
        return
    pods = list(support.pods(result.documents))
    racks = st.tuples(st.integers(0, SPINES - 1), st.integers(0, RACKS - 1))
    favourite = data.draw(racks)
    where = {
        pod.name: f"n{spine}{rack}-01"
        for pod in pods
        for spine, rack in (data.draw(st.just(favourite) | racks),)  # mostly together, else hardly any would pass
    }
    plan = result.compiled.planned.plan
    allowed = _by_plan(plan, pods, where)
    event(f"allowed: {allowed}")
    assert allowed == _by_volcano(result.documents, pods, where)


def _by_plan(plan: Plan, pods: Iterable[support.Pod], where: Mapping[str, str]) -> bool:
    """Whether every unit with a required level lies in one domain of it. Folded pods are counted off in rank order."""
    nodes: dict[str, list[str]] = {}
    for pod in pods:
        group = pod.labels.get("bayplan.dev/group", "")
        nodes.setdefault(f"{group}-{pod.labels['bayplan.dev/pod-set']}", []).append(where[pod.name])
    (gang,) = plan.gangs
    for mine in all_pods(gang.root):
        if mine.name not in nodes:
            nodes[mine.name] = [nodes[mine.template].pop(0) for _ in range(mine.replicas)]
    depth = {"spine": 2, "rack": 3}  # characters of a node's name: "n01-07" is in spine 0, rack 1
    units = (unit for unit in walk(gang.root) if unit.required)
    return all(
        len({node[: depth[unit.required]] for mine in all_pods(unit) for node in nodes[mine.name]}) == 1
        for unit in units
    )


def _by_volcano(documents: list[dict[str, Any]], pods: list[support.Pod], where: Mapping[str, str]) -> bool:
    """Whether each set of pods with a hard topology lies in one HyperNode of an allowed tier."""
    tree = {d["metadata"]["name"]: d["spec"] for d in documents if d["kind"] == "HyperNode"}
    (spec,) = (_pod_group(d) for d in documents if d["kind"] in ("PodGroup", "Job"))
    sets: list[tuple[Mapping[str, Any], list[str]]] = [(spec, [where[pod.name] for pod in pods])]
    for policy in spec.get("subGroupPolicy", ()):
        groups: dict[str, list[str]] = {}
        for pod in pods:
            if _takes(policy, pod):
                groups.setdefault(pod.labels[policy["matchLabelKeys"][0]], []).append(where[pod.name])
        assert len(groups) == policy["minSubGroups"]
        assert {len(nodes) for nodes in groups.values()} == {policy["subGroupSize"]}
        sets += [(policy, nodes) for nodes in groups.values()]
    return all(_allowed(each, set(nodes), tree) for each, nodes in sets)


def _pod_group(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The PodGroup's spec, or that which the controller makes of a Volcano Job (job_controller_actions.go)."""
    spec = document["spec"]
    if "tasks" not in spec:
        return spec
    policies = [
        {
            "name": task["name"],
            "subGroupSize": policy["partitionSize"],
            "minSubGroups": policy["minPartitions"],
            "task": task["name"],
            "matchLabelKeys": ["volcano.sh/partition-id"],
            "networkTopology": policy.get("networkTopology"),
        }
        for task in spec["tasks"]
        for policy in (task.get("partitionPolicy"),)
        if policy
    ]
    return {**spec, "subGroupPolicy": policies}


def _takes(policy: Mapping[str, Any], pod: support.Pod) -> bool:
    if "task" in policy:
        return pod.name.rsplit("-", 1)[0].endswith(f"-{policy['task']}")
    return all(pod.labels.get(key) == value for key, value in policy["labelSelector"]["matchLabels"].items())


def _allowed(owner: Mapping[str, Any], nodes: set[str], tree: Mapping[str, Mapping[str, Any]]) -> bool:
    topology = owner.get("networkTopology")
    if not topology or topology["mode"] != "hard":
        return True
    tier = topology["highestTierAllowed"]
    return any(each["tier"] <= tier and nodes <= _nodes(name, tree) for name, each in tree.items())


def _nodes(name: str, tree: Mapping[str, Mapping[str, Any]]) -> set[str]:
    found: set[str] = set()
    for member in tree[name]["members"]:
        child = member["selector"]["exactMatch"]["name"]
        found |= _nodes(child, tree) if member["type"] == "HyperNode" else {child}
    return found
