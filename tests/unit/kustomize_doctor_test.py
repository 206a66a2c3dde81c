"""What `bayplan kustomize doctor` finds in a folder, and what `install-legacy` writes."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.clients import tool
from tools.data import parse
from tools.run import PRETRAIN, bayplan

COVERS = {"A964", "A967", "A968", "O804", "O831", "O833"}

EXEC = {"config.kubernetes.io/function": "exec: {path: ./bayplan-krm}\n"}


def write(path: Path, data: Any) -> None:
    """YAML."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data), encoding="utf-8")


def function(kind: str, **annotations: str) -> dict[str, Any]:
    """A function's configuration."""
    metadata = {"name": "it", "annotations": annotations or EXEC}
    return {"apiVersion": "bayplan.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": {}}


def program(path: Path, text: str = "exit 0") -> None:
    """A program."""
    write(path, f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def doctor(folder: Path, kustomize: str | None = "") -> tuple[int, str]:
    """Exit code and report; `kustomize`: a script that plays it, None for the real one."""
    path = folder / "path"
    path.mkdir(exist_ok=True)
    if kustomize:
        program(path / "kustomize", kustomize)
    if kustomize is None:
        os.symlink(tool("kustomize"), path / "kustomize")
    env = {"PATH": f"{path}:/bin:/usr/bin", "HOME": str(folder)}
    done = bayplan("kustomize", "doctor", "top", "-v", cwd=folder, env=env)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A kustomization that expands a Workflow, and lacks nothing."""
    shutil.copytree(PRETRAIN, tmp_path / "top")
    write(tmp_path / "top" / "kustomization.yaml", {"resources": ["workflow.yaml"], "transformers": ["expand.yaml"]})
    write(tmp_path / "top" / "expand.yaml", function("ExpandWorkflows"))
    program(tmp_path / "top" / "bayplan-krm", "exit 7")
    return tmp_path


def edit(folder: Path, **keys: Any) -> None:
    """Changes the kustomization."""
    path = folder / "top" / "kustomization.yaml"
    write(path, {**parse(path.read_text(encoding="utf-8")), **keys})


def test_a_sound_folder_without_kustomize(place: Path) -> None:
    code, said = doctor(place)
    assert code == 0
    assert "info[O833]" in said
    assert "warning[O831]" in said
    assert "error" not in said


def test_no_kustomization(tmp_path: Path) -> None:
    code, said = doctor(tmp_path)
    assert (code, "error[O831]" in said) == (1, True)


def test_a_program_that_is_missing(place: Path) -> None:
    (place / "top" / "bayplan-krm").unlink()
    code, said = doctor(place)
    assert code == 1
    assert "top/expand.yaml:5:36: error[A964]" in said


def test_a_function_without_a_program_or_a_plugin(place: Path) -> None:
    write(place / "top" / "expand.yaml", function("ExpandWorkflows", other="a"))
    assert "error[A964]" in doctor(place)[1]
    done = bayplan("kustomize", "install-legacy", cwd=place, env={"HOME": str(place)})
    assert done.returncode == 0, done.stderr
    assert (place / ".config/kustomize/plugin/bayplan.dev/v1alpha1/expandworkflows/ExpandWorkflows").exists()
    assert "A964" not in doctor(place)[1]


def test_a_workflow_that_nothing_expands(place: Path) -> None:
    edit(place, transformers=[])
    code, said = doctor(place)
    assert code == 1
    assert "top/workflow.yaml:3:7: error[A967]" in said


def test_a_workflow_that_kustomize_drops(place: Path) -> None:
    path = place / "top" / "workflow.yaml"
    data = parse(path.read_text(encoding="utf-8"))
    data["metadata"]["annotations"] = {"config.kubernetes.io/local-config": "true"}
    write(path, data)
    assert "error[A967]: kustomize silently drops" in doctor(place)[1]


@pytest.mark.parametrize(
    ("kind", "key"),
    [("ValidateWorkloads", "transformers"), ("PlaceWorkloads", "validators"), ("ExpandWorkflows", "generators")],
)
def test_a_function_in_the_wrong_list(kind: str, key: str, place: Path) -> None:
    write(place / "top" / "more.yaml", function(kind))
    path = place / "top" / "kustomization.yaml"
    listed = parse(path.read_text(encoding="utf-8")).get(key, [])
    edit(place, **{key: [*listed, "more.yaml"]})
    assert "top/more.yaml:2:7: error[A964]" in doctor(place)[1]


def test_names_that_change_after_the_function(place: Path) -> None:
    (place / "top").rename(place / "base")
    write(place / "top" / "kustomization.yaml", {"resources": ["../base"], "namePrefix": "dev-"})
    code, said = doctor(place)
    assert code == 0
    assert "base/expand.yaml:2:7: warning[A968]" in said
    assert "note: top/kustomization.yaml:1:1: `namePrefix` is set here" in said


RENDERED = """\
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: train}
spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: train}}}
---
apiVersion: v1
kind: Service
metadata: {name: train}
spec: {clusterIP: None}
---
apiVersion: v1
kind: Service
metadata: {name: train-ready}
spec: {clusterIP: None}
---
apiVersion: v1
kind: Pod
metadata: {name: train-0}
spec:
  hostname: train-0
  subdomain: train
  resourceClaims: [{name: domain, resourceClaimTemplateName: train}]
  containers:
  - name: a
    image: b
    env: [{name: MASTER_ADDR, value: train-0.train}, {name: BARRIER_SERVICE, value: train-ready}]
    args: [--rdzv, "train-0.train.ml.svc:29500"]
"""


def test_names_that_lead_nowhere_in_a_real_build(tmp_path: Path) -> None:
    write(tmp_path / "top" / "rendered.yaml", RENDERED)
    write(tmp_path / "top" / "kustomization.yaml", {"resources": ["rendered.yaml"], "namePrefix": "dev-"})
    code, said = doctor(tmp_path, None)
    assert code == 1
    assert 'Pod "dev-train-0": spec/resourceClaims/resourceClaimTemplateName has the former name "train"' in said
    assert 'ComputeDomain "dev-train": spec/channel/resourceClaimTemplate/name has the former name "train"' in said
    assert 'Pod "dev-train-0": spec/subdomain has the former name "train" of Service "dev-train"' in said
    assert 'Pod "dev-train-0" has the host name "train-0.train" with the former name of Service "dev-train"' in said
    assert 'has the host name "train-ready" with the former name of Service "dev-train-ready"' in said


FILES = """\
apiVersion: v1
kind: Service
metadata: {name: train, namespace: ml}
spec: {clusterIP: None}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: train-files, namespace: ml}
data: {run.sh: torchrun --master_addr train-0.train.ml.svc.cluster.local}
"""


def test_a_namespace_in_a_file(tmp_path: Path) -> None:
    write(tmp_path / "top" / "rendered.yaml", FILES)
    write(tmp_path / "top" / "kustomization.yaml", {"resources": ["rendered.yaml"], "namespace": "dev"})
    code, said = doctor(tmp_path, None)
    assert (code, said.count("error[A968]")) == (1, 1)
    assert 'ConfigMap "train-files" has the host name "train-0.train.ml.svc"' in said
    assert 'with the former namespace "ml"' in said


def test_a_channel_template_with_a_name_of_its_own(tmp_path: Path) -> None:
    write(
        tmp_path / "top" / "rendered.yaml",
        RENDERED.partition("---")[0].replace("{name: train}}}", "{name: train-channel}}}"),
    )
    write(tmp_path / "top" / "kustomization.yaml", {"resources": ["rendered.yaml"], "namePrefix": "dev-"})
    code, said = doctor(tmp_path, None)
    assert code == 0
    assert 'warning[A968]: ComputeDomain "dev-train" was renamed' in said


def test_the_references_that_are_shipped_repair_fields_and_no_text(tmp_path: Path) -> None:
    from tools.run import ROOT

    write(tmp_path / "top" / "rendered.yaml", RENDERED)
    references = os.path.relpath(ROOT / "kustomize-plugin" / "references", tmp_path / "top")
    keys = {"resources": ["rendered.yaml"], "namePrefix": "dev-", "components": [references]}
    write(tmp_path / "top" / "kustomization.yaml", keys)
    said = doctor(tmp_path, None)[1]
    assert said.count("error[A968]") == 2
    assert 'has the host name "train-0.train"' in said
    assert 'has the host name "train-ready"' in said


def test_a_foreign_plugin_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "bayplan.dev" / "v1alpha1" / "workflow" / "Workflow"
    program(path, "echo mine")
    done = bayplan("kustomize", "install-legacy", "home", cwd=tmp_path)
    assert done.returncode == 1
    assert "error[O804]" in done.stderr
    assert done.stdout == ""
    assert "mine" in path.read_text(encoding="utf-8")
    assert [each.name for each in (tmp_path / "home" / "bayplan.dev" / "v1alpha1").iterdir()] == ["workflow"]


def test_ways_that_multiply_are_not_followed_for_ever(place: Path) -> None:
    """Three bases a level that list the same three below: 3 to the power of 12 ways."""
    for level in range(12):
        for number in range(3):
            below = [f"../l{level + 1}-{n}" for n in range(3)] if level < 11 else []
            write(place / f"l{level}-{number}" / "kustomization.yaml", {"resources": below})
    write(place / "top" / "kustomization.yaml", {"resources": [f"../l0-{n}" for n in range(3)]})
    code, report = doctor(place)
    assert code in (0, 1), report
