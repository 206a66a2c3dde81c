"""CONTRIBUTING's recipe for a backend, followed to the letter in a copy of the package: one file, one line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bayplan.model.backend import Backend
from tools.data import parse_all
from tools.run import PRETRAIN, ROOT, environment

SECTION = "## Add a backend in one file\n"
STEP = re.compile(r"`(generator/\S+\.py)`:\n\n```\w+\n(.*?)```\n", re.DOTALL)
"""A file, and what goes into it."""

TESTS = ("tests/test_ranks_everywhere.py", "tests/test_metamorphic.py", "tests/unit/support_rows_test.py")
RENDER = ["render", f"{PRETRAIN}/workflow.yaml", "-t", f"{PRETRAIN}/topology.yaml", "-s", "quay", "--cluster-objects"]


def steps() -> list[tuple[str, str]]:
    """The files of the recipe."""
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(SECTION)[2].partition("\n## ")[0]
    return STEP.findall(section)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project after the recipe."""
    made = tmp_path_factory.mktemp("copy")
    for folder in ("generator", "schemas", "tests", "examples"):
        shutil.copytree(ROOT / folder, made / folder, ignore=shutil.ignore_patterns("cases", "corpus", "go"))
    (made / "golden").symlink_to(ROOT / "golden")
    for file in ("pyproject.toml", "hatch_build.py"):
        shutil.copy(ROOT / file, made)
    (new, text), (table, line) = steps()
    assert not (made / new).exists()
    (made / new).write_text(text, encoding="utf-8")
    before = (made / table).read_text("utf-8")
    after = re.sub(r"(CORE = \(\n)", lambda found: found[1] + line, before)
    assert after.count("\n") == before.count("\n") + 1
    (made / table).write_text(after, encoding="utf-8")
    return made


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in the copy."""
    env = environment({"PYTHONPATH": f"{copy}/generator:{copy}/tests"})
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)


def test_the_recipe_is_one_file_and_one_line() -> None:
    assert [name for name, _ in steps()] == [
        "generator/bayplan/backends/quay.py",
        "generator/bayplan/backends/__init__.py",
    ]
    assert steps()[1][1].count("\n") == 1


def test_the_new_backend_renders_the_shipped_example(copy: Path) -> None:
    result = run(copy, "bayplan", *RENDER, "-v")
    assert result.returncode == 0, result.stderr
    assert "F689" in result.stderr
    documents: list[dict[str, Any]] = [each for each in parse_all(result.stdout) if each]
    kinds = [each["kind"] for each in documents]
    assert (kinds[0], kinds.count("PodGroup"), kinds.count("ComputeDomain"), kinds[-1]) == ("Topology", 1, 4, "JobSet")
    group = next(each for each in documents if each["kind"] == "PodGroup")
    assert group["spec"]["level"] == "network.topology.nvidia.com/spine"
    assert [each["level"] for each in group["spec"]["groups"]] == ["nvidia.com/gpu.clique"] * 4
    pods = documents[-1]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert pods["metadata"]["annotations"] == {"quay.example.com/pod-group": "pretrain"}
    assert pods["spec"]["schedulerName"] == "quay"


def test_the_new_backend_is_listed(copy: Path) -> None:
    assert "quay" in run(copy, "bayplan", "schedulers").stdout
    assert "Quay knows gangs" in run(copy, "bayplan", "schedulers", "quay").stdout


def test_the_tests_of_every_backend_hold_for_it(copy: Path) -> None:
    result = run(copy, "pytest", "-q", "-p", "no:cacheprovider", *TESTS, "-k", "quay")
    assert result.returncode == 0, result.stdout
    assert re.search(r"\b1[0-9] passed", result.stdout), result.stdout


def test_the_table_of_members_is_that_of_the_contract() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = page.partition(SECTION)[2].partition("This is a complete backend")[0]
    members = re.findall(r"^\| `(\w+)", section, re.MULTILINE)
    assert sorted(members) == sorted((*Backend._fields, "EXISTING", "RULES"))
    assert len(members) <= 8


def test_the_file_declares_one_value_and_leaves_out_what_it_does_not_need() -> None:
    space: dict[str, Any] = {}
    exec(compile(steps()[0][1], "quay.py", "exec"), space)  # the text of our own page
    backend: Backend = space["BACKEND"]
    assert backend.declared.name == "quay"
    left_out = {name for name, default in Backend._field_defaults.items() if getattr(backend, name) is default}
    assert left_out == {"needs", "prove"}
