"""KAI scheduler 0.10 to 0.17: one PodGroup a gang, one subgroup a group instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayplan.backends.kai.cluster import cluster_objects
from bayplan.backends.kai.estimate import estimate as prove
from bayplan.backends.kai.pod_group import lower, needs
from bayplan.backends.kai.support import SUPPORT
from bayplan.diagnostics import Outcome
from bayplan.model.manifest import Manifest
from bayplan.model.plan import Plan
from bayplan.model.target import Target

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent

NAME = "kai"
COMPONENT = "kai"
KINDS = ("jobset", "job", "pods")

__all__ = ["COMPONENT", "KINDS", "NAME", "SUPPORT", "cluster_objects", "intent", "lower", "needs", "prove", "read"]


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What KAI manifests of the plan must say. Loaded when asked for: rendering never reads back."""
    from bayplan.backends.kai import read_back

    return read_back.intent(plan, target)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The intent that KAI manifests carry."""
    from bayplan.backends.kai import read_back

    return read_back.read(documents)
