"""CONTRIBUTING's recipe for a field of Workflow, followed to the letter in a copy of the project."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.data import parse, parse_all
from tools.run import PRETRAIN, ROOT, environment

SECTION = "## Add a field of Workflow\n"
STEP = re.compile(r"`([\w/]+\.\w+)`:\n\n```diff\n(.*?)```\n", re.DOTALL)
"""A file, and the lines that it gets."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project after the recipe; its validators are those from before."""
    made = tmp_path_factory.mktemp("copy")
    for folder in ("generator", "schemas", "docs/reference/diagnostics"):
        shutil.copytree(ROOT / folder, made / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name, change in steps():
        before, after = (
            "".join(f"{line[1:]}\n" for line in change.splitlines() if line[0] in signs) for signs in (" -", " +")
        )
        text = (made / name).read_text("utf-8")
        assert before in text, name
        (made / name).write_text(text.replace(before, after), encoding="utf-8")
    return made


def steps() -> list[tuple[str, str]]:
    """The files of the recipe."""
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(SECTION)[2].partition("\n## ")[0]
    return STEP.findall(section)


def bayplan(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """bayplan as it is in the copy."""
    command = [sys.executable, "-m", "bayplan", *arguments]
    env = environment({"PYTHONPATH": f"{copy}/generator"})
    return subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)


def workflow(folder: Path, file: Any) -> str:
    """A file of the example whose podSets all write their last words to a file."""
    data = parse((PRETRAIN / "workflow.yaml").read_text("utf-8"))
    data["spec"].setdefault("defaults", {})["terminationMessagePath"] = file
    (folder / "workflow.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    return str(folder / "workflow.yaml")


def test_a_field_is_the_schema_the_model_and_the_stages_that_act_on_it() -> None:
    schema, model, *stages = [name for name, _ in steps()]
    assert (schema, model) == ("schemas/workflow.json", "generator/bayplan/model/workflow.py")
    assert stages == ["generator/bayplan/kube/pod.py"]


def test_the_new_field_is_explained(copy: Path) -> None:
    printed = bayplan(copy, "explain", "terminationMessagePath").stdout
    assert (
        "workflow.spec.defaults.terminationMessagePath: string\n\nThe file with the last words of the container."
        in printed
    )
    assert "example: /tmp/error\n\nalso:\n" in printed


def test_the_new_field_is_checked(copy: Path, tmp_path: Path) -> None:
    found = bayplan(copy, "check", workflow(tmp_path, 3), "-t", f"{PRETRAIN}/topology.yaml")
    assert found.returncode == 1
    assert "found the number 3, expected a string" in found.stdout


def test_the_new_field_is_read_and_written(copy: Path, tmp_path: Path) -> None:
    imported = parse(bayplan(copy, "import", workflow(tmp_path, "/tmp/error")).stdout)
    (group,) = imported["spec"]["gangs"][0]["groups"]
    assert [pods["terminationMessagePath"] for pods in group["podSets"]] == ["/tmp/error"]


def test_the_new_field_is_lowered(copy: Path, tmp_path: Path) -> None:
    printed = bayplan(copy, "render", workflow(tmp_path, "/tmp/error"), "-t", f"{PRETRAIN}/topology.yaml").stdout
    *_, jobset = parse_all(printed)
    pods = [each["template"]["spec"]["template"]["spec"] for each in jobset["spec"]["replicatedJobs"]]
    assert {container["terminationMessagePath"] for each in pods for container in each["containers"]} == {"/tmp/error"}
