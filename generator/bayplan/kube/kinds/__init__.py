"""One file per workload kind: how it is named and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bayplan.kube.kinds import job, jobset, pods, sbatch, volcano_job
from bayplan.kube.kinds.parts import Piece, instances
from bayplan.kube.ranks import Numbers
from bayplan.model.features import Support
from bayplan.model.manifest import Manifest, Many, Workload
from bayplan.model.plan import GangPlan, Pods

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object  # a real one takes longer to make than a workflow to read


class Kind(Protocol):
    """What a module in this folder offers."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """The word in `workload:`."""

    @property
    def TITLE(self) -> str:  # noqa: N802
        """What people call it."""

    @property
    def SUPPORT(self) -> tuple[Support, ...]:  # noqa: N802
        """What it can hold."""

    @property
    def INDEX(self) -> str:  # noqa: N802
        """Where a pod finds its own number: a field of its own, or empty when every pod is written out."""

    def longest_name(self, workload: Workload, gang: GangPlan, pods: Pods, /) -> str:
        """The longest pod name that will be derived."""

    def numbers(self, pods: Pods, /) -> Numbers:
        """How a shell in a pod computes its number and that of its copy."""

    def host(self, workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int, /) -> str:
        """The DNS name of one pod, as its siblings reach it; a piece of shell where only a shell knows the copy."""

    def subdomain(self, workload: Workload, gang: GangPlan, /) -> str:
        """The headless Service to name in the pod spec; empty when the kind brings its own."""

    def write(self, workload: Workload, pieces: Mapping[tuple[str, str], Piece], /) -> Iterator[Manifest | Many]:
        """The documents of the workload."""


KINDS: Mapping[str, Kind] = {each.NAME: each for each in (jobset, job, pods, volcano_job, sbatch)}

__all__ = ["KINDS", "Kind", "Numbers", "Piece", "instances"]
