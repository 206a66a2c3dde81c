"""Koordinator's ClusterNetworkTopology, written and read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import support
from bayplan import pipeline
from bayplan.model.formats import SourceFile
from bayplan.model.target import Target
from bayplan.model.topology import HOST_LEVEL, ClusterTopology
from bayplan.text import document
from bayplan.text.document import Document
from bayplan.topologies import koordinator
from tools.data import parse

COVERS = {"T461", "T555"}


def topology(*pools: dict[str, Any]) -> ClusterTopology:
    """A topology of pools with these level lists."""
    base = support.TOPOLOGY["spec"]["pools"][0]
    made = [{**base, **pool, "name": f"p{number}"} for number, pool in enumerate(pools)]
    data = {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "pools": made}}
    outcome, _ = pipeline.check_topology(document.Document("topology.yaml", "", 0, data))
    assert outcome.value is not None, outcome.diagnostics
    return outcome.value


def levels(**labels: str) -> dict[str, Any]:
    """A pool of one domain with these levels."""
    path = "/".join(f"{name}-1" for name in labels)
    nodes = "-".join(labels.values()).replace("/", "-").replace(".", "-")
    listed = [{"name": name, "label": label} for name, label in labels.items()]
    domain = {"nodes": f"{nodes or 'bare'}-[1-2]", **({"path": path} if path else {})}
    return {"levels": listed, "domains": [domain]}


def source(*documents: Any) -> SourceFile:
    return SourceFile("x.yaml", "", tuple(Document("x.yaml", "", n, data) for n, data in enumerate(documents)))


def entries(cluster: ClusterTopology) -> list[dict[str, Any]]:
    (written,) = koordinator.write(cluster, Target())
    assert written["metadata"] == {"name": "default"}
    return list(written["spec"]["networkTopologySpec"])


def test_a_chain_from_coarse_to_nodes() -> None:
    assert entries(topology(levels(spine="example.com/spine", gpu="x", **{"gpu-block": "example.com/block"}))) == [
        {"topologyLayer": "SpineLayer", "labelKey": ["example.com/spine"]},
        {"topologyLayer": "GpuLayer", "parentTopologyLayer": "SpineLayer", "labelKey": ["x"]},
        {"topologyLayer": "GpuBlockLayer", "parentTopologyLayer": "GpuLayer", "labelKey": ["example.com/block"]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "GpuBlockLayer"},
    ]


def test_pools_share_layers_and_add_labels() -> None:
    first, second = levels(spine="a/spine", rack="a/rack"), levels(spine="a/spine", rack="b/rack")
    assert [each.get("labelKey") for each in entries(topology(first, second))] == [
        ["a/spine"],
        ["a/rack", "b/rack"],
        None,
    ]


def test_a_cluster_without_levels_has_no_topology() -> None:
    assert koordinator.write(topology(levels()), Target()) == ()


@given(
    names=st.lists(st.from_regex(r"[a-z][a-z0-9]{1,4}(-[a-z][a-z0-9]{1,4})?", fullmatch=True), unique=True, max_size=5)
)
def test_what_is_written_is_read(names: list[str]) -> None:
    wanted = [name for name in names if name not in (HOST_LEVEL, "node-topology", "cluster-topology")]
    if not wanted:
        return
    labels = {name: f"example.com/{name}" for name in wanted}
    (written,) = koordinator.write(topology(levels(**labels)), Target())
    file = source({"kind": "Pod"}, written)
    assert koordinator.sniff(file)
    outcome = support.brought(koordinator, file)
    assert outcome.diagnostics == ()
    assert outcome.value is not None
    (pool,) = outcome.value["spec"]["pools"]
    assert pool["levels"] == [{"name": name, "label": label} for name, label in labels.items()]
    assert pool["domains"] == []


@pytest.mark.parametrize(
    ("layer", "level"),
    [("SpineLayer", "spine"), ("acceleratorLayer", "accelerator"), ("GPUBlock", "gpu-block"), ("Layer", "layer")],
)
def test_names_that_others_gave_become_level_names(layer: str, level: str) -> None:
    assert koordinator.level_name(layer) == level


GOOD = """
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: ClusterNetworkTopology
metadata: {name: default}
spec:
  networkTopologySpec:
  - {topologyLayer: NodeTopologyLayer, parentTopologyLayer: RackLayer}
  - {topologyLayer: RackLayer, parentTopologyLayer: SpineLayer, labelKey: [example.com/rack]}
  - {topologyLayer: SpineLayer, labelKey: [example.com/spine]}
"""


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        ("", "", ""),
        ("T461", "NodeTopologyLayer", "NodeLayer"),
        ("T461", "parentTopologyLayer: SpineLayer, ", ""),
        ("T461", "topologyLayer: SpineLayer,", "topologyLayer: RackLayer,"),
        ("T461", ", labelKey: [example.com/rack]", ""),
        ("T555", "[example.com/rack]", "[example.com/rack, example.com/hgx]"),
    ],
)
def test_topologies_that_others_wrote(code: str, old: str, new: str) -> None:
    outcome = support.brought(koordinator, source(parse(GOOD.replace(old, new, 1) if old else GOOD)))
    assert [each.code for each in outcome.diagnostics] == ([code] if code else [])
    assert (outcome.value is None) == (code == "T461")
    assert all(each.route[0] == "source:0:0" for each in outcome.diagnostics)
