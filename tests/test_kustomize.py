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
from tools.data import parse
from tools.kustomize import FLAGS, OVERLAYS, PLUGIN, build, call, install, objects
from tools.references import dangling, twice
from tools.run import EXAMPLES


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with bayplan-krm in it."""
    return install(tmp_path_factory.mktemp("bin"))


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
    for table in (EXAMPLES / example).glob("*.csv"):  # the function runs in the folder of the build
        for word in OVERLAYS:
            (folder / word).mkdir(exist_ok=True)
            shutil.copy(table, folder / word)
    for name in ("workflow.yaml", "topology.yaml"):
        (folder / "base").mkdir(exist_ok=True)
        shutil.copy(EXAMPLES / example / name, folder / "base" / name)
    kustomization(folder / "base", resources=["workflow.yaml"])
    (folder / ".git").mkdir()
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


SERVICES = {"chat", "deepseek"}
"""Services that workflows name. kustomize changes the names of objects that bayplan names."""


@pytest.mark.parametrize("example", NATIVE)
def test_expanded_twice_in_one_namespace(example: str, programs: Path, tmp_path: Path) -> None:
    folders = overlays(tmp_path, example, function("ExpandWorkflows", topology="../base/topology.yaml"))
    both = [objects(build(programs, folder)) for folder in folders]
    for word, built in zip(OVERLAYS, both, strict=True):
        assert not [each for each in built if each["kind"] == "Workflow"]
        assert {each["metadata"]["namespace"] for each in built} == {"ml"}
        names = {each["metadata"]["name"] for each in built} - SERVICES
        assert all(name.startswith(f"{word}-") for name in names)
        assert dangling(built, [*topologies(built), ("ServiceAccount", "pod-reader")]) == []
    assert [each for each in twice(*both) if each[-1] not in SERVICES] == []


SLOW = "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 4096); os.set_blocking(1, False)"
FULL = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"


def test_an_output_that_is_full_stops_kustomize(programs: Path, tmp_path: Path) -> None:
    folder = PLUGIN / "example" / "expand" / "overlays" / "dev"
    folders = [tmp_path / "slow", tmp_path / "full"]
    for each, first in zip(folders, (SLOW, FULL), strict=True):
        each.mkdir()
        install(each, first)
    whole, slow, full = (build(each, folder) for each in (programs, *folders))
    assert len(whole.stdout) > 4096
    assert (slow.returncode, slow.stdout) == (0, whole.stdout), slow.stderr
    assert (full.returncode, full.stdout) == (1, "")
    assert "error[O802]" in full.stderr


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
    (tmp_path / ".git").mkdir()
    config = tmp_path / "plugin" / "example" / what / "function" / f"{what}.yaml"
    data = parse(config.read_text(encoding="utf-8"))
    del data["metadata"]["annotations"]
    config.write_text(yaml.safe_dump(data), encoding="utf-8")
    folder = tmp_path / "plugin" / "example" / what / "overlays" / overlay
    command = (kubectl, "kustomize", "--enable-alpha-plugins", ".")
    assert objects(call(programs, *command, cwd=folder, KUSTOMIZE_PLUGIN_HOME=str(plugins))) == expected


def test_the_fields_that_hold_names_are_what_the_table_makes() -> None:
    assert name_references.FILE.read_text(encoding="utf-8") == name_references.text()


def generator(**more: Any) -> str:
    """A Workflow as a generator's configuration."""
    data = parse((EXAMPLES / "bare-pods" / "workflow.yaml").read_text(encoding="utf-8"))
    return yaml.safe_dump({**data, **more})


def generated(folder: Path, workflow: str, **keys: Any) -> Path:
    """A kustomization with a generator, and the references beside."""
    references = os.path.relpath(PLUGIN / "references", folder)
    kustomization(folder, generators=["workflow.yaml"], components=[references], **keys)
    (folder / "workflow.yaml").write_text(workflow, encoding="utf-8")
    shutil.copy(EXAMPLES / "bare-pods" / "topology.yaml", folder / "cluster.yaml")
    return folder


def test_a_generator_and_the_fields_that_follow_its_names(programs: Path, tmp_path: Path) -> None:
    exec_ = {"config.kubernetes.io/function": "exec: {path: bayplan-krm, args: [-t, cluster.yaml]}\n"}
    workflow = generator(metadata={"name": "probe", "annotations": exec_})
    built = objects(build(programs, generated(tmp_path, workflow, namePrefix="dev-", namespace="lab")))
    assert {each["metadata"]["namespace"] for each in built} == {"lab"}
    assert [each for each in built if not each["metadata"]["name"].startswith("dev-")] == []
    lost = dangling(built, topologies(built))
    assert lost
    assert all(" -> host " in each for each in lost), "free text is what no configuration repairs"


def test_kubectl_generates_with_arguments(programs: Path, plugins: Path, tmp_path: Path) -> None:
    folder = generated(tmp_path, generator(argsOneLiner="-t cluster.yaml"))
    command = (tool("kubectl"), "kustomize", "--enable-alpha-plugins", ".")
    built = objects(call(programs, *command, cwd=folder, KUSTOMIZE_PLUGIN_HOME=str(plugins)))
    assert {each["kind"] for each in built} == {"Pod", "PodGroup", "Service", "ComputeDomain"}
    assert dangling(built, topologies(built)) == []


@pytest.mark.parametrize("what", ["expand", "place"])
def test_what_is_around_a_base_that_was_placed(what: str, programs: Path, tmp_path: Path) -> None:
    """Fields follow an outer prefix; the texts that do not are what doctor warns of."""
    inner = os.path.relpath(PLUGIN / "example" / what / "overlays" / "dev", tmp_path)
    kustomization(tmp_path, resources=[inner], namePrefix="our-")
    built = objects(build(programs, tmp_path))
    assert [each for each in built if not each["metadata"]["name"].startswith("our-dev-")] == []
    lost = dangling(built, [("Topology", "hall-1")])
    assert [each for each in lost if " -> host " not in each] == []
    assert bool(lost) == (what == "expand")


VALIDATE = function("ValidateWorkloads", topology="../../../cluster/topology.yaml", strict=True)


def copied(folder: Path) -> Path:
    """The folder of examples, to change it."""
    shutil.copytree(PLUGIN, folder / "plugin")
    (folder / ".git").mkdir()
    return folder / "plugin" / "example" / "expand" / "overlays" / "dev"


def added(folder: Path, **keys: Any) -> None:
    """Changes a kustomization."""
    path = folder / "kustomization.yaml"
    data = parse(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**data, **keys}), encoding="utf-8")


def test_a_validator_lets_a_sound_build_pass_and_stops_another(programs: Path, tmp_path: Path) -> None:
    folder = copied(tmp_path)
    (folder / "validate.yaml").write_text(yaml.safe_dump(VALIDATE), encoding="utf-8")
    added(folder, validators=["validate.yaml"])
    assert len(objects(build(programs, folder))) == 4
    added(folder, transformers=[])
    done = build(programs, folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "../../base/workflow.yaml:2:1: error[A967]" in done.stderr


def test_an_error_is_shown_at_its_place_and_fails_the_build(programs: Path, tmp_path: Path) -> None:
    folder = copied(tmp_path)
    (folder / "size.yaml").write_text(
        "- op: replace\n  path: /spec/gangs/0/groups/0/replicas\n  value: many\n", encoding="utf-8"
    )
    done = build(programs, folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "size.yaml:3:10: error[S" in done.stderr


def test_the_flag_that_is_missing_leaves_a_workflow_that_doctor_finds(programs: Path) -> None:
    folder = PLUGIN / "example" / "expand" / "overlays" / "dev"
    built = objects(build(programs, folder, "--enable-alpha-plugins"))
    assert "Workflow" in {each["kind"] for each in built}
    command = (sys.executable, "-m", "bayplan", "kustomize", "doctor", str(folder), "-v")
    path = f"{programs}{os.pathsep}{Path(tool('kustomize')).parent}"
    done = call(programs, *command, cwd=programs, PATH=path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("info[") == 1
    assert "info[O833]" in done.stdout


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        *((kind, key) for kind in ("ExpandWorkflows", "PlaceWorkloads") for key in ("generators", "validators")),
        *(("ValidateWorkloads", key) for key in ("generators", "transformers")),
    ],
)
def test_a_function_in_the_wrong_list_stops_the_build(kind: str, key: str, programs: Path, tmp_path: Path) -> None:
    """Without the error, kustomize succeeds and leaves the Workflow, or drops all objects."""
    folder = tmp_path / "it"
    shutil.copytree(EXAMPLES / "pretrain", folder)
    kustomization(folder, resources=["workflow.yaml"], **{key: ["function.yaml"]})
    config = function(kind, topology="topology.yaml")
    (folder / "function.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    done = build(programs, folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"function.yaml:2:7: error[A964]: {kind} is listed under `{key}:`" in done.stderr
    assert "error[A964]" in doctor(programs, folder).stdout


def doctor(programs: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The report of doctor, which builds with the real kustomize."""
    path = f"{programs}{os.pathsep}{Path(tool('kustomize')).parent}{os.pathsep}{os.environ['PATH']}"
    return call(programs, sys.executable, "-m", "bayplan", "kustomize", "doctor", ".", cwd=folder, PATH=path)


@pytest.mark.parametrize("key", ["resources", "components"])
@pytest.mark.parametrize("remote", [False, True], ids=["here", "remote"])
def test_functions_of_bases_and_components(key: str, remote: bool, programs: Path, tmp_path: Path) -> None:
    """doctor agrees with kustomize: a Component expands the Workflow of the kustomization that lists it."""
    folder = tmp_path / "other" / "shared"
    shutil.copytree(EXAMPLES / "pretrain", folder)
    component = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"} if key == "components" else {}
    kustomization(
        folder, transformers=["function.yaml"], **component, **({} if component else {"resources": ["workflow.yaml"]})
    )
    config = function("ExpandWorkflows", topology="topology.yaml")
    (folder / "function.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    git = (tool("git"), "-C", str(tmp_path / "other"), "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *words], check=True)
    entry = f"file://{tmp_path}/other//shared?ref=main" if remote else "../other/shared"
    listed = {"resources": ["workflow.yaml"], "components": [entry]} if component else {"resources": [entry]}
    top = tmp_path / "top"
    kustomization(top, **listed)
    shutil.copy(EXAMPLES / "pretrain" / "workflow.yaml", top)
    assert {each["kind"] for each in objects(build(programs, top))} == {"JobSet", "ComputeDomain", "PodGroup"}
    done = doctor(programs, top)
    assert done.returncode == 0, done.stdout
    assert ("warning[O831]: a remote folder has functions" in done.stdout) is remote


def test_the_references_of_the_command(programs: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "bayplan", "kustomize", "references")
    done = call(programs, *command, cwd=tmp_path)
    assert (done.returncode, done.stdout.count("created references/")) == (0, 3), done.stderr
    assert all(
        each.read_bytes() == (PLUGIN / "references" / each.name).read_bytes()
        for each in (tmp_path / "references").iterdir()
    )
    shutil.copy(PLUGIN / "example" / "place" / "base" / "jobset.yaml", tmp_path)
    kustomization(tmp_path, resources=["jobset.yaml"], components=["references"])
    assert len(objects(build(programs, tmp_path))) == 1
    assert call(programs, *command, cwd=tmp_path).stdout == ""
    (tmp_path / "references" / "names.yaml").write_text("mine\n", encoding="utf-8")
    done = call(programs, *command, cwd=tmp_path)
    assert (done.returncode, "error[O804]" in done.stderr) == (1, True)


def test_fn_run_keeps_the_results(programs: Path, tmp_path: Path) -> None:
    """`kustomize fn run` works on the files themselves, and writes `results` where it is told to."""
    folder, kept = tmp_path / "work", tmp_path / "results"
    kept.mkdir()
    shutil.copytree(EXAMPLES / "pretrain", folder)
    config = function("ExpandWorkflows", topology="topology.yaml")
    (folder / "function.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    sound = (folder / "workflow.yaml").read_text(encoding="utf-8")
    (folder / "workflow.yaml").write_text(sound.replace("required: rack", "required: rock"), encoding="utf-8")
    command = (tool("kustomize"), "fn", "run", ".", "--enable-exec", "--results-dir", str(kept))
    assert call(programs, *command, cwd=folder).returncode == 1
    (result,) = parse((kept / "results-0.yaml").read_text(encoding="utf-8"))
    assert result["severity"] == "error"
    assert (result["file"], result["tags"]["line"]) == ({"path": "workflow.yaml"}, "13")
    (folder / "workflow.yaml").write_text(sound, encoding="utf-8")
    assert call(programs, *command, cwd=folder).returncode == 0
    assert not (folder / "workflow.yaml").exists()
    assert len(list((folder / "ml").glob("computedomain_*.yaml"))) == 4


CHART = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-train
  annotations: {bayplan.dev/placement: required=rack, bayplan.dev/queue: research}
spec: &spec
  parallelism: {{ .Values.pods }}
  completions: {{ .Values.pods }}
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: train, image: a, resources: {limits: {nvidia.com/gpu: 4}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-test
  annotations: {helm.sh/hook: test}
spec: *spec
"""


def test_a_chart_in_a_kustomization_is_placed(programs: Path, tmp_path: Path) -> None:
    chart = tmp_path / "charts" / "job"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: job\nversion: 0.1.0\n", encoding="utf-8")
    (chart / "values.yaml").write_text("pods: 2\n", encoding="utf-8")
    first, second = CHART.replace("&spec", "").split("---\n")
    (chart / "templates" / "job.yaml").write_text(first, encoding="utf-8")
    (chart / "templates" / "test.yaml").write_text(
        second.replace(" *spec", first.partition("spec:")[2]), encoding="utf-8"
    )
    shutil.copy(EXAMPLES / "pretrain" / "topology.yaml", tmp_path / "topology.yaml")
    config = function("PlaceWorkloads", topology="topology.yaml")
    (tmp_path / "function.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    charts = [{"name": "job", "releaseName": "run", "valuesInline": {"pods": 8}}]
    kustomization(tmp_path, helmCharts=charts, namespace="ml", namePrefix="dev-", transformers=["function.yaml"])
    done = build(programs, tmp_path, *FLAGS, "--enable-helm", "--helm-command", tool("helm3"))
    built = {(each["kind"], each["metadata"]["name"]): each for each in objects(done)}
    assert built[
        "PodGroup", built["Job", "dev-run-train"]["spec"]["template"]["metadata"]["annotations"]["pod-group-name"]
    ]
    assert "metadata" not in built["Job", "dev-run-test"]["spec"]["template"]
    assert dangling(built.values(), [("Topology", "hall-1")]) == []
