"""Volcano Jobs and AppWrappers that TorchX wrote: what shells make of a role's name in them."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic
from bayplan.linting.world import World
from bayplan.workflows.torchx.broken import broken


def check(world: World) -> Iterator[Diagnostic]:
    """W573 (rule TX01)."""
    for template in world.templates:
        yield from broken(template)
