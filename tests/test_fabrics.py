"""Fabric managers: one fabric in the words of each is the same topology; what is cut off or odd is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fabric_texts
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.topology import HOSTNAME_LABEL, Pool
from bayplan.plugins.sources.fabric_managers import ibnetdiscover, netq, nmx, ufm
from bayplan.text.document import Document
from fabric_texts import Hall, hall
from judges import UPSTREAM
from tools.data import parse
from topology_files import imported

COVERS = {"T530", "T401", "T536", "T537", "T515", "T555", "T545", "T529", "T513", "T557"}
EXAMPLES = UPSTREAM / "examples" / "topograph"


def source(data: Any) -> SourceFile:
    """A file that is text, or JSON."""
    if isinstance(data, str):
        return SourceFile("fabric.txt", data)
    text = json.dumps(data)
    return SourceFile("fabric.json", text, (Document("fabric.json", text, 0, data),))


def read(module: Any, data: Any, **asked: Any) -> Outcome[Part]:
    given_ = source(data)
    assert module.sniff(given_)
    made: Outcome[Part] = module.new(given_, ReadOptions(**asked))
    return made


def codes(outcome: Outcome[Part]) -> list[str]:
    return sorted(each.code for each in outcome.diagnostics)


def one(outcome: Outcome[Part], code: str) -> Diagnostic:
    (found,) = [each for each in outcome.diagnostics if each.code == code]
    return found


def pools(outcome: Outcome[Part]) -> tuple[Pool, ...]:
    assert outcome.value is not None, outcome.diagnostics
    return outcome.value.topology.pools


FORMATS: dict[Any, Callable[[Hall], Any]] = {
    ibnetdiscover: fabric_texts.ibnetdiscover,
    ufm: fabric_texts.ufm,
    netq: fabric_texts.netq,
}
halls = st.builds(
    hall,
    units=st.integers(1, 5),
    hosts=st.integers(1, 4),
    rails=st.integers(1, 4),
    spines=st.integers(1, 3),
    block=st.integers(0, 3),
    core=st.booleans(),
)


@settings(deadline=None, max_examples=60)
@given(halls)
def test_one_fabric_is_one_topology_in_all_words(given_: Hall) -> None:
    """Units are the finest domains, spines the level above where they tell units apart."""
    made = [read(module, write(given_)) for module, write in FORMATS.items()]
    assert [pools(each) for each in made] == [pools(made[0])] * len(made)
    (pool,) = pools(made[0])
    assert [each.nodes for each in pool.domains] == list(given_.units)
    for unit, domain in enumerate(pool.domains):
        leaves = tuple(given_.leaf(unit, rail) for rail in range(given_.rails))
        assert domain.path[-1] == leaves[0]
        assert domain.leaves == (leaves if given_.rails > 1 else ())
    blocks = {spine for low, spine in given_.links() if low.startswith("leaf") and spine.endswith("-0")}
    useful = 1 < len(blocks) < len(given_.units)
    assert [level.name for level in pool.levels] == (["spine", "leaf"] if useful else ["leaf"])
    assert ("T545" in codes(made[0])) == (len(blocks) > 1 and not given_.core)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_output_that_is_cut_off_is_no_smaller_fabric(data: st.DataObject) -> None:
    whole = fabric_texts.ibnetdiscover(hall(2, 2))
    cut = whole[: data.draw(st.integers(whole.index("Switch") + 40, len(whole)))]
    made = read(ibnetdiscover, cut)
    assert made.value is None or pools(made) == pools(read(ibnetdiscover, whole))
    assert made.value is not None or set(codes(made)) <= {"T529", "T530"}


class Chunks(SourceFile):
    """A file in small pieces."""

    def chunks(self) -> Any:
        return iter([self.text[n : n + 7] for n in range(0, len(self.text), 7)])


def test_pieces_of_a_file_are_the_file() -> None:
    text = fabric_texts.ibnetdiscover(hall(3, 2))
    made = ibnetdiscover.new(Chunks("fabric.txt", text), ReadOptions())
    assert pools(made) == pools(read(ibnetdiscover, text))


def test_a_line_of_a_gigabyte_is_a_wrong_line() -> None:
    text = fabric_texts.ibnetdiscover(hall(1, 1)) + "x" * 10**6 + "\n\n#\n"
    assert codes(read(ibnetdiscover, text)) == ["T530"]


def test_hosts_of_a_rail_less_are_told() -> None:
    text = fabric_texts.ibnetdiscover(hall(1, 3, rails=4)).replace("u00n01 mlx5_3", "u00n01 mlx5_2/1")
    ports = fabric_texts.ufm(hall(2, 3, rails=4))
    made = read(ufm, [each for each in ports if each.get("node_description") != "u01n02 mlx5_3"])
    assert "u01n02 (3 of 4)" in one(made, "T545").message
    assert codes(read(ibnetdiscover, text)) == ["T555", "T555"]


def test_hosts_without_a_link_are_told() -> None:
    ports = fabric_texts.ufm(hall(2, 2))
    ports += [computer("dark-1", "mlx5_0", ""), computer("dark-1", "mlx5_1", "N/A")]
    assert one(read(ufm, ports), "T545").message == "left out 1 host without a link to a switch: dark-1"
    graph = fabric_texts.netq(hall(2, 2))
    graph[0]["nodes"].append({"compounded_nodes": [{"id": "node99", "name": "dark-2", "tier": -1}]})
    assert one(read(netq, graph), "T545").message.endswith(": dark-2")


def test_adapters_without_a_host_are_counted() -> None:
    plain = "MT4129 ConnectX7   Mellanox Technologies"
    text = fabric_texts.ibnetdiscover(hall(2, 3, rails=4))
    for digit in "0123":
        text = text.replace(f'"u00n01 mlx5_{digit}"', f'"{plain}"')
    made = read(ibnetdiscover, text)
    assert f'4 x "{plain}"' in one(made, "T537").message
    assert pools(made)[0].domains[0].nodes == ("u00n00", "u00n02")


def test_a_name_that_two_machines_have_ties_nothing_together() -> None:
    both = Hall((("n1", "n2", "same"), ("same", "n3", "n4")), rails=4)
    named = fabric_texts.ufm(both)
    for n, each in enumerate(named):
        each["node_guid"] = f"g{n}"
    made = read(ufm, named)
    assert codes(made).count("T401") == 1
    assert [each.nodes for each in pools(made)[0].domains] == [("n1", "n2"), ("n3", "n4")]


def test_systems_without_a_name_are_no_nodes() -> None:
    given_ = Hall((("n1", "n2", "localhost"), ("n3", "n4", "ubuntu")), rails=4)
    made = read(ibnetdiscover, fabric_texts.ibnetdiscover(given_))
    assert one(made, "T537").message.startswith("left out 8 adapters")
    assert [each.nodes for each in pools(made)[0].domains] == [("n1", "n2"), ("n3", "n4")]


def test_appliances_are_no_nodes_unless_the_cluster_says_so() -> None:
    ports = fabric_texts.ufm(Hall((("N1", "n2", "dc-ufm-01"), ("n3", "n4", "n5")), rails=4))
    made = read(ufm, ports)
    assert "dc-ufm-01 (4 of 4)" in one(made, "T515").message
    assert "N1 to n1" in one(made, "T536").message
    assert made.value is not None
    assert made.value.aliases == {"N1": "n1"}
    known = read(ufm, ports, nodes={each: {HOSTNAME_LABEL: each} for each in ("n1", "dc-ufm-01", "n3")})
    assert [each.nodes for each in pools(known)[0].domains] == [("dc-ufm-01", "n1"), ("n3",)]
    assert "n2, n4, n5" in one(known, "T515").message


def computer(host: str, card: str, leaf: str) -> dict[str, Any]:
    """A port as UFM lists it."""
    said = {"system_name": host, "node_description": f"{host} {card}", "peer_node_name": leaf}
    return {"description": "Computer IB Port", "tier": 1, **said}


def test_hosts_with_half_of_the_adapters_are_storage() -> None:
    given_ = hall(3, 4, rails=4)
    ports = fabric_texts.ufm(given_)
    ports += [computer("nfs1", "mlx5_0", leaf) for leaf in ("leaf-00-0", "leaf-01-0")]
    made = read(ufm, ports)
    assert "nfs1 (2 of 4)" in one(made, "T515").message
    assert len(pools(made)[0].domains) == 3


def test_a_host_with_most_ports_down_is_one_of_its_series() -> None:
    ports = [computer(f"dgx-{n:02}", f"mlx5_{rail}", f"leaf-{rail}") for n in range(6) for rail in range(4)]
    outcome = read(ufm, [each for each in ports if each["system_name"] != "dgx-00" or "mlx5_3" in str(each)])
    assert codes(outcome) == ["T545", "T555"]
    assert "dgx-00 (1 of 4)" in one(outcome, "T545").message
    assert sum(len(domain.nodes) for domain in pools(outcome)[0].domains) == 6


def test_hosts_on_spines_are_left_out() -> None:
    given_ = hall(3, 6, rails=1)
    ports = fabric_texts.ufm(given_)
    ports.append(computer("nfs", "mlx5_0", "spine-00-0"))
    made = read(ufm, ports)
    assert 'such as "spine-00-0": nfs' in one(made, "T515").message
    assert [each.path for each in pools(made)[0].domains] == [("leaf-00-0",), ("leaf-01-0",), ("leaf-02-0",)]


def test_a_storage_network_does_not_make_one_domain_of_all() -> None:
    given_ = hall(4, 3, rails=4)
    ports = fabric_texts.ufm(given_)
    ports += [computer(host, "mlx5_bond", "storage-1") for unit in given_.units for host in unit]
    made = read(ufm, ports)
    assert '"mlx5_bond" of 12 hosts, which joins 4 groups of leaf switches into 1' in one(made, "T545").message
    assert len(pools(made)[0].domains) == 4


def _with_cable(given_: Hall, host: str, card: str, leaf: str) -> Hall:
    """The same with one cable more."""
    ports = (*given_.ports(), (host, card, leaf))
    return type("Bridged", (Hall,), {"ports": lambda self: iter(ports)})(*given_)


@pytest.mark.parametrize("module", FORMATS, ids=lambda module: module.__name__.rpartition(".")[2])
@pytest.mark.parametrize("rails", [1, 4])
def test_a_cable_in_the_wrong_switch_does_not_make_one_domain_of_two(module: Any, rails: int) -> None:
    plain = hall(3, 6, rails=rails)
    bridged = _with_cable(plain, "u00n02", f"mlx5_{rails}", "leaf-01-0")
    outcome = read(module, FORMATS[module](bridged))
    assert pools(outcome) == pools(read(module, FORMATS[module](plain)))
    assert "u00n02" in one(outcome, "T545").message
    assert "leaf-01-0" in one(outcome, "T545").message


def test_hosts_that_all_join_two_leaves_bridge_nothing() -> None:
    cables = [(host, (n + k) % 4) for n in range(4) for host in (f"a{n}", f"b{n}") for k in (0, 1)]
    outcome = read(ufm, [computer(host, f"mlx5_{leaf}", f"leaf-{leaf}") for host, leaf in cables])
    assert [len(domain.nodes) for domain in pools(outcome)[0].domains] == [8]
    assert codes(outcome) == ["T555"]


def test_a_link_with_one_end_names_it() -> None:
    data = fabric_texts.netq(hall(2, 2))
    data[0]["links"] += [{"id": "bad"}]
    assert one(read(netq, data), "T529").message == 'links lead to 1 node that the file does not list: "bad"'


def test_parts_that_nothing_links_are_told() -> None:
    made = read(ibnetdiscover, fabric_texts.ibnetdiscover(hall(4, 2, block=2)))
    assert "2 parts of the fabric: spine-00-0 with 4 nodes" in one(made, "T545").message
    only_hosts = [each for each in fabric_texts.ufm(hall(4, 2)) if each["description"].startswith("Computer")]
    assert "T545" not in codes(read(ufm, only_hosts))


BROKEN: dict[str, tuple[Any, Any, str]] = {
    "a line of something else": (ibnetdiscover, 'Switch\t1 "S-01"\t# "s"\nhello\n\n', "T530"),
    "an end within a line": (ibnetdiscover, 'Switch\t1 "S-01"\t# "s"\n[1]\t"H-0', "T529"),
    "a switch that is missing": (ibnetdiscover, 'Switch\t1 "S-01"\t# "s"\n[1]\t"S-02"[1]\t# "t" lid 1\n', "T529"),
    "no host": (ibnetdiscover, 'Switch\t1 "S-01"\t# "s"\n', "T530"),
    "ports that are texts": (ufm, [{"peer_node_name": "", "system_name": ""}, "text"], "T530"),
    "no computer": (ufm, [{"peer_node_name": "a", "system_name": "b"}], "T530"),
    "two premises": (netq, [{"links": [{"id": "a-*-b"}]}, {}], "T530"),
    "a link to nowhere": (
        netq,
        [{"links": [{"id": "a-*-b"}], "nodes": [{"compounded_nodes": [{"id": "a", "name": "a", "tier": -1}]}]}],
        "T529",
    ),
    "no NVLink domain": (nmx, [{"Name": "n1", "DomainUUID": ""}], "T530"),
    "a tray twice": (nmx, [{"Name": "n1", "DomainUUID": "d"}, {"Name": "N1", "DomainUUID": "e"}], "T401"),
    "trays that are texts": (nmx, [{"Name": "n1", "DomainUUID": "d"}, 3], "T530"),
}


@pytest.mark.parametrize(("module", "data", "code"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_refused_with_a_reason(module: Any, data: Any, code: str) -> None:
    made = read(module, data)
    assert made.value is None
    assert code in codes(made)
    assert all(each.route[0] == "source:0:0" and each.hint for each in made.diagnostics if each.severity == "error")


def test_trays_stand_by_chassis_and_tray_and_sick_ones_are_unusable() -> None:
    trays = [
        {"Name": f"n{n}", "DomainUUID": f"d{n // 3}", "Health": "HEALTHY", "LocationInfo": {"TrayIndex": 9 - n}}
        for n in range(6)
    ]
    trays[1]["Health"] = "UNHEALTHY"
    more = [{"Name": "n8", "DomainUUID": "00000000-0000-0000-0000-000000000000"}, {"Name": "a b", "DomainUUID": "d"}]
    made = read(nmx, [*trays, *more])
    (pool,) = pools(made)
    assert [each.nodes for each in pool.domains] == [("n2", "n1", "n0"), ("n5", "n4", "n3")]
    assert pool.unusable == {"unhealthy": ("n1",)}
    assert pool.levels[0].nvlink
    assert [each.nvlink_domain for each in pool.domains] == ["d0", "d1"]
    assert codes(made) == ["T513", "T537", "T557"]


def test_the_domains_of_nmx_stay_where_a_spine_holds_the_same_nodes() -> None:
    fabric = hall(4, 2, rails=1, spines=1, block=2)
    nodes = [host for unit in fabric.units for host in unit]
    trays = [{"Name": host, "DomainUUID": f"d{n // 4}", "Health": "HEALTHY"} for n, host in enumerate(nodes)]
    said = imported(("netq.json", json.dumps(fabric_texts.netq(fabric))), ("nmx.json", json.dumps(trays)))
    (pool,) = parse(said.out)["spec"]["pools"]
    assert [level.get("nvlink") for level in pool["levels"]] == [True, None]
    assert [each["nvlinkDomain"] for each in pool["domains"]] == ["d0", "d0", "d1", "d1"]


def test_the_domains_of_nmx_are_not_those_of_cliques() -> None:
    trays = [{"Name": f"n{n}", "DomainUUID": "d1", "Health": "HEALTHY"} for n in range(4)]
    (pool,) = pools(read(nmx, trays, nodes={f"n{n}": {"nvidia.com/gpu.clique": "uuid.1"} for n in range(4)}))
    assert [each.nvlink_domain for each in pool.domains] == [""]


def anything() -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    texts = st.text(max_size=3)
    return st.recursive(plain, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2))


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_nothing_in_a_file_stops_the_reader(data: st.DataObject) -> None:
    """Any value of a sound file replaced by anything."""
    module, write = data.draw(st.sampled_from([(ufm, fabric_texts.ufm), (netq, fabric_texts.netq), (nmx, _trays)]))
    whole = write(hall(2, 2))
    spot: Any = whole
    while isinstance(spot, dict | list) and spot:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(spot[key], dict | list) or data.draw(st.booleans()):
            spot[key] = data.draw(anything())
            break
        spot = spot[key]
    made = module.new(source(whole), ReadOptions())
    assert (made.value is None) == any(each.severity == "error" for each in made.diagnostics)


def _trays(given_: Hall) -> list[dict[str, Any]]:
    return [
        {"Name": host, "DomainUUID": f"d{n}", "LocationInfo": {"ChassisID": 1, "TrayIndex": 2}, "Health": "HEALTHY"}
        for n, unit in enumerate(given_.units)
        for host in unit
    ]


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_no_text_stops_the_reader(data: st.DataObject) -> None:
    whole = fabric_texts.ibnetdiscover(hall(2, 1))
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 40)))
    broken = whole[:start] + data.draw(st.text(max_size=8)) + whole[end:]
    made = ibnetdiscover.new(source(broken), ReadOptions())
    assert (made.value is None) == any(each.severity == "error" for each in made.diagnostics)


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="upstream's examples are not there")
def test_the_fabric_that_topograph_ships_is_eight_groups() -> None:
    text = (EXAMPLES / "ibnetdiscover" / "example.out").read_text(encoding="utf-8")
    made = read(ibnetdiscover, text)
    (pool,) = pools(made)
    assert sorted(len(each.nodes) for each in pool.domains) == [10, 11, 14, 15, 16, 17, 18, 18]
    assert sum(len(each.leaves) for each in pool.domains) == 31
    assert "31 leaf switches" in "".join(each.message for each in made.diagnostics)
    assert "left out 74 adapters" in one(made, "T537").message
    assert "b11-p1-cufm-02 (2 of 4)" in one(made, "T515").message


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="upstream's examples are not there")
def test_the_compute_nodes_that_topograph_ships_are_one_domain() -> None:
    text = (EXAMPLES / "netq" / "computeNodes.json").read_text(encoding="utf-8")
    (pool,) = pools(read(nmx, json.loads(text)))
    assert [each.nodes for each in pool.domains] == [("node1", "node2")]


def test_switches_without_hosts_are_no_tier_of_their_own() -> None:
    """A leaf switch whose hosts are left out stands above the spines as far as links tell."""
    units = (*hall(4, 2, rails=4).units, ("nfs-ufm-1",), ("localhost",))
    made = read(ibnetdiscover, fabric_texts.ibnetdiscover(Hall(units, rails=4, block=2)))
    (pool,) = pools(made)
    assert [level.name for level in pool.levels] == ["spine", "leaf"]
    assert len(pool.domains) == 4
    odd = Hall((*hall(4, 2).units, ("localhost",)), block=3)
    (pool,) = pools(read(ibnetdiscover, fabric_texts.ibnetdiscover(odd)))
    assert [each.path[0] for each in pool.domains] == ["spine-00-0"] * 3 + ["spine-01-0"]
