"""Inputs of any size for the benchmarks: racks of 18 nodes of which 16 are planned, and one bare pod a node."""

from __future__ import annotations

import json
from pathlib import Path

PODS_A_RACK = 16

WORKFLOW = """\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {{name: large, namespace: ml}}
spec:
  queue: research
  gangs:
  - name: train
    workload: pods
    groups:
    - name: replica
      replicas: {racks}
      placement: {{required: rack}}
      computeDomain: never
      podSets:
      - name: worker
        replicas: 16
        accelerator: {{name: gb200, count: 4}}
        resources: {{cpu: "96", memory: 640Gi}}
        image: nvcr.io/nvidia/pytorch:25.08-py3
        command: [torchrun]
        args: [--nproc-per-node=4, train.py]
        env: {{NCCL_DEBUG: WARN}}
        shm: 64Gi
"""

TOPOLOGY = """\
apiVersion: bayplan.dev/v1alpha1
kind: ClusterTopology
metadata: {{name: hall}}
spec:
  versions: {{kubernetes: "1.34", kai: "0.17", draDriver: "25.12"}}
  defaults: {{scheduler: kai}}
  pools:
  - name: gb200
    node: {{accelerator: gb200, count: 4, cpu: "140", memory: 900Gi}}
    levels:
    - {{name: spine, label: network.topology.nvidia.com/spine}}
    - {{name: rack, label: nvidia.com/gpu.clique, nvlink: true, plan: 16}}
    domains:
{domains}
  accelerators:
    gb200: {{vendor: nvidia, allocator: device-plugin, resources: {{count: nvidia.com/gpu}}}}
"""


def write(folder: Path, pods: int) -> list[str]:
    """Write a workflow of so many pods and a topology that just holds it; the arguments that render it."""
    racks = pods // PODS_A_RACK
    rows = (f'    - {{path: s{rack // 32}/r{rack}, nodes: "r{rack}-n[01-18]"}}' for rack in range(racks))
    workflow, topology = folder / f"workflow-{pods}.yaml", folder / f"topology-{pods}.yaml"
    workflow.write_text(WORKFLOW.format(racks=racks), encoding="utf-8")
    topology.write_text(TOPOLOGY.format(domains="\n".join(rows)), encoding="utf-8")
    return ["render", str(workflow), "-t", str(topology)]


def hall(folder: Path, nodes: int) -> str:
    """A topology of so many nodes, a line for each rack."""
    racks = -(-nodes // 18)
    rows = (f'    - {{path: s{rack // 8}/r{rack}, nodes: "r{rack}-n[01-18]"}}' for rack in range(racks))
    path = folder / f"hall-{nodes}.yaml"
    text = TOPOLOGY.format(domains="\n".join(rows))
    path.write_text(
        text.replace("{scheduler: kai}", "{scheduler: kai, namespace: ml, queue: research}"), encoding="utf-8"
    )
    return str(path)


CHART = """\
{{{{- range $number := until {pods} }}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: worker-{{{{ $number }}}}
  labels:
    app: large
    app.kubernetes.io/name: large
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: nvcr.io/nvidia/pytorch:25.08-py3
    command: [torchrun, train.py]
    env:
    - name: NCCL_DEBUG
      value: "WARN"
    resources:
      limits:
        nvidia.com/gpu: 4
{{{{- end }}}}
"""

POLICY = """\
apiVersion: bayplan.dev/v1alpha1
kind: Policy
spec:
  rules:
  - match: {kind: Pod}
    gang: {queue: research, placement: {preferred: rack}}
"""


def chart(folder: Path, pods: int) -> dict[str, str]:
    """Write a chart of so many pods, a policy that places each of them, and a topology; their paths."""
    templates = folder / "chart" / "templates"
    templates.mkdir(parents=True)
    (folder / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: large\nversion: 0.1.0\n", encoding="utf-8")
    (templates / "pods.yaml").write_text(CHART.format(pods=pods), encoding="utf-8")
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    topology = write(folder, 640)[-1]
    return {"chart": str(folder / "chart"), "policy": str(folder / "policy.yaml"), "topology": topology}


def many_rules(folder: Path, number: int) -> str:
    """A policy with so many rules, of which the last one places the pods of the chart."""
    rules = "".join(
        f"  - match: {{kind: Pod, name: other-{each}}}\n    gang: {{queue: lab}}\n" for each in range(number - 1)
    )
    path = folder / "rules.yaml"
    path.write_text(POLICY.replace("  rules:\n", f"  rules:\n{rules}"), encoding="utf-8")
    return str(path)


JOBSET = """\
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  annotations: {bayplan.dev/placement: required=rack, bayplan.dev/queue: research}
spec:
  replicatedJobs:
  - name: worker
    replicas: 1
    template:
      spec:
        parallelism: 16
        completions: 16
        completionMode: Indexed
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: main
              image: nvcr.io/nvidia/pytorch:25.08-py3
              resources: {limits: {nvidia.com/gpu: 4}}
"""

SETTINGS = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings-{number}, namespace: ml}}
data: {{key: value-{number}}}
"""

WORKER = """\
---
apiVersion: v1
kind: Pod
metadata:
  name: worker-{number}
  namespace: ml
  labels: {{kai.scheduler/queue: research}}
spec:
  schedulerName: kai-scheduler
  restartPolicy: Never
  containers:
  - name: main
    image: nvcr.io/nvidia/pytorch:25.08-py3
    resources: {{limits: {{nvidia.com/gpu: 4}}}}
"""


def objects(folder: Path, number: int) -> str:
    """Manifests of so many objects: a pod for each nine ConfigMaps."""
    path = folder / f"objects-{number}.yaml"
    with path.open("w", encoding="utf-8") as file:
        file.writelines((SETTINGS if each % 10 else WORKER).format(number=each) for each in range(number))
    return str(path)


FUNCTION = """\
apiVersion: bayplan.dev/v1alpha1
kind: ExpandWorkflows
metadata:
  name: function
  annotations:
    config.kubernetes.io/function: |
      exec: {{path: {program}, args: {arguments}}}
spec:
  topology: topology.yaml
"""


def kustomization(folder: Path, example: Path, program: str, *arguments: str) -> list[str]:
    """A kustomization that passes an example's workflow through a program; the arguments that build it."""
    folder.mkdir()
    for name in ("workflow.yaml", "topology.yaml"):
        (folder / name).write_text((example / name).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "function.yaml").write_text(
        FUNCTION.format(program=program, arguments=json.dumps(arguments)), encoding="utf-8"
    )
    text = "namePrefix: dev-\nresources: [workflow.yaml]\ntransformers: [function.yaml]\n"
    (folder / "kustomization.yaml").write_text(text, encoding="utf-8")
    return ["build", "--enable-alpha-plugins", "--enable-exec", str(folder)]


PROJECT = """\
apiVersion: bayplan.dev/v1alpha1
kind: Project
spec:
  topology: {topology}
  outputs:
  - workflows: ["*.workflow.yaml"]
    to: manifests/{{workflow}}/
"""


def project(folder: Path, example: Path, workflows: int) -> str:
    """A bayplan.yaml with so many copies of an example's workflow."""
    folder.mkdir()
    text = (example / "workflow.yaml").read_text(encoding="utf-8")
    for number in range(workflows):
        copy = text.replace("name: pretrain", f"name: pretrain-{number}")
        (folder / f"{number}.workflow.yaml").write_text(copy, encoding="utf-8")
    path = folder / "bayplan.yaml"
    (folder / "topology.yaml").write_text((example / "topology.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    path.write_text(PROJECT.format(topology="topology.yaml"), encoding="utf-8")
    return str(path)
