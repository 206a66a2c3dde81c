"""Rules about objects that others wrote, whichever scheduler they are for. One file per family."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic
from bayplan.linting import (
    claims,
    compute_domains,
    gangs,
    hami,
    identity,
    jobsets,
    labels,
    networks,
    nvlink,
    refused,
    schedulers,
    torchx,
)
from bayplan.linting.world import Rule, World

RULES: tuple[Rule, ...] = (
    identity.check,
    schedulers.check,
    gangs.check,
    jobsets.check,
    labels.check,
    claims.check,
    compute_domains.check,
    nvlink.check,
    hami.check,
    networks.check,
    torchx.check,
    refused.check,
)


def lint(world: World) -> Iterator[Diagnostic]:
    """What is wrong with objects in themselves and with each other. Without pools, nothing is said about nodes."""
    for rule in RULES:
        yield from rule(world)
