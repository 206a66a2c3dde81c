"""What can be wrong with a cluster's topology: each invariant by its number, its codes, and an input that breaks it.

The numbers are those of the list from which they were built; a later one never takes the number of another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
import yaml

import fabric_texts
from bayplan.cli.run import run
from bayplan.report.codes import sections
from one_cluster import (
    LEVELS,
    NODES,
    RACK,
    hall,
    hyper_nodes,
    kube_list,
    native_text,
    nodes_of,
    slurm_blocks,
    slurm_tree,
    topograph_labels,
)
from test_cases import code_of
from tools.cases import CASES, NAMES
from tools.data import parse
from topology_files import exported, found_in, imported
from topology_files import topology as read

INVARIANTS: Mapping[int, tuple[str, ...]] = {
    1: ("T401",),  # a node has one place
    2: ("T401", "T505", "T518"),  # a value has one parent; the few nodes that say otherwise are named
    3: ("T503",),  # every node of a pool has the labels of its levels
    4: ("T404", "T509"),  # a level holds more than one node
    5: ("T404",),  # and more than one domain
    6: ("T405",),  # domains grow in number from coarse to fine
    7: ("T537",),  # the host's label is the node's name
    8: ("T406", "T505", "T522"),  # a rack has one NVLink partition, or is split evenly
    9: ("T406", "T505"),  # a partition is in one rack
    10: ("T513",),  # a partition that is none
    11: ("T409",),  # sizes of known hardware
    12: ("T410",),  # domains of unequal size
    13: ("T411",),  # usable nodes for what is planned
    14: ("T513",),  # GPUs to allocate against those that are there
    15: ("T514",),  # one shape a pool
    16: ("T401", "T555", "T510", "T545"),  # a node on two leaves, or a fabric that is reduced
    17: ("T545", "T449"),  # several roots
    18: ("T515",),  # hosts that are no workers
    19: ("T412", "T413", "T461"),  # what labels and schedulers can hold
    20: ("T536",),  # a value that stands for a longer one
    21: ("T480", "F614", "F667"),  # names in Slurm
    22: ("T475", "F631"),  # sizes of blocks
    23: ("T480", "F614"),  # Slurm's 65,536 nodes
    24: ("T401", "T532", "T480"),  # units that make a tree
    25: ("F631", "T425"),  # spines that end between blocks
    26: ("T571",),  # units that lose their names
    27: ("F667", "T537"),  # every node has its own name in Slurm
    28: ("M720", "M722", "T461"),  # HyperNodes
    29: ("T444",),  # a file that is too old, or not true any more
    30: ("T414", "T530"),  # hostlists
    31: ("P551", "P556", "F631"),  # groups that fit nowhere
    32: ("T529",),  # output that was cut off
}
"""Number -> the codes that tell of it."""


class Broken(NamedTuple):
    """An input that breaks an invariant, and what must be said of it: words of the message or the hint."""

    number: int
    code: str
    severity: str
    files: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    options: tuple[str, ...] = ()
    command: tuple[str, ...] = ("import",)


def of_nodes(change: Callable[[list[dict[str, Any]]], None]) -> tuple[tuple[str, str], ...]:
    """The nodes with a change."""
    data = kube_list()
    change(data["items"])
    return (("nodes.json", json.dumps(data)),)


def labels(place: int, **changed: str | None) -> Callable[[list[dict[str, Any]]], None]:
    """Other labels at one node; `a__b` for what is no identifier."""

    def change(items: list[dict[str, Any]]) -> None:
        own = items[place]["metadata"]["labels"]
        for key, value in changed.items():
            own[SHORT[key]] = value
            if value is None:
                del own[SHORT[key]]

    return change


SHORT = {
    "spine": "example.com/spine",
    "rack": RACK,
    "clique": "nvidia.com/gpu.clique",
    "host": "kubernetes.io/hostname",
    "count": "nvidia.com/gpu.count",
    "product": "nvidia.com/gpu.product",
}
UUID = "4d1f9e3a-0000-4000-8000-00000000000a"


def cliques(*changes: tuple[int, str | None]) -> tuple[tuple[str, str], ...]:
    """Nodes whose partitions are their racks, but for some."""

    def change(items: list[dict[str, Any]]) -> None:
        for node, item in zip(NODES, items, strict=True):
            item["metadata"]["labels"][SHORT["clique"]] = f"{UUID}.{node.rack[1:]}"
        for place, value in changes:
            labels(place, clique=value)(items)

    return of_nodes(change)


def native(change: Callable[[dict[str, Any]], None]) -> tuple[tuple[str, str], ...]:
    """The file of ours with a change to its one pool."""
    data = parse(native_text())
    data["spec"]["accelerators"] = {"gb200": {"vendor": "nvidia"}}
    pool = data["spec"]["pools"][0]
    pool["node"] = {"accelerator": "gb200", "count": 4}
    change(pool)
    return (("topology.yaml", yaml.safe_dump(data)),)


def row(place: int, **changed: str) -> Callable[[dict[str, Any]], None]:
    return lambda pool: pool["domains"][place].update(changed)


def level(place: int, **changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda pool: pool["levels"][place].update(changed)


def both(*changes: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    def change(pool: dict[str, Any]) -> None:
        for each in changes:
            each(pool)

    return change


def text(content: str) -> tuple[tuple[str, str], ...]:
    return (("source.txt", content),)


def in_every_place(key: str, value: Callable[[int], str]) -> tuple[tuple[str, str], ...]:
    """One label of all nodes by their number."""

    def change(items: list[dict[str, Any]]) -> None:
        for number in range(len(items)):
            labels(number, **{key: value(number)})(items)

    return of_nodes(change)


def taint(place: int) -> Callable[[list[dict[str, Any]]], None]:
    def change(items: list[dict[str, Any]]) -> None:
        items[place]["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = ""
        items[place]["spec"]["taints"] = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]

    return change


def fewer(place: int) -> Callable[[list[dict[str, Any]]], None]:
    return lambda items: items[place]["status"]["allocatable"].update({"nvidia.com/gpu": "3"})


def cards(*places: int) -> Callable[[list[dict[str, Any]]], None]:
    """Nodes with other GPUs."""

    def change(items: list[dict[str, Any]]) -> None:
        for place in places:
            labels(place, product="NVIDIA-H100-80GB-HBM3", count="8")(items)
            items[place]["status"]["allocatable"]["nvidia.com/gpu"] = "8"

    return change


def frame() -> tuple[str, str]:
    """Kueue's objects of a pool that takes every node."""
    made, _ = exported(read(native_text()), "kueue")
    return ("kueue.yaml", made or "")


def hashed() -> tuple[tuple[str, str], ...]:
    """Racks whose names were too long for Topograph to write them."""
    data = kube_list(lambda node: topograph_labels(node._replace(rack=f"x0123456789abcd{node.rack[1:]}")))
    return (("nodes.json", json.dumps(data)),)


CHECK = ("check",)
NVLINK = (*LEVELS[:-1], f"{LEVELS[-1]},nvlink")
FIRST = NODES[0].name
BROKEN = (
    Broken(1, "T401", "error", of_nodes(lambda items: items.append(items[0])), (FIRST,), LEVELS),
    Broken(1, "T401", "error", native(row(1, nodes="gb-11-n1")), ("gb-11-n1",), command=CHECK),
    Broken(2, "T505", "error", of_nodes(labels(0, spine="s2")), (FIRST, "s2", "s1"), LEVELS),
    Broken(2, "T401", "error", native(row(1, path="s2/r11")), ("r11", "s1", "s2"), command=CHECK),
    Broken(3, "T503", "error", of_nodes(labels(0, rack=None)), (FIRST, RACK), LEVELS),
    Broken(3, "T503", "error", of_nodes(labels(0, rack="")), (FIRST, RACK), LEVELS),
    Broken(3, "T503", "info", of_nodes(labels(0, rack=None)), (FIRST, RACK), (*LEVELS, "--exclude-incomplete")),
    Broken(4, "T509", "warning", in_every_place("rack", lambda n: f"h{n}"), (RACK,), LEVELS),
    Broken(
        5, "T404", "info", native(lambda pool: [row(n, path=f"s1/r{n}")(pool) for n in range(4)]), ("spine",), (), CHECK
    ),
    Broken(6, "T405", "error", of_nodes(lambda items: None), (RACK,), (*LEVELS[2:], *LEVELS[:2])),
    Broken(7, "T537", "warning", of_nodes(labels(0, host="other")), (FIRST, "other"), LEVELS),
    Broken(8, "T505", "error", cliques((0, f"{UUID}.99")), (f"{UUID}.99",), NVLINK),
    Broken(8, "T522", "warning", cliques((0, f"{UUID}.98"), (1, f"{UUID}.98")), ("rack", "2"), NVLINK),
    Broken(9, "T505", "error", cliques(*((n, f"{UUID}.12") for n in range(4))), (f"{UUID}.12",), NVLINK),
    Broken(10, "T513", "warning", cliques((0, None)), (FIRST,), LEVELS),
    Broken(10, "T513", "warning", cliques((0, "00000000-0000-0000-0000-000000000000.0")), (FIRST,), LEVELS),
    Broken(11, "T409", "warning", native(both(level(1, nvlink=True), row(0, nodes="gb-[01-19]"))), ("19",), (), CHECK),
    Broken(12, "T410", "info", native(row(0, nodes="gb-11-n1")), ("rack", "3 with 4"), command=CHECK),
    Broken(13, "T411", "warning", native(both(level(1, plan=4), row(0, nodes="gb-11-n1"))), ("4",), (), CHECK),
    Broken(14, "T513", "warning", of_nodes(fewer(0)), (FIRST, "3", "4"), LEVELS),
    Broken(15, "T514", "error", (frame(), *of_nodes(cards(0))), (FIRST, NODES[1].name)),
    Broken(16, "T401", "error", text(slurm_tree() + "SwitchName=r99 Nodes=gb-11-n1\n"), ("gb-11-n1", "r11")),
    Broken(16, "T555", "info", text(fabric_texts.ibnetdiscover(hall())), ("leaf",)),
    Broken(17, "T545", "warning", text(fabric_texts.ibnetdiscover(hall()._replace(core=False))), ("2",)),
    Broken(18, "T515", "info", of_nodes(taint(0)), (FIRST,), LEVELS),
    Broken(19, "T412", "error", native(row(0, path="s1/-r11")), ("-r11",), command=CHECK),
    Broken(20, "T536", "info", hashed(), ("x0123456789abcd11",)),
    Broken(21, "T480", "error", text(f"BlockName={'b' * 65} Nodes=n1"), ("64",)),
    Broken(22, "T475", "error", text(slurm_blocks().replace("4,8", "4,12")), ("12", "4")),
    Broken(22, "T475", "warning", text(slurm_blocks().replace("4,8", "5")), ("5", "4")),
    Broken(23, "T480", "error", text("BlockName=a Nodes=n[1-65537]"), ("65537", "65536")),
    Broken(24, "T532", "error", text("SwitchName=a Switches=b"), ("b",)),
    Broken(24, "T532", "error", text("SwitchName=a Switches=b\nSwitchName=b Switches=a"), ("a", "b")),
    Broken(24, "T401", "error", text("BlockName=a Nodes=n1\nBlockName=a Nodes=n2"), ("a",)),
    Broken(28, "M720", "error", text(hyper_nodes().replace("name: r21", "name: r12")), ("r12",)),
    Broken(28, "M722", "error", text(hyper_nodes().partition("\n---\n")[0]), ("r11",)),
    Broken(30, "T414", "error", native(row(0, nodes="n[5-3]")), ("5-3",), command=CHECK),
    Broken(30, "T414", "error", native(row(0, nodes="n[1-3")), ("n[1-3",), command=CHECK),
    Broken(30, "T414", "error", native(row(0, nodes="n[1-1000000000]")), ("200000",), command=CHECK),
    Broken(30, "T530", "error", text("BlockName=a Nodes=n[01-003]"), ("01-003",)),
    Broken(32, "T529", "error", text("SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-4"), ("n[1-4",)),
    Broken(32, "T529", "error", text("SwitchName=a Nodes=n[1-4],..."), ("...",)),
)


def told(broken: Broken, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What the command line says of the input."""
    if broken.command == ("import",):
        return imported(*broken.files, options=broken.options).found
    ((name, content),) = broken.files
    with open(name, "w", encoding="utf-8") as file:
        file.write(content)
    run(["topology", *broken.command, name, "--diagnostics", "json"])
    return found_in(capsys.readouterr().out)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: f"{each.number}-{each.code}")
def test_what_breaks_an_invariant_is_told(
    broken: Broken, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = told(broken, capsys)
    said = [each for each in found if (each["code"], each["severity"]) == (broken.code, broken.severity)]
    assert said, [(each["code"], each["severity"], each["message"]) for each in found]
    whole = [json.dumps([each["message"], each["hint"], each["notes"]]) for each in said]
    assert any(all(word in each for word in broken.words) for each in whole), whole
    assert all(os.path.basename(each["file"]) == broken.files[-1][0] for each in said), said


def test_every_invariant_has_its_codes_and_a_failing_case() -> None:
    assert sorted(INVARIANTS) == list(range(1, 33))
    mapped = {code for codes in INVARIANTS.values() for code in codes}
    assert mapped <= set(sections())
    shown = {each.number for each in BROKEN}
    cases = {code_of(name) for name in NAMES}
    without = {number for number, codes in INVARIANTS.items() if number not in shown and not cases & set(codes)}
    assert without == set()
    assert {(each.number, each.code) for each in BROKEN} <= {
        (n, code) for n, codes in INVARIANTS.items() for code in codes
    }


def test_cases_that_are_counted_on_are_there() -> None:
    """Those of invariants that need a workflow, two topologies or a clock."""
    for code in ("T571", "F667", "T444", "P551", "P556", "F631"):
        assert [name for name in NAMES if code_of(name) == code and (CASES / name / "command").exists()], code


def test_nodes_of_the_cluster_are_whole() -> None:
    """The inputs above are sound but for what they break."""
    assert len(nodes_of()) == len(NODES)
    assert imported(*of_nodes(lambda items: None), options=LEVELS).code == 0
