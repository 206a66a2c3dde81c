"""Clusters of any size for the benchmarks, as kubectl prints their nodes: racks of 18, and labels of each node."""

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
