"""The contract of a backend: what a module in `backends/` offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.features import Feature, Need, Support
from bayplan.model.manifest import File, Lowered, Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

if TYPE_CHECKING:
    from typing import Protocol

    from bayplan.model.intent import GangIntent
else:
    Protocol = object  # a real one takes longer to make than a workflow to read


Folding = Literal["alike", "all"]


class Backend(Protocol):
    """One scheduler. All of it is data and pure functions."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """The word in `scheduler:`."""

    @property
    def COMPONENT(self) -> str:  # noqa: N802
        """Its key in `versions:`."""

    @property
    def KINDS(self) -> tuple[str, ...]:  # noqa: N802
        """Workload kinds, in the order in which `workload: auto` tries them."""

    @property
    def SUPPORT(self) -> tuple[Support, ...]:  # noqa: N802
        """What it carries, by feature, amount and version."""

    @property
    def FEATURES(self) -> Mapping[str, Feature]:  # noqa: N802
        """Features that only this backend is asked for, such as the length of names that it derives."""

    @property
    def FOLDS(self) -> Mapping[str, Folding]:  # noqa: N802
        """Workload kinds in which the instances of a group become one. "alike": where only their ranks differ; "all":
        their ComputeDomains become one too."""

    @property
    def QUEUE_LABEL(self) -> str:  # noqa: N802
        """The label or annotation by which workloads or pods name their queue; empty where there is none."""

    def placing(self) -> tuple[Support, ...]:
        """What it carries of workloads that are there (`model.given.FEATURES`)."""

    def needs(self, plan: Plan, /) -> tuple[Need, ...]:
        """Needs that only this backend has, such as the length of names it derives."""

    def cluster_needs(self, topology: ClusterTopology, /) -> tuple[Need, ...]:
        """What its cluster-scoped objects need of it, whatever runs there."""

    def prove(self, plan: Plan, target: Target, /) -> tuple[Diagnostic, ...]:
        """Where the scheduler is known not to find a placement that exists."""

    def notices(self, plan: Plan, shape: Shape, target: Target, /) -> tuple[Diagnostic, ...]:
        """What must be switched on in the cluster for the manifests to mean what they say."""

    def lower(self, plan: Plan, shape: Shape, target: Target, /) -> Lowered:
        """The scheduler's documents and marks. Total: never fails, never warns, never drops."""

    def place(self, plan: Plan, shape: Shape, target: Target, /) -> Lowered:
        """The same for a workload that is there: marks for pod templates that are what they are. The plan's groups are
        instances, the shape's are folded; marks may be keyed by either, and are the same for all of one podSet."""

    def intent(self, plan: Plan, target: Target, /) -> tuple[GangIntent, ...]:
        """The plan's intent in the words of the manifests."""

    def read(self, documents: Sequence[Manifest], /) -> Outcome[tuple[GangIntent, ...]]:
        """The way back: the intent that manifests carry."""

    def cluster_objects(self, topology: ClusterTopology, target: Target, /) -> tuple[Manifest | File, ...]:
        """The cluster-scoped objects that workflows refer to."""

    def lint(self, objects: Sequence[Object], topology: ClusterTopology, target: Target, /) -> Iterable[Diagnostic]:
        """What is wrong with this scheduler's objects that others wrote: each, together, and on the cluster.

        A topology without pools says nothing about nodes."""
