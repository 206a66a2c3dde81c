"""`bayplan plan` in every format: ranks and nodes as lists, and pictures, which tests/test_pictures.py opens."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import xml.dom.minidom
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.model.plan import Occupant
from bayplan.model.topology import ClusterTopology, Domain, Level, NodeShape, Pool
from bayplan.plugins.pictures import blocks, html, svg
from bayplan.plugins.pictures.scene import STATES, Scene, cluster
from tools.run import EXAMPLES, PRETRAIN, ROOT, bayplan

PAIR = (f"{PRETRAIN}/workflow.yaml", "-t", f"{PRETRAIN}/topology.yaml")
NATIVES = sorted(path.parent for path in EXAMPLES.glob("*/workflow.yaml"))
MPIRUN = shutil.which("mpirun")


def shown(*words: str, form: str, code: int = 0) -> str:
    done = bayplan("plan", *words, "--format", form)
    assert done.returncode == code, done.stderr
    return done.stdout


def pod_sets(unit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from unit["podSets"]
    for each in unit["groups"]:
        yield from pod_sets(each)


@pytest.mark.parametrize("folder", NATIVES, ids=lambda folder: folder.name)
def test_every_format_lists_the_same_pods(folder: Path) -> None:
    words = (str(folder / "workflow.yaml"), "-t", str(folder / "topology.yaml"))
    data = json.loads(shown(*words, form="json"))
    stages = [stage for each in data["workflows"] for stage in each["stages"]]
    wanted = [
        (gang["gang"], None if each["firstRank"] is None else each["firstRank"] + n, node)
        for stage in stages
        for gang in stage["gangs"]
        for each in pod_sets(gang)
        for n, node in enumerate(each["nodes"])
    ]
    rows = list(csv.DictReader(io.StringIO(shown(*words, form="csv"))))
    assert [(row["gang"], int(row["rank"]) if row["rank"] else None, row["node"]) for row in rows] == wanted


@pytest.mark.parametrize("name", ["elastic", "leader-and-workers", "nested-groups", "osmo-data", "pipeline"])
def test_every_format_shows_all_pods(name: str) -> None:
    words = (f"{EXAMPLES}/{name}/workflow.yaml", "-t", f"{EXAMPLES}/{name}/topology.yaml")
    rows = list(csv.DictReader(io.StringIO(shown(*words, form="csv"))))
    assert len({(row["gang"], row["pod"]) for row in rows}) == len(rows)
    table = [line.split() for line in shown(*words, form="table").splitlines()]
    assert [(line[2], line[-1]) for line in table[1:]] == [(r["rank"] or "-", [*r.values()][-1] or "-") for r in rows]
    assert sum(map(int, re.findall(r": (\d+) pods? on \d+ node", shown(*words, form="blocks")))) == len(rows)
    xml.dom.minidom.parseString(shown(*words, form="svg"))
    assert page_pods(shown(*words, form="html")) == len(rows)


def page_data(text: str) -> Any:
    """The data of a page."""
    return json.loads(text.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])


def page_pods(text: str) -> int:
    """The pods of all stages of a page."""
    return sum(count * each for scene in page_data(text)["scenes"] for _, count, _, _, each in scene["seats"])


def hostfile(text: str) -> list[tuple[str, int]]:
    """Nodes and slots, as mpirun reads a line."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return [(words[0], int(words[1].removeprefix("slots="))) for words in lines if words]


LAST = """
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {name: train, namespace: ml}
spec:
  gangs:
  - name: train
    rendezvous: RENDEZVOUS
    groups:
    - name: replica
      replicas: 2
      computeDomain: never
      placement: {required: rack}
      podSets: [{name: worker, replicas: 6, accelerator: {name: gb200, count: 1}, image: a, command: [b]}]
"""


def test_a_hostfile_has_the_nodes_in_the_order_of_ranks(tmp_path: Path) -> None:
    path = tmp_path / "workflow.yaml"
    path.write_text(LAST.replace("RENDEZVOUS", "gang"), encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(shown(str(path), *PAIR[1:], form="csv"))))
    text = shown(str(path), *PAIR[1:], form="hostfile")
    assert text.startswith("# train: 12 ranks\n")
    assert [node for node, slots in hostfile(text) for _ in range(slots)] == [row["node"] for row in rows]
    assert max(slots for _, slots in hostfile(text)) > 1


@pytest.mark.skipif(MPIRUN is None, reason="mpirun is not installed")
def test_mpirun_gives_each_node_the_ranks_of_the_plan(tmp_path: Path) -> None:
    path, hosts = tmp_path / "workflow.yaml", tmp_path / "hosts"
    path.write_text(LAST.replace("RENDEZVOUS", "gang"), encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(shown(str(path), *PAIR[1:], form="csv"))))
    hosts.write_text(shown(str(path), *PAIR[1:], form="hostfile"), encoding="utf-8")
    options = "--allow-run-as-root --map-by slot --display map --do-not-launch -np 12 --hostfile"
    command = [MPIRUN or "", *options.split(), str(hosts), "true"]
    printed = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False).stdout
    node, ranks = "", {}
    for found in re.finditer(r"Data for node: (\S+)|App rank: (\d+)", printed):
        node = found[1] or node
        if found[2]:
            ranks[found[2]] = node
    assert ranks == {row["rank"]: row["node"] for row in rows}


def test_each_rendezvous_has_a_hostfile(tmp_path: Path) -> None:
    path, folder = tmp_path / "workflow.yaml", tmp_path / "hosts"
    path.write_text(LAST.replace("RENDEZVOUS", "group"), encoding="utf-8")
    assert "O808" in bayplan("plan", str(path), *PAIR[1:], "--format", "hostfile").stderr
    done = bayplan("plan", str(path), *PAIR[1:], "--format", "hostfile", "-o", f"{folder}/")
    assert done.returncode == 0
    names = sorted(each.name for each in folder.iterdir() if each.suffix == ".hostfile")
    assert names == ["01-train-replica-0.hostfile", "02-train-replica-1.hostfile"]
    assert [sum(slots for _, slots in hostfile((folder / name).read_text())) for name in names] == [6, 6]


def test_levels_do_not_hide_other_columns(tmp_path: Path) -> None:
    text = (PRETRAIN / "topology.yaml").read_text(encoding="utf-8").replace("name: zone", "name: pod")
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    header = shown(PAIR[0], "-t", str(tmp_path / "t.yaml"), form="csv").split("\n")[0]
    assert header == "workflow,namespace,rank,gang,group,podSet,pod,node,level-pod,spine,rack"


BLOCKS = """\
    8c1f-a1.1  AAAAAAAAAAAAAAAA--
    8c1f-a2.1  BBBBBBBBBBBBBBBB--
    8c1f-a3.1  CCC/CCCCCC/CCCCCCC
    8c1f-a4.1  DDDDDDDDDDDDDDDD--
    8c1f-a5.1  ················--
"""


def test_blocks_have_letters_and_on_a_terminal_colours() -> None:
    text = shown(*PAIR, form="blocks")
    assert BLOCKS in text
    assert "\x1b" not in text
    coloured = "".join(blocks.draw((busy(),), coloured=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == "".join(blocks.draw((busy(),), coloured=False))


@pytest.mark.parametrize("form", ["svg", "html", "blocks", "json"])
def test_a_picture_shows_a_plan_that_does_not_fit(form: str, tmp_path: Path) -> None:
    path = tmp_path / "workflow.yaml"
    text = Path(PAIR[0]).read_text(encoding="utf-8")
    path.write_text(text.replace("replicas: 16", "replicas: 18"), encoding="utf-8")
    done = bayplan("plan", str(path), *PAIR[1:], "--format", form)
    assert done.returncode == 1
    assert "error[P555]" in done.stderr
    if form == "json":
        assert done.stdout == ""
        return
    assert "needs 18 pods of" in done.stdout
    if form == "blocks":
        assert "8c1f-a1.1  ················-- <- no room for 2 pods" in done.stdout
    if form == "svg":
        found = [
            each.getAttribute("class") for each in xml.dom.minidom.parseString(done.stdout).getElementsByTagName("rect")
        ]
        assert (found.count("missing"), found.count("line short")) == (3, 1)  # two nodes, and the legend
    out = tmp_path / "picture"
    assert bayplan("plan", str(path), *PAIR[1:], "--format", form, "-o", str(out)).returncode == 1
    assert out.read_text(encoding="utf-8") == done.stdout


def test_workflows_that_run_at_once_share_a_picture(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.yaml" for name in ("one", "two", "three")]
    for path in paths:
        text = Path(PAIR[0]).read_text(encoding="utf-8")
        path.write_text(text.replace("name: pretrain", f"name: {path.stem}"), encoding="utf-8")
    drawn = shown(*map(str, paths[:2]), *PAIR[1:], form="blocks")
    assert drawn.startswith("one and two on hall-1: 128 pods on 128 nodes of 216\n")
    assert "8c1f-b1.1  EEEEEEEEEEEEEEEE--\n" in drawn
    assert "E two replica-0: 16 pods in north-1/spine-b/8c1f-b1.1\n" in drawn
    drawn = shown(*map(str, paths), *PAIR[1:], form="blocks", code=1)
    first, _, second = drawn.partition("\nthree on hall-1: 64 pods, no placement\n")
    assert first.startswith("one and two on hall-1")
    assert "    8c1f-a1.1  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓--\n" in second
    assert "no room for 32 pods" in second
    assert shown(*map(str, paths), *PAIR[1:], "--alone", form="blocks").count("pods on 64 nodes") == 3


def test_a_difference_shows_both_sides_and_what_moved(tmp_path: Path) -> None:
    text = Path(PAIR[0]).read_text(encoding="utf-8")
    other, folder = tmp_path / "workflow.yaml", tmp_path / "manifests"
    other.write_text(re.sub(r"replicas: 4$", "replicas: 5", text, flags=re.MULTILINE), encoding="utf-8")
    assert bayplan("render", *PAIR, "-o", f"{folder}/").returncode == 0
    same = bayplan("diff", PAIR[0], str(folder), *PAIR[1:], "--format", "svg")
    assert (same.returncode, same.stdout.count('class="changed"')) == (0, 0)
    done = bayplan("diff", str(other), str(folder), *PAIR[1:], "--format", "svg")
    assert done.returncode == 1
    assert [each.childNodes[-1].data for each in _titles(done.stdout)] == [
        "before: pretrain on hall-1",
        "after: pretrain on hall-1",
    ]
    assert "pretrain: 64 pods -&gt; 80 pods" in done.stdout
    assert "pretrain replica-4 is new: 16 pods, required rack, pool gb200" in done.stdout
    assert done.stdout.count('class="changed"') == 2 * (16 + 1)  # nodes, and the legend
    (tmp_path / "other.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", encoding="utf-8")
    new = bayplan("diff", PAIR[0], str(tmp_path / "other.yaml"), *PAIR[1:], "--format", "svg")
    assert "no pods of this workflow" in new.stdout
    assert new.stdout.count('class="changed"') == 2 * (64 + 1)


def _titles(drawn: str) -> list[Any]:
    texts = xml.dom.minidom.parseString(drawn).getElementsByTagName("text")
    return [each for each in texts if each.getAttribute("class") == "ink title"]


@pytest.mark.parametrize("edit", [("required: rack", "required: rak"), ("replicas: 16", "replicas: many")])
def test_other_errors_leave_no_picture(edit: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "workflow.yaml"
    path.write_text(Path(PAIR[0]).read_text(encoding="utf-8").replace(*edit), encoding="utf-8")
    assert shown(str(path), *PAIR[1:], form="svg", code=1) == ""


def busy() -> Scene:
    """Three racks, in which others occupy nodes."""
    rows = tuple(Domain((f"r{n}",), tuple(f"n{n}-{i}" for i in range(4))) for n in range(3))
    pool = Pool("p", NodeShape("h100", 8), (Level("rack", "r"),), rows, {"cordoned": ("n2-1",), "broken<": ("n2-2",)})
    half, whole = (Occupant(f"team/{cards}", 2, {"accelerator:h100": cards * 1000}) for cards in (4, 8))
    return cluster(ClusterTopology("busy", (pool,)), {"n0-1": (half,), "n0-2": (half, half), "n1-1": (whole,)})


def test_occupied_nodes_are_filled_as_far_as_others_take_them() -> None:
    drawn = "".join(svg.draw((busy(),)))
    assert '<rect class="occupied" y="6" width="12" height="6"/>' in drawn
    assert drawn.count('class="occupied"') == 4  # one in half, two whole, and the legend
    assert "n0-1; team/4, 2 pods" in drawn
    assert "n2-2; broken&lt;" in drawn
    lines = "".join(blocks.draw((busy(),), coloured=False))
    assert "r0  ·▓▓·\nr1  ·▓··\nr2  ·/?·\n" in lines


def test_removed_nodes_have_their_own_sign() -> None:
    less = (*PAIR, "--without", "spine=spine-a")
    text = shown(*less, form="blocks")
    assert "_ removed by --without" in text
    assert text.count("_") == 108 + 1
    picture = shown(*less, form="svg")
    assert picture.count('class="removed"') == 108 + 1
    assert "removed by --without" in picture


@pytest.mark.parametrize("style", ["svg.css", "page.css"])
def test_every_state_has_a_sign_and_a_style(style: str) -> None:
    rules = (ROOT / "generator/bayplan/plugins/pictures" / style).read_text(encoding="utf-8")
    assert set(STATES) == set(blocks.SIGNS)
    assert len(set(blocks.SIGNS.values())) == len(STATES)
    drawn = STATES.keys() - {"free"} if style == "page.css" else STATES.keys()
    assert [word for word in drawn if not re.search(rf"\.{word} {{", rules)] == []


def test_the_page_has_one_entry_for_equal_neighbours() -> None:
    (scene,) = page_data(shown(*PAIR, form="html"))["scenes"]
    assert [run[:3] for run in scene["seats"]] == [
        [0, 16, 0], [18, 16, 1], [36, 3, 2], [40, 6, 2], [47, 7, 2], [54, 16, 3],
    ]  # fmt: skip
    assert "\u2028" not in "".join(html.draw((busy(),)))


def test_each_copy_has_the_compute_domain_that_all_share() -> None:
    case = ROOT / "tests" / "cases" / "F626-copies"
    data = json.loads(shown(f"{case}/workflow.yaml", "-t", f"{case}/topology.yaml", form="json"))
    gangs = [gang for stage in data["workflows"][0]["stages"] for gang in stage["gangs"]]
    assert [gang["computeDomain"] for gang in gangs] == ["llm", "llm"]
