"""Mistakes in Koordinator's objects, one by one, on the smallest set of objects that has them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

import support
from bayplan import backends, pipeline
from bayplan.core.diagnostics import Diagnostic
from bayplan.linting.objects import lint_context
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.text import document
from bayplan.text.emit import emit
from judges import UPSTREAM
from tools.data import parse_all

COVERS = {"M707", "M708", "M760", "M767", "M772", "M706", "M815"}
GANG = "gang.scheduling.koordinator.sh/"
Edit = Callable[[dict[str, Any]], None]


def cluster(topology: dict[str, Any] = support.TOPOLOGY) -> ClusterTopology:
    """The topology of the tests: spines of racks."""
    outcome, _ = pipeline.check_topology(document.Document("topology.yaml", "", 0, topology))
    assert outcome.value is not None, outcome.diagnostics
    return outcome.value


def lint(objects: list[Any], version: str = "1.8", topology: ClusterTopology | None = None) -> list[Diagnostic]:
    listed = [Object((f"manifest:{number}",), each) for number, each in enumerate(objects)]
    context = lint_context(listed, topology or cluster(), Target({"koordinator": version}))
    return list(backends.lint("koordinator", context))


def codes(objects: list[Any], **options: Any) -> list[str]:
    return sorted({each.code for each in lint(objects, **options)})


SPEC = {
    "gatherStrategy": [
        {"layer": "SpineLayer", "strategy": "MustGather"},
        {"layer": "RackLayer", "strategy": "PreferGather", "podCountMultiple": 16},
    ]
}


def layer(name: str, parent: str, *labels: str) -> dict[str, Any]:
    return {"topologyLayer": name, "parentTopologyLayer": parent, "labelKey": list(labels)}


GOOD = {
    "topology": {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {
            "networkTopologySpec": [
                {"topologyLayer": "SpineLayer", "labelKey": ["example.com/spine"]},
                layer("RackLayer", "SpineLayer", "nvidia.com/gpu.clique"),
                {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "RackLayer"},
            ]
        },
    },
    "group": {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {
            "name": "train",
            "namespace": "ml",
            "annotations": {
                f"{GANG}total-number": "64",
                f"{GANG}mode": "Strict",
                f"{GANG}match-policy": "only-waiting",
                f"{GANG}network-topology-spec": json.dumps(SPEC),
            },
        },
        "spec": {"minMember": 64},
    },
    "workload": {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {
            "replicatedJobs": [
                {
                    "name": "r",
                    "replicas": 4,
                    "template": {
                        "spec": {
                            "parallelism": 16,
                            "template": {
                                "metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io": "train"}},
                                "spec": {"schedulerName": "koord-scheduler", "containers": [{"name": "w"}]},
                            },
                        }
                    },
                }
            ]
        },
    },
}
LAYERS = ("topology", "spec", "networkTopologySpec")
NOTES = ("group", "metadata", "annotations")
POD = ("workload", "spec", "replicatedJobs", 0, "template", "spec", "template")
GONE = object()


def edited(*changes: tuple[tuple[str | int, ...], Any]) -> list[Any]:
    """The good objects with some values replaced, or taken out."""
    objects = copy.deepcopy(GOOD)
    for path, value in changes:
        at: Any = objects
        for key in path[:-1]:
            at = at[key]
        if value is GONE:
            del at[path[-1]]
        else:
            at[path[-1]] = value
    return list(objects.values())


def rules(*changed: dict[str, Any]) -> tuple[tuple[str | int, ...], str]:
    """A network-topology-spec of these rules."""
    return (*NOTES, f"{GANG}network-topology-spec"), json.dumps({"gatherStrategy": changed})


def note(name: str, value: Any) -> tuple[tuple[str | int, ...], Any]:
    return (*NOTES, GANG + name), value


SPINE, RACK = SPEC["gatherStrategy"]
BROKEN: list[tuple[str, str, Any]] = [
    ("M760", "other name", [(("topology", "metadata", "name"), "hall")]),
    ("M760", "no parent", [((*LAYERS, 2, "parentTopologyLayer"), GONE)]),
    ("M760", "listed twice", [((*LAYERS, 0, "topologyLayer"), "RackLayer")]),
    ("M760", "above itself", [((*LAYERS, 0, "parentTopologyLayer"), "RackLayer")]),
    ("M760", "missing parent", [((*LAYERS, 0), layer("SpineLayer", "ZoneLayer", "example.com/spine"))]),
    ("M760", "no nodes", [((*LAYERS, 2), GONE)]),
    ("M760", "a draft's field", [(("topology", "spec", "hierarchy"), [])]),
    ("M760", "a misspelt field", [((*LAYERS, 1, "labelKeys"), ["x"])]),
    ("M760", "other label", [((*LAYERS, 1, "labelKey"), ["example.com/block"])]),
    ("M760", "no label", [((*LAYERS, 1, "labelKey"), [])]),
    ("M767", "a list", [note("groups", ["ml/train"])]),
    ("M767", "no JSON", [note("network-topology-spec", "{gatherStrategy: []}")]),
    ("M767", "no rules", [note("network-topology-spec", '{"gatherStrategies":[]}')]),
    ("M767", "a layer that is a list", [rules({"layer": ["RackLayer"], "strategy": "MustGather"})]),
    ("M767", "groups that are no JSON", [note("groups", "ml/train,ml/other")]),
    ("M815", "a draft's annotation", [note("networkTopologyAware", "{}")]),
    ("M767", "strategy", [rules({**SPINE, "strategy": "Must"}, RACK)]),
    ("M767", "layer", [rules({**SPINE, "layer": "spineLayer"}, RACK)]),
    ("M767", "two that must", [rules(SPINE, {**RACK, "strategy": "MustGather"})]),
    ("M772", "text", [rules(SPINE, {**RACK, "podCountMultiple": "16"})]),
    ("M772", "nothing", [rules(SPINE, {**RACK, "podCountMultiple": 0})]),
    ("M772", "no divisor", [rules(SPINE, {**RACK, "podCountMultiple": 10})]),
    ("M708", "more than there are", [note("total-number", "60")]),
    ("M708", "no number", [note("total-number", "9" * 5000)]),
    ("M708", "elastic and placed", [(("group", "spec", "minMember"), 32)]),
    ("M767", "mode", [note("mode", "strict")]),
    ("M767", "policy", [note("match-policy", "once")]),
    ("M708", "a missing gang", [note("groups", '["ml/train","ml/other"]')]),
    ("M707", "another namespace", [(("workload", "metadata", "namespace"), "other")]),
    ("M707", "another name", [((*POD, "metadata", "labels", "pod-group.scheduling.sigs.k8s.io"), "trains")]),
    ("M706", "no scheduler", [((*POD, "spec", "schedulerName"), GONE)]),
]


def test_good_objects_have_no_mistakes() -> None:
    assert lint(list(GOOD.values())) == []
    assert lint(edited((("workload", "metadata", "namespace"), GONE))) == []


@pytest.mark.parametrize(("code", "changes"), [each[::2] for each in BROKEN], ids=[f"{a}-{b}" for a, b, _ in BROKEN])
def test_one_mistake(code: str, changes: Any) -> None:
    found = lint(edited(*changes))
    assert code in [each.code for each in found]
    assert {each.code for each in found} <= {code, "M767"}
    for each in found:
        assert each.message
        assert each.route[0] in {"manifest:0", "manifest:1", "manifest:2"}


def test_a_multiple_needs_1_8() -> None:
    assert codes(list(GOOD.values()), version="1.7") == ["M772"]


@pytest.mark.parametrize(("of_group", "of_pods"), [("ml", "ml"), ("", "ml"), ("ml", ""), ("", ""), ("ml", "other")])
def test_pods_name_the_pod_group_of_their_namespace(of_group: str, of_pods: str) -> None:
    """Where one is left out, it is given on the command line, and may be the same."""
    of = ("metadata", "namespace")
    found = codes(edited((("group", *of), of_group or GONE), (("workload", *of), of_pods or GONE)))
    assert ("M707" in found) == (of_pods == "other")


def test_gangs_of_one_group_that_differ() -> None:
    groups = note("groups", '["ml/train","ml/other"]')
    (topology, one, workload) = edited(groups)
    other = copy.deepcopy(one)
    other["metadata"]["name"] = "other"
    assert codes([topology, one, other, workload]) == []
    other["metadata"]["annotations"][f"{GANG}network-topology-spec"] = json.dumps({"gatherStrategy": [SPINE]})
    assert codes([topology, one, other, workload]) == ["M708"]
    del other["metadata"]["annotations"][f"{GANG}groups"]
    assert codes([topology, one, other, workload]) == ["M708"]


def test_numbered_pods_are_cut_in_alphabetical_order() -> None:
    template = copy.deepcopy(GOOD["workload"]["spec"]["replicatedJobs"][0]["template"]["spec"])  # type: ignore[index]
    metadata = {"name": "train", "namespace": "ml"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {**template, "parallelism": 64}}
    assert codes([GOOD["topology"], GOOD["group"], job]) == ["M772"]


def test_values_that_repeat_under_two_parents() -> None:
    topology = copy.deepcopy(support.TOPOLOGY)
    pool = topology["spec"]["pools"][0]
    pool["levels"][1]["unique"] = "parent"
    pool["domains"] = [{"path": f"s{spine}/r0", "nodes": f"n{spine}-[01-18]"} for spine in range(2)]
    assert codes(list(GOOD.values()), topology=cluster(topology)) == ["M760"]


def test_what_bayplan_writes_has_no_mistakes() -> None:
    flow = support.workflow(support.pretrain(), queue="research")
    result = support.run(flow, scheduler="koordinator", accept=frozenset({"F681"}), cluster_objects=True)
    assert result.compiled
    assert lint(list(parse_all("".join(emit(result.compiled.documents))))) == []


WRONG = [None, True, 7, "x", [], {}, [None], {"a": None}, [[]], {"": []}]


def places(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in an object."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(found for key, value in inner for found in places(value, (*path, key)))]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_nothing_that_somebody_wrote_makes_it_fail(wrong: Any) -> None:
    for place in places(GOOD)[1:]:
        lint(edited((place, wrong)))
    for value in ("[]", "null", "1", '{"gatherStrategy":[null]}', '{"gatherStrategy":[{"layer":null}]}', "[" * 100000):
        lint(edited(note("network-topology-spec", value), note("groups", value)))


PROPOSALS = {
    "proposal-STALE-syntax-03.yaml": ["M767"],
    "proposal-STALE-syntax-04.yaml": ["M767", "M815"],
    "proposal-STALE-syntax-06.yaml": ["M767", "M815"],
}


@pytest.mark.skipif(not (UPSTREAM / "examples/koordinator").is_dir(), reason=f"no upstream examples at {UPSTREAM}")
@pytest.mark.parametrize("name", sorted(PROPOSALS))
def test_upstreams_proposal_is_out_of_date(name: str) -> None:
    text = (UPSTREAM / "examples/koordinator" / name).read_text(encoding="utf-8")
    objects = [each for part in text.split("\n---\n") if "PodGroup" in part for each in parse_all(part)]
    assert codes(objects) == PROPOSALS[name]
