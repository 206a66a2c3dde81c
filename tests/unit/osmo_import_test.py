"""Topologies out of OSMO's pools: new ones, and edits of a file that keep its comments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from osmo_pool_test import document

from bayplan.cli import topology_import as editing
from bayplan.cli.run import run
from bayplan.plugins.osmo import topology as osmo_pool
from bayplan.text.document import Document
from bayplan.text.document import read as read_document
from bayplan.text.edits import Edit, edited
from bayplan.topologies import native
from support import TOPOLOGY

POOLS = {
    "pools": {
        "hall": {
            "backend": "east",
            "topology_keys": [
                {"key": "spine", "label": "example.com/spine"},
                {"key": "gpu-clique", "label": "nvidia.com/gpu-clique"},
                {"key": "host", "label": "kubernetes.io/hostname"},
            ],
            "common_pod_template": ["tolerant"],
            "platforms": {"gb200": {"override_pod_template": ["gb200"]}, "CPU_only": {}},
        }
    },
    "pod_templates": {
        "tolerant": {"spec": {"tolerations": [{"key": "gpu", "operator": "Exists"}, {"key": "{{WF_POOL}}"}]}},
        "gb200": {
            "spec": {
                "tolerations": [{"key": "gpu", "operator": "Exists"}],
                "nodeSelector": {"kind": "gb200", "pool": "{{WF_POOL}}"},
            }
        },
    },
    "backends": {"east": {"k8s_namespace": "osmo", "scheduler_settings": {"scheduler_name": "kai"}}},
}


def made() -> dict[str, Any]:
    outcome = osmo_pool.new(document(POOLS))
    assert outcome.value is not None, outcome.diagnostics
    return native.write(outcome.value)["spec"]  # type: ignore[no-any-return]


def test_a_new_topology() -> None:
    spec = made()
    assert spec["defaults"] == {"scheduler": "kai", "namespace": "osmo", "queue": "osmo-pool-osmo-hall"}
    assert spec["schedulers"] == {"kai": {"topology": "osmo-pool-osmo-hall-topology", "schedulerName": "kai"}}
    assert [pool["name"] for pool in spec["pools"]] == ["gb200", "cpu-only"]
    tolerant = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}
    assert [pool["node"] for pool in spec["pools"]] == [{"nodeSelector": {"kind": "gb200"}, **tolerant}, tolerant]


def test_levels_of_a_new_topology() -> None:
    clique = {"name": "gpu-clique", "label": "nvidia.com/gpu.clique", "nvlink": True}
    assert made()["pools"][0]["levels"] == [{"name": "spine", "label": "example.com/spine"}, clique]


def test_with_nodes_it_is_a_topology() -> None:
    spec = made()
    for number, pool in enumerate(spec["pools"]):
        pool["domains"] = [{"path": "s1/r1", "nodes": f"n{number}-[1-4]"}]
    head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": "hall"}}
    read = native.read({**head, "spec": spec})
    assert read.value is not None
    assert read.value.value.defaults["queue"] == "osmo-pool-osmo-hall"


def test_what_a_new_topology_lacks_is_said() -> None:
    found = osmo_pool.new(document(POOLS)).diagnostics
    assert sorted(each.code for each in found) == ["W466", "W497", "W498", "W498", "W498"]


def test_platforms_of_one_name_in_two_pools() -> None:
    one = {"backend": "b", "platforms": {"gpu": {}}}
    topology = osmo_pool.new(document({"pools": {"a": one, "b": one}})).value
    assert topology is not None
    assert [pool.name for pool in topology.pools] == ["a-gpu", "b-gpu"]
    assert topology.defaults == {"scheduler": "kai"}


def additions(*pools: Any) -> Any:
    """The edits of a topology with these pools' nodes."""
    (first,) = TOPOLOGY["spec"]["pools"]
    own = [{**first, "name": name, "node": {**first["node"], **node}} for name, node in pools]
    read = native.read({**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "pools": own}}).value
    assert read is not None
    return osmo_pool.update(document(POOLS), read.value)


NODE = ("spec", "pools", 0, "node")
TOLERATION = {"key": "gpu", "operator": "Exists"}


def test_a_pool_of_the_platforms_name_gains_what_it_lacks() -> None:
    assert additions(("gb200", {}), ("cpu-only", {})).value == (
        Edit((*NODE, "nodeSelector", "kind"), "gb200"),
        Edit((*NODE, "tolerations"), [TOLERATION], append=True),
        Edit(("spec", "pools", 1, "node", "tolerations"), [TOLERATION], append=True),
    )


def test_a_pool_with_the_platforms_label() -> None:
    gains = additions(("east", {"nodeSelector": {"kind": "gb200"}, "tolerations": [TOLERATION]}), ("cpu-only", {}))
    assert gains.value == (Edit(("spec", "pools", 1, "node", "tolerations"), [TOLERATION], append=True),)


def test_two_pools_with_the_platforms_label_are_no_pool() -> None:
    gains = additions(("a", {"nodeSelector": {"kind": "gb200"}}), ("b", {"nodeSelector": {"kind": "gb200"}}))
    assert gains.value == ()
    assert sum("does not match any pool of the topology" in each.message for each in gains.diagnostics) == 2


def test_a_label_with_another_value_stays() -> None:
    gains = additions(("gb200", {"nodeSelector": {"kind": "gb300"}, "tolerations": [TOLERATION]}))
    assert gains.value == ()
    assert any('pool "gb200" has "gb300"' in each.message for each in gains.diagnostics)


BLOCK = """\
# the hall
apiVersion: bayplan.dev/v1alpha1   # ours
kind: ClusterTopology
metadata: {name: hall}
spec:
  pools:
  - name: gb200
    node:
      count: 4  # cards
      # what follows
      accelerator: gb200

    # one line a rack
    domains:
    - {nodes: "n[1-4]"}
  accelerators: {gb200: {}}
"""
EDITS = (
    Edit((*NODE, "nodeSelector", "kind"), "gb200"),
    Edit((*NODE, "nodeSelector", "odd"), "on"),
    Edit((*NODE, "tolerations"), [{"key": "gpu", "operator": "Exists", "value": "1_0"}], append=True),
)


def of_text(text: str) -> Document:
    (found,) = read_document("topology.yaml", text.encode(), "topology").value or ()
    return found


FILES = {
    "block": BLOCK,
    "flow": BLOCK.replace(
        "\n      count: 4  # cards\n      # what follows\n      accelerator: gb200\n", " {count: 4}\n"
    ),
    "lists stood in": BLOCK.replace("  - name: gb200", "    - name: gb200")
    .replace("\n    node", "\n      node")
    .replace("\n      count", "\n        count")
    .replace("\n      acc", "\n        acc")
    .replace("\n    domains:\n    -", "\n      domains:\n        -"),
    "null": BLOCK.replace("      count: 4", "      nodeSelector: {}\n      tolerations: []\n      count: 4"),
    "there": BLOCK.replace(
        "      count: 4", "      nodeSelector: {a: b}\n      tolerations:\n      - {key: x}\n      count: 4"
    ),
    "windows": BLOCK.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_edits_of_a_file_are_those_of_its_data(text: str) -> None:
    before = of_text(text)
    after = editing.apply(before, EDITS)
    assert after.value is not None, after.diagnostics
    assert of_text(after.value).data == edited(before.data, EDITS)
    comments = [line.partition("#")[2].strip() for line in text.splitlines() if "#" in line]
    assert [line.partition("#")[2].strip() for line in after.value.splitlines() if "#" in line] == comments


def test_lines_that_are_not_edited_stay_as_they_are() -> None:
    after = editing.apply(of_text(BLOCK), EDITS).value
    assert after is not None
    lines = after.splitlines()
    assert [line for line in BLOCK.splitlines() if line not in lines] == []


def test_a_json_file_stays_one() -> None:
    text = json.dumps(of_text(BLOCK).data)
    after = editing.apply(of_text(text), EDITS).value
    assert after is not None
    assert json.loads(after) == edited(json.loads(text), EDITS)


def test_edits_of_data() -> None:
    assert edited({}, [Edit(("a", "b"), 1)]) == {"a": {"b": 1}}
    assert edited({"a": [{"b": 1}, {}]}, [Edit(("a", 1, "c"), [2], append=True)]) == {"a": [{"b": 1}, {"c": [2]}]}
    assert edited({"a": [1]}, [Edit(("a",), [2], append=True)]) == {"a": [2, 1]}


def test_the_command_writes_a_file_that_can_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pools, topology, out = tmp_path / "pools.yaml", tmp_path / "topology.yaml", tmp_path / "out.yaml"
    pools.write_text(yaml.safe_dump(POOLS))
    topology.write_text(yaml.safe_dump(TOPOLOGY))
    argv = ["topology", "import", f"{pools}#hall", "--update", str(topology), "-o", str(out)]
    assert run(argv) == 0
    assert run([*argv, "--check"]) == 0
    assert yaml.safe_load(out.read_text())["spec"]["pools"][0]["node"]["nodeSelector"] == {"kind": "gb200"}
    assert run(["topology", "check", str(out)]) == 0
    assert run(["topology", "import", str(pools), "--from", "osmo-pool", "--strict", "-o", str(out)]) == 1
    capsys.readouterr()


def test_standard_input_is_read_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topology", "import", "-", "--update", "-"]) == 2
    assert "A920" in capsys.readouterr().err
