"""bayplan under the real TorchX 0.7: its dry run, its components beside ours, its list of schedulers.

TorchX lives in an environment of its own (tests/torchx/prepare), or in that of the Python that BAYPLAN_TORCHX names.
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from tools.data import parse_all
from tools.run import EXAMPLES, ROOT, bayplan, environment

PYTHON = Path(os.environ.get("BAYPLAN_TORCHX", ROOT / ".ci" / "torchx" / "bin" / "python"))
EXAMPLE = EXAMPLES / "torchx-hostdevice"

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason=f"no TorchX at {PYTHON}: run tests/torchx/prepare")


def torchx(*words: str, cwd: Path = EXAMPLE, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """That Python, with bayplan importable."""
    given = environment({"LOGLEVEL": "WARNING", **(env or {})})
    return subprocess.run(
        [str(PYTHON), *words], cwd=cwd, env=given, capture_output=True, encoding="utf-8", timeout=300, check=False
    )


RUN = ("-m", "bayplan.plugins.torchx.scheduler", "run", "--workspace=", "-s", "bayplan")
DDP = ("dist.ddp", "-j", "2x8", "--image", "example.com/train:1", "--gpu", "8", "--cpu", "64", "--memMB", "512000")
CFG = ("-cfg", "topology=topology.yaml,namespace=vision,queue=research")


APP = """
import dataclasses, json, sys
from torchx.runner import Runner
from bayplan.plugins.torchx.scheduler import create_scheduler
with Runner("torchx", {"bayplan": create_scheduler}) as runner:
    run = runner.dryrun_component("dist.ddp", sys.argv[2:], "bayplan", {"topology": sys.argv[1]})
print(json.dumps(dataclasses.asdict(run._app)))
"""


def test_the_dry_run_is_what_render_prints(tmp_path: Path) -> None:
    """Of the AppDef that TorchX's runner makes of the component."""
    result = torchx(*RUN, "--dryrun", *CFG, *DDP, "--script", "train.py")
    assert result.returncode == 0, result.stderr
    manifests = result.stdout.partition("=== SCHEDULER REQUEST ===\n")[2]
    (tmp_path / "app.json").write_text(
        torchx("-c", APP, "topology.yaml", *DDP[1:], "--script", "train.py").stdout, encoding="utf-8"
    )
    options = ("-n", "vision", "--queue", "research")
    again = bayplan("render", str(tmp_path / "app.json"), "-t", str(EXAMPLE / "topology.yaml"), *options)
    assert again.returncode == 0, again.stderr
    documents = [each for each in parse_all(manifests) if each]
    assert documents == list(parse_all(again.stdout))
    assert [each["kind"] for each in documents] == ["PodGroup", "JobSet"]
    same = torchx(*RUN, "--dryrun", *CFG, *DDP, "--script", "train.py")
    assert same.stdout == result.stdout


def test_wishes_by_cfg() -> None:
    cfg = f"{CFG[1]},required=leaf,workload=volcano-job,fabric=east-west"
    result = torchx(*RUN, "--dryrun", "-cfg", cfg, *DDP, "--script", "train.py")
    assert result.returncode == 0, result.stderr
    (job,) = [each for each in parse_all(result.stdout.partition("REQUEST ===\n")[2]) if each]
    assert (job["kind"], job["apiVersion"]) == ("Job", "batch.volcano.sh/v1alpha1")
    assert job["spec"]["networkTopology"] == {"mode": "hard", "highestTierAllowed": 1}
    assert "k8s.v1.cni.cncf.io/networks" in job["spec"]["tasks"][0]["template"]["metadata"]["annotations"]


def test_what_bayplan_refuses_is_an_error_of_torchx() -> None:
    result = torchx(*RUN, "--dryrun", *CFG, *DDP, "--script", "train.py", "--mounts", "type=device,src=/dev/fuse")
    assert result.returncode != 0
    assert "error[W584]" in result.stderr
    assert "=== SCHEDULER REQUEST ===" not in result.stdout


def test_refusals_are_sentences() -> None:
    """No traceback, and where options belong."""
    missing = torchx(*RUN, "--dryrun", "-cfg", "topology=none.yaml", *DDP, "--script", "train.py")
    assert missing.returncode == 1
    assert "none.yaml" in missing.stderr
    assert "-cfg scheduler=volcano" in missing.stderr
    listed = torchx(
        "-m", "bayplan.plugins.torchx.scheduler", "list", "-s", "bayplan", env={"KUBECTL": "/nowhere/kubectl"}
    )
    assert listed.returncode == 1
    assert "cannot run /nowhere/kubectl" in listed.stderr
    assert "Traceback" not in missing.stderr + listed.stderr


KUBECTL = """#!/bin/sh
echo "$@" >>"$LOG"
case "$1" in
create) cat >>"$LOG" ;;
get) echo '{"items": [{"metadata": {"namespace": "vision", "labels": {"bayplan.dev/workflow": "train"}},
  "status": {"phase": "Running"}}]}' ;;
delete) [ "$2" != workloads ] || { echo "error: the server doesn't have a resource type" >&2; exit 1; } ;;
esac
"""

LIFE = """
import sys
from torchx.runner import Runner
from bayplan.plugins.torchx.scheduler import create_scheduler
from torchx.components.dist import ddp
app = ddp(script="train.py", image="example.com/train:1", j="2x8", gpu=8, cpu=64, memMB=512000)
with Runner("test", {"bayplan": create_scheduler}) as runner:
    cfg = {"topology": "topology.yaml", "namespace": "vision", "queue": "research"}
    handle = runner.run(app, "bayplan", cfg)
    print(handle, runner.status(handle).state, [each.app_handle for each in runner.list("bayplan")])
    runner.cancel(handle)
"""


def test_the_life_of_an_application(tmp_path: Path) -> None:
    fake, log = tmp_path / "kubectl", tmp_path / "log"
    fake.write_text(KUBECTL, encoding="utf-8")
    fake.chmod(0o755)
    result = torchx("-c", LIFE, env={"KUBECTL": str(fake), "LOG": str(log)})
    assert result.returncode == 0, result.stderr
    handle = "bayplan://test/vision:train"
    assert result.stdout.strip().startswith(f"{handle} RUNNING")
    said = log.read_text(encoding="utf-8")
    assert said.startswith("create -f -\n")
    assert "kind: JobSet\n" in said
    assert "delete jobsets -n vision -l bayplan.dev/workflow=train" in said


def registered(tmp_path: Path) -> dict[str, str]:
    """A folder in which the distribution of torchx-plugin/ is installed, in the environment of a run."""
    project = tomllib.loads((ROOT / "torchx-plugin" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (group,) = project["entry-points"].values()
    info = tmp_path / "bayplan_torchx-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bayplan-torchx\nVersion: 0.1.0\n", encoding="utf-8")
    lines = [f"{name} = {target}\n" for name, target in sorted(group.items())]
    (info / "entry_points.txt").write_text(f"[torchx.schedulers]\n{''.join(lines)}", encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(ROOT / "generator"), str(tmp_path)])}


LISTED = """
import json
from torchx import schedulers
from torchx.util.entrypoints import metadata
points = {each.name: each.load().__module__ for each in metadata.entry_points().select(group="torchx.schedulers")}
print(json.dumps([list(schedulers.get_scheduler_factories()), schedulers.get_default_scheduler_name(), points]))
"""


def test_the_plugin_keeps_schedulers_that_both_versions_have(tmp_path: Path) -> None:
    """Any registered scheduler ends TorchX' own list, so the plugin registers those too; all of them load."""
    result = torchx("-c", LISTED, env=registered(tmp_path))
    assert result.returncode == 0, result.stderr
    names, default, points = json.loads(result.stdout)
    assert names == ["bayplan", "kubernetes", "local_cwd", "local_docker", "slurm"]
    assert default == "bayplan"
    assert points["bayplan"] == "bayplan.plugins.torchx.scheduler"


def test_bayplan_alone_changes_nothing_of_torchx() -> None:
    result = torchx("-c", LISTED)
    assert result.returncode == 0, result.stderr
    names, default, _ = json.loads(result.stdout)
    assert default == "local_docker"
    assert "bayplan" not in names
    assert "kubernetes_mcad" in names


def test_the_torchx_command_has_bayplan_by_the_plugin(tmp_path: Path) -> None:
    words = ["-m", "torchx.cli.main", "run", "--workspace=", "--dryrun", "-s", "bayplan"]
    result = torchx(*words, *CFG, *DDP, "--script", "train.py", env=registered(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "kind: JobSet" in result.stdout
