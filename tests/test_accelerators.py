"""Accelerators: the table of who hands out whose cards, shares in the proof, HAMi's rules on upstream's examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import pytest

import support
from bayplan import accelerators as mig
from bayplan import pipeline
from bayplan.accelerators import hami as shares
from bayplan.accelerators.matrix import ANY, TABLE, UNTRIED, verdict
from bayplan.backends import BACKENDS
from bayplan.kube.objects import pod_templates
from bayplan.kube.vendors import HAMI, names, of_count, role
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator
from bayplan.pipeline import LintRequest
from bayplan.text import document
from judges import UPSTREAM
from tools import accelerator_matrix
from tools.data import parse_all

EXAMPLES = UPSTREAM / "examples" / "hami"
VENDORS = sorted({row.vendor for row in HAMI})
ALLOCATORS = ("device-plugin", "dra", "hami")

FOUND: Mapping[str, Mapping[str, int]] = {
    "examples__metax__gpu__spread.yaml": {"M873": 1},
    "examples__mlu__default_use.yaml": {"M876": 2},
}
"""Upstream's examples in which there is something to find: one card that asks for the best links, and names of an older
release. All others are sound."""


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason=f"no upstream examples at {EXAMPLES}")
def test_upstreams_examples_have_the_verdict_of_the_facts() -> None:
    found = {}
    for path in sorted(EXAMPLES.glob("*.yaml")):
        read = document.read(path.name, path.read_bytes(), "manifest", own=False).value or ()
        outcome, _ = pipeline.lint(LintRequest(read))
        assert outcome.value
        if codes := Counter(each.code for each in outcome.diagnostics if each.code.startswith("M87")):
            found[path.name] = dict(codes)
    assert found == FOUND


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason=f"no upstream examples at {EXAMPLES}")
def test_upstreams_names_are_known() -> None:
    """Every extended resource of its examples but the old ones, and MIG slices, which a plain device plugin offers."""
    limits: set[str] = set()
    for path in sorted(EXAMPLES.glob("*.yaml")):
        for each in filter(None, parse_all(path.read_text(encoding="utf-8"))):
            for _, pod in pod_templates(each):
                limits |= {
                    name for one in pod["spec"]["containers"] for name in one["resources"]["limits"] if "/" in name
                }
    unknown = {name for name in limits if not role(name)}
    assert unknown == {"cambricon.com/mlu370.smlu.vmemory", "cambricon.com/mlu370.smlu.vcore", "nvidia.com/mig-3g.20gb"}


def test_the_table_answers_everything() -> None:
    parts = ({"share"}, {"split"}, {"profile"}, {"policy"}, {"node"}, {"names"}, {"foreign"}, set[str]())
    for asked in product(BACKENDS, VENDORS, ALLOCATORS, map(frozenset, parts)):
        assert verdict(*asked) != UNTRIED, asked


KUEUE: Mapping[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "whole GPUs": ({"count": 2}, {}, ["several times"]),
    "whole GPUs that are offered once": ({"count": 2}, {"maxPods": 1}, []),
    "a node": ({"count": 2, "node": "spread"}, {}, ["several times", "policy for nodes"]),
    "a share and a node": ({"count": 1, "memory": "50%", "node": "binpack"}, {}, ["once per pod", "policy for nodes"]),
    "links of NVIDIA": ({"count": 2, "links": "best"}, {"maxPods": 1}, []),
    "links of MetaX": (
        {"count": 2, "links": "best"},
        {"vendor": "metax", "resources": {"count": "metax-tech.com/gpu"}},
        ["policy for nodes"],
    ),
    "no wish of MetaX": ({"count": 2}, {"vendor": "metax", "resources": {"count": "metax-tech.com/gpu"}}, []),
}


@pytest.mark.parametrize(("asked", "kind", "said"), KUEUE.values(), ids=KUEUE)
def test_catches_of_kueue(asked: Mapping[str, Any], kind: Mapping[str, Any], said: Sequence[str]) -> None:
    """Each catch is told, and nobody is advised to choose among nodes where nobody can."""
    data, topology = scene([asked], cards=4, **kind)
    topology["spec"]["defaults"] |= {"queue": "q"}
    topology["spec"]["pools"][0] |= {"levels": [{"name": "rack", "label": "example.com/rack"}]}
    topology["spec"]["pools"][0] |= {"domains": [{"path": "r1", "nodes": "n[1-2]"}]}
    result = support.run(data, topology, scheduler="kueue")
    told = [each.message for each in result.diagnostics if each.code == "F762"]
    assert len(told) == len(said)
    assert all(words in message for words, message in zip(said, told, strict=True))
    assert not {"W555"} & set(result.codes)


@pytest.mark.parametrize(("most", "each"), [(0, 10), (1, 1), (4, 4)])
def test_quotas_count_a_card_as_often_as_it_can_be_had(most: int, each: int) -> None:
    kind = AcceleratorKind("card", "nvidia", ("hami",), max_pods=most)
    assert shares.quota(kind, 8)["nvidia.com/gpu"] == 8 * each


SGPU = {"vendor": "metax", "resources": {"count": "metax-tech.com/sgpu"}, "memory": "64Gi"}
POINTED: Mapping[str, tuple[dict[str, Any], dict[str, Any], list[tuple[str, str, str]]]] = {
    "links of one card": ({"count": 1, "links": "best"}, SGPU, [("W559", "links", "`links` is only for several")]),
    "links of parts": ({"count": 2, "links": "best", "cores": 50}, SGPU, [("W559", "links", "a share of each")]),
    "links of two cards": ({"count": 2, "links": "best"}, SGPU, []),
    "a class of two cards": (
        {"count": 2, "appClass": "online"},
        SGPU,
        [("W551", "accelerator", "with `appClass` must")],
    ),
    "parts of two NPUs": (
        {"count": 2, "memory": "16Gi"},
        {"vendor": "ascend", "resources": {"count": "huawei.com/Ascend910B3"}, "memory": "64Gi"},
        [("W551", "memory", "a share of each of 2")],
    ),
    "a node for one card": (
        {"count": 1, "node": "spread"},
        {"vendor": "metax", "resources": {"count": "metax-tech.com/gpu"}},
        [("W555", "node", "one GPU")],
    ),
}


@pytest.mark.parametrize(("asked", "kind", "said"), POINTED.values(), ids=POINTED)
def test_findings_point_at_what_was_written(
    asked: Mapping[str, Any], kind: Mapping[str, Any], said: Sequence[tuple[str, str, str]]
) -> None:
    """And speak of it: nobody wrote the annotations and the resources."""
    found = [
        each for each in support.run(*scene([asked], cards=4, **kind)).diagnostics if "W551" <= each.code <= "W563"
    ]
    assert [(each.code, each.route[-1]) for each in found] == [row[:2] for row in said]
    for each, (_, _, words) in zip(found, said, strict=True):
        assert words in each.message
        assert "annotation" not in each.hint
        assert ".com/" not in each.message + each.hint


def test_refusals_have_a_reason_and_a_way_out() -> None:
    assert all(row.reason and row.hint for row in TABLE if row.verdict in ("no", "partly"))
    assert {row.scheduler for row in TABLE} <= {ANY, *BACKENDS}


def test_the_page_has_the_tables() -> None:
    text = accelerator_matrix.PAGE.read_text(encoding="utf-8")
    assert accelerator_matrix.filled(text) == text


def test_names_follow_from_the_count() -> None:
    kind = AcceleratorKind("npu", "ascend", ("hami",), {"count": "huawei.com/Ascend910B4-1"})
    assert names(kind).memory == "huawei.com/Ascend910B4-1-memory"
    assert names(kind).cores == "huawei.com/Ascend910B4-1-core"
    assert of_count("huawei.com/Ascend310P-memory") is None
    renamed = AcceleratorKind("gpu", "nvidia", ("hami",), {"count": "x.com/gpu", "memory": "x.com/mem"})
    assert names(renamed)[:5] == ("nvidia", "x.com/gpu", "x.com/mem", "", "")


SAID = {
    "an amount": ("nvidia.com/gpu", Accelerator(memory="16Gi"), {"nvidia.com/gpumem": "16384"}),
    "percent": ("nvidia.com/gpu", Accelerator(memory="40%"), {"nvidia.com/gpumem-percentage": "40"}),
    "GiB": ("metax-tech.com/sgpu", Accelerator(memory="4Gi"), {"metax-tech.com/vmemory": "4"}),
    "half a GiB-counted card": ("metax-tech.com/sgpu", Accelerator(memory="50%"), {"metax-tech.com/vmemory": "32"}),
    "256 MiB": ("iluvatar.ai/MR-V100-vgpu", Accelerator(memory="16Gi"), {"iluvatar.ai/MR-V100.vMem": "64"}),
    "sixteenths": ("mthreads.com/vgpu", Accelerator(cores="25"), {"mthreads.com/sgpu-core": "4"}),
}


@pytest.mark.parametrize(("count", "asked", "said"), SAID.values(), ids=SAID)
def test_shares_in_the_units_of_the_vendor(count: str, asked: Accelerator, said: Mapping[str, str]) -> None:
    row = of_count(count)
    assert row
    kind = AcceleratorKind("card", row.vendor, ("hami",), {"count": count}, memory="64Gi")
    assert list(shares.faults(asked, kind)) == []
    assert shares.resources(asked, kind) == said


def test_slices() -> None:
    asked = Accelerator("gpu", profile="1g.10gb+me")
    assert mig.slice_resource(asked, AcceleratorKind("gpu")) == "nvidia.com/mig-1g.10gb.me"
    assert [mig.portion(each) for each in ("1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb", "1c.3g.40gb")] == [
        142,
        333,
        500,
        1000,
        1000,
        142,
    ]


def test_slices_of_dra() -> None:
    result = support.run(*scene([{"count": 2, "profile": "1g.10gb"}], allocator="dra"), scheduler="none")
    (request,) = result.kinds("ResourceClaimTemplate")[0]["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["deviceClassName"] == "mig.nvidia.com"
    assert "1g.10gb" in request["exactly"]["selectors"][0]["cel"]["expression"]
    assert "P518" in result.codes


def scene(asks: Sequence[Mapping[str, Any]], cards: int = 2, nodes: int = 2, **kind: Any) -> tuple[Any, Any]:
    """A workflow of podSets with one pod each (or `replicas`), on some nodes."""
    sets = [
        {
            "name": f"set-{number}",
            "replicas": ask.get("replicas", 1),
            "accelerator": {key: value for key, value in ask.items() if key != "replicas"},
            "image": "a",
        }
        for number, ask in enumerate(asks)
    ]
    topology = {
        **support.TOPOLOGY,
        "spec": {
            "defaults": {"scheduler": "none", "namespace": "ml"},
            "pools": [
                {
                    "name": "cards",
                    "node": {"accelerator": "card", "count": cards},
                    "domains": [{"nodes": f"n[1-{nodes}]"}],
                }
            ],
            "accelerators": {"card": {"vendor": "nvidia", "allocator": "hami", **kind}},
        },
    }
    return support.workflow({"name": "main", "podSets": sets, "rendezvous": "none"}), topology


def fits(result: support.Result) -> bool:
    return not any(code.startswith("P5") and code != "P518" for code in result.codes)


@cache
def cuttable(pods: tuple[tuple[int, int], ...], cards: tuple[int, ...], per_node: int) -> bool:
    """Whether pods of (cards, percent of each) find room, by trying everything: cards by what is left of them."""
    if not pods:
        return True
    (count, part), rest = pods[0], pods[1:]
    for start in range(0, len(cards), per_node):
        own = range(start, start + per_node)
        free = [card for card in own if cards[card] >= part]
        for chosen in _subsets(free, count):
            left = tuple(each - part if card in chosen else each for card, each in enumerate(cards))
            if cuttable(rest, left, per_node):
                return True
    return False


def _subsets(members: Sequence[int], size: int) -> list[tuple[int, ...]]:
    from itertools import combinations

    return list(combinations(members, size))


EVEN = [
    (percent, pods, count) for percent in (100, 60, 50, 40, 34, 33, 25) for count in (1, 2) for pods in (1, 3, 4, 7, 9)
]


@pytest.mark.parametrize(("percent", "pods", "count"), EVEN)
def test_equal_shares_are_proven_exactly(percent: int, pods: int, count: int) -> None:
    result = support.run(*scene([{"count": count, "memory": f"{percent}%", "replicas": pods}]))
    assert fits(result) == cuttable(((count, percent),) * pods, (100,) * 4, 2)
    assert "P518" not in result.codes


MIXED = [
    ((1, 60), (1, 40)) * 3,
    ((2, 30), (1, 80), (1, 50)),
    ((1, 70),) * 3 + ((1, 30),) * 3,
    ((2, 100), (2, 50), (2, 50)),
]


@pytest.mark.parametrize("pods", MIXED)
def test_shares_of_several_sizes_are_never_refused_where_they_fit(pods: tuple[tuple[int, int], ...]) -> None:
    result = support.run(*scene([{"count": count, "memory": f"{part}%"} for count, part in pods]))
    assert fits(result) or not cuttable(tuple(sorted(pods, reverse=True)), (100,) * 4, 2)
    assert not fits(result) or "P518" in result.codes


def test_whole_cards_beside_equal_shares_are_proven_exactly() -> None:
    asks = [{"count": 2}, {"count": 1, "memory": "50%", "replicas": 4}]
    assert fits(support.run(*scene(asks)))
    assert not fits(support.run(*scene([*asks, {"count": 1, "memory": "50%"}])))


def test_parts_of_cards_claim_no_compute_domain() -> None:
    pods = {**support.WORKER, "accelerator": {"count": 4, "memory": "50%"}}
    replica = {"name": "replica", "replicas": 2, "placement": {"required": "rack"}, "podSets": [pods]}
    topology = {
        **support.TOPOLOGY,
        "spec": {**support.TOPOLOGY["spec"], "accelerators": {"gb200": {"allocator": "hami"}}},
    }
    result = support.run(support.workflow({"name": "train", "groups": [replica]}), topology, scheduler="none")
    assert result.kinds("JobSet")
    assert not result.kinds("ComputeDomain")


ANNOTATIONS = {
    "links of NVIDIA": (
        "nvidia",
        "nvidia.com/gpu",
        {"links": "best"},
        {"hami.io/gpu-scheduler-policy": "topology-aware"},
    ),
    "links of MetaX": ("metax", "metax-tech.com/gpu", {"links": "best"}, {"hami.io/node-scheduler-policy": "spread"}),
    "links of shared MetaX": (
        "metax",
        "metax-tech.com/sgpu",
        {"links": "best", "qos": "fixed-share"},
        {"metax-tech.com/sgpu-topology-aware": "true", "metax-tech.com/sgpu-qos-policy": "fixed-share"},
    ),
    "cores of Ascend": ("ascend", "huawei.com/Ascend910B3", {"cores": 25}, {"huawei.com/vnpu-mode": "hami-core"}),
}


@pytest.mark.parametrize(("vendor", "count", "asked", "notes"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_policies_are_annotations(vendor: str, count: str, asked: Mapping[str, Any], notes: Mapping[str, str]) -> None:
    result = support.run(*scene([{"count": 1, **asked}], vendor=vendor, resources={"count": count}))
    (pod,) = support.pods(result.documents)
    assert pod.annotations == notes
    assert pod.spec["schedulerName"] == "hami-scheduler"


def test_an_elastic_hostile_pod_is_no_crash() -> None:
    """Rules look into whatever stands in a manifest."""
    for value in (
        None,
        [],
        "x",
        5,
        {"limits": []},
        {"limits": {"metax-tech.com/gpu": {}}},
        {"limits": {"nvidia.com/gpumem": -1}},
    ):
        data = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "annotations": {"hami.io/node-scheduler-policy": 5}},
            "spec": {"containers": [{"resources": value}, 5, None], "initContainers": "x"},
        }
        outcome, _ = pipeline.lint(LintRequest((document.Document("pod.yaml", "", 0, data),)))
        assert outcome.value


def test_slices_that_are_counted_claim_no_compute_domain() -> None:
    pods = {**support.WORKER, "accelerator": {"count": 28}}
    replica = {"name": "replica", "replicas": 2, "placement": {"required": "rack"}, "podSets": [pods]}
    pool = {**support.TOPOLOGY["spec"]["pools"][0], "node": {"accelerator": "gb200", "count": 28}}
    kinds = {"gb200": {"profile": "1g.23gb"}}
    topology = {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "pools": [pool], "accelerators": kinds}}
    result = support.run(support.workflow({"name": "train", "groups": [replica]}), topology)
    assert result.kinds("JobSet")
    assert not result.kinds("ComputeDomain")
    assert "P508" not in result.codes
