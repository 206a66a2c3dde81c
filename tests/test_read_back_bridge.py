"""The way back from plain manifests, and from those for slurm-bridge and SUNK: what they say is what the plan meant,
less the gaps that each of them declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from bayplan.model.target import KNOWN
from bayplan.report.codes import sections
from bayplan.text.emit import emit
from judges import UPSTREAM, judge_all
from oracle import ORACLES
from oracle.intent import UnitIntent
from tools.data import parse, parse_all
from tools.effort import examples

NAMES = {"W301"}  # random names may meet; that they are refused is tested elsewhere
FITTING = {"P501", "P502", "W323", "P506", "P507"}
GAPS = frozenset(code for code in sections() if code.startswith("F"))
TARGETS = {
    "none": [{"kubernetes": version} for version in KNOWN["kubernetes"]],
    "slurm-bridge": [
        {"slurmBridge": "1.0", "kubernetes": "1.34"},
        {"slurmBridge": "1.2", "kubernetes": "1.36", "jobset": "0.11"},
        {"slurmBridge": "1.2", "kubernetes": "1.36", "jobset": "0.12"},
        {"slurmBridge": "1.2", "kubernetes": "1.37"},
    ],
    "sunk": [{"sunk": version} for version in KNOWN["sunk"]],
}
LOWEST = {"kubernetes": "1.34", "draDriver": "25.12", "jobset": "0.12"}
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


needs_upstream = pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason=f"no upstream CRDs at {UPSTREAM}/crds")


def with_requests(node: Any) -> Any:
    """The workflow with a CPU and a memory request in every podSet."""
    if isinstance(node, list):
        return [with_requests(each) for each in node]
    if not isinstance(node, Mapping):
        return node
    asked = {"resources": {"cpu": "2", "memory": "4Gi"}} if "image" in node else {}
    return {**{key: with_requests(value) for key, value in node.items()}, **asked}


def unclaimed(node: Any) -> Any:
    """The workflow without ComputeDomains."""
    if isinstance(node, list):
        return [unclaimed(each) for each in node]
    if not isinstance(node, Mapping):
        return node
    own = {"computeDomain": "never"} if node.keys() & {"podSets", "groups"} else {}
    return {**{key: unclaimed(value) for key, value in node.items()}, **own}


@settings(max_examples=examples(8, 40), deadline=None, suppress_health_check=SLOW)
@pytest.mark.parametrize("backend", TARGETS)
@given(data=st.data())
def test_manifests_read_back_as_the_plans_intent(backend: str, data: st.DataObject) -> None:
    flow = data.draw(random_workflows.workflows(elastic=True))
    topology = data.draw(random_workflows.topologies)
    target = data.draw(st.sampled_from(TARGETS[backend]))
    flow = with_requests(flow) if backend == "sunk" else flow
    if backend == "slurm-bridge":  # it refuses pods with claims, and nobody can accept that
        flow, topology = unclaimed(flow), random_workflows.TOPOLOGY
    result = support.run(flow, topology, scheduler=backend, target=target, accept=GAPS)
    assume(not NAMES & set(result.codes))
    assert result.compiled is not None, result.diagnostics
    planned = result.compiled.planned
    read = ORACLES[backend].read(result.documents)
    assert read.diagnostics == ()
    wanted = sorted(ORACLES[backend].intent(planned.plan, planned.target), key=lambda gang: gang.name)
    assert list(read.value or ()) == wanted
    assert sum(size(gang.root) for gang in wanted) == len(list(support.pods(result.documents)))


def size(unit: UnitIntent) -> int:
    return sum(pods.replicas for pods in unit.pods) + sum(map(size, unit.units))


def separated(unique: str = "global") -> support.Result:
    """Two groups of four, each in a rack of its own under one spine."""
    group = {
        "name": "side",
        "replicas": 2,
        "separate": "rack",
        "placement": {"required": "rack"},
        "podSets": [{**support.WORKER, "replicas": 4}],
    }
    topology = parse(yaml.safe_dump(support.TOPOLOGY))
    topology["spec"]["pools"][0]["levels"][1] = {"name": "rack", "label": "example.com/rack", "unique": unique}
    return support.run(support.workflow({"name": "train", "groups": [group]}), topology, scheduler="none")


def terms(result: support.Result, kind: str) -> list[dict[str, Any]]:
    """The required terms of the first pod."""
    pod = next(support.pods(result.documents))
    found = pod.spec["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert isinstance(found, list)
    return found


def test_groups_keep_apart_by_anti_affinity() -> None:
    result = separated()
    (term,) = terms(result, "podAntiAffinity")
    assert term["topologyKey"] == "example.com/rack"
    assert term["labelSelector"]["matchLabels"] == {"bayplan.dev/gang": "train", "bayplan.dev/separate": "side"}
    (expression,) = term["labelSelector"]["matchExpressions"]
    assert expression == {"key": "bayplan.dev/group", "operator": "NotIn", "values": ["side-0"]}
    assert {pod.labels["bayplan.dev/separate"] for pod in support.pods(result.documents)} == {"side"}


def test_values_that_repeat_are_told_apart_by_the_label_above() -> None:
    keys = [term["topologyKey"] for term in terms(separated(unique="parent"), "podAffinity")]
    assert keys == ["example.com/spine", "example.com/rack"]


def test_affinity_of_a_template_stays() -> None:
    own = {"labelSelector": {"matchLabels": {"app": "cache"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []},
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [own]},
    }
    gang = support.pretrain(wholeNode=True, template={"spec": {"affinity": affinity}})
    result = support.run(support.workflow(gang), scheduler="none", accept=GAPS)
    assert [term["topologyKey"] for term in terms(result, "podAffinity")] == [
        "kubernetes.io/hostname",
        "nvidia.com/gpu.clique",
    ]
    assert "nodeAffinity" in next(support.pods(result.documents)).spec["affinity"]
    (apart,) = terms(result, "podAntiAffinity")
    assert apart["labelSelector"] == {"matchLabels": {"bayplan.dev/whole-node": "true"}}


@needs_upstream
@pytest.mark.parametrize("backend", TARGETS)
def test_the_judges_take_what_is_written(backend: str) -> None:
    """At every version whose manifests differ; goldens hold only some."""
    one = {**support.WORKER, "resources": {"cpu": "8", "memory": "64Gi"}, "replicas": 1 if backend == "sunk" else 4}
    flow = support.workflow({"name": "train", "podSets": [one], "activeDeadlineSeconds": 90})
    for target in TARGETS[backend]:
        result = support.run(flow, scheduler=backend, target=target)
        assert result.documents
        assert judge_all(result.documents, {**LOWEST, **target}) == []


MISTAKES = [
    ("slurm-bridge", "resourceClaims", [{"name": "gpu", "resourceClaimName": "gpu"}], "resourceclaim"),
    ("sunk", "terminationGracePeriodSeconds", 30, "KillWait"),
    ("sunk", "tolerations", [], "lock"),
]


@needs_upstream
@pytest.mark.parametrize(("backend", "field", "value", "complaint"), MISTAKES)
def test_the_judges_refuse_what_upstream_refuses(backend: str, field: str, value: Any, complaint: str) -> None:
    one = {**support.WORKER, "resources": {"cpu": "8", "memory": "64Gi"}, "replicas": 1}
    result = support.run(support.workflow({"name": "train", "podSets": [one], "workload": "pods"}), scheduler=backend)
    for pod in result.kinds("Pod"):
        pod["spec"][field] = value
    assert any(complaint in each for each in judge_all(result.documents, LOWEST))


@needs_upstream
def test_the_judges_refuse_a_pod_group_that_the_crd_refuses() -> None:
    (group,) = support.run(support.workflow(SMALL), scheduler="slurm-bridge").kinds("PodGroup")
    assert judge_all([{**group, "spec": {"minMember": 0}}], LOWEST)
    assert judge_all([{**group, "spec": {"minMembers": 1}}], LOWEST)
    group["metadata"]["annotations"]["slurmjob.slinky.slurm.net/timelimit"] = "1:00"
    assert judge_all([group], LOWEST)


SMALL = {"name": "train", "podSets": [{**support.WORKER, "replicas": 2}], "activeDeadlineSeconds": 90}


def test_options_become_annotations_of_the_pod_group() -> None:
    own = {"slurm-bridge": {"account": "phys", "priority": 7, "exclusive": False}}
    flow = support.workflow({**SMALL, "backends": own}, queue="gb200")
    new, old = (support.run(flow, scheduler="slurm-bridge", target={"slurmBridge": v}) for v in ("1.2", "1.0"))
    (group,) = new.kinds("PodGroup")
    assert group["metadata"]["annotations"] == {
        "slurmjob.slinky.slurm.net/job-name": "train",
        "slurmjob.slinky.slurm.net/partition": "gb200",
        "slurmjob.slinky.slurm.net/timelimit": "2",
        "slurmjob.slinky.slurm.net/account": "phys",
        "slurmjob.slinky.slurm.net/exclusive": "false",
        "slurmjob.slinky.slurm.net/priority": "7",
    }
    (group,) = old.kinds("PodGroup")
    assert (
        set(group["metadata"]["annotations"])
        & {
            "slurmjob.slinky.slurm.net/exclusive",
            "slurmjob.slinky.slurm.net/priority",
        }
        == set()
    )


@pytest.mark.parametrize(
    ("target", "gates", "api"),
    [
        ({"kubernetes": "1.35"}, {}, "scheduling.x-k8s.io/v1alpha1"),
        ({"kubernetes": "1.36"}, {}, "scheduling.k8s.io/v1alpha2"),
        ({"kubernetes": "1.37"}, {}, "scheduling.x-k8s.io/v1alpha1"),
        ({"kubernetes": "1.36", "slurmBridge": "1.1"}, {}, "scheduling.x-k8s.io/v1alpha1"),
        ({"kubernetes": "1.36", "jobset": "0.11"}, {}, "scheduling.x-k8s.io/v1alpha1"),
        ({"kubernetes": "1.36"}, {"GenericWorkload": False}, "scheduling.x-k8s.io/v1alpha1"),
    ],
)
def test_the_api_of_pod_groups_goes_by_versions_and_gates(
    target: dict[str, str], gates: dict[str, bool], api: str
) -> None:
    topology = parse(yaml.safe_dump(support.TOPOLOGY))
    topology["spec"]["schedulers"] = {"slurm-bridge": {"featureGates": gates}}
    result = support.run(support.workflow(SMALL), topology, scheduler="slurm-bridge", target=target)
    assert [each["apiVersion"] for each in result.kinds("PodGroup")] == [api]
    by_field = ["schedulingGroup" in pod.spec for pod in support.pods(result.documents)]
    by_label = ["scheduling.x-k8s.io/pod-group" in pod.labels for pod in support.pods(result.documents)]
    assert by_field == [api == "scheduling.k8s.io/v1alpha2"] * 2 != by_label


def test_namesakes_in_other_namespaces_have_pod_groups_of_other_names() -> None:
    flow = support.workflow(SMALL)
    names = {
        support.run(flow, scheduler="slurm-bridge", namespace=name).kinds("PodGroup")[0]["metadata"]["name"]
        for name in ("a", "b")
    }
    assert len(names) == 2


def test_sunk_pods_end_soon_are_not_pinned_and_tolerate_the_lock() -> None:
    one = {**support.WORKER, "replicas": 1, "resources": {"cpu": "8", "memory": "64Gi"}}
    flow = support.workflow({"name": "train", "podSets": [one], "activeDeadlineSeconds": 90}, queue="gb200")
    result = support.run(flow, scheduler="sunk")
    (pod,) = support.pods(result.documents)
    assert pod.spec["schedulerName"] == "tenant-slurm-slurm-scheduler"
    assert pod.spec["terminationGracePeriodSeconds"] == 24
    assert {"key": "sunk.coreweave.com/lock", "operator": "Equal", "value": "true", "effect": "NoExecute"} in pod.spec[
        "tolerations"
    ]
    resources = pod.spec["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "4"}
    assert resources["limits"] == {"memory": "64Gi", "nvidia.com/gpu": "4"}
    assert pod.annotations["sunk.coreweave.com/timeout"] == "90"
    assert pod.annotations["sunk.coreweave.com/partition"] == "gb200"


def test_what_a_topology_says_of_its_cluster_is_not_told_again() -> None:
    topology = parse(yaml.safe_dump(support.TOPOLOGY))
    topology["spec"]["schedulers"] = {
        "slurm-bridge": {"featureGates": {"CoScheduling": True}, "partition": "gb200"},
        "sunk": {"schedulerName": "slurm-pods", "killWait": 60, "partition": "gb200"},
    }
    del topology["spec"]["defaults"]["queue"]
    bridge = support.run(support.workflow(SMALL), topology, scheduler="slurm-bridge")
    assert [each.message for each in bridge.diagnostics if each.code == "F689"] == [
        'the partition "gb200" must have only nodes of pool "gb200": slurm-bridge reads no node selector'
    ]
    one = with_requests({**SMALL, "podSets": [{**support.WORKER, "replicas": 1}]})
    sunk = support.run(support.workflow(one), topology, scheduler="sunk")
    assert [each.message for each in sunk.diagnostics if each.code == "F689"] == [
        'the partition "gb200" must have only nodes of pool "gb200": the SUNK Pod Scheduler reads no node selector'
    ]
    assert next(support.pods(sunk.documents)).spec["terminationGracePeriodSeconds"] == 54


def test_reading_plain_text_gives_the_same() -> None:
    """What is emitted and parsed again is what was emitted."""
    result = support.run(support.workflow(support.pretrain()), scheduler="none", accept=GAPS)
    assert result.compiled is not None
    text = "".join(emit(result.compiled.documents))
    assert ORACLES["none"].read(list(parse_all(text))).value == ORACLES["none"].read(result.documents).value


def tight(unusable: str) -> dict[str, Any]:
    """The hall with topology/block and some nodes of every rack out of use."""
    topology: dict[str, Any] = parse(yaml.safe_dump(support.TOPOLOGY))
    topology["spec"]["schedulers"] = {"slurm": {"plugin": "block"}}
    topology["spec"]["pools"][0]["unusable"] = {"cordoned": unusable}
    topology["spec"]["pools"][0]["levels"][1] = {"name": "rack", "label": "example.com/rack"}
    return topology


def test_a_pod_takes_a_node_even_where_two_would_fit() -> None:
    half = {**support.WORKER, "replicas": 12, "accelerator": {"name": "gb200", "count": 2}}
    flow = support.workflow({"name": "train", "placement": {"required": "rack"}, "podSets": [half]})
    nodes = ",".join(f"n{spine}{rack}-[01-08]" for spine in range(2) for rack in range(4))
    assert "F729" not in support.run(flow, tight("n00-01"), scheduler="slurm-bridge").codes
    result = support.run(flow, tight(nodes), scheduler="slurm-bridge")
    (found,) = [each.message for each in result.diagnostics if each.code == "F729"]
    assert found.startswith('gang "train" has 12 pods: ')
    assert found.endswith("no rack has more than 10 usable nodes")
