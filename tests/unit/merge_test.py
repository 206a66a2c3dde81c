"""Several sources of one cluster: what they say together is one topology, or a contradiction with both origins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.core.diagnostics import AT
from bayplan.model.formats import Part
from bayplan.model.topology import (
    AcceleratorKind,
    ClusterTopology,
    Domain,
    Level,
    NodeShape,
    Pool,
    Queue,
    Quota,
    named_queues,
)
from bayplan.topologies import hostlist
from bayplan.topologies.merging import merge

COVERS = {"T437", "T438", "T439", "T440", "T446"}

SPINE, RACK = Level("spine", "x/spine"), Level("rack", "x/rack", nvlink=True)
BLOCK = Level("block", "topology.bayplan.dev/block", apply=True)
ROWS = {"s1/r1": "n[1-4]", "s1/r2": "n[5-8]", "s2/r3": "n[9-12]"}


def part(source: str, levels: Sequence[Level], rows: dict[str, str], **pool: Any) -> Part:
    """What a source with one pool says."""
    domains = tuple(Domain(tuple(path.split("/")) if path else (), hostlist.expand(n)) for path, n in rows.items())
    made = Pool(pool.pop("name", "gb200"), pool.pop("node", NodeShape()), tuple(levels), domains, **pool)
    places = {node: ("source:0:0", AT, line, 1) for line, each in enumerate(domains, 1) for node in each.nodes}
    return Part(ClusterTopology(source, (made,)), places, source=source)


def rows(pool: Pool) -> dict[str, str]:
    return {"/".join(each.path): hostlist.compress(each.nodes) for each in pool.domains}


def merged(*parts: Part, codes: Sequence[str] = ()) -> tuple[Pool, ...]:
    """The pools of a merge with just these findings."""
    made = merge(parts)
    assert [each.code for each in made.diagnostics] == list(codes), made.diagnostics
    return made.value.topology.pools if made.value else ()


NODES = part("nodes", (SPINE, RACK), ROWS, node=NodeShape("gb200", 4), unusable={"cordoned": ("n3",)})


def test_equal_levels_are_one_and_keep_the_label_that_nodes_carry() -> None:
    blocks = part("slurm", [BLOCK._replace(plan=3)], {"b1": "n[1-4]", "b2": "n[5-8]", "b3": "n[9-12]"}, name="block")
    (pool,) = merged(NODES, blocks)
    assert pool.levels == (SPINE, RACK._replace(plan=3))
    assert (rows(pool), pool.node, pool.unusable) == (ROWS, NodeShape("gb200", 4), {"cordoned": ("n3",)})
    (other,) = merged(blocks, NODES)
    assert other.levels == (SPINE, Level("block", "x/rack", nvlink=True, plan=3))
    assert (rows(other), other.node.accelerator) == (ROWS, "gb200")


def test_coarser_and_finer_levels_are_put_where_they_belong() -> None:
    halves = part("half", [Level("half", "x/half")], {"h1": "n[1-2]", "h2": "n[3-4]", "h3": "n[5-8]", "h4": "n[9-12]"})
    zones = part("zones", [Level("zone", "x/zone")], {"z": "n[1-12]"})
    (pool,) = merged(NODES, halves, zones)
    assert [level.name for level in pool.levels] == ["zone", "spine", "rack", "half"]
    assert rows(pool)["z/s1/r1/h2"] == "n[3-4]"


def test_what_a_later_source_lacks_follows_from_the_neighbours() -> None:
    (pool,) = merged(NODES, part("zones", [Level("zone", "x/zone")], {"z": "n[1-7],n[9-11]"}), codes=["T446"])
    assert rows(pool) == {f"z/{path}": nodes for path, nodes in ROWS.items()}


def test_a_node_that_follows_from_nothing() -> None:
    halves = part("half", [Level("half", "x/half")], {"h1": "n[1-2]", "h2": "n3", "h3": "n[5-8]", "h4": "n[9-12]"})
    assert merged(NODES, halves, codes=["T440"]) == ()
    racks = part("racks", [BLOCK], {"b1": "n[1-4]", "b2": "n[5-8]", "b3": "n[9-12]", "b4": "n13"})
    (pool,) = merged(NODES, racks, codes=["T440"])
    assert rows(pool) == ROWS


def test_a_node_that_only_a_later_source_knows() -> None:
    (pool,) = merged(
        NODES, part("racks", [BLOCK], {"b1": "n[1-4],n99", "b2": "n[5-8]", "b3": "n[9-12]"}), codes=["T439"]
    )
    assert rows(pool)["s1/r1"] == "n[1-4,99]"


def test_levels_that_cross_name_both_origins() -> None:
    made = merge((NODES, part("ib", [Level("leaf", "x/leaf")], {"l1": "n[1-3],n9", "l2": "n[4-8],n[10-12]"})))
    (found,) = made.diagnostics
    assert (made.value, found.code) == (None, "T438")
    assert all(source in found.message for source in ("of nodes", "of ib"))
    assert {note.message.split(" in ")[1] for note in found.notes} == {"nodes", "ib"}


def test_cards_must_agree_and_memory_is_what_the_first_says() -> None:
    eight = part("slurm", (), {"": "n[1-12]"}, node=NodeShape("gb200", 8))
    assert merged(NODES, eight, codes=["T438"]) == ()
    more = part("slurm", (), {"": "n[1-12]"}, node=NodeShape(resources={"cpu": 144000}))
    (pool,) = merged(NODES._replace(), more)
    assert pool.node == NodeShape("gb200", 4, {"cpu": 144000})


def test_shapes_part_a_tree_that_knows_none() -> None:
    tree = part("tree", (SPINE,), {"s1": "n[1-4]", "s2": "n[5-8]"})
    shapes = Part(
        ClusterTopology(
            "shapes",
            (
                Pool("h100", NodeShape("h100", 8), (), (Domain((), hostlist.expand("n[1-2],n[5-8]")),)),
                Pool("cpu", NodeShape(resources={"cpu": 1000}), (), (Domain((), ("n3", "n4")),)),
            ),
        ),
        source="shapes",
    )
    pools = merged(tree, shapes)
    assert [(pool.name, rows(pool)) for pool in pools] == [
        ("h100", {"s1": "n[1-2]", "s2": "n[5-8]"}),
        ("cpu", {"s1": "n[3-4]"}),
    ]


def test_frames_give_what_they_know_to_the_pool_of_their_name() -> None:
    frame = Part(
        ClusterTopology(
            "kueue",
            (Pool("gb200", NodeShape(node_selector={"a": "b"})), Pool("h100", NodeShape())),
            queues=named_queues("q"),
        ),
        source="kueue",
    )
    made = merge((frame, NODES))
    assert [each.code for each in made.diagnostics] == ["T437"]
    assert made.value
    (pool,) = made.value.topology.pools
    assert (pool.node.node_selector, pool.levels, made.value.topology.queues) == (
        {"a": "b"},
        (SPINE, RACK),
        named_queues("q"),
    )


def test_quotas_of_a_pool_without_nodes_belong_to_its_twin() -> None:
    levels = (SPINE, RACK)
    listed = (Queue("q", "", (Quota("cpu", "flavor", 1), Quota("cpu", "other", 2))),)
    frame = ClusterTopology("kueue", (Pool("flavor", NodeShape(), levels), Pool("other", NodeShape())), queues=listed)
    made = merge((Part(frame, source="kueue"), NODES))
    assert made.value
    (pool,) = made.value.topology.pools
    assert made.value.topology.queues == (Queue("q", "", (Quota("cpu", pool.name, 1),)),)


def test_other_names_of_nodes() -> None:
    nodes = NODES._replace(aliases={f"i-{n}": f"n{n}" for n in range(1, 13)})
    (pool,) = merged(nodes, part("aws", [Level("zone", "x/zone")], {"z": "i-[1-12]"}))
    assert (rows(pool)["z/s1/r1"], len(pool.domains)) == ("n[1-4]", 3)


def test_strangers_stand_side_by_side() -> None:
    pools = merged(NODES, part("other", (RACK,), {"r9": "m[1-4]"}), codes=["T439"])
    assert [pool.name for pool in pools] == ["gb200", "gb200-2"]


def test_two_lists_of_equal_nodes_are_one_pool() -> None:
    """A rack is in one pool, and not half of it in another of the same nodes."""
    more = part("more", (SPINE, RACK), {"s1/r2": "n[13-14]", "s2/r9": "n15"}, node=NodeShape("gb200", 4))
    (pool,) = merged(NODES, more)
    assert rows(pool) == {**ROWS, "s1/r2": "n[5-8,13-14]", "s2/r9": "n15"}
    assert len(merged(NODES, part("more", (SPINE, RACK), {"s1/r2": "n13"}), codes=["T439"])) == 2


def test_a_node_has_one_value_of_a_label() -> None:
    made = merge((NODES, part("older", (SPINE, RACK), {**ROWS, "s1/r2": "n[5-7]", "s1/r9": "n8"})))
    assert {each.code for each in made.diagnostics} == {"T438"}
    assert '"n8" is "r2" in nodes and "r9" in older' in made.diagnostics[0].message


def test_any_name_of_cards_is_better_than_none() -> None:
    (pool,) = merged(NODES, part("slurm", (), {"": "n[1-12]"}, node=NodeShape("gpu", 4)))
    assert pool.node.accelerator == "gb200"
    (pool,) = merged(part("slurm", (), {"": "n[1-12]"}, node=NodeShape("gpu", 4)), NODES)
    assert pool.node.accelerator == "gb200"


@pytest.mark.parametrize(
    ("one", "other", "codes"),
    [
        ({"versions": {"kai": "0.17"}}, {"versions": {"kai": "0.16"}}, ["T438"]),
        ({"versions": {"kai": "0.17"}}, {"versions": {"kueue": "0.16"}}, []),
        ({"defaults": {"scheduler": "kai"}}, {"defaults": {"scheduler": "kueue", "queue": "q"}}, []),
        ({"schedulers": {"slurm": {"plugin": "tree"}}}, {"schedulers": {"slurm": {"plugin": "block"}}}, ["T438"]),
    ],
)
def test_what_is_said_of_the_cluster_as_a_whole(one: Any, other: Any, codes: list[str]) -> None:
    made = merge(
        (Part(ClusterTopology("a", (), **one), source="a"), Part(ClusterTopology("b", (), **other), source="b"))
    )
    assert [each.code for each in made.diagnostics] == codes
    if made.value and "defaults" in one:
        assert made.value.topology.defaults == {"queue": "q", "scheduler": "kai"}


def test_a_kind_of_card_can_be_allocated_as_either_says() -> None:
    kinds = [{"gb200": AcceleratorKind("gb200", allocators=(how,))} for how in ("device-plugin", "dra")]
    made = merge([Part(ClusterTopology("a", (), accelerators=each), source="a") for each in kinds])
    assert made.value is not None
    assert made.value.topology.accelerators["gb200"].allocators == ("device-plugin", "dra")


@st.composite
def trees(draw: st.DrawFn) -> Pool:
    """A pool of up to four levels in which every domain has a name of its own."""
    depth = draw(st.integers(1, 4))
    leaves = draw(
        st.lists(st.lists(st.integers(0, 2), min_size=depth, max_size=depth).map(tuple), min_size=1, max_size=8)
    )
    domains = []
    for number, each in enumerate(dict.fromkeys(leaves)):
        path = tuple("-".join(map(str, each[: end + 1])) for end in range(depth))
        domains.append(Domain(path, tuple(f"n{number}-{n}" for n in range(draw(st.integers(1, 3))))))
    levels = tuple(Level(f"l{n}", f"x/l{n}") for n in range(depth))
    return Pool("p", NodeShape(), levels, tuple(domains))


def projected(pool: Pool, depths: Sequence[int], source: str) -> Part:
    """What is left of a pool for somebody who knows only some of its levels."""
    held: dict[tuple[str, ...], list[str]] = {}
    for domain in pool.domains:
        held.setdefault(tuple(domain.path[depth] for depth in depths), []).extend(domain.nodes)
    domains = tuple(Domain(path, tuple(nodes)) for path, nodes in held.items())
    made = pool._replace(levels=tuple(pool.levels[depth] for depth in depths), domains=domains)
    return Part(ClusterTopology(source, (made,)), source=source)


@settings(max_examples=300, deadline=None)
@given(pool=trees(), data=st.data())
def test_two_halves_make_the_whole(pool: Pool, data: st.DataObject) -> None:
    """Who knows some levels and who knows the others know the tree: each level still parts the nodes as before."""
    everything = range(len(pool.levels))
    some = data.draw(st.sets(st.sampled_from(everything)))
    parts = [projected(pool, sorted(some), "a"), projected(pool, sorted(set(everything) - some), "b")]
    made = merge(parts if data.draw(st.booleans()) else parts[::-1])
    assert not made.diagnostics
    assert made.value is not None
    (whole,) = made.value.topology.pools
    place = {node: each.path for each in whole.domains for node in each.nodes}
    for depth in everything:
        before = {node: domain.path[depth] for domain in pool.domains for node in domain.nodes}
        assert set(place) == set(before)
        cuts = [{(place[node][level], before[node]) for node in place} for level in range(len(whole.levels))]
        assert any(len(cut) == len(set(before.values())) == len({value for value, _ in cut}) for cut in cuts)
