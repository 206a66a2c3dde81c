"""`bayplan import`: what it prints is the same workflow, and renders to the same bytes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from scenes import ROOT, WORKFLOWS

import support
from bayplan.cli.run import run
from bayplan.model.workflow import Workflow
from bayplan.text import document
from bayplan.text.emit import emit
from bayplan.workflows import native
from tools.run import bayplan

OURS = sorted(path for path in (ROOT / "examples").glob("*/workflow.yaml") if "bayplan.dev" in path.read_text())
FOREIGN = sorted((ROOT / "examples").glob("*/osmo.yaml"))
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def imported(text: str, where: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command prints of a file with that text."""
    where.write_text(text, encoding="utf-8")
    for table in (ROOT / "examples").glob("*/*.csv"):
        shutil.copy(table, where.parent)
    assert run(["import", str(where)]) == 0
    return capsys.readouterr().out


def again(text: str) -> Any:
    """The data of a text, read as strictly as our own files are."""
    outcome = document.read("w", text.encode(), "workflow")
    assert outcome.value, outcome.diagnostics
    (found,) = outcome.value
    return found.data


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.parent.name)
def test_every_example_renders_the_same(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    once = imported(path.read_text(encoding="utf-8"), tmp_path / "one.yaml", capsys)
    assert once.startswith("apiVersion: bayplan.dev/v1alpha1\nkind: Workflow\nmetadata:\n  name: ")
    assert "#" not in once.replace("#!/bin/sh", "")
    assert imported(once, tmp_path / "two.yaml", capsys) == once
    topology = str(path.parent / "topology.yaml")
    assert run(["render", str(path), "-t", topology]) == 0
    before = capsys.readouterr().out
    assert run(["render", str(tmp_path / "one.yaml"), "-t", topology]) == 0
    assert capsys.readouterr().out == before


@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.parent.name)
def test_another_formats_examples_render_the_same(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on = ["-t", str(path.parent / "topology.yaml")]
    target = str(tmp_path / "native.yaml")
    assert run(["import", str(path), *on, "-o", target]) == 0
    assert run(["import", target, *on, "-o", target, "--check"]) == 0
    assert run(["render", str(path), *on]) == 0
    before = capsys.readouterr().out
    assert run(["render", target, *on]) == 0
    assert capsys.readouterr().out == before


@settings(max_examples=60, deadline=None)
@given(WORKFLOWS)
def test_every_value_comes_back_through_the_text(workflow: Workflow) -> None:
    text = "".join(emit([native.write(workflow)]))
    read = native.read(again(text)).value
    assert read
    assert read.value == workflow


FULL = """\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {name: full}
spec:
  defaults: {image: x, env: {B: 1, A: "2"}, restartPolicy: Never, replicas: 1, accelerator: {count: 4}}
  cleanup: none
  gangs:
  - name: main
    dependsOn: []
    rendezvous: none
    hosts: {"@b@": worker, "@a@": worker/1}
    podSets:
    - name: worker
      replicas: 2
      command: [sh, -c, "cd /w\\nexec ./run @a@ @b@\\n"]
      files:
        /opt/run.sh: "#!/bin/sh\\nif true; then\\n\\techo @b@\\nfi\\n"
        /opt/key: {base64: AAEC}
"""

NATIVE = """\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata:
  name: full
spec:
  gangs:
  - name: main
    rendezvous: none
    hosts:
      "@a@": worker/1
      "@b@": worker
    podSets:
    - name: worker
      replicas: 2
      accelerator:
        count: 4
      image: x
      command:
      - sh
      - "-c"
      - |
        cd /w
        exec ./run @a@ @b@
      env:
        A: "2"
        B: "1"
      files:
        /opt/key:
          base64: AAEC
        /opt/run.sh: |
          #!/bin/sh
          if true; then
          \techo @b@
          fi
"""


def test_the_text_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert imported(FULL, tmp_path / "w.yaml", capsys) == NATIVE
    assert imported(NATIVE, tmp_path / "w.yaml", capsys) == NATIVE


def test_several_documents_stay_in_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second = NATIVE.replace("name: full", "name: another")
    assert imported(f"{NATIVE}---\n{second}", tmp_path / "w.yaml", capsys) == f"{NATIVE}---\n{second}"


def test_nothing_is_printed_where_one_workflow_has_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.yaml").write_text(f"{NATIVE}---\n{NATIVE.replace('worker/1', 'worker/2')}", encoding="utf-8")
    assert run(["import", str(tmp_path / "w.yaml")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "error[W305]" in err


def test_a_topology_is_read_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.yaml").write_text(NATIVE, encoding="utf-8")
    Path("hall.yaml").write_text("kind: ClusterTopology\n", encoding="utf-8")
    for line in (["-t", "hall.yaml"], ["-t", "none.yaml"]):
        assert run(["import", "w.yaml", *line]) == 1
        assert capsys.readouterr().out == ""
    Path("bayplan.yaml").write_text(
        "apiVersion: bayplan.dev/v1alpha1\nkind: Project\nspec: {topology: hall.yaml}\n", encoding="utf-8"
    )
    assert run(["import", "w.yaml"]) == 1
    assert "hall.yaml" in capsys.readouterr().err
    Path("hall.yaml").write_text("".join(emit([support.TOPOLOGY])), encoding="utf-8")
    assert run(["import", "w.yaml"]) == 0
    assert capsys.readouterr().out == NATIVE


def test_a_file_can_be_written_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "w.yaml", tmp_path / "native.yaml"
    source.write_text(FULL, encoding="utf-8")
    assert run(["import", str(source), "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == NATIVE
    assert run(["import", str(source), "-o", str(target), "--check"]) == 0
    target.write_text(NATIVE.replace("full", "other"), encoding="utf-8")
    assert run(["import", str(source), "-o", str(target), "--check"]) == 1
    assert "error[O805]" in capsys.readouterr().err
    for folder in (str(tmp_path), f"{tmp_path}/new/"):
        assert run(["import", str(source), "-o", folder]) == 1
        assert "error[O802]" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["native.yaml", "w.yaml"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (["--from", "natve"], "A920"),
        (["--set", "A"], "A920"),
        (["--check"], "A920"),
        (["-o", "-", "--check"], "A920"),
    ],
)
def test_wrong_usage_prints_nothing(
    line: list[str], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w.yaml").write_text(NATIVE, encoding="utf-8")
    assert run(["import", str(tmp_path / "w.yaml"), *line]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"error[{code}]" in err


def test_the_scheduler_and_the_queue_of_workflows_that_name_none(tmp_path: Path) -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun --container-image=a:1 python train.py\n"
    (tmp_path / "job.sbatch").write_text(script)
    made = bayplan("import", "job.sbatch", "-s", "kueue", "--queue", "ml", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "  scheduler: kueue\n  queue: ml\n" in made.stdout
    assert bayplan("import", "job.sbatch", "-s", "qeue", cwd=tmp_path).returncode == 2
