"""Kueue 0.14 to 0.19: levels as annotations of pod templates, groups as slices of one podSet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.backends.kueue.at_once import prove
from bayplan.backends.kueue.lower import lower
from bayplan.backends.kueue.needs import FEATURES, cluster_needs, needs
from bayplan.backends.kueue.notices import notices
from bayplan.backends.kueue.support import SUPPORT
from bayplan.backends.kueue.words import QUEUE as QUEUE_LABEL
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.backend import Folding
from bayplan.model.features import Support
from bayplan.model.manifest import Lowered, Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent


NAME = "kueue"
COMPONENT = "kueue"
KINDS = ("jobset", "job")  # bare pods where a gang asks for them: Kueue tells their podSets apart by requests alone
FOLDS: Mapping[str, Folding] = {"jobset": "all", "job": "all"}

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


def placing() -> tuple[Support, ...]:
    """What it carries of workloads that are there. Loaded when asked for: rendering makes its own."""
    from bayplan.backends.kueue.given import GIVEN

    return GIVEN


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Marks and objects for a workload that is there."""
    from bayplan.backends.kueue import given as way

    return way.place(plan, shape, target)


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What Kueue manifests of the plan must say. Loaded when asked for: rendering never reads back."""
    from bayplan.backends.kueue import read_back

    return read_back.intent(plan, target)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The intent that Kueue manifests carry."""
    from bayplan.backends.kueue import read_back

    return read_back.read(documents)


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """Topologies, flavors and queues."""
    from bayplan.topologies.kueue import source as kueue

    return kueue.write(topology, target)


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterable[Diagnostic]:
    """Mistakes in Kueue's objects and in workloads for Kueue that others wrote."""
    from bayplan.backends.kueue import linting

    return linting.lint(objects, topology, target)
