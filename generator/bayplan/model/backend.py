"""The contract of a backend: the value `BACKEND` that each package in `backends/` declares.

What a scheduler does not need is left out. Its rules about manifests of others (`RULES` in a module `lint`) and what it
does with workloads that exist already (`EXISTING` in a module `existing`) are loaded only when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from bayplan.core.diagnostics import Diagnostic
from bayplan.core.values import NamedTuple
from bayplan.model.features import Feature, Need, Support
from bayplan.model.manifest import File, Lowered, Manifest, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

Folding = Literal["alike", "all"]
Lower = Callable[[Plan, Shape, Target], Lowered]


class Declaration(NamedTuple):
    """What a scheduler is, and what it carries.

    `component` is its key in `versions:`. `support` has rows for all features that plans may need, and for those that
    only this scheduler is asked for, such as the length of names that it derives; `features` has the latter. `kinds`
    are workload kinds, in the order in which `workload: auto` tries them. `folds` are those in which the instances of
    a group become one. "alike": where only their ranks differ; "all": their ComputeDomains become one too.
    """

    name: str
    component: str
    support: tuple[Support, ...]
    features: Mapping[str, Feature] = {}
    kinds: tuple[str, ...] = ("jobset", "job", "pods")
    folds: Mapping[str, Folding] = {}


def _no_documents(topology: ClusterTopology, target: Target) -> tuple[Manifest | File, ...]:
    return ()


def _no_cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    return ()


class Cluster(NamedTuple):
    """The cluster-scoped objects that workflows refer to, and what they need of a scheduler, whatever runs there."""

    objects: Callable[[ClusterTopology, Target], tuple[Manifest | File, ...]] = _no_documents
    needs: Callable[[ClusterTopology], tuple[Need, ...]] = _no_cluster_needs


def _no_needs(plan: Plan) -> tuple[Need, ...]:
    return ()


def _no_findings(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    return ()


def _no_notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    return ()


class Backend(NamedTuple):
    """One scheduler. All of it is data and pure functions.

    lower     the scheduler's documents and marks. Total: never fails, never warns, never drops.
    needs     how much a plan needs of the declaration's own `features`
    prove     where the scheduler is known not to find a placement that exists
    notices   what must be switched on in the cluster for the manifests to mean what they say
    """

    declared: Declaration
    lower: Lower
    needs: Callable[[Plan], tuple[Need, ...]] = _no_needs
    prove: Callable[[Plan, Target], tuple[Diagnostic, ...]] = _no_findings
    notices: Callable[[Plan, Shape, Target], tuple[Diagnostic, ...]] = _no_notices
    cluster: Cluster = Cluster()
