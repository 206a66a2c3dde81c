"""The limits of what bayplan reads. The memory of a refused file grows by at most ten times its size.

`python -m tools.memory` prints the growth of all shapes, of 15 MB each.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bayplan.cli import inputs
from bayplan.core.diagnostics import error, warning
from bayplan.model.formats import Source
from bayplan.report import Batch
from bayplan.report.findings import findings
from bayplan.text.source import DEEPEST, Limits, limited
from tools import memory
from tools.memory import KNOWN, MORE, SHAPES, TIMES
from tools.run import PRETRAIN, bayplan

TOPOLOGY = f"{PRETRAIN}/topology.yaml"
LONG = bool(os.environ.get("BAYPLAN_LONG"))
SIZE = memory.SIZE if LONG else 4 * memory.MEGABYTE
WORST = (
    "lists of lists",
    "mappings with a key",
    "one key",
    "many keys",
    "anchors",
    "a ResourceList of strings",
)
"""Shapes that took from 30 to 2,000 times their size."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/self/status")
@pytest.mark.parametrize("name", SHAPES if LONG else WORST)
def test_a_refused_file_needs_little_memory(name: str) -> None:
    grown, refused = memory.growth(SHAPES[name], SIZE)
    assert refused.code == 1, refused.report
    assert grown <= KNOWN.get(name, TIMES) * SIZE + MORE, f"{grown / SIZE:.1f} times"


def test_the_option_wins_over_the_variable() -> None:
    """The variable is for programs that run bayplan, such as kustomize."""
    env = {"BAYPLAN_LIMIT": "values=20,depth=50"}
    items = '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [[1, 2, 3, 4, 5, 6, 7, 8, 9]]}'
    assert "error[R157]: the file has more than 20 keys and values" in bayplan("krm", env=env, stdin=items * 2).stderr
    pod = "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n"
    list_of_pods = memory.SHAPES["a ResourceList"]
    written = bayplan("krm", "--limit", "values=300", stdin=list_of_pods.head + pod * 60 + list_of_pods.tail).stderr
    assert "<stdin>:136:3: error[R157]: the file has more than 300 keys and values" in written
    report = bayplan("topology", "check", TOPOLOGY, env=env).stdout
    assert re.search(r"topology.yaml:\d+:\d+: error\[R157\]", report)
    assert bayplan("topology", "check", TOPOLOGY, "--limit", "values=10k", env=env).returncode == 0
    wrong = bayplan("topology", "check", TOPOLOGY, env={"BAYPLAN_LIMIT": "all"})
    assert (wrong.returncode, wrong.stderr.count("error[A920]: BAYPLAN_LIMIT takes bytes=N")) == (2, 1)
    assert bayplan("topology", "check", TOPOLOGY).returncode == 0, "the limits of a command end with it"


def test_the_templates_of_a_run_have_a_limit_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(inputs, "render", lambda request: {"failure": "other", "message": "broken", "seconds": 0.6})
    for number in range(4):
        (tmp_path / f"{number}.yaml").write_text("workflow:\n  name: a\n  tasks: [{name: '{{ b }}'}]\n")
    paths = [str(tmp_path / f"{number}.yaml") for number in range(4)]
    with limited(Limits(seconds=1)):
        codes = [each.code for batch in inputs.workflows_of(paths, Source())[1] for each in batch.diagnostics]
    assert codes == ["R127", "R127", "R127", "R127"]


def test_a_report_has_the_errors_first() -> None:
    """The exit code depends on all findings."""
    found = [warning("M702", (), str(number)) for number in range(900)]
    found += [error("M703", (), str(number)) for number in range(800)]
    listed = findings([Batch(tuple(found))])
    (omitted,) = (each for each in listed if each.code == "R158")
    assert Counter(each.code for each in listed) == {"M703": 800, "M702": 200, "R158": 1}
    assert (omitted.severity, omitted.message) == ("warning", "this report leaves out 700 warnings")
    with limited(Limits(findings=2000)):
        assert len(findings([Batch(tuple(found))])) == 1700


def nested(depth: int, first: Any, second: Any) -> Any:
    """Mappings and lists alternately."""
    value: Any = "x"
    for number in range(depth):
        value = second(value) if number % 2 else first(value)
    return value


KINDS = {
    "mappings": (lambda v: {"a": v},) * 2,
    "lists": (lambda v: [v],) * 2,
    "both": (lambda v: {"a": v}, lambda v: [v]),
}
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "annotations": {"bayplan.dev/placement": "required=rack"}},
}
POD = {"name": "train", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": 4}}}


def job(value: Any) -> dict[str, Any]:
    """A Job with a value at depth 7."""
    spec = {"restartPolicy": "Never", "containers": [{**POD, "value": value}]}
    counts = {"parallelism": 4, "completions": 4, "completionMode": "Indexed"}
    return {**JOB, "spec": {**counts, "template": {"spec": spec}}}


@pytest.mark.parametrize("kind", KINDS)
def test_the_highest_depth_breaks_no_command(tmp_path: Path, kind: str) -> None:
    """Functions of bayplan that call themselves work at that depth: they check, place, compare, patch and write."""

    def run(code: int, *words: str, data: Any, stdin: bool = False) -> str:
        text = f"{json.dumps(data)}\n"
        (tmp_path / "deep.yaml").write_text(text)
        given = text if stdin else ""
        done = bayplan(*words, "--limit", f"depth={DEEPEST}", cwd=tmp_path, stdin=given)
        assert done.returncode == code, done.stderr + done.stdout
        return done.stdout + done.stderr

    def deep(above: int) -> Any:
        return nested(DEEPEST - above, *KINDS[kind])

    function = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "PlaceWorkloads", "metadata": {"name": "place"}}
    function["spec"] = {"topology": TOPOLOGY}
    items = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [job(deep(8))]}
    assert "R103" not in run(0, "lint", "deep.yaml", data=job(deep(6)))
    assert "PodGroup" in run(0, "post-render", "-t", TOPOLOGY, data=job(deep(6)), stdin=True)
    assert "PodGroup" in run(0, "krm", "--no-sandbox", data={**items, "functionConfig": function}, stdin=True)
    for ours, command in (("ClusterTopology", "topology check"), ("Workflow", "check")):
        data = {"apiVersion": "bayplan.dev/v1alpha1", "kind": ours, "spec": {"value": deep(2)}}
        assert "S201" in run(1, *command.split(), "deep.yaml", data=data)
    tasks = [{"name": "train", "image": "train:1", "value": deep(4)}]
    assert "S201" in run(1, "check", "deep.yaml", data={"workflow": {"name": "a", "tasks": tasks}})
    assert "S201" in run(1, "check", "--from", "torchx", "deep.yaml", data={"name": "a", "roles": [{"value": deep(3)}]})
    assert f"more than {DEEPEST} nested" in run(1, "lint", "deep.yaml", data=nested(DEEPEST + 1, *KINDS[kind]))


def test_a_limit_needs_no_memory_by_itself() -> None:
    """`read(200 GiB)` would ask for 200 GiB at once."""
    assert bayplan("topology", "check", TOPOLOGY, "--limit", "bytes=200Gi").returncode == 0
