"""`topology diff` of two sides that both name Slurm's units: another name is fatal to a controller, so it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.cli.run import run

BLOCKS = "BlockName=r0 Nodes=gb[00-03]\nBlockName=r1 Nodes=gb[04-07]\nBlockSizes=4\n"
LABELLED = """# Slurm's topology.conf of hall, TopologyPlugin=topology/block.
# levels of default: leaf=example.com/leaf rack=example.com/rack
BlockSizes=4
# dh0=l1/dh0
BlockName=dh0 Nodes=gb[00-03]
# dh1=l1/dh1
BlockName=dh1 Nodes=gb[04-07]
"""
TREE = "SwitchName=top Switches=old[0-1]\nSwitchName=old0 Nodes=gb[00-03]\nSwitchName=old1 Nodes=gb[04-07]\n"
ZONES = """# levels of default: zone=topology.kubernetes.io/zone rack=topology.kubernetes.io/rack
SwitchName=z1 Switches=r0,r1
# r0=z1/r0
SwitchName=r0 Nodes=gb[00-03]
# r1=z1/r1
SwitchName=r1 Nodes=gb[04-07]
"""
OWN = """apiVersion: bayplan.dev/v1alpha1
kind: ClusterTopology
metadata: {name: hall}
spec:
  schedulers: {slurm: {plugin: block, units: {dh0: r0, dh1: r1}}}
  pools:
  - name: default
    node: {}
    levels: [{name: rack, label: example.com/rack, plan: 4}]
    domains: [{path: dh0, nodes: "gb[00-03]"}, {path: dh1, nodes: "gb[04-07]"}]
"""
NO_SLURM = OWN.replace("  schedulers: {slurm: {plugin: block, units: {dh0: r0, dh1: r1}}}\n", "")
RENAMED = OWN.replace("dh0: r0", "dh0: r7")


def diff(folder: Path, old: str, new: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """The exit code, and the renamed units."""
    names = []
    for name, said in (("old", old), ("new", new)):
        path = folder / f"{name}.{'yaml' if said.startswith('apiVersion') else 'conf'}"
        path.write_text(said)
        names.append(str(path))
    code = run(["topology", "diff", *names])
    return code, [line.split("  ")[2] for line in capsys.readouterr().out.splitlines() if " -> " in line]


@pytest.mark.parametrize(
    ("old", "new", "renamed"),
    [
        (BLOCKS, BLOCKS, []),
        (BLOCKS, LABELLED, ["r0 -> dh0", "r1 -> dh1"]),
        (LABELLED, BLOCKS, ["dh0 -> r0", "dh1 -> r1"]),
        (TREE, ZONES, ["top -> z1", "top/old0 -> z1/r0", "top/old1 -> z1/r1"]),
        (OWN, BLOCKS, []),
        (BLOCKS, OWN, []),
        (NO_SLURM, BLOCKS, []),
        (RENAMED, BLOCKS, ["r7 -> r0"]),
    ],
)
def test_units_with_other_names(
    old: str, new: str, renamed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = diff(tmp_path, old, new, capsys)
    assert [each.strip() for each in found] == renamed
    assert code == bool(renamed)
