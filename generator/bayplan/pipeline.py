"""The pipeline: a workflow and a topology -> manifests. It names no scheduler and no kind of workload.

    check      documents -> a workflow and a topology without errors      passes/checking.py
    PLAN       -> a plan with pools, levels, ranks and workloads          passes/planning.py
    JUDGE      -> the proof, and what the scheduler loses                 passes/judging.py
    LOWER      -> manifests in the order to apply them                    passes/lowering.py

A pass is a function from a value to the next one. It says itself when it applies.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TypeVar

from bayplan.core.diagnostics import Outcome, has_errors
from bayplan.passes import (
    Checked,
    CheckedTopology,
    Compiled,
    Documents,
    Draft,
    Found,
    Origins,
    Planned,
    Request,
    judging,
    lowering,
    planning,
    then,
)
from bayplan.passes.checking import check, check_topology, check_workflow, survey_topology, topology_findings
from bayplan.passes.exporting import cluster_objects, export
from bayplan.passes.judging import enforces_quotas, quotas, title
from bayplan.passes.linting import LintRequest, lint
from bayplan.passes.planning import bind_workflow, with_ranks

PLAN: tuple[Callable[[Draft], Draft], ...] = (
    planning.share_domains_of_controllers,
    planning.assign_ranks,
    planning.choose_workloads,
    planning.drop_waiting,
)

JUDGE: tuple[Callable[[Draft], Draft], ...] = (
    judging.prove,
    judging.report_gaps,
    judging.report_running,
    judging.report_growth,
    judging.report_unproven,
    judging.report_quotas,
    judging.report_notices,
    judging.accept,
)

LOWER: tuple[Callable[[lowering.Job], lowering.Job], ...] = (
    lowering.share_objects,
    lowering.place_controlled,
    lowering.resolve_hosts,
    lowering.wrap_commands,
    lowering.write_objects,
    lowering.adopt,
    lowering.patch_runtimes,
    lowering.add_cluster_objects,
    lowering.order,
)


def compile(request: Request) -> tuple[Outcome[Compiled], Origins]:
    """Compiles documents to manifests. The origins lead from model routes back to routes of the source."""
    checked, origins = check(request)
    planned = then(checked, lambda value: plan(request, value))
    return then(planned, lambda value: manifests(request, value)), origins


def plan(request: Request, checked: Checked) -> Outcome[Planned]:
    """The proven plan of a checked workflow."""
    return then(planning.begin(request, checked), lambda draft: judge(passed(PLAN, draft)))


def judge(draft: Draft) -> Outcome[Planned]:
    """The plan, unless it does not fit or the scheduler cannot carry it."""
    draft = passed(JUDGE, draft)
    if draft.shape is None or has_errors(draft.findings):
        return Outcome(None, draft.findings)
    backend, target = draft.checked.backend, draft.checked.target
    planned = Planned(draft.plan, draft.shape, backend, target, draft.accepted, draft.proof.value)
    return Outcome(planned, draft.findings)


def manifests(request: Request, planned: Planned) -> Outcome[Compiled]:
    """The manifests of a proven plan."""
    return lowering.finish(passed(LOWER, lowering.begin(request, planned)))


T = TypeVar("T")


def passed(passes: Iterable[Callable[[T], T]], value: T) -> T:
    """The value after all passes."""
    return reduce(lambda current, step: step(current), passes, value)
