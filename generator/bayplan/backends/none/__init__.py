"""No gang scheduler: plain manifests for Kubernetes' default scheduler, with pod affinity as best effort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.backends.none.affinity import lower, needs
from bayplan.backends.none.support import FEATURES, SUPPORT
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.backend import Folding
from bayplan.model.features import Need, Support
from bayplan.model.manifest import Lowered, Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent


NAME = "none"
COMPONENT = "kubernetes"
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


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """Any placement may be missed, because no pod waits for another; `required-level` says so."""
    return ()


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """Pod affinity is on in every cluster."""
    return ()


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """Nothing, as there are no cluster-scoped objects."""
    return ()


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """None: pod affinity reads node labels."""
    return ()


def placing() -> tuple[Support, ...]:
    """What it carries of workloads that are there. Loaded when asked for: rendering makes its own."""
    from bayplan.backends.none.given import GIVEN

    return GIVEN


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Marks and objects for a workload that is there."""
    from bayplan.backends.none import given as way

    return way.place(plan, shape, target)


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What plain manifests of the plan must say. Loaded when asked for: rendering never reads back."""
    from bayplan.backends.none import read_back

    return read_back.intent(plan)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The intent that pod affinity carries."""
    from bayplan.backends.none import read_back

    return read_back.read(documents)


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> tuple[Diagnostic, ...]:
    """Affinity may be written for a hundred other reasons: nothing of it is known to be wrong."""
    return ()
