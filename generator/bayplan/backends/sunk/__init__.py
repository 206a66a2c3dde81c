"""CoreWeave's SUNK Pod Scheduler, SUNK 7.6 to 8.2, as its public documentation has it: every pod is a Slurm job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.backends.sunk.marks import lower, needs, notices
from bayplan.backends.sunk.support import FEATURES, SUPPORT
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.backend import Folding
from bayplan.model.features import Need, Support
from bayplan.model.manifest import Lowered, Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent


NAME = "sunk"
COMPONENT = "sunk"
KINDS = ("jobset", "job", "pods")
FOLDS: Mapping[str, Folding] = {}

QUEUE_LABEL = ""
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


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """Nothing, as there are no cluster-scoped objects."""
    return ()


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """Pods are placed one by one, so what fits is found."""
    return ()


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """None: SUNK writes Slurm's topology from node labels."""
    return ()


def placing() -> tuple[Support, ...]:
    """What it carries of workloads that are there. Loaded when asked for: rendering makes its own."""
    from bayplan.backends.sunk.given import GIVEN

    return GIVEN


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Marks and objects for a workload that is there."""
    from bayplan.backends.sunk import given as way

    return way.place(plan, shape, target)


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What the pods of the plan must say. Loaded when asked for: rendering never reads back."""
    from bayplan.backends.sunk import read_back

    return read_back.intent(plan)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The intent that annotated pods carry."""
    from bayplan.backends.sunk import read_back

    return read_back.read(documents)


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterable[Diagnostic]:
    """What the Pod Scheduler refuses, and what drains its nodes."""
    from bayplan.backends.sunk import rules

    return rules.check(objects, topology, target)
