"""Kubernetes nodes: every way of writing them gives one topology; what is wrong with a node is said of that node."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan import pipeline
from bayplan.core.diagnostics import AT, Diagnostic
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.topology import HOSTNAME_LABEL, Level, NodeShape, Pool
from bayplan.text.document import Document, read
from bayplan.topologies import native
from bayplan.topologies.kubernetes_nodes import source as nodes
from bayplan.topologies.kubernetes_nodes.hardware import kind_of
from judges import UPSTREAM
from tools import preset_table
from tools.effort import examples

COVERS = {
    "T530",
    "T401",
    "T503",
    "T505",
    "T518",
    "T513",
    "T405",
    "T509",
    "T510",
    "T537",
    "T536",
    "T514",
    "T515",
    "T516",
    "T522",
    "T527",
    "T529",
    "T433",
    "T592",
}
EXAMPLES = UPSTREAM / "examples" / "nodes"
ZONE, RACK, LEAF, DOMAIN = (
    "example.com/zone",
    "example.com/rack",
    "example.com/leaf",
    "accelerator.topograph.run/domain",
)
CLIQUE, PRODUCT, COUNT = "nvidia.com/gpu.clique", "nvidia.com/gpu.product", "nvidia.com/gpu.count"
ZERO = "00000000-0000-0000-0000-000000000000.0"

Node = dict[str, Any]


def node(
    name: str, gpus: int = 4, product: str = "NVIDIA-GB200", labels: Mapping[str, str] | None = None, **more: Any
) -> Node:
    """A Node as kubectl writes it, down to what is read of it."""
    cards = {PRODUCT: product, COUNT: str(gpus)} if gpus else {}
    given = {"kubernetes.io/arch": "arm64", HOSTNAME_LABEL: name, **cards, **(labels or {})}
    amounts = {"cpu": "144", "memory": "960Gi", "pods": "110", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {key: given[key] for key in sorted(given)}},
        "spec": {key: more[key] for key in ("unschedulable", "taints", "providerID") if key in more},
        "status": {
            "allocatable": {**amounts, **more.get("allocatable", {})},
            "conditions": [{"type": "Ready", "status": more.get("ready", "True")}],
        },
    }


def rack(name: str, size: int = 4, above: Mapping[str, str] | None = None, **labels: str) -> list[Node]:
    """Nodes of a rack with Topograph's domain and a clique."""
    own = {DOMAIN: name, CLIQUE: f"uuid-{name}.1", **(above or {}), **labels}
    return [node(f"{name}-n{number}", labels=own) for number in range(size)]


def relabelled(found: Iterable[Node], name: str, **labels: str | None) -> list[Node]:
    """The nodes, one of them with other labels; None takes one off."""
    made = json.loads(json.dumps(list(found)))
    own = next(each for each in made if each["metadata"]["name"] == name)["metadata"]["labels"]
    for key, value in labels.items():
        key = {"domain": DOMAIN, "clique": CLIQUE, "leaf": LEAF, "zone": ZONE}.get(key, key)
        if value is None:
            del own[key]
        else:
            own[key] = value
    return made


def as_json(found: Iterable[Node]) -> str:
    return json.dumps({"apiVersion": "v1", "items": list(found), "kind": "List", "metadata": {"resourceVersion": ""}})


def as_lines(found: Iterable[Node]) -> str:
    """What the command of docs/how-to/import-kubernetes-nodes.md prints."""
    return "".join(
        "\t".join(
            (
                each["metadata"]["name"],
                "true" if each["spec"].get("unschedulable") else "",
                each["status"]["conditions"][0]["status"],
                json.dumps(each["status"]["allocatable"], separators=(",", ":")),
                json.dumps(each["metadata"]["labels"], separators=(",", ":"), ensure_ascii=False),
                json.dumps(each["spec"]["taints"]) if "taints" in each["spec"] else "",
                each["spec"].get("providerID", ""),
            )
        )
        + "\n"
        for each in found
    )


def source(text: str, name: str = "nodes.json") -> SourceFile:
    documents = read(name, text.encode(), "source:0:0", own=False).value if name.endswith("yaml") else ()
    return SourceFile(name, text, documents or ())


def brought(
    text: str,
    asked: ReadOptions = ReadOptions(),  # noqa: B008
    name: str = "nodes.json",
) -> tuple[Part | None, tuple[Diagnostic, ...]]:
    given = source(text, name)
    assert nodes.sniff(given)
    part, found = nodes.new(given, asked)
    return part, tuple(each for each in found if (each.code, each.severity) != ("T592", "info"))


def told(found: Iterable[Node], asked: ReadOptions = ReadOptions()) -> tuple[Part | None, list[str], str]:  # noqa: B008
    """The part, the codes, and all that is said."""
    part, diagnostics = brought(as_json(found), asked)
    assert all(each.route[0] == "source:0:0" for each in diagnostics)
    said = "\n".join(f"{each.message} ({each.hint})" for each in diagnostics)
    return part, [each.code for each in diagnostics], said


def pools(part: Part | None) -> tuple[Pool, ...]:
    assert part
    return part.topology.pools


RACKS = [*rack("r1"), *rack("r2")]
LEVELS = ReadOptions(levels=(Level("zone", ZONE), Level("rack", RACK)))
TREE = (Level("zone", ZONE), Level("leaf", LEAF), Level("rack", RACK))


def placed(name: str, *values: str, **more: Any) -> Node:
    """A node without NVLink, with labels of zone, leaf and rack."""
    labels = dict(zip((ZONE, LEAF, RACK), values, strict=False))
    return node(name, 8, "NVIDIA-H100-80GB-HBM3", labels, **more)


def test_racks_with_cliques_are_levels_of_nvlink() -> None:
    part, codes, _ = told(RACKS)
    (pool,) = pools(part)
    assert codes == []
    assert (pool.name, pool.node.accelerator, pool.node.accelerators) == ("gb200", "gb200", 4)
    assert pool.levels == (Level("domain", DOMAIN, nvlink=True),)
    assert [(domain.path, domain.nvlink_domain) for domain in pool.domains] == [
        (("r1",), "uuid-r1.1"),
        (("r2",), "uuid-r2.1"),
    ]
    assert pool.domains[0].nodes == ("r1-n0", "r1-n1", "r1-n2", "r1-n3")
    assert pool.node.node_selector == {PRODUCT: "NVIDIA-GB200"}


def test_every_spelling_of_a_list_gives_the_same() -> None:
    ill = [node("x1", labels=RACKS[0]["metadata"]["labels"], unschedulable=True), placed("x2", ready="False")]
    found = [*RACKS, *ill]
    wanted, _ = brought(as_json(found))
    items = [{key: each[key] for key in ("metadata", "spec", "status")} for each in found]
    spellings = {
        "pretty.json": json.dumps(json.loads(as_json(found)), indent=4),
        "array.json": json.dumps(found),
        "stream.json": "\n".join(map(json.dumps, found)),
        "raw.json": json.dumps({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": items}),
        "nodes.yaml": yaml.safe_dump({"apiVersion": "v1", "items": found, "kind": "List"}),
        "several.yaml": yaml.safe_dump_all(found),
        "nodes.tsv": as_lines(found),
        "backwards.json": as_json(found[::-1]),
    }
    for name, text in spellings.items():
        part, _ = brought(text, name=name)
        assert part
        assert wanted
        assert part.topology.pools == wanted.topology.pools, name
        assert part.places.keys() == wanted.places.keys()


class Piecewise(SourceFile):
    """A text in pieces of some characters."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__("nodes", text)
        self.size = size

    def chunks(self) -> Any:
        return (self.text[start : start + self.size] for start in range(0, len(self.text), self.size))


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
@pytest.mark.parametrize("write", [as_json, as_lines])
def test_a_text_in_pieces_is_the_same_text(write: Any, size: int) -> None:
    text = write(RACKS)
    whole, pieces = nodes.new(SourceFile("nodes", text), ReadOptions()), nodes.new(Piecewise(text, size), ReadOptions())
    assert whole == pieces


def test_places_are_lines() -> None:
    part, _ = brought(as_lines(RACKS), name="nodes.tsv")
    assert part
    assert part.places["r1-n2"] == ("source:0:0", AT, 3, 1)
    pretty = json.dumps(json.loads(as_json(RACKS)), indent=1)
    part, _ = brought(pretty)
    assert part
    for number, each in enumerate(RACKS):
        *_, line, column = part.places[each["metadata"]["name"]]
        assert pretty.splitlines()[int(line) - 1][int(column) - 1] == "{", number


def test_other_names_of_nodes_are_known_unless_they_are_doubtful() -> None:
    found = [
        node("a", labels={HOSTNAME_LABEL: "host-a"}),
        node("ip-1.ec2.internal", providerID="aws:///us-east-1d/i-1"),
        node("b", labels={"slinky.slurm.net/slurm-nodename": "slurm-b"}, providerID="azure:///vmss/0"),
        node("c", providerID="azure:///other/0"),
    ]
    part, *_ = told(found)
    assert part
    assert part.aliases == {
        "host-a": "a",
        "aws:///us-east-1d/i-1": "ip-1.ec2.internal",
        "i-1": "ip-1.ec2.internal",
        "ip-1": "ip-1.ec2.internal",
        "slurm-b": "b",
        "azure:///vmss/0": "b",
        "azure:///other/0": "c",
    }


def test_labels_that_others_ask_for() -> None:
    asked = ReadOptions(labels=frozenset({DOMAIN, HOSTNAME_LABEL, "none"}))
    part, *_ = told(relabelled(RACKS, "r1-n0", **{HOSTNAME_LABEL: "other"}), asked)
    assert part
    assert part.labels["r1-n0"] == {DOMAIN: "r1", HOSTNAME_LABEL: "other"}
    assert part.labels["r2-n0"] == {DOMAIN: "r2", HOSTNAME_LABEL: "r2-n0"}


CASES: Mapping[str, tuple[list[Node], ReadOptions, list[str], str]] = {
    "an amount that is none": (
        [node("a", allocatable={"cpu": "lots"})],
        ReadOptions(),
        ["T530"],
        '"lots" is not a quantity of "cpu"',
    ),
    "a node without a name": ([node("")], ReadOptions(), ["T530"], "has no name"),
    "listed twice": ([*RACKS, RACKS[0]], ReadOptions(), ["T401"], '"r1-n0" is listed twice'),
    "no label": (
        relabelled(RACKS, "r1-n0", domain=None),
        ReadOptions(),
        ["T503"],
        f'"r1-n0" lacks the label "{DOMAIN}"',
    ),
    "an empty label": (relabelled(RACKS, "r1-n0", domain=""), ReadOptions(), ["T503"], "r1-n1"),
    "left out": (
        relabelled(RACKS, "r1-n0", domain=None),
        ReadOptions(exclude_incomplete=True),
        ["T503", "T433"],
        'left out node "r1-n0"',
    ),
    "a leaf in two zones": (
        [placed(f"n{n}", "z1" if n < 3 else "z2", f"leaf{n // 4}", "r") for n in range(12)],
        ReadOptions(levels=TREE[:2]),
        ["T505"],
        'leaf "leaf0" is in two places: zone "z1" on 3 nodes, and "z2" on node "n3"',
    ),
    "a rack on two leaves": (
        relabelled([*rack("r1", above={LEAF: "1"}), *rack("r2", above={LEAF: "2"})], "r1-n0", leaf="2"),
        ReadOptions(levels=(Level("leaf", LEAF), Level("rack", DOMAIN, nvlink=True))),
        ["T505"],
        'and "2" on node "r1-n0"',
    ),
    "values that repeat": (
        [placed(f"{z}{r}{n}", z, f"{z}l", str(r)) for z in "ab" for r in range(3) for n in range(2)],
        LEVELS,
        ["T518"],
        "unique: parent",
    ),
    "a clique of zeros": (relabelled(RACKS, "r1-n0", clique=ZERO), ReadOptions(), ["T513"], "as unhealthy"),
    "no clique": (
        relabelled(RACKS, "r2-n0", clique=None),
        ReadOptions(),
        ["T513"],
        '"r2-n0" lacks an NVLink partition',
    ),
    "no place without a clique": (
        [each if n else node("r1-n0") for n, each in enumerate(relabelled(RACKS, "r1-n0"))],
        ReadOptions(preset="clique"),
        ["T513", "T433"],
        "leaves such nodes out",
    ),
    "upside down": (
        [placed(f"n{n}", f"z{n // 2}", "", f"r{n // 4}") for n in range(8)],
        LEVELS,
        ["T405"],
        f'name "{RACK}" before',
    ),
    "one each": ([placed(f"n{n}", f"z{n // 2}", "", f"r{n}") for n in range(4)], LEVELS, ["T509"], "left out"),
    "hosts alone": (
        [placed(f"n{n}", f"n{n}") for n in range(4)],
        ReadOptions(levels=(Level("zone", ZONE),)),
        ["T509"],
        "has the names of the nodes as values",
    ),
    "racks across leaves": (
        [
            node(
                f"n{n}",
                labels={"topology.nebius.com/tier-1": f"leaf{n % 2}", "topology.nebius.com/tier-0": f"r{n // 4}"},
            )
            for n in range(8)
        ],
        ReadOptions(),
        ["T510"],
        'left out "tier-1"',
    ),
    "nothing is left": (
        [node("a", labels={"crusoe.ai/pod.id": "p"}), node("b", labels={"crusoe.ai/ib.partition.id": "i"})],
        ReadOptions(exclude_incomplete=True),
        ["T503", "T503", "T516"],
        "no node is left",
    ),
    "another host name": (relabelled(RACKS, "r1-n0", **{HOSTNAME_LABEL: "h"}), ReadOptions(), ["T537"], 'such as "h"'),
    "a hash of Topograph": (
        [node(f"n{n}", labels={DOMAIN: "x0123456789abcdef"}) for n in range(4)],
        ReadOptions(),
        ["T536"],
        "x0123456789abcdef",
    ),
    "fewer GPUs": (
        [
            *RACKS,
            node(
                "x", labels=RACKS[0]["metadata"]["labels"] | {HOSTNAME_LABEL: "x"}, allocatable={"nvidia.com/gpu": "3"}
            ),
        ],
        ReadOptions(),
        ["T513"],
        'node "x" has 4 GPUs, but only 3',
    ),
    "shared GPUs": (
        [node("x", allocatable={"nvidia.com/gpu": "16"})],
        ReadOptions(),
        ["T527"],
        'accelerator is "gb200-shared"',
    ),
    "two makes in a frame": (
        [placed("a", "z"), *RACKS],
        ReadOptions(frames=(Pool("all", NodeShape(node_selector={"kubernetes.io/arch": "arm64"})),)),
        ["T514"],
        'pool "all" has nodes with NVIDIA-GB200 on arm64, such as "r1-n0", and nodes with NVIDIA-H100-80GB-HBM3',
    ),
    "no GPUs": ([*RACKS, node("cpu-1", 0)], ReadOptions(), ["T515"], 'left out pool "cpu" (1 node without GPUs)'),
    "only GPUs": (
        [*RACKS, node("cpu-1", 0)],
        ReadOptions(accelerated_only=True),
        ["T515"],
        'left out node "cpu-1" without GPUs',
    ),
    "no GPUs in a frame": (
        [*RACKS, node("cpu-1", 0)],
        ReadOptions(
            frames=(Pool("all", NodeShape(node_selector={"kubernetes.io/arch": "arm64"}), (Level("r", DOMAIN),)),)
        ),
        ["T515"],
        'although the selector of pool "all" matches',
    ),
    "a control plane": (
        [*RACKS, node("cp", 0, labels={"node-role.kubernetes.io/control-plane": ""})],
        ReadOptions(),
        ["T515"],
        "of the control plane",
    ),
    "no preset": (RACKS, ReadOptions(preset="gcp"), ["T503"], "presets:"),
    "not that preset": (RACKS, ReadOptions(preset="gke"), ["T503"], 'no node has a label of the preset "gke"'),
    "not that label": (RACKS, ReadOptions(levels=(Level("r", f"{DOMAIN}s"),)), ["T503"], f'did you mean "{DOMAIN}"'),
    "no product": (
        [*RACKS, node("new", product="")],
        ReadOptions(),
        ["T527", "T503"],
        f'lacks the label "{DOMAIN}"; "r1-n0"',
    ),
    "flat": ([placed("a"), placed("b")], ReadOptions(), ["T518"], "has no levels"),
    "two networks": (
        [node(f"n{n}", labels={DOMAIN: f"d{n // 2}", "crusoe.ai/pod.id": f"p{n // 2}"}) for n in range(4)],
        ReadOptions(),
        ["T518"],
        "--preset crusoe",
    ),
    "unequal cliques": (relabelled(RACKS, "r1-n0", clique="other.1"), ReadOptions(), ["T505"], 'on node "r1-n0"'),
    "a clique in two racks": (
        relabelled(RACKS, "r1-n0", clique="uuid-r2.1")[0:1] + RACKS[4:],
        ReadOptions(),
        ["T505"],
        'domain "r2" on 4 nodes, and "r1" on node "r1-n0"',
    ),
    "two halves": (
        [*rack("r1", 2), *(node(f"b{n}", labels={DOMAIN: "r1", CLIQUE: "other.2"}) for n in range(2)), *rack("r2")],
        ReadOptions(),
        ["T522"],
        "2 NVLink partitions",
    ),
    "two halves of a given level": (
        [*rack("r1", 2), *(node(f"b{n}", labels={DOMAIN: "r1", CLIQUE: "other.2"}) for n in range(2))],
        ReadOptions(levels=(Level("rack", DOMAIN, nvlink=True),)),
        ["T522"],
        f"--level clique={CLIQUE},nvlink",
    ),
    "fewer cards": (
        [placed(f"n{n}", "z", allocatable={"rdma/ib": "7" if n == 3 else "8"}) for n in range(8)],
        ReadOptions(levels=TREE[:1]),
        ["T513"],
        'node "n3" has 7 of "rdma/ib" in status.allocatable; other nodes of these racks have 8',
    ),
    "a taint": (
        [
            placed(f"n{n}", "z", taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}] if n == 3 else [])
            for n in range(8)
        ],
        ReadOptions(levels=TREE[:1]),
        ["T513"],
        'node "n3" has the taint team=x:NoSchedule',
    ),
    "a label that is none": (relabelled(RACKS, "r1-n0", domain="r/1"), ReadOptions(), ["T530"], '"r/1" in the label'),
    "a clique that is none": (relabelled(RACKS, "r1-n0", clique="ü"), ReadOptions(), ["T530"], '"ü" in the label'),
    "a resource that is none": (
        [node("a", allocatable={"a b": "1"})],
        ReadOptions(),
        ["T530"],
        'a resource with the invalid name "a b"',
    ),
    "a taint that is none": (
        [placed("a", taints=[{"key": "ä", "value": " "}])],
        ReadOptions(),
        ["T530"] * 2,
        'a taint with the invalid key "ä"',
    ),
    "GPUs without end": ([node("a", allocatable={"nvidia.com/gpu": "5k"})], ReadOptions(), ["T530"], "5000 of"),
    "DRA": (
        [placed(f"n{n}", "z", allocatable={"nvidia.com/gpu": "0"}) for n in range(2)],
        ReadOptions(levels=TREE[:1]),
        ["T527"],
        "DRA",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said(case: str) -> None:
    found, asked, codes, words = CASES[case]
    _part, found_codes, said = told(found, asked)
    assert found_codes == codes, said
    assert words in said


def test_a_node_without_its_siblings_partition_is_unhealthy() -> None:
    """Also where a taint reserves it."""
    found = relabelled(relabelled(RACKS, "r1-n0", clique=None), "r2-n0", clique=None)
    for each in found[4:6]:
        each["spec"]["taints"] = [{"key": "team", "value": "x", "effect": "NoSchedule"}]
    part, codes, _ = told(found)
    assert codes == ["T513", "T513"]
    assert pools(part)[0].unusable == {"reserved": ("r2-n1",), "unhealthy": ("r1-n0", "r2-n0")}


def test_of_many_faults_twenty_are_reported() -> None:
    found = [node(f"n{number:02}", allocatable={"nvidia.com/gpu": str(2000 + number)}) for number in range(21)]
    _, codes, said = told(found)
    assert codes == ["T530"] * 20
    assert 'node "n19" has 2019 of "nvidia.com/gpu"' in said


def test_no_node() -> None:
    _, found = nodes.new(source('{"apiVersion": "v1", "kind": "List", "items": []}'), ReadOptions())
    assert [each.code for each in found] == ["T516"]


@pytest.mark.parametrize("end", [1, 40, 400, 900, -2])
@pytest.mark.parametrize("write", [as_json, lambda found: json.dumps(json.loads(as_json(found)), indent=2), as_lines])
def test_a_text_that_is_cut_off_is_refused(write: Any, end: int) -> None:
    text = write(RACKS)[:end]
    part, found = nodes.new(SourceFile("nodes", text), ReadOptions())
    assert part is None
    assert {"T530", "T516"} & {each.code for each in found}
    line = next(each.route[2] for each in found if each.code == "T530") if "T530" in str(found) else 1
    assert int(line) <= text.count("\n") + 1


def test_yaml_that_is_cut_off_is_refused() -> None:
    text = yaml.safe_dump({"apiVersion": "v1", "items": RACKS, "kind": "List"})
    for end in (text.index("kind: List"), text.index("r2-n3")):
        part, found = brought(text[:end], name="nodes.yaml")
        assert part is None
        assert {each.code for each in found} == {"T530"}


def test_what_is_not_shown_is_counted() -> None:
    part, found = brought(as_json([*RACKS * 8]))
    assert part is None
    assert [each.code for each in found] == ["T401"] * 21
    assert found[-1].message == "36 more nodes are listed twice"


def test_states_are_reasons() -> None:
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    found = [
        *(placed(f"n{n}", "z", taints=[taint]) for n in range(4)),
        placed("cordoned", "z", unschedulable=True, taints=[taint]),
        placed("down", "z", ready="Unknown", unschedulable=True),
        placed("lost", "z", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]),
        placed("theirs", "z", taints=[taint, {"key": "theirs", "effect": "NoExecute"}]),
        placed("slow", "z", allocatable={"cpu": "8"}, unschedulable=True),
    ]
    part, codes, _ = told(found, ReadOptions(levels=TREE[:1], plan=3))
    (pool,) = pools(part)
    assert codes == ["T513"]
    assert pool.unusable == {"cordoned": ("cordoned", "slow"), "notReady": ("down", "lost"), "reserved": ("theirs",)}
    assert pool.node.tolerations == ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},)
    assert pool.node.resources["cpu"] == 144_000
    assert pool.levels[0].plan == 3


def test_nodes_of_other_equipment_on_racks_of_their_own_are_another_pool() -> None:
    found = [placed(f"n{n}", f"z{n // 4}", allocatable={"rdma/ib": "4" if n > 3 else "8"}) for n in range(8)]
    part, codes, _ = told(found, ReadOptions(levels=TREE[:1]))
    assert codes == []
    assert [(pool.name, pool.node.resources["rdma/ib"]) for pool in pools(part)] == [("h100", 4000), ("h100-2", 8000)]


def test_cpu_and_memory_are_the_least_of_all() -> None:
    found = [placed(f"n{n}", "z", allocatable={"memory": f"{960 * 2**20 - n}Ki"}) for n in range(9)]
    part, *_ = told(found, ReadOptions(levels=TREE[:1]))
    assert pools(part)[0].node.resources["memory"] == (960 * 2**20 - 8) * 1024 * 1000


def test_a_cluster_of_one_node_is_a_cluster() -> None:
    part, codes, _ = told([node("kind", 0, labels={"node-role.kubernetes.io/control-plane": ""})])
    assert codes == []
    assert [(pool.name, pool.domains[0].nodes) for pool in pools(part)] == [("cpu", ("kind",))]


def test_frames_sort_nodes() -> None:
    frames = (
        Pool("blue", NodeShape(node_selector={"team": "blue"}), (Level("d", DOMAIN, nvlink=True),)),
        Pool("rest", NodeShape(accelerator="gb200", accelerators=4), (Level("e", DOMAIN),)),
    )
    found = [*rack("r1", team="blue"), *rack("r2"), placed("h", "z")]
    part, codes, _ = told(found, ReadOptions(frames=frames))
    assert [(pool.name, len(pool.levels), len(pool.domains)) for pool in pools(part)] == [
        ("blue", 1, 1),
        ("h100", 0, 1),
        ("rest", 1, 1),
    ]
    assert pools(part)[0].levels == (Level("d", DOMAIN, nvlink=True),)
    assert codes == []


def test_a_frame_may_have_levels_whose_labels_are_yet_to_come() -> None:
    levels = (Level("spine", "topology.bayplan.dev/spine", apply=True), Level("rack", DOMAIN, nvlink=True))
    part, codes, _ = told(RACKS, ReadOptions(frames=(Pool("hall", NodeShape(), levels),)))
    assert codes == []
    assert [(pool.name, pool.levels) for pool in pools(part)] == [("hall", levels[1:])]


def test_nodes_behind_other_objects_are_found() -> None:
    others = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{n:01000}"}} for n in range(100)]
    mixed = source(as_json([*others, *RACKS]))
    assert len(mixed.text) > 100_000
    assert nodes.sniff(mixed)
    part, _ = nodes.new(mixed, ReadOptions())
    assert part
    assert len(part.places) == len(RACKS)


def test_the_documentation_lists_the_presets() -> None:
    """`python tests/tools/refresh_docs.py` writes them."""
    page = preset_table.PAGE.read_text(encoding="utf-8")
    assert preset_table.table() in page


def test_the_finest_level_of_others_is_that_of_nvlink_if_its_domains_are_the_cliques() -> None:
    part, codes, _ = told(RACKS, ReadOptions(frames=(Pool("hall", NodeShape(), (Level("rack", DOMAIN),)),)))
    assert codes == []
    assert pools(part)[0].levels == (Level("rack", DOMAIN, nvlink=True),)
    zones = [*rack("r1", above={ZONE: "z"}), *rack("r2", above={ZONE: "z"})]
    part, *_ = told(zones, ReadOptions(levels=(Level("zone", ZONE),)))
    assert pools(part)[0].levels == (Level("zone", ZONE),)


@pytest.mark.parametrize(
    ("product", "kind"),
    [
        ("NVIDIA-GB200", "gb200"),
        ("NVIDIA-H100-80GB-HBM3", "h100"),
        ("NVIDIA-B300-SXM6-AC", "b300"),
        ("Tesla-V100-SXM2-32GB", "v100"),
        ("NVIDIA-RTX-A6000", "rtx-a6000"),
        ("NVIDIA-L40S", "l40s"),
        ("AMD_Instinct_MI300X_OAM", "mi300x"),
        ("nvidia-gb300", "gb300"),
        ("", "gpu"),
        ("?!", "gpu"),
    ],
)
def test_the_kind_of_a_product(product: str, kind: str) -> None:
    assert kind_of(product) == kind


@settings(max_examples=examples(20, 100), deadline=None)
@given(st.lists(st.integers(2, 5), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_any_tree_comes_back_in_any_order(sizes: list[int], random: Random) -> None:
    tree = {(f"z{r // 4}", f"l{r // 2}", f"r{r}"): [f"n{r}-{n}" for n in range(size)] for r, size in enumerate(sizes)}
    found = [placed(name, *path) for path, names in tree.items() for name in names]
    ordered, *_ = told(found, ReadOptions(levels=TREE))
    random.shuffle(found)
    shuffled, *_ = told(found, ReadOptions(levels=TREE))
    assert shuffled
    assert shuffled.topology == (ordered and ordered.topology)
    assert {domain.path: list(domain.nodes) for domain in pools(shuffled)[0].domains} == tree


LABELS = st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=5)


@settings(max_examples=examples(40, 200), deadline=None)
@given(st.lists(LABELS, min_size=1, max_size=6))
def test_any_labels_are_read_alike_from_lines_and_from_json(labels: list[dict[str, str]]) -> None:
    found = [node(f"n{number}", labels=each) for number, each in enumerate(labels)]
    asked = ReadOptions(labels=frozenset(key for each in labels for key in each))
    lines, objects = nodes.new(source(as_lines(found)), asked), nodes.new(source(as_json(found)), asked)
    assert lines.value
    assert objects.value
    assert lines.value.labels == objects.value.labels
    assert lines.value.topology == objects.value.topology


@settings(max_examples=examples(60, 300), deadline=None)
@given(st.integers(0, 10_000), st.text(max_size=6), st.sampled_from((as_json, as_lines)))
def test_no_text_breaks_it(place: int, text: str, write: Any) -> None:
    whole = write(RACKS)
    broken = whole[: place % len(whole)] + text + whole[place % len(whole) + len(text) :]
    part, found = nodes.new(SourceFile("nodes", broken), ReadOptions())
    assert (part is None) == any(each.severity == "error" for each in found)
    assert part is None or sound(part)


def sound(part: Part) -> bool:
    """Whether what is written of it is no file that the schema refuses."""
    data = native.write(part.topology)
    assert data["spec"]["pools"]
    found = pipeline.check_topology(Document("topology.yaml", "", 0, data))[0].diagnostics
    return not any(each.code.startswith("S") for each in found)


WORDS = ("name", "labels", "type", "allocatable", "cpu", "nvidia.com/gpu", "taints", "key", "effect", "conditions")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("name", "labels", "type", "cpu")), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(40, 200), deadline=None)
@given(JSON, JSON, JSON)
def test_no_object_breaks_it(metadata: Any, spec: Any, status: Any) -> None:
    odd = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}
    part, _ = nodes.new(source(as_json([*RACKS, odd])), ReadOptions())
    assert part is None or sound(part)


OWNER = {"apiVersion": "v1", "controller": True, "kind": "Node"}


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (as_json(RACKS), True),
        (as_lines(RACKS), True),
        (json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": []}), True),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", True),
        ("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n", True),
        ("apiVersion: v1\nkind: Pod\n", True),
        ('{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}', True),
        (json.dumps({"apiVersion": "v1", "kind": "Lease", "metadata": {"ownerReferences": [OWNER]}}), False),
        ("apiVersion: v1\nkind: PodTemplate\n", False),
        ("SwitchName=s1\tNodes=n[1-2]\n", False),
        ("", False),
        ("a\tb\tc\td\te\n", False),
    ],
)  # fmt: skip
def test_what_it_takes_for_nodes(text: str, is_one: bool) -> None:
    assert nodes.sniff(SourceFile("x", text)) == is_one


SAMPLES = {
    "coreweave-gb200": [("gb200", "fabric superpod leaf rack", 2, {"cordoned": 1, "notReady": 1})],
    "gke-a4x": [("gb200", "block subblock", 2, {})],
    "eks-gb200-and-b300": [
        ("b300", "layer-1 layer-2 layer-3 layer-4", 2, {}),
        ("gb200", "layer-1 layer-2 layer-3 ultraserver", 2, {}),
    ],
    "topograph-v1-h100": [("h100", "tier-2 tier-1 tier-0", 4, {})],
    "topograph-v1-gb200-subdomains": [("gb200", "tier-1 tier-0 domain sub-domain", 4, {})],
    "gfd-only-h100": [("h100", "", 1, {})],
    "defects/gpu-allocatable-below-count": [("gb200", "fabric superpod leaf rack", 4, {"unhealthy": 1})],
}


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="examples of upstream are not here: set BAYPLAN_UPSTREAM")
@pytest.mark.parametrize("sample", SAMPLES)
def test_samples(sample: str) -> None:
    part, _ = brought((EXAMPLES / f"{sample}.json").read_text(encoding="utf-8"))
    shown = [
        (
            pool.name,
            " ".join(level.name for level in pool.levels),
            len(pool.domains),
            {reason: len(names) for reason, names in pool.unusable.items()},
        )
        for pool in pools(part)
    ]
    assert shown == SAMPLES[sample]


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="examples of upstream are not here: set BAYPLAN_UPSTREAM")
@pytest.mark.parametrize(
    ("sample", "code", "words"),
    [
        ("leafgroup-in-two-superpods", "T505", 'superpod "0" on 3 nodes, and "1" on node "n001"'),
        ("missing-domain-label", "T503", '"n012" lacks the label "ds.coreweave.com/nvlink.domain"'),
    ],
)
def test_defective_samples_are_refused(sample: str, code: str, words: str) -> None:
    part, found = brought((EXAMPLES / "defects" / f"{sample}.json").read_text(encoding="utf-8"))
    assert part is None
    assert [each.code for each in found] == [code]
    assert words in found[0].message
