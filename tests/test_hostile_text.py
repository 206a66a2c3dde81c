"""Text that would be code: hostile values in every string of every format, and what bash does with the output.

A value is a line that ends in commands, or several lines, or lines with what ends a here document. Each of them would
write the file PWNED. A value is refused, or it is data: the script writes no such file.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.backends import BACKENDS
from tools.data import parse
from tools.effort import sample
from tools.hostile import ACCEPTED, HIDDEN, LINE, LINES, VALUES, changed, places, ran
from tools.run import EXAMPLES, bayplan

WORKFLOW = """\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {name: job, namespace: ml, labels: {a: b}, annotations: {c: d}}
spec:
  queue: research
  priorityClassName: high
  gangs:
  - name: data
    podSets: [{name: load, replicas: 1, image: i, command: [work], resources: {cpu: '1'}}]
  - name: train
    dependsOn: [data]
    lead: worker
    hosts: {__PEER__: worker/1}
    backends:
      slurm:
        account: a
        partition: gb200
        qos: a
        reservation: a
        constraint: a
        exclude: a
        licenses: a
        wckey: a
        comment: a
        output: a
        error: a
        gpuType: a
        container: CONTAINER
      sunk: {account: a, partition: gb200, qos: a, reservation: a, comment: a, userId: '1', groupId: '1'}
      slurm-bridge: {account: a, partition: gb200, qos: a, reservation: a, constraints: a, licenses: a, wckey: a}
      kai: {nodePool: a, stalenessGracePeriod: 5m, topology: hall}
      kueue: {priorityClass: batch}
    podSets:
    - name: worker
      replicas: 2
      accelerator: {name: gb200, count: 4}
      resources: {cpu: '1', memory: 1Gi}
      image: registry.example.com/a/b:1
      command: [work, one]
      args: [two, __PEER__]
      env: {A: b, odd.name: c}
      files: {/etc/a.conf: "text\\n", /etc/b.conf: no end, /etc/c.conf: {base64: aGk=}}
      template: {metadata: {labels: {a: b}, annotations: {c: d}}}
    - {name: other, replicas: 2, accelerator: {name: gb200, count: 4}, image: i, command: [work], args: [x]}
"""
"""Every field of strings that a script has, and those of the other schedulers."""


TOPOLOGY = """\
apiVersion: bayplan.dev/v1alpha1
kind: ClusterTopology
metadata: {name: hall}
spec:
  versions: {slurm: '25.11'}
  schedulers:
    slurm: {plugin: block, topology: a, partition: b, names: [{from: '(.+)', to: 'x\\1'}], units: {s0/r0: a}}
  defaults: {scheduler: slurm, namespace: ml, queue: research}
  pools:
  - name: gb200
    node: {accelerator: gb200, count: 4, cpu: '140', memory: 900Gi}
    levels: [{name: spine, label: a/spine}, {name: rack, label: nvidia.com/gpu.clique, nvlink: true}]
    domains: [{path: s0/r0, nodes: 'n[01-18]'}, {path: s0/r1, nodes: 'm[01-18]'}]
  accelerators:
    gb200: {vendor: nvidia, resources: {count: nvidia.com/gpu}}
"""


def rendered(folder: Path, workflow: Any, topology: Any, *options: str) -> subprocess.CompletedProcess[str]:
    """`bayplan render`, which is never a bug of bayplan."""
    for name, data in (("workflow.yaml", workflow), ("topology.yaml", topology)):
        (folder / name).write_text(yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=False), encoding="utf-8")
    paths = (str(folder / "workflow.yaml"), "-t", str(folder / "topology.yaml"))
    done = bayplan("render", *paths, *options, *ACCEPTED)
    assert done.returncode in (0, 1), done.stderr
    return done


def hostile(text: str, first: int) -> Iterator[tuple[Any, str]]:
    """Documents with a hostile string, and the string; one in 8 of them by default."""
    data = yaml.load(text, yaml.CSafeLoader)
    cases = [(path, value) for path in places(data) for value in VALUES]
    for path, value in sample(cases, 8, first):
        yield changed(data, path, value), value


@pytest.mark.parametrize("container", ["pyxis", "none"])
def test_a_workflow_on_slurm(container: str, tmp_path: Path) -> None:
    text, topology = WORKFLOW.replace("CONTAINER", container), parse(TOPOLOGY)
    whole = rendered(tmp_path, parse(text), topology, "-s", "slurm")
    assert whole.returncode == 0, whole.stderr
    assert ran(whole.stdout, tmp_path / "0") > 1
    accepted = 0
    for number, (data, _) in enumerate(hostile(text, container == "none"), 1):
        done = rendered(tmp_path, data, topology, "-s", "slurm")
        if done.returncode == 0:
            accepted += 1
            ran(done.stdout, tmp_path / str(number))
    assert accepted > 1


ATTACKS = {
    "comment": ["backends", "slurm", "comment"],
    "command": ["podSets", 0, "command", 1],
    "argument": ["podSets", 0, "args", 0],
    "variable": ["podSets", 0, "env", "A"],
    "file": ["podSets", 0, "files", "/etc/a.conf"],
    "file without an end": ["podSets", 0, "files", "/etc/b.conf"],
}
"""The strings of the second gang by which bash once ran the text of a workflow."""


@pytest.mark.parametrize("value", [LINES, HIDDEN], ids=["lines", "hidden"])
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack(name: str, value: str, tmp_path: Path) -> None:
    """Lines in a text of several lines stay data; lines in a comment and NUL characters are refused."""
    text, topology = WORKFLOW.replace("CONTAINER", "pyxis"), parse(TOPOLOGY)
    data = changed(parse(text), ["spec", "gangs", 1, *ATTACKS[name]], value)
    done = rendered(tmp_path, data, topology, "-s", "slurm")
    refused = "S206" if name == "comment" else "W345" if value == HIDDEN else ""
    assert f"error[{refused}]" in done.stderr if refused else done.returncode == 0
    ran(done.stdout, tmp_path / "run")


def test_an_attack_by_osmo(tmp_path: Path) -> None:
    """No schema of Workflow reads this text."""
    text = (EXAMPLES / "osmo-one-rack" / "osmo.yaml").read_text("utf-8")
    (tmp_path / "osmo.yaml").write_text(text.replace("[torchrun]", json.dumps(["torchrun", HIDDEN])))
    topology = EXAMPLES / "osmo-one-rack" / "topology.yaml"
    done = bayplan("render", str(tmp_path / "osmo.yaml"), "-t", str(topology), "-s", "slurm", *ACCEPTED)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[W345]" in done.stderr


def test_a_topology_on_slurm(tmp_path: Path) -> None:
    workflow = parse(WORKFLOW.replace("CONTAINER", "pyxis"))
    whole = rendered(tmp_path, workflow, parse(TOPOLOGY), "--cluster-objects", "-o", f"{tmp_path}/out/")
    assert whole.returncode == 0, whole.stderr
    for number, (data, value) in enumerate(hostile(TOPOLOGY, 0), 1):
        done = rendered(tmp_path, workflow, data, "-s", "slurm")
        if done.returncode == 0:
            ran(done.stdout, tmp_path / str(number))
        exported = bayplan("topology", "export", str(tmp_path / "topology.yaml"), "--to", "slurm")
        assert exported.returncode in (0, 1)
        odd = [line for line in re.split("[\n\r\x85\u2028]", exported.stdout) if ">PWNED" in line]
        assert not odd or value == LINE, (value, odd)


NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
KEY = re.compile(r"([a-z0-9][-.a-z0-9]*/)?[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?")
VALUE = re.compile(r"([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?")


def one_line(data: Any) -> None:
    """Names, labels and the keys of annotations are such as Kubernetes takes, wherever they are."""
    if isinstance(data, dict):
        metadata = data.get("metadata")
        if isinstance(metadata, dict):
            for key in ("name", "namespace"):
                assert NAME.fullmatch(metadata.get(key, "a")), metadata
            for key, value in (metadata.get("labels") or {}).items():
                assert KEY.fullmatch(key), metadata
                assert VALUE.fullmatch(value), metadata
            assert all(KEY.fullmatch(key) for key in metadata.get("annotations") or {}), metadata
        for value in data.values():
            one_line(value)
    elif isinstance(data, list):
        for value in data:
            one_line(value)


@pytest.mark.parametrize("backend", sample(sorted(BACKENDS.keys() - {"slurm"}), 1))
def test_a_workflow_on_kubernetes(backend: str, tmp_path: Path) -> None:
    topology = parse((EXAMPLES / "pretrain" / "topology.yaml").read_text("utf-8"))
    text = WORKFLOW.replace("CONTAINER", "pyxis").replace("    dependsOn: [data]\n", "")
    number = sorted(BACKENDS).index(backend)
    for data, _ in hostile(text, number):
        done = rendered(tmp_path, data, topology, "-s", backend)
        for document in yaml.load_all(done.stdout, yaml.CSafeLoader) if done.returncode == 0 else ():
            one_line(document)


POLICY = """\
apiVersion: bayplan.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: a}
spec:
  rules:
  - match: {kind: Job, name: a, namespace: ml, labels: {a: b}}
    gang: {placement: {required: rack}}
    queue: research
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: ml, labels: {a: b}, annotations: {bayplan.dev/scheduler: kai}}
spec:
  parallelism: 2
  completions: 2
  template:
    metadata: {labels: {c: d}}
    spec:
      restartPolicy: Never
      containers: [{name: a, image: i, command: [work], resources: {limits: {nvidia.com/gpu: 4}}}]
"""


@pytest.mark.parametrize("which", ["policy", "job"])
def test_what_post_render_reads(which: str, tmp_path: Path) -> None:
    """bayplan does not change what others wrote, so that only what it adds must be one line."""
    texts = {"policy": POLICY, "job": JOB}
    for data, _ in hostile(texts[which], 3):
        given = {**{name: parse(text) for name, text in texts.items()}, which: data}
        (tmp_path / "policy.yaml").write_text(yaml.dump(given["policy"], allow_unicode=False))
        options = ("-t", str(EXAMPLES / "pretrain" / "topology.yaml"), "--policy", str(tmp_path / "policy.yaml"))
        job = yaml.dump(given["job"], allow_unicode=False)
        done = bayplan("post-render", *options, stdin=job, env={"XDG_STATE_HOME": str(tmp_path)})
        assert done.returncode in (0, 1), done.stderr
        for document in yaml.load_all(done.stdout, yaml.CSafeLoader) if done.returncode == 0 else ():
            if document["kind"] != "Job" or which == "policy":
                one_line(document)
