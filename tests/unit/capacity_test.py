"""What fits, what may fail, and other clusters: the numbers agree with exhaustive search."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from fit_exact_test import instance, occupant
from fit_scene import cluster, gang, plan, pods, pool, replicas

from bayplan.cli import plan as plan_command
from bayplan.model.plan import Plan
from bayplan.model.topology import ClusterTopology
from bayplan.planning import capacity
from bayplan.planning.capacity import Largest, largest
from bayplan.planning.fit import Fits, Impossible, prove
from bayplan.planning.fit import slack as slack_module
from bayplan.planning.fit.slack import slack
from bayplan.text import document
from bayplan.topologies import native, what_if
from tools.data import parse
from tools.effort import seeds
from tools.run import EXAMPLES, PRETRAIN, bayplan

HALL = f"{PRETRAIN}/topology.yaml"
FLOW = f"{PRETRAIN}/workflow.yaml"


# Slack.


def equal(dice: random.Random) -> Plan:
    """Equal pods in units that nest, on a half-busy cluster of up to 8 nodes: counting decides its slack."""
    tree = {f"s{s}/r{r}": dice.randint(1, 3) for s in range(dice.randint(1, 2)) for r in range(dice.randint(1, 2))}
    hall = pool(tree, levels=("spine", "rack"), plan=dice.choice([None, None, 1, 2]))
    each = pods("w", dice.randint(1, 4), gpus=dice.choice([1, 2, 4]))
    groups = replicas("g", dice.randint(1, 3), each, required=dice.choice(["", "rack", "host"]))
    asked = plan(cluster(hall), gang("a", groups, required=dice.choice(["", "spine", "rack"])))
    busy = [node for node in hall.nodes() if dice.random() < 0.3] if dice.random() < 0.5 else []
    return asked._replace(occupied={node: (occupant(dice),) for node in busy})


def fits(asked: Plan, gone: tuple[str, ...]) -> bool:
    """Whether the plan fits without some nodes, which are written into `unusable` here."""
    pools = tuple(
        each._replace(unusable={**each.unusable, "lost": tuple(node for node in each.nodes() if node in gone)})
        for each in asked.topology.pools
    )
    found = prove(asked._replace(topology=asked.topology._replace(pools=pools)))
    assert isinstance(found, Fits | Impossible)
    return isinstance(found, Fits)


def agrees(asked: Plan, *, exact: bool) -> None:
    """The slack is that of trying the failures of all sets of nodes."""
    nodes = [node for each in asked.topology.pools for node in each.nodes()]
    sets = (lost for number in range(len(nodes) + 1) for lost in combinations(nodes, number))
    fewest = next((lost for lost in sets if not fits(asked, lost)), None)
    found = slack(asked)
    if fewest is None:
        assert found.nodes == len(nodes)
        return
    assert found.nodes < len(fewest)
    assert not found.breaking or not fits(asked, found.breaking)
    assert not exact or (found.exact and len(found.breaking) == len(fewest))
    domains = [domain for each in asked.topology.pools[:1] for domain in each.domains]
    paths = {domain.path[: depth + 1]: depth for domain in domains for depth in range(2)}
    for path, depth in paths.items():
        lost = tuple(
            node
            for each in asked.topology.pools
            for domain in each.domains
            if domain.path[: depth + 1] == path
            for node in domain.nodes
        )
        level = found.levels[depth]
        assert ("/".join(path) in level.breaking) == (not fits(asked, lost)), path
        assert level.untried == ()


def fitting(draw: Callable[[random.Random], Plan], seed: int) -> Plan:
    """The first plan that fits on at most 8 nodes, of those that a seed draws."""
    dice = random.Random(seed)
    return next(asked for asked in (draw(dice) for _ in range(1000)) if nodes_of(asked) < 9 and fits(asked, ()))


def nodes_of(asked: Plan) -> int:
    return sum(1 for each in asked.topology.pools for _ in each.nodes())


@pytest.mark.parametrize("seed", seeds(400))
def test_slack_of_equal_pods(seed: int) -> None:
    agrees(fitting(equal, seed), exact=True)


@pytest.mark.parametrize("seed", seeds(400))
def test_slack_of_any_pods(seed: int) -> None:
    agrees(fitting(lambda dice: instance(dice, 1 + seed % 3), seed), exact=True)


def larger(d: random.Random) -> Plan:
    """The same on up to 72 nodes, in the order of the seeds that once differed."""
    tree = {f"s{a}/r{b}": d.randint(1, 6) for a in range(d.randint(1, 3)) for b in range(d.randint(1, 4))}
    hall = pool(tree, levels=("spine", "rack"), plan=d.choice([None, None, 2, 4, 5]))
    each = pods("w", d.randint(1, 6), gpus=d.choice([1, 2, 3, 4]))
    groups = replicas("g", d.randint(1, 4), each, required=d.choice(["", "rack", "host", "rack"]))
    asked = plan(cluster(hall), gang("a", groups, required=d.choice(["", "spine", "rack"])))
    busy = {node: (occupant(d),) for node in hall.nodes() if d.random() < 0.3} if d.random() < 0.5 else {}
    return asked._replace(occupied=busy)


@pytest.mark.parametrize("seed", [1224, 1766, 2013, 4689, *seeds(160)])
def test_counting_and_trying_agree(seed: int) -> None:
    """Full nodes count in `plan`, so racks with as many nodes that have room may differ."""
    asked = larger(random.Random(seed))
    if not isinstance(prove(asked), Fits):
        return
    both = slack_module._Cluster(asked)
    both.tries = 40
    counted = slack_module._counted(asked.gangs, both)
    tried, breaking = slack_module._searched(asked.gangs, both)
    if counted:
        assert len(counted[1]) == counted[0] + 1
        assert tried <= counted[0]
        assert not breaking or len(breaking) > counted[0]


@pytest.mark.parametrize("seed", seeds(200))
def test_bounds_of_slack_hold_if_the_search_ends_early(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slack_module, "STEPS", 0)
    monkeypatch.setattr(slack_module, "TRIES", 2)
    monkeypatch.setattr(slack_module, "FEWEST", 2)
    for asked in (equal(random.Random(seed)), instance(random.Random(seed), 2)):
        if sum(1 for each in asked.topology.pools for _ in each.nodes()) < 9 and isinstance(prove(asked), Fits):
            bounded(asked)


def bounded(asked: Plan) -> None:
    """What the slack says is true, even if it says less."""
    nodes = [node for each in asked.topology.pools for node in each.nodes()]
    found = slack(asked)
    assert all(fits(asked, lost) for lost in combinations(nodes, found.nodes))
    assert not found.breaking or not fits(asked, found.breaking)
    for level in found.levels:
        for name in level.breaking:
            lost = [d for each in asked.topology.pools for d in each.domains if "/".join(d.path).startswith(name)]
            assert not fits(asked, tuple(node for domain in lost for node in domain.nodes))


def test_slack_of_the_example() -> None:
    """Three racks of a spine must lose a group each: 3 nodes, as two of 18 are kept back, or fewer if some are out."""
    shown = bayplan("plan", FLOW, "-t", HALL, "--slack", "--format", "json").stdout
    found = json.loads(shown)["workflows"][0]["slack"]
    assert (found["nodes"], found["exact"], len(found["breaking"])) == (14, True, 1 + 3 + 3 + 2 + 3 + 3)
    assert {each["level"]: each["breaking"] for each in found["levels"]} == {
        "zone": ["north-1"],
        "spine": [],
        "rack": [],
    }


def test_slack_of_a_gang_that_starts_with_fewer_replicas_is_that_of_what_must_start() -> None:
    lost = ("--without", "spine=spine-a", "--without", "rack=8c1f-b[1-3].1")
    elastic = str(EXAMPLES / "elastic" / "workflow.yaml")
    result = bayplan("plan", elastic, "-t", HALL, *lost, "--slack", "--format", "json")
    assert "P556" in result.stderr
    found = json.loads(result.stdout)["workflows"][0]["slack"]
    assert (found["nodes"], len(found["breaking"])) == (6, 7)  # 12 pods in each of 3 racks with 18 nodes: no 7 may fail
    ready = bayplan("check", elastic, "-t", HALL, *lost, "--without", ",".join(found["breaking"][:6]))
    broken = bayplan("check", elastic, "-t", HALL, *lost, "--without", ",".join(found["breaking"]))
    assert (ready.returncode, broken.returncode) == (0, 1)


@pytest.mark.parametrize(
    ("nodes", "breaking", "line"),
    [
        (2, ["n1", "n2", "n3"], "any 2 nodes may fail; without these 3 nodes it does not fit: n[1-3]"),
        (0, ["n1"], "without this node it does not fit: n1"),
        (0, [], "any 0 nodes may fail"),
        (8, [], "any 8 nodes may fail"),
    ],
)
def test_the_line_of_the_slack(nodes: int, breaking: list[str], line: str) -> None:
    assert list(plan_command._slack_lines({"nodes": nodes, "breaking": breaking, "levels": []})) == [line]


# The largest gangs.


@pytest.mark.parametrize("seed", seeds(160))
def test_the_largest_gangs_fit_and_larger_ones_do_not(seed: int) -> None:
    dice = random.Random(seed)
    topology = instance(dice, 1).topology
    nodes = [node for each in topology.pools for node in each.nodes()]
    busy = {node: (occupant(dice),) for node in nodes if dice.random() < 0.5}
    for each in topology.pools:
        for room in capacity.rooms(topology, each, busy):
            spec = room.kind.pods._replace(name="w")
            assert holds(topology, busy, spec, "") == room.pods, room.kind.name
            for most in room.levels:
                assert holds(topology, busy, spec, most.level) == most.pods, (room.kind.name, most)
                depth = each.depth(most.level) + 1
                if most.level == "host" and each.levels[-1].plan:
                    continue  # a node that `plan` keeps back takes the place of one that is lost
                paths = Counter((*domain.path, node)[:depth] for domain in each.domains for node in domain.nodes)
                alike = [path for path in paths if only(topology, busy, spec, most.level, path) == most.pods]
                assert most.domains == (len(alike) if most.pods else 0)
                assert not most.pods or most.first in {
                    path if depth <= len(each.levels) else path[-1:] for path in alike
                }


def holds(topology: ClusterTopology, busy: Any, spec: Any, level: str) -> int:
    """The largest number of pods that the proof places, one more after the other."""
    number = 0
    while True:
        one = gang("a", spec._replace(replicas=number + 1, minimum=number + 1), required=level)
        if not isinstance(prove(plan(topology, one)._replace(occupied=busy)), Fits):
            return number
        number += 1


def only(topology: ClusterTopology, busy: Any, spec: Any, level: str, path: tuple[str, ...]) -> int:
    """The same if all other domains are lost."""
    others = [
        node
        for each in topology.pools
        for domain in each.domains
        for node in domain.nodes
        if (*domain.path, node)[: len(path)] != path
    ]
    return holds(topology.without(others), busy, spec, level)


def test_the_example_holds_what_the_page_of_the_topology_says() -> None:
    shown = json.loads(bayplan("capacity", "-t", HALL, "--format", "json").stdout)
    (gb200,) = shown["pools"]
    rows = {
        row["kind"]: (row["most"], *((each["most"], each["domains"]) for each in row["levels"]))
        for row in gb200["pods"]
    }
    assert rows["4 gb200"] == (192, (192, 1), (96, 2), (16, 12), (1, 192))
    assert rows["4 gb200 in a ComputeDomain"] == (192, (16, 12), (1, 192))
    assert rows["1 gb200"][0] == 4 * rows["a whole node"][0]


def test_topology_show_and_capacity_count_the_same_free_nodes() -> None:
    busy = ("--occupied", f"{PRETRAIN}/pods.tsv")
    tree = bayplan("topology", "show", HALL, *busy).stdout
    (pool_shown,) = json.loads(bayplan("topology", "show", HALL, *busy, "--format", "json").stdout)["pools"]
    (pool_held,) = json.loads(bayplan("capacity", "-t", HALL, *busy, "--format", "json").stdout)["pools"]
    held = next(row for row in pool_held["pods"] if row["kind"] == "4 gb200")
    rack = next(each for each in held["levels"] if each["level"] == "rack")
    groups = {fit["size"]: fit["groups"] for fit in pool_shown["levels"][-1]["groups"]}
    assert pool_shown["free"]["planned"] == groups[1] == held["most"] == 179
    assert groups[rack["most"]] == rack["domains"] == 8
    assert "now: 200 nodes free, 179 of them may be planned, 2 partly free, 11 full" in tree
    assert "8c1f-a1.1: 18 nodes, 16 may be planned: 14 nodes free, 12 of them may be planned, 4 full" in tree
    assert "groups of free nodes" in tree
    lost = ("--without", "gb-a1-n[05-18]")
    left = json.loads(bayplan("capacity", "-t", HALL, *busy, *lost, "--format", "json").stdout)["pools"][0]["pods"]
    assert next(row for row in left if row["kind"] == "4 gb200")["most"] == 179 - 12


def test_topology_show_counts_the_cards_of_each_workload() -> None:
    """Also behind the first one of a list."""
    shown = bayplan("topology", "show", HALL, "--occupied", f"{PRETRAIN}/pods.tsv").stdout
    assert "; team-b/train-7 (44 gb200 on 11 nodes), serving/chat (2 gb200 on 2 nodes)" in shown


def test_without_a_file_topology_show_says_what_is_free_if_nothing_runs() -> None:
    shown = bayplan("topology", "show", HALL, "--free").stdout
    assert "\nif nothing runs: 213 nodes free, 192 of them may be planned, 852 of 852 gb200 free\n" in shown
    assert "now:" not in shown


@pytest.mark.parametrize("limit", range(0, 40, 3))
@pytest.mark.parametrize("start", [1, 4, 30])
def test_the_search_finds_the_largest_number(limit: int, start: int) -> None:
    assert largest(lambda number: number <= limit, start, 1000) == Largest(limit, True)
    assert largest(lambda number: number <= limit, start, 20) == Largest(min(limit, 20), limit < 20)
    assert largest(lambda number: True if number <= limit else None, start, 1000) == Largest(limit, False)


# Workflows.


def shown(*arguments: str) -> dict[str, Any]:
    """The one workflow of `bayplan capacity`."""
    result = bayplan("capacity", *arguments, "--format", "json")
    assert result.returncode == 0, result.stderr
    (workflow,) = json.loads(result.stdout)["workflows"]
    return dict(workflow)


def rows(node: dict[str, Any], path: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The gangs with copies, groups and podSets with their paths in the file."""
    found = [(path, node)] if "most" in node else []
    for key in ("groups", "podSets"):
        for number, each in enumerate(node.get(key, ())):
            found += rows(each, (*path, key, number))
    return found


@pytest.mark.parametrize(
    "name", ["pretrain", "elastic", "nested-groups", "leader-and-workers", "pipeline", "project/jobs"]
)
def test_check_accepts_the_most_replicas_and_not_one_more(name: str, tmp_path: Path) -> None:
    file = next(each for each in sorted((EXAMPLES / name).glob("*.yaml")) if "kind: Workflow" in each.read_text())
    for number, gang_row in enumerate(shown(str(file), "-t", HALL)["gangs"]):
        for path, row in rows(gang_row, ("spec", "gangs", number)):
            assert row["exact"]
            for asked, fit in ((row["most"], True), (row["most"] + 1, False)):
                edited = parse(file.read_text())
                node = edited
                for key in path:
                    node = node[key]
                node["replicas"] = asked
                node |= {"atOnce": asked} if len(path) == 3 else {}  # copies of a gang
                changed = tmp_path / "workflow.yaml"
                changed.write_text(yaml.safe_dump(edited))
                result = bayplan("check", str(changed), "-t", HALL)
                refused = result.returncode == 1 or "P556" in result.stdout  # P556: only `minReplicas` fit
                assert refused != fit, (path, asked, result.stdout)


@pytest.mark.parametrize(("surge", "most"), [(0, 6), (1, 5)])
def test_a_service_keeps_room_for_its_rollout(surge: int, most: int, tmp_path: Path) -> None:
    changed, hall = tmp_path / "workflow.yaml", str(EXAMPLES / "vllm" / "topology.yaml")
    text = (EXAMPLES / "vllm" / "workflow.yaml").read_text()
    for copies in (2, most, most + 1):
        changed.write_text(text.replace("replicas: 2\n", f"replicas: {copies}\n    rollout: {{surge: {surge}}}\n"))
        assert bayplan("check", str(changed), "-t", hall).returncode == (copies > most)
    changed.write_text(changed.read_text().replace(f"replicas: {most + 1}", "replicas: 2"))
    assert shown(str(changed), "-t", hall)["gangs"][0]["most"] == most


def test_so_many_copies_fit_together_and_not_one_more(tmp_path: Path) -> None:
    copies = shown(FLOW, "-t", HALL)["copies"]
    assert copies == {"most": 2, "exact": True}
    files = [tmp_path / f"{number}.yaml" for number in range(3)]
    for number, file in enumerate(files):
        file.write_text(Path(FLOW).read_text().replace("name: pretrain", f"name: pretrain-{number}"))
    assert bayplan("check", *map(str, files[:2]), "-t", HALL, "--together").returncode == 0
    assert bayplan("check", *map(str, files), "-t", HALL, "--together").returncode == 1


SWEEP = str(EXAMPLES / "sweep" / "workflow.yaml")
SWEEP_HALL = str(EXAMPLES / "sweep" / "topology.yaml")


def many(tmp_path: Path, copies: int, limit: int | None = None) -> str:
    """The example of a sweep with so many copies."""
    data = parse(Path(SWEEP).read_text())
    (trial,) = data["spec"]["gangs"]
    trial["replicas"] = copies
    trial.pop("atOnce", None)
    trial |= {"atOnce": limit} if limit else {}
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(data))
    return str(tmp_path / "sweep.yaml")


def test_so_many_copies_of_a_gang_run_at_once_and_not_one_more(tmp_path: Path) -> None:
    """The first line counts workflows, of which one trial each must run."""
    asked = (many(tmp_path, 600), "-t", SWEEP_HALL)
    (trial,) = shown(*asked)["gangs"]
    text = bayplan("capacity", *asked).stdout
    assert text.splitlines()[0].endswith("copies of the workflow fit at once")
    assert f"gang {trial['name']}: {trial['most']} copies at once, 600 in the file" in text
    for limit, fits in ((trial["most"], True), (trial["most"] + 1, False)):
        done = bayplan("check", many(tmp_path, 600, limit), "-t", SWEEP_HALL, "--diagnostics", "json").stdout
        codes = {each["code"] for each in json.loads(done)["diagnostics"] if each["severity"] == "error"}
        assert ("P554" not in codes) == fits


def test_capacity_has_the_lines_of_queues_that_plan_has(tmp_path: Path) -> None:
    asked = (many(tmp_path, 6), "-t", SWEEP_HALL)
    lines = [
        [line for line in bayplan(command, *asked).stdout.splitlines() if "queue " in line]
        for command in ("capacity", "plan")
    ]
    assert lines[0] == lines[1] != []
    queues = shown(*asked)["queues"]
    assert queues == json.loads(bayplan("plan", *asked, "--format", "json").stdout)["workflows"][0]["queues"] != []


def test_the_first_line_of_a_plan_names_the_workloads_if_there_are_few(tmp_path: Path) -> None:
    first = bayplan("plan", many(tmp_path, 600), "-t", SWEEP_HALL, "-s", "kai").stdout.splitlines()[0]
    assert first.endswith("jobset sweep-0 and 599 more")
    first = bayplan("plan", many(tmp_path, 3), "-t", SWEEP_HALL, "-s", "kai").stdout.splitlines()[0]
    assert first.endswith("jobset sweep-0, sweep-1, sweep-2")


@pytest.mark.parametrize("command", ["plan", "capacity"])
def test_answers_about_another_cluster_say_so(command: str) -> None:
    asked = (
        command,
        FLOW,
        "-t",
        HALL,
        "--without",
        "rack=8c1f-a1.1",
        "--without",
        "gb-b1-n01",
        "--with",
        "gb200+1 rack",
    )
    text = bayplan(*asked).stdout
    named = "pretrain on hall-1 with gb200+1 rack without rack=8c1f-a1.1 and gb-b1-n01, namespace ml"
    assert text.startswith(named)
    (found,) = json.loads(bayplan(*asked, "--format", "json").stdout)["workflows"]
    assert (found["with"], found["without"]) == (["gb200+1 rack"], ["rack=8c1f-a1.1", "gb-b1-n01"])
    (plain,) = json.loads(bayplan(command, FLOW, "-t", HALL, "--format", "json").stdout)["workflows"]
    assert not {"with", "without"} & plain.keys()
    cluster_only = bayplan("capacity", "-t", HALL, "--without", "gb-b1-n01").stdout
    assert cluster_only.startswith("hall-1 without gb-b1-n01: the largest gangs that fit")


def test_the_level_of_nodes_has_two_names() -> None:
    for command in (("capacity", "-t", HALL), ("topology", "show", HALL)):
        by_node, by_host = (bayplan(*command, "--level", level) for level in ("node", "host"))
        assert (by_node.returncode, by_node.stdout) == (0, by_host.stdout)
    assert "on one node" in bayplan("capacity", "-t", HALL, "--level", "node").stdout


def test_a_workflow_that_does_not_fit_has_no_copies() -> None:
    found = shown(FLOW, "-t", HALL, "--without", "rack=8c1f-a[1-3].1", "--without", "rack=8c1f-b[1-3].1")
    assert found["copies"] == {"most": 0, "exact": True}
    assert found["gangs"][0]["groups"][0]["most"] == 3


# Other clusters.


def hall(text: str) -> ClusterTopology:
    """A topology file."""
    read = document.read("t.yaml", text.encode(), "topology").value
    assert read
    made = native.read(read[0].data).value
    assert made
    return made.value


def test_lost_nodes_are_unusable() -> None:
    text = Path(HALL).read_text()
    by_hand = hall(
        text.replace('cordoned: "gb-a3-n[04,11]"', 'cordoned: gb-a3-n04, removed: "gb-a3-n[10-11],gb-b1-n[01-18]"')
    )
    lost = what_if.without(hall(text), "gb-a3-n[10-11]").value
    assert lost
    lost = what_if.without(lost, "rack=8c1f-b1.1").value
    assert lost
    assert dict(lost.pools[0].unusable) == dict(by_hand.pools[0].unusable)


def test_more_racks_are_like_the_fullest_one(tmp_path: Path) -> None:
    """bayplan fills the smallest spine first, then adds one."""
    text = Path(HALL).read_text().replace('    - {path: north-1/spine-b/8c1f-b6.1, nodes: "gb-b6-n[01-18]"}\n', "")
    more = what_if.with_more(hall(text), "gb200+3 racks").value
    assert more
    new = [(domain.path, len(domain.nodes)) for domain in more.pools[0].domains[11:]]
    assert new == [
        (("north-1", "spine-b", "+rack-1"), 18),
        (("north-1", "+spine-1", "+rack-2"), 18),
        (("north-1", "+spine-1", "+rack-3"), 18),
    ]
    file = tmp_path / "topology.yaml"
    rows_by_hand = "".join(
        f'    - {{path: {"/".join(p)}, nodes: "new-{n}-n[01-18]"}}\n' for n, (p, _) in enumerate(new)
    )
    file.write_text(text.replace("    unusable:", rows_by_hand.replace("+", "x-") + "    unusable:"))
    smaller = tmp_path / "smaller.yaml"
    smaller.write_text(text)
    asked = ("capacity", "--format", "json", "-t")
    by_hand, with_more = bayplan(*asked, str(file)), bayplan(*asked, str(smaller), "--with", "gb200+3 racks")
    assert [each["most"] for each in json.loads(by_hand.stdout)["pools"][0]["pods"]] == [
        each["most"] for each in json.loads(with_more.stdout)["pools"][0]["pods"]
    ]


NEW = {
    "gb200+1 spine": {("north-1", "+spine-1"): 108},
    "gb200+1 zone": {("+zone-1", "+spine-1"): 108, ("+zone-1", "+spine-2"): 108},
    "gb200 + 20 nodes": {("north-1", "+spine-1"): 20},
    "gb200+2 host": {("north-1", "+spine-1"): 2},
}


@pytest.mark.parametrize(("word", "spines"), NEW.items(), ids=NEW)
def test_new_domains_have_all_levels(word: str, spines: dict[tuple[str, ...], int]) -> None:
    before = hall(Path(HALL).read_text())
    more = what_if.with_more(before, word).value
    assert more
    counted = Counter[tuple[str, ...]]()
    for domain in more.pools[0].domains[len(before.pools[0].domains) :]:
        counted[domain.path[:2]] += len(domain.nodes)
    assert counted == spines
    names = [node for domain in more.pools[0].domains for node in domain.nodes]
    assert len(set(names)) == len(names)
    twice = what_if.with_more(more, word).value
    assert twice
    names = [node for domain in twice.pools[0].domains for node in domain.nodes]
    assert len(set(names)) == len(names)


def test_plan_and_check_ask_about_the_same_cluster(tmp_path: Path) -> None:
    lost = ("--without", "rack=8c1f-a[1-3].1", "--without", "rack=8c1f-b[1-3].1")
    for command in ("plan", "check"):
        assert bayplan(command, FLOW, "-t", HALL, *lost).returncode == 1
        more = bayplan(command, FLOW, "-t", HALL, *lost, "--with", "gb200+4 racks")
        assert more.returncode == 0, more.stderr
        folder = f"{tmp_path}/out/"
        assert bayplan("render", FLOW, "-t", HALL, "-o", folder).returncode == 0
        assert bayplan(command, folder, "-t", HALL, *lost).returncode == 1
        assert bayplan(command, folder, "-t", HALL, *lost, "--with", "gb200+4 racks").returncode == 0
    table = bayplan("check", FLOW, "-t", HALL, *lost, "-s", "all")
    assert table.returncode == 1
    assert bayplan("check", FLOW, "-t", HALL, "-s", "all").returncode == 0
