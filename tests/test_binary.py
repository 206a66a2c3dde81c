"""The static binary prints the same bytes as bayplan in Python, for all examples and for failing cases, and needs no
file but itself. `packaging/binary` builds it, and BAYPLAN_BINARY names it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import test_cases
from bayplan import __version__
from tools import cases, golden
from tools.clients import tool
from tools.effort import LONG
from tools.run import EXAMPLES, PRETRAIN, ROOT, RENDER_64, environment, rendered

BINARY = os.environ.get("BAYPLAN_BINARY", "")

pytestmark = pytest.mark.skipif(not BINARY, reason="BAYPLAN_BINARY names no binary; packaging/binary builds one")

NAMES = cases.NAMES if LONG else cases.NAMES[::8]
NEWEST = [case for case in golden.cases() if LONG or case.version == golden.VERSIONS[case.backend][-1]]


def binary(
    *arguments: str, cwd: Path = ROOT, env: Mapping[str, str] = {}, stdin: str = "", program: str = BINARY
) -> subprocess.CompletedProcess[str]:
    """`bayplan ARGUMENTS`, with the binary."""
    given = stdin.encode("utf-8", "surrogateescape")
    done = subprocess.run([program, *arguments], cwd=cwd, env=environment(env), input=given, capture_output=True)
    return subprocess.CompletedProcess(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(autouse=True)
def _judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools of goldens and cases run the binary."""
    monkeypatch.setattr(golden, "bayplan", binary)
    monkeypatch.setattr(cases, "bayplan", binary)


@pytest.mark.parametrize("case", NEWEST, ids=str)
def test_examples(case: golden.Case) -> None:
    assert golden.render(case) == case.path.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", NAMES)
def test_cases_(case: str) -> None:
    expected = (test_cases.GOLDEN / f"{case}.txt").read_text(encoding="utf-8")
    assert cases.report(case, cases.run(case)) == expected


def links(folder: Path) -> Path:
    """A folder with the binary under both of its names."""
    shutil.copy(BINARY, folder / "bayplan")
    (folder / "bayplan-krm").symlink_to("bayplan")
    return folder


def test_it_needs_no_library_and_no_interpreter() -> None:
    shown = subprocess.run(["readelf", "--wide", "--program-headers", "--dynamic", BINARY], capture_output=True, text=True)
    assert "INTERP" not in shown.stdout
    assert "NEEDED" not in shown.stdout


def test_the_version_is_that_of_the_checkout() -> None:
    assert binary("--version").stdout == f"bayplan {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["explain", "P552"], ["schema", "workflow"], ["completion", "bash"], ["--help"], ["render", "--help"]]
)
def test_data_files(arguments: list[str]) -> None:
    assert binary(*arguments).stdout == rendered(*arguments)


def test_variables_of_python_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    env = {"PYTHONPATH": str(tmp_path), "PYTHONHOME": str(tmp_path), "PYTHONIOENCODING": "utf-16", "LC_ALL": "POSIX"}
    done = binary(*RENDER_64, cwd=tmp_path, env=env)
    assert (done.stdout, done.stderr) == (rendered(*RENDER_64), "")


def test_a_function_of_kustomize(tmp_path: Path) -> None:
    """kustomize runs the binary under its name bayplan-krm."""
    folder, path = links(tmp_path), os.environ["PATH"]
    project = shutil.copytree(ROOT / "kustomize-plugin", tmp_path / "project")
    (project / ".git").mkdir()
    command = [tool("kustomize"), "build", "--enable-alpha-plugins", "--enable-exec"]
    built = []
    for first in (folder, Path(sys.executable).parent):
        env = environment({"PATH": f"{first}:{path}"})
        done = subprocess.run(
            [*command, str(project / "example/expand/overlays/prod")], env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        built.append(done.stdout)
    assert built[0] == built[1]


def test_legacy_plugins_run_the_binary(tmp_path: Path) -> None:
    shutil.copy(BINARY, tmp_path / "bayplan")
    env = {"KUSTOMIZE_PLUGIN_HOME": str(tmp_path / "plugins")}
    done = binary("kustomize", "install-legacy", env=env, program=str(tmp_path / "bayplan"))
    assert done.returncode == 0, done.stderr
    scripts = [path.read_text(encoding="utf-8") for path in (tmp_path / "plugins").rglob("*") if path.is_file()]
    assert scripts
    assert all(f"{tmp_path}/bayplan krm" in each for each in scripts)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A root file system that has the binary and the example, and which cannot be written."""
    folder = tmp_path / "root"
    (folder / "work").mkdir(parents=True)
    links(folder)
    for name in ("workflow.yaml", "topology.yaml"):
        shutil.copy(PRETRAIN / name, folder / "work")
    yield folder


def alone(root: Path, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """A command in a root file system of its own, read-only, as another user, without /proc and /tmp."""
    bubblewrap = tool("bwrap")
    options = ["--unshare-all", "--uid", "65532", "--gid", "65532", "--ro-bind", str(root), "/"]
    options += ["--chdir", "/work"]
    done = subprocess.run(
        [bubblewrap, "--clearenv", *options, *command], input=stdin, capture_output=True, encoding="utf-8", check=False
    )
    return done


def test_an_empty_root(root: Path) -> None:
    done = alone(root, "/bayplan", "render", "workflow.yaml", "-t", "topology.yaml", "--cluster-objects")
    assert (done.stdout, done.stderr) == (rendered(*RENDER_64), "")


def test_the_sandbox_in_an_empty_root(root: Path) -> None:
    """OSMO's templates run in a child process, which is the binary again."""
    source = EXAMPLES / "osmo-one-rack"
    for name in ("osmo.yaml", "topology.yaml"):
        shutil.copy(source / name, root / "work")
    done = alone(root, "/bayplan", "render", "osmo.yaml", "-t", "topology.yaml")
    assert done.stdout == rendered("render", "osmo.yaml", "-t", "topology.yaml", cwd=source)


def test_a_function_in_an_empty_root(root: Path) -> None:
    items = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []}
    done = alone(root, "/bayplan-krm", stdin=json.dumps(items))
    assert done.returncode == 0, done.stderr
    assert "kind: ResourceList" in done.stdout
