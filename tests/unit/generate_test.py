"""`bayplan generate`: what bayplan.yaml lists is made, kept, and taken away again; nothing of others is touched."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bayplan.cli import output_folder as generated
from bayplan.cli import output_tree as tree
from bayplan.cli.run import run
from bayplan.schemas import load
from tools.charts import FOUR_PODS
from tools.data import parse
from tools.effort import seeds
from tools.run import EXAMPLES, PRETRAIN, bayplan, process

COVERS = {"A929", "O805", "O804"}

INDEX = tree.INDEX
HALL = (PRETRAIN / "topology.yaml").read_text(encoding="utf-8")
JOB = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8")
EVERY = {"workflows": ["jobs/*.yaml"], "to": "out/"}


def job(name: str, namespace: str = "ml") -> str:
    """A workflow of that name."""
    return JOB.replace("name: pretrain, namespace: ml", f"name: {name}, namespace: {namespace}")


class Repository:
    """A folder with a project, the cluster's topology and workflows in `jobs/`."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        self.write("hall.yaml", HALL)
        self.write("jobs/one.yaml", job("one"))

    def write(self, path: str, text: str) -> None:
        """A file and its folders."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def project(self, *outputs: Mapping[str, Any], **spec: Any) -> None:
        """bayplan.yaml."""
        data = {"topology": "hall.yaml", "outputs": list(outputs), **spec}
        head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Project", "spec": data}
        self.write("bayplan.yaml", json.dumps(head))

    def generate(self, *argv: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        code = run(["generate", *argv])
        return code, *self.capsys.readouterr()

    def state(self) -> dict[str, str]:
        """Every file below with its text."""
        files = sorted(each for each in self.folder.rglob("*") if each.is_file())
        return {each.relative_to(self.folder).as_posix(): each.read_text(encoding="utf-8") for each in files}

    def made(self) -> list[str]:
        """The files that are no input."""
        return [each for each in self.state() if not each.startswith(("jobs/", "hall.yaml", "bayplan.yaml"))]

    def fails(self, *argv: str) -> str:
        """What is said by a run that fails and changes nothing."""
        before = self.state()
        code, out, err = self.generate(*argv)
        assert code in (1, 2), err
        assert out == ""
        assert self.state() == before
        return err


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Repository:
    """A new one, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    return Repository(tmp_path, capsys)


def manifests(name: str) -> list[str]:
    """The files of a workflow like pretrain."""
    domains = [f"13-computedomain-{name}-replica-{number}.yaml" for number in range(4)]
    return [*domains, f"20-jobset-{name}.yaml"]


class TestKeeping:
    def test_everything_is_created_and_a_second_run_is_silent(self, repository: Repository) -> None:
        repository.project(EVERY)
        code, out, err = repository.generate()
        assert code == 1
        assert out.splitlines() == [f"created {path}" for path in repository.made()]
        assert "warning[O805]: 7 files changed" in err
        assert {Path(path).name for path in repository.made()} >= {INDEX, *manifests("one")}
        before = {path: (repository.folder / path).stat().st_mtime_ns for path in repository.made()}
        assert repository.generate() == (0, "", "")
        assert before == {path: (repository.folder / path).stat().st_mtime_ns for path in repository.made()}

    def test_a_new_workflow_adds_its_files_alone(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        old = set(repository.made())
        repository.write("jobs/two.yaml", job("two"))
        code, out, _ = repository.generate()
        new = set(repository.made()) - old
        assert code == 1
        assert set(out.splitlines()) == {f"updated {INDEX}", *(f"created {path}" for path in new)}
        assert {Path(path).name for path in new} >= set(manifests("two"))

    def test_a_changed_workflow_updates_what_differs(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        repository.write("jobs/one.yaml", job("one").replace("train.py", "other.py"))
        assert repository.generate()[:2] == (1, "updated out/20-jobset-one.yaml\n")
        assert repository.generate() == (0, "", "")

    def test_an_edited_file_is_put_right(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        path = repository.folder / "out/20-jobset-one.yaml"
        right = path.read_text()
        path.write_text(right.replace("train.py", "other.py"))
        assert repository.generate()[:2] == (1, "updated out/20-jobset-one.yaml\n")
        assert path.read_text() == right

    def test_a_lost_file_is_made_again(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        (repository.folder / "out/20-jobset-one.yaml").unlink()
        assert repository.generate()[:2] == (1, "created out/20-jobset-one.yaml\n")

    def test_what_a_deleted_workflow_left_is_removed(self, repository: Repository) -> None:
        repository.write("jobs/two.yaml", job("two"))
        repository.project(EVERY)
        repository.generate()
        (repository.folder / "jobs/two.yaml").unlink()
        code, out, _ = repository.generate()
        assert code == 1
        assert {line.split()[0] for line in out.splitlines()} == {"removed", "updated"}
        assert not [path for path in repository.made() if "two" in path]
        assert repository.generate() == (0, "", "")

    def test_a_renamed_workflow_moves(self, repository: Repository) -> None:
        repository.project({"workflows": ["jobs/*.yaml"], "to": "out/{namespace}/{workflow}/"})
        repository.generate()
        repository.write("jobs/one.yaml", job("uno"))
        repository.generate()
        assert {str(Path(path).parent) for path in repository.made()} == {".", "out/ml/uno"}
        assert not (repository.folder / "out/ml/one").exists()

    def test_what_a_removed_output_left_is_removed(self, repository: Repository) -> None:
        repository.project(EVERY, {"export": "kai", "to": "cluster/deep/"})
        repository.generate()
        assert (repository.folder / "cluster/deep").is_dir()
        repository.project(EVERY)
        code, out, _ = repository.generate()
        assert code == 1
        assert "removed cluster/deep/01-topology-hall-1.yaml" in out
        assert not (repository.folder / "cluster").exists()

    def test_without_any_workflow_nothing_is_left(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        (repository.folder / "jobs/one.yaml").unlink()
        code, _, err = repository.generate()
        assert code == 1
        assert "warning[A983]" in err
        assert repository.made() == []
        assert not (repository.folder / "out").exists()
        assert repository.generate()[0] == 0

    def test_without_any_output_nothing_is_left(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        repository.project()
        assert repository.generate()[0] == 1
        assert repository.made() == []
        assert "warning[A983]" in repository.generate()[2]

    @pytest.mark.parametrize("places", [("out", "out/", "out/{workflow}/", "out/all.yaml", "all.yaml", "out/deep/")])
    def test_an_output_moves(self, places: Sequence[str], repository: Repository) -> None:
        for to in places:
            repository.project({**EVERY, "to": to})
            assert repository.generate()[0] == 1
            assert repository.generate() == (0, "", "")
            assert all(path == INDEX or path.startswith(to.partition("{")[0]) for path in repository.made())

    def test_other_files_stay(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.write("out/notes.md", "mine")
        repository.write("out/kustomization.yaml", "resources: []\n")
        repository.generate()
        repository.project()
        repository.generate()
        assert repository.made() == ["out/kustomization.yaml", "out/notes.md"]

    def test_modes_and_links_stay(self, repository: Repository) -> None:
        repository.project({**EVERY, "to": "all.yaml"})
        repository.generate()
        (repository.folder / "all.yaml").rename(repository.folder / "real.yaml")
        (repository.folder / "all.yaml").symlink_to("real.yaml")
        (repository.folder / "real.yaml").chmod(0o640)
        repository.write("jobs/one.yaml", job("uno"))
        assert repository.generate()[0] == 1
        assert (repository.folder / "all.yaml").is_symlink()
        assert "uno" in (repository.folder / "real.yaml").read_text()
        assert (repository.folder / "real.yaml").stat().st_mode & 0o777 == 0o640


class TestFinding:
    def test_from_below_and_by_name(self, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
        repository.project(EVERY)
        (repository.folder / "deep/er").mkdir(parents=True)
        monkeypatch.chdir(repository.folder / "deep/er")
        code, out, _ = repository.generate("--check")
        assert code == 1
        assert "+++ ../../out/20-jobset-one.yaml" in out
        code, out, _ = repository.generate()
        assert "created ../../out/20-jobset-one.yaml" in out
        monkeypatch.chdir("/")
        for word in (str(repository.folder), f"{repository.folder}/bayplan.yaml"):
            assert repository.generate(word) == (0, "", "")

    def test_patterns(self, repository: Repository) -> None:
        for path in ("a/one.yaml", "a/b/two.yaml", "a/b/old.yaml", "a/.hidden.yaml", "a/b.txt", "top.yaml"):
            repository.write(path, job(Path(path).stem.strip(".")))
        repository.project({"workflows": ["a/**/*.yaml", "!a/b/old.yaml", "./top.yaml"], "to": "out/{workflow}.yaml"})
        repository.generate()
        assert repository.made()[-3:] == ["out/top.yaml", "out/two.yaml", "top.yaml"]
        assert {path for path in repository.made() if path.startswith("out/")} == {
            "out/one.yaml",
            "out/top.yaml",
            "out/two.yaml",
        }

    def test_what_was_generated_is_no_workflow(self, repository: Repository) -> None:
        repository.project({"workflows": ["**/*.yaml", "!hall.yaml", "!bayplan.yaml"], "to": "jobs/made/"})
        assert repository.generate()[0] == 1
        (repository.folder / INDEX).unlink()
        assert repository.generate()[:2] == (1, f"created {INDEX}\n")

    def test_a_folder_and_another_format_are_told(self, repository: Repository) -> None:
        repository.project({"workflows": ["jobs"], "to": "out/"})
        assert "error[R101]" in repository.fails()
        repository.project({"workflows": ["*.yaml"], "to": "out/"})
        assert "error[A912]" in repository.fails()


def options(entry: Mapping[str, Any]) -> list[str]:
    """The command line that an output stands for."""
    made: list[str] = []
    for key, value in entry.items():
        if key in ("scheduler", "namespace", "queue", "priority", "workload", "from"):
            made += [f"--{key}", value]
        elif key == "target":
            made += ["--target", ",".join(f"{name}={version}" for name, version in value.items())]
        elif key in ("gangs", "accept"):
            made += [word for each in value for word in (f"--{key.removesuffix('s')}", each)]
        elif key == "set":
            made += [
                word
                for name, each in value.items()
                for word in ("--set-string" if isinstance(each, str) else "--set", f"{name}={each}")
            ]
        elif key == "osmoPool":
            made += ["--osmo-pool", value]
        elif key == "clusterObjects" and value:
            made.append("--cluster-objects")
    return made


EXAMPLE: list[tuple[str, dict[str, Any]]] = [
    ("pretrain/workflow.yaml", {}),
    ("pretrain/workflow.yaml", {"clusterObjects": True}),
    ("pretrain/workflow.yaml", {"priority": "high", "workload": "pods"}),
    ("pretrain/workflow.yaml", {"clusterObjects": False, "target": {"kai": "0.16", "jobset": "0.11"}}),
    ("pretrain/workflow.yaml", {"scheduler": "volcano", "accept": ["F605"], "namespace": "lab"}),
    ("pretrain/workflow.yaml", {"scheduler": "kueue", "accept": ["F626"]}),
    ("pretrain/workflow.yaml", {"scheduler": "slurm"}),
    ("pipeline/workflow.yaml", {"gangs": ["prepare"]}),
    ("osmo-one-rack/osmo.yaml", {"from": "osmo", "osmoPool": "pool.yaml", "queue": "batch"}),
]


@pytest.mark.parametrize(("example", "entry"), EXAMPLE)
def test_an_output_holds_what_render_writes(example: str, entry: Mapping[str, Any], repository: Repository) -> None:
    path, topology = EXAMPLES / example, EXAMPLES / example.split("/")[0] / "topology.yaml"
    if "osmoPool" in entry:
        entry = {**entry, "osmoPool": str(path.parent / entry["osmoPool"])}
    base = {**entry, "workflows": [str(path)], "topology": str(topology)}
    repository.project({**base, "to": "one.yaml"}, {**base, "to": "many/"})
    code, out, err = repository.generate()
    assert code == 1, err
    assert "created one.yaml" in out, err
    assert run(["render", str(path), "-t", str(topology), *options(entry), "-o", "rendered/"]) == 0
    rendered = {each.name: each.read_text() for each in (repository.folder / "rendered").glob("*-*.*")}
    many = {each.name: each.read_text() for each in (repository.folder / "many").iterdir()}
    assert many == {name: generated.marked(text) for name, text in rendered.items()}
    run(["render", str(path), "-t", str(topology), *options(entry), "-o", "rendered.yaml"])
    one = (repository.folder / "one.yaml").read_text()
    assert one == generated.marked((repository.folder / "rendered.yaml").read_text())


def test_the_example(repository: Repository) -> None:
    shutil.copytree(EXAMPLES, repository.folder / "examples")
    code, out, err = repository.generate("examples/project")
    assert (code, err.count("\n")) == (1, 3), err
    assert {"manifests/llama/20-jobset-llama.yaml", "cluster/01-topology-hall-1.yaml"} <= {
        line.removeprefix("created examples/project/") for line in out.splitlines()
    }
    assert repository.generate("examples/project") == (0, "", "")


def test_variables_keep_their_types(repository: Repository) -> None:
    repository.write(
        "jobs/osmo.yaml",
        "workflow:\n  name: from-osmo\n  tasks:\n  - name: only\n    image: example.com/a:{{tag}}\n"
        "    command: [run]\n    args: ['{{ count + 1 }}']\ndefault-values:\n  tag: v0\n  count: 1\n",
    )
    entry = {"workflows": ["jobs/osmo.yaml"], "to": "o.yaml", "set": {"tag": "1", "count": 41}, "namespace": "ml"}
    repository.project(entry)
    repository.generate()
    text = (repository.folder / "o.yaml").read_text()
    assert "example.com/a:1" in text
    assert '"42"' in text


def test_an_export_holds_what_topology_export_writes(repository: Repository) -> None:
    repository.project({"export": "kai", "to": "kai/"}, {"export": "slurm", "to": "topology.conf"})
    repository.generate()
    run(["topology", "export", "hall.yaml", "--to", "kai", "-o", "expected/"])
    run(["topology", "export", "hall.yaml", "--to", "slurm", "-o", "expected.conf"])
    wanted = {each.name: generated.marked(each.read_text()) for each in (repository.folder / "expected").glob("*.yaml")}
    assert {each.name: each.read_text() for each in (repository.folder / "kai").iterdir()} == wanted
    expected = (repository.folder / "expected.conf").read_text()
    assert (repository.folder / "topology.conf").read_text() == generated.marked(expected)


def test_every_key_of_an_output_is_tried() -> None:
    keys = set(load("Project")["definitions"]["output"]["properties"])
    assert keys == {"to", "workflows", "topology", "export", "set"} | {key for _, entry in EXAMPLE for key in entry}


class TestOwnership:
    def test_a_foreign_file_in_the_way(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.write("out/20-jobset-one.yaml", "mine\n")
        assert "error[O804]" in repository.fails()
        assert "error[O804]" in repository.fails("--check")

    def test_the_inputs_are_never_overwritten(self, repository: Repository) -> None:
        for to in ("hall.yaml", "jobs/one.yaml", "jobs/{workflow}.yaml", "./bayplan.yaml", "x/../bayplan.yaml"):
            repository.project({**EVERY, "to": to})
            assert "error[" in repository.fails()

    def test_what_lost_its_mark_is_somebody_elses(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        path = repository.folder / "out/20-jobset-one.yaml"
        path.write_text("kind: JobSet\n")
        assert "error[O804]" in repository.fails()
        repository.project({"workflows": ["none/*"], "to": "out/"})
        code, out, err = repository.generate()
        assert code == 1
        assert "20-jobset-one" not in out
        assert 'warning[O804]: "out/20-jobset-one.yaml" is not an output any more' in err
        assert repository.made() == ["out/20-jobset-one.yaml"]
        assert "O804" not in repository.generate()[2]

    def test_a_copy_that_no_output_makes_is_found(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        copy = repository.state()["out/20-jobset-one.yaml"]
        repository.write("out/below/copy.yaml", copy)
        assert "out/below/copy.yaml: error[O805]" in repository.fails("--check")
        code, _, err = repository.generate()
        assert (code, "out/below/copy.yaml: warning[O804]" in err) == (0, True)
        repository.write("out/below/bayplan.yaml", "another project\n")
        assert repository.generate("--check")[::2] == (0, "")

    def test_tracked_needs_a_repository(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        assert "error[O805]: --tracked needs a git repository" in repository.fails("--tracked")

    def test_a_lost_index_is_made_again(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        (repository.folder / INDEX).unlink()
        assert repository.generate()[:2] == (1, f"created {INDEX}\n")

    def test_what_render_wrote_is_taken_over(self, repository: Repository) -> None:
        run(["render", "jobs/one.yaml", "-t", "hall.yaml", "-o", "out/"])
        repository.write("jobs/one.yaml", job("uno"))
        repository.project(EVERY)
        code, out, err = repository.generate()
        assert code == 1, err
        assert "removed out/.bayplan-index" in out
        assert "removed out/20-jobset-one.yaml" in out
        assert repository.generate() == (0, "", "")
        assert not [path for path in repository.made() if "one" in path]

    def test_a_render_into_the_same_folder_is_refused(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        assert run(["render", "jobs/one.yaml", "-t", "hall.yaml", "-o", "out/"]) == 1
        assert "error[O804]" in repository.capsys.readouterr().err

    @pytest.mark.parametrize("line", ["../x", "/etc/passwd", "a/../b", "./a", "a//b", "a/", "..", ".git/config", "\0"])
    def test_an_index_with_a_strange_line(self, line: str, repository: Repository) -> None:
        repository.project(EVERY)
        repository.write(INDEX, f"{line}\n")
        assert "error[O804]" in repository.fails()

    def test_only_what_carries_the_mark_is_removed(self, repository: Repository) -> None:
        repository.project({"workflows": ["none/*"], "to": "out/"})
        repository.write("mine.txt", "mine")
        repository.write(INDEX, "mine.txt\nhall.yaml\nbayplan.yaml\nnot/there\nhall.yaml/below\n")
        repository.generate()
        assert {"hall.yaml", "bayplan.yaml", "mine.txt"} <= set(repository.state())

    def test_a_merge_conflict_in_the_index_and_in_a_file(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        right = repository.state()
        index, path = right[INDEX].splitlines(keepends=True), "out/20-jobset-one.yaml"
        text = right[path].splitlines(keepends=True)
        stale = "out/13-computedomain-gone.yaml"
        repository.write(stale, generated.GENERATED)
        sides = ["<<<<<<< ours\n", *index[1:3], "=======\n", f"{stale}\n", ">>>>>>> theirs\n"]
        repository.write(INDEX, "".join([index[0], *sides, *index[3:]]))
        repository.write(path, "".join([*text[:5], "<<<<<<< ours\n", "a: 1\n", "=======\n", ">>>>>>> theirs\n"]))
        code, out, _ = repository.generate()
        assert (code, set(out.splitlines())) == (1, {f"updated {INDEX}", f"updated {path}", f"removed {stale}"})
        assert repository.state() == right

    def test_a_link_that_leads_out(self, repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> None:
        outside = tmp_path_factory.mktemp("outside")
        (repository.folder / "out").symlink_to(outside)
        repository.project(EVERY)
        assert "error[A929]" in repository.fails()
        (outside / "victim.yaml").write_text(generated.GENERATED)
        repository.project({"workflows": ["none/*"], "to": "in/"})
        repository.write(INDEX, "out/victim.yaml\n")
        assert "error[A929]" in repository.fails()

    def test_a_full_disk_changes_nothing(self, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
        repository.project(EVERY)
        repository.generate()
        repository.write("jobs/one.yaml", job("uno"))

        def full(number: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        assert "error[O802]" in repository.fails()
        assert not list(repository.folder.glob(".bayplan-staging-*"))

    def test_what_was_interrupted_is_finished(self, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
        repository.project(EVERY)
        repository.generate()
        repository.write("jobs/one.yaml", job("uno"))
        move, moved = generated._move, list[str]()

        def interrupted(source: str, path: str, mode: int) -> None:
            moved.append(path)
            if len(moved) > 2:
                raise KeyboardInterrupt
            move(source, path, mode)

        with monkeypatch.context() as patch:
            patch.setattr(generated, "_move", interrupted)
            assert repository.generate()[0] == 130
        repository.generate()
        assert repository.generate() == (0, "", "")
        assert not [path for path in repository.made() if "one" in path]


class TestCheck:
    def test_the_difference_is_a_patch(self, repository: Repository) -> None:
        repository.write("jobs/two.yaml", job("two"))
        repository.project(EVERY)
        repository.generate()
        (repository.folder / "jobs/two.yaml").unlink()
        repository.write("jobs/one.yaml", job("one").replace("train.py", "other.py"))
        repository.write("jobs/three.yaml", job("three"))
        before = repository.state()
        code, out, err = repository.generate("--check")
        assert code == 1
        assert repository.state() == before
        assert "train.py" in out
        assert err.count("error[O805]") == out.count("\n--- ") + 1
        (repository.folder / "patch").write_text(out)
        done = os.system("git init -q . && git apply -p0 --unsafe-paths patch")
        assert done == 0
        (repository.folder / "patch").unlink()
        assert repository.generate("--check") == (0, "", "")

    def test_a_checkout_with_other_line_ends_is_clean(self, repository: Repository) -> None:
        repository.project(EVERY)
        repository.generate()
        for path in repository.made():
            file = repository.folder / path
            file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        assert repository.generate("--check") == (0, "", "")
        assert "core.autocrlf" in repository.generate("--check", "-v")[2]
        assert repository.generate() == (0, "", "")
        first = repository.folder / repository.made()[-1]
        first.write_bytes(first.read_bytes().replace(b"image: ", b"image:  ", 1))
        assert repository.generate("--check")[0] == 1

    def test_annotations_for_github(self, repository: Repository) -> None:
        repository.project(EVERY)
        code, out, err = repository.generate("--check", "--diagnostics", "github")
        lines = err.splitlines()
        assert code == 1
        assert len(lines) == len(out.split("\n--- "))
        assert lines[-1].startswith("::error file=out/20-jobset-one.yaml,title=O805 the output is not up to date::this")
        repository.write("jobs/one.yaml", job("one").replace("required: rack", "required: rak"))
        err = repository.fails("--check", "--diagnostics", "github")
        assert err.startswith("::error file=jobs/one.yaml,line=13,endLine=13,col=29,endColumn=32,title=W323 ")

    def test_sarif_for_code_scanning(self, repository: Repository) -> None:
        repository.project(EVERY)
        code, out, err = repository.generate("--check", "--diagnostics", "sarif")
        assert (code, err) == (1, "")
        (log,) = json.loads(out)["runs"]
        places = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in log["results"]]
        assert {each["ruleId"] for each in log["results"]} == {"O805"}
        assert "out/20-jobset-one.yaml" in places
        repository.generate()
        code, out, err = repository.generate("--check", "--diagnostics", "sarif")
        assert (code, err, json.loads(out)["runs"][0]["results"]) == (0, "", [])
        code, _, err = repository.generate("--diagnostics", "json")
        assert (code, json.loads(err)["diagnostics"]) == (0, [])

    def test_patterns_that_take_everything_out_are_told(self, repository: Repository) -> None:
        repository.project({**EVERY, "workflows": ["!jobs/*"]})
        assert "exclude all files" in repository.fails("--strict")

    def test_warnings_fail_a_strict_run_and_change_nothing(self, repository: Repository) -> None:
        repository.project(EVERY, {"workflows": ["none/*"], "to": "other/"})
        assert "warning[A983]" in repository.fails("--strict")
        assert repository.generate()[0] == 1


class TestBadInput:
    def test_an_error_in_one_output_stops_all(self, repository: Repository) -> None:
        repository.write("bad/two.yaml", job("two").replace("replicas: 16", "replicas: 60"))
        repository.project(EVERY, {"workflows": ["bad/*.yaml"], "to": "bad-out/"})
        assert "error[P55" in repository.fails()

    @pytest.mark.parametrize(
        ("spec", "code"),
        [
            ({"outputs": [{**EVERY, "scheduler": "kia"}]}, "A901"),
            ({"outputs": [{**EVERY, "accept": ["F999"]}]}, "A920"),
            ({"outputs": [{**EVERY, "accept": ["P551"]}]}, "A920"),
            ({"outputs": [{**EVERY, "target": {"kia": "0.17"}}]}, "A904"),
            ({"outputs": [{**EVERY, "target": {"kai": "0.1"}}]}, "A904"),
            ({"outputs": [{**EVERY, "gangs": ["none"]}]}, "A920"),
            ({"outputs": [{**EVERY, "from": "osmosis"}]}, "A920"),
            ({"outputs": [{**EVERY, "set": {"a": 1}}]}, "A920"),
            ({"outputs": [{**EVERY, "osmoPool": "gone.yaml"}]}, "R101"),
            ({"outputs": [{**EVERY, "topology": "gone.yaml"}]}, "R101"),
            ({"outputs": [{**EVERY, "topology": "jobs/one.yaml"}]}, "A912"),
            ({"outputs": [EVERY], "topology": "gone.yaml"}, "R101"),
            ({"outputs": [{"export": "kia", "to": "x/"}]}, "A901"),
            ({"outputs": [{**EVERY, "schedulr": "kai"}]}, "S201"),
            ({"outputs": [{**EVERY, "to": ""}]}, "S206"),
            ({"outputs": [{**EVERY, "workflows": "jobs/*"}]}, "S202"),
            ({"outputs": [{**EVERY, "workflows": []}]}, "S206"),
            ({"outputs": [{"workflows": ["jobs/*"]}]}, "S204"),
            ({"outputs": {}}, "S202"),
            ({"outputs": [{**EVERY, "to": "/tmp/x/"}]}, "A929"),
            ({"outputs": [{**EVERY, "to": ".git/hooks/"}]}, "A929"),
            ({"outputs": [{**EVERY, "to": "jobs"}]}, "A929"),
            ({"outputs": [{**EVERY, "to": ".bayplan-generated"}]}, "A929"),
            ({"outputs": [{**EVERY, "to": "out"}, {"export": "kai", "to": "out/"}]}, "A929"),
            ({"outputs": [{**EVERY, "to": "{}/"}]}, "A929"),
            ({"outputs": [{**EVERY, "scheduler": "slurm", "to": "all.sh"}]}, "O808"),
        ],
    )
    def test_each_is_told_at_its_place(self, spec: dict[str, Any], code: str, repository: Repository) -> None:
        repository.write("jobs/two.yaml", job("two"))
        repository.project(**spec)
        err = repository.fails()
        assert f"error[{code}]" in err, err
        assert "\nbayplan: error" not in f"\n{err}", err

    def test_without_a_topology(self, repository: Repository) -> None:
        for output in (EVERY, {"export": "kai", "to": "x/"}):
            repository.project(output, topology="hall.yaml")
            data = parse((repository.folder / "bayplan.yaml").read_text())
            del data["spec"]["topology"]
            repository.write("bayplan.yaml", json.dumps(data))
            err = repository.fails()
            assert err.startswith("bayplan.yaml:1:")
            assert "error[A921]" in err
            assert run(["render", "jobs/one.yaml"]) == 2
            assert "error[A921]" in repository.capsys.readouterr().err

    def test_no_project_and_a_broken_one(self, repository: Repository) -> None:
        assert "error[A921]" in repository.fails()
        repository.write("bayplan.yaml", "kind: [")
        assert "error[R107]" in repository.fails()
        assert "error[R101]" in repository.fails("gone/bayplan.yaml")
        for word in ("gone", "other.yaml", "-", "gone/"):
            assert "error[A921]" in repository.fails(word) or word == "gone/"

    def test_a_file_where_a_folder_is_wanted(self, repository: Repository) -> None:
        repository.write("out", "a file")
        repository.project(EVERY)
        assert "error[O804]" in repository.fails()

    def test_objects_of_one_name_in_two_folders(self, repository: Repository) -> None:
        gang = "{name: %s, podSets: [{name: w, replicas: 2, image: a, command: [b]}]}"
        head = "apiVersion: bayplan.dev/v1alpha1\nkind: Workflow\nmetadata: {name: %s}\nspec: {gangs: [%s]}\n"
        repository.write("jobs/two.yaml", head % ("two", f"{gang % 'x'}, {gang % 'z'}"))
        repository.write("jobs/three.yaml", head % ("two-x", gang % "only"))
        repository.project({**EVERY, "to": "{workflow}/"})
        assert "error[W301]: " in repository.fails()

    def test_no_pipe_is_read(self, repository: Repository) -> None:
        for path in ("out/20-jobset-one.yaml", "out/.bayplan-index", INDEX, "jobs/two.yaml"):
            (repository.folder / path).parent.mkdir(exist_ok=True)
            os.mkfifo(repository.folder / path)
        repository.project(EVERY)
        assert "error[O804]" in repository.fails()

    def test_a_name_too_long_and_a_folder_in_the_way(self, repository: Repository) -> None:
        repository.project(EVERY, {**EVERY, "to": f"{'x' * 300}/"})
        assert "error[O802]" in repository.fails()
        (repository.folder / "out/20-jobset-one.yaml").mkdir(parents=True)
        repository.project(EVERY)
        assert "error[O804]" in repository.fails()

    def test_a_folder_that_takes_nothing(self, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
        (repository.folder / "shut").mkdir()
        repository.project(EVERY, {**EVERY, "to": "shut/"})
        monkeypatch.setattr(os, "access", lambda path, mode: "shut" not in str(path))  # root may write everywhere
        assert "error[O802]" in repository.fails()

    def test_two_outputs_of_one_place(self, repository: Repository) -> None:
        repository.project(EVERY, {**EVERY, "to": "out/sub/../"}, {**EVERY, "to": "all.yaml"})
        assert "error[A929]" in repository.fails()
        repository.write("other/two.yaml", job("two"))
        repository.project(EVERY, {**EVERY, "workflows": ["other/*.yaml"]})
        assert repository.generate()[0] == 1, "one folder, and no file twice"

    def test_a_dash_is_a_file(self, repository: Repository) -> None:
        repository.write("-", job("dash"))
        repository.project({"workflows": ["-"], "to": "out/"})
        assert "out/20-jobset-dash.yaml" in repository.generate()[1]


VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1e300,
    "",
    "x",
    "*",
    "[",
    "../x",
    "a\nb",
    "\ud800",
    "{workflow}",
    [],
    {},
    [None],
]


@pytest.mark.parametrize("seed", seeds(60))
def test_no_project_makes_it_crash(seed: int, repository: Repository) -> None:
    chance = random.Random(seed)
    keys = list(load("Project")["definitions"]["output"]["properties"])
    pick: Callable[[], Any] = lambda: chance.choice(VALUES)  # noqa: E731
    entries = [{chance.choice(keys): chance.choice([pick(), [pick()], {"a": pick()}]) for _ in range(3)} for _ in "ab"]
    base = {**EVERY, chance.choice(keys): pick()}
    head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Project"}
    spec = {"topology": "hall.yaml", "outputs": chance.choice([entries, [base], [base, EVERY], pick()])}
    repository.write("bayplan.yaml", json.dumps({**head, "spec": chance.choice([spec, spec, spec, pick()])}))
    code, out, err = repository.generate()
    assert code in (0, 1, 2), err
    assert "Traceback" not in err
    assert out == "" or "warning[O805]" in err


def test_the_same_bytes_under_any_hash_seed(repository: Repository) -> None:
    repository.write("jobs/two.yaml", job("two"))
    repository.project(EVERY, {"export": "kai", "to": "cluster/"})
    states = []
    for seed in ("0", "1"):
        done = process("generate", cwd=repository.folder, env={"PYTHONHASHSEED": seed, "LC_ALL": "C"})
        assert done.returncode == 1, done.stderr
        states.append((repository.state(), done.stdout))
        repository.project()
        repository.generate()
        repository.project(EVERY, {"export": "kai", "to": "cluster/"})
    assert states[0] == states[1]


PLACES = ["out/", "out/{workflow}/", "{namespace}/{workflow}.yaml", "all.yaml", "out/deep/", "./", "jobs/made/"]


def step(repository: Repository, chance: random.Random) -> None:
    """Something that people do to a repository."""
    made = [path for path in repository.made() if path != INDEX and not path.startswith("mine")]
    path = f"jobs/{chance.choice('abcd')}.yaml"
    match chance.choice(["write", "delete", "outputs", "outputs", "edit", "lose", "index", "mine"]):
        case "write":
            repository.write(path, job(chance.choice(["one", "two", "three"]), chance.choice(["ml", "lab"])))
        case "delete":
            (repository.folder / path).unlink(missing_ok=True)
        case "outputs":
            entries = [{**EVERY, "to": to} for to in chance.sample(PLACES, chance.randint(0, 2))]
            repository.project(*entries, {"export": "kai", "to": chance.choice(["cluster/", "out/"])})
        case "edit" if made:
            text = (repository.folder / made[0]).read_text()
            repository.write(made[0], text.replace("name: ", "name: x"))
        case "lose" if made:
            (repository.folder / chance.choice(made)).unlink()
        case "index":
            lines = (repository.folder / INDEX).read_text() if (repository.folder / INDEX).exists() else ""
            repository.write(INDEX, f"{lines}<<<<<<< ours\n=======\ngone/13-x.yaml\n>>>>>>> theirs\n")
        case "mine":
            repository.write("mine/notes.md", "mine")


@pytest.mark.parametrize("seed", seeds(12))
def test_whatever_happened_before_the_result_is_that_of_a_fresh_run(
    seed: int, repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chance = random.Random(seed)
    repository.project(EVERY)
    for _ in range(12):
        before = repository.state()
        step(repository, chance)
        changed = repository.state()
        code, _, err = repository.generate()
        if "error[" in err:
            assert repository.state() == changed
            for path in set(changed) - set(before) - {INDEX}:  # taken back: what follows would fail as well
                (repository.folder / path).unlink()
            for path, text in before.items():
                repository.write(path, text)
            continue
        assert code in (0, 1)
        assert repository.generate()[0] == 0
        fresh = tmp_path_factory.mktemp("fresh")
        for path, text in repository.state().items():
            if path == INDEX or generated.is_marked(text):
                continue
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            (fresh / path).write_text(text)
        repository.generate(str(fresh))
        made = Repository.__new__(Repository)
        made.folder = fresh
        assert made.state() == repository.state()


FOREIGN = (
    """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
"""
    + FOUR_PODS
)


def test_post_render_takes_cluster_and_policy_of_the_project(repository: Repository) -> None:
    def passed(*options: str) -> subprocess.CompletedProcess[str]:
        state = {"XDG_STATE_HOME": str(repository.folder / "state")}
        return bayplan("post-render", *options, cwd=repository.folder, stdin=FOREIGN, env=state)

    rule = {"match": {"name": "train"}, "gang": {"placement": {"required": "rack"}}}
    head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Policy", "spec": {"rules": [rule]}}
    repository.write("policy.yaml", json.dumps(head))
    repository.project(policy="policy.yaml")
    assert "kind: ComputeDomain" in passed().stdout
    assert passed("-t", "hall.yaml").stdout == FOREIGN, "who names a cluster does not ask the project"
    repository.project(policy="gone.yaml")
    assert "error[R101]" in passed().stderr
    repository.write("bayplan.yaml", "apiVersion: bayplan.dev/v1alpha1\nkind: Project\nspec: {policy: policy.yaml}\n")
    done = passed()
    assert (done.returncode, done.stdout) == (2, "")
    assert "error[A921]" in done.stderr
