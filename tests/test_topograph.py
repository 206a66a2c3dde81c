"""Topograph's files: what others wrote is read or refused for a reason, what is written reads back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cli.run import run
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Level, Pool
from bayplan.plugins.sources.fabric_managers import value
from bayplan.plugins.sources.topograph import graph as topograph_graph
from bayplan.plugins.sources.topograph import model as topograph
from bayplan.plugins.sources.topograph import request as topograph_request
from bayplan.text.document import Document
from bayplan.topologies import losses
from judges import UPSTREAM
from random_topologies import topologies
from tools.data import parse, parse_all
from tools.effort import examples
from topology_files import imported

COVERS = {"T530", "T401", "T532", "T425", "T537", "T510", "T414"}
EXAMPLES = UPSTREAM / "examples" / "topograph"
there = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="upstream's examples are not there")


def source(text: str) -> SourceFile:
    documents = [Document("model.yaml", text, n, data) for n, data in enumerate(parse_all(text))]
    return SourceFile("model.yaml", text, tuple(documents))


def read(module: Any, text: str, **asked: Any) -> Outcome[Part]:
    given_ = source(text)
    assert module.sniff(given_)
    made: Outcome[Part] = module.new(given_, ReadOptions(**asked))
    return made


def model(text: str, **asked: Any) -> Outcome[Part]:
    return read(topograph, text, **asked)


def graph(*instances: dict[str, Any]) -> Outcome[Part]:
    return read(topograph_graph, json.dumps({"instances": list(instances)}))


def codes(outcome: Outcome[Part]) -> list[str]:
    return sorted(each.code for each in outcome.diagnostics)


def one(outcome: Outcome[Part], code: str) -> Diagnostic:
    (found,) = [each for each in outcome.diagnostics if each.code == code]
    return found


def pools(outcome: Outcome[Part]) -> tuple[Pool, ...]:
    assert outcome.value is not None, outcome.diagnostics
    return outcome.value.topology.pools


def shown(pool: Pool) -> list[str]:
    """`a/b: n1 n2`."""
    return [f"{'/'.join(each.path)}: {' '.join(each.nodes)}" for each in pool.domains]


def names(pool: Pool) -> list[str]:
    return [f"{level.name}{'*' if level.nvlink else ''}" for level in pool.levels]


TREE = """
switches:
  core: {switches: [spine-1, spine-2], labels: {topology.kubernetes.io/region: east}}
  spine-1: {switches: [leaf-1, leaf-2], labels: {topology.kubernetes.io/zone: a}}
  spine-2: {switches: [leaf-3], labels: {topology.kubernetes.io/zone: b}}
blocks:
- {switch: leaf-1, nodes: ["n[01-02]"]}
- {switch: leaf-2, nodes: [n03]}
- {switch: leaf-3, nodes: [n04, "n[07,09]"]}
"""


def test_tiers_are_counted_from_the_nodes() -> None:
    (pool,) = pools(model(TREE))
    assert names(pool) == ["tier-2", "tier-1", "tier-0"]
    assert [level.label for level in pool.levels] == [f"fabric.topograph.run/tier-{n}" for n in (2, 1, 0)]
    assert shown(pool) == [
        "core/spine-1/leaf-1: n01 n02",
        "core/spine-1/leaf-2: n03",
        "core/spine-2/leaf-3: n04 n07 n09",
    ]


def test_a_label_that_is_asked_for_is_a_level_where_it_nests() -> None:
    zone = Level("zone", "topology.kubernetes.io/zone")
    made = model(TREE.replace("a}", "a}").replace("zone: b", "zone: a"), levels=(zone,))
    assert names(pools(made)[0]) == ["tier-2", "tier-1", "tier-0"]
    made = model(TREE, levels=(Level("half", "half"),), labels=frozenset({"topology.kubernetes.io/zone"}))
    assert names(pools(made)[0]) == ["tier-2", "tier-1", "tier-0"]
    assert made.value is not None
    assert made.value.labels["n04"] == {"topology.kubernetes.io/zone": "b"}


def block(switch: str, nodes: str, domain: str = "", sub: str = "") -> str:
    notes = {
        f"accelerator.topology.test/{key}": each for key, each in (("domain", domain), ("sub-domain", sub)) if each
    }
    return f"- {{switch: {switch}, nodes: ['{nodes}'], annotations: {json.dumps(notes)}}}\n"


SPINES = "switches:\n  s1: {switches: [l1, l2]}\n  s2: {switches: [l3, l4]}\nblocks:\n"


def test_an_accelerator_domain_of_one_switch_marks_its_tier() -> None:
    (pool,) = pools(model(SPINES + "".join(block(f"l{n}", f"n{n}", f"rack-{n}") for n in (1, 2, 3, 4))))
    assert names(pool) == ["tier-1", "tier-0*"]
    assert [each.nvlink_domain for each in pool.domains] == ["rack-1", "rack-2", "rack-3", "rack-4"]


def test_an_accelerator_domain_between_tiers_is_a_level() -> None:
    blocks = "".join(
        block(leaf, f"{leaf}n[1-2]", "d1" if leaf < "l3" else "d2", leaf) for leaf in ("l1", "l2", "l3", "l4")
    )
    (pool,) = pools(model("switches:\n  c: {switches: [l1, l2, l3, l4]}\nblocks:\n" + blocks))
    assert names(pool) == ["tier-1", "domain*", "tier-0"]
    halves = "".join(
        block("l1", f"n{n}", f"d{n}", f"d{n}.1") + block("l1", f"m{n}", f"d{n}", f"d{n}.2") for n in (1, 2)
    )
    (pool,) = pools(model("switches: {l1: {}}\nblocks:\n" + halves))
    assert names(pool) == ["tier-0", "domain*", "sub-domain"]
    assert shown(pool) == ["l1/d1/d1.1: n1", "l1/d1/d1.2: m1", "l1/d2/d2.1: n2", "l1/d2/d2.2: m2"]


def test_an_accelerator_domain_that_crosses_leaves_takes_their_place() -> None:
    blocks = block("l1", "a1", "d1") + block("l1", "a2", "d2") + block("l2", "a3", "d2") + block("l3", "a4", "d3")
    made = model(SPINES + blocks + block("l4", "a5", "d3"))
    assert "replaces tier-0" in one(made, "T510").message
    assert shown(pools(made)[0]) == ["s1/d1: a1", "s1/d2: a2 a3", "s2/d3: a4 a5"]


def test_nodes_at_another_depth_are_a_pool_of_their_own() -> None:
    made = model(TREE + '- {switch: core, nodes: [login]}\n- {nodes: ["spare[1-2]"]}\n')
    assert [pool.name for pool in pools(made)] == ["nodes", "nodes-2", "nodes-3"]
    assert shown(pools(made)[1]) == [": spare1 spare2"]
    assert shown(pools(made)[2]) == ["core: login"]
    assert names(pools(made)[2]) == names(pools(made)[0])[:1]
    assert codes(made) == ["T532", "T532"]
    some = model(
        SPINES + block("l1", "n1", "d1") + block("l2", "n2", "d2") + block("l3", "n3", "d3") + block("l4", "n4")
    )
    assert "without domain, unlike most nodes: n4" in one(some, "T532").message


def test_a_leaf_less_deep_than_others_repeats_its_name_as_in_slurm() -> None:
    tree = (
        "switches:\n  core: {switches: [s1, l3]}\n  s1: {switches: [l1, l2]}\n  l1: {}\n  l2: {}\n  l3: {}\nblocks:\n"
    )
    made = model(tree + "".join(f"- {{switch: l{n}, nodes: [n{n}]}}\n" for n in (1, 2, 3)))
    (pool,) = pools(made)
    assert shown(pool) == ["core/s1/l1: n1", "core/s1/l2: n2", "core/l3/l3: n3"]
    assert codes(made) == ["T532"]
    slurm = "SwitchName=core Switches=s1,l3\nSwitchName=s1 Switches=l[1-2]\n"
    slurm += "".join(f"SwitchName=l{n} Nodes=n{n}\n" for n in (1, 2, 3))
    said = parse(imported(("topology.conf", slurm)).out)["spec"]["pools"]
    assert [row["path"] for row in said[0]["domains"]] == ["/".join(each.path) for each in pool.domains]


def test_names_are_what_kubernetes_takes() -> None:
    made = model("switches: {}\nblocks:\n- {nodes: [A1, b_c, 17]}\n")
    assert made.value is not None
    assert shown(pools(made)[0]) == [": a1 17"]
    assert made.value.aliases == {"A1": "a1", "i-a1": "a1", "i-A1": "a1", "i-17": "17"}
    assert codes(made) == ["T536", "T537"]


def test_long_values_are_hashed_like_topographs() -> None:
    assert value("") == "xcbf29ce484222325"
    assert value("a" * 64) == value("a" * 64) != value("a" * 65)
    assert value("a" * 63) == "a" * 63
    assert value("fabric/1:a") == "fabric-1-a"


BROKEN = {
    "a switch that is a text": ("switches: {a: b}\nblocks:\n- {nodes: [n1]}\n", "T530"),
    "switches in a list": ("switches: [a]\nblocks:\n- {nodes: [n1]}\n", "T530"),
    "blocks in a mapping": ("blocks: {nodes: [n1]}\n", "T530"),
    "a block that is a text": ("blocks:\n- n1\n", "T530"),
    "nodes in a text": ("blocks:\n- {nodes: n1}\n", "T530"),
    "two documents": ("blocks:\n- {nodes: [n1]}\n---\nblocks:\n- {nodes: [n2]}\n", "T530"),
    "no nodes": ("switches:\n  a: {switches: [b]}\n", "T530"),
    "a node twice": ("blocks:\n- {nodes: [n1]}\n- {nodes: [N1]}\n", "T401"),
    "two parents": ("switches:\n  a: {switches: [c]}\n  b: {switches: [c]}\nblocks:\n- {nodes: [n1]}\n", "T532"),
    "a circle": (
        "switches:\n  a: {switches: [b]}\n  b: {switches: [a]}\nblocks:\n- {switch: a, nodes: [n1]}\n",
        "T532",
    ),
    "a chain": (
        "switches:\n"
        + "".join(f"  s{n}: {{switches: [s{n + 1}]}}\n" for n in range(3000))
        + "blocks:\n- {switch: s3000, nodes: [n1]}\n",
        "T532",
    ),
    "an unknown switch": ("blocks:\n- {switch: a, nodes: [n1]}\n", "T532"),
    "a bracket inside": ("blocks:\n- {nodes: ['n[1-2]-x']}\n", "T414"),
    "two brackets": ("blocks:\n- {nodes: ['n[1-2][1-2]']}\n", "T414"),
    "a billion": ("blocks:\n- {nodes: ['n[1-1000000000]']}\n", "T414"),
    "backwards": ("blocks:\n- {nodes: ['n[3-1]']}\n", "T414"),
    "an open bracket": ("blocks:\n- {nodes: ['n[3-1']}\n", "T414"),
}


@pytest.mark.parametrize(("text", "code"), BROKEN.values(), ids=BROKEN)
def test_what_topograph_would_refuse_is_refused(text: str, code: str) -> None:
    made = model(text)
    assert made.value is None
    assert code in codes(made)
    assert all(str(each.route[0]).startswith("source:0:") and each.hint for each in made.diagnostics)


def test_a_model_that_is_cut_off_has_switches_without_nodes() -> None:
    made = model(TREE[: TREE.index("- {switch: leaf-3")])
    assert "leaf-3" in one(made, "T425").message


def test_instances_that_hang_alike_are_one_domain() -> None:
    made = graph(
        {"id": "i-1", "network_layers": ["leaf-b", "spine"], "labels": {"accelerator.topograph.run/domain": "d1"}},
        {"id": "i-2", "network_layers": ["leaf-a", "spine"], "labels": {"accelerator.topograph.run/domain": "d2"}},
        {"id": "i-3", "network_layers": ["leaf-b", "spine"], "labels": {"accelerator.topograph.run/domain": "d1"}},
    )
    (pool,) = pools(made)
    assert names(pool) == ["tier-1", "tier-0*"]
    assert shown(pool) == ["spine/leaf-a: i-2", "spine/leaf-b: i-1 i-3"]


def test_labels_that_are_the_layers_are_the_levels() -> None:
    made = graph(
        {"id": "n1", "network_layers": ["r1"], "labels": {"example.com/gpu": "H100", "example.com/rack": "r1"}},
        {"id": "n2", "network_layers": ["r2"], "labels": {"example.com/gpu": "H100", "example.com/rack": "r2"}},
    )
    assert pools(made)[0].levels == (Level("rack", "example.com/rack"),)


def test_instances_that_are_none_are_refused() -> None:
    assert codes(graph({"id": "n1", "network_layers": ["a"]}, {"id": "N1", "network_layers": ["b"]})) == [
        "T401",
        "T536",
    ]
    assert codes(graph({"labels": {}})) == ["T530"]
    assert codes(graph({"id": "n1", "network_layers": [f"s{n}" for n in range(21)]})) == ["T530"]
    assert codes(graph({"id": "n1", "network_layers": "a"})) == ["T530"]


REQUEST: dict[str, Any] = {
    "provider": {"name": "aws", "creds": {"secretAccessKey": "s3cret-1"}},
    "engine": {"name": "graph"},
    "nodes": [
        {"region": "east", "instances": {"i-1": "n1", "i-2": "N2"}},
        {"region": "west", "instances": {"i-3": "n3"}},
    ],
}


def test_a_request_says_which_instance_is_which_node() -> None:
    made = read(topograph_request, json.dumps(REQUEST))
    assert made.value is not None
    assert shown(pools(made)[0]) == ["east: n1 n2", "west: n3"]
    assert made.value.aliases == {"i-1": "n1", "i-2": "n2", "i-3": "n3", "N2": "n2", "i-N2": "n2"}


def test_credentials_are_never_shown(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    twice = {**REQUEST, "nodes": [{"instances": {"a": "n1", "b": "n1", "c": "x y"}}]}
    for number, each in enumerate((REQUEST, {**REQUEST, "nodes": []}, twice, {**REQUEST, "nodes": [1]})):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(each), encoding="utf-8")
        run(["topology", "import", str(file)])
    file.write_text(json.dumps(REQUEST)[:120], encoding="utf-8")
    run(["topology", "import", str(file)])
    out, err = capsys.readouterr()
    assert "T530" in err
    assert "T401" in err
    assert "R107" in err
    assert "s3cret" not in out + err


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ({"name": "aws-sim", "params": {"modelFileName": "medium.yaml"}}, 'to simulate "medium.yaml"'),
        ({"name": "test", "params": {}}, "to simulate an answer"),
        ({"name": "netq"}, "names no nodes"),
        ({}, "asks the configured provider"),
    ],
)
def test_a_request_without_nodes_is_refused(provider: Any, words: str) -> None:
    made = read(topograph_request, json.dumps({"provider": provider, "engine": {"name": "slurm"}}))
    assert made.value is None
    assert words in one(made, "T530").message


@settings(deadline=None, max_examples=examples(20, 100))
@given(topologies())
def test_what_is_written_is_read_back(topology: ClusterTopology) -> None:
    for module, word in ((topograph, "topograph"), (topograph_graph, "topograph-graph")):
        (file,) = module.write(topology, Target())
        made = read(module, file.text)
        assert not any(each.severity == "error" for each in made.diagnostics)
        expected = losses.minus(word, topology, Target()).pools
        assert losses.minus(word, ClusterTopology("", pools(made)), Target()).pools == expected


@settings(deadline=None, max_examples=examples(15, 60))
@given(topologies())
def test_topograph_takes_what_is_written(topology: ClusterTopology) -> None:
    """Its rules: one parent, known switches, a block has nodes, a node is in one block, one bracket at the end."""
    (file,) = topograph.write(topology, Target())
    data = parse(file.text)
    children = [child for each in (data.get("switches") or {}).values() for child in each.get("switches", ())]
    assert len(children) == len(set(children))
    assert set(children) <= set(data.get("switches") or {})
    assert all(each["nodes"] for each in data["blocks"])
    assert {each["switch"] for each in data["blocks"] if "switch" in each} <= set(data.get("switches") or {})
    written = [entry for each in data["blocks"] for entry in each["nodes"]]
    assert all(entry.count("[") == 0 or (entry.count("[") == 1 and entry.endswith("]")) for entry in written)


def anything() -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    texts = st.text(max_size=3)
    return st.recursive(plain, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2))


@settings(deadline=None, max_examples=examples(30, 150))
@given(st.data())
def test_nothing_in_a_file_stops_the_reader(data: st.DataObject) -> None:
    """Any value of a sound file replaced by anything."""
    layers = {"instances": [{"id": f"n{n}", "network_layers": ["a", "b"], "labels": {"x": "y"}} for n in range(2)]}
    sound = [
        (topograph, parse(TREE)),
        (topograph_graph, layers),
        (topograph_request, json.loads(json.dumps(REQUEST))),
    ]
    module, whole = data.draw(st.sampled_from(sound))
    spot: Any = whole
    while isinstance(spot, dict | list) and spot:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(spot[key], dict | list) or data.draw(st.booleans()):
            spot[key] = data.draw(anything())
            break
        spot = spot[key]
    made = module.new(SourceFile("x", "", (Document("x", "", 0, whole),)), ReadOptions())
    assert (made.value is None) == any(each.severity == "error" for each in made.diagnostics)


SAMPLES: dict[str, tuple[list[str], int, int]] = {
    "small-tree": (["tier-1", "tier-0*"], 2, 6),
    "large": (["tier-2", "tier-1", "tier-0*"], 12, 96),
    "nvl72": (["tier-2", "tier-1", "tier-0*"], 4, 72),
    "dual-xclr-regular": (["tier-2", "domain*", "tier-1", "tier-0"], 12, 96),
}


@there
@pytest.mark.parametrize("name", SAMPLES)
def test_models_that_topograph_ships_are_read(name: str) -> None:
    made = model((EXAMPLES / "models" / f"{name}.yaml").read_text(encoding="utf-8"))
    (pool,) = pools(made)
    levels, domains, nodes = SAMPLES[name]
    assert names(pool) == levels
    assert len(pool.domains) == domains
    assert sum(len(each.nodes) for each in pool.domains) == nodes
    assert set(codes(made)) <= {"T536"}


@there
def test_slurm_files_of_topograph_keep_the_names_in_their_comments(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topology", "import", str(EXAMPLES / "expected" / "expected.slinky-oci-sim-tree.conf")]) == 0
    out = capsys.readouterr().out
    assert "path: core/spine-1/leaf-1-1" in out
    assert "core/spine-1: switch.2.1" in out  # what Slurm calls it is kept


@there
def test_requests_that_topograph_ships_ask_for_simulations() -> None:
    files = [*(EXAMPLES / "payloads").glob("*.json"), *(EXAMPLES / "integration").glob("*.json")]
    assert len(files) == 10
    for file in files:
        made = read(topograph_request, file.read_text(encoding="utf-8"))
        assert made.value is None
        assert "simulate" in one(made, "T530").message
