"""Rules about objects that others wrote, whichever scheduler they are for. One file per family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from bayplan.core.diagnostics import Diagnostic
from bayplan.linting import claims, networks, nvlink, schedulers, workloads
from bayplan.linting import objects as identity
from bayplan.linting.objects import LintContext, lint_context
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

RULES: tuple[Callable[[LintContext], Iterator[Diagnostic]], ...] = (
    identity.check,
    schedulers.check,
    schedulers.check_gangs,
    workloads.check_jobsets,
    workloads.check_labels,
    claims.check,
    claims.check_compute_domains,
    nvlink.check,
    workloads.check_hami,
    networks.check,
    workloads.check_torchx,
    workloads.check_refused,
)


def lint(objects: Iterable[Object], topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """What is wrong with objects in themselves and with each other. Without pools, nothing is said about nodes."""
    context = lint_context(objects, topology, target)
    for rule in RULES:
        yield from rule(context)
