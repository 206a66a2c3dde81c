"""`bayplan diff`: manifests that are there against those that would be written."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from bayplan.cli.run import run
from tools.data import parse_all

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NATIVES = sorted(each.parent.name for each in EXAMPLES.glob("*/workflow.yaml"))


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    """The exit code, and what stands on standard output."""
    code = run(argv)
    return code, capsys.readouterr().out


def files(name: str) -> tuple[str, str]:
    return str(EXAMPLES / name / "workflow.yaml"), str(EXAMPLES / name / "topology.yaml")


@pytest.mark.parametrize("name", NATIVES)
def test_nothing_differs_from_what_was_just_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow, topology = files(name)
    assert run(("render", workflow, "-t", topology, "--cluster-objects", "-o", f"{tmp_path}/m/")) == 0
    capsys.readouterr()
    assert told(capsys, "diff", workflow, f"{tmp_path}/m", "-t", topology, "--cluster-objects") == (0, "")


def rendered(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    workflow, topology = files("pretrain")
    return list(parse_all(told(capsys, "render", workflow, "-t", topology)[1]))


def compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], documents: Any, *more: str
) -> tuple[int, str]:
    text = yaml.safe_dump_all(documents)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    workflow, topology = files("pretrain")
    return told(capsys, "diff", workflow, "-", "-t", topology, *more)


def test_what_differs_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    documents = rendered(capsys)
    group = next(each for each in documents if each["kind"] == "PodGroup")
    group["spec"]["subGroups"].reverse()  # the order of named entries says nothing
    group["spec"]["subGroups"][0]["minMember"] = 3
    del documents[0]
    stray = {**group, "metadata": {**group["metadata"], "name": "stray"}}
    other = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"}}
    code, out = compared(monkeypatch, capsys, [*documents, stray, other])
    assert code == 1
    assert out.splitlines() == [
        f'PodGroup "{group["metadata"]["name"]}" in ml',
        "  spec.subGroups[replica-3].minMember: 3 -> 16",
        'ComputeDomain "pretrain-replica-0" in ml is missing',
        'PodGroup "stray" in ml is left over',
    ]


def test_a_cluster_adds_fields_of_its_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    documents = rendered(capsys)
    for each in documents:
        each["metadata"] |= {"uid": "0", "resourceVersion": "7"}
        each["status"] = {"phase": "Running"}
    jobs = documents[-1]["spec"]["replicatedJobs"]
    jobs[0]["template"]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "96000m"
    listed = {"apiVersion": "v1", "kind": "List", "items": documents}
    assert compared(monkeypatch, capsys, [listed]) == (0, "")
    documents[-1]["metadata"].pop("uid")
    assert compared(monkeypatch, capsys, [listed])[0] == 1


def test_a_difference_as_data(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    documents = rendered(capsys)
    documents[-1]["spec"]["replicatedJobs"][1]["replicas"] = None
    code, out = compared(monkeypatch, capsys, documents, "--format", "json")
    field = {"path": "spec.replicatedJobs[replica-1-worker].replicas", "before": None, "after": 1}
    assert code == 1
    assert json.loads(out)["changed"] == [{"object": 'JobSet "pretrain" in ml', "fields": [field]}]


@pytest.mark.parametrize(
    "odd", [[], "text", {"apiVersion": 1, "kind": [], "metadata": "x", "spec": 3}, {"kind": "Pod"}]
)
def test_odd_documents_are_no_crash(
    odd: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compared(monkeypatch, capsys, [odd])[0] == 1
