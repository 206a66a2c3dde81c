"""What the formats can say and bayplan cannot carry out yet: refused, never dropped."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, error
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import GANGS, Workflow

WORKLOADS = ("lws",)


def check(workflow: Workflow, _: ClusterTopology) -> Iterator[Diagnostic]:
    """W396."""
    for index, gang in enumerate(workflow.gangs):
        if gang.workload in WORKLOADS:
            message = f'workload "{gang.workload}" is not supported yet'
            yield error("W396", (*GANGS, index, "workload"), message, hint="use jobset, job, pods or volcano-job")
