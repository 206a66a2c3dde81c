"""What argocd-plugin/ and the how-to pages give to other tools: the plugin's command as Argo CD runs it, folders of
manifests as Flux builds them, and the commands of the CI job.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from bayplan.__main__ import GIVEN
from bayplan.cli.run import run
from tools import argocd
from tools.charts import FOUR_PODS
from tools.clients import output, tool
from tools.data import parse, parse_all
from tools.docs import prepare
from tools.run import EXAMPLES, PRETRAIN, ROOT, bayplan, rendered

ARGOCD = ROOT / "argocd-plugin"
CONFIG = parse((ARGOCD / "plugin.yaml").read_text(encoding="utf-8"))
CHARTS = parse((ARGOCD / "helm-plugin.yaml").read_text(encoding="utf-8"))
SPEC = {
    "version": str,
    "init": {"command": list, "args": list},
    "generate": {"command": list, "args": list},
    "discover": {"fileName": str, "find": {"command": list, "args": list, "glob": str}},
    "parameters": {"static": list, "dynamic": {"command": list, "args": list}},
    "preserveFileMode": bool,
    "provideGitCreds": bool,
}
"""The keys of a plugin (Argo CD 3.5, cmpserver/plugin/config.go)."""


def blocks(page: str, language: str = "yaml") -> list[str]:
    """The code blocks of a how-to page."""
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(each) for each in found]


def fits(value: Any, shape: Any) -> bool:
    """Whether a value has no other keys and types than the shape."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(key in shape and fits(value[key], shape[key]) for key in value)
    return isinstance(value, shape)


def launch(config: Any, application: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """The commands, as Argo CD runs them (3.5, cmpserver/plugin/plugin.go, `runCommand`)."""
    env = {
        "PATH": f"{application.parents[2] / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "generator"),
        "ARGOCD_APP_NAME": "training",
        "ARGOCD_APP_NAMESPACE": "elsewhere",
        "KUBE_VERSION": "1.34.1",
        "KUBE_API_VERSIONS": "v1,batch/v1,example.com/v1/Thing",
        **{f"ARGOCD_ENV_{key}": value for key, value in given.items()},
    }
    for key in ("init", "generate"):
        command = config["spec"].get(key, {"command": ["true"], "args": []})
        words = [*command["command"], *command.get("args", ())]
        done = subprocess.run(words, cwd=application, env=env, capture_output=True, encoding="utf-8", check=False)
        if done.returncode:
            break
    return done


@pytest.fixture
def application(tmp_path: Path) -> Path:
    """The folder of an application, in a repository whose project file lies above."""
    folder = tmp_path / "work" / "team" / "jobs"
    prepare(tmp_path)
    folder.mkdir(parents=True)
    (folder.parent / "bayplan.yaml").write_text(
        "apiVersion: bayplan.dev/v1alpha1\nkind: Project\nspec: {topology: hall.yaml, policy: policy.yaml}\n"
    )
    rule = "{match: {name: by-policy}, gang: {placement: {required: rack}}}"
    policy = f"apiVersion: bayplan.dev/v1alpha1\nkind: Policy\nspec: {{rules: [{rule}]}}\n"
    (folder.parent / "policy.yaml").write_text(policy)
    shutil.copy(PRETRAIN / "topology.yaml", folder.parent / "hall.yaml")
    return folder


@pytest.mark.parametrize("config", [CONFIG, CHARTS], ids=lambda config: config["metadata"]["name"])
def test_it_is_a_plugin(config: Any) -> None:
    assert (config["apiVersion"], config["kind"]) == ("argoproj.io/v1alpha1", "ConfigManagementPlugin")
    assert set(config["metadata"]) == {"name"}
    assert fits(config["spec"], SPEC)


class TestPlugin:
    @pytest.fixture
    def application(self, application: Path) -> Path:
        """With a workflow."""
        shutil.copy(PRETRAIN / "workflow.yaml", application / "pretrain.workflow.yaml")
        return application

    def generate(self, application: Path, **given: str) -> subprocess.CompletedProcess[str]:
        """The command of plugin.yaml."""
        return launch(CONFIG, application, **given)

    def test_it_prints_what_render_writes(self, application: Path) -> None:
        done = self.generate(application)
        assert (done.returncode, done.stderr) == (0, "")
        hall = PRETRAIN / "topology.yaml"
        assert done.stdout == rendered("render", f"{PRETRAIN}/workflow.yaml", "-t", f"{hall}")

    def test_a_file_is_not_an_option(self, application: Path) -> None:
        (application / "pretrain.workflow.yaml").rename(application / "-oX.workflow.yaml")
        done = self.generate(application)
        assert (done.returncode, done.stderr) == (0, "")
        assert "kind: JobSet" in done.stdout
        assert [each.name for each in application.iterdir()] == ["-oX.workflow.yaml"]

    def test_the_application_chooses(self, application: Path) -> None:
        (application / "other.yaml").write_text((PRETRAIN / "topology.yaml").read_text().replace("hall-1", "hall-2"))
        done = self.generate(application, SCHEDULER="kueue", NAMESPACE="lab", TOPOLOGY="other.yaml")
        assert done.returncode == 0, done.stderr
        objects = list(parse_all(done.stdout))
        assert {each["metadata"].get("namespace") for each in objects} == {"lab"}
        assert "kueue.x-k8s.io/queue-name" in objects[-1]["metadata"]["labels"]
        assert "SCHEDULER" in (ARGOCD / "application.yaml").read_text()

    @pytest.mark.parametrize("hostile", ["kai; touch hacked", "$(touch hacked)", "`touch hacked`", "' touch hacked '"])
    def test_nothing_in_a_variable_is_run(self, hostile: str, application: Path) -> None:
        done = self.generate(application, SCHEDULER=hostile)
        assert done.returncode == 2
        assert not (application / "hacked").exists()

    def test_an_error_shows_and_prints_nothing(self, application: Path) -> None:
        path = application / "pretrain.workflow.yaml"
        path.write_text(path.read_text().replace("replicas: 16", "replicas: 60"))
        done = self.generate(application)
        assert (done.returncode, done.stdout) == (1, "")
        assert "pretrain.workflow.yaml:13:29: error[P5" in done.stderr

    def test_an_empty_folder_is_an_error(self, application: Path) -> None:
        (application / "pretrain.workflow.yaml").unlink()
        done = self.generate(application)
        assert (done.returncode, done.stdout) == (1, "")

    def test_what_it_is_for(self) -> None:
        pattern = CONFIG["spec"]["discover"]["fileName"].removeprefix("./")
        assert fnmatch.fnmatch("pretrain.workflow.yaml", pattern)
        assert not fnmatch.fnmatch("values.yaml", pattern)

    def test_the_application_sets_what_the_command_reads(self) -> None:
        (application,) = parse_all((ARGOCD / "application.yaml").read_text())
        plugin = application["spec"]["source"]["plugin"]
        assert plugin["name"] == CONFIG["metadata"]["name"]
        assert {each["name"] for each in plugin["env"]} <= {*GIVEN}

    def test_the_sidecar_has_what_its_image_and_argo_cd_want(self) -> None:
        pod = parse((ARGOCD / "sidecar.yaml").read_text())["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["command"] == ["/var/run/argocd/argocd-cmp-server"]
        mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        assert set(mounted) - {"var-files", "plugins"} == {each["name"] for each in pod["volumes"]}
        assert set(mounted.values()) == {"/var/run/argocd", "/home/argocd/cmp-server/plugins", "/tmp"}
        image = (ARGOCD / "Dockerfile").read_text()
        assert f"USER {container['securityContext']['runAsUser']}\n" in image
        copied = re.findall(r"^COPY (\S+) (\S+)$", image, re.MULTILINE)
        assert all((ROOT / source).exists() for source, _ in copied)
        assert copied[-1] == ("argocd-plugin/plugin.yaml", "/home/argocd/cmp-server/config/plugin.yaml")


class TestArgoCD:
    """Argo CD's own code runs the plugins and kustomize. bayplan.yaml is above the application."""

    @pytest.fixture
    def env(self, application: Path) -> Iterator[dict[str, str]]:
        """The environment of Argo CD: its plugins' folder, which has a short path, and a temporary folder."""
        bin = application.parents[2] / "bin"
        with TemporaryDirectory() as folder:
            (Path(folder) / "argocd-cmp-server").symlink_to(argocd.program())
            for each in ("plugins", "tmp", "config"):
                (Path(folder) / each).mkdir()
            path = f"{bin}{os.pathsep}{os.environ['PATH']}"
            places = {"ARGOCD_PLUGINSOCKFILEPATH": f"{folder}/plugins", "TMPDIR": f"{folder}/tmp"}
            yield {"PATH": path, "PYTHONPATH": str(ROOT / "generator"), **places}

    @contextmanager
    def plugin(self, config: Path, env: Mapping[str, str]) -> Iterator[None]:
        """The sidecar of a plugin."""
        folder = Path(env["TMPDIR"]).parent
        shutil.copy(config, folder / "config" / "plugin.yaml")
        command = [f"{folder}/argocd-cmp-server", "--config-dir-path", f"{folder}/config"]
        with argocd.serving(command, folder / "plugins", env):
            yield

    def test_it_finds_the_plugin_and_gets_what_render_writes(self, application: Path, env: dict[str, str]) -> None:
        shutil.copy(PRETRAIN / "workflow.yaml", application / "pretrain.workflow.yaml")
        hall = f"{PRETRAIN}/topology.yaml"
        with self.plugin(ARGOCD / "plugin.yaml", env):
            made = argocd.manifests(application.parents[1], "team/jobs", {}, env)
            chosen = {
                "plugin": {"env": [{"name": "SCHEDULER", "value": "kueue"}, {"name": "NAMESPACE", "value": "lab"}]}
            }
            other = argocd.manifests(application.parents[1], "team/jobs", chosen, env)
        assert (made.type, made.error) == ("Plugin", "")
        assert made.objects == [*parse_all(rendered("render", f"{PRETRAIN}/workflow.yaml", "-t", hall))]
        words = ("-s", "kueue", "-n", "lab")
        assert other.objects == [*parse_all(rendered("render", f"{PRETRAIN}/workflow.yaml", "-t", hall, *words))]

    def test_it_shows_an_error_of_bayplan(self, application: Path, env: dict[str, str]) -> None:
        text = (PRETRAIN / "workflow.yaml").read_text().replace("replicas: 16", "replicas: 60")
        (application / "pretrain.workflow.yaml").write_text(text)
        outside = {"plugin": {"env": [{"name": "TOPOLOGY", "value": "/etc/hostname"}]}}
        with self.plugin(ARGOCD / "plugin.yaml", env):
            made = argocd.manifests(application.parents[1], "team/jobs", {}, env)
            stranger = argocd.manifests(application.parents[1], "team/jobs", outside, env)
        assert made.objects == stranger.objects == []
        assert "`bayplan-argocd` failed exit status 1: ./pretrain.workflow.yaml:13:29: error[P5" in made.error
        assert "if you trust the file, pass --trust /etc/hostname" in stranger.error

    @pytest.mark.parametrize("helm", ["helm3", "helm4"])
    def test_charts(self, application: Path, helm: str, env: dict[str, str]) -> None:
        (application.parents[2] / "bin" / "helm").symlink_to(tool(helm))
        (application / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 0.1.0\nkubeVersion: '1.34.1'\n")
        (application / "values.yaml").write_text("name: by-policy\n")
        (application / "templates").mkdir()
        (application / "templates" / "job.yaml").write_text(JOB)
        with self.plugin(ARGOCD / "helm-plugin.yaml", env):
            made = argocd.manifests(application.parents[1], "team/jobs", {"plugin": {"name": "bayplan-helm"}}, env)
        assert made.error == ""
        assert {each["kind"] for each in made.objects} == {"ComputeDomain", "Job", "PodGroup"}

    def test_kustomize(self, application: Path, env: dict[str, str]) -> None:
        """The options of the ConfigMap in the how-to page, and none."""
        root = shutil.copytree(ROOT / "kustomize-plugin", application.parents[2] / "project")
        (root / ".git").mkdir()
        (config,) = (
            each for each in map(yaml.safe_load, blocks("render-in-argo-cd.md")) if each["kind"] == "ConfigMap"
        )
        options = config["data"]["kustomize.buildOptions"]
        for path in ("example/expand/overlays/prod", "example/place/overlays/prod"):
            made = argocd.manifests(root, path, {}, env, kustomize_options={"BuildOptions": options})
            assert (made.type, made.error) == ("Kustomize", "")
            words = [tool("kustomize"), "build", *options.split(), str(root / path)]
            built = subprocess.run(words, env=env, capture_output=True, encoding="utf-8", check=True).stdout
            assert made.objects == [*parse_all(built)]
            assert argocd.manifests(root, path, {}, env).objects == []


def test_the_patch_of_the_repo_server(tmp_path: Path) -> None:
    """kubectl applies it, and every volume that a container mounts exists."""
    server = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "argocd-repo-server"},
        "spec": {"template": {"spec": {"containers": [{"name": "argocd-repo-server", "image": "argocd"}]}}},
    }
    (tmp_path / "server.yaml").write_text(json.dumps(server))
    shutil.copy(ARGOCD / "repo-server.yaml", tmp_path)
    (tmp_path / "kustomization.yaml").write_text("resources: [server.yaml]\npatches: [{path: repo-server.yaml}]\n")
    built = parse(output(tool("kubectl"), "kustomize", ".", cwd=tmp_path))["spec"]["template"]["spec"]
    (container,), (first,) = built["containers"], built["initContainers"]
    assert container["image"] == "argocd"
    mounts = [each for one in (container, first) for each in one["volumeMounts"]]
    assert {each["name"] for each in mounts} == {each["name"] for each in built["volumes"]}
    assert {each.get("subPath") for each in container["volumeMounts"]} == {"bayplan", "bayplan-krm"}
    assert first["command"] == ["bayplan-install", "/shared"]


JOB = (
    """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Values.name }}
  namespace: {{ .Release.Namespace }}
"""
    + FOUR_PODS
)


@pytest.mark.parametrize("helm", ["helm3", "helm4"])
class TestChartsPlugin:
    @pytest.fixture
    def application(self, application: Path, helm: str) -> Path:
        """With a chart, and that Helm as `helm`."""
        (application.parents[2] / "bin" / "helm").symlink_to(tool(helm))
        (application / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 0.1.0\n")
        (application / "values.yaml").write_text("name: foreign\n")
        (application / "mine.yaml").write_text("name: by-policy\n")
        (application / "templates").mkdir()
        (application / "templates" / "job.yaml").write_text(JOB)
        return application

    def test_a_chart_that_nobody_asks_for_passes(self, application: Path) -> None:
        done = launch(CHARTS, application, TOPOLOGY="../hall.yaml")
        assert done.returncode == 0, done.stderr
        assert [each["kind"] for each in parse_all(done.stdout)] == ["Job"]

    def test_the_projects_policy_places(self, application: Path) -> None:
        done = launch(CHARTS, application, VALUES="mine.yaml")
        assert done.returncode == 0, done.stderr
        objects = [*parse_all(done.stdout)]
        assert {each["kind"] for each in objects} == {"ComputeDomain", "Job", "PodGroup"}
        assert {each["metadata"].get("namespace") for each in objects} == {"elsewhere"}

    def test_a_shared_policy_passes_a_strict_sync(self, application: Path) -> None:
        """Its rules may match nothing in this chart, because bayplan.yaml names the policy for all charts."""
        done = launch(CHARTS, application, STRICT="1")
        assert (done.returncode, done.stderr) == (0, "1 info hidden; -v shows it\n")
        assert [each["kind"] for each in parse_all(done.stdout)] == ["Job"]

    def test_a_chart_that_fails_is_no_empty_one(self, application: Path) -> None:
        (application / "templates" / "job.yaml").write_text("{{ fail `no` }}")
        done = launch(CHARTS, application, TOPOLOGY="../hall.yaml")
        assert done.returncode != 0
        assert done.stdout == ""

    def test_helm_gets_the_cluster_and_the_dependencies(self, application: Path) -> None:
        part = application.parent / "part"
        part.mkdir()
        (part / "Chart.yaml").write_text("apiVersion: v2\nname: part\nversion: 0.1.0\nkubeVersion: '1.34.1'\n")
        (part / "templates").mkdir()
        (part / "templates" / "it.yaml").write_text(
            "{{ if .Capabilities.APIVersions.Has `example.com/v1/Thing` }}\n"
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Capabilities.KubeVersion }}}}\n{{ end }}"
        )
        with (application / "Chart.yaml").open("a") as file:
            file.write("dependencies: [{name: part, version: 0.1.0, repository: 'file://../part'}]\n")
        for _ in range(2):
            done = launch(CHARTS, application, TOPOLOGY="../hall.yaml")
            assert done.returncode == 0, done.stderr
            names = {each["metadata"]["name"] for each in parse_all(done.stdout)}
            assert "v1.34.1" in names

    def test_the_sidecar_is_that_of_the_other(self, application: Path) -> None:
        read = set(re.findall(r"ARGOCD_ENV_([A-Z]+)", CHARTS["spec"]["generate"]["args"][-1]))
        assert read == {"VALUES", "TOPOLOGY", "POLICY", "SCHEDULER", "STRICT"}


def identity(data: Any) -> tuple[str, ...]:
    """What makes an object itself."""
    return data["apiVersion"], data["kind"], data["metadata"].get("namespace", ""), data["metadata"]["name"]


def test_folders_of_manifests_are_what_flux_builds(tmp_path: Path) -> None:
    """Flux lists every YAML file below the path in a kustomization, and builds that."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    project = tmp_path / "examples" / "project"
    assert bayplan("generate", str(project)).returncode == 1
    for name in ("manifests", "cluster"):
        path = project / name
        files = sorted(path.rglob("*.yaml"))
        output(tool("kustomize"), "create", "--autodetect", "--recursive", cwd=path)
        built = [*parse_all(output(tool("kustomize"), "build", ".", cwd=path))]
        made = [parse(each.read_text()) for each in files]
        assert sorted(built, key=identity) == sorted(made, key=identity)
    assert run(["generate", str(project)]) == 0, "a kustomization.yaml beside them stays"
    assert (path / "kustomization.yaml").exists()


def test_flux_substitutes_nothing_in_manifests_with_the_label(tmp_path: Path) -> None:
    """Flux skips objects with this label (fluxcd/pkg, kustomize/kustomize_varsub.go, `SubstituteVariables`)."""
    (label,) = (each for each in blocks("sync-with-flux.md") if "substitute" in each)
    work = EXAMPLES / "torchx-macvlan"
    app = work / "app.json"
    manifests = rendered("render", str(app), "-t", str(work / "topology.yaml"))
    assert "${TORCHX_RANK0_HOST:=localhost}" in manifests
    (tmp_path / "job.yaml").write_text(manifests)
    (tmp_path / "kustomization.yaml").write_text("resources: [job.yaml]\n" + label)
    built = [*parse_all(output(tool("kustomize"), "build", ".", cwd=tmp_path))]
    for each in built:
        assert each["metadata"]["labels"].pop("kustomize.toolkit.fluxcd.io/substitute") == "disabled"
        if not each["metadata"]["labels"]:
            del each["metadata"]["labels"]
    assert sorted(built, key=identity) == sorted(parse_all(manifests), key=identity)


def test_the_configuration_of_pre_commit(tmp_path: Path) -> None:
    config = blocks("install-pre-commit-hooks.md")[0]
    (tmp_path / "config.yaml").write_text(config)
    words = [sys.executable, "-m", "pre_commit", "validate-config", str(tmp_path / "config.yaml")]
    env = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path)}
    assert subprocess.run(words, env=env, check=False).returncode == 0
    there = {each["id"] for each in parse((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert {each["id"] for each in parse(config)["repos"][0]["hooks"]} == there


@pytest.mark.parametrize("page", ["render-in-argo-cd.md", "sync-with-argo-cd.md", "sync-with-flux.md"])
def test_every_block_is_yaml(page: str) -> None:
    for block in blocks(page):
        assert all(isinstance(each, dict) for each in parse_all(block))
