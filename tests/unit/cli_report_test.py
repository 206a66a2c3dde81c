"""What a run says: infos only with -v, only errors with -q, and on a terminal what was achieved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.data import parse
from tools.golden import examples
from tools.run import EXAMPLES, PRETRAIN, bayplan, environment

KUEUE = ("check", "workflow.yaml", "-t", "topology.yaml", "-s", "kueue")
"""One warning and three infos."""


def report(*arguments: str, folder: Path = PRETRAIN, stdin: str = "") -> tuple[int, str, str]:
    """Exit code and both streams, without a terminal."""
    done = bayplan(*arguments, cwd=folder, stdin=stdin)
    return done.returncode, done.stdout, done.stderr


def spoken(*arguments: str, folder: Path = PRETRAIN, stdin: str = "") -> list[str]:
    """The lines on standard error if it is a terminal."""
    done = bayplan(*arguments, cwd=folder, stdin=stdin, terminal=True)
    return done.stderr.splitlines()


# Infos


def test_infos_are_counted_and_v_shows_them() -> None:
    code, out, err = report(*KUEUE)
    assert (code, "info" in out, "warning[F626]" in out) == (0, False, True)
    assumed = "the topology states no version of some components; bayplan assumes kueue 0.20"
    assert err == f"1 warning\n{assumed}\n2 infos hidden; -v shows them\n"
    code, out, err = report(*KUEUE, "-v")
    assert (code, out.count("info["), err) == (0, 3, "1 warning, 3 infos\n")


def test_a_report_of_only_infos_is_a_number() -> None:
    infiniband = ("topology", "check", f"{EXAMPLES}/infiniband/topology.yaml")
    assert report(*infiniband) == (0, "", "1 info hidden; -v shows it\n")
    assert report(*infiniband, "--strict") == (0, "", "1 info hidden; -v shows it\n")
    assert report(*infiniband, "--verbose")[1].count("info[T404]") == 1


def test_quiet_shows_only_what_fails() -> None:
    assert report(*KUEUE, "-q") == (0, "", "")
    assert report(*KUEUE, "-q", "-v") == (0, "", "")
    code, out, err = report(*KUEUE, "-q", "--strict")
    assert (code, "warning[F626]" in out, "info" in out, err) == (1, True, False, "")
    code, out, err = report("render", "workflow.yaml", "-t", "topology.yaml", "-s", "none", "-q")
    assert (code, out, "error[F638]" in err, "warning" in err, "info" in err) == (1, "", True, False, False)


@pytest.mark.parametrize("option", [(), ("-q",)], ids=["default", "quiet"])
def test_programs_get_all_infos(option: tuple[str, ...]) -> None:
    severities = {
        each["severity"] for each in json.loads(report(*KUEUE, *option, "--diagnostics", "json")[1])["diagnostics"]
    }
    assert severities == {"warning", "info"}
    assert report(*KUEUE, *option, "--diagnostics", "github")[1].count("::notice ") == 3
    (run,) = json.loads(report(*KUEUE, *option, "--diagnostics", "sarif")[1])["runs"]
    assert [each["level"] for each in run["results"]].count("note") == 3


PLACED = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations: {bayplan.dev/placement: required=rack, internal.config.kubernetes.io/path: job.yaml}
spec:
  parallelism: 4
  completions: 4
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: train, resources: {limits: {nvidia.com/gpu: 4}}}
"""


def function(**spec: str) -> str:
    """A ResourceList that places the Job under Kueue."""
    config = {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "PlaceWorkloads",
        "metadata": {"name": "place"},
        "spec": {"topology": str(PRETRAIN / "topology.yaml"), **spec},
    }
    whole: dict[str, Any] = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "functionConfig": config}
    return yaml.safe_dump({**whole, "items": [parse(PLACED)]})


def test_results_of_a_function_have_all_infos() -> None:
    code, out, err = report("krm", stdin=function(scheduler="kueue"))
    results = parse(out)["results"]
    infos = [each for each in results if each["severity"] == "info"]
    assert code == 0
    assert infos
    assert f"{len(infos)} info{'s' if len(infos) > 1 else ''} hidden" in err


def test_last_error_has_infos_only_with_v(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path)}
    command = ("post-render", "-t", "topology.yaml", "-s", "kueue")
    for option, shown in (((), False), (("-v",), True)):
        done = bayplan(*command, *option, cwd=PRETRAIN, env=env, stdin=PLACED)
        assert done.returncode == 0, done.stderr
        kept = bayplan("helm", "last-error", env=env).stdout
        assert ("info[" in kept, " hidden; -v shows " in kept) == (shown, not shown)


# What was achieved

PAIR = ("workflow.yaml", "-t", "topology.yaml")
FIT = "pretrain: 64 pods fit in north-1/spine-a"


def test_success_says_what_fits_and_what_was_written(tmp_path: Path) -> None:
    file, folder = str(tmp_path / "job.yaml"), f"{tmp_path}/out/"
    assert spoken("check", *PAIR) == [FIT]
    assert spoken("render", *PAIR) == [f"{FIT}; 6 objects written"]
    assert spoken("render", *PAIR, "-o", file) == [f"{FIT}; 6 objects written to {file}"]
    assert spoken("render", *PAIR, "-o", folder) == [f"{FIT}; 6 objects written to {folder}"]
    assert spoken("render", *PAIR, "-o", folder, "--check") == [f"{FIT}; {folder} is up to date"]
    assert spoken("render", *PAIR, "-s", "slurm", "-o", file)[0] == f"{FIT}; 1 file written to {file}"
    assert spoken("check", "workflow.yaml") == ["1 valid workflow; -t FILE also checks the fit"]
    warned, fit, assumed, hidden = spoken(*KUEUE)[-4:]
    assert (warned, fit, hidden) == ("1 warning", FIT, "2 infos hidden; -v shows them")
    assert assumed.endswith("bayplan assumes kueue 0.20")


def test_success_is_silent_without_a_terminal_for_programs_and_for_failures() -> None:
    assert report("check", *PAIR) == (0, "", "")
    assert spoken("check", *PAIR, "-q") == []
    assert spoken("check", *PAIR, "--diagnostics", "json") == []
    assert spoken("check", *PAIR, "--diagnostics", "github") == []
    assert FIT not in spoken(*KUEUE, "--strict")
    assert FIT not in spoken("check", *PAIR, "-s", "none")


def test_a_terminal_is_one(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "bayplan", "render", *PAIR, "-o", str(tmp_path / "job.yaml")]
    subprocess.run(command, cwd=PRETRAIN, env=environment(), stderr=theirs, check=True, timeout=60)
    os.close(theirs)
    assert os.read(ours, 4096).decode() == f"{FIT}; 6 objects written to {tmp_path}/job.yaml\r\n"
    os.close(ours)


def test_several_workflows_have_a_line_each_and_many_one_line(tmp_path: Path) -> None:
    text = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8")
    names = [f"job-{number}" for number in range(6)]
    for name in names:
        (tmp_path / f"{name}.yaml").write_text(text.replace("name: pretrain", f"name: {name}"), encoding="utf-8")
    few, many = ([f"{name}.yaml" for name in part] for part in (names[:5], names))
    topology = ("-t", f"{PRETRAIN}/topology.yaml")
    lines = spoken("render", *few, *topology, folder=tmp_path)
    assert lines == [*(f"{name}: 64 pods fit in north-1/spine-a" for name in names[:5]), "30 objects written"]
    assert spoken("render", *many, *topology, folder=tmp_path) == [
        "6 workflows fit, each by itself; 36 objects written"
    ]


CLUSTER = """\
apiVersion: bayplan.dev/v1alpha1
kind: ClusterTopology
metadata: {name: hall}
spec:
  defaults: {scheduler: none}
  pools:
  - name: near
    node: {accelerator: h100, count: 8, nodeSelector: {flat: "no"}}
    levels:
    - {name: zone, label: example.com/zone}
    - {name: rack, label: example.com/rack}
    domains:
    - {path: z1/r1, nodes: "n[1-2]"}
    - {path: z1/r2, nodes: "n[3-4]"}
    - {path: z2/r3, nodes: "n[5-6]"}
  - name: flat
    node: {accelerator: h100, count: 8, nodeSelector: {flat: "yes"}}
    domains: [{nodes: "f[1-2]"}]
  accelerators:
    h100: {resources: {count: nvidia.com/gpu}}
"""
JOB = """\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {name: job}
spec:
  gangs:
  - name: main
    podSets:
    - {name: worker, image: i, command: [c], pool: POOL, accelerator: {name: h100, count: COUNT}, REPLICAS}
"""


@pytest.mark.parametrize(
    ("pool", "count", "replicas", "line"),
    [
        ("near", 8, "replicas: 1", "1 pod fits on n1"),
        ("near", 4, "replicas: 2", "2 pods fit on n1"),
        ("near", 8, "replicas: 2", "2 pods fit in z1/r1"),
        ("near", 8, "replicas: 3", "3 pods fit in z1"),
        ("near", 8, "replicas: 6", "6 pods fit in 2 domains of level zone"),
        ("near", 8, "replicas: 9, minReplicas: 6", "the pods that must start together fit"),
        ("flat", 8, "replicas: 2", "2 pods fit on 2 nodes"),
    ],
)
def test_the_line_names_the_smallest_domain(pool: str, count: int, replicas: str, line: str, tmp_path: Path) -> None:
    workflow = JOB.replace("POOL", pool).replace("COUNT", str(count)).replace("REPLICAS", replicas)
    (tmp_path / "workflow.yaml").write_text(workflow, encoding="utf-8")
    (tmp_path / "topology.yaml").write_text(CLUSTER, encoding="utf-8")
    said = spoken("check", *PAIR, "--accept", "F615", folder=tmp_path)
    assert f"job: {line}" in said


@pytest.mark.parametrize("example", examples())
def test_the_line_is_true(example: str) -> None:
    """The pods are all of them, and their place is that of the plan."""
    folder = EXAMPLES / example
    done = bayplan("plan", *PAIR, "--format", "json", cwd=folder)
    said = [line for line in spoken("check", *PAIR, folder=folder) if " fit " in line or " fits " in line]
    if done.returncode:
        assert said == []
        return
    for line, plan in zip(said, json.loads(done.stdout)["workflows"], strict=True):
        gangs = [gang for stage in plan["stages"] for gang in stage["gangs"]]
        number = sum(gang["pods"] for gang in gangs)
        assert line.startswith(f"{plan['workflow']}: {number} pod")
        if len(gangs) == 1 and not line.endswith(" nodes") and " on " not in line:
            assert line.endswith(f" in {gangs[0]['domain']}")


def test_generate_and_post_render_speak(tmp_path: Path) -> None:
    spec = f"{{topology: {PRETRAIN}/topology.yaml, outputs: [{{workflows: [{PRETRAIN}/workflow.yaml], to: out/}}]}}"
    text = f"apiVersion: bayplan.dev/v1alpha1\nkind: Project\nspec: {spec}\n"
    (tmp_path / "bayplan.yaml").write_text(text, encoding="utf-8")
    assert spoken("generate", "--check", folder=tmp_path)[-1] == "7 errors"
    assert spoken("generate", folder=tmp_path)[-1] == FIT
    assert spoken("generate", folder=tmp_path) == [f"{FIT}; 6 files up to date"]
    placed = ("post-render", "-t", "topology.yaml")
    fits = "train: 4 pods fit in north-1/spine-a/8c1f-a1.1; 1 object changed, 2 added"
    asks = "; pass the namespace with -n, because other namespaces may have PodGroups of the same names"
    assert spoken(*placed, stdin=PLACED) == [fits + asks]
    assert spoken(*placed, "-n", "ml", stdin=PLACED) == [fits]
    nothing = "no workload requests a placement; the manifests are unchanged"
    assert spoken(*placed, stdin="kind: ConfigMap\n") == [nothing]
    assert spoken(*placed, stdin="# bayplan.dev\nkind: ConfigMap\n") == [nothing]
