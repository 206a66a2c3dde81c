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
from tools.effort import LONG
from tools.run import ROOT

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".ci", ".venv", ".*_cache", ".hypothesis", "__pycache__", "build", "dist", "golden", "generated"
)
GENERATED = "generator/bayplan/schemas/generated"
JUNK = (
    *(
        ".ci/run",
        ".ci/bin/kubectl",
        ".venv/pyvenv.cfg",
        ".mypy_cache/a.json",
        "notes.yaml",
        "job.yaml",
        "build/lib/bayplan/a.py",
    ),
    *("dist/old.whl", "site/index.html", "tests/__pycache__/a.pyc", "generator/bayplan/__pycache__/a.pyc", ".env"),
    *("bayplan.egg-info/PKG-INFO", "tests/.pytest_cache/a", ".hypothesis/unicode_data/a"),
)
"""Files that a used checkout may have."""
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
    """A copy of the checkout, so that building leaves no trace in it, with files of other tools."""
    folder = shutil.copytree(ROOT, tmp_path_factory.mktemp("source") / "bayplan", ignore=LEFT_OUT)
    for name in JUNK:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("", encoding="utf-8")
    return Path(folder)


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


@pytest.fixture(scope="module", params=sorted(SHAPES) if LONG else ["wheel"])
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


def test_the_sdist_holds_all_that_git_tracks_but_the_files_of_ci(checkout: Path) -> None:
    """So it can be built and tested."""
    if not (ROOT / ".git").exists():
        pytest.skip("only git knows what belongs to a checkout")
    tracked = run(["git", "ls-files", "-z"], ROOT).split("\0")[:-1]
    new = run(["git", "ls-files", "-z", "--others", "--exclude-standard"], ROOT).split("\0")[:-1]
    there = {name for name in tracked if (checkout / name).exists()}  # the copy has no golden files
    assert len(there) > 5000
    with tarfile.open(build(checkout, "sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names - there - {*new} == {"PKG-INFO"}
    assert there - names == {".ci/run"}


def test_a_wheel_of_the_sdist_is_the_wheel_of_the_checkout(checkout: Path, tmp_path: Path) -> None:
    subprocess.run(["tar", "-xf", build(checkout, "sdist"), "-C", tmp_path], check=True)
    (unpacked,) = tmp_path.iterdir()
    assert build(unpacked, "wheel").read_bytes() == build(checkout, "wheel").read_bytes()


# The commands of docs/how-to/install.md, unchanged.

PAGE = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
WAYS = re.findall(r"`((?:pip|pipx|uv tool) install [^`]+)`", PAGE)
BINARY, IMAGE = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
BUILT = os.environ.get("BAYPLAN_BINARY", "")
RENDER = ["render", "examples/pretrain/workflow.yaml", "-t", "examples/pretrain/topology.yaml"]


def packages(name: str) -> str:
    """The folder of PIP_FIND_LINKS, if it has this distribution."""
    folder = os.environ.get("PIP_FIND_LINKS", "none")
    if not list(Path(folder).glob(f"{name}-*")):
        pytest.skip(f"PIP_FIND_LINKS names no folder that has {name}")
    return folder


def home(folder: Path, *paths: Path) -> dict[str, str]:
    """The environment of a user whose home is the folder."""
    first = os.pathsep.join(map(str, (*paths, folder / ".local" / "bin", os.environ["PATH"])))
    kept = {key: value for key, value in clean().items() if not key.startswith(("UV_", "PIPX_", "XDG_"))}
    return {**kept, "HOME": str(folder), "PATH": first}


def test_the_page_has_three_programs_that_install() -> None:
    assert [each.split()[0] for each in WAYS] == ["pip", "pipx", "uv"]


@pytest.mark.parametrize("command", WAYS)
def test_a_command_of_the_page_installs_bayplan(command: str, checkout: Path, tmp_path: Path) -> None:
    """Offline: the packages of the build and of bayplan are those of PIP_FIND_LINKS."""
    folder, program = packages("hatchling"), command.split()[0]
    env = home(tmp_path, tmp_path / "venv" / "bin")
    run([sys.executable, "-m", "venv", str(tmp_path / "venv")], tmp_path)
    if not shutil.which(program, path=env["PATH"]):
        pytest.skip(f"{program} is not installed")
    env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    env |= {"UV_NO_INDEX": "1", "UV_FIND_LINKS": folder, "UV_OFFLINE": "1", "UV_PYTHON": sys.executable}
    run(["bash", "-euc", command], checkout, env)
    found = Path(shutil.which("bayplan", path=env["PATH"]) or "")
    assert found.is_relative_to(tmp_path)
    assert run([str(found), *RENDER], ROOT, env) == run([*bare_command(), *RENDER], ROOT)
    assert shutil.which("bayplan-krm", path=str(found.parent))


def bare_command() -> list[str]:
    """bayplan of the checkout."""
    return [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'generator')!r})\n{SCRIPT}"]


SCRIPT = "from bayplan.__main__ import script; script()"


STAND_IN = """\
#!/usr/bin/env python3
import shutil, sys
from pathlib import Path
made = Path(*sys.argv[1:] or ["dist"])
made.mkdir(exist_ok=True)
for end in ("", ".licenses"):
    shutil.copy({!r} + end, made / f"bayplan-linux-amd64{{end}}")
"""


def stand_in(folder: Path, binary: Path) -> None:
    """Replaces packaging/binary by a program that takes a binary which is there."""
    (folder / "packaging" / "binary").write_text(STAND_IN.format(str(binary)), encoding="utf-8")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """What the commands of the binary and of the image need: a checkout in which BAYPLAN_BINARY is the build."""
    if not BUILT:
        pytest.skip("BAYPLAN_BINARY names no binary; packaging/binary builds one")
    folder = tmp_path / "checkout"
    for name in ("packaging", "examples", "argocd-plugin"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("pyproject.toml", "generator/bayplan/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    stand_in(folder, Path(BUILT))
    return folder


def test_the_page_installs_the_binary(program: Path, tmp_path: Path) -> None:
    env = home(tmp_path)
    run(["bash", "-euc", BINARY], program, env)
    assert run(["bash", "-c", 'exec bayplan "$@"', "bash", *RENDER], program, env) == run(
        [*bare_command(), *RENDER], ROOT
    )
    usage = run(["bash", "-c", "exec bayplan-krm --help"], program, env)
    assert usage == run([*bare_command(), "krm", "--help"], ROOT)


def test_the_page_runs_the_image(program: Path, tmp_path: Path) -> None:
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed")
    settings = tmp_path / "storage.conf"
    settings.write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{tmp_path}/images"\nrunroot = "{tmp_path}/run"\n', encoding="utf-8"
    )
    limits = tmp_path / "containers.conf"
    limits.write_text("[containers]\ndefault_ulimits = []\n", encoding="utf-8")
    env = {**home(tmp_path), "CONTAINERS_STORAGE_CONF": str(settings), "CONTAINERS_CONF": str(limits)}
    build, _, use = IMAGE.partition("\n")
    load, _, use = use.partition("\n")
    run(["bash", "-euc", f"{build}\n{load}"], program, env)
    probe = subprocess.run(
        ["bash", "-c", use.partition(" \\\n")[0] + " --version"],
        cwd=program, env=env, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if probe.returncode:
        pytest.skip(f"podman runs no containers here: {probe.stderr.strip().splitlines()[-1]}")
    assert run(["bash", "-euc", use], program, env) == run([*bare_command(), *RENDER], ROOT)
