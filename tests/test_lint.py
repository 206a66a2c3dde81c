"""Lint: what each rule finds, that it finds nothing else, and that nothing that anybody writes makes it fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import all_backends
import random_workflows
import support
from bayplan import pipeline
from bayplan.backends import BACKENDS
from bayplan.core.diagnostics import Diagnostic
from bayplan.report import Batch
from bayplan.report.findings import findings
from bayplan.text import document
from bayplan.text.emit import emit
from lint_table import COMMON, DEVICES, KAI, Row, group
from support import TOPOLOGY
from tools.effort import examples
from tools.golden import SCRIPTS, distinct
from tools.run import EXAMPLES

COVERS = {
    "M707",
    "M702",
    "M703",
    "M704",
    "M705",
    "M706",
    "W512",
    "M712",
    "M713",
    "M714",
    "M715",
    "M717",
    "M719",
    "M780",
    "M800",
    "M804",
    "M809",
    "M807",
    "M808",
    "M812",
    "M813",
    "M857",
    "M815",
}
MINE = frozenset(COVERS)
CLUSTER = document.Document("topology.yaml", "", 0, TOPOLOGY)
ROWS = (*COMMON, *DEVICES, *KAI)


def lint(text: str, target: Mapping[str, str] = {}, topology: document.Document | None = CLUSTER) -> Batch:
    """What lint says of a text."""
    read = document.read("m.yaml", text.encode(), "manifest", own=False)
    assert read.value is not None, read.diagnostics
    outcome, origins = pipeline.lint(pipeline.LintRequest(read.value, topology, target=target))
    sources = {f"manifest:{number}": each for number, each in enumerate(read.value)}
    mine = tuple(each for each in outcome.diagnostics if each.code in MINE)
    return Batch(mine, sources, origins)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_each_rule_finds_its_mistake_at_its_place_and_nothing_else(row: Row) -> None:
    found = findings([lint(row.manifests, row.target)])
    assert tuple(f"{each.code}:{each.place.line if each.place else 0}" for each in found) == row.found


FIELDS = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g, namespace: ml}
spec:
  {markUnschedulable: true, minMember: 1, preemptibility: preemptible, priorityClassName: p, queue: q,
   schedulingBackoff: -1, backoffLimit: 1, completions: 1, parallelism: 1, minSubGroup: 1,
   preemptionDelay: 1m, stalenessGracePeriod: 90s,
   topologyConstraint: {topology: t, requiredTopologyLevel: a, preferredTopologyLevel: b},
   subGroups: [{name: a, parent: b, minMember: 1, minSubGroup: 1, topologyConstraint: {topology: t}}]}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: q}
spec:
  {displayName: q, parentQueue: p, preemptMinRuntime: 1m, priority: 1, reclaimMinRuntime: 1m,
   resources: {cpu: {limit: 1, overQuotaWeight: 1, quota: 1}, gpu: {quota: 1}, memory: {quota: 1}}}
---
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: t}
spec: {levels: [{nodeLabel: example.com/a, alias: a}]}
"""
OF_JOBS, OF_TIME = ["backoffLimit", "completions", "parallelism"], ["preemptionDelay", "stalenessGracePeriod"]


@pytest.mark.parametrize(
    ("version", "dropped"),
    [
        ("0.14", ["minSubGroup", "minSubGroup", *OF_TIME]),
        ("0.15", [*OF_JOBS, *OF_TIME]),
        ("0.16", [*OF_JOBS, *OF_TIME]),
        ("0.17", OF_JOBS),
    ],
)
def test_fields_that_a_version_of_kai_drops(version: str, dropped: list[str]) -> None:
    found = [str(each.route[-1]) for each in lint(FIELDS, {"kai": version}).diagnostics if each.code == "M780"]
    assert sorted(found) == dropped


def test_the_table_covers_every_code() -> None:
    assert {found.partition(":")[0] for row in ROWS for found in row.found} == MINE


def test_without_a_topology_nothing_is_said_about_nodes() -> None:
    about_nodes = {"M712", "M714", "M808"}
    said = {each.code for row in ROWS for each in lint(row.manifests, row.target, None).diagnostics}
    assert not said & about_nodes
    assert MINE - about_nodes <= said
    (few_gpus,) = (row for row in ROWS if row.name == "one GPU of four")
    assert lint(few_gpus.manifests, few_gpus.target, None).diagnostics == ()


def test_lists_are_flattened_and_told_by_their_own_lines() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {namespace: ml}\n"
    assert [each.route for each in lint(text).diagnostics] == [("manifest:0", "items", 0)]


def test_one_scheduler_leaves_the_rules_of_others_out() -> None:
    read = document.read("m.yaml", group("{minMember: 1}").encode(), "manifest", own=False).value or ()
    codes = {
        name: [each.code for each in pipeline.lint(pipeline.LintRequest(read, CLUSTER, name))[0].diagnostics]
        for name in ("", "kai", "kia")
    }
    assert codes == {"": ["M719"], "kai": ["M719"], "kia": ["A901"]}


def test_an_accepted_code_is_a_warning() -> None:
    read = document.read("m.yaml", group("{minMember: 1}").encode(), "manifest", own=False).value or ()
    outcome, _ = pipeline.lint(pipeline.LintRequest(read, CLUSTER, accept=frozenset({"M719"})))
    assert [(each.code, each.severity) for each in outcome.diagnostics] == [("M719", "warning")]


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name not in SCRIPTS])
def test_what_bayplan_writes_has_none_of_these_mistakes(backend: str) -> None:
    for case in distinct(backend):
        topology = EXAMPLES / case.example / "topology.yaml"
        read = document.read(case.path.name, case.path.read_bytes(), "manifest", own=False).value or ()
        cluster = (document.read("topology.yaml", topology.read_bytes(), "topology").value or (None,))[0]
        outcome, _ = pipeline.lint(pipeline.LintRequest(read, cluster, target={case.component: case.version}))
        assert outcome.value is not None, str(case)
        assert [each for each in outcome.diagnostics if each.code.startswith("M")] == [], str(case)


OWN_WISHES = {"M717": "", "M844": "", "M808": "F631", "M708": "F636"}
"""Warnings about what the workflow asks for: another Topology than the cluster's, a network for some of the pods, and
minimums under a placement, or a level that the default scheduler does not guarantee. `render` reports the second code
of each."""


@st.composite
def written(draw: st.DrawFn, backend: str) -> tuple[all_backends.At, Any, dict[str, Any]]:
    """What is rendered for a random workflow, and its topology; half of the topologies have a secondary network."""
    at, flow = draw(all_backends.flows(backend))
    topology = all_backends.TOPOLOGY
    if draw(st.booleans()):
        fabric = draw(random_workflows.fabrics())
        topology = {**topology, "spec": {**topology["spec"], "fabrics": {"east-west": fabric}}}
        flow = random_workflows.attached(draw, flow, "east-west")
    accept = all_backends.ACCEPTED.get(at.backend, frozenset())
    asked: dict[str, Any] = {"scheduler": at.backend, "target": at.target, "accept": accept}
    return at, support.run(flow, topology, **asked, cluster_objects=draw(st.booleans())), topology


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name not in SCRIPTS])
def test_lint_accepts_what_is_written_for_random_workflows(backend: str) -> None:
    """With and without the topology file, and with or without the objects of the cluster."""
    tally = all_backends.Tally()

    @settings(max_examples=examples(12, 200), derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=written(backend))
    def check(case: tuple[all_backends.At, support.Result, dict[str, Any]]) -> None:
        at, result, topology = case
        if tally.refused(result):
            return
        text = "".join(emit(result.compiled.documents if result.compiled else ()))
        manifests = document.read("m.yaml", text.encode(), "manifest", own=False).value or ()
        for cluster in (None, document.Document("topology.yaml", "", 0, topology)):
            outcome, _ = pipeline.lint(pipeline.LintRequest(manifests, cluster, target=at.target))
            found = [each for each in outcome.diagnostics if each.code.startswith("M")]
            meant = {code for code, own in OWN_WISHES.items() if not own or own in result.codes}
            assert [each for each in found if each.severity == "error" or each.code not in meant] == []

    check()
    assert tally.enough(), tally


WILD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**40),
    st.floats(allow_nan=True),
    st.text(max_size=70),
    st.sampled_from(["", "g", "ch", "a", "ml", "true", "nvidia.com/gpu.clique", "kubernetes.io/hostname"]),
    st.lists(st.integers(), max_size=2),
    st.lists(st.none(), max_size=2),
    st.dictionaries(st.sampled_from(["name", "spec", "metadata", "containers"]), st.none(), max_size=2),
)


def places(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in data."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(found for key, value in pairs for found in places(value, (*path, key)))]


def changed(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """The data with another value at a place."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(data, dict):
        return {k: changed(v, rest, value) if k == key else v for k, v in data.items()}
    return [changed(v, rest, value) if k == key else v for k, v in enumerate(data)]


TEXTS = [each for row in ROWS for each in yaml.load_all(row.manifests, yaml.CSafeLoader) if isinstance(each, dict)]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_lint_never_fails_whatever_stands_anywhere(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6))
    broken: list[Any] = []
    for one in chosen:
        for _ in range(data.draw(st.integers(0, 3))):
            one = changed(one, data.draw(st.sampled_from(places(one))), data.draw(WILD))
        broken.append(one)
    documents = tuple(document.Document("m.yaml", "", number, each) for number, each in enumerate(broken))
    target = {"kai": data.draw(st.sampled_from(["0.10", "0.14", "0.17"]))}
    outcome, _ = pipeline.lint(pipeline.LintRequest(documents, CLUSTER, target=target))
    assert outcome.value is not None
    said = [text for each in outcome.diagnostics for text in (each.message, each.hint)]
    assert all(isinstance(each, Diagnostic) and each.code and each.message for each in outcome.diagnostics)
    assert all(text.isprintable() and len(text) < 1000 for text in said), said
