"""bayplan in every shape it is installed in, each in an environment of its own and run from a foreign folder: the
packaged schemas, texts and examples are found, and all shapes print the same.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from bayplan.cli.commands import COMMANDS as COMMAND_TABLE
from tools.run import ROOT

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".ci", ".venv", ".*_cache", ".hypothesis", "__pycache__", "build", "dist", "golden", "generated"
)
GENERATED = "generator/bayplan/schemas/generated"
PIP = ["--quiet", "--no-compile", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]

COMMANDS = {
    "version": ["--version"],
    "schema": ["schema", "workflow"],
    "explain": ["explain", "P552"],
    "render": ["render", "{examples}/workflow.yaml", "-t", "{examples}/topology.yaml", "--cluster-objects"],
}
"""What must work everywhere; each needs another kind of packaged data."""


class Installed(NamedTuple):
    """How to call an installed bayplan, and where its package must lie."""

    command: list[str]
    python: list[str]
    package: Path
    env: dict[str, str]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, so that building leaves no trace in it."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("source") / "bayplan", ignore=LEFT_OUT))


def clean() -> dict[str, str]:
    """The environment without paths into the checkout."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PIP_", "VIRTUAL_ENV"))}


def run(command: list[str], cwd: Path, env: dict[str, str] | None = None) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(command, cwd=cwd, env=env or clean(), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def environment(folder: Path) -> Path:
    """A new virtual environment that borrows the dependencies (not bayplan) of this one; its Python."""
    run([sys.executable, "-m", "venv", "--without-pip", str(folder)], ROOT)
    libraries = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    Path(libraries, "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin" / "python"


def install(folder: Path, *what: str) -> Installed:
    """Install into a new environment with pip, as users do, but offline."""
    python = environment(folder)
    run([sys.executable, "-m", "pip", "--python", str(python), "install", *PIP, *what], folder)
    return Installed([str(folder / "bin" / "bayplan")], [str(python)], folder, clean())


@cache
def build(checkout: Path, target: str) -> Path:
    """The one file that hatchling builds."""
    into = checkout.parent / target
    run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)], checkout)
    (built,) = into.iterdir()
    return built


def wheel(checkout: Path, folder: Path) -> Installed:
    """From a wheel."""
    return install(folder / "venv", str(build(checkout, "wheel")))


def sdist(checkout: Path, folder: Path) -> Installed:
    """From a source distribution, built on the way."""
    return install(folder / "venv", str(build(checkout, "sdist")))


def editable(checkout: Path, folder: Path) -> Installed:
    """In place, as developers do."""
    return install(folder / "venv", "-e", str(checkout))._replace(package=checkout)


def bare(checkout: Path, folder: Path) -> Installed:
    """Not installed at all: the checkout on the module path, as it is cloned."""
    shutil.rmtree(checkout / GENERATED, ignore_errors=True)
    env = {**clean(), "PYTHONPATH": str(checkout / "generator")}
    return Installed([sys.executable, "-m", "bayplan"], [sys.executable], checkout, env)


SHAPES: dict[str, Callable[[Path, Path], Installed]] = {
    "wheel": wheel,
    "sdist": sdist,
    "editable": editable,
    "checkout": bare,
}


@pytest.fixture(scope="module", params=sorted(SHAPES))
def installed(request: pytest.FixtureRequest, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """bayplan in one shape."""
    return SHAPES[request.param](checkout, tmp_path_factory.mktemp(request.param))


def test_the_installed_package_is_the_one_that_runs(installed: Installed, tmp_path: Path) -> None:
    where = run([*installed.python, "-c", "import bayplan; print(bayplan.__file__)"], tmp_path, installed.env)
    assert Path(where.strip()).is_relative_to(installed.package)


def test_every_installation_has_the_generated_validators(installed: Installed, tmp_path: Path) -> None:
    code = "from bayplan.schemas import SCHEMAS, _generated; print([_generated(kind) is None for kind in SCHEMAS])"
    missing = set(eval(run([*installed.python, "-c", code], tmp_path, installed.env)))
    assert missing == {installed.python == [sys.executable]}  # a bare checkout runs without


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_shape_prints_the_same(name: str, installed: Installed, tmp_path: Path) -> None:
    arguments = [each.format(examples=ROOT / "examples" / "pretrain") for each in COMMANDS[name]]
    here = {**clean(), "PYTHONPATH": str(ROOT / "generator")}
    expected = run([sys.executable, "-m", "bayplan", *arguments], ROOT, here)
    assert expected
    assert run([*installed.command, *arguments], tmp_path, installed.env) == expected


def test_init_writes_an_example_that_renders(installed: Installed, tmp_path: Path) -> None:
    run([*installed.command, "init", "new"], tmp_path, installed.env)
    arguments = ["render", "new/workflow.yaml", "-t", "new/topology.yaml"]
    assert "kind: PodGroup" in run([*installed.command, *arguments], tmp_path, installed.env)


def test_the_wheel_holds_the_package_and_its_data_only(checkout: Path) -> None:
    with zipfile.ZipFile(build(checkout, "wheel")) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"bayplan"}
    assert {"bayplan/py.typed", "bayplan/_data/schemas/workflow.json"} <= set(names)
    assert [name for name in names if "__pycache__" in name or "/tests/" in name] == []


def test_the_wheel_has_a_man_page_of_all_commands(checkout: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(build(checkout, "wheel")) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".data/data/share/man/man1/bayplan.1"))
        page = archive.read(name).decode("utf-8")
    told = page.replace("\\-", "-").splitlines()
    for command in COMMAND_TABLE:
        start = next(n for n, line in enumerate(told) if re.match(rf'\.SS "bayplan {command.name}[ "]', line))
        assert told[start + 1] == f"{command.summary} {command.description}".rstrip()
        for option in command.options:
            assert any(line.startswith(f"\\fB{option.names[0]}\\fR") for line in told[start:]), option.names
    if shutil.which("groff"):
        assert read_by(["groff", "-man", "-ww", "-Tutf8"], page, tmp_path) == ""
    if shutil.which("mandoc"):
        assert read_by(["mandoc", "-T", "lint", "-W", "error"], page, tmp_path) == ""


def read_by(command: list[str], page: str, folder: Path) -> str:
    """The warnings of a program that formats man pages."""
    (folder / "bayplan.1").write_text(page, encoding="utf-8")
    done = subprocess.run([*command, "bayplan.1"], cwd=folder, capture_output=True, encoding="utf-8", check=False)
    return done.stderr if command[0] == "groff" else done.stdout + done.stderr


def test_the_sdist_holds_what_a_packager_needs(checkout: Path) -> None:
    with tarfile.open(build(checkout, "sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "hatch_build.py",
        "LICENSE",
        "README.md",
        "schemas/workflow.json",
        "tests/conftest.py",
    } <= names
    assert [name for name in names if name.startswith(GENERATED)] == []
