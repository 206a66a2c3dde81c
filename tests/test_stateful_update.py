"""`topology import --update` on a file that people edit, of a cluster that changes (a state machine of Hypothesis).

A run with errors changes nothing. After other runs, the file has the nodes of the cluster, and the comments, the style,
the order and the settings of its authors.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from bayplan import pipeline
from bayplan.core.diagnostics import has_errors
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.text import document
from tools.data import parse
from tools.effort import examples
from tools.run import bayplan

LEVELS = ("--level", "spine=example.com/spine", "--level", "rack=example.com/rack")
PRODUCT = "nvidia.com/gpu.product"
PRODUCTS = {"h100": "NVIDIA-H100-80GB-HBM3", "b200": "NVIDIA-B200"}
NAMES = tuple(f"n{number}" for number in range(1, 9))
PLACES = ("s1/r1", "s1/r2", "s2/r3", "s2/r4")
NODE_LINE = re.compile(
    r"\s*(- \{?(path|nodes):|nodes:|domains:|unusable:|cordoned:|notReady:|spare:|reserved:|- path:)"
)
"""Lines that an update may change."""


class Node(NamedTuple):
    """A node of the cluster."""

    pool: str
    place: str
    cordoned: bool = False
    ready: bool = True


def described(name: str, node: Node) -> dict[str, Any]:
    """The node as `kubectl get nodes -o json` prints it."""
    spine, rack = node.place.split("/")
    labels = {"example.com/spine": spine, "example.com/rack": rack, PRODUCT: PRODUCTS[node.pool]}
    allocatable = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"}
    conditions = [{"type": "Ready", "status": str(node.ready)}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": True} if node.cordoned else {},
        "status": {"allocatable": allocatable, "conditions": conditions},
    }


def parsed(text: str) -> ClusterTopology | None:
    """The topology, if it is valid."""
    read = document.read("topology.yaml", text.encode(), "topology").value
    outcome = pipeline.check_topology(read[0])[0] if read else None
    return outcome.value if outcome and not has_errors(outcome.diagnostics) else None


def settings_of(text: str) -> Any:
    """The data without nodes."""
    data = parse(text)
    for pool in data["spec"]["pools"]:
        pool.pop("domains", None)
        pool.pop("unusable", None)
    return data


class Update(RuleBasedStateMachine):
    """A cluster, and the file that describes it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.nodes: dict[str, Node] = {}
        self.notes = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @property
    def file(self) -> Path:
        return self.folder / "topology.yaml"

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    def edit(self, text: str) -> None:
        """Writes the file, unless the edit makes it invalid."""
        if parsed(text):
            self.file.write_text(text, encoding="utf-8")

    def imported(self, *options: str) -> Any:
        """A run with the nodes as they are."""
        items = [described(name, node) for name, node in self.nodes.items()]
        whole = {"apiVersion": "v1", "kind": "List", "items": items}
        (self.folder / "nodes.json").write_text(json.dumps(whole), encoding="utf-8")
        return bayplan("topology", "import", "nodes.json", *LEVELS, *options, "-o", "topology.yaml", cwd=self.folder)

    @initialize()
    def begin(self) -> None:
        self.nodes = {name: Node("h100", place) for name, place in zip(NAMES, (*PLACES[:3], PLACES[0]), strict=False)}
        assert self.imported().returncode == 0

    # The cluster.

    @rule(name=st.sampled_from(NAMES), pool=st.sampled_from(("h100", "h100", "b200")), place=st.sampled_from(PLACES))
    def add(self, name: str, pool: str, place: str) -> None:
        """A new node, or one that moves."""
        if name not in self.nodes or self.nodes[name].pool == pool:
            self.nodes[name] = Node(pool, place)

    @rule(name=st.sampled_from(NAMES))
    def remove(self, name: str) -> None:
        self.nodes.pop(name, None)

    @rule(name=st.sampled_from(NAMES), new=st.sampled_from(("m1", "m2", "x-10")))
    def rename(self, name: str, new: str) -> None:
        if name in self.nodes and new not in self.nodes:
            self.nodes[new] = self.nodes.pop(name)

    @rule(name=st.sampled_from(NAMES), cordoned=st.booleans(), ready=st.booleans())
    def change_state(self, name: str, cordoned: bool, ready: bool) -> None:
        if name in self.nodes:
            self.nodes[name] = self.nodes[name]._replace(cordoned=cordoned, ready=ready)

    # People.

    @rule(data=st.data(), trailing=st.booleans())
    def comment(self, data: st.DataObject, trailing: bool) -> None:
        lines = self.text.splitlines()
        number = data.draw(st.integers(0, len(lines) - 1))
        self.notes += 1
        if not trailing:
            indent = len(lines[number]) - len(lines[number].lstrip())
            lines.insert(number, f"{' ' * indent}# note {self.notes}")
        elif not NODE_LINE.match(lines[number]):
            lines[number] += f"  # note {self.notes}"
        self.edit("".join(f"{line}\n" for line in lines))

    @rule(data=st.data(), style=st.sampled_from((r"    - {path: \1, nodes: \2}", r"    - {nodes: \2, path: \1}")))
    def make_rows_flow(self, data: st.DataObject, style: str) -> None:
        rows = list(re.finditer(r"^    - path: (\S+)\n      nodes: (\S+)$", self.text, re.MULTILINE))
        if rows:
            row = data.draw(st.sampled_from(rows))
            self.edit(self.text[: row.start()] + row.expand(style) + self.text[row.end() :])

    @rule(data=st.data())
    def swap_rows(self, data: st.DataObject) -> None:
        lines = self.text.splitlines(keepends=True)
        flow = [number for number, line in enumerate(lines[1:]) if all("{" in each for each in (line, lines[number]))]
        if flow:
            number = data.draw(st.sampled_from(flow))
            lines[number : number + 2] = lines[number + 1], lines[number]
            self.edit("".join(lines))

    @rule(name=st.sampled_from(NAMES), why=st.sampled_from(("spare", "reserved")))
    def mark(self, name: str, why: str) -> None:
        """A node of the first pool."""
        text = re.sub(rf"^      {why}: .*\n", "", self.text, flags=re.MULTILINE)
        if "    unusable:\n" in text:
            self.edit(text.replace("    unusable:\n", f"    unusable:\n      {why}: {name}\n", 1))
        else:
            self.edit(
                re.sub(r"^    domains:", f"    unusable:\n      {why}: {name}\n    domains:", text, count=1, flags=re.M)
            )

    @rule(path=st.sampled_from(("s9/r9", "s2/r4", "s1/spare")))
    def keep_a_place(self, path: str) -> None:
        """A row without nodes."""
        if f"path: {path}" not in self.text:
            self.edit(
                re.sub(
                    r"^    domains:\n",
                    f"    domains:\n    - {{path: {path}, nodes: ''}}\n",
                    self.text,
                    count=1,
                    flags=re.M,
                )
            )

    @rule(
        pair=st.sampled_from(
            (
                ("memory: 512Gi", "memory: 500Gi"),
                ("    node:\n", "    node: &shape\n"),
                ("name: cluster", "'name': \"hall\""),
                ("spec:\n", "spec:\n  defaults: {scheduler: kai,  queue: research}\n"),
                ("spec:\n", "spec:\n  versions: {kai: '0.17'}\n\n"),
                ("count: nvidia.com/gpu", "'count' : \"nvidia.com/gpu\""),
                ("kind: ClusterTopology\n", "kind: ClusterTopology\n\n"),
                ("    levels:\n    - name: spine\n", "    levels:\n    -   name: spine\n        plan: 4\n"),
            )
        )
    )
    def change_a_setting(self, pair: tuple[str, str]) -> None:
        self.edit(self.text.replace(*pair, 1))

    # bayplan.

    @rule(
        text=st.sampled_from(("", "x", "spec: [", "apiVersion: bayplan.dev/v1alpha1\nkind: ClusterTopology\nspec: x\n"))
    )
    def update_a_broken_file(self, text: str) -> None:
        whole = self.text
        self.file.write_text(text, encoding="utf-8")
        done = self.imported("--update", "topology.yaml")
        assert (done.returncode, self.text) == (1, text)
        self.file.write_text(whole, encoding="utf-8")

    @rule()
    def update(self) -> None:
        before, status = self.text, self.file.stat()
        check = self.imported("--update", "topology.yaml", "--check")
        assert self.text == before
        done = self.imported("--update", "topology.yaml")
        after = self.text
        if not self.nodes:
            assert (done.returncode, after) == (1, before)
            return
        assert done.returncode == 0, done.stderr + before
        assert check.returncode == (after != before)
        if after == before:
            assert (self.file.stat().st_ino, self.file.stat().st_mtime_ns) == (status.st_ino, status.st_mtime_ns)
        old, new = parsed(before), parsed(after)
        assert old is not None
        assert new is not None
        self.compare_nodes(old, new)
        self.compare_text(before, after)
        again = self.imported("--update", "topology.yaml")
        assert (again.returncode, self.text) == (0, after)

    def compare_nodes(self, old: ClusterTopology, new: ClusterTopology) -> None:
        """The nodes and their states are those of the cluster; a pool without nodes in it is as it was."""
        assert [pool.name for pool in new.pools][: len(old.pools)] == [pool.name for pool in old.pools]
        pools = {self.product(pool): pool for pool in new.pools}
        before = {self.product(pool): pool for pool in old.pools}
        for name in {node.pool for node in self.nodes.values()}:
            pool, own = pools[name], {node: each for node, each in self.nodes.items() if each.pool == name}
            assert {node: "/".join(row.path) for row in pool.domains for node in row.nodes} == {
                node: each.place for node, each in own.items()
            }
            marks: Mapping[str, Any] = before[name].unusable if name in before else {}
            kept = {why: {node for node in marks.get(why, ()) if node in own} for why in ("spare", "reserved")}
            found = {why: set(pool.unusable.get(why, ())) for why in ("spare", "reserved", "cordoned", "notReady")}
            assert {why: found[why] for why in kept} == kept
            marked = kept["spare"] | kept["reserved"]
            assert found["notReady"] | marked == {node for node, each in own.items() if not each.ready} | marked
            assert (
                found["cordoned"] - found["notReady"]
                == {node for node, each in own.items() if each.cordoned and each.ready} - marked
            )
            empty = {row.path for row in before[name].domains if not row.nodes} if name in before else set()
            assert empty <= {row.path for row in pool.domains}

    def product(self, pool: Pool) -> str:
        """The key of `PRODUCTS` for a pool."""
        return next(name for name, product in PRODUCTS.items() if product in pool.node.node_selector.values())

    def compare_text(self, before: str, after: str) -> None:
        """Only nodes differ, and new pools come last."""
        own, new = settings_of(before), settings_of(after)
        count = len(own["spec"]["pools"])
        assert new["spec"]["pools"][:count] == own["spec"]["pools"]
        accelerators = new["spec"].pop("accelerators")
        assert accelerators.items() >= own["spec"].pop("accelerators").items()
        assert {**new["spec"], "pools": None} == {**own["spec"], "pools": None}
        lost = [line[2:] for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line.startswith("- ")]
        assert [line for line in lost if not NODE_LINE.match(line)] == []
        notes = re.findall(r"# note \d+", before)
        assert [note for note in re.findall(r"# note \d+", after) if note in notes] == notes


TestUpdate = Update.TestCase
TestUpdate.settings = settings(max_examples=examples(40, 400), stateful_step_count=examples(20, 40))


def test_each_node_in_a_rack_of_its_own() -> None:
    """The level of the file stays, although every node has its own value of its label."""
    machine = Update()
    machine.begin()
    machine.add(name="n1", pool="h100", place="s2/r4")
    machine.update()
    assert "path: s2/r4" in machine.text
    check = bayplan("topology", "check", "topology.yaml", "--live", "nodes.json", cwd=machine.folder)
    assert "error[" not in check.stdout, check.stdout
    machine.teardown()
