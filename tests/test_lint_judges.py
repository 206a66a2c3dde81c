"""Lint against the judges: what KAI's webhooks refuse, lint finds; and trees that they take have none of its errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan import pipeline
from bayplan.model.target import KNOWN
from bayplan.text import document
from judges import kai
from test_lint import CLUSTER
from tools.effort import examples

NAMES = ["a", "b", "c", "d"]
LEVELS = ["", "example.com/spine", "nvidia.com/gpu.clique"]
VERSIONS = KNOWN["kai"]
TREE = {"M715"}


def without_nothing(**fields: Any) -> dict[str, Any]:
    """The fields that are there."""
    return {key: value for key, value in fields.items() if value is not None}


CONSTRAINTS = st.builds(
    lambda topology, required, preferred: without_nothing(
        topology=topology or None, requiredTopologyLevel=required or None, preferredTopologyLevel=preferred or None
    ),
    *(st.sampled_from(each) for each in (["", "hall"], LEVELS, LEVELS)),
)
NUMBERS = st.one_of(st.none(), st.integers(1, 3))
SUBGROUPS = st.builds(
    lambda name, parent, pods, groups, where: without_nothing(
        name=name, parent=parent, minMember=pods, minSubGroup=groups, topologyConstraint=where or None
    ),
    st.sampled_from(NAMES),
    st.one_of(st.none(), st.sampled_from(NAMES)),
    NUMBERS,
    NUMBERS,
    st.one_of(st.just({}), CONSTRAINTS),
)
POD_GROUPS = st.builds(
    lambda pods, groups, below, where: without_nothing(
        queue="research", minMember=pods, minSubGroup=groups, subGroups=below, topologyConstraint=where or None
    ),
    NUMBERS,
    NUMBERS,
    st.lists(SUBGROUPS, max_size=5),
    st.one_of(st.just({}), CONSTRAINTS),
)
TOPOLOGIES = st.lists(
    st.builds(
        lambda label, alias: without_nothing(nodeLabel=label, alias=alias),
        st.sampled_from(["example.com/spine", "nvidia.com/gpu.clique", "kubernetes.io/hostname"]),
        st.one_of(st.none(), st.sampled_from(["spine", "rack", "example.com/spine"])),
    ),
    max_size=4,
)


def found(api: str, kind: str, spec: Mapping[str, Any], version: str) -> tuple[list[str], set[str]]:
    """What the judge says, and the codes of lint's errors and warnings."""
    data = {"apiVersion": api, "kind": kind, "metadata": {"name": "hall"}, "spec": spec}
    documents = (document.Document("m.yaml", "", 0, data),)
    outcome, _ = pipeline.lint(pipeline.LintRequest(documents, CLUSTER, "kai", {"kai": version}))
    return kai.judge(data, {"kai": version}), {each.code for each in outcome.diagnostics if each.severity == "error"}


@settings(max_examples=examples(60, 300), deadline=None)
@given(POD_GROUPS, st.sampled_from(VERSIONS))
def test_a_pod_group_that_is_refused_is_found(spec: dict[str, Any], version: str) -> None:
    complaints, codes = found("scheduling.run.ai/v2alpha2", "PodGroup", spec, version)
    assert bool(complaints) <= bool(codes), complaints
    tree = [each for each in complaints if "level" not in each and "constraint" not in each and "opology" not in each]
    assert bool(codes & TREE) <= bool(tree), (codes, complaints)


@settings(max_examples=examples(30, 150), deadline=None)
@given(TOPOLOGIES, st.sampled_from(VERSIONS[1:]))
def test_a_topology_that_is_refused_is_found(levels: list[dict[str, Any]], version: str) -> None:
    complaints, codes = found("kai.scheduler/v1alpha1", "Topology", {"levels": levels}, version)
    assert bool(complaints) <= bool(codes), complaints


@settings(max_examples=examples(15, 50), deadline=None)
@given(st.sampled_from([{}, {"parentQueue": "x"}, {"resources": {"gpu": {}}}]), st.sampled_from(VERSIONS))
def test_a_queue_that_is_refused_is_found(spec: dict[str, Any], version: str) -> None:
    complaints, codes = found("scheduling.run.ai/v2", "Queue", spec, version)
    assert bool(complaints) == bool(codes), (complaints, codes)
