"""`bayplan lint` on the command line: what it reads, and how it ends."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from bayplan.cli.run import run
from bayplan.text.emit import emit
from support import TOPOLOGY

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n"
QUEUELESS = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g}\nspec: {minMember: 1}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines that begin with a place, without their messages."""
    return [line.split("]:")[0] + "]" for line in capsys.readouterr().out.splitlines() if "]: " in line]


def test_a_folder_is_read_in_the_order_of_its_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("b.yml", "a/z.yaml", "a/y.json", ".git/x.yaml", "a/.hidden.yaml", "notes.txt"):
        write(folder / "deploy" / name, '{"kind": "Pod"}' if name.endswith("json") else "kind: Pod\n")
    assert run(["lint", "deploy"]) == 1
    assert said(capsys) == [f"deploy/{n}:1:1: error[M703]" for n in ("a/y.json", "a/z.yaml", "b.yml")]


def test_links_to_folders_are_not_followed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "deploy" / "a.yaml", POD)
    os.symlink(folder / "deploy", folder / "deploy" / "loop")
    assert run(["lint", "deploy"]) == 0
    assert said(capsys) == []


def test_an_object_in_two_files_is_there_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.yaml", POD)
    write(folder / "b.yaml", POD)
    assert run(["lint", "a.yaml", "b.yaml", "a.yaml"]) == 0
    assert said(capsys) == ["b.yaml:3:18: warning[M704]"]


def test_what_is_no_manifest_counts_less_in_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "chart" / "values.yaml", "replicas: 3\n")
    assert run(["lint", "chart", "--strict", "-v"]) == 0
    assert run(["lint", "chart/values.yaml", "--strict"]) == 1
    assert said(capsys) == ["chart/values.yaml:1:1: info[M702]", "chart/values.yaml:1:1: warning[M702]"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n---\n", "# one\n---\n# two\n"])
def test_a_file_without_documents(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    write(folder / "a.yaml", text)
    assert run(["lint", "a.yaml"]) == 0
    assert said(capsys) in (["a.yaml:1:1: warning[R106]"], ["a.yaml: warning[R106]"])


def test_documents_between_empty_ones_keep_their_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.yaml", f"# head\n---\n---\n{QUEUELESS}---\n# tail\n---\n{POD}")
    assert run(["lint", "a.yaml"]) == 1
    assert said(capsys) == ["a.yaml:7:7: error[M719]"]


def test_a_folder_without_manifests(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty").mkdir()
    assert run(["lint", "empty"]) == 0
    assert said(capsys) == ["empty: warning[M702]"]


def test_what_cannot_be_read_is_told_and_the_rest_is_linted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.yaml", "a: {b\n")
    write(folder / "b.yaml", QUEUELESS)
    assert run(["lint", "a.yaml", "gone.yaml", "b.yaml"]) == 1
    assert [line.partition("[")[2] for line in said(capsys)] == ["R107]", "M719]", "R101]"]


def test_a_key_twice_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.yaml", f"{POD}kind: Pod\n")
    assert run(["lint", "a.yaml"]) == 1
    assert "R110" in said(capsys)[0]


def test_standard_input_is_read_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(QUEUELESS.encode())))
    assert run(["lint", "-"]) == 1
    assert said(capsys) == ["<stdin>:4:7: error[M719]"]
    assert run(["lint", "-", "-t", "-"]) == 2
    assert "A920" in capsys.readouterr().out


def test_arguments_that_are_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.yaml", POD)
    assert run(["lint", "a.yaml", "--accept", "W301"]) == 2
    assert run(["lint", "a.yaml", "-s", "kia"]) == 2
    assert run(["lint", "a.yaml", "--target", "kai=1,kai=2"]) == 2
    found = capsys.readouterr().out
    assert [code for code in ("A920", "A901", "A920") if code in found] == ["A920", "A901", "A920"]


def test_a_topology_that_is_broken_is_all_that_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.yaml", QUEUELESS)
    write(folder / "t.yaml", "apiVersion: bayplan.dev/v1alpha1\nkind: ClusterTopology\n")
    assert run(["lint", "a.yaml", "-t", "t.yaml"]) == 1
    assert {line.partition(":")[0] for line in said(capsys)} == {"t.yaml"}


def test_the_projects_topology_is_the_default(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "cluster.yaml", "".join(emit((TOPOLOGY,))))
    write(folder / "bayplan.yaml", "apiVersion: bayplan.dev/v1alpha1\nkind: Project\nspec: {topology: cluster.yaml}\n")
    write(folder / "a.yaml", POD.replace("spec: {", "spec: {nodeSelector: {nvidia.com/gpu.clique: r99}, "))
    assert run(["lint", "a.yaml"]) == 0
    assert said(capsys) == ["a.yaml:4:46: warning[M712]"]


def test_json_for_machines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1"}]}))
    assert run(["lint", "a.json", "--diagnostics", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(each["code"], each["file"]) for each in found["diagnostics"]] == [("M703", "a.json")]


def test_a_placement_is_for_the_scheduler_of_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in `post-render -s kueue`: the default of the topology comes after it."""
    marks = "labels: {kueue.x-k8s.io/queue-name: lq}, annotations: {bayplan.dev/placement: required=rack}"
    write(folder / "a.yaml", POD.replace("{name: p}", f"{{name: p, {marks}}}"))
    write(folder / "t.yaml", "".join(emit([TOPOLOGY])))
    assert run(["lint", "a.yaml", "-t", "t.yaml"]) == 1
    assert said(capsys) == ["a.yaml:3:57: error[M706]"]
    run(["lint", "a.yaml", "-t", "t.yaml", "-s", "kueue"])
    assert "M706" not in capsys.readouterr().out
