"""Slurm runs scripts, and there is nothing in Kubernetes that it could place."""

from __future__ import annotations

from bayplan.model.features import Support
from bayplan.model.given import refuses
from bayplan.model.manifest import Lowered, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target

WHY = "Slurm runs batch scripts, no objects of Kubernetes"
HINT = "use `-s slurm-bridge`, by which Slurm places pods, or render a Workflow as a script"
GIVEN: tuple[Support, ...] = tuple(
    row for each in ("place", "copies", "ranks", "gangs") for row in refuses(each, WHY, HINT)
)


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Nothing."""
    return Lowered((), {})
