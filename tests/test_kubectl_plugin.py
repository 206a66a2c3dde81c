"""bayplan as a plugin of kubectl: by kubectl itself, and installed by Krew.

Krew is not among the modules that Go downloads by its name, so that CI has no Krew. Build its commands `krew` (as
kubectl-krew) and `validate-krew-manifest` from its sources to run the last test.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bayplan import __version__
from tools.clients import tool
from tools.data import parse
from tools.run import PRETRAIN, ROOT, bayplan

SCRIPTS = ("kubectl-bayplan", "kubectl_complete-bayplan")


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """Variables with a PATH that has the scripts which pip writes for the plugin."""
    for name in SCRIPTS:
        write_program(tmp_path / name)
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}


def write_program(path: Path) -> None:
    """A script that starts this checkout, as those of pip do."""
    start = f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT / 'generator')!r})\n"
    path.write_text(f"{start}from bayplan.__main__ import script\nscript()\n", encoding="utf-8")
    path.chmod(0o755)


def run(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """A command with its output."""
    command = [tool(words[0]), *words[1:]]
    return subprocess.run(command, cwd=PRETRAIN, env=env, capture_output=True, encoding="utf-8", check=False)


def test_the_package_has_both_scripts() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert [name for name in SCRIPTS if f'{name} = "bayplan.__main__:script"' not in text] == []


def test_kubectl_runs_the_plugin(path: dict[str, str]) -> None:
    assert "kubectl-bayplan" in run(path, "kubectl", "plugin", "list").stdout
    assert run(path, "kubectl", "bayplan", "check", "workflow.yaml", "-t", "topology.yaml").returncode == 0
    assert run(path, "kubectl", "bayplan", "check", "none.yaml").returncode == 1
    assert "Usage: kubectl bayplan [OPTIONS] COMMAND" in run(path, "kubectl", "bayplan", "--help").stdout
    assert "Usage: kubectl bayplan render [OPTIONS]" in run(path, "kubectl", "bayplan", "render").stderr
    assert "Usage: bayplan render [OPTIONS]" in bayplan("render").stderr


def test_kubectl_completes_the_plugin(path: dict[str, str]) -> None:
    def completed(*words: str) -> tuple[list[str], str]:
        *lines, directive = run(path, "kubectl", "__complete", *words).stdout.splitlines()
        return lines, directive

    assert "bayplan\tThe command bayplan is a plugin installed by the user" in completed("bay")[0]
    commands, directive = completed("bayplan", "re")
    assert (commands, directive) == (["render\tWrite every manifest of the workflows."], ":4")
    assert completed("bayplan", "render", "-s", "ka") == (["kai"], ":4")
    assert completed("bayplan", "render", "-t", "") == ([], ":0"), "the shell completes files"
    assert completed("bayplan", "plan", "--format", "b") == (["blocks"], ":4")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A folder with two binaries, and what the release makes of them for Krew."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for arch in ("amd64", "arm64"):
        write_program(folder / f"bayplan-linux-{arch}")
    return folder


def make(folder: Path, url: str) -> str:
    """The manifest."""
    subprocess.run([sys.executable, str(ROOT / "packaging/krew/manifest"), str(folder), url], check=True)
    return (folder / "bayplan.yaml").read_text(encoding="utf-8")


def test_the_manifest_names_the_archives(release: Path) -> None:
    url = "https://git.example.com/tools/bayplan/releases/download/v0.1.0"
    text = make(release, url)
    spec = parse(text)["spec"]
    assert (spec["version"], spec["homepage"]) == (f"v{__version__}", "https://git.example.com/tools/bayplan")
    assert [each["selector"]["matchLabels"]["arch"] for each in spec["platforms"]] == ["amd64", "arm64"]
    for each in spec["platforms"]:
        file = release / each["uri"].removeprefix(f"{url}/")
        assert hashlib.sha256(file.read_bytes()).hexdigest() == each["sha256"]
        with tarfile.open(file) as tar:
            assert tar.getnames() == ["bayplan", "LICENSE"]
            assert tar.getmember("bayplan").mode == 0o755
    assert make(release, url) == text, "the same bytes each time"


def test_krew_accepts_and_installs_the_plugin(release: Path, tmp_path: Path) -> None:
    absent = [each for each in ("kubectl-krew", "validate-krew-manifest") if shutil.which(each) is None]
    if absent:
        pytest.skip(f"{' and '.join(absent)} is not installed")
    handler = partial(SimpleHTTPRequestHandler, directory=str(release))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        make(release, f"http://127.0.0.1:{server.server_port}")
        krew = tmp_path / "krew"
        env = {**os.environ, "KREW_ROOT": str(krew), "HOME": str(tmp_path)}
        env["PATH"] = f"{krew / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = run(env, "validate-krew-manifest", "-manifest", str(release / "bayplan.yaml"))
        assert done.returncode == 0, done.stderr
        (krew / "index" / "default").mkdir(parents=True)
        done = run(env, "kubectl", "krew", "install", f"--manifest={release / 'bayplan.yaml'}")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert run(env, "kubectl", "bayplan", "--version").stdout == f"bayplan {__version__}\n"
    assert "Usage: kubectl bayplan [" in run(env, "kubectl", "bayplan", "--help").stdout
