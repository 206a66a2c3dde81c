"""Slurm runs scripts and cannot place workloads of Kubernetes."""

from __future__ import annotations

from bayplan.model.backend import Support
from bayplan.model.existing import Existing, refuses

WHY = "Slurm runs batch scripts and no Kubernetes objects"
HINT = "use `-s slurm-bridge`, with which Slurm places pods, or write a gang that ends, which is a script"
SUPPORT: tuple[Support, ...] = tuple(
    row for each in ("place", "copies", "ranks", "gangs") for row in refuses(each, WHY, HINT)
)

EXISTING = Existing(SUPPORT)
