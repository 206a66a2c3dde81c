"""The plan of a workload whose shape is given."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan import pipeline
from bayplan._augment.case import Case
from bayplan._augment.cluster import Cluster
from bayplan._augment.completed import completed, own_queue
from bayplan._augment.strangers import uncounted
from bayplan.backends import BACKENDS
from bayplan.checks import accelerators, attachments, given, levels, pending, references
from bayplan.checks.places import pod_sets
from bayplan.diagnostics import Diagnostic, Outcome, has_errors
from bayplan.model.augment import AugmentRequest
from bayplan.model.backend import Backend
from bayplan.model.given import FEATURES
from bayplan.model.workflow import Workflow
from bayplan.pipeline import Checked, Draft, Planned, Request
from bayplan.planning import seats
from bayplan.planning.fidelity import compare
from bayplan.planning.pools import name_accelerators
from bayplan.planning.portions import apportioned
from bayplan.planning.rename import renamed
from bayplan.selection import select_backend

Known = dict[str, Planned]
"""Plans that are well, by everything that went into them but the workload's name."""


def planned(case: Case, request: AugmentRequest, cluster: Cluster, known: Known) -> Outcome[Planned]:
    """The plan; of a workload that is alike but for its name, if that was well. What is for information alone is said
    of the first of them.

    What no API server takes is found first: cards that are no number look like none at all.
    """
    said = tuple(given.check(case.roster))
    if has_errors(said):
        return Outcome(None, said)
    workflow, roster = completed(case, request.namespace, cluster), case.roster
    backend = select_backend(request.scheduler, workflow, cluster.topology, BACKENDS)
    if backend.value is None:
        return Outcome(None, backend.diagnostics)
    if not workflow.queue:
        workflow = workflow._replace(queue=own_queue(roster, backend.value.QUEUE_LABEL))
    nameless = workflow._replace(name="", gangs=(workflow.gangs[0]._replace(name=""),))
    key = repr((nameless, len(workflow.name), roster.seats, roster.gangs, case.carried, case.strangers))
    if key in known and not said:
        found = known[key]
        plan, shape = renamed(found.plan, found.shape, workflow.name)
        return Outcome(found._replace(plan=plan, shape=shape))
    made = _planned(case, workflow, backend.value, request, cluster)
    made = made._replace(diagnostics=(*said, *made.diagnostics))
    if made.value is not None and all(each.severity == "info" for each in made.diagnostics):
        known[key] = made.value
    return made


ADDED = ("W630", "W631", "W632", "W635")
"""What a namespace says to pods that are put on a fabric. What they may do besides is for whoever wrote them."""


def _let_in(workflow: Workflow, cluster: Cluster) -> Iterator[Diagnostic]:
    if any(place.pods.fabric for place in pod_sets(workflow)):
        from bayplan.checks import security

        yield from security.check(workflow, cluster.topology)


def _planned(
    case: Case, workflow: Workflow, backend: Backend, request: AugmentRequest, cluster: Cluster
) -> Outcome[Planned]:
    """The pipeline's check and plan, for a workload whose shape is given."""
    roster = case.roster
    workflow = apportioned(name_accelerators(workflow, cluster.topology), cluster.topology)
    asked = workflow.gangs[0]._replace(workload="auto")  # its kind is there, not asked for
    unbuilt = workflow._replace(gangs=(asked,))
    found = tuple(
        d
        for check in (references.check, levels.check, accelerators.check, pending.check, attachments.check)
        for d in check(unbuilt, cluster.topology)
    )
    found += tuple(each for each in _let_in(unbuilt, cluster) if each.code in ADDED)
    if case.carried:
        found += tuple(seats.kept_domain(workflow.gangs[0]))
    if has_errors(found):
        return Outcome(None, found)
    own = Request(request.topology, request.topology, accept=request.accept)
    checked = Checked(workflow, cluster.topology, backend, cluster.target)
    bound = pipeline.bound(own, checked)
    found += tuple(_milder(each) if case.carried else each for each in bound.diagnostics)
    if bound.value is None:
        return Outcome(None, found)
    plan = seats.merged(bound.value, roster)
    shaped = seats.seated(plan, roster)
    found += (*seats.shared_domains(bound.value), *shaped.diagnostics, *uncounted(case.strangers, plan))
    if shaped.value is not None:
        rows, title = backend.placing(), pipeline.title(backend, cluster.target)
        lost = tuple(compare(seats.needs(shaped.value, roster), rows, cluster.target, title, FEATURES))
        found += lost
        if any(each.code == "F740" for each in lost):
            return Outcome(None, lost)  # whatever else there is to say would be of no use
    settled = pipeline.settled(own, checked, Draft(plan, plan, shaped.value, found))
    return Outcome(settled.value, settled.diagnostics)


def _milder(found: Diagnostic) -> Diagnostic:
    """P506 and P507 as warnings where the ComputeDomain is the chart's own: its pods run, if not as they could."""
    return found._replace(severity="warning") if found.code in ("P506", "P507") else found
