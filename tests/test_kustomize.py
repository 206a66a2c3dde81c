"""bayplan as kustomize's function, called by the real kustomize and by kubectl: every reference of what is built leads
somewhere, and two overlays live in one namespace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import name_references
from tools.clients import tool
from tools.references import dangling, twice
from tools.run import EXAMPLES, ROOT, environment

PLUGIN = ROOT / "kustomize-plugin"
FLAGS = ("--enable-alpha-plugins", "--enable-exec")
OVERLAYS = ("dev", "prod")
SCRIPT = """\
#!{python}
import sys
sys.path.insert(0, {source!r})
from bayplan.__main__ import krm
krm()
"""


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with bayplan-krm in it, as an installation has it."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "bayplan-krm"
    script.write_text(SCRIPT.format(python=sys.executable, source=str(ROOT / "generator")), encoding="utf-8")
    script.chmod(0o755)
    return folder


def call(programs: Path, *command: str, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    """A program that finds bayplan-krm."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    env = environment({"PATH": path, "HOME": str(programs), **extra})
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", timeout=300, check=False)


def build(programs: Path, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """`kustomize build`."""
    return call(programs, tool("kustomize"), "build", *(flags or FLAGS), ".", cwd=folder)


def objects(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """What a build that must succeed wrote."""
    assert done.returncode == 0, done.stderr
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))


def topologies(built: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The Topologies that the cluster has: those of the topology file, whatever the overlay."""
    named = {str(each["topology"]) for data in built for each in _constraints(data)}
    yield from (("Topology", name) for name in named if not name.startswith(tuple(f"{word}-" for word in OVERLAYS)))


def _constraints(data: Any) -> Iterator[dict[str, Any]]:
    if data["kind"] == "PodGroup":
        spec = data["spec"]
        yield from (p["topologyConstraint"] for p in (spec, *spec.get("subGroups", ())) if "topologyConstraint" in p)


NATIVE = sorted(
    path.parent.name
    for path in EXAMPLES.glob("*/workflow.yaml")
    if "\nkind: Workflow\n" in path.read_text(encoding="utf-8")
)


def kustomization(folder: Path, **keys: Any) -> None:
    """Writes one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(keys), encoding="utf-8")


def function(kind: str, plugin: bool = False, **spec: Any) -> dict[str, Any]:
    """The configuration of a function, or of a plugin of the older kind."""
    exec_ = {"annotations": {"config.kubernetes.io/function": "exec: {path: bayplan-krm}\n"}}
    metadata = {"name": "function", **({} if plugin else exec_)}
    return {"apiVersion": "bayplan.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def overlays(folder: Path, example: str, config: dict[str, Any]) -> list[Path]:
    """A base with an example's workflow, and two overlays that expand it into one namespace."""
    for name in ("workflow.yaml", "topology.yaml"):
        (folder / "base").mkdir(exist_ok=True)
        shutil.copy(EXAMPLES / example / name, folder / "base" / name)
    kustomization(folder / "base", resources=["workflow.yaml"])
    for word in OVERLAYS:
        kustomization(
            folder / word,
            namePrefix=f"{word}-",
            namespace="ml",
            resources=["../base"],
            components=[os.path.relpath(PLUGIN / "references", folder / word)],
            transformers=["function.yaml"],
        )
        (folder / word / "function.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return [folder / word for word in OVERLAYS]


@pytest.mark.parametrize("example", NATIVE)
def test_expanded_twice_in_one_namespace(example: str, programs: Path, tmp_path: Path) -> None:
    folders = overlays(tmp_path, example, function("ExpandWorkflows", topology="../base/topology.yaml"))
    both = [objects(build(programs, folder)) for folder in folders]
    for word, built in zip(OVERLAYS, both, strict=True):
        assert not [each for each in built if each["kind"] == "Workflow"]
        assert {each["metadata"]["namespace"] for each in built} == {"ml"}
        assert all(each["metadata"]["name"].startswith(f"{word}-") for each in built)
        assert dangling(built, topologies(built)) == []
    assert twice(*both) == []


@pytest.mark.parametrize("what", ["expand", "place"])
def test_the_example_of_the_folder(what: str, programs: Path) -> None:
    both = [objects(build(programs, PLUGIN / "example" / what / "overlays" / word)) for word in OVERLAYS]
    for word, built in zip(OVERLAYS, both, strict=True):
        kinds = {each["kind"] for each in built}
        assert kinds == {"ConfigMap", "JobSet", "ComputeDomain", "PodGroup"}
        assert all(each["metadata"]["name"].startswith(f"{word}-") for each in built)
        assert {each["metadata"]["namespace"] for each in built} == {"ml"}
        assert dangling(built, [("Topology", "hall-1")]) == []
    assert twice(*both) == []
    sizes = [[each["spec"]["minMember"] for each in built if each["kind"] == "PodGroup"] for built in both]
    assert sizes == ([[4], [64]] if what == "expand" else [[2], [16]])


@pytest.fixture(scope="session")
def plugins(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of plugins that install-legacy fills."""
    home = tmp_path_factory.mktemp("plugins")
    command = (sys.executable, "-m", "bayplan", "kustomize", "install-legacy", str(home))
    done = call(programs, *command, cwd=programs)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("created ") == 4
    assert call(programs, *command, cwd=programs).stdout == ""
    return home


@pytest.mark.parametrize("what", ["expand", "place"])
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kubectl_builds_the_same_with_plugins(
    what: str, overlay: str, programs: Path, plugins: Path, tmp_path: Path
) -> None:
    kubectl = tool("kubectl")
    expected = objects(build(programs, PLUGIN / "example" / what / "overlays" / overlay))
    shutil.copytree(PLUGIN, tmp_path / "plugin")
    config = tmp_path / "plugin" / "example" / what / "function" / f"{what}.yaml"
    data = yaml.safe_load(config.read_text(encoding="utf-8"))
    del data["metadata"]["annotations"]
    config.write_text(yaml.safe_dump(data), encoding="utf-8")
    folder = tmp_path / "plugin" / "example" / what / "overlays" / overlay
    command = (kubectl, "kustomize", "--enable-alpha-plugins", ".")
    assert objects(call(programs, *command, cwd=folder, KUSTOMIZE_PLUGIN_HOME=str(plugins))) == expected


def test_the_fields_that_hold_names_are_what_the_table_makes() -> None:
    assert name_references.FILE.read_text(encoding="utf-8") == name_references.text()
