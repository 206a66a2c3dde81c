"""kube-scheduler of Kubernetes 1.35 to 1.37: Workload, PodGroup and CompositePodGroup (scheduling.k8s.io)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.backends.native.gates import notices
from bayplan.backends.native.groups import lower
from bayplan.backends.native.needs import needs
from bayplan.backends.native.support import FEATURES, SUPPORT
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.backend import Folding
from bayplan.model.features import Need, Support
from bayplan.model.manifest import Lowered, Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent


NAME = "native"
COMPONENT = "kubernetes"
KINDS = ("jobset", "job", "pods")
FOLDS: Mapping[str, Folding] = {}
"""A pod template names one PodGroup, so every placed group needs templates of its own."""

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
    """Said once, so that an export that writes nothing is no riddle."""
    return (Need("levels-as-objects", 1, ("topology", "metadata", "name")),)


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """None: kube-scheduler reads node labels as they are."""
    return ()


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """Nothing is known that kube-scheduler never finds; what it may miss is in the rows."""
    return ()


def placing() -> tuple[Support, ...]:
    """What it carries of workloads that are there. Loaded when asked for: rendering makes its own."""
    from bayplan.backends.native.given import GIVEN

    return GIVEN


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Marks and objects for a workload that is there."""
    from bayplan.backends.native import given as way

    return way.place(plan, shape, target)


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What the manifests of the plan must say. Loaded when asked for: rendering never reads back."""
    from bayplan.backends.native import read_back

    return read_back.intent(plan, target)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The intent that manifests carry."""
    from bayplan.backends.native import read_back

    return read_back.read(documents)


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterable[Diagnostic]:
    """Mistakes in groups, and in the pods that name them, that others wrote."""
    from bayplan.backends.native.linting import lint as rules

    return rules(objects, topology, target)
