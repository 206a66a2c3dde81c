"""Slurm runs scripts, and there is nothing in Kubernetes that it could place."""

from __future__ import annotations

from bayplan.model.backend import Support
from bayplan.model.existing import Existing, refuses

WHY = "Slurm runs batch scripts, no objects of Kubernetes"
HINT = "use `-s slurm-bridge`, by which Slurm places pods, or render a Workflow as a script"
SUPPORT: tuple[Support, ...] = tuple(
    row for each in ("place", "copies", "ranks", "gangs") for row in refuses(each, WHY, HINT)
)

EXISTING = Existing(SUPPORT)
