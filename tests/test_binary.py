"""The static binary prints the same bytes as bayplan in Python, for all examples and for failing cases, and needs no
file but itself. `packaging/binary` builds it, and BAYPLAN_BINARY names it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

import test_cases
from bayplan import __version__
from tools import argocd, cases, golden
from tools.clients import tool
from tools.data import parse, parse_all
from tools.effort import LONG
from tools.locks import pins
from tools.run import EXAMPLES, PRETRAIN, RENDER_64, ROOT, environment, rendered

BINARY = os.environ.get("BAYPLAN_BINARY", "")

if not BINARY:
    pytest.skip("BAYPLAN_BINARY names no binary; packaging/binary builds one", allow_module_level=True)

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
    shown = subprocess.run(
        ["readelf", "--wide", "--program-headers", "--dynamic", BINARY], capture_output=True, text=True
    )
    assert "INTERP" not in shown.stdout
    assert "NEEDED" not in shown.stdout


def test_the_list_of_its_components() -> None:
    """packaging/binary writes it, and fails if the linker uses a library that is not in it."""
    text = Path(f"{BINARY}.cdx.json").read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    found = {each["name"]: each for each in json.loads(text)["components"]}
    packages = {pin.name: pin.version for pin in pins("image") if pin.name != "rpds-py"}
    assert {name: each["version"] for name, each in found.items() if each["purl"].startswith("pkg:pypi/")} == packages
    assert {"cpython", "glibc", "libyaml", "zlib", "libgcc", "libmpdec"} == found.keys() - packages.keys()
    assert all(each["licenses"] and each["version"] for each in found.values())
    locked = (ROOT / "packaging" / "debian.txt").read_text(encoding="utf-8")
    for name in ("cpython", "glibc", "libyaml", "zlib"):
        assert f" {found[name]['version']} {found[name]['hashes'][0]['content']}\n" in locked


def test_its_licenses_say_how_to_link_it_again() -> None:
    text = Path(f"{BINARY}.licenses").read_text(encoding="utf-8")
    assert "packaging/binary --deb libc6-dev_VERSION_amd64.deb DIR" in text
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in text
    assert "rpds" not in text


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
def root(tmp_path: Path) -> Path:
    """A root file system that has the binary and the example, and which cannot be written."""
    folder = tmp_path / "root"
    (folder / "work").mkdir(parents=True)
    links(folder)
    for name in ("workflow.yaml", "topology.yaml"):
        shutil.copy(PRETRAIN / name, folder / "work")
    return folder


def alone(root: Path, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """A command in a root file system of its own, read-only, as another user, without /proc."""
    (root / "dev").mkdir(exist_ok=True)
    bubblewrap = tool("bwrap")
    options = ["--unshare-all", "--uid", "65532", "--gid", "65532", "--ro-bind", str(root), "/"]
    options += ["--dev-bind", "/dev", "/dev", "--chdir", "/work"]
    words = [bubblewrap, "--clearenv", *options, *command]
    return subprocess.run(words, input=stdin, capture_output=True, encoding="utf-8", check=False)


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
    kind = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "ExpandWorkflows", "metadata": {"name": "expand"}}
    workflow = parse((PRETRAIN / "workflow.yaml").read_text(encoding="utf-8"))
    config = {**kind, "spec": {"topology": "topology.yaml"}}
    whole = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [workflow]}
    done = alone(root, "/bayplan-krm", stdin=json.dumps({**whole, "functionConfig": config}))
    assert done.returncode == 0, done.stderr
    assert {"JobSet", "PodGroup"} <= {each["kind"] for each in parse(done.stdout)["items"]}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two images of the binary in folders of their own, the first one unpacked as `layout`."""
    folder = tmp_path_factory.mktemp("image")
    for name in ("first", "second"):
        (folder / name).mkdir()
        for suffix in ("", ".licenses"):
            shutil.copy(f"{BINARY}{suffix}", folder / name / f"bayplan-linux-amd64{suffix}")
        command = [sys.executable, str(ROOT / "packaging" / "image"), str(folder / name)]
        subprocess.run(command, check=True, capture_output=True)
    with tarfile.open(folder / "first" / "bayplan-image.tar") as tar:
        tar.extractall(folder / "layout", filter="data")
    return folder


class TestImage:
    def blob(self, files: Path, descriptor: Any) -> bytes:
        """A blob, which must be what its digest says."""
        content = (files / "layout" / "blobs" / "sha256" / descriptor["digest"].removeprefix("sha256:")).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (descriptor["digest"][7:], descriptor["size"])
        return content

    def test_two_builds_are_the_same(self, files: Path) -> None:
        first, second = ((files / name / "bayplan-image.tar").read_bytes() for name in ("first", "second"))
        assert first == second

    def unpack(self, files: Path, folder: Path) -> Any:
        """The layers are the root. Returns the config."""
        (top,) = json.loads((files / "layout" / "index.json").read_text(encoding="utf-8"))["manifests"]
        manifest = json.loads(self.blob(files, top))
        config = json.loads(self.blob(files, manifest["config"]))["config"]
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(self.blob(files, layer))) as tar:
                tar.extractall(folder, filter="tar")
        return config

    def test_its_root_runs_everything(self, files: Path, tmp_path: Path) -> None:
        """Kubernetes and kpt read the user, the folder and the command from the config."""
        config = self.unpack(files, tmp_path)
        assert (config["User"], config["WorkingDir"], config["Cmd"]) == ("65532:65532", "/work", ["krm"])
        for name in ("workflow.yaml", "topology.yaml"):
            shutil.copy(PRETRAIN / name, tmp_path / "work")
        done = alone(
            tmp_path, *config["Entrypoint"], *RENDER_64[:1], "workflow.yaml", "-t", "topology.yaml", "--cluster-objects"
        )
        assert (done.stdout, done.stderr) == (rendered(*RENDER_64), "")

    def test_a_sidecar_of_argo_cd(self, files: Path, tmp_path: Path) -> None:
        """argocd-cmp-server of sidecar.yaml in the root, which it cannot write, as user 999. There is no shell."""
        self.unpack(files, tmp_path / "root")
        repository = tmp_path / "repository"
        (repository / "jobs").mkdir(parents=True)
        (repository / ".git").mkdir()
        shutil.copy(PRETRAIN / "workflow.yaml", repository / "jobs" / "pretrain.workflow.yaml")
        shutil.copy(PRETRAIN / "topology.yaml", repository)
        project = "{apiVersion: bayplan.dev/v1alpha1, kind: Project, spec: {topology: topology.yaml}}"
        (repository / "bayplan.yaml").write_text(project, encoding="utf-8")
        with TemporaryDirectory() as folder:
            places = {"plugins": "home/argocd/cmp-server/plugins", "programs": "var/run/argocd", "tmp": "tmp"}
            for name, place in {**places, "": "dev"}.items():
                Path(folder, name).mkdir(exist_ok=True)
                (tmp_path / "root" / place).mkdir(parents=True, exist_ok=True)
            shutil.copy(argocd.program(), f"{folder}/programs/argocd-cmp-server")
            words = [
                tool("bwrap"),
                "--unshare-all",
                "--die-with-parent",
                "--clearenv",
                "--setenv",
                "PATH",
                "/usr/bin",
                "--uid",
                "999",
            ]
            words += ["--gid", "999", "--ro-bind", str(tmp_path / "root"), "/", "--dev-bind", "/dev", "/dev"]
            for name, place in places.items():
                words += ["--ro-bind" if name == "programs" else "--bind", f"{folder}/{name}", f"/{place}"]
            env = environment({"ARGOCD_PLUGINSOCKFILEPATH": f"{folder}/plugins"})
            with argocd.serving([*words, "/var/run/argocd/argocd-cmp-server"], Path(folder, "plugins"), env):
                made = argocd.manifests(repository, "jobs", {}, env)
                text = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8").replace("replicas: 16", "replicas: 60")
                (repository / "jobs" / "pretrain.workflow.yaml").write_text(text, encoding="utf-8")
                failed = argocd.manifests(repository, "jobs", {}, env)
        hall = str(PRETRAIN / "topology.yaml")
        assert made.error == ""
        assert made.objects == [*parse_all(rendered("render", f"{PRETRAIN}/workflow.yaml", "-t", hall))]
        assert "./pretrain.workflow.yaml:13:29: error[P5" in failed.error

    def test_crane_accepts_it(self, files: Path) -> None:
        command = [tool("crane"), "validate", "--tarball", str(files / "first" / "bayplan-image.tar")]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        assert done.stdout.startswith("PASS"), done.stderr

    def test_kustomize_of_argo_cd(self, tmp_path: Path) -> None:
        """argocd-repo-server starts the program that the init container copied, as kustomize's function."""
        (tmp_path / "bayplan-install").symlink_to(Path(BINARY).resolve())
        (tmp_path / "shared").mkdir()
        binary(str(tmp_path / "shared"), program=str(tmp_path / "bayplan-install"))
        shutil.copytree(ROOT / "kustomize-plugin", tmp_path / "project")
        (tmp_path / "project" / ".git").mkdir()
        (tmp_path / "shared" / "kustomize").symlink_to(tool("kustomize"))
        folder, env = "example/expand/overlays/prod", {"PATH": str(tmp_path / "shared"), "TMPDIR": str(tmp_path)}
        options = {"BuildOptions": "--enable-alpha-plugins --enable-exec"}
        made = argocd.manifests(tmp_path / "project", folder, {}, env, kustomize_options=options)
        assert (made.type, made.error) == ("Kustomize", "")
        assert "ComputeDomain" in {each["kind"] for each in made.objects}

    def test_the_copy_for_another_image(self, tmp_path: Path) -> None:
        """The command of argocd-plugin/repo-server.yaml."""
        (tmp_path / "bayplan-install").symlink_to(Path(BINARY).resolve())
        shared = tmp_path / "shared"
        shared.mkdir()
        assert binary(str(shared), program=str(tmp_path / "bayplan-install")).returncode == 0
        assert sorted(each.name for each in shared.iterdir()) == ["bayplan", "bayplan-krm"]
        assert binary("--version", program=str(shared / "bayplan")).stdout == f"bayplan {__version__}\n"
