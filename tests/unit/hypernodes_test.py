"""HyperNodes: what is written of a topology, and that it is read back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from bayplan.backends import BACKENDS
from bayplan.model.formats import SourceFile
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Domain, Level, NodeShape, Pool, named_queues
from bayplan.text import document
from bayplan.text.emit import emit
from bayplan.topologies import native
from bayplan.topologies.hypernodes import reading, writing
from judges import volcano as judge
from tools.data import parse, parse_all

TARGET = Target({"volcano": "1.15.1"})
LEVELS = (
    Level("zone", "example.com/zone"),
    Level("spine", "example.com/spine"),
    Level("rack", "nvidia.com/gpu.clique"),
)


def hall(*domains: Domain, levels: tuple[Level, ...] = LEVELS, **pool: Any) -> ClusterTopology:
    return ClusterTopology("hall", (Pool("nodes", NodeShape(), levels, domains, **pool),))


def written(topology: ClusterTopology) -> list[dict[str, Any]]:
    return list(parse_all("".join(emit(writing.write(topology, TARGET)))))


def source(documents: list[dict[str, Any]]) -> SourceFile:
    read = [document.Document("hypernodes.yaml", "", i, each) for i, each in enumerate(documents)]
    return SourceFile("hypernodes.yaml", "", tuple(read))


label = st.from_regex(r"[abXY01]([abXY01._-]{0,4}[abXY01])?", fullmatch=True)


@st.composite
def halls(draw: st.DrawFn) -> ClusterTopology:
    """Any tree of depth one to three; values may repeat under other parents, and differ in case or dots alone."""
    levels = LEVELS[-draw(st.integers(1, 3)) :]
    paths = draw(st.lists(st.tuples(*[label for _ in levels]), min_size=1, max_size=6, unique=True))
    domains = [Domain(path, tuple(f"n{i}-{n}" for n in range(draw(st.integers(1, 3))))) for i, path in enumerate(paths)]
    return hall(*domains, levels=levels)


@settings(deadline=None)
@given(halls())
def test_what_is_written_is_read_back(topology: ClusterTopology) -> None:
    documents = written(topology)
    assert [complaint for each in documents for complaint in judge.judge(each)] == []
    assert list(judge.tree(documents)) == []
    assert len({each["metadata"]["name"] for each in documents}) == len(documents)
    assert reading.sniff(source(documents))
    made = support.brought(reading, source(documents))
    assert made.diagnostics == ()
    assert made.value is not None
    read = native.read(made.value).value
    assert read is not None
    (pool,) = read.value.pools
    (before,) = topology.pools
    assert sorted(pool.domains) == sorted(before.domains)
    assert [level._replace(unique="global") for level in pool.levels] == list(before.levels)


def test_a_name_is_the_whole_path() -> None:
    names = [each["metadata"]["name"] for each in written(hall(Domain(("z1", "S_2", "5b1e.3"), ("n1",))))]
    assert names == ["z1", "z1.s-2", "z1.s-2.5b1e-3"]


def test_names_that_would_meet_end_in_a_hash() -> None:
    topology = hall(Domain(("r.1",), ("n1",)), Domain(("r_1",), ("n2",)), Domain(("r2",), ("n3",)), levels=LEVELS[2:])
    third, first, second = (each["metadata"]["name"] for each in written(topology))
    assert first.startswith("r-1-")
    assert second.startswith("r-1-")
    assert first != second
    assert third == "r2"


def test_unusable_nodes_and_what_holds_no_others_are_left_out() -> None:
    domains = (Domain(("z", "s", "r1"), ("n1", "n2")), Domain(("z", "t", "r2"), ("n3",)))
    documents = written(hall(*domains, unusable={"cordoned": ("n2", "n3")}))
    assert [each["metadata"]["name"] for each in documents] == ["z", "z.s", "z.s.r1"]
    assert [m["selector"]["exactMatch"]["name"] for m in documents[-1]["spec"]["members"]] == ["n1"]


def test_pools_share_the_domains_that_agree() -> None:
    """GPU and CPU nodes under one spine, and nodes without levels: one tree."""
    gpu = Pool("gpu", NodeShape(), LEVELS[1:], (Domain(("s", "r1"), ("g1",)), Domain(("s", "r2"), ("g2",))))
    cpu = Pool("cpu", NodeShape(), LEVELS[1:], (Domain(("s", "r1"), ("c1",)), Domain(("s", "r3"), ("c3",))))
    rest = Pool("rest", NodeShape(), (), (Domain((), ("x1",)),))
    documents = written(ClusterTopology("hall", (gpu, cpu, rest)))
    members = {
        each["metadata"]["name"]: [m["selector"]["exactMatch"]["name"] for m in each["spec"]["members"]]
        for each in documents
    }
    assert members == {"s": ["s.r1", "s.r2", "s.r3"], "s.r1": ["g1", "c1"], "s.r2": ["g2"], "s.r3": ["c3"]}
    assert list(judge.tree(documents)) == []


def test_an_irrelevant_spine_changes_no_other_hyper_node() -> None:
    before = written(hall(Domain(("z", "s", "r1"), ("n1",)), levels=LEVELS))
    after = written(hall(Domain(("z", "s", "r1"), ("n1",)), Domain(("y", "q", "r2"), ("n2",)), levels=LEVELS))
    assert all(each in after for each in before)


def test_discovery_takes_the_hosts_label_last() -> None:
    """It leaves the last label out, whatever it is."""
    topology = hall(Domain(("z", "s", "r"), ("n",)))._replace(schedulers={"volcano": {"hyperNodes": "discovered"}})
    (config,) = written(topology)
    assert (config["kind"], config["metadata"]["name"]) == ("ConfigMap", "volcano-controller-configmap")
    (found,) = parse(config["data"]["volcano-controller.conf"])["networkTopologyDiscovery"]
    labels = [each["nodeLabel"] for each in found["config"]["networkTopologyTypes"]["nodes"]]
    assert labels == [*(level.label for level in LEVELS), "kubernetes.io/hostname"]
    assert (found["source"], found["enabled"]) == ("label", True)


def test_a_type_of_discovery_has_twenty_characters_at_most() -> None:
    pools = [
        Pool(f"a-pool-with-a-very-long-name-{i}", NodeShape(), LEVELS[i:], (Domain(("z", "s", "r")[i:], (f"n{i}",)),))
        for i in range(2)
    ]
    topology = ClusterTopology("hall", tuple(pools), schedulers={"volcano": {"hyperNodes": "discovered"}})
    (config,) = written(topology)
    types = parse(config["data"]["volcano-controller.conf"])["networkTopologyDiscovery"][0]["config"][
        "networkTopologyTypes"
    ]
    assert [len(each) for each in types] == [20, 20]


def test_hyper_nodes_of_others_are_read_by_their_names() -> None:
    """A list, as kubectl prints it, without any notes of ours."""
    rack = {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": n}}} for n in ("n1", "n2")]}
    spine = {"tier": 2, "members": [{"type": "HyperNode", "selector": {"exactMatch": {"name": "r0"}}}]}
    items = [
        {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}, "spec": spec}
        for name, spec in (("s0", spine), ("r0", rack))
    ]
    made = support.brought(reading, source([{"apiVersion": "v1", "kind": "List", "items": items}])).value
    assert made is not None
    (pool,) = made["spec"]["pools"]
    assert pool["domains"] == [{"path": "s0/r0", "nodes": "n[1-2]"}]
    assert [level["name"] for level in pool["levels"]] == ["tier-2", "tier-1"]


@pytest.mark.parametrize("data", [{}, {"kind": "HyperNode"}, [], None, {"items": [{"kind": "Pod"}]}])
def test_other_files_are_not_taken_for_hyper_nodes(data: Any) -> None:
    assert not reading.sniff(source([data]))


def test_queues_that_volcano_makes_itself_are_not_written() -> None:
    topology = hall(Domain(("z", "s", "r"), ("n",)))._replace(queues=named_queues("default", "research"))
    queues = [each for each in BACKENDS["volcano"].cluster.objects(topology, TARGET) if each["kind"] == "Queue"]
    assert [each["metadata"]["name"] for each in queues] == ["research"]


@pytest.mark.parametrize("levels", [["spine", "rack"], ["rack"]])
def test_tiers_of_workloads_are_those_of_the_hyper_nodes(levels: list[str]) -> None:
    """The number in a PodGroup is the tier of the HyperNodes that stand for the level."""
    topology = {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"]}}
    for level in levels:
        gang = {"name": "train", "placement": {"required": level}, "podSets": [{**support.WORKER, "replicas": 2}]}
        result = support.run(
            support.workflow(gang), topology, scheduler="volcano", target={"volcano": "1.15.1"}, cluster_objects=True
        )
        (group,) = result.kinds("PodGroup")
        tiers = {
            each["metadata"]["annotations"]["bayplan.dev/level"]: each["spec"]["tier"]
            for each in result.kinds("HyperNode")
        }
        assert group["spec"]["networkTopology"]["highestTierAllowed"] == tiers[level]
