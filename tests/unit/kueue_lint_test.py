"""Lint of what others wrote for Kueue: one broken manifest for each finding, and upstream's own examples."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from bayplan import backends
from bayplan.core.diagnostics import Diagnostic
from bayplan.linting.objects import lint_context
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, NodeShape, Pool
from bayplan.topologies import native
from judges import UPSTREAM
from tools import golden
from tools.data import parse_all

COVERS = {
    "M713", "M714", "M743", "M744", "M745", "M746", "M719", "M780", "M750",
    "M815", "M753", "M754", "M710", "M757", "M758",
}  # fmt: skip

TOPOLOGY: dict[str, Any] = {
    **support.TOPOLOGY,
    "spec": {
        **support.TOPOLOGY["spec"],
        "queues": ["research", "user-queue", "tas-user-queue"],
        "pools": [
            {**support.TOPOLOGY["spec"]["pools"][0], "node": {"nodeSelector": {"example.com/pool": "gb200"}}},
            {
                "name": "cpu",
                "node": {"nodeSelector": {"example.com/pool": "cpu"}},
                "levels": [{"name": "row", "label": "example.com/row"}],
                "domains": [{"path": "row-1", "nodes": "c[1-4]"}],
            },
        ],
    },
}
SPINE, RACK, ROW, HOST = "example.com/spine", "nvidia.com/gpu.clique", "example.com/row", "kubernetes.io/hostname"
Q = "kueue.x-k8s.io/"


def topology(data: dict[str, Any] = TOPOLOGY) -> ClusterTopology:
    read = native.read(data).value
    assert read
    return read.value


def lint(documents: list[Any], version: str = "0.19", data: dict[str, Any] = TOPOLOGY) -> list[Diagnostic]:
    objects = [Object((f"manifest:{number}",), each) for number, each in enumerate(documents)]
    return list(backends.lint("kueue", lint_context(objects, topology(data), Target({"kueue": version}))))


def codes(documents: list[Any], version: str = "0.19") -> list[str]:
    return [each.code for each in lint(documents, version)]


def cluster(kind: str, version: str = "v1beta2", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{Q}{version}", "kind": kind, "metadata": {"name": "one"}, "spec": spec}


def levels(*labels: str) -> dict[str, Any]:
    return cluster("Topology", levels=[{"nodeLabel": label} for label in labels])


def template(**annotations: Any) -> dict[str, Any]:
    own = {f"{Q}podset-{name.replace('_', '-')}": value for name, value in annotations.items()}
    return {"metadata": {"annotations": own}, "spec": {"containers": [{"name": "a", "image": "b"}]}}


def job(pods: int = 8, **annotations: Any) -> dict[str, Any]:
    spec = {"parallelism": pods, "completions": pods, "template": template(**annotations)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": {f"{Q}queue-name": "research"}},
        "spec": spec,
    }


def job_set(*templates: dict[str, Any], pods: int = 1) -> dict[str, Any]:
    jobs = [
        {"name": f"r{n}", "replicas": 1, "template": {"spec": {"parallelism": pods if n else 1, "template": each}}}
        for n, each in enumerate(templates)
    ]
    return {**job(), "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": jobs}}


def placed(where: tuple[str | int, ...], value: Any, document: dict[str, Any]) -> dict[str, Any]:
    """The document with a value at a path."""
    if not where:
        return value  # type: ignore[no-any-return]
    step, *rest = where
    if isinstance(step, int):
        return [placed(tuple(rest), value, each) if n == step else each for n, each in enumerate(document)]  # type: ignore[return-value]
    return {**document, step: placed(tuple(rest), value, document.get(step, {}))}


def queue(*flavors: dict[str, Any], **spec: Any) -> dict[str, Any]:
    group = {"coveredResources": ["cpu", "memory"], "flavors": list(flavors)}
    return cluster("ClusterQueue", **{"namespaceSelector": {}, "resourceGroups": [group], **spec})


def flavor(name: str = "one", *resources: str, **more: Any) -> dict[str, Any]:
    given = [{"name": each, "nominalQuota": 1, **more} for each in resources or ("cpu", "memory")]
    return {"name": name, "resources": given}


RF = cluster("ResourceFlavor", nodeLabels={"example.com/pool": "gb200"}, topologyName="one")
LEVEL = {"required_topology": RACK}
SLICES = {"slice_required_topology": RACK, "slice_size": "4"}
TWO = [{"topology": SPINE, "size": 4}, {"topology": RACK, "size": 2}]
PAIR = {**LEVEL, "group_name": "g"}
POD = {"apiVersion": "v1", "kind": "Pod", **template()}
LONG = "example.com/" + "x" * 60

SOUND: dict[str, list[dict[str, Any]]] = {
    "a Topology and its flavor": [levels(SPINE, RACK, HOST), RF, queue(flavor())],
    "one that skips a level": [levels(RACK, HOST)],
    "a required level": [job(**LEVEL)],
    "a preferred level with slices": [job(preferred_topology=SPINE, **SLICES)],
    "slices on the podSet's level": [job(required_topology=RACK, **SLICES)],
    "nested slices": [job(required_topology=SPINE, slice_required_topology_constraints=json.dumps(TWO[1:]))],
    "unconstrained": [job(unconstrained_topology="true")],
    "leader and workers": [job_set(template(**PAIR), template(**PAIR), pods=4)],
    "a Job without Kueue": [
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template()}}
    ],
    "a pod group": [
        placed(
            ("metadata",),
            {"labels": {f"{Q}pod-group-name": "g"}, "annotations": {f"{Q}pod-group-total-count": "2"}},
            POD,
        )
    ],
}


@pytest.mark.parametrize("documents", SOUND.values(), ids=SOUND)
def test_what_is_sound_is_left_alone(documents: list[dict[str, Any]]) -> None:
    assert lint(documents) == []


BROKEN: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "no levels": ([levels()], ["M713"]),
    "17 levels": ([levels(*(f"example.com/l{n}" for n in range(17)))], ["M713"]),
    "a level twice": ([levels(RACK, RACK)], ["M713"]),
    "the host first": ([levels(HOST, RACK)], ["M713"]),
    "a level without label": ([levels("", HOST)], ["M713"]),
    "a label that no node has": ([levels("example.com/spline", HOST)], ["M714"]),
    "the wrong order": ([levels(RACK, SPINE, HOST)], ["M714"]),
    "levels of two pools": ([levels(ROW, RACK, HOST)], ["M714"]),
    "no host level": ([levels(SPINE, RACK)], ["M743"]),
    "a flavor whose nodes lack a level": (
        [levels(SPINE, RACK, HOST), placed(("spec", "nodeLabels"), {"example.com/pool": "cpu"}, RF)],
        ["M714"],
    ),
    "a long level": ([levels(LONG, HOST)], ["M744", "M714"]),
    "a long level of a workload": ([job(required_topology=LONG)], ["M744", "M754"]),
    "a flavor without labels": ([cluster("ResourceFlavor", topologyName="one")], ["M745"]),
    "nine labels": ([cluster("ResourceFlavor", nodeLabels={f"a{n}": "b" for n in range(9)})], ["M745"]),
    "a flavor of no pool": ([cluster("ResourceFlavor", nodeLabels={"example.com/pool": "h100"})], ["M745"]),
    "a flavor of no Topology": ([levels(RACK, HOST), placed(("spec", "topologyName"), "two", RF)], ["M745"]),
    "resources in another order": ([queue(flavor("one", "memory", "cpu"))], ["M746"]),
    "a resource too few": ([queue(flavor("one", "cpu"))], ["M746"]),
    "a flavor twice": ([queue(flavor(), flavor())], ["M746"]),
    "borrowing without cohort": ([queue(flavor("one", "cpu", "memory", borrowingLimit=1))], ["M746", "M746"]),
    "no namespace": ([placed(("spec",), {}, queue())], ["M746"]),
    "a flavor that is not there": ([RF, levels(RACK, HOST), queue(flavor("two"))], ["M746"]),
    "no resources": ([queue(flavor(), resourceGroups=[{}])], ["M746"]),
    "a ClusterQueue that is not there": ([queue(), cluster("LocalQueue", clusterQueue="two")], ["M746", "M719"]),
    "a queue that is not there": ([placed(("metadata", "labels"), {f"{Q}queue-name": "reserch"}, job())], ["M719"]),
    "a version of old": ([cluster("LocalQueue", "v1beta1", clusterQueue="one")], ["M780"]),
    "a version of once": ([{**levels(RACK, HOST), "apiVersion": f"{Q}v1alpha1"}], ["M780"]),
    "required and preferred": ([job(required_topology=SPINE, preferred_topology=RACK)], ["M750"]),
    "a slice size without quotes": ([job(slice_required_topology=RACK, slice_size=4)], ["M750"]),
    "a slice size alone": ([job(slice_size="4")], ["M750"]),
    "a slice level alone": ([job(slice_required_topology=RACK)], ["M750"]),
    "slices of nothing": ([job(slice_required_topology=RACK, slice_size="0")], ["M750"]),
    "slices of a word": ([job(slice_required_topology=RACK, slice_size="four")], ["M750"]),
    "slices larger than the podSet": ([job(**{**SLICES, "slice_size": "16"})], ["M750"]),
    "slices that do not divide": ([job(**{**SLICES, "slice_size": "3"})], ["M750"]),
    "layers that are no JSON": ([job(slice_required_topology_constraints="[{topology: a}]")], ["M750"]),
    "layers in a mapping": ([job(slice_required_topology_constraints=json.dumps(TWO[0]))], ["M750"]),
    "a layer without a level": ([job(slice_required_topology_constraints=json.dumps([*TWO, {"size": 2}]))], ["M750"]),
    "a layer without a size": (
        [job(slice_required_topology_constraints=json.dumps([*TWO, {"topology": HOST}]))],
        ["M750"],
    ),
    "a layer of text": ([job(slice_required_topology_constraints=json.dumps([*TWO, "host"]))], ["M750"]),
    "sizes in quotes": (
        [job(slice_required_topology_constraints='[{"topology": "example.com/spine", "size": "4"}]')],
        ["M750"],
    ),
    "no layer": ([job(slice_required_topology_constraints="[]")], ["M750"]),
    "layers that do not divide": (
        [job(slice_required_topology_constraints=json.dumps([TWO[0], {**TWO[1], "size": 3}]))],
        ["M750"],
    ),
    "layers of nothing": ([job(slice_required_topology_constraints=json.dumps([{**TWO[0], "size": 0}]))], ["M750"]),
    "layers beside slices": (
        [job(slice_required_topology_constraints=json.dumps(TWO[:1]), slice_size="4")],
        ["M750", "M750"],
    ),
    "an annotation of the Job": (
        [placed(("metadata", "annotations"), {f"{Q}podset-required-topology": RACK}, job())],
        ["M815"],
    ),
    "a label of the template": (
        [placed(("spec", "template", "metadata", "labels"), {f"{Q}podset-required-topology": RACK}, job())],
        ["M815"],
    ),
    "a queue in an annotation": (
        [placed(("metadata",), {"name": "j", "annotations": {f"{Q}queue-name": "research"}}, job())],
        ["M753"],
    ),
    "a queue on the template": (
        [placed(("metadata",), {}, placed(("spec", "template", "metadata", "labels"), {f"{Q}queue-name": "a"}, job()))],
        ["M753"],
    ),
    "no queue": ([placed(("metadata",), {"name": "j"}, job(**LEVEL))], ["M753"]),
    "an unknown level": ([job(required_topology="example.com/rack")], ["M754"]),
    "slices above the podSet": ([job(required_topology=RACK, slice_required_topology=SPINE, slice_size="4")], ["M754"]),
    "layers from fine to coarse": (
        [job(slice_required_topology_constraints=json.dumps([{**TWO[1], "size": 4}, {**TWO[0], "size": 2}]))],
        ["M754"],
    ),
    "exclusive topology": (
        [
            placed(
                ("metadata", "annotations"),
                {"alpha.jobset.sigs.k8s.io/exclusive-topology": RACK},
                job_set(template(**LEVEL)),
            )
        ],
        ["M710"],
    ),
    "three podSets together": ([job_set(template(**PAIR), template(**PAIR), template(**PAIR))], ["M750"]),
    "two podSets of many": (
        [placed(("spec", "replicatedJobs", 0, "replicas"), 4, job_set(template(**PAIR), template(**PAIR), pods=4))],
        ["M750"],
    ),
    "a pair on two levels": ([job_set(template(**PAIR), template(**{**PAIR, "required_topology": SPINE}))], ["M750"]),
    "a pair in slices": ([job_set(template(**PAIR), template(**PAIR, **SLICES), pods=4)], ["M750"]),
    "a pair without a level": ([job_set(template(group_name="g"), template(group_name="g"))], ["M750"]),
    "a pair called 7": ([job_set(*[template(**{**PAIR, "group_name": "7"})] * 2)], ["M750"]),
    "a pod group without count": ([placed(("metadata", "labels"), {f"{Q}pod-group-name": "g"}, POD)], ["M757"]),
    "a pod group without name": (
        [placed(("metadata", "annotations"), {f"{Q}pod-group-total-count": "2"}, POD)],
        ["M757"],
    ),
    "a count without quotes": (
        [
            placed(
                ("metadata",),
                {"labels": {f"{Q}pod-group-name": "g"}, "annotations": {f"{Q}pod-group-total-count": 2}},
                POD,
            )
        ],
        ["M757"],
    ),
    "19 pod templates": ([job_set(*[template()] * 19)], ["M758"]),
    "a name that is misspelt": ([job(require_topology=RACK)], ["M815"]),
    "a value that is no text": ([job(unconstrained_topology=True)], ["M815"]),
}


@pytest.mark.parametrize(("documents", "expected"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_found(documents: list[dict[str, Any]], expected: list[str]) -> None:
    found = lint(documents)
    assert [each.code for each in found] == expected
    for each in found:
        document = documents[int(str(each.route[0]).removeprefix("manifest:"))]
        for step in each.route[1:]:
            document = document if step == "\x00key" else document[step]  # type: ignore[index]


def test_every_code_is_found_somewhere() -> None:
    assert {code for _, expected in BROKEN.values() for code in expected} == COVERS


@pytest.mark.parametrize(
    ("documents", "version", "expected"),
    [
        ([job(slice_required_topology_constraints=json.dumps(TWO))], "0.16", ["M750"]),
        ([job(slice_required_topology_constraints=json.dumps(TWO))], "0.18", ["M750"]),
        ([job(slice_required_topology_constraints=json.dumps(TWO))], "0.19", []),
        ([job_set(*[template()] * 9)], "0.17", ["M758"]),
        ([job_set(*[template()] * 9)], "0.18", []),
        ([levels(RACK, HOST)], "0.14", ["M780"]),
        ([{**levels(RACK, HOST), "apiVersion": f"{Q}v1beta1"}], "0.14", []),
        ([placed(("metadata",), {"annotations": {f"{Q}queue-name": "research"}}, job())], "0.14", ["M753"]),
        ([job(required_topology=LONG)], "0.14", ["M754"]),
    ],
)
def test_the_version_decides(documents: list[dict[str, Any]], version: str, expected: list[str]) -> None:
    assert codes(documents, version) == expected


def test_without_a_topology_nothing_is_said_of_nodes() -> None:
    documents = [levels("a.example/b", HOST), RF, job(required_topology="c.example/d", **SLICES)]
    for unknown in (ClusterTopology("", ()), ClusterTopology("x", (Pool("p", NodeShape()),))):
        for some in (documents[:2], [RF]):
            objects = [Object((f"manifest:{n}",), each) for n, each in enumerate(some)]
            assert list(backends.lint("kueue", lint_context(objects, unknown, Target({"kueue": "0.19"})))) == []
    alone = [Object(("manifest:0",), documents[2])]
    assert list(backends.lint("kueue", lint_context(alone, ClusterTopology("", ()), Target({"kueue": "0.19"})))) == []


def test_the_topology_of_an_old_kai_is_its_own() -> None:
    old = Object(("manifest:0",), {**levels(SPINE, RACK, HOST), "apiVersion": f"{Q}v1alpha1"})
    assert list(backends.lint("kueue", lint_context([old], topology(), Target({"kai": "0.10"})))) == []


def test_a_gate_that_is_on_lets_nested_slices_through() -> None:
    spec = {**TOPOLOGY["spec"], "schedulers": {"kueue": {"featureGates": {"TASMultiLayerTopology": True}}}}
    layers = job(slice_required_topology_constraints=json.dumps(TWO))
    assert lint([layers], "0.17", {**TOPOLOGY, "spec": spec}) == []


def test_a_queue_of_old_is_a_warning_where_it_was_read() -> None:
    documents = [placed(("metadata",), {"annotations": {f"{Q}queue-name": "research"}}, job())]
    assert [each.severity for version in ("0.14", "0.15") for each in lint(documents, version)] == ["warning", "error"]


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
PATHS = [
    (),
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec",),
    ("spec", "levels"),
    ("spec", "template"),
    ("spec", "template", "metadata", "annotations"),
    ("spec", "replicatedJobs"),
    ("spec", "resourceGroups"),
]
ANY = [
    levels(SPINE, RACK),
    RF,
    queue(flavor()),
    cluster("LocalQueue", clusterQueue="x"),
    job(**LEVEL, **SLICES),
    job_set(template(**PAIR)),
    POD,
]


@settings(max_examples=200, deadline=None)
@given(document=st.sampled_from(ANY), path=st.sampled_from(PATHS), value=junk)
def test_nothing_makes_it_stumble(document: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    broken = placed(path, value, document)
    if isinstance(broken, dict):
        lint([broken])


@pytest.mark.parametrize("version", golden.VERSIONS["kueue"])
def test_what_bayplan_writes_is_sound(version: str) -> None:
    for case in (each for each in golden.cases() if (each.backend, each.version) == ("kueue", version)):
        text = (golden.EXAMPLES / case.example / "topology.yaml").read_text("utf-8")
        assert lint(golden.documents(case), version, yaml.load(text, yaml.CSafeLoader)) == [], str(case)


EXAMPLES = sorted((UPSTREAM / "examples" / "kueue").glob("*.yaml"))
OTHER = "site__static__examples__multikueue__tas__"
WRONG: dict[str, list[str]] = {
    "kep2724-05": ["M754", "M754"],  # asks for a level of hosts that no Topology of its own has
    f"{OTHER}manager-setup": ["M745"],  # made for other nodes than the rest
    f"{OTHER}worker-setup": ["M745"],
}
"""Upstream example -> the findings in it, on a cluster with the levels that the examples use."""


@pytest.mark.skipif(not EXAMPLES, reason="no upstream examples")
def test_upstreams_examples() -> None:
    found: dict[str, list[str]] = {}
    for path in EXAMPLES:
        try:
            documents = [each for each in parse_all(path.read_text("utf-8")) if isinstance(each, dict)]
        except yaml.YAMLError:
            continue
        wrong = [each.code for each in lint(documents, data=UPSTREAM_CLUSTER)]
        if wrong:
            found[path.stem] = wrong
    assert found == WRONG


UPSTREAM_CLUSTER: dict[str, Any] = {
    **TOPOLOGY,
    "spec": {
        "pools": [
            {
                "name": "tas",
                "node": {"nodeSelector": {"cloud.provider.com/node-group": "tas-group"}},
                "levels": [
                    {"name": "block", "label": "cloud.provider.com/topology-block"},
                    {"name": "rack", "label": "cloud.provider.com/topology-rack"},
                ],
                "domains": [{"path": "b1/r1", "nodes": "n1"}, {"path": "b1/r2", "nodes": "n2"}],
            }
        ]
    },
}
