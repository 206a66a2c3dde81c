"""What is wrong with manifests that others wrote for Kueue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.backends.kueue.linting import cluster, workloads
from bayplan.core.diagnostics import Diagnostic
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """Findings in cluster objects and workloads; nothing about what is not Kueue's."""
    yield from cluster.rules(objects, topology, target)
    yield from workloads.rules(objects, topology, target)
