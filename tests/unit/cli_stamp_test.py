"""The stamp of `bayplan generate`: what makes it hold, and what makes it doubt."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import bayplan.cli.stamp as stamp
from tools.run import EXAMPLES, PRETRAIN, bayplan, hooked

SPEC = """\
apiVersion: bayplan.dev/v1alpha1
kind: Project
spec:
  topology: topology.yaml
  outputs:
  - workflows: ["jobs/*.yaml", "deep/*/job.yaml"]
    to: out/{workflow}/
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose files are up to date, and whose last run has left a stamp."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    for each in ("jobs", "deep/a", "deep/b"):
        (folder / each).mkdir(parents=True)
    shutil.copy(PRETRAIN / "topology.yaml", folder)
    (folder / "shared.yaml").symlink_to("jobs/one.yaml")
    shutil.copy(PRETRAIN / "workflow.yaml", folder / "deep/a/job.yaml")
    shutil.copy(EXAMPLES / "project/jobs/probe.workflow.yaml", folder / "real.yaml")
    (folder / "jobs/one.yaml").symlink_to("../real.yaml")
    (folder / "bayplan.yaml").write_text(SPEC)
    assert bayplan("generate", cwd=folder).returncode == 1
    again = bayplan("generate", cwd=folder)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    return folder


def full(folder: Path, *options: str) -> tuple[bool, subprocess.CompletedProcess[str]]:
    """Whether a run did all the work, and the run."""
    asked: list[object] = []
    recording = stamp._recording
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stamp, "_recording", lambda: asked.append(1) or recording())
        done = bayplan("generate", *options, cwd=folder)
    return bool(asked), done


def stamps(folder: Path) -> list[Path]:
    """The files of the cache."""
    return sorted((folder.parent / "cache/bayplan").iterdir())


def test_a_second_run_asks_only_the_questions_of_the_first(project: Path) -> None:
    doing, done = full(project)
    assert (doing, done.returncode, done.stdout, done.stderr) == (False, 0, "", "")
    assert not [each for each in project.rglob("*") if "stamp" in each.name or "cache" in each.name]


def test_check_has_a_stamp_of_its_own(project: Path) -> None:
    assert [full(project, "--check")[0] for _ in range(3)] == [True, False, False]


def same_size_and_time(path: Path) -> None:
    """Changes one byte of a file."""
    before, text = path.stat(), path.read_bytes()
    assert text.count(b"64 pods")
    path.write_bytes(text.replace(b"64 pods", b"63 pods"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "one byte of an input": lambda folder: same_size_and_time(folder / "deep/a/job.yaml"),
    "an output deleted": lambda folder: (folder / "out/pretrain/20-jobset-pretrain.yaml").unlink(),
    "an output edited": lambda folder: (folder / "out/pretrain/20-jobset-pretrain.yaml").write_text("x"),
    "the index deleted": lambda folder: (folder / ".bayplan-generated").unlink(),
    "a new file that a pattern matches": lambda folder: shutil.copy(folder / "real.yaml", folder / "jobs/x.yaml"),
    "a new file in a folder that a pattern matches": lambda folder: (folder / "deep/b/job.yaml").write_text(""),
    "an input removed": lambda folder: (folder / "jobs/one.yaml").unlink(),
    "the topology removed": lambda folder: (folder / "topology.yaml").unlink(),
    "the topology a pipe": lambda folder: ((folder / "topology.yaml").unlink(), os.mkfifo(folder / "topology.yaml")),
    "the project changed": lambda folder: (folder / "bayplan.yaml").write_text(SPEC.replace("out/", "new/")),
    "a copy with the mark": lambda folder: shutil.copytree(folder / "out/pretrain", folder / "out/copy"),
    "a link that leads elsewhere": lambda folder: (
        (folder / "jobs/one.yaml").unlink(),
        (folder / "jobs/one.yaml").symlink_to("../deep/a/job.yaml"),
    ),
    "an output folder that is a link out": lambda folder: (
        shutil.move(folder / "out", folder.parent / "out"),
        (folder / "out").symlink_to("../out"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("options", [(), ("--check",)], ids=["write", "check"])
def test_a_change_makes_the_run_do_all_the_work(project: Path, change: str, options: tuple[str, ...]) -> None:
    bayplan("generate", *options, cwd=project)
    assert full(project, *options)[0] is False
    CHANGES[change](project)
    plain = bayplan("generate", "--check", cwd=project, env={stamp.SWITCH: "0"})
    doing, done = full(project, *options)
    assert doing
    if options:
        assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_a_touched_file_is_the_same_file(project: Path) -> None:
    os.utime(project / "topology.yaml", ns=(0, 0))
    assert full(project)[0] is False


def test_another_option_variable_or_program_has_no_stamp(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert full(project, "--strict")[0]
    monkeypatch.setattr(stamp, "__version__", "0.0.0")
    assert full(project)[0]
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "cache"))
    monkeypatch.setenv("BAYPLAN_LIMIT", "bytes=1M")
    assert full(project)[0]


def test_an_edited_module_makes_the_run_do_all_the_work(project: Path) -> None:
    assert full(project)[0] is False
    raw = stamps(project)[0].read_bytes()
    answers = dict(zip(raw.split(b"\0")[4::3], raw.split(b"\0")[5::3], strict=True))
    place = os.path.dirname(stamp.__file__)
    assert answers[os.fsencode(f"{place}/generate.py")] == stamp._identity(f"{place}/generate.py").encode()


def test_a_run_removes_what_a_killed_one_left(project: Path) -> None:
    left = project / ".bayplan-staging-1-1"
    left.mkdir()
    assert full(project)[0]
    assert not left.exists()


@pytest.mark.parametrize("how", ["cut off", "empty", "garbage", "other text", "without its end"])
def test_a_damaged_stamp_is_ignored(project: Path, how: str) -> None:
    (path,) = stamps(project)
    raw = path.read_bytes()
    body = raw.split(b"\0", 1)[1].rsplit(b"\0", 1)[0]
    damaged = {
        "cut off": raw[:-1],
        "empty": b"",
        "garbage": os.urandom(1000),
        "other text": raw.replace(b"topology", b"tropology"),
        "without its end": stamp._digest(body).encode() + b"\0" + body,
    }
    path.write_bytes(damaged[how])
    doing, done = full(project)
    assert (doing, done.returncode, done.stderr) == (True, 0, "")
    assert path.read_bytes() == raw


def test_a_run_with_a_diagnostic_leaves_no_stamp(project: Path) -> None:
    (project / "bayplan.yaml").write_text(SPEC.replace("deep/*/job.yaml", "none/*.yaml"))
    for _ in range(3):
        doing, done = full(project)
    assert doing
    assert "A983" in done.stderr


@pytest.mark.parametrize("options", [("--diagnostics", "json"), ("--tracked",), ("--sandbox",)])
def test_some_runs_leave_no_stamp(project: Path, options: tuple[str, ...]) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=project, check=True)
    for _ in range(2):
        bayplan("generate", *options, cwd=project)
    assert len(stamps(project)) == 1


def test_a_cache_that_cannot_be_written_changes_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/1")
    assert [full(project)[0] for _ in range(2)] == [True, True]
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.delenv("HOME")
    assert bayplan("generate", cwd=project).returncode == 0
    assert not (project / "relative").exists()


def test_a_terminal_gets_the_same_line(project: Path) -> None:
    runs = [bayplan("generate", cwd=project, terminal=True).stderr for _ in range(3)]
    plain = bayplan("generate", cwd=project, terminal=True, env={stamp.SWITCH: "0"}).stderr
    assert plain
    assert runs == [plain] * 3


OPENED = """
import atexit, os, sys
ASKED = set()
def watch(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str):
        ASKED.add(os.path.realpath(arguments[0]) if not os.path.islink(arguments[0]) else arguments[0])
    if event.startswith(("subprocess.", "os.exec", "os.posix_spawn", "os.fork", "socket.")):
        ASKED.add(f"forbidden {event}")
sys.addaudithook(watch)
sys.dont_write_bytecode = True
from bayplan.cli import stamp
packed = stamp._packed
def report(said, answers):
    known = {os.path.realpath(path) for question, path in answers} | {path for question, path in answers}
    for path in sorted(ASKED - known):
        if path.startswith("forbidden") or path.startswith(FOLDER):
            print("MISSED", path, file=sys.stderr)
    print("PACKED", len(ASKED & known), file=sys.stderr)
    return packed(said, answers)
stamp._packed = report
"""


@pytest.mark.parametrize("example", sorted(each.parent.name for each in EXAMPLES.glob("*/bayplan.yaml")))
def test_the_stamp_has_every_file_that_a_run_opens(example: str, tmp_path: Path) -> None:
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder)
    for each in folder.rglob(".bayplan-generated"):
        each.unlink()
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    bayplan("generate", str(folder / example), env=env)
    done = hooked(f"FOLDER = {str(folder)!r}\n{OPENED}", ["generate", str(folder / example)], env=env)
    assert "MISSED" not in done.stderr
    if done.returncode == 0 and "warning[" not in done.stderr:
        assert "PACKED" in done.stderr
