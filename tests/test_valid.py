"""Every golden document is taken by the judges, at the versions it is written for and at the newest; and every reader
of YAML reads it alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from ruamel.yaml import YAML

import all_backends
from bayplan.backends import BACKENDS
from judges import UPSTREAM, builtin, judge, judge_all, targets_for
from tools.effort import LONG, examples
from tools.golden import SCRIPTS, Case, cases, documents, read, texts

needs_upstream = pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason=f"no upstream CRDs at {UPSTREAM}/crds")

ORDER = (
    {
        *(
            "Topology",
            "ClusterNetworkTopology",
            "HyperNode",
            "ResourceFlavor",
            "ClusterQueue",
        ),
        *("Queue", "LocalQueue"),
    },
    {"ServiceAccount", "Role", "RoleBinding", "ComputeDomain", "ResourceClaimTemplate", "ConfigMap"},
    {"Workload"},
    {"CompositePodGroup"},
    {"PodGroup"},
    {"Service"},
    {"TrainingRuntime"},
    {"Pod", "Job", "JobSet", "LeaderWorkerSet", "StatefulSet", "Deployment", "MPIJob", "TrainJob"},
    {"HorizontalPodAutoscaler"},
    {"ClusterTopologyBinding"},
    {"PodCliqueSet"},
)
"""Kinds in the order in which a scheduler meets the least waiting: what pods need comes before the pods."""


BY_BACKEND = {backend: [case for case in cases() if case.backend == backend] for backend in BACKENDS}
written = pytest.mark.parametrize("backend", sorted(set(BACKENDS) - set(SCRIPTS)))


@written
def test_kubernetes_takes_its_own_objects(backend: str) -> None:
    own = ((case, each) for case in BY_BACKEND[backend] for each in documents(case) if builtin.knows(each))
    assert [
        (str(case), found) for case, each in own for target in judges_of(case) if (found := judge(each, target))
    ] == []


@needs_upstream
@written
def test_the_judges_take_every_document(backend: str) -> None:
    complaints = [(str(case), found) for case in BY_BACKEND[backend] for found in refused(case)]
    assert complaints == []


def refused(case: Case) -> list[str]:
    """What the judges complain about in a golden file."""
    found = documents(case)
    lowest, *highest = judges_of(case)
    lasting = [document for document in found if outlives(document, case)]
    return [*judge_all(found, lowest), *(each for target in highest for each in judge_all(lasting, target))]


def judges_of(case: Case) -> list[dict[str, str]]:
    """The versions that must take the documents. kube-scheduler's alpha objects are those of one version alone."""
    lowest, *highest = targets_for(case.target)
    return [lowest] if case.backend == "native" else [lowest, *highest]


def outlives(document: dict[str, Any], case: Case) -> bool:
    """Whether newer versions must take the document too. Up to 0.10 KAI read Kueue's Topology, later ones their own."""
    return case.version != "0.10" or document["apiVersion"] != "kueue.x-k8s.io/v1alpha1"


def test_what_pods_need_comes_before_them() -> None:
    ranks = {case: [rank(document["kind"]) for document in documents(case)] for case in cases()}
    assert [str(case) for case, found in ranks.items() if found != sorted(found)] == []


def rank(kind: str) -> int:
    """The place of a kind in the order."""
    return next(number for number, kinds in enumerate(ORDER) if kind in kinds)


def test_yaml_1_1_and_1_2_read_the_same() -> None:
    """Documents of every form, and all values that stand without quotes."""
    assert [text for text in (*forms(), plain_values()) if read(text) != read_as_1_2(text)] == []


def read_as_1_2(text: str) -> Any:
    """The document that ruamel.yaml reads."""
    return YAML(typ="safe", pure=True).load(text)


def every_text() -> dict[str, None]:
    """Each distinct document of the golden files."""
    return dict.fromkeys(text for case in cases() if case.backend not in SCRIPTS for text in texts(case))


def forms() -> Iterator[str]:
    """Documents with a line whose form no document before them has: what remains when words are left out. The full
    tests read every document."""
    known: set[str] = set()
    for text in every_text():
        new = {re.sub(r"[A-Za-z0-9]+", "w", line) for line in text.splitlines()} - known
        known |= new
        if new or LONG:
            yield text


PLAIN = re.compile(r"(?:- )*(?:([^\s:'\"]+): ?)?([^\s'\"{\[|>].*)?")
"""A key and a value without quotes in a line."""


def plain_values() -> str:
    """A list of all that stand in the golden files, outside of text of several lines."""
    outside = (re.sub(r"(?m)^( *)(.*: [|][-+0-9]*)\n(?:(?:\1 .*)?\n)*", r"\1\2\n", text) for text in every_text())
    lines = {line.strip() for text in outside for line in text.splitlines() if not line.startswith("#")}
    found = {word for line in lines if (match := PLAIN.fullmatch(line)) for word in match.groups() if word}
    return "".join(f"- {word}\n" for word in sorted(found) if not re.search(r": |:$| #|^[-&*!%@`?}]", word))


def test_a_golden_holds_objects_or_the_reason_why_not() -> None:
    assert [str(case) for case in cases() if not documents(case) and not READABLE.search("\n".join(texts(case)))] == []


READABLE = re.compile("#SBATCH|: error\\[")


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@needs_upstream
@written
def test_the_judges_take_what_is_written_for_random_workflows(backend: str) -> None:
    """At the versions that it is written for, by the CRDs of these versions where `judges/prepare` has fetched them."""
    tally = all_backends.Tally()

    @settings(max_examples=examples(8, 30), derandomize=True, deadline=None, suppress_health_check=SLOW)
    @given(case=all_backends.flows(backend))
    def check(case: tuple[all_backends.At, dict[str, Any]]) -> None:
        at, flow = case
        result = all_backends.run(flow, at)
        if not tally.refused(result):
            lowest = next(targets_for({**all_backends.TOPOLOGY["spec"]["versions"], **at.target}))
            objects = [document for document in result.documents if document["kind"] != "File"]
            assert judge_all(objects, lowest) == []

    check()
    assert tally.enough(), tally


@needs_upstream
@pytest.mark.parametrize("at", all_backends.ALL, ids=str)
def test_the_judges_take_the_objects_of_the_cluster(at: all_backends.At) -> None:
    lowest = next(targets_for({**all_backends.TOPOLOGY["spec"]["versions"], **at.target}))
    objects = all_backends.cluster_objects(at, all_backends.TOPOLOGY)
    assert judge_all([each for each in objects if each["kind"] != "File"], lowest) == []
