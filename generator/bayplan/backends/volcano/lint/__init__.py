"""Mistakes in Volcano's objects that others wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.diagnostics import Diagnostic
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """All rules."""
    yield from ()
