"""One file per family of checks. Each has one function `check` that yields diagnostics about sound values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bayplan.checks import (
    accelerators,
    amounts,
    attachments,
    inventory,
    networks,
    references,
    security,
    templates,
    topology,
    workflow,
)
from bayplan.checks import references as levels
from bayplan.checks import references as pending
from bayplan.core.diagnostics import Diagnostic
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow

WORKFLOW_CHECKS: tuple[Callable[[Workflow], Iterator[Diagnostic]], ...] = (
    workflow.check_naming,
    workflow.check_structure,
    workflow.check_dependencies,
    workflow.check_hosts,
    templates.check_template,
    amounts.check,
)
"""Of a workflow alone."""

TOPOLOGY_CHECKS: tuple[Callable[[ClusterTopology], Iterator[Diagnostic]], ...] = (
    topology.check_nodes,
    topology.check_tree,
    topology.check_nvlink,
    topology.check_labels,
    inventory.check_offer,
    networks.check,
    inventory.check_cards,
    templates.check_pools,
)
"""Of a topology alone."""

SURVEY_CHECKS: tuple[Callable[[ClusterTopology], Iterator[Diagnostic]], ...] = (inventory.check_survey,)
"""Of a topology alone, where one asks about it (`topology check`): infos only."""

TOGETHER: tuple[Callable[[Workflow, ClusterTopology], Iterator[Diagnostic]], ...] = (
    references.check,
    levels.check_levels,
    accelerators.check,
    pending.check_pending,
    templates.check_cards,
    attachments.check,
    networks.check_room,
    security.check,
)
"""Of a workflow on a topology, both sound in themselves."""

TARGETED: tuple[Callable[[Workflow, ClusterTopology, Target], Iterator[Diagnostic]], ...] = (
    templates.check_pod_templates,
)
"""Of both, for the versions that manifests are written for."""

SCHEDULED: tuple[Callable[[Workflow, ClusterTopology, Target, str], Iterator[Diagnostic]], ...] = (
    accelerators.check_pods,
)
"""Of both, for these versions and the scheduler of that name."""
