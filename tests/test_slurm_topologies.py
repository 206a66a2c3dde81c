"""Slurm's topology files, both ways: what others wrote is read or refused, what is written reads back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from bayplan import pipeline
from bayplan.model.formats import ReadOptions, SourceFile
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Domain, Level, NodeShape, Pool
from bayplan.plugins.slurm.topology import topology_conf as slurm_conf
from bayplan.plugins.slurm.topology import topology_yaml as slurm_yaml
from bayplan.text import document
from bayplan.text.document import Document
from bayplan.topologies import native
from judges import UPSTREAM
from tools.data import parse, parse_all

COVERS = {"T530", "T401", "T532", "T475", "T529", "T480", "T482", "T555", "T425"}
EXAMPLES = UPSTREAM / "examples" / "slurm"
NEWEST, OLDEST = Target(), Target({"slurm": "24.11"})


def source(text: str, name: str = "topology.yaml") -> SourceFile:
    documents = [Document(name, text, n, data) for n, data in enumerate(parse_all(text))] if "- " in text else []
    return SourceFile(name, text, tuple(documents))


def read(text: str) -> tuple[dict[str, Any] | None, list[str]]:
    """The native document, and the codes."""
    given = source(text)
    module = next((each for each in (slurm_yaml, slurm_conf) if each.sniff(given)), slurm_conf)
    outcome = support.brought(module, given)
    return outcome.value, [each.code for each in outcome.diagnostics]


BROKEN_CONF = {
    "a key that is none": ("BlockNam=a Nodes=n1", "T530"),
    "rings": ("RingName=a Nodes=n[1-8]", "T530"),
    "words": ("BlockName=a and more", "T530"),
    "an odd key": ("BlockName=a Nodes=n1 Colour=red", "T530"),
    "both plugins": ("BlockName=a Nodes=n1\nSwitchName=b Nodes=n2", "T530"),
    "nothing": ("# only words\n", "T530"),
    "a range that runs backwards": ("BlockName=a Nodes=n[5-3]", "T530"),
    "a block twice": ("BlockName=a Nodes=n1\nBlockName=a Nodes=n2", "T401"),
    "a child that is missing": ("SwitchName=a Switches=b", "T532"),
    "a circle": ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "T532"),
    "a switch below itself": ("SwitchName=a Switches=a", "T532"),
    "a node in two blocks": ("BlockName=a Nodes=n[1-4]\nBlockName=b Nodes=n[4-8]", "T401"),
    "a node on two leaves": ("SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n4", "T401"),
    "12 is not 4 times a power of two": ("BlockName=a Nodes=n[1-4]\nBlockSizes=4,12", "T475"),
    "a size of 0": ("BlockName=a Nodes=n[1-4]\nBlockSizes=0", "T475"),
    "a size that is no number": ("BlockName=a Nodes=n[1-4]\nBlockSizes=four", "T475"),
    "a level above 15": ("BlockName=a Nodes=n1\nBlockSizes=1,65536", "T475"),
    "a block that is too small": ("BlockName=a Nodes=n[1-4]\nBlockName=b Nodes=n5\nBlockSizes=4", "T475"),
    "a list that is cut off": ("BlockName=a BlockIndex=0 Nodes=n[01-1", "T529"),
    "a line without its size": ("BlockName=a BlockIndex=0 Nodes=n[01-18]", "T529"),
    "a shorter list of nodes": (
        (
            "SwitchName=a Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=b,c\n"
            "SwitchName=b Level=0 LinkSpeed=1 Nodes=n[1-4]\nSwitchName=c Level=0 LinkSpeed=1 Nodes=n5"
        ),
        "T529",
    ),
    "nodes and switches": ("SwitchName=a Switches=b Nodes=n1\nSwitchName=b Nodes=n2", "T532"),
    "21 levels": (
        "\n".join(f"SwitchName=s{n} Switches=s{n + 1}" for n in range(20)) + "\nSwitchName=s20 Nodes=n1",
        "T480",
    ),
    "a long name": (f"BlockName={'b' * 65} Nodes=n1", "T480"),
    "too many nodes": ("BlockName=a Nodes=n[1-65537]", "T480"),
    "two parents": ("SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=n1", "T532"),
}
BROKEN_CONF |= {
    "a node twice in a block": ("BlockName=a Nodes=n1,n[1-2]", "T401"),
    "two names that become one": ("BlockName=a+b Nodes=n1\nBlockName=a:b Nodes=n2", "T536"),
    "a long chain": (
        "\n".join(f"SwitchName=s{n + 1} Switches=s{n}" for n in range(5000)) + "\nSwitchName=s0 Nodes=n1",
        "T480",
    ),
    "a large circle": ("\n".join(f"SwitchName=s{n} Switches=s{(n + 1) % 5000}" for n in range(5000)), "T532"),
}
BROKEN_YAML = {
    "two documents": (
        "- {topology: a, block: {blocks: {block: b, nodes: n1}}}\n---\n- {topology: c, flat: true}\n",
        "T530",
    ),
    "no name": ("- {topology: 3, flat: true}", "T530"),
    "no list": ("- {topology: a, tree: {switches: s1}}", "T530"),
    "an odd key": ("- {topology: a, tree: {switches: [{switch: s, node: n1}]}}", "T530"),
    "no kind": ("- {topology: a, flat: false}", "T530"),
    "two kinds": ("- {topology: a, flat: true, block: {blocks: [{block: b, nodes: n1}]}}", "T530"),
    "text for sizes": ('- {topology: a, block: {block_sizes: "4", blocks: [{block: b, nodes: n1}]}}', "T475"),
    "a torus": ("- {topology: a, torus3d: {toruses: []}}", "T555"),
    "two of one name": (
        "- {topology: a, tree: {switches: {switch: s, nodes: n1}}}\n- {topology: a, block: {blocks: {block: b}}}",
        "T401",
    ),
}


@pytest.mark.parametrize(
    ("text", "code"), [*BROKEN_CONF.values(), *BROKEN_YAML.values()], ids=[*BROKEN_CONF, *BROKEN_YAML]
)
def test_what_slurm_would_refuse_is_found(text: str, code: str) -> None:
    made, codes = read(text)
    assert code in codes
    assert (made is None) or code == "T475"


def test_what_is_worth_knowing_is_said() -> None:
    text = "SwitchName=a Switches=b\nSwitchName=b Nodes=n1\nSwitchName=c Nodes=n2"
    assert read(text)[1] == ["T532", "T482"]
    blocks = "BlockName=a Nodes=n[1-4]\nBlockName=b\nBlockName=c Nodes=n[5-8]\nBlockSizes=4,8"
    made, codes = read(blocks)
    assert codes == ["T425", "T482"]
    assert made
    assert [each["path"] for each in made["spec"]["pools"][0]["domains"]] == ["a-x2/a", "c-x2/c"]
    assert read("- {topology: a, flat: true}\n- {topology: b, tree: {switches: {switch: s, nodes: n1}}}")[1] == [
        "T555",
        "T482",
    ]


SAMPLES = sorted(
    path for path in EXAMPLES.rglob("*") if path.suffix in {".conf", ".yaml", ".txt"} and path.name[0] not in "RS"
)
SAMPLES = [path for path in SAMPLES if path.name != "slurm.conf"]


@pytest.mark.skipif(not SAMPLES, reason="no upstream examples here")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_upstreams_files_are_read_or_refused(path: Path) -> None:
    made, _ = read(path.read_text(encoding="utf-8"))
    assert (made is None) == (path.parent.name == "bad-yaml")
    if made is not None:
        outcome, _ = pipeline.check_topology(document.Document("t.yaml", "", 0, made))
        assert outcome.value is not None, outcome.diagnostics


def test_comments_belong_to_their_topology() -> None:
    text = """
# levels of one: rack=x.io/rack
- topology: one
  block:
    blocks:
    # b1=rack-a
    - {block: b1, nodes: "n[1-2]"}
- cluster_default: true
  topology: "two"  # another one
  block:
    blocks:
    # b1=rack-z
    - {block: b1, nodes: "m[1-2]"}
    - {block: b2, nodes: "m[3-4]"}
"""
    made, _ = read(text)
    assert made
    paths = [[row["path"] for row in pool["domains"]] for pool in made["spec"]["pools"]]
    assert paths == [["rack-a"], ["rack-z", "b2"]]


def test_names_that_end_in_many_digits() -> None:
    assert "T480" in read(f"BlockName=b{'1' * 19} Nodes=n1")[1]
    assert "T480" not in read(f"BlockName=b{'1' * 18} Nodes=n1")[1]


@pytest.mark.parametrize(
    ("order", "codes"),
    [("a1 a2 b1 b2", []), ("a1 b1 a2 b2", ["T510"]), ("a1 a2 a3 b1", ["T510"]), ("a1 a2 a3 - b1", ["T425"])],
)
def test_blocks_that_are_planned_together_across_a_spine(order: str, codes: list[str]) -> None:
    lines = ["# levels of default: spine=x.io/spine rack=x.io/rack", "BlockSizes=1,2,4"]
    for name in order.split():
        lines += (
            ["BlockName=none"]
            if name == "-"
            else [f"# {name}=spine-{name[0]}/{name}", f"BlockName={name} Nodes=n-{name}"]
        )
    assert read("\n".join(lines))[1] == codes


def test_names_that_case_tells_apart() -> None:
    assert "T536" in read("BlockName=a Nodes=n1\nBlockName=A Nodes=n2")[1]
    assert "T536" in read("BlockName=a Nodes=n1,N1")[1]


def test_places_are_those_of_the_units() -> None:
    part = slurm_conf.new(source("SwitchName=a Switches=b\nSwitchName=b Nodes=n[1-2]"), ReadOptions()).value
    assert part
    assert part.places == {"n1": ("source:0:0", "\x00at", 2, 1), "n2": ("source:0:0", "\x00at", 2, 1)}


@pytest.mark.parametrize(("nodes", "codes"), [("n[1-65536]", set()), ("n[1-65537]", {"F614"})])
@pytest.mark.parametrize("to", ["slurm", "slurm-conf"])
def test_more_nodes_than_slurm_takes_are_not_exported(nodes: str, codes: set[str], to: str) -> None:
    pool = {**support.TOPOLOGY["spec"]["pools"][0], "domains": [{"path": "s/r", "nodes": nodes}]}
    data = {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "pools": [pool]}}
    outcome, _ = pipeline.cluster_objects(Document("t.yaml", "", 0, data), to, {})
    assert {each.code for each in outcome.diagnostics} & {"F614"} == codes
    assert (outcome.value is None) == bool(codes)


def test_what_scontrol_prints_is_the_file() -> None:
    conf = "BlockName=a Nodes=n[1-4]\nBlockName=b Nodes=n[5-8]\nBlockSizes=4,8\n"
    shown = (
        "BlockName=a BlockIndex=0 Nodes=n[1-4] BlockSize=4\nBlockName=b BlockIndex=1 Nodes=n[5-8] BlockSize=4\n"
        "AggregatedBlock=a,b BlockIndex=2 Nodes=n[1-8] BlockSize=8\n"
    )
    assert read(conf) == read(shown)


levels = [
    Level("zone", "x.io/zone"),
    Level("spine", "x.io/spine"),
    Level("rack", "x.io/rack", True),
]


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    """A pool of one to three levels with uneven numbers of domains."""
    depth = draw(st.integers(1, 3))
    paths: list[tuple[str, ...]] = [()]
    for level in range(depth):
        paths = [
            (*path, f"{'zsr'[level]}{'-'.join(path)}{n}") for path in paths for n in range(draw(st.integers(1, 4)))
        ]
    rows = tuple(
        Domain(path, tuple(f"n{r}-{n}" for n in range(draw(st.integers(1, 5))))) for r, path in enumerate(paths)
    )
    return Pool("gpu", NodeShape(), tuple(levels[-depth:]), rows)


@settings(max_examples=80, deadline=None)
@given(pool=pools(), plugin=st.sampled_from(["block", "tree"]), conf=st.booleans())
def test_what_is_written_reads_back(pool: Pool, plugin: str, conf: bool) -> None:
    topology = ClusterTopology("hall", (pool,), schedulers={"slurm": {"plugin": plugin}})
    (file,) = (slurm_conf if conf else slurm_yaml).write(topology, NEWEST)
    made, codes = read(file.text)
    assert set(codes) <= {"T425", "T475"}
    assert made is not None
    again = native.read(made).value
    assert again is not None
    (back,) = again.value.pools
    assert (back.levels, sorted(back.domains)) == (pool.levels, sorted(pool.domains))


@settings(max_examples=80, deadline=None)
@given(pool=pools(), target=st.sampled_from([NEWEST, OLDEST]))
def test_domains_are_aligned_runs_of_blocks(pool: Pool, target: Target) -> None:
    """Each planning size above the base cuts the file into runs, and no run holds parts of two domains of its level."""
    topology = ClusterTopology("hall", (pool,))
    (file,) = slurm_conf.write(topology, target)
    outcome = slurm_conf.networks(file.text)
    assert outcome.value is not None, outcome.diagnostics
    network = outcome.value[0]
    base, home = network.sizes[0], {node: row.path for row in pool.domains for node in row.nodes}
    if target == OLDEST:
        assert all(len(unit.nodes) >= base for unit in network.units)
    for size in network.sizes[1:]:
        run = size // base
        cuts = [network.units[at : at + run] for at in range(0, len(network.units), run)]
        depth = _depth(cuts, home, pool)
        held = [{home[node][:depth] for unit in cut for node in unit.nodes} for cut in cuts]
        assert all(len(paths) <= 1 for paths in held)


def _depth(cuts: list[Any], home: dict[str, tuple[str, ...]], pool: Pool) -> int:
    """The finest level at which as many domains have nodes as runs have."""
    filled = sum(any(unit.nodes for unit in cut) for cut in cuts)
    return max(d for d in range(len(pool.levels) + 1) if len({path[:d] for path in home.values()}) == filled)


def test_names_are_mapped_and_made_fit() -> None:
    domains = (Domain(("r,1",), ("gb-1", "gb-2")), Domain(("r-1",), ("gb-3",)), Domain(("1" * 20,), ("gb-4",)))
    slurm = {"names": [{"from": r"gb-(\d+)", "to": r"node\1"}]}
    pool = Pool("gpu", NodeShape(), (Level("rack", "example.com/rack"),), domains)
    (file,) = slurm_conf.write(ClusterTopology("hall", (pool,), schedulers={"slurm": slurm}), NEWEST)
    assert [line for line in file.text.splitlines() if line.startswith("BlockName")] == [
        "BlockName=r-1 Nodes=node[1-2]",
        "BlockName=r-1-2 Nodes=node3",
        f"BlockName={'1' * 20}_ Nodes=node4",
    ]


def test_a_topology_conf_holds_all_pools() -> None:
    """Slurm never uses nodes that its topology leaves out, so a pool without levels is a block too."""
    topology = ClusterTopology(
        "hall",
        (
            Pool(
                "gpu",
                NodeShape(),
                tuple(levels[1:]),
                (Domain(("s", "r1"), ("g1", "g2")), Domain(("s", "r2"), ("g3", "g4"))),
            ),
            Pool("cpu", NodeShape(), (), (Domain((), ("c1", "c2", "c3")),)),
        ),
    )
    (file,) = slurm_conf.write(topology, OLDEST)
    assert [line for line in file.text.splitlines() if not line.startswith("#")] == [
        "BlockSizes=2,8",
        "BlockName=r1 Nodes=g[1-2]",
        "BlockName=r2 Nodes=g[3-4]",
        "BlockName=cpu Nodes=c[1-3]",
    ]
    (file,) = slurm_yaml.write(topology, NEWEST)
    assert [each["topology"] for each in parse(file.text)] == ["gpu", "cpu"]


def test_100_000_nodes_are_written_in_a_moment() -> None:
    rows = tuple(
        Domain((f"s{rack // 40}", f"r{rack}"), tuple(f"n{rack:04}-{n:02}" for n in range(18))) for rack in range(3600)
    )
    pool = Pool("gpu", NodeShape(), tuple(levels[1:]), rows)
    for plugin in ("block", "tree"):
        topology = ClusterTopology("hall", (pool,), schedulers={"slurm": {"plugin": plugin}})
        (file,) = slurm_yaml.write(topology, NEWEST)
        assert file.text.count("nodes:") == 3600


def test_the_pretrain_topology_exports_with_placeholders() -> None:
    outcome, _ = pipeline.cluster_objects(document.Document("t", "", 0, support.TOPOLOGY), "slurm", {"slurm": "25.11"})
    assert outcome.value
    assert "block_sizes: [18, 72, 144]" in outcome.value[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("plan", "racks", "expected"), [(2, 2, [2, 8]), (2, 1, [2, 4]), (2, 3, [2, 16]), (1, 2, [1, 8]), (3, 3, [3, 12])]
)
def test_a_size_holds_all_blocks_and_all_nodes(plan: int, racks: int, expected: list[int]) -> None:
    """Slurm starts no job with more nodes than the largest size. A rack may have more nodes than are planned."""
    rack = Level("rack", "x.io/rack", plan=plan)
    domains = tuple(Domain((f"r{number}",), tuple(f"n{number}{node}" for node in "abc")) for number in range(racks))
    topology = ClusterTopology("hall", (Pool("gpu", NodeShape(), (rack,), domains),))
    (file,) = slurm_yaml.write(topology, NEWEST)
    assert parse(file.text)[0]["block"]["block_sizes"] == expected
    assert "T475" not in read(file.text)[1]


@pytest.mark.parametrize(
    ("sizes", "most"), [("BlockSizes=2\n", 2), ("BlockSizes=2,4\n", 4), ("BlockSizes=2,32\n", 0), ("", 0)]
)
def test_sizes_that_hold_not_all_nodes(sizes: str, most: int) -> None:
    text = sizes + "".join(f"BlockName=b{number} Nodes=n{number}a,n{number}b\n" for number in range(16))
    assert ("T475" in read(text)[1]) == bool(most)
    assert "T475" in read(text + "BlockName=b16 Nodes=na,nb\n")[1]


BESIDE = """\
- topology: gb200
  cluster_default: {blocks}
  block:
    block_sizes: [2, 4]
    blocks: [{{block: b1, nodes: "n[1-2]"}}, {{block: b2, nodes: "n[3-4]"}}, {{block: b3, nodes: "n[5-6]"}}]
- topology: h100
  block: {{block_sizes: [2], blocks: [{{block: h1, nodes: "m[1-2]"}}, {{block: h2, nodes: "m[3-4]"}}]}}
- topology: fabric
  cluster_default: {tree}
  tree:
    switches:
    - {{switch: top, children: "s[1-4]"}}
    - {{switch: s1, nodes: "n[1-4]"}}
    - {{switch: s2, nodes: "n[5-6]"}}
    - {{switch: s3, nodes: "m[1-4]"}}
    - {{switch: s4, nodes: "c[1-2]"}}
"""


@pytest.mark.parametrize("default", ["blocks", "tree"])
def test_topologies_of_the_same_nodes_are_one_pool_and_come_back(default: str) -> None:
    """Blocks beside a tree of switches (Slurm 25.05): blocks nest in switches, and all keep their names."""
    text = BESIDE.format(blocks=str(default == "blocks").lower(), tree=str(default == "tree").lower())
    document, codes = read(text)
    assert document is not None, codes
    assert set(codes) <= {"T482", "T433", "T475"}
    pools = {each["name"]: each for each in document["spec"]["pools"]}
    assert [each["path"] for each in pools["gb200"]["domains"]] == ["top/s1/b1", "top/s1/b2", "top/s2/b3"]
    assert [each["path"] for each in pools["h100"]["domains"]] == ["top/s3/h1", "top/s3/h2"]
    assert [each["path"] for each in pools["fabric"]["domains"]] == ["top/s4"]
    made = native.read(document).value
    assert made is not None
    (file,) = slurm_yaml.write(made.value, NEWEST)
    back = {each["topology"]: each for each in parse(file.text)}
    assert list(back) == ["gb200", "fabric", "h100"]
    assert [name for name, each in back.items() if each["cluster_default"]] == [
        "gb200" if default == "blocks" else "fabric"
    ]
    blocks = {each["block"]: each["nodes"] for each in back["gb200"]["block"]["blocks"] if "nodes" in each}
    assert blocks == {"b1": "n[1-2]", "b2": "n[3-4]", "b3": "n[5-6]"}
    switches = {each["switch"]: each for each in back["fabric"]["tree"]["switches"]}
    assert sorted(switches["top"]["children"].split(",")) == ["s1", "s2", "s3", "s4"]
    assert [switches[f"s{n}"]["nodes"] for n in (1, 2, 3, 4)] == ["n[1-4]", "n[5-6]", "m[1-4]", "c[1-2]"]
    again, _ = read(file.text)
    assert again is not None
    assert [each["domains"] for each in again["spec"]["pools"]] == [each["domains"] for each in pools.values()]


def test_blocks_that_cross_switches_are_refused() -> None:
    text = BESIDE.format(blocks="true", tree="false").replace('s1, nodes: "n[1-4]"', 's1, nodes: "n[1-3]"')
    _, codes = read(text.replace('s2, nodes: "n[5-6]"', 's2, nodes: "n[4-6]"'))
    assert "T438" in codes
    assert "T401" not in codes


def test_planning_sizes_that_cross_switches_are_no_levels() -> None:
    """Slurm plans b2 and b3 together here, although a switch separates them."""
    text = BESIDE.format(blocks="true", tree="false").replace('s1, nodes: "n[1-4]"', 's1, nodes: "n[1-2]"')
    document, codes = read(text.replace('s2, nodes: "n[5-6]"', 's2, nodes: "n[3-6]"'))
    assert document is not None, codes
    levels = [each["name"] for each in document["spec"]["pools"][0]["levels"]]
    assert levels == ["switch-1", "switch-0", "block"]


def test_nodes_that_only_one_of_two_topologies_lists() -> None:
    """The pools of a block topology inside and outside of the switches have names of their own."""
    blocks = "- topology: a\n  block: {block_sizes: [1], blocks: [{block: b1, nodes: n1}, {block: b2, nodes: n2}]}\n"
    document, codes = read(f"{blocks}- topology: f\n  tree: {{switches: [{{switch: s1, nodes: 'n[1,3]'}}]}}\n")
    assert document is not None, codes
    assert [each["name"] for each in document["spec"]["pools"]] == ["a", "a-2", "f"]
    made = native.read(document).value
    assert made is not None
    (file,) = slurm_yaml.write(made.value, NEWEST)
    back = {each["topology"]: each for each in parse(file.text)}
    assert [each["nodes"] for each in back["f"]["tree"]["switches"] if "nodes" in each] == ["n[1,3]"]
    assert [each["nodes"] for each in back["a"]["block"]["blocks"] if "nodes" in each] == ["n1", "n2"]
