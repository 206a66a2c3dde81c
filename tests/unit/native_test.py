"""The native formats: what is written is read back as the same value."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import EXAMPLES, WORKFLOWS, changed, load, topologies, topology_data, workflow_data

from bayplan import schemas
from bayplan import workflows as workflow_formats
from bayplan.core.diagnostics import Route
from bayplan.model.encoding import decode, encode, fields
from bayplan.model.formats import detect
from bayplan.model.topology import ClusterTopology, Domain
from bayplan.model.workflow import Accelerator, Attachment, Gang, Group, Placement, PodSet, Workflow
from bayplan.topologies import native as native_topology
from bayplan.workflows import native as native_workflow

OWN = [path for path in EXAMPLES if load(path).get("kind") in schemas.SCHEMAS]


def read_workflow(data: Any) -> Workflow:
    """The workflow of sound data."""
    assert schemas.validate("Workflow", data, "workflow") == ()
    value = native_workflow.read(data).value
    assert value
    return value.value


def read_topology(data: Any) -> ClusterTopology:
    """The topology of sound data."""
    assert schemas.validate("ClusterTopology", data, "topology") == ()
    outcome = native_topology.read(data)
    assert outcome.diagnostics == ()
    assert outcome.value
    return outcome.value.value


@given(WORKFLOWS)
@settings(max_examples=60, deadline=None)
def test_a_written_workflow_is_read_back(workflow: Workflow) -> None:
    assert read_workflow(native_workflow.write(workflow)) == workflow


@given(topologies())
@settings(max_examples=60, deadline=None)
def test_a_written_topology_is_read_back(topology: ClusterTopology) -> None:
    assert read_topology(native_topology.write(topology)) == topology


MODEL_OF: dict[str, type] = {
    "gang": Gang,
    "group": Group,
    "podSet": PodSet,
    "accelerator": Accelerator,
    "placement": Placement,
    "attachment": Attachment,
}
"""Definition of the schema -> class of the model."""


def test_schema_and_model_have_the_same_fields() -> None:
    whole = schemas.load("Workflow")
    found = {name: each["properties"] for name, each in whole["definitions"].items() if "properties" in each}
    top = whole["properties"]
    assert {*top["metadata"]["properties"], *top["spec"]["properties"]} - {"defaults"} == keys(Workflow)
    assert {name: set(found[name]) - {"defaults"} for name in MODEL_OF} == {
        name: keys(kind) for name, kind in MODEL_OF.items()
    }
    assert set(found["podSetDefaults"]) == keys(PodSet) - {"name", "startsAfter"}


def keys(kind: type) -> set[str]:
    """The keys that a class of the model has in a document."""
    return {each.key for each in fields(kind)} - {""}


@pytest.mark.parametrize("name", sorted(MODEL_OF))
def test_every_field_is_read_and_written_as_the_schema_describes_it(name: str) -> None:
    kind: Any = MODEL_OF[name]
    described = schemas.load("Workflow")["definitions"][name]["properties"]
    for field in (each for each in fields(kind) if each.key):
        if "default" in described[field.key]:
            assert described[field.key]["default"] == kind._field_defaults[field.name], field.key
        for example in described[field.key]["examples"]:
            head: Any = {"name": "a"} if "name" in described else {}
            written = encode(decode(kind, {**head, field.key: example}))
            example = str(example) if isinstance(kind._field_defaults.get(field.name), str) else example  # 4 is "4"
            assert written == (example if field.alone else {**head, field.key: example}), field.key


@pytest.mark.parametrize("path", OWN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_examples_survive(path: Path) -> None:
    data = load(path)
    if data["kind"] == "Workflow":
        workflow = read_workflow(data)
        assert read_workflow(native_workflow.write(workflow)) == workflow
    else:
        topology = read_topology(data)
        assert read_topology(native_topology.write(topology)) == topology


def test_the_pretraining_example_is_written_as_it_stands() -> None:
    assert native_workflow.write(read_workflow(workflow_data())) == workflow_data()


def test_the_only_gang_and_the_only_pod_set_of_a_list_need_no_name() -> None:
    data = {
        "apiVersion": native_workflow.API_VERSION,
        "kind": "Workflow",
        "metadata": {"name": "chat"},
        "spec": {"defaults": {"image": "x:1"}, "gangs": [{"podSets": [{"replicas": 2}]}]},
    }
    workflow = read_workflow(data)
    assert [(gang.name, [pods.name for pods in gang.pod_sets]) for gang in workflow.gangs] == [("chat", ["worker"])]
    assert read_workflow(native_workflow.write(workflow)) == workflow
    data["spec"]["gangs"] = [{"groups": [{"name": each, "podSets": [{}]} for each in ("prefill", "decode")]}]
    groups = read_workflow(data).gangs[0].groups
    assert [pods.name for group in groups for pods in group.pod_sets] == ["worker", "worker"]


def test_keys_are_written_in_the_order_of_the_format() -> None:
    written = native_topology.write(read_topology(topology_data()))
    assert list(written) == ["apiVersion", "kind", "metadata", "spec"]
    assert list(written["spec"]) == ["versions", "defaults", "queues", "pools", "accelerators", "namespaces"]
    assert list(written["spec"]["pools"][0]["node"])[:4] == ["accelerator", "count", "cpu", "memory"]
    assert written["spec"]["pools"][0]["domains"][0]["nodes"] == "gb-a1-n[01-18]"


PODS = ("spec", "gangs", 0, "groups", 0, "podSets", 0)
MODEL: Route = ("workflow", *PODS)
DEFAULTS: Route = ("workflow", "spec", "defaults")


def inherited(defaults: Any, own: Any) -> tuple[PodSet, dict[Route, Route]]:
    """The podSet of the example with other keys of its own, and the origins."""
    data = changed(workflow_data(), ("spec", "defaults"), defaults)
    data = changed(data, PODS, {"name": "worker", **own})
    assert schemas.validate("Workflow", data, "workflow") == ()
    value = native_workflow.read(data).value
    assert value
    return value.value.gangs[0].groups[0].pod_sets[0], dict(value.origins)


def test_defaults_are_inherited_with_their_origin() -> None:
    pods, origins = inherited({"image": "busybox", "replicas": 3}, {})
    assert (pods.image, pods.replicas) == ("busybox", 3)
    assert origins == {(*MODEL, key): (*DEFAULTS, key) for key in ("image", "replicas")}


def test_own_keys_replace_their_default() -> None:
    own = {"accelerator": {"name": "b"}, "command": ["b"]}
    pods, origins = inherited({"accelerator": {"name": "a", "count": 4}, "command": ["a", "x"]}, own)
    assert pods.accelerator is not None
    assert (pods.accelerator.name, pods.accelerator.per_pod, pods.command) == ("b", 1, ("b",))
    assert origins == {}


def test_maps_add_up_and_the_inherited_come_first() -> None:
    pods, origins = inherited({"env": {"A": "1", "B": "1"}, "ports": {"p": 1}}, {"env": {"C": 3, "B": "2"}})
    assert list(pods.env.items()) == [("A", "1"), ("B", "2"), ("C", "3")]
    assert pods.ports == {"p": 1}
    assert origins == {(*MODEL, "env", "A"): (*DEFAULTS, "env", "A"), (*MODEL, "ports"): (*DEFAULTS, "ports")}


def test_templates_merge_all_the_way_down() -> None:
    ours = {"spec": {"hostIPC": True, "containers": [{"name": "a"}], "securityContext": {"runAsUser": 1}}}
    own = {"spec": {"hostIPC": None, "containers": [{"name": "b"}], "securityContext": {"fsGroup": 2}}}
    pods, origins = inherited({"template": ours}, {"template": own})
    assert pods.template == {
        "spec": {
            "hostIPC": None,
            "containers": [{"name": "a"}, {"name": "b"}],
            "securityContext": {"runAsUser": 1, "fsGroup": 2},
        }
    }
    place = ("template", "spec", "securityContext", "runAsUser")
    assert origins == {(*MODEL, *place): (*DEFAULTS, *place)}


def test_defaults_reach_nested_groups() -> None:
    data = changed(workflow_data(), ("spec", "defaults"), {"image": "busybox"})
    inner = {"name": "stage", "podSets": [{"name": "worker"}]}
    data = changed(data, ("spec", "gangs", 0, "groups", 0), {"name": "replica", "groups": [inner]})
    assert read_workflow(data).gangs[0].groups[0].groups[0].pod_sets[0].image == "busybox"


def test_numbers_become_text_where_kubernetes_wants_text() -> None:
    pods, _ = inherited(
        {}, {"env": {"A": 1}, "resources": {"cpu": 4}, "shm": 1024, "replicas": 2.0, "ports": {"p": 80.0}}
    )
    assert (pods.env, pods.resources, pods.shm) == ({"A": "1"}, {"cpu": "4"}, "1024")
    assert (repr(pods.replicas), repr(pods.ports["p"])) == ("2", "80")


POOL = ("spec", "pools", 0)


def test_a_pool_of_plain_nodes_needs_no_levels() -> None:
    data = changed(topology_data(), POOL, {"name": "cpu", "node": {}, "domains": [{"nodes": "c[1-2]"}]})
    (pool,) = read_topology(data).pools
    assert (pool.levels, pool.domains) == ((), (Domain((), ("c1", "c2")),))
    assert pool.node.resources == {"pods": 110_000}


def test_amounts_of_a_node() -> None:
    node = {"cpu": 8, "memory": "1.5Gi", "pods": 64, "resources": {"example.com/nic": 2}}
    (pool,) = read_topology(changed(topology_data(), (*POOL, "node"), node)).pools
    assert pool.node.resources == {
        "cpu": 8000,
        "memory": 3 * 2**29 * 1000,
        "pods": 64_000,
        "example.com/nic": 2000,
    }


def test_empty_reasons_are_left_out() -> None:
    data = changed(topology_data(), (*POOL, "unusable"), {"cordoned": "", "notReady": "gb-a1-n01", "spare": ""})
    assert read_topology(data).pools[0].unusable == {"notReady": ("gb-a1-n01",)}


def test_every_list_and_amount_that_cannot_be_read_is_named() -> None:
    data = changed(topology_data(), (*POOL, "domains", 0, "nodes"), "n[1-")
    data = changed(data, (*POOL, "domains", 1, "nodes"), "n[2-1]")
    data = changed(data, (*POOL, "unusable", "notReady"), "n]")
    data = changed(data, (*POOL, "node"), {"cpu": "1.1.1", "memory": "-1", "resources": {"cpu": 4, "pods": 1}})
    assert schemas.validate("ClusterTopology", data, "topology") == ()
    outcome = native_topology.read(data)
    assert outcome.value is None
    assert sorted((each.code, each.route[4:]) for each in outcome.diagnostics) == [
        ("T412", ("node", "cpu")),
        ("T412", ("node", "memory")),
        ("T412", ("node", "resources", "cpu")),
        ("T412", ("node", "resources", "pods")),
        ("T414", ("domains", 0, "nodes")),
        ("T414", ("domains", 1, "nodes")),
        ("T414", ("unusable", "notReady")),
    ]


@given(st.text(max_size=8))
def test_any_hostlist_is_read_or_refused(text: str) -> None:
    data = changed(topology_data(), (*POOL, "domains", 0, "nodes"), text)
    outcome = native_topology.read(data)
    assert bool(outcome.value) != bool(outcome.diagnostics)


def test_a_hundred_thousand_nodes_fit_in_memory() -> None:
    rows = [{"path": f"z/s{n // 50}/r{n}", "nodes": f"gb-r{n:04d}-n[01-18]"} for n in range(5600)]
    data = changed(topology_data(), (*POOL, "domains"), rows)
    tracemalloc.start()
    outcome = native_topology.read(data)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert outcome.value
    assert sum(len(domain.nodes) for domain in outcome.value.value.pools[0].domains) == 100_800
    assert used < 16 * 2**20


def test_every_format_finds_its_files() -> None:
    assert detect(workflow_formats.FORMATS, {"apiVersion": "bayplan.dev/v1alpha1"}) == "native"
    assert native_topology.sniff({"apiVersion": "bayplan.dev/v1alpha1"})


@pytest.mark.parametrize("data", [None, [], "x", {}, {"apiVersion": 1}, {"apiVersion": "v1", "kind": "Pod"}], ids=str)
def test_other_data_is_not_ours(data: Any) -> None:
    assert not native_workflow.sniff(data)
    assert not native_topology.sniff(data)
