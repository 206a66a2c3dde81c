"""Helm 3 and Helm 4 run the post-renderer on charts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.text.emit import emit
from support import TOPOLOGY
from tools.charts import FOUR_PODS
from tools.clients import tool
from tools.run import environment

COVERS = {"O804", "O821"}

HELMS = ["helm3", "helm4"]

JOB = (
    """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}   # the release
  annotations:
    bayplan.dev/placement: {{ .Values.placement | default "required=rack" }}
"""
    + FOUR_PODS
)

OTHERS = """\
# A comment before
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data:
  script: |
    ---
    kind: Job
---
# only a comment
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: one}}
"""

HOOK = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: hook
  annotations: {helm.sh/hook: pre-install}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}
"""


class Charts:
    """A chart, a topology, and a `bayplan` on the PATH."""

    def __init__(self, folder: Path, helm: str) -> None:
        self.folder, self.helm, self.version = folder, tool(helm), helm
        (folder / "bin").mkdir()
        program = folder / "bin" / "bayplan"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bayplan "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        (folder / "topology.yaml").write_text("".join(emit([TOPOLOGY])), encoding="utf-8")
        templates = folder / "chart" / "templates"
        templates.mkdir(parents=True)
        (folder / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 0.1.0\n", encoding="utf-8")
        for name, text in (("job", JOB), ("others", OTHERS), ("hook", HOOK)):
            (templates / f"{name}.yaml").write_text(text, encoding="utf-8")

    def call(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("HELM_", "XDG_"))}
        path = f"{self.folder / 'bin'}{os.pathsep}{kept['PATH']}"
        env = {**kept, **environment(), "HOME": str(self.folder), "PATH": path, **more}
        env = {key: value for key, value in env.items() if key not in ("HELM_NO_PLUGINS", "XDG_STATE_HOME")}
        return subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, encoding="utf-8", timeout=300, check=False
        )

    def bayplan(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.call(str(self.folder / "bin" / "bayplan"), *arguments)

    def template(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`helm template` with the post-renderer."""
        if self.version == "helm4" and not (self.folder / ".local").exists():
            done = self.bayplan("helm", "install-plugin", "--helm", self.helm)
            assert done.returncode == 0, done.stderr
        own = [] if self.version == "helm4" else ["post-render"]
        own += ["-t", str(self.folder / "topology.yaml")]
        passed = [word for each in own for word in ("--post-renderer-args", each)]
        return self.call(self.helm, "template", "r", "chart", "--post-renderer", "bayplan", *passed, *arguments)

    def plain(self, *arguments: str) -> str:
        done = self.call(self.helm, "template", "r", "chart", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(params=HELMS)
def charts(request: pytest.FixtureRequest, tmp_path: Path) -> Charts:
    return Charts(tmp_path, request.param)


def objects(text: str) -> list[dict[str, Any]]:
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def key(one: dict[str, Any]) -> tuple[str, str]:
    return one["kind"], one.get("metadata", {}).get("name", "")


def test_a_chart_is_placed(charts: Charts) -> None:
    done = charts.template()
    assert done.returncode == 0, done.stderr
    before = {key(each): each for each in objects(charts.plain())}
    after = {key(each): each for each in objects(done.stdout)}
    new = [kind for kind, name in after if (kind, name) not in before]
    assert sorted(new) == ["ComputeDomain", "PodGroup"]
    assert {name: each for name, each in after.items() if name in before and name[1] != "r"} == {
        name: each for name, each in before.items() if name[1] != "r"
    }
    pod = after["Job", "r"]["spec"]["template"]["spec"]
    assert pod["schedulerName"] == "kai-scheduler"
    assert " # the release\n" in done.stdout
    assert done.stdout.count("# Source: chart/templates/job.yaml\n") == 3


def test_without_a_word_of_ours_nothing_changes(charts: Charts) -> None:
    (charts.folder / "chart" / "templates" / "job.yaml").unlink()
    done = charts.template()
    assert done.returncode == 0, done.stderr
    if charts.version == "helm3":
        assert done.stdout == charts.plain()
    assert sorted(map(key, objects(done.stdout))) == sorted(map(key, objects(charts.plain())))


def test_an_error_stops_helm(charts: Charts) -> None:
    done = charts.template("--set", "placement=required=rock")
    assert (done.returncode, done.stdout) == (1, "")
    message = 'pool "gb200" has no level "rock"'
    assert (message in done.stderr) == (charts.version == "helm3")  # Helm 4 holds it back
    for command in (["helm", "last-error"], ["helm", "last-error", "chart"]):
        kept = charts.bayplan(*command)
        assert kept.returncode == 0
        assert message in kept.stdout


FULL = 'exec >/dev/full "{python}" -m bayplan "$@"'
SLOW = """exec "{python}" -c 'if True:
    import fcntl, os, sys
    fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(1, False)
    os.execv(sys.executable, [sys.executable, "-m", "bayplan", *sys.argv[1:]])' "$@"
"""
"""Programs whose standard output is full, or a small pipe that does not block."""


def test_an_output_that_is_full_stops_helm(charts: Charts) -> None:
    (charts.folder / "chart" / "templates" / "large.yaml").write_text(f"kind: Large\nspec: {'a' * 10_000}\n")
    whole = charts.template().stdout
    program = charts.folder / "bin" / "bayplan"
    program.write_text(f"#!/bin/sh\n{SLOW.format(python=sys.executable)}\n")
    done = charts.template()
    assert (done.returncode, done.stdout) == (0, whole), done.stderr
    program.write_text(f"#!/bin/sh\n{FULL.format(python=sys.executable)}\n")
    done = charts.template()
    assert (done.returncode, done.stdout) == (1, "")
    kept = charts.call(sys.executable, "-m", "bayplan", "helm", "last-error").stdout
    assert "error[O802]" in (done.stderr if charts.version == "helm3" else kept)


def test_each_release_has_its_last_error(charts: Charts) -> None:
    label = "{app.kubernetes.io/instance: {{ .Release.Name }}}"
    part = f"apiVersion: v1\nkind: Service\nmetadata: {{name: a, labels: {label}}}\n"
    (charts.folder / "chart" / "templates" / "a.yaml").write_text(part, encoding="utf-8")
    charts.template("--set", "placement=required=rock")
    (charts.folder / "chart" / "templates" / "a.yaml").write_text(part.replace(".Release.Name", "`other`"))
    charts.template("--set", "placement=required=stone")
    assert '"rock"' in charts.bayplan("helm", "last-error", "r").stdout
    assert '"stone"' in charts.bayplan("helm", "last-error", "other").stdout
    assert '"stone"' in charts.bayplan("helm", "last-error").stdout
    assert (
        'warning[O820]: post-render has not reported anything for "third"'
        in charts.bayplan("helm", "last-error", "third").stderr
    )


def test_files_of_an_output_folder(charts: Charts) -> None:
    done = charts.template("--output-dir", "out")
    assert done.returncode == 0, done.stderr
    written = (charts.folder / "out" / "chart" / "templates" / "job.yaml").read_text(encoding="utf-8")
    kinds = [kind for kind, _ in map(key, objects(written))]
    if charts.version == "helm4":
        assert sorted(kinds) == ["ComputeDomain", "Job", "PodGroup"]
    else:  # its post-renderer gets nothing to see
        assert kinds == ["Job"]
        assert "warning[A973]" in charts.bayplan("helm", "last-error").stdout


def test_a_plugin_is_for_helm_4(charts: Charts) -> None:
    done = charts.bayplan("helm", "install-plugin", "--helm", charts.helm)
    if charts.version == "helm3":
        assert done.returncode == 1
        assert "error[O821]" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    listed = charts.call(charts.helm, "plugin", "list")
    assert "postrenderer/v1" in listed.stdout
    again = charts.bayplan("helm", "install-plugin", "--helm", charts.helm)
    assert (again.returncode, again.stdout) == (0, done.stdout)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Charts:
    """A place without any Helm."""
    monkeypatch.setattr(f"{__name__}.tool", lambda name: name)
    return Charts(tmp_path, "helm4")


def test_a_helm_that_does_not_answer(alone: Charts) -> None:
    assert "error[O821]" in alone.bayplan("helm", "install-plugin", "--helm", "no-such-helm").stderr
    assert "error[O821]" in alone.bayplan("helm", "install-plugin", "--helm", "false").stderr


def test_the_plugin_goes_where_it_is_told(alone: Charts) -> None:
    done = alone.bayplan("helm", "install-plugin", "-o", "plugins")
    assert (done.returncode, done.stdout) == (0, "plugins/bayplan/plugin.yaml\n")
    path = alone.folder / "plugins" / "bayplan" / "plugin.yaml"
    (found,) = objects(path.read_text(encoding="utf-8"))
    assert found["runtimeConfig"] == {"platformCommand": [{"command": "bayplan", "args": ["post-render"]}]}
    path.write_text("name: bayplan\ntype: cli/v1\n", encoding="utf-8")
    refused = alone.bayplan("helm", "install-plugin", "-o", "plugins")
    assert refused.returncode == 1
    assert "error[O804]" in refused.stderr
    (alone.folder / "file").write_text("", encoding="utf-8")
    assert "error[O8" in alone.bayplan("helm", "install-plugin", "-o", "file").stderr


POLICY = """\
apiVersion: bayplan.dev/v1alpha1
kind: Policy
spec: {rules: [{match: {kind: Job, name: r}, adopt: true}]}
"""


def test_a_chart_that_kueue_suspends_is_refused_or_migrated_and_says_so(charts: Charts) -> None:
    job = JOB.replace("  annotations:", "  labels: {kueue.x-k8s.io/queue-name: lq}\n  annotations:", 1)
    suspended = job.replace("spec:\n", "spec:\n  suspend: true\n", 1)
    (charts.folder / "chart" / "templates" / "job.yaml").write_text(suspended, encoding="utf-8")
    assert charts.template().returncode == 1
    kept = charts.bayplan("helm", "last-error").stdout
    assert 'error[A950]: the label kueue.x-k8s.io/queue-name gives Job "r" to Kueue' in kept
    assert "so does the field `spec.suspend`" in kept
    (charts.folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    more = (
        word
        for each in ("--policy", str(charts.folder / "policy.yaml"), "-v")
        for word in ("--post-renderer-args", each)
    )
    done = charts.template(*more)
    assert done.returncode == 0, done.stderr
    (placed,) = [each for each in objects(done.stdout) if key(each) == ("Job", "r")]
    assert "suspend" not in placed["spec"]
    assert "kueue" not in str(placed)
    assert (
        'info[A950]: bayplan removes what gives Job "r" to Kueue, in 2 places'
        in charts.bayplan("helm", "last-error").stdout
    )
