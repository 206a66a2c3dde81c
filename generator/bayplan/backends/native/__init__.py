"""kube-scheduler of Kubernetes 1.35 to 1.37: Workload, PodGroup and CompositePodGroup (scheduling.k8s.io)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.backends.native.gates import notices as switched_on
from bayplan.backends.native.groups import lower
from bayplan.backends.native.needs import needs
from bayplan.backends.native.support import FEATURES, SUPPORT
from bayplan.diagnostics import Diagnostic, Outcome
from bayplan.model.features import Need
from bayplan.model.manifest import Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent

NAME = "native"
COMPONENT = "kubernetes"
KINDS = ("jobset", "job", "pods")
FOLDS: Mapping[str, str] = {}
"""A pod template names one PodGroup, so every placed group needs templates of its own."""

__all__ = ["COMPONENT", "FEATURES", "FOLDS", "KINDS", "NAME", "SUPPORT", "lower", "needs"]
