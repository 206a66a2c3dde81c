"""A run that a signal ends, at any of its steps: its output is the old or the new one, and nothing is left over.

After SIGKILL, each file is the old or the new one, and --check fails unless all are new. What is left over is a folder
that git ignores. The next run removes it, and its files are the new ones.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bayplan.cli import output_folder
from bayplan.cli.output_folder import INDEX, STAGING
from bayplan.cli.output_tree import INDEX as GENERATED
from tools.effort import LONG
from tools.run import PRETRAIN, bayplan, environment

PROJECT = """\
apiVersion: bayplan.dev/v1alpha1
kind: Project
spec: {topology: topology.yaml, outputs: [{workflows: [workflow.yaml], to: "out/{workflow}/"}]}
"""
RUNS = {
    "folder": "render workflow.yaml -t topology.yaml -o out/",
    "file": "render workflow.yaml -t topology.yaml -o out.yaml",
    "generate": "generate",
    "init": "init new",
    "install-legacy": "kustomize install-legacy home",
    "report": "post-render -t gone.yaml",
}
"""Commands that write files. Those of the first three replace files of an earlier run."""
INDEXES = (f"out/{INDEX}", GENERATED)


class Ended(NamedTuple):
    """A run that was ended at a step, and the files after it and after one more run."""

    step: int
    code: int
    files: Mapping[str, str]
    git: list[str]
    check: int
    finished: Mapping[str, str]


class Campaign(NamedTuple):
    """The files before and after a whole run, and all runs that were ended."""

    old: Mapping[str, str]
    new: Mapping[str, str]
    ended: tuple[Ended, ...]


def campaign(folder: Path, name: str, signal: str, most: int) -> Campaign:
    """All runs of a command."""
    old = folder / "old"
    old.mkdir()
    for each in ("workflow.yaml", "topology.yaml"):
        shutil.copy(PRETRAIN / each, old / each)
    (old / "bayplan.yaml").write_text(PROJECT)
    argv = RUNS[name].split()
    env = {"XDG_STATE_HOME": "state", "PATH": os.environ["PATH"]}
    if name in ("folder", "file", "generate"):
        assert bayplan(*argv, cwd=old, env=env).returncode == (name == "generate")
        text = (old / "workflow.yaml").read_text().replace("name: pretrain", "name: other").replace("train.py", "b.py")
        (old / "workflow.yaml").write_text(text)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "old"]):
        subprocess.run([*git, *words], cwd=old, check=True)
    command = [sys.executable, "-m", "tools.kills", str(folder), signal, str(most), *argv]
    paths = environment()["PYTHONPATH"] + os.pathsep + str(Path(__file__).parent)
    done = subprocess.run(command, env=environment({**env, "PYTHONPATH": paths}), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    before, after, *rest = (report(json.loads(line)) for line in done.stdout.splitlines())
    pairs = zip(rest[::2], rest[1::2], strict=True)
    return Campaign(before.files, after.files, tuple(one._replace(finished=two.files) for one, two in pairs))


def report(line: Mapping[str, Any]) -> Ended:
    """A line of `tools.kills`. The report of post-render has the time in its first line."""
    files = {
        path: text.partition("\n")[2] if path.startswith("state/bayplan/last") else text
        for path, text in line["files"].items()
    }
    return Ended(line["step"], line["code"], files, line["git"], line["check"], {})


@pytest.mark.parametrize("name", RUNS if LONG else list(RUNS)[::2])
def test_a_run_that_is_killed(name: str, tmp_path: Path) -> None:
    old, new, ended = campaign(tmp_path, name, "SIGKILL", 10_000 if LONG else 10)
    assert old != new
    assert len(ended) > (20 if LONG else 5)
    for each in ended:
        assert each.code == -9
        assert each.finished == new, each.step
        parts = [path for path in {*old, *new, *each.files} if path not in INDEXES and STAGING not in path]
        whole = all(each.files.get(path) == new.get(path) for path in parts)
        assert whole or each.check, "--check accepts a mixture of old and new files"
        for path in parts:
            assert each.files.get(path) in (old.get(path), new.get(path)), (each.step, path)
        staged = [path for path in each.git if STAGING in path]
        assert {each.files[path] for path in staged if not path.endswith("/")} <= {""}, each.step


@pytest.mark.parametrize(
    ("name", "signal"),
    [("folder", "SIGINT"), ("folder", "SIGHUP"), *((name, "SIGTERM") for name in (RUNS if LONG else list(RUNS)[1::2]))],
)
def test_a_run_that_is_interrupted(name: str, signal: str, tmp_path: Path) -> None:
    old, new, ended = campaign(tmp_path, name, signal, 200 if LONG else 3)
    assert old != new
    for each in ended:
        assert each.code == {"SIGTERM": 143, "SIGINT": 130, "SIGHUP": 129}[signal]
        assert each.files in (old, new), each.step


FIRST = {"01-a.yaml": "a\n"}


def leftover(folder: Path, number: int, *names: str) -> Path:
    """What a killed run left."""
    made = folder / f"{STAGING}-{number}-0"
    made.mkdir()
    for name in (".gitignore", *names):
        (made / name).write_text("*\n")
    return made


def test_only_what_a_dead_process_left_is_removed(tmp_path: Path) -> None:
    dead, alive, empty = leftover(tmp_path, 1, "0", "1"), leftover(tmp_path, 2, "0"), tmp_path / f"{STAGING}-3-0"
    empty.mkdir()
    foreign = leftover(tmp_path, 4, "0", "notes.md")
    (tmp_path / f"{STAGING}-mine").mkdir()
    with (alive / ".gitignore").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert output_folder.write_folder(str(tmp_path), FIRST) == ()
        assert not dead.exists()
        assert not empty.exists()
        assert sorted(path.name for path in alive.iterdir()) == [".gitignore", "0"]
    assert output_folder.write_folder(str(tmp_path), FIRST) == ()
    assert not alive.exists()
    assert [path.name for path in foreign.iterdir()] == ["notes.md"]
    assert (tmp_path / f"{STAGING}-mine").exists()


def test_a_link_in_place_of_what_was_left(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    victim = leftover(outside, 1, "0")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / victim.name).symlink_to(victim)
    inner = leftover(folder, 2, "0")
    (inner / ".gitignore").unlink()
    (inner / ".gitignore").symlink_to(victim / "0")
    assert output_folder.write_folder(str(folder), FIRST) == ()
    assert sorted(path.name for path in victim.iterdir()) == [".gitignore", "0"]
    assert (victim / "0").read_text() == "*\n"
    assert (inner / "0").exists()


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = leftover(tmp_path, 1, "0")

    def refused(number: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refused)
    assert output_folder.write_folder(str(tmp_path), FIRST) == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == [INDEX, left.name, "01-a.yaml"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("call", ["mkdir", "open", "write", "fsync"])
def test_a_call_that_fails_changes_nothing(
    call: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output_folder.write_folder(str(tmp_path), FIRST)
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}

    def fails(*arguments: Any) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fails)
        (found,) = output_folder.write_folder(str(tmp_path), {"01-a.yaml": "A\n", "02-b.yaml": "B\n"})
    assert found.code == "O802"
    assert found.message.endswith(os.strerror(number)[1:])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("path", ["out.yaml", "below/out.yaml"])
def test_a_folder_that_is_removed_meanwhile(path: str, tmp_path: Path) -> None:
    (tmp_path / "folder" / "below").mkdir(parents=True)

    def pieces() -> Iterator[str]:
        shutil.rmtree(tmp_path / "folder")
        yield "text"

    (found,) = output_folder.write_single(str(tmp_path / "folder" / path), pieces())
    assert found.code == "O802"
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]


@pytest.fixture
def other_disk() -> Iterator[Path]:
    """A folder of another file system."""
    folder = Path("/dev/shm") / f"bayplan-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("no /dev/shm here")
    yield folder
    shutil.rmtree(folder)


def test_a_link_to_another_file_system_changes_nothing(tmp_path: Path, other_disk: Path) -> None:
    if other_disk.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("only one file system here")
    output_folder.write_folder(str(tmp_path), {**FIRST, "02-b.yaml": "b\n"})
    (tmp_path / "02-b.yaml").rename(tmp_path / "moved")
    shutil.move(tmp_path / "moved", other_disk / "b.yaml")
    (tmp_path / "02-b.yaml").symlink_to(other_disk / "b.yaml")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    (found,) = output_folder.write_folder(str(tmp_path), {"01-a.yaml": "A\n", "02-b.yaml": "B\n"})
    assert found.code == "O802"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
