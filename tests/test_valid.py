"""Every golden document is taken by the judges, at the versions it is written for and at the newest; and every reader
of YAML reads it alike.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from ruamel.yaml import YAML

import everywhere
from bayplan.backends import BACKENDS
from judges import UPSTREAM, builtin, judge, judge_all, targets_for
from tools.golden import SCRIPTS, Case, cases, documents

needs_upstream = pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason=f"no upstream CRDs at {UPSTREAM}/crds")

ORDER = (
    {"Topology", "ClusterNetworkTopology", "HyperNode", "ResourceFlavor", "ClusterQueue", "Queue", "LocalQueue"},
    {"ServiceAccount", "Role", "RoleBinding", "ComputeDomain", "ResourceClaimTemplate", "ConfigMap"},
    {"Workload"},
    {"CompositePodGroup"},
    {"PodGroup"},
    {"Service"},
    {"Pod", "Job", "JobSet"},
)
"""Kinds in the order in which a scheduler meets the least waiting: what pods need comes before the pods."""


@pytest.mark.parametrize("case", cases(), ids=str)
def test_kubernetes_takes_its_own_objects(case: Case) -> None:
    own = [document for document in documents(case) if builtin.knows(document)]
    assert [complaint for target in judges_of(case) for each in own for complaint in judge(each, target)] == []


@needs_upstream
@pytest.mark.parametrize("case", cases(), ids=str)
def test_the_judges_take_every_document(case: Case) -> None:
    found = documents(case)
    lowest, *highest = judges_of(case)
    assert judge_all(found, lowest) == []
    for target in highest:
        assert judge_all([document for document in found if outlives(document, case)], target) == []


def judges_of(case: Case) -> list[dict[str, str]]:
    """The versions that must take the documents. kube-scheduler's alpha objects are those of one version alone."""
    lowest, *highest = targets_for(case.target)
    return [lowest] if case.backend == "native" else [lowest, *highest]


def outlives(document: dict[str, Any], case: Case) -> bool:
    """Whether newer versions must take the document too. Up to 0.10 KAI read Kueue's Topology, later ones their own."""
    return case.version != "0.10" or document["apiVersion"] != "kueue.x-k8s.io/v1alpha1"


@pytest.mark.parametrize("case", cases(), ids=str)
def test_what_pods_need_comes_before_them(case: Case) -> None:
    ranks = [rank(document) for document in documents(case)]
    assert ranks == sorted(ranks)


def rank(document: dict[str, Any]) -> int:
    """The place of a kind in the order."""
    return next(number for number, kinds in enumerate(ORDER) if document["kind"] in kinds)


@pytest.mark.parametrize("case", [case for case in cases() if case.backend not in SCRIPTS], ids=str)
def test_yaml_1_1_and_1_2_read_the_same(case: Case) -> None:
    text = case.path.read_text(encoding="utf-8")
    old = [document for document in yaml.load_all(text, yaml.CSafeLoader) if document is not None]
    new = [document for document in YAML(typ="safe", pure=True).load_all(text) if document is not None]
    assert old == new


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_golden_holds_objects_or_the_reason_why_not(case: Case) -> None:
    text = case.path.read_text(encoding="utf-8")
    assert documents(case) or "#SBATCH" in text or ": error[" in text


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@needs_upstream
@pytest.mark.parametrize("backend", sorted(set(BACKENDS) - set(SCRIPTS)))
def test_the_judges_take_what_is_written_for_random_workflows(backend: str) -> None:
    """At the versions that it is written for, by the CRDs of these versions where `judges/prepare` has fetched them."""
    tally = everywhere.Tally()

    @settings(max_examples=15, derandomize=True, deadline=None, suppress_health_check=SLOW)
    @given(case=everywhere.flows(backend))
    def check(case: tuple[everywhere.At, dict[str, Any]]) -> None:
        at, flow = case
        result = everywhere.run(flow, at)
        if not tally.refused(result):
            lowest = next(targets_for({**everywhere.TOPOLOGY["spec"]["versions"], **at.target}))
            objects = [document for document in result.documents if document["kind"] != "File"]
            assert judge_all(objects, lowest) == []

    check()
    assert tally.enough(), tally


@needs_upstream
@pytest.mark.parametrize("at", everywhere.ALL, ids=str)
def test_the_judges_take_the_objects_of_the_cluster(at: everywhere.At) -> None:
    lowest = next(targets_for({**everywhere.TOPOLOGY["spec"]["versions"], **at.target}))
    objects = everywhere.cluster_objects(at, everywhere.TOPOLOGY)
    assert judge_all([each for each in objects if each["kind"] != "File"], lowest) == []
