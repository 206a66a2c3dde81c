"""A plug-in can be deleted: the rest works, and a command that needs it names it. Others can be added."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.run import EXAMPLES, ROOT, environment

PRETRAIN = EXAMPLES / "pretrain"
JOB = (str(PRETRAIN / "workflow.yaml"), "-t", str(PRETRAIN / "topology.yaml"))

NEEDS = {
    "osmo": ("check", str(EXAMPLES / "osmo-one-rack" / "osmo.yaml"), *JOB[1:]),
    "pictures": ("plan", *JOB, "--format", "svg"),
    "slurm": ("render", *JOB, "-s", "slurm"),
    "sources": ("topology", "import", "--from", "ufm", str(PRETRAIN / "topology.yaml")),
    "torchx": ("check", str(EXAMPLES / "torchx-macvlan" / "app.json"), *JOB[1:]),
}
"""A command that needs the plug-in."""


def copied(folder: Path) -> Path:
    """A copy of what a command needs."""
    for name in ("generator", "schemas"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "docs" / "reference").mkdir(parents=True)
    (folder / "docs" / "reference" / "diagnostics").symlink_to(ROOT / "docs" / "reference" / "diagnostics")
    return folder


def run(folder: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """The command line of a copy."""
    env = environment({"PYTHONPATH": f"{folder}/generator{path}"})
    command = [sys.executable, "-m", "bayplan", *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_without_a_plugin_the_rest_works(name: str, tmp_path: Path) -> None:
    folder = copied(tmp_path)
    assert run(folder, *NEEDS[name]).returncode == (1 if name == "sources" else 0)
    shutil.rmtree(folder / "generator" / "bayplan" / "plugins" / name)
    assert run(folder, "--help").returncode == 0
    rendered = run(folder, "render", *JOB)
    assert rendered.stdout == run(ROOT, "render", *JOB).stdout != ""
    lacking = run(folder, *NEEDS[name])
    assert lacking.returncode in (1, 2)
    assert f'needs the plug-in "{name}"' in lacking.stdout + lacking.stderr
    assert "Traceback" not in lacking.stderr


def test_another_package_adds_a_plugin(tmp_path: Path) -> None:
    """An entry point of an installed distribution names the package, whose `plugin.json` is read as ours are."""
    package, info = tmp_path / "crane", tmp_path / "crane-1.dist-info"
    package.mkdir()
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: crane\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[bayplan.plugins]\ncrane = crane\n", encoding="utf-8")
    (package / "__init__.py").write_text("", encoding="utf-8")
    row = {"name": "crane", "reader": "racks", "doc": ["Crane's racks", "racks"]}
    (package / "plugin.json").write_text(json.dumps({"title": "Crane", "topologies": [row]}), encoding="utf-8")
    (package / "racks.py").write_text(
        "from bayplan.plugin import Level, NodeShape, Pool, ClusterTopology, Outcome, native_topology\n"
        "def sniff(source):\n    return source.head.startswith('crane')\n"
        "def new(source, options):\n"
        "    pool = Pool('crane', NodeShape(), (Level('rack', 'crane.example.com/rack'),))\n"
        "    return native_topology.part(Outcome(ClusterTopology('yard', (pool,))), source, options)\n",
        encoding="utf-8",
    )
    (tmp_path / "yard.txt").write_text("crane\n", encoding="utf-8")
    result = run(ROOT, "topology", "import", str(tmp_path / "yard.txt"), path=f":{tmp_path}")
    assert "crane.example.com/rack" in result.stdout, result.stderr
