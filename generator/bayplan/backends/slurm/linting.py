"""Scripts are no Kubernetes objects, so `bayplan lint` hands none of them on; what reads them is `read`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayplan.diagnostics import Diagnostic
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterable[Diagnostic]:
    """Nothing yet."""
    return ()
