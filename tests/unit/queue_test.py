"""--queue: the queue of workflows and workloads that name none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.data import parse, parse_all
from tools.run import PRETRAIN, bayplan, rendered

TOPOLOGY = ("-t", str(PRETRAIN / "topology.yaml"))
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations: {bayplan.dev/placement: required=rack}
spec:
  parallelism: 4
  completions: 4
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: train, resources: {limits: {nvidia.com/gpu: 4}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one workflow that names a queue, and one that does not."""
    text = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8")
    (tmp_path / "named.yaml").write_text(text, encoding="utf-8")
    unnamed = text.replace("  queue: research\n", "").replace("name: pretrain", "name: other")
    (tmp_path / "unnamed.yaml").write_text(unnamed, encoding="utf-8")
    return tmp_path


def queues(text: str) -> dict[str, str]:
    """PodGroup -> its queue."""
    groups = [each for each in parse_all(text) if each["kind"] == "PodGroup"]
    return {each["metadata"]["name"].rpartition("-")[0]: each["spec"]["queue"] for each in groups}


def test_it_is_for_workflows_without_one_and_wins_over_the_topology(folder: Path) -> None:
    done = bayplan("render", "named.yaml", "unnamed.yaml", *TOPOLOGY, "--queue", "batch", cwd=folder)
    assert (queues(done.stdout), done.stderr) == ({"pretrain": "research", "other": "batch"}, "")


def test_every_command_takes_it(folder: Path) -> None:
    queue = ("--queue", "batch")
    made = rendered("render", "unnamed.yaml", *TOPOLOGY, *queue, cwd=folder)
    (folder / "made.yaml").write_text(made, encoding="utf-8")
    assert rendered("diff", "unnamed.yaml", "made.yaml", *TOPOLOGY, *queue, cwd=folder) == ""
    assert bayplan("diff", "unnamed.yaml", "made.yaml", *TOPOLOGY, cwd=folder).returncode == 1
    assert parse(rendered("import", "unnamed.yaml", *queue, cwd=folder))["spec"]["queue"] == "batch"
    for command in ("check", "plan", "delete-plan"):
        done = bayplan(command, "unnamed.yaml", *TOPOLOGY, "--queue", "nope", cwd=folder)
        assert (done.returncode, 'no queue "nope"' in done.stdout + done.stderr) == (2, True)


def test_a_project_has_it_too(folder: Path) -> None:
    outputs = "[{workflows: ['*named.yaml'], to: all.yaml, queue: batch}]"
    text = f"apiVersion: bayplan.dev/v1alpha1\nkind: Project\nspec: {{topology: {TOPOLOGY[1]}, outputs: {outputs}}}\n"
    (folder / "bayplan.yaml").write_text(text, encoding="utf-8")
    assert bayplan("generate", cwd=folder).returncode == 1
    assert queues((folder / "all.yaml").read_text(encoding="utf-8")) == {"pretrain": "research", "other": "batch"}


def posted(text: str) -> str:
    return bayplan("post-render", *TOPOLOGY, "--queue", "batch", stdin=text).stdout


def function(text: str) -> str:
    """The same by a function of kustomize."""
    config = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "PlaceWorkloads", "spec": {"topology": TOPOLOGY[1]}}
    listed: dict[str, Any] = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
    whole = {**listed, "functionConfig": config, "items": [*parse_all(text)]}
    out = parse(bayplan("krm", "--queue", "batch", stdin=yaml.safe_dump(whole)).stdout)
    return yaml.safe_dump_all(out["items"])


@pytest.mark.parametrize("placed", [posted, function])
def test_it_is_for_workloads_without_one(placed: Callable[[str], str]) -> None:
    own = JOB.replace("name: train", "name: own").replace("required=rack", "required=rack, bayplan.dev/queue: research")
    assert queues(placed(f"{JOB}---\n{own}")) == {"train": "batch", "own": "research"}
