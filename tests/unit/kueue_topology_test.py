"""Kueue's cluster objects, written from a topology and read as one."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from bayplan.model.formats import SourceFile
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.text import document
from bayplan.text.emit import emit
from bayplan.topologies import kueue, native
from bayplan.topologies import kueue as objects
from judges import UPSTREAM, judge_all
from tools.data import parse_all

NODE = {
    "accelerator": "gb200",
    "count": 4,
    "cpu": "140",
    "memory": "900Gi",
    "nodeSelector": {"example.com/pool": "gb200"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}
CPU = {
    "name": "cpu",
    "node": {"cpu": "62", "resources": {"ephemeral-storage": "1Ti"}, "nodeSelector": {"example.com/pool": "cpu"}},
    "levels": [{"name": "row", "label": "example.com/row"}],
    "domains": [{"path": "row-1", "nodes": "c[1-4]"}],
}


def cluster(*more: dict[str, Any], **spec: Any) -> dict[str, Any]:
    pool = {**support.TOPOLOGY["spec"]["pools"][0], "node": NODE}
    return {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "pools": [pool, *more], **spec}}


def topology(data: dict[str, Any]) -> ClusterTopology:
    read = native.read(data).value
    assert read
    return read.value


def written(data: dict[str, Any], version: str = "0.19") -> list[dict[str, Any]]:
    made = objects.write(topology(data), Target({"kueue": version}))
    return [each for each in parse_all("".join(emit(made))) if each]


def source(documents: list[Any]) -> SourceFile:
    text = yaml.safe_dump_all(documents)
    return SourceFile("x.yaml", text, tuple(document.Document("x.yaml", text, n, d) for n, d in enumerate(documents)))


def read(documents: list[Any]) -> dict[str, Any]:
    made = support.brought(kueue, source(documents))
    assert made.value is not None, made.diagnostics
    return made.value


def kinds(documents: list[dict[str, Any]]) -> list[str]:
    return [each["kind"] for each in documents]


def test_what_is_written() -> None:
    made = written(cluster())
    assert kinds(made) == ["Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue"]
    levels, flavor, queue, local = (each["spec"] for each in made)
    assert [each["nodeLabel"] for each in levels["levels"]] == [
        "example.com/spine",
        "nvidia.com/gpu.clique",
        "kubernetes.io/hostname",
    ]
    assert flavor == {"nodeLabels": NODE["nodeSelector"], "tolerations": NODE["tolerations"], "topologyName": "hall"}
    (group,) = queue["resourceGroups"]
    quota = {each["name"]: each["nominalQuota"] for each in group["flavors"][0]["resources"]}
    assert quota == {
        "cpu": str(140 * 144),
        "memory": f"{900 * 144}Gi",
        "ephemeral-storage": "1Pi",
        "nvidia.com/gpu": str(4 * 144),
    }
    assert (made[3]["metadata"], local) == ({"name": "research"}, {"clusterQueue": "hall"})


def test_each_namespace_has_its_queues() -> None:
    made = written(cluster(namespaces={"ml": {}, "infra": {}}, queues=["research", "batch"]))
    local = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in made if each["kind"] == "LocalQueue"]
    assert local == [("infra", "research"), ("infra", "batch"), ("ml", "research"), ("ml", "batch")]


def test_pools_share_a_queue_with_a_flavor_each() -> None:
    made = written(cluster(CPU))
    assert [each["metadata"]["name"] for each in made] == ["hall-cpu", "hall-gb200", "gb200", "cpu", "hall", "research"]
    (group,) = made[4]["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"]
    quotas = [{each["name"]: each["nominalQuota"] for each in flavor["resources"]} for flavor in group["flavors"]]
    assert all(list(quota) == group["coveredResources"] for quota in quotas)
    assert quotas[1] == {"cpu": "248", "memory": "1Pi", "ephemeral-storage": "4Ti", "nvidia.com/gpu": "0"}


def test_a_pool_without_labels_takes_the_label_that_every_node_has() -> None:
    bare = {key: value for key, value in NODE.items() if key not in ("nodeSelector", "tolerations")}
    data = cluster()
    data["spec"]["pools"][0] = {**data["spec"]["pools"][0], "node": bare}
    flavor = written(data)[1]["spec"]
    assert flavor == {"nodeLabels": {"kubernetes.io/os": "linux"}, "topologyName": "hall"}


def test_names_of_the_cluster_are_kept() -> None:
    own = {"kueue": {"topology": "t", "flavor": "f", "clusterQueue": "q"}}
    assert [each["metadata"]["name"] for each in written(cluster(schedulers=own))] == ["t", "f", "q", "research"]
    assert [each["metadata"]["name"] for each in written(cluster(CPU, schedulers=own))][2:4] == ["f-gb200", "f-cpu"]


def test_mapped_device_classes_have_a_quota() -> None:
    own = {"kueue": {"deviceClassMappings": {"compute-domain-default-channel.nvidia.com": "example.com/channel"}}}
    (group,) = written(cluster(schedulers=own))[2]["spec"]["resourceGroups"]
    quota = {each["name"]: each["nominalQuota"] for each in group["flavors"][0]["resources"]}
    assert quota["example.com/channel"] == "144"


def test_without_a_queue_there_are_no_queues() -> None:
    assert kinds(written(cluster(defaults={"scheduler": "kueue"}))) == ["Topology", "ResourceFlavor"]


@pytest.mark.parametrize(("version", "api"), [("0.14", "v1beta1"), ("0.15", "v1beta2"), ("0.19", "v1beta2")])
def test_the_version_decides_the_api(version: str, api: str) -> None:
    assert {each["apiVersion"] for each in written(cluster(), version)} == {f"kueue.x-k8s.io/{api}"}


def test_round_trip() -> None:
    """Nodes, quotas and GPUs are not in the objects; everything else comes back."""
    data = cluster(CPU)
    back = topology(read(written(data)))
    for before, after in zip(topology(data).pools, back.pools, strict=True):
        assert (after.name, after.levels, after.domains) == (before.name, before.levels, ())
        assert after.node.node_selector == before.node.node_selector
        assert after.node.tolerations == before.node.tolerations
    assert back.queue_names == ("research",)
    assert back.defaults == {"scheduler": "kueue", "queue": "research"}
    assert [each for each in written(read(written(data))) if each["kind"] == "ResourceFlavor"] == [
        {**each, "spec": {**each["spec"], "topologyName": each["spec"]["topologyName"].replace("hall", "hall-cpu")}}
        for each in written(data)
        if each["kind"] == "ResourceFlavor"
    ]


def test_one_pool_comes_back_whole() -> None:
    made = written(cluster())
    back = read(made)
    assert [each for each in written(back) if each["kind"] in ("Topology", "ResourceFlavor", "LocalQueue")] == [
        each for each in made if each["kind"] != "ClusterQueue"
    ]


def test_taints_become_tolerations() -> None:
    levels = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "t"}}
    levels["spec"] = {"levels": [{"nodeLabel": "cloud.provider.com/topology-rack"}]}  # type: ignore[assignment]
    taints = [{"key": "gpu", "value": "x", "effect": "NoSchedule"}, {"key": "own", "effect": "NoExecute"}]
    spec = {"topologyName": "t", "nodeLabels": {"a": "b"}, "nodeTaints": taints}
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "f.1"},
        "spec": spec,
    }
    (pool,) = read([{"kind": "List", "apiVersion": "v1", "items": [levels, flavor]}])["spec"]["pools"]
    assert (pool["name"], pool["levels"]) == ("f-1", [{"name": "rack", "label": "cloud.provider.com/topology-rack"}])
    assert pool["node"]["tolerations"] == [
        {"key": "gpu", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
        {"key": "own", "operator": "Exists", "effect": "NoExecute"},
    ]


def test_levels_have_names_of_their_own() -> None:
    labels = ["a.example/rack", "b.example/rack", "c.example/host", "kubernetes.io/hostname"]
    one = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "T.x"}}
    made = read([{**one, "spec": {"levels": [{"nodeLabel": label} for label in labels]}}])
    (pool,) = made["spec"]["pools"]
    assert [each["name"] for each in pool["levels"]] == ["rack", "rack-2", "host-2"]


def test_sniffing() -> None:
    assert kueue.sniff(source(written(cluster())))
    assert not kueue.sniff(source([{"kind": "Topology", "apiVersion": "kai.scheduler/v1alpha1"}, [1], "x"]))
    assert not kueue.sniff(SourceFile("topology.conf", "SwitchName=s1"))


junk = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["levels", "nodeLabel", "name"]), inner)
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(kind=st.sampled_from(kueue.KINDS), spec=junk, metadata=junk, beside=st.booleans())
def test_anything_may_stand_in_the_objects(kind: str, spec: Any, metadata: Any, beside: bool) -> None:
    one = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}
    made = support.brought(kueue, source([one, *(written(cluster()) if beside else [])]))
    assert made.value is not None or made.diagnostics


@pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason="no upstream CRDs")
@pytest.mark.parametrize("version", ["0.14", "0.19"])
def test_judges_take_what_is_written(version: str) -> None:
    for data in (cluster(), cluster(CPU)):
        assert judge_all(written(data, version), {"kubernetes": "1.34", "kueue": version}) == []


def cluster_queue(name: str, *rows: dict[str, str], cohort: str = "") -> dict[str, Any]:
    flavor = {"name": "gb200", "resources": list(rows)}
    group = {"coveredResources": [row["name"] for row in rows], "flavors": [flavor]}
    spec = {"resourceGroups": [group], **({"cohortName": cohort} if cohort else {})}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def local_queue(name: str, of: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml"}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": metadata,
        "spec": {"clusterQueue": of},
    }


GPU = {"name": "nvidia.com/gpu", "nominalQuota": "8"}
CORES = {"name": "cpu", "nominalQuota": "500m", "borrowingLimit": "1"}


def queues(*objects: dict[str, Any]) -> dict[str, Any]:
    first = [each for each in written(cluster()) if each["kind"] in ("Topology", "ResourceFlavor")]
    found = topology(read([*first, *objects])).queues or ()
    return {
        each.name: (each.parent, {(q.resource, q.pool): (q.guaranteed, q.limit) for q in each.quotas}) for each in found
    }


def test_a_cohort_has_what_its_queues_have() -> None:
    """A queue can borrow up to its limit, otherwise all of the cohort."""
    one, two = cluster_queue("one", GPU, CORES, cohort="all"), cluster_queue("two", GPU, cohort="all")
    own = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "all"}, "spec": {}}
    own["spec"] = {"resourceGroups": cluster_queue("", {**GPU, "nominalQuota": "4"})["spec"]["resourceGroups"]}
    gpu, cpu = ("nvidia.com/gpu", "gb200"), ("cpu", "gb200")
    found = queues(one, two, own, local_queue("a", "one"), local_queue("two", "two"))
    assert found == {
        "all": ("", {gpu: (None, 20000), cpu: (None, 500)}),
        "one": ("all", {gpu: (8000, None), cpu: (500, 1500)}),
        "two": ("all", {gpu: (8000, None)}),
        "a": ("one", {}),
    }


def test_queues_whose_numbers_are_not_clear() -> None:
    """One without its ClusterQueue, one of two ClusterQueues, and a resource without a real quota."""
    one = cluster_queue("one", GPU, {"name": "cpu", "nominalQuota": "1M"})
    known = (one, cluster_queue("two", GPU))
    assert queues(*known, local_queue("a", "one"))["one"] == ("", {("nvidia.com/gpu", "gb200"): (8000, 8000)})
    assert queues(*known, local_queue("a", "three")) == {"a": ("", {})}
    assert queues(*known, local_queue("a", "one"), local_queue("a", "two")) == {"a": ("", {})}


def test_numbers_of_queues_are_written() -> None:
    rows = [{"resource": "gpu", "guaranteed": 8, "limit": 16}, {"resource": "cpu", "limit": 0}]
    listed = [{"name": "all"}, {"name": "research", "parent": "all", "quotas": rows}]
    (queue,) = (each["spec"] for each in written(cluster(queues=listed)) if each["kind"] == "ClusterQueue")
    (flavor,) = queue["resourceGroups"][0]["flavors"]
    quotas = {each.pop("name"): each for each in flavor["resources"]}
    assert queue["cohortName"] == "all"
    assert quotas["nvidia.com/gpu"] == {"nominalQuota": "8", "borrowingLimit": "8"}
    assert quotas["cpu"] == {"nominalQuota": "0", "borrowingLimit": "0"}
