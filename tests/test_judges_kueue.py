"""Kueue's judge refuses what its webhooks refuse, and what only its scheduler would find."""

from __future__ import annotations

from typing import Any

import pytest

from judges import kueue

P = "kueue.x-k8s.io/podset-"
QUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "research"}}
SLICED = {f"{P}required-topology": "spine", f"{P}slice-required-topology": "rack", f"{P}slice-size": "4"}
LAYERS = f"{P}slice-required-topology-constraints"
PAIR = {f"{P}group-name": "g", f"{P}required-topology": "rack"}


def job_set(*sets: tuple[int, dict[str, str]]) -> dict[str, Any]:
    jobs = [
        {
            "name": f"r{n}",
            "replicas": 1,
            "template": {"spec": {"parallelism": count, "template": {"metadata": {"annotations": own}}}},
        }
        for n, (count, own) in enumerate(sets)
    ]
    head = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a", **QUEUE}}
    return {**head, "spec": {"suspend": True, "replicatedJobs": jobs}}


def in_jobs(document: dict[str, Any], replicas: int, pods: int) -> dict[str, Any]:
    """The same podSet, as several Jobs."""
    (job,) = document["spec"]["replicatedJobs"]
    job["replicas"], job["template"]["spec"]["parallelism"] = replicas, pods
    return document


def mpi_job(launcher: dict[str, str], worker: dict[str, str]) -> dict[str, Any]:
    roles = {
        "Worker": {"replicas": 8, "template": {"metadata": {"annotations": worker}}},
        "Launcher": {"template": {"metadata": {"annotations": launcher}}},
    }
    head = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "a", **QUEUE}}
    return {**head, "spec": {"mpiReplicaSpecs": roles}}


def pod(labels: dict[str, str], annotations: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": "p", "labels": {**QUEUE["labels"], **labels}, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}


NAMED, COUNTED = {"kueue.x-k8s.io/pod-group-name": "g"}, {"kueue.x-k8s.io/pod-group-total-count": "2"}
GOOD = [
    job_set((8, SLICED)),
    in_jobs(job_set((8, SLICED)), 2, 4),
    job_set((1, PAIR), (4, PAIR)),
    mpi_job(PAIR, PAIR),
    mpi_job({}, SLICED),
    pod(NAMED, COUNTED),
]


BAD: list[tuple[dict[str, Any], str, str]] = [
    (job_set((8, {f"{P}required-topology": "a", f"{P}preferred-topology": "b"})), "0.19", "more than one"),
    (job_set((8, {f"{P}slice-size": "4"})), "0.19", "stands alone"),
    (job_set((8, {**SLICED, LAYERS: "[]"})), "0.19", "may not be set beside"),
    (job_set((8, {**SLICED, f"{P}slice-size": "3"})), "0.19", "do not divide"),
    (job_set((8, {**SLICED, f"{P}slice-size": "0"})), "0.19", "below 1"),
    (job_set((8, {**SLICED, f"{P}slice-size": "four"})), "0.19", "numeric"),
    (job_set((8, {LAYERS: '[{"topology": "rack", "size": 4}]'})), "0.16", "ignored below 0.17"),
    (job_set((8, {LAYERS: "[]"})), "0.19", "between 1 and 3"),
    (in_jobs(job_set((8, SLICED)), 4, 2), "0.19", "greater than pod set count 2"),
    (mpi_job(PAIR, {}), "0.19", "1 podSets, not 2"),
    (mpi_job({}, {**SLICED, f"{P}slice-size": "3"}), "0.19", "do not divide what"),
    (job_set((1, PAIR), (4, PAIR), (1, PAIR)), "0.19", "3 podSets, not 2"),
    (job_set((2, PAIR), (4, PAIR)), "0.19", "has one pod"),
    (job_set((1, PAIR), (4, {**PAIR, f"{P}required-topology": "spine"})), "0.19", "different levels"),
    (job_set((1, PAIR), (4, {**PAIR, **SLICED})), "0.19", "has slices"),
    (job_set((1, {f"{P}group-name": "g"}), (4, PAIR)), "0.19", "no level"),
    (job_set((1, {**PAIR, f"{P}group-name": "7"}), (4, {**PAIR, f"{P}group-name": "7"})), "0.19", "a number"),
    (job_set(*[(1, {})] * 9), "0.17", "9 podSets"),
    (pod(NAMED, {}), "0.19", "a name and a total count"),
    (pod({**NAMED, "kueue.x-k8s.io/pod-group-pod-index": "2"}, COUNTED), "0.19", "index 2 of 2"),
]


@pytest.mark.parametrize("document", GOOD)
def test_the_good_are_taken(document: dict[str, Any]) -> None:
    assert kueue.judge(document, {"kueue": "0.14"}) == []


@pytest.mark.parametrize(("document", "version", "complaint"), BAD, ids=[complaint for _, _, complaint in BAD])
def test_the_bad_are_refused(document: dict[str, Any], version: str, complaint: str) -> None:
    assert any(complaint in each for each in kueue.judge(document, {"kueue": version}))


def own(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


CPU = [{"name": "cpu", "nominalQuota": 1}]
CLUSTER = [
    own("Topology", "hall", levels=[{"nodeLabel": "spine"}, {"nodeLabel": "rack"}]),
    own("ResourceFlavor", "gpu", topologyName="hall"),
    own(
        "ClusterQueue",
        "all",
        namespaceSelector={},
        resourceGroups=[{"coveredResources": ["cpu"], "flavors": [{"name": "gpu", "resources": CPU}]}],
    ),
    own("LocalQueue", "research", clusterQueue="all"),
]


def test_a_whole_set_is_taken() -> None:
    assert [each for document in CLUSTER for each in kueue.judge(document, {})] == []
    assert kueue.judge_all([*CLUSTER, *GOOD], {}) == []


@pytest.mark.parametrize("left_out", range(4))
def test_nothing_may_be_missing(left_out: int) -> None:
    assert kueue.judge_all([*CLUSTER[:left_out], *CLUSTER[left_out + 1 :], *GOOD], {})


def test_slices_above_their_pod_set_are_found() -> None:
    upside = job_set((8, {**SLICED, f"{P}required-topology": "rack", f"{P}slice-required-topology": "spine"}))
    assert kueue.judge_all([*CLUSTER, upside], {}) == ["no Topology has ['rack', 'spine'] from coarse to fine"]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (
            {"resourceGroups": [{"coveredResources": ["memory"], "flavors": [{"name": "a", "resources": CPU}]}]},
            "must match",
        ),
        (
            {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "a", "resources": CPU}] * 2}]},
            "duplicate",
        ),
        ({}, "no namespace"),
    ],
)
def test_cluster_queues(spec: dict[str, Any], complaint: str) -> None:
    assert any(complaint in each for each in kueue.judge(own("ClusterQueue", "q", **spec), {}))
