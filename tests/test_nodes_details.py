"""Kubernetes nodes that are taken for others too easily: parts of GPUs, half lists, nodes that say too little."""

from __future__ import annotations

import json

import pytest
import yaml

from bayplan.model.formats import ReadOptions
from bayplan.model.topology import HOSTNAME_LABEL, Level, NodeShape, Pool
from bayplan.topologies.kubernetes_nodes import source as nodes
from bayplan.topologies.kubernetes_nodes.hardware import kind_of, kinds_of
from test_nodes import COUNT, PRODUCT, ZONE, Node, as_json, brought, node, placed, pools, rack, relabelled, source, told

H100 = "NVIDIA-H100-80GB-HBM3"
ZONES = ReadOptions(levels=(Level("zone", ZONE),))
WHOLE = [placed(f"w{n}", "z1") for n in range(8)]


def parts(name: str, resource: str, amount: int, **labels: str) -> Node:
    """A node of zone z2 whose GPUs are offered in parts."""
    (made,) = relabelled([placed(name, "z2", allocatable={"nvidia.com/gpu": "0", resource: str(amount)})], name)
    made["metadata"]["labels"] |= labels
    return made


PARTS = {
    "single": ("nvidia.com/gpu", 56, {PRODUCT: f"{H100}-MIG-1g.10gb", COUNT: "56"}, "h100-mig-1g-10gb"),
    "mixed": ("nvidia.com/mig-1g.10gb", 56, {}, "h100-mig-1g-10gb"),
    "shares of slices": ("nvidia.com/gpu", 112, {PRODUCT: f"{H100}-MIG-1g.10gb-SHARED"}, "h100-mig-1g-10gb-shared"),
    "shared": ("nvidia.com/gpu", 32, {PRODUCT: f"{H100}-SHARED"}, "h100-shared"),
    "shared, with one share": ("nvidia.com/gpu", 8, {PRODUCT: f"{H100}-SHARED"}, "h100-shared"),
    "shared under another name": ("nvidia.com/gpu.shared", 32, {}, "h100-shared"),
    "shared without a word": ("nvidia.com/gpu", 32, {}, "h100-shared"),
    "without a product": ("nvidia.com/mig-1g.10gb", 56, {PRODUCT: ""}, "gpu-mig-1g-10gb"),
}


@pytest.mark.parametrize("case", PARTS)
def test_parts_of_gpus_are_never_whole_ones(case: str) -> None:
    resource, amount, labels, kind = PARTS[case]
    part, codes, said = told([*WHOLE, *(parts(f"p{n}", resource, amount, **labels) for n in range(2))], ZONES)
    shown = {pool.name: (pool.node.accelerator, pool.node.accelerators, pool.unusable) for pool in pools(part)}
    assert shown == {"h100": ("h100", 8, {}), kind: (kind, amount, {})}
    assert "T527" in codes
    assert f'accelerator is "{kind}"' in said
    assert part
    assert part.topology.accelerators[kind].resources == {"count": resource}
    assert all(resource not in pool.node.resources for pool in pools(part))


def test_slices_beside_whole_gpus_are_resources() -> None:
    found = [parts(f"p{n}", "nvidia.com/mig-1g.10gb", 28) for n in range(2)]
    for each in found:
        each["status"]["allocatable"]["nvidia.com/gpu"] = "4"
    part, _, _ = told([*WHOLE, *found], ZONES)
    shown = [(pool.node.accelerator, pool.node.accelerators, pool.unusable) for pool in pools(part)]
    assert shown == [("h100", 8, {}), ("h100", 4, {})]
    assert pools(part)[1].node.resources["nvidia.com/mig-1g.10gb"] == 28_000


def test_the_same_slices_of_two_strategies_are_two_accelerators() -> None:
    single = parts("s", "nvidia.com/gpu", 56, **{PRODUCT: f"{H100}-MIG-1g.10gb", COUNT: "56"})
    part, _, _ = told([single, parts("m", "nvidia.com/mig-1g.10gb", 56)], ZONES)
    assert part
    resources = [kind.resources["count"] for kind in part.topology.accelerators.values()]
    assert sorted(resources) == ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb"]


def test_kinds_of_products_that_are_spelled_alike_differ() -> None:
    assert kind_of(f"{H100}-MIG-1g.10gb") == "h100-mig-1g-10gb"
    products = ["NVIDIA-H100-A", "NVIDIA-H100_A", "NVIDIA-H100.A"]
    assert len(set(kinds_of(products).values())) == 3


def test_nodes_that_are_left_out_do_not_cost_the_selector() -> None:
    found = relabelled([*rack("r1"), *rack("r2")], "r1-n0", domain=None)
    part, codes, said = told(found, ReadOptions(exclude_incomplete=True))
    assert codes == ["T503", "T433"]
    assert pools(part)[0].node.node_selector == {PRODUCT: "NVIDIA-GB200"}
    assert f'{PRODUCT}=NVIDIA-GB200, also matches node "r1-n0"' in said


def test_a_selector_that_spares_those_left_out_is_better() -> None:
    found = relabelled([*rack("r1"), *rack("r2")], "r1-n0", domain=None, **{PRODUCT: "NVIDIA-GB200"})
    for each in found:
        pool = "new" if each["metadata"]["name"] == "r1-n0" else "old"
        each["metadata"]["labels"]["cloud.google.com/gke-nodepool"] = pool
    part, codes, _ = told(found, ReadOptions(exclude_incomplete=True))
    assert codes == ["T503"]
    assert pools(part)[0].node.node_selector == {"cloud.google.com/gke-nodepool": "old"}


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"continue": "abc", "remainingItemCount": 500}, "500 more objects"),
        ({"continue": "abc"}, "more objects"),
        ({"remainingItemCount": 3}, "3 more objects"),
    ],
)
@pytest.mark.parametrize("last", [True, False])
def test_a_page_of_a_list_is_no_list(metadata: dict[str, object], words: str, last: bool) -> None:
    held = {"kind": "List", "apiVersion": "v1"} | ({"items": WHOLE} if not last else {}) | {"metadata": metadata}
    whole = held | {"items": WHOLE}
    for text, name in ((json.dumps(whole), "nodes.json"), (yaml.safe_dump(whole, sort_keys=False), "nodes.yaml")):
        part, found = brought(text, name=name)
        assert part is None
        assert [each.code for each in found] == ["T529"]
        assert words in found[0].message


def test_a_list_that_says_it_is_whole_is_read() -> None:
    whole = {"kind": "List", "apiVersion": "v1", "items": WHOLE, "metadata": {"continue": "", "resourceVersion": "1"}}
    part, found = brought(json.dumps(whole), ReadOptions(levels=(Level("zone", ZONE),)))
    assert part
    assert found == ()


@pytest.mark.parametrize(
    "text",
    [
        '{"apiVersion":"v1","kind":"List","items":[]}',
        json.dumps({"apiVersion": "v1", "items": [], "kind": "List", "metadata": {"resourceVersion": ""}}, indent=4),
        json.dumps({"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}),
        'apiVersion: v1\nitems: []\nkind: List\nmetadata:\n  resourceVersion: ""\n',
    ],
)
def test_a_list_of_nothing_has_no_nodes(text: str) -> None:
    part, found = brought(text, name="nodes.json" if text[0] == "{" else "nodes.yaml")
    assert part is None
    assert [each.code for each in found] == ["T516"]
    assert "a selector (-l) that matches no node" in str(found[0].hint)


def test_the_level_of_hosts_is_implied() -> None:
    _, codes, said = told(WHOLE, ReadOptions(levels=(Level("zone", ZONE), Level("host", HOSTNAME_LABEL))))
    assert codes == ["T503"]
    assert "every pool already ends in the level of" in said


def test_a_node_without_a_product_is_named_with_what_others_say() -> None:
    part, codes, said = told([*WHOLE, placed("new", "z1", allocatable={})], ZONES)
    assert (len(pools(part)), codes) == (1, [])
    bare = relabelled([*WHOLE, placed("new", "z1")], "new", **{PRODUCT: None, COUNT: None})
    part, codes, said = told(bare, ZONES)
    assert codes == ["T527"]
    assert f'node "new" has "nvidia.com/gpu" without the label "{PRODUCT}", which 8 other nodes set to "{H100}"' in said
    assert [pool.name for pool in pools(part)] == ["gpu", "h100"]


def test_a_node_without_any_label_is_no_flat_pool() -> None:
    bare = [*WHOLE, placed("new"), placed("new2")]
    for each in bare[-2:]:
        each["metadata"]["labels"] = {}
    part, codes, said = told(bare, ZONES)
    assert part is None
    assert codes == ["T527", "T503"]
    assert f'nodes "new" and "new2" lack the label "{ZONE}"; "w0" and others of pool "h100" have it' in said
    part, codes, said = told(bare, ZONES._replace(exclude_incomplete=True))
    assert codes == ["T527", "T503"]
    assert [pool.name for pool in pools(part)] == ["h100"]


@pytest.mark.parametrize(
    ("resource", "labels", "name"),
    [
        ("google.com/tpu", {"cloud.google.com/gke-tpu-accelerator": "tpu-v5p-slice"}, "tpu-v5p-slice"),
        ("habana.ai/gaudi", {}, "gaudi"),
    ],
)
@pytest.mark.parametrize("others", [[], WHOLE])
def test_other_accelerators_are_told_of(resource: str, labels: dict[str, str], name: str, others: list[Node]) -> None:
    strange = [node(f"s{n}", 0, labels={ZONE: "z2", **labels}, allocatable={resource: "8"}) for n in range(2)]
    part, codes, said = told([*others, *strange, node("plain", 0)], ZONES)
    assert codes == ["T527", "T515"]
    assert f'nodes "s0" and "s1" have "{resource}", which bayplan writes under `resources`' in said
    found = {pool.name: pool for pool in pools(part)}
    assert found.keys() == {name, *(["h100"] if others else [])}
    assert found[name].node.resources[resource] == 8_000
    assert not found[name].node.accelerator


def test_headroom_is_left_to_others() -> None:
    part, found = nodes.new(source(as_json(WHOLE)), ZONES)
    assert [each.code for each in found] == ["T592"]
    assert "`wholeNode` pods would stay Pending" in found[0].message
    assert pools(part)[0].node.resources["cpu"] == 144_000
    part, found = brought(as_json(WHOLE), ZONES._replace(headroom={"cpu": 4_000, "memory": 60 * 2**30 * 1000}))
    assert found == ()
    assert (pools(part)[0].node.resources["cpu"], pools(part)[0].node.resources["memory"]) == (
        140_000,
        900 * 2**30 * 1000,
    )
    part, found = brought(as_json(WHOLE), ZONES._replace(headroom={"cpu": 144_000}))
    assert (part, [each.code for each in found]) == (None, ["T592"])
    assert 'the headroom of 144 cpu leaves nothing of 144 on nodes of pool "h100"' in found[0].message
    frames = (Pool("h100", NodeShape("h100", 8, {"cpu": 140_000}), ZONES.levels),)
    assert nodes.new(source(as_json(WHOLE)), ReadOptions(frames=frames)).diagnostics == ()
