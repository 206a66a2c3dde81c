"""The component for GitLab CI, run by gitlab-ci-local with a shell, and without it by a shell alone.

gitlab-ci-local replaces inputs, evaluates rules and collects artifacts as GitLab does, and compares the result with
GitLab's schema. It is large, so that CI does not install it: `npm install -g gitlab-ci-local@4.56.0`, with rsync.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.clients import tool
from tools.data import parse
from tools.run import PRETRAIN, ROOT

TEMPLATE = ROOT / "templates" / "bayplan.yml"
HEADER, BODY = TEMPLATE.read_text(encoding="utf-8").split("\n---\n")
INPUTS: dict[str, dict[str, str]] = parse(HEADER)["spec"]["inputs"]
JOB = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8")
PROJECT = """\
apiVersion: bayplan.dev/v1alpha1
kind: Project
spec:
  topology: hall.yaml
  outputs:
  - {workflows: ["jobs/*.workflow.yaml"], to: "manifests/{workflow}/"}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with a project and one job, and a `bayplan` beside it."""
    folder = tmp_path / "jobs"
    (folder / "jobs").mkdir(parents=True)
    program = tmp_path / "bayplan"
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'generator')!r})\nfrom bayplan.__main__ import script\nscript()\n"
    )
    program.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
    program.chmod(0o755)
    (folder / "bayplan.yaml").write_text(PROJECT, encoding="utf-8")
    shutil.copy(PRETRAIN / "topology.yaml", folder / "hall.yaml")
    (folder / "jobs" / "a.workflow.yaml").write_text(JOB, encoding="utf-8")
    subprocess.run([str(program), "generate"], cwd=folder, capture_output=True, check=False)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    return folder


def by_gitlab_ci_local(folder: Path, inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The pipeline of a merge request, without the image, which would need Docker."""
    absent = [each for each in ("gitlab-ci-local", "rsync") if shutil.which(each) is None]
    if absent:
        pytest.skip(f"{' and '.join(absent)} is not installed")
    text = TEMPLATE.read_text(encoding="utf-8").replace(
        "  image: $[[ inputs.image ]]\n", ""
    )  # with one, it needs Docker
    (folder / "template.yml").write_text(text, encoding="utf-8")
    content = {"include": [{"local": "template.yml", "inputs": inputs}], "variables": {"A": "b"}}
    (folder / ".gitlab-ci.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    person = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", *person, "commit", "-q", "-m", "a"], cwd=folder, check=True)
    subprocess.run(["git", "remote", "add", "origin", "git@git.example.com:ml/jobs.git"], cwd=folder, check=True)
    variables = ["--variable", "CI_PIPELINE_SOURCE=merge_request_event"]
    return run(["gitlab-ci-local", "--shell-isolation=false", *variables, inputs.get("job", "bayplan")], folder, {})


def by_shell(folder: Path, inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The script of the job, in the shell of a small image."""
    values = {name: inputs.get(name, str(each["default"])) for name, each in INPUTS.items()}
    text = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: values[found[1]], BODY)
    ((_, job),) = parse(text).items()
    script = "\n".join(job["script"])
    return run([shutil.which("dash") or "sh", "-e", "-c", script], folder, job["variables"])


def run(command: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A program with both streams in one."""
    home = {"HOME": str(folder.parent)}
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **home, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def report(folder: Path) -> list[dict[str, Any]]:
    """The report for Code Quality."""
    found: list[dict[str, Any]] = json.loads((folder / "gl-code-quality-report.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("runner", [by_gitlab_ci_local, by_shell])
class TestJob:
    def test_up_to_date(self, runner: Any, repository: Path) -> None:
        done = runner(repository, {"command": str(repository.parent / "bayplan")})
        assert done.returncode == 0, done.stdout
        assert report(repository) == []
        assert "pretrain on hall-1" in (repository / "bayplan.html").read_text(encoding="utf-8")

    def test_findings_of_all_commands(self, runner: Any, repository: Path) -> None:
        (repository / "jobs" / "b c.workflow.yaml").write_text(JOB.replace("replicas: 16", "replicas: 60"))
        (repository / "manifests" / "bad.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
        inputs = {"workflows": "jobs/*.workflow.yaml", "manifests": "manifests", "topology": "hall.yaml"}
        inputs |= {"command": str(repository.parent / "bayplan"), "arguments": "--strict -v", "scheduler": "kai"}
        done = runner(repository, {**inputs, "job": "b"})
        assert done.returncode == 1, done.stdout
        assert "findings of: generate check" in done.stdout
        assert "jobs/b c.workflow.yaml:13:29: error[P551]" in done.stdout
        places = {(each["check_name"], each["location"]["path"]) for each in report(repository)}
        assert ("P551", "jobs/b c.workflow.yaml") in places
        prints = [each["fingerprint"] for each in report(repository) if each["check_name"] == "P551"]
        assert (len(prints), len(set(prints))) == (2, 1), "two commands find it, and GitLab shows equal ones as one"
        assert (repository / "bayplan.html").exists()

    def test_nothing_to_run(self, runner: Any, repository: Path) -> None:
        (repository / "bayplan.yaml").unlink()
        done = runner(repository, {"command": str(repository.parent / "bayplan")})
        assert done.returncode == 1
        assert "there is no bayplan.yaml, and no inputs workflows or manifests" in done.stdout


def test_no_input_is_part_of_a_script() -> None:
    assert "$[[" not in "\n".join(parse(BODY)["$[[ inputs.job ]]"]["script"])
    assert set(re.findall(r"inputs\.(\w+)", BODY)) == set(INPUTS)


def test_the_script_of_the_job_is_sound(tmp_path: Path) -> None:
    script = "\n".join(parse(BODY)["$[[ inputs.job ]]"]["script"])
    assert run([tool("bash"), "-n", "-c", script], tmp_path, {}).stdout == ""
