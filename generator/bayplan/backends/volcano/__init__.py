"""Volcano 1.14.3 to 1.15: a PodGroup with subgroups for each gang, or a Volcano Job with partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.backends.volcano.cluster import cluster_objects
from bayplan.backends.volcano.lowering import lower
from bayplan.backends.volcano.needs import cluster_needs, needs
from bayplan.backends.volcano.notices import notices
from bayplan.backends.volcano.support import FEATURES, SUPPORT
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.backend import Folding
from bayplan.model.features import Support
from bayplan.model.manifest import Lowered, Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent


NAME = "volcano"
COMPONENT = "volcano"
KINDS = ("jobset", "job", "pods", "volcano-job")
FOLDS: Mapping[str, Folding] = {"volcano-job": "alike"}

QUEUE_LABEL = "scheduling.volcano.sh/queue-name"
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
    """Nothing is known that Volcano misses for certain; that it takes no subgroup back is told in its docs."""
    return ()


def placing() -> tuple[Support, ...]:
    """What it carries of workloads that are there. Loaded when asked for: rendering makes its own."""
    from bayplan.backends.volcano.given import GIVEN

    return GIVEN


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Marks and objects for a workload that is there."""
    from bayplan.backends.volcano import given as way

    return way.place(plan, shape, target)


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What Volcano manifests of the plan must say. Loaded when asked for: rendering never reads back."""
    from bayplan.backends.volcano import read_back

    return read_back.intent(plan, target)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The intent that Volcano manifests carry."""
    from bayplan.backends.volcano import read_back

    return read_back.read(documents)


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterable[Diagnostic]:
    """Mistakes in HyperNodes, PodGroups, Volcano Jobs and pods that others wrote."""
    from bayplan.backends.volcano.linting import lint as rules

    return rules(objects, topology, target)
