"""StatefulSets, Deployments, their autoscalers, and the Services that clients use."""

from __future__ import annotations

import json
from typing import Any

import pytest

import random_workflows
import support
from bayplan.augment import reading
from bayplan.manifests.lifecycle import delete_plan
from bayplan.manifests.order import CLUSTER_SCOPED, ORDER
from bayplan.model.augment import AugmentRequest
from bayplan.model.manifest import Object
from bayplan.text.document import Document

ONE = {"name": "web", "image": "web:1", "command": ["serve"], "ports": {"http": 8080, "metrics": 9090}}
RANKS = {**ONE, "replicas": 3, "accelerator": {"name": "gb200", "count": 4}}


def run(gang: dict[str, Any], scheduler: str = "kai", **more: Any) -> support.Result:
    flow = support.workflow({"name": "main", **gang}, queue="research")
    return support.run(flow, random_workflows.TOPOLOGY, scheduler=scheduler, **more)


def kinds(result: support.Result, kind: str) -> list[dict[str, Any]]:
    assert result.compiled, result.diagnostics
    return [each for each in result.documents if each["kind"] == kind]


@pytest.mark.parametrize("replicas", [1, 2])
def test_ordinals_are_ranks(replicas: int) -> None:
    """Each copy is a StatefulSet, whose pods meet at its pod 0."""
    result = run({"lifecycle": "service", "workload": "statefulset", "replicas": replicas, "podSets": [RANKS]})
    pods = list(support.pods(kinds(result, "StatefulSet")))
    assert len(pods) == 3 * replicas
    for pod in pods:
        first = next(each for each in pods if each.host == pod.env["MASTER_ADDR"])
        assert pod.env["NODE_RANK"] == pod.name.rpartition("-")[2]
        assert first.env["NODE_RANK"] == "0"
        assert first.labels["bayplan.dev/gang"] == pod.labels["bayplan.dev/gang"]
    headless = {each["metadata"]["name"] for each in kinds(result, "Service")}
    assert {each["spec"]["serviceName"] for each in kinds(result, "StatefulSet")} == headless


def test_groups_of_ranks_count_on() -> None:
    """Kueue cuts one StatefulSet into groups; a shell computes the ranks of each."""
    groups = [{"name": "half", "size": 2, "placement": {"required": "rack"}, "podSets": [{**RANKS, "replicas": 4}]}]
    gang = {"lifecycle": "service", "workload": "statefulset", "rendezvous": "group", "groups": groups}
    pods = list(support.pods(kinds(run(gang, "kueue"), "StatefulSet")))
    assert [pod.env["NODE_RANK"] for pod in pods] == ["0", "1", "0", "1"]
    assert [pod.env["GROUP_INDEX"] for pod in pods] == ["0", "0", "1", "1"]
    assert [pod.env["MASTER_ADDR"] for pod in pods] == [pods[n].host for n in (0, 0, 2, 2)]


@pytest.mark.parametrize(("rendezvous", "strategy"), [("gang", "OnDelete"), ("none", "RollingUpdate")])
def test_ranks_of_two_versions_never_meet(rendezvous: str, strategy: str) -> None:
    gang = {"lifecycle": "service", "workload": "statefulset", "rendezvous": rendezvous, "podSets": [RANKS]}
    (one,) = kinds(run(gang), "StatefulSet")
    assert one["spec"]["updateStrategy"]["type"] == strategy
    assert one["spec"]["podManagementPolicy"] == "Parallel"


@pytest.mark.parametrize(("length", "fits"), [(52, True), (53, False)])
def test_the_revision_of_a_stateful_set_is_a_label(length: int, fits: bool) -> None:
    """`<name>-<10 characters>` in controller-revision-hash has 63 characters at most (issue 64023 of Kubernetes)."""
    flow = support.workflow({"name": "main", "lifecycle": "service", "workload": "statefulset", "podSets": [RANKS]})
    flow["metadata"]["name"] = "a" * length
    result = support.run(flow, random_workflows.TOPOLOGY)
    assert ("F613" in result.codes) != fits


GANGS: dict[str, dict[str, Any]] = {
    "jobset": {},
    "job": {},
    "pods": {},
    "statefulset": {"lifecycle": "service"},
    "deployment": {"lifecycle": "service"},
    "lws": {"lifecycle": "service"},
    "volcano-job": {},
}


@pytest.mark.parametrize("kind", GANGS)
def test_a_service_selects_the_pods_that_answer(kind: str) -> None:
    """Those of one podSet in all copies, by ports that they have."""
    sets = [ONE] if kind in ("deployment", "statefulset") else [{**ONE, "name": "head"}, {**RANKS, "ports": {}}]
    gang = {"workload": kind, "replicas": 2, "service": {"ports": ["http"]}, "podSets": sets, **GANGS[kind]}
    result = run(gang, "volcano" if kind == "volcano-job" else "kai")
    (service,) = (each for each in kinds(result, "Service") if each["spec"].get("clusterIP") != "None")
    assert service["metadata"]["name"] == f"{support.workflow({'name': 'main'})['metadata']['name']}-service"
    selected = [each for each in templates(result.documents) if selects(service, each)]
    assert {each["metadata"]["labels"]["bayplan.dev/pod-set"] for each in selected} == {sets[0]["name"]}
    others = [each for each in templates(result.documents) if not selects(service, each)]
    assert sets[0]["name"] not in {each["metadata"]["labels"]["bayplan.dev/pod-set"] for each in others}
    (port,) = service["spec"]["ports"]
    for each in selected:
        named = {own["name"]: own["containerPort"] for own in each["spec"]["containers"][0]["ports"]}
        assert named[port["targetPort"]] == port["port"] == 8080


def test_ports_by_number() -> None:
    """A number is a port of the pods, whether a podSet names it or not."""
    gang = {"lifecycle": "service", "service": {"ports": [8080, 9000, "http"]}, "podSets": [ONE]}
    (service,) = (each for each in kinds(run(gang), "Service") if each["spec"].get("clusterIP") != "None")
    assert service["spec"]["ports"] == [
        {"name": "http", "port": 8080, "targetPort": "http"},
        {"name": "port-9000", "port": 9000, "targetPort": 9000},
    ]


def templates(value: Any) -> list[dict[str, Any]]:
    """The pod templates anywhere in documents."""
    if isinstance(value, list):
        return [found for each in value for found in templates(each)]
    if not isinstance(value, dict):
        return []
    own = [value] if "containers" in (value.get("spec") or {}) else []
    return [*own, *(found for each in value.values() for found in templates(each))]


def selects(service: dict[str, Any], template: dict[str, Any]) -> bool:
    return service["spec"]["selector"].items() <= template["metadata"]["labels"].items()


SCALED = {"autoscale": {"minReplicas": 2, "maxReplicas": 5, "cpuPercent": 70}}
METRIC = {
    "type": "Pods",
    "pods": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "9"}},
}


@pytest.mark.parametrize("kind", ["deployment", "lws"])
def test_an_autoscaler_counts_the_copies(kind: str) -> None:
    """bayplan writes no number beside it, and reads the fewest copies back."""
    pods = {**ONE, "resources": {"cpu": "2"}, **({"replicas": 2} if kind == "lws" else {})}
    gang = {"lifecycle": "service", "workload": kind, "podSets": [pods], **SCALED}
    gang["autoscale"] = {**gang["autoscale"], "metrics": [METRIC]}
    result = run(gang)
    (scale,) = kinds(result, "HorizontalPodAutoscaler")
    target = scale["spec"]["scaleTargetRef"]
    (one,) = kinds(result, target["kind"])
    assert (one["apiVersion"], one["metadata"]["name"]) == (target["apiVersion"], target["name"])
    assert "replicas" not in one["spec"]
    assert [each["type"] for each in scale["spec"]["metrics"]] == ["Resource", "Pods"]
    assert [len(plan.gangs) for plan in read(result)] == [2]


def read(result: support.Result) -> list[Any]:
    """The plans of the manifests."""
    objects = tuple(Object((f"manifest:{n}",), each) for n, each in enumerate(result.documents))
    topology = Document("topology", "", 0, random_workflows.TOPOLOGY)
    found = reading.plans(AugmentRequest(objects, topology))[0].value or ()
    return [each.planned.plan for each in found if each.planned]


@pytest.mark.parametrize("grouped", [False, True])
def test_pods_of_a_deployment_are_copies_unless_a_group_names_them(grouped: bool) -> None:
    result = run({"lifecycle": "service", "replicas": 3, "podSets": [ONE]})
    (one,) = kinds(result, "Deployment")
    documents = json.loads(json.dumps(result.documents))
    if grouped:
        spec = {"queue": "research", "minMember": 3}
        metadata = {"name": "together", "namespace": one["metadata"]["namespace"]}
        documents.append(
            {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec}
        )
        (own,) = (each for each in documents if each["kind"] == "Deployment")
        own["spec"]["template"]["metadata"]["annotations"] = {"pod-group-name": "together"}
    (plan,) = read(result._replace(documents=documents))
    assert len(plan.gangs) == (1 if grouped else 3)


def test_a_deployment_that_rolls_is_no_gang() -> None:
    """W512 of post-render: its new pods start beside the old ones."""
    rollout = {"surge": 1, "unavailable": 0}
    found = run({"lifecycle": "service", "replicas": 3, "rollout": rollout, "podSets": [ONE]})
    (one,) = kinds(found, "Deployment")
    from bayplan.kube.workloads import WORKLOADS

    read = WORKLOADS["apps", "Deployment"](Object(("m",), one), ()).value
    assert read
    assert read.slots[0].late
    assert read.slots[0].late.rolls


@pytest.mark.parametrize("rendezvous", ["gang", "none"])
def test_the_service_that_a_stateful_set_names_is_written(rendezvous: str) -> None:
    gang = {"lifecycle": "service", "workload": "statefulset", "rendezvous": rendezvous, "podSets": [RANKS]}
    found = run({**gang, "service": {}})
    (one,) = kinds(found, "StatefulSet")
    (headless,) = (each for each in kinds(found, "Service") if each["spec"].get("clusterIP") == "None")
    assert headless["metadata"]["name"] == one["spec"]["serviceName"]
    assert headless["spec"]["selector"].items() <= one["spec"]["template"]["metadata"]["labels"].items()


def test_each_kind_in_a_namespace_has_a_line_of_the_delete_plan() -> None:
    kinds = sorted(set(ORDER) - set(CLUSTER_SCOPED))
    documents = [{"apiVersion": "a/v1", "kind": each, "metadata": {"name": "x", "namespace": "n"}} for each in kinds]
    assert len(delete_plan(documents)) == len(kinds)


def test_a_service_shares_no_name_with_that_of_the_ranks() -> None:
    gang = {"lifecycle": "service", "workload": "statefulset", "service": {"name": "train"}, "podSets": [RANKS]}
    flow = support.workflow({"name": "main", **gang}, queue="research")
    flow["metadata"]["name"] = "train"
    assert "W301" in support.run(flow, random_workflows.TOPOLOGY).codes
