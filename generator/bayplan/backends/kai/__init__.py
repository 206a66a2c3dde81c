"""KAI scheduler 0.10 to 0.17: one PodGroup a gang, one subgroup a group instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.backends.kai.cluster import cluster_objects
from bayplan.backends.kai.estimate import estimate as prove
from bayplan.backends.kai.pod_group import QUEUE as QUEUE_LABEL
from bayplan.backends.kai.pod_group import lower, needs
from bayplan.backends.kai.support import FEATURES, SUPPORT
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.backend import Folding
from bayplan.model.features import Need, Support
from bayplan.model.manifest import Lowered, Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent


NAME = "kai"
COMPONENT = "kai"
KINDS = ("jobset", "job", "pods")
FOLDS: Mapping[str, Folding] = {}

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
    """Nothing beyond what every topology needs."""
    return ()


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """KAI does all that bayplan asks for as it is installed."""
    return ()


def placing() -> tuple[Support, ...]:
    """What it carries of workloads that are there. Loaded when asked for: rendering makes its own."""
    from bayplan.backends.kai.given import GIVEN

    return GIVEN


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Marks and objects for a workload that is there."""
    from bayplan.backends.kai import given as way

    return way.place(plan, shape, target)


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What KAI manifests of the plan must say. Loaded when asked for: rendering never reads back."""
    from bayplan.backends.kai import read_back

    return read_back.intent(plan, target)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The intent that KAI manifests carry."""
    from bayplan.backends.kai import read_back

    return read_back.read(documents)


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterable[Diagnostic]:
    """What is wrong with KAI's objects and with pods for KAI. Loaded when asked for."""
    from bayplan.backends.kai import linting as rules

    return rules.check(objects, topology, target)
