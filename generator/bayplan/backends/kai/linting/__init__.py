"""Rules about KAI's objects and pods for KAI. One file per family.

Sources: KAI scheduler v0.10 to v0.17, CRDs in deployments/kai-scheduler/crds, webhooks in pkg/apis/scheduling and
pkg/admission/webhook, the rest in pkg/podgrouper and pkg/scheduler. What KAI's webhooks refuse is found here too, since
a webhook speaks only in the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bayplan.backends.kai.linting import (
    claims,
    constraints,
    degenerate,
    fields,
    gangs,
    keys,
    minimums,
    pods,
    queues,
    topologies,
    trees,
)
from bayplan.core.diagnostics import Diagnostic
from bayplan.linting.objects import LintContext, lint_context
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

RULES: tuple[Callable[[LintContext], Iterator[Diagnostic]], ...] = (
    gangs.check,
    topologies.check,
    trees.check,
    minimums.check,
    constraints.check,
    degenerate.check,
    queues.check,
    fields.check,
    keys.check,
    pods.check,
    claims.check,
)


def check(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """Everything that KAI's rules find."""
    context = lint_context(objects, topology, target)
    for rule in RULES:
        yield from rule(context)
