"""SlinkyProject's slurm-bridge 1.0 to 1.2: pods that Slurm places, one external job a PodGroup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.backends.slurm_bridge.jobs import needs
from bayplan.backends.slurm_bridge.nodes import prove
from bayplan.backends.slurm_bridge.pod_group import lower, notices
from bayplan.backends.slurm_bridge.support import FEATURES, SUPPORT
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.backend import Folding
from bayplan.model.features import Need, Support
from bayplan.model.manifest import Lowered, Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent


NAME = "slurm-bridge"
COMPONENT = "slurmBridge"
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


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """None in Kubernetes: levels are Slurm's, whose topology file `topology export --to slurm` writes."""
    return ()


def placing() -> tuple[Support, ...]:
    """What it carries of workloads that are there. Loaded when asked for: rendering makes its own."""
    from bayplan.backends.slurm_bridge.given import GIVEN

    return GIVEN


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Marks and objects for a workload that is there."""
    from bayplan.backends.slurm_bridge import given as way

    return way.place(plan, shape, target)


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What the PodGroups of the plan must say. Loaded when asked for: rendering never reads back."""
    from bayplan.backends.slurm_bridge import read_back

    return read_back.intent(plan, target)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The intent that PodGroups carry."""
    from bayplan.backends.slurm_bridge import read_back

    return read_back.read(documents)


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterable[Diagnostic]:
    """What slurm-bridge refuses, ignores or never starts."""
    from bayplan.backends.slurm_bridge import rules

    return rules.check(objects, topology, target)
