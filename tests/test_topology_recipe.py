"""CONTRIBUTING's recipes for a topology source, followed to the letter in a copy of the package."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.run import ROOT, environment

SECTION = "## Add a topology source\n"
STEP = re.compile(r"`(generator/\S+\.py)`:\n\n```python\n(.*?)```\n", re.DOTALL)
"""A file, and what goes into it."""

TABLE = re.compile(r"^(CLOUDS|CORE)\b.* = \(\n", re.MULTILINE)
"""Where a row goes that is put first."""

RACKS = "# racks\n" + "".join(f"n{number} r{number // 2} s{number // 4}\n" for number in range(8))
DOMAINS = ["path: s0/r0", "path: s0/r1", "path: s1/r2", "path: s1/r3"]
PACKAGE = "generator/bayplan/topologies"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project after the recipes."""
    made = tmp_path_factory.mktemp("copy")
    for folder in ("generator", "schemas"):
        shutil.copytree(ROOT / folder, made / folder, ignore=shutil.ignore_patterns("__pycache__"))
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(SECTION)[2].partition("\n## ")[0]
    steps = STEP.findall(section)
    assert [name for name, _ in steps] == [
        "generator/bayplan/plugins/sources/cloud.py",
        f"{PACKAGE}/rack_list.py",
        f"{PACKAGE}/__init__.py",
    ]
    for name, text in steps:
        path = made / name
        before = path.read_text("utf-8") if path.exists() else ""
        after = TABLE.sub(lambda found, text=text: found[0] + text, before) if before else text
        assert len(after) == len(before) + len(text)
        path.write_text(after, encoding="utf-8")
    return made


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line of the copy."""
    env = environment({"PYTHONPATH": f"{copy}/generator"})
    command = [sys.executable, "-m", "bayplan", "topology", *arguments]
    return subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)


def test_a_row_of_a_known_shape_is_read(copy: Path) -> None:
    machines = [{"hostName": f"n{n}", "switchPath": [f"s{n // 4}", f"r{n // 2}"]} for n in range(8)]
    (copy / "answer.json").write_text(json.dumps({"machines": machines}), encoding="utf-8")
    result = run(copy, "import", "answer.json")
    assert result.returncode == 0, result.stderr
    assert re.findall(r"path: \S+", result.stdout) == DOMAINS
    assert "tidewater.example.com/tide-2" in result.stdout


def test_a_file_of_a_new_shape_is_read_by_its_word_and_by_its_content(copy: Path) -> None:
    (copy / "racks.txt").write_text(RACKS, encoding="utf-8")
    by_content, by_word = run(copy, "import", "racks.txt"), run(copy, "import", "racks.txt", "--from", "rack-list")
    assert by_content.returncode == 0, by_content.stderr
    assert by_content.stdout == by_word.stdout
    assert re.findall(r"path: \S+", by_content.stdout) == DOMAINS


def test_what_is_wrong_with_a_file_of_a_new_shape_has_its_line(copy: Path) -> None:
    (copy / "racks.txt").write_text(f"{RACKS}n9\n", encoding="utf-8")
    result = run(copy, "import", "racks.txt")
    assert result.returncode == 1
    assert "racks.txt:10:1: error[T530]" in result.stderr
