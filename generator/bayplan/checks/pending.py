"""What the formats can say and bayplan cannot carry out yet: refused, never dropped."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.places import pod_sets
from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import GANGS, Workflow

WORKLOADS = ("lws",)


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W391 and W396."""
    for index, gang in enumerate(workflow.gangs):
        if gang.workload in WORKLOADS:
            hint = "use jobset, job, pods or volcano-job"
            yield _not_yet("W396", (*GANGS, index, "workload"), f'workload "{gang.workload}"', hint)
    for place in pod_sets(workflow):
        if place.pods.fabric:
            hint = "attach the network with `template` annotations"
            yield _not_yet("W391", (*place.route, "fabric"), "a fabric", hint)


def _not_yet(code: str, route: Route, what: str, hint: str) -> Diagnostic:
    return error(code, route, f"{what} is not supported yet", hint=hint)
