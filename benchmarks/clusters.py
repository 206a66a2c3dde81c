"""Clusters of any size for the benchmarks, as kubectl prints their nodes and pods: racks of 18, labels of each node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RACK, RACKS_A_LEAF, LEAVES_A_POD = 18, 4, 8
OFFER = {"cpu": "144", "ephemeral-storage": "7000Gi", "memory": "960Gi", "nvidia.com/gpu": "4", "pods": "110"}


def _node(number: int) -> tuple[str, dict[str, str]]:
    """Name and labels. GPU feature discovery stamps each node with a time of its own."""
    rack, slot = divmod(number, RACK)
    leaf = rack // RACKS_A_LEAF
    name = f"gb{rack:04d}n{slot + 1:02d}"
    return name, {
        "backend.coreweave.cloud/fabric": "US-EAST-02A-FAB15",
        "backend.coreweave.cloud/leafgroup": str(140520000 + leaf),
        "backend.coreweave.cloud/superpod": str(leaf // LEAVES_A_POD),
        "beta.kubernetes.io/arch": "arm64",
        "ds.coreweave.com/nvlink.domain": f"DH{rack:04d}-US-EAST-02A",
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.coreweave.cloud/type": "gb200-4x",
        "nvidia.com/gfd.timestamp": str(1755000000 + number),
        "nvidia.com/gpu.clique": f"15bcb00c-203d-4828-a101-{rack:012x}.{rack % 90}",
        "nvidia.com/gpu.count": "4",
        "nvidia.com/gpu.memory": "189471",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-GB200",
    }


def extract(folder: Path, nodes: int) -> tuple[Path, Path]:
    """A slim extract with some cordoned nodes and some that are not ready; and the JSON in its lines as one list."""
    paths = folder / f"nodes-{nodes}.tsv", folder / f"nodes-{nodes}.json"
    offer = json.dumps(OFFER, separators=(",", ":"))
    with paths[0].open("w", encoding="utf-8") as lines, paths[1].open("w", encoding="utf-8") as values:
        for number in range(nodes):
            name, labels = _node(number)
            said = json.dumps(labels, separators=(",", ":"))
            off, ready = "true" if number % 500 == 7 else "", "False" if number % 700 == 3 else "True"
            lines.write(f"{name}\t{off}\t{ready}\t{offer}\t{said}\t\t\n")
            values.write(f"{',' if number else '['}{offer},{said}")
        values.write("]")
    return paths


def full(folder: Path, nodes: int) -> Path:
    """`kubectl get nodes -o json`: 10 kB a node, most of it images."""
    path = folder / f"nodes-full-{nodes}.json"
    with path.open("w", encoding="utf-8") as file:
        file.write('{"apiVersion":"v1","items":[')
        file.writelines(_objects(nodes))
        file.write('],"kind":"List","metadata":{"resourceVersion":""}}\n')
    return path


def _objects(nodes: int) -> Iterator[str]:
    names = [f"registry.example.com/team/image-{number}" for number in range(50)]
    images = [{"names": [f"{name}@sha256:{0:064x}", f"{name}:v1"], "sizeBytes": 10**8} for name in names]
    for number in range(nodes):
        name, labels = _node(number)
        node: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"labels": labels, "name": name, "resourceVersion": str(number)},
            "spec": {"providerID": f"example://{name}"},
            "status": {
                "allocatable": {**OFFER, "memory": f"{10**9 - number % 7}Ki"},
                "capacity": OFFER,
                "conditions": [{"status": "True", "type": "Ready"}],
                "images": images,
            },
        }
        yield ("," if number else "") + json.dumps(node, separators=(",", ":"))


def pod(number: int) -> dict[str, Any]:
    """A pod of a training job, with all that the API server adds. Two of them fill a node of `workloads.hall`."""
    job, rank = divmod(number, 64)
    rack, slot = divmod(number // 2, RACK)
    name, begun = f"train-{job}-worker-0-{rank}", "2026-01-05T08:15:30Z"
    labels = {
        "app.kubernetes.io/name": f"train-{job}",
        "app.kubernetes.io/part-of": "research",
        "batch.kubernetes.io/job-completion-index": str(rank),
        "batch.kubernetes.io/job-name": f"train-{job}-worker-0",
        "jobset.sigs.k8s.io/jobset-name": f"train-{job}",
        "jobset.sigs.k8s.io/replicatedjob-name": "worker",
        "kai.scheduler/queue": "research",
    }
    owner = {"apiVersion": "batch/v1", "blockOwnerDeletion": True, "controller": True, "kind": "Job"}
    owner |= {"name": f"train-{job}-worker-0", "uid": f"{job:08x}-203d-4828-a101-000000000000"}
    requests = {"cpu": "64", "memory": "400Gi", "nvidia.com/gpu": "2"}
    own = {
        "command": ["torchrun", "--nnodes=64", "--nproc-per-node=2", "--rdzv-backend=c10d", "/workspace/train.py"],
        "env": [{"name": f"NCCL_SETTING_{each}", "value": f"value {each} of the setting"} for each in range(24)],
        "image": "registry.example.com/research/train:25.08",
        "imagePullPolicy": "IfNotPresent",
        "name": "main",
        "ports": [{"containerPort": 29500, "protocol": "TCP"}],
        "resources": {"limits": requests, "requests": requests},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [{"mountPath": f"/mnt/{each}", "name": f"volume-{each}"} for each in range(4)],
    }
    state = {"running": {"startedAt": begun}}
    status = {"containerID": f"containerd://{number:064x}", "image": own["image"], "imageID": f"sha256:{0:064x}"}
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    tolerated = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "nvidia.com/gpu", "example.com/team")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {key: value for key, value in labels.items() if "job" in key},
            "creationTimestamp": begun,
            "generateName": f"{name}-",
            "labels": labels,
            "name": f"{name}-x7k2p",
            "namespace": "research",
            "ownerReferences": [owner],
            "resourceVersion": str(number),
            "uid": f"{number:08x}-0000-4000-8000-000000000000",
        },
        "spec": {
            "containers": [own],
            "nodeName": f"r{rack}-n{slot + 1:02d}",
            "restartPolicy": "Never",
            "schedulerName": "kai-scheduler",
            "tolerations": [{"effect": "NoExecute", "key": each, "operator": "Exists"} for each in tolerated],
            "volumes": [{"emptyDir": {"sizeLimit": "10Gi"}, "name": f"volume-{each}"} for each in range(4)],
        },
        "status": {
            "conditions": [{"lastTransitionTime": begun, "status": "True", "type": each} for each in conditions],
            "containerStatuses": [{**status, "name": "main", "ready": True, "restartCount": 0, "state": state}],
            "hostIP": "10.0.0.1",
            "phase": "Running",
            "podIP": "10.1.0.1",
            "startTime": begun,
        },
    }


def running(folder: Path, number: int) -> tuple[Path, Path]:
    """`kubectl get pods -o json`, and the extract of the documentation."""
    paths = folder / f"pods-{number}.json", folder / f"pods-{number}.tsv"
    with paths[0].open("w", encoding="utf-8") as file, paths[1].open("w", encoding="utf-8") as lines:
        file.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        for each in range(number):
            made = pod(each)
            file.write(f"{',' if each else ''}{json.dumps(made, indent=4)}\n".replace("\n", "\n        "))
            meta, (own,) = made["metadata"], made["spec"]["containers"]
            cells = [meta["namespace"], meta["name"], made["spec"]["nodeName"], "", "Running"]
            cells += map(_short, (meta["labels"], meta["ownerReferences"]))
            lines.write("\t".join((*cells, _short(own["resources"]) + _short(own["ports"]), "", "", "", "")) + "\n")
        file.write('],\n    "kind": "List",\n    "metadata": {"resourceVersion": ""}\n}\n')
    return paths


def _short(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
