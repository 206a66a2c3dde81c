"""Koordinator 1.7 and 1.8: one PodGroup a gang, its placement as a network-topology-spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.backends.koordinator.pod_group import QUOTA, lower
from bayplan.backends.koordinator.support import FEATURES, SUPPORT
from bayplan.backends.koordinator.wants import cluster_needs, needs, notices
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.backend import Folding
from bayplan.model.features import Support
from bayplan.model.manifest import Lowered, Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.koordinator import write as cluster_objects

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent


NAME = "koordinator"
COMPONENT = "koordinator"
KINDS = ("jobset", "job", "pods")
FOLDS: Mapping[str, Folding] = {}
"""None: with a replicatedJob for each group instance, pod names begin with the group, and sort with it."""

QUEUE_LABEL = QUOTA
__all__ = [
    "COMPONENT",
    "FEATURES",
    "FOLDS",
    "KINDS",
    "NAME",
    "QUEUE_LABEL",
    "SUPPORT",
    "cluster_needs",
    "cluster_objects",
    "intent",
    "lint",
    "lower",
    "needs",
    "notices",
    "place",
    "placing",
    "prove",
    "read",
]


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """Its planner counts, and what it counts is exact where all pods are of one size; other gangs are refused."""
    return ()


def placing() -> tuple[Support, ...]:
    """What it carries of workloads that are there. Loaded when asked for: rendering makes its own."""
    from bayplan.backends.koordinator.given import GIVEN

    return GIVEN


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Marks and objects for a workload that is there."""
    from bayplan.backends.koordinator import given as way

    return way.place(plan, shape, target)


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What Koordinator's manifests of the plan must say. Loaded when asked for: rendering never reads back."""
    from bayplan.backends.koordinator import read_back

    return read_back.intent(plan, target)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The intent that Koordinator's manifests carry."""
    from bayplan.backends.koordinator import read_back

    return read_back.read(documents)


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterable[Diagnostic]:
    """Mistakes in ClusterNetworkTopologies, PodGroups and gang annotations that others wrote."""
    from bayplan.backends.koordinator import lint_gang, lint_topology

    return (*lint_topology.lint(objects, topology), *lint_gang.lint(objects, topology, target))
