"""One file per family of checks. Each has one function `check` that yields diagnostics about sound values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bayplan.checks import (
    accelerators,
    amounts,
    attachments,
    cards,
    dependencies,
    hosts,
    labels,
    levels,
    naming,
    networks,
    nodes,
    nvlink,
    offer,
    pending,
    pod_templates,
    references,
    security,
    structure,
    survey,
    template,
    tree,
)
from bayplan.diagnostics import Diagnostic
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow

WORKFLOW_CHECKS: tuple[Callable[[Workflow], Iterator[Diagnostic]], ...] = (
    naming.check,
    structure.check,
    dependencies.check,
    hosts.check,
    template.check,
    amounts.check,
)
"""Of a workflow alone."""

TOPOLOGY_CHECKS: tuple[Callable[[ClusterTopology], Iterator[Diagnostic]], ...] = (
    nodes.check,
    tree.check,
    nvlink.check,
    labels.check,
    offer.check,
    networks.check,
    cards.check,
    template.check_pools,
)
"""Of a topology alone."""

SURVEY_CHECKS: tuple[Callable[[ClusterTopology], Iterator[Diagnostic]], ...] = (survey.check,)
"""Of a topology alone, where one asks about it (`topology check`): infos only."""

TOGETHER: tuple[Callable[[Workflow, ClusterTopology], Iterator[Diagnostic]], ...] = (
    references.check,
    levels.check,
    accelerators.check,
    pending.check,
    template.check_cards,
    attachments.check,
    networks.check_room,
    security.check,
)
"""Of a workflow on a topology, both sound in themselves."""

TARGETED: tuple[Callable[[Workflow, ClusterTopology, Target], Iterator[Diagnostic]], ...] = (pod_templates.check,)
"""Of both, for the versions that manifests are written for."""

SCHEDULED: tuple[Callable[[Workflow, ClusterTopology, Target, str], Iterator[Diagnostic]], ...] = (
    accelerators.check_pods,
)
"""Of both, for these versions and the scheduler of that name."""
