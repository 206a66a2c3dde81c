"""Rules about objects that others wrote, whichever scheduler they are for. One file per family."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic
from bayplan.linting import claims, networks, nvlink, objects, schedulers, workloads
from bayplan.linting.objects import LintContext, Rule

RULES: tuple[Rule, ...] = (
    objects.check,
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


def lint(context: LintContext) -> Iterator[Diagnostic]:
    """What is wrong with objects in themselves and with each other. Without pools, nothing is said about nodes."""
    for rule in RULES:
        yield from rule(context)
