"""Topologies shown and compared: numbers, trees, pictures, differences."""

from __future__ import annotations

import json
import random
import xml.dom.minidom
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bayplan.cli import show_difference, show_tree
from bayplan.cli.run import run
from bayplan.model.topology import ClusterTopology, Domain, Level, NodeShape, Pool, named_queues
from bayplan.plugins.pictures import scene, svg
from bayplan.text import document
from bayplan.topologies import native
from bayplan.topologies.comparing import Comparison, compare
from bayplan.topologies.inventory import Unit, count
from tools.effort import seeds
from tools.run import EXAMPLES, PRETRAIN

EXAMPLE = f"{PRETRAIN}/topology.yaml"
FILES = sorted(EXAMPLES.glob("*/topology.yaml"))


def topology(path: Path | str = EXAMPLE) -> ClusterTopology:
    read = document.read("t.yaml", Path(path).read_bytes(), "topology").value
    assert read
    made = native.read(read[0].data).value
    assert made
    return made.value


def random_pool(seed: int) -> Pool:
    """Three levels of uneven domains, some nodes unusable."""
    chance = random.Random(seed)
    levels = [Level("zone", "z"), Level("spine", "s"), Level("rack", "r", True, chance.choice([None, 3, 16]))]
    rows = [
        Domain((f"z{z}", f"s{z}{s}", f"r{z}{s}{r}"), tuple(f"n{z}-{s}-{r}-{n}" for n in range(chance.randrange(20))))
        for z in range(chance.randrange(1, 3))
        for s in range(chance.randrange(1, 4))
        for r in range(chance.randrange(1, 5))
    ]
    nodes = [node for row in rows for node in row.nodes]
    out = chance.sample(nodes, len(nodes) // 5)
    unusable = {"cordoned": tuple(out[::2]), "spare": tuple(out[1::2])}
    return Pool("p", NodeShape("gb200", 4), tuple(levels), tuple(rows), {k: v for k, v in unusable.items() if v})


def members(unit: Unit) -> list[str]:
    return [*unit.members, *(node for each in unit.below for node in members(each))]


@pytest.mark.parametrize("seed", seeds(60))
def test_the_numbers_are_those_of_a_slow_count(seed: int) -> None:
    pool = random_pool(seed)
    (found,) = count(ClusterTopology("t", (pool,)))
    out = {node for names in pool.unusable.values() for node in names}
    plan = pool.levels[-1].plan
    for depth, level in enumerate(found.levels, 1):
        units: dict[tuple[str, ...], list[Domain]] = {}
        for row in pool.domains:
            units.setdefault(row.path[:depth], []).append(row)
        sizes = [sum(len(row.nodes) for row in rows) for rows in units.values()]
        usable = [[sum(node not in out for node in row.nodes) for row in rows] for rows in units.values()]
        planned = [sum(n if plan is None else min(n, plan) for n in each) for each in usable]
        assert level.units == len(units)
        assert level.sizes == Counter(sizes)
        assert level.usable == Counter(map(sum, usable))
        for fit in level.fits:
            assert fit.groups == sum(n // fit.size for n in planned)
            assert fit.stranded == sum(n % fit.size for n in planned)
    assert found.amount.nodes == sum(len(row.nodes) for row in pool.domains)
    assert sorted(node for unit in found.units for node in members(unit)) == sorted(
        n for r in pool.domains for n in r.nodes
    )
    for unit in found.units:
        assert unit.amount.nodes == sum(each.amount.nodes for each in unit.below)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("options", [[], ["--all"], ["--format", "json"], ["--format", "svg"]], ids=" ".join)
def test_every_example_can_be_shown(path: Path, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topology", "show", str(path), *options]) == 0
    out = capsys.readouterr().out
    if options[-1:] == ["json"]:
        data = json.loads(out)
        assert data["nodes"] == sum(pool["nodes"] for pool in data["pools"])
    elif options[-1:] == ["svg"]:
        assert xml.dom.minidom.parseString(out).documentElement.tagName == "svg"
    else:
        assert all(line == line.rstrip() for line in out.splitlines())
    assert run(["topology", "show", str(path), *options]) == 0
    assert capsys.readouterr().out == out


def test_levels_say_how_deep(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topology", "show", EXAMPLE, "--level", "spine"]) == 0
    spines = capsys.readouterr().out
    assert "8c1f" not in spines
    assert run(["topology", "show", EXAMPLE, "--level", "rack"]) == 0
    assert capsys.readouterr().out.count("8c1f") == 12
    assert run(["topology", "show", EXAMPLE, "--all"]) == 0
    assert "gb-a3-n04: cordoned" in capsys.readouterr().out
    assert run(["topology", "show", EXAMPLE, "--format", "json", "--level", "spine"]) == 0
    assert "8c1f" not in capsys.readouterr().out


def large(racks: int) -> ClusterTopology:
    rows = tuple(Domain((f"s{n // 16}", f"r{n}"), tuple(f"n{n}-{i:02d}" for i in range(18))) for n in range(racks))
    pool = Pool("gb200", NodeShape("gb200", 4), (Level("spine", "s"), Level("rack", "r", True, 16)), rows)
    return ClusterTopology("large", (pool._replace(unusable={"notReady": ("n7-03",)}),))


def test_a_large_cluster_is_summed_up() -> None:
    made = large(5600)
    text = "".join(show_tree.draw(made, count(made), ""))
    assert len(text.splitlines()) < 40
    assert "350" in text
    picture = "".join(svg.draw((scene.cluster(made, {}),)))
    assert len(picture) < 2**20
    assert xml.dom.minidom.parseString(picture)


def test_many_coarse_domains_are_cut_and_said_to_be() -> None:
    rows = tuple(Domain((f"r{n}",), (f"n{n}",) * 1 if n % 2 else (f"n{n}", f"m{n}")) for n in range(1000))
    made = ClusterTopology("wide", (Pool("p", NodeShape(), (Level("rack", "r"),), rows),))
    text = "".join(show_tree.draw(made, count(made), ""))
    assert "more lines" in text
    assert len(text.splitlines()) < 80


def test_names_cannot_break_a_picture() -> None:
    pool = Pool("p", NodeShape(), (Level("rack", "r"),), (Domain(('<&">',), ("n1",)),), {'"><x': ("n1",)})
    made = ClusterTopology("<t>", (pool,))
    assert xml.dom.minidom.parseString("".join(svg.draw((scene.cluster(made, {}),))))


def test_a_topology_without_nodes_or_levels() -> None:
    empty = ClusterTopology("none", (Pool("p", NodeShape()), Pool("q", NodeShape(), (), (Domain((), ("n1",)),))))
    for level in ("", "host"):
        assert "".join(show_tree.draw(empty, count(empty), level))
    assert xml.dom.minidom.parseString("".join(svg.draw((scene.cluster(empty, {}),))))


class TestDiff:
    def test_equal_files_say_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["topology", "diff", EXAMPLE, EXAMPLE]) == 0
        assert capsys.readouterr() == ("", "")

    def test_a_difference_fails(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        other = tmp_path / "new.yaml"
        other.write_text(Path(EXAMPLE).read_text().replace("8c1f-a1.1", "77-a1").replace("-n[04,11]", "-n04"))
        assert run(["topology", "diff", EXAMPLE, str(other)]) == 1
        out = capsys.readouterr().out
        assert "gb200 rack  north-1/spine-a/8c1f-a1.1 -> north-1/spine-a/77-a1  18 nodes" in out
        assert "cordoned -> usable" in out
        assert run(["topology", "diff", EXAMPLE, str(other), "--format", "json"]) == 1
        data = json.loads(capsys.readouterr().out)
        assert data["equal"] is False
        assert [each["after"] for each in data["domains"]["renamed"]] == ["north-1/spine-a/77-a1"]
        assert data["nodes"]["moved"] == []

    def test_another_systems_file_is_compared_by_what_it_says(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        slurm = tmp_path / "topology.yaml"
        assert run(["topology", "export", EXAMPLE, "--to", "slurm", "-o", str(slurm)]) == 0
        capsys.readouterr()
        assert run(["topology", "diff", EXAMPLE, str(slurm)]) == 0
        assert capsys.readouterr().out == ""
        assert run(["topology", "diff", str(slurm), EXAMPLE]) == 0
        assert run(["topology", "show", str(slurm), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["nodes"] == 216
        slurm.write_text(slurm.read_text().replace("gb-a1-n[01-18]", "gb-a1-n[01-17]"))
        assert run(["topology", "diff", EXAMPLE, str(slurm)]) == 1
        assert "gb-a1-n18" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (["-", "-"], 2, "A920"),
            (["none.yaml", EXAMPLE], 1, "R101"),
            ([EXAMPLE, f"{PRETRAIN}/workflow.yaml"], 1, "A912"),
            ([EXAMPLE, str(EXAMPLES)], 1, "R101"),
        ],
    )
    def test_what_cannot_be_read(
        self, words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["topology", "diff", *words]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert said in err

    def test_every_kind_of_difference_is_told(self) -> None:
        old = topology()
        pool = old.pools[0]
        rows = [*pool.domains]
        rows[0] = rows[0]._replace(path=("north-1", "spine-b", rows[0].path[2]))  # below another spine
        rows[1] = rows[1]._replace(nodes=rows[1].nodes[:-1])
        rows[2] = rows[2]._replace(nodes=(*rows[2].nodes, "new-1", rows[1].nodes[0]))
        rows[1] = rows[1]._replace(nodes=rows[1].nodes[1:])
        rows[3] = rows[3]._replace(path=(*rows[3].path[:2], "called-otherwise"))
        del rows[5]
        rows.append(Domain(("north-1", "spine-c", "r-new"), ("new-2",)))
        node = pool.node._replace(accelerators=8)
        more = Pool("cpu", NodeShape(), (), (Domain((), ("cpu-1",)),))
        changed = pool._replace(domains=tuple(rows), node=node, unusable={}, levels=pool.levels)
        found = compare(old, old._replace(pools=(changed, more), queues=named_queues("a")))
        assert found.pools_new == ("cpu",)
        assert [(each.level, each.value) for each in found.renamed] == [("rack", False), ("rack", True)]
        assert [unit.path[-1] for _, unit in found.units_gone] == ["8c1f-a6.1"]
        assert [unit.path[-1] for _, unit in found.units_new] == ["spine-c", "r-new"]
        assert [each.nodes for each in found.moved] == [("gb-a2-n01",)]
        assert sum(len(each.nodes) for each in found.gone) == 19
        assert {node for each in found.new for node in each.nodes} == {"new-1", "new-2", "cpu-1"}
        assert {each.key for each in found.settings} == {"queues", "pools.gb200.node.count"}
        text = "".join(show_difference.as_text(found, "a", "b"))
        for word in ("pools", "renamed", "other parents", "gone", "new domains", "moved", "states", "settings"):
            assert word in text

    def test_a_renamed_pool_is_found_again(self) -> None:
        old = topology()
        found = compare(old, old._replace(pools=(old.pools[0]._replace(name="other"),)))
        assert found._replace(pairs=()) == Comparison(pools_renamed=(("gb200", "other"),))

    @pytest.mark.parametrize("seed", seeds(60))
    def test_every_node_is_accounted_for(self, seed: int) -> None:
        old, new = ClusterTopology("t", (random_pool(seed),)), ClusterTopology("t", (random_pool(seed + 1),))
        found = compare(old, new)
        nodes: dict[str, set[str]] = {
            word: {node for each in getattr(found, word) for node in each.nodes} for word in ("moved", "new", "gone")
        }
        before, after = ({n for row in each.pools[0].domains for n in row.nodes} for each in (old, new))
        assert nodes["new"] == after - before
        assert nodes["gone"] == before - after
        assert nodes["moved"] <= before & after
        back: Any = compare(new, old)
        assert {node for each in back.gone for node in each.nodes} == nodes["new"]
