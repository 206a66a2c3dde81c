"""The first stage: documents -> a workflow and a topology without errors, a backend and the versions of the cluster."""

from bayplan import fabrics, formats
from bayplan.backends import BACKENDS
from bayplan.checks import SCHEDULED, SURVEY_CHECKS, TARGETED, TOGETHER, TOPOLOGY_CHECKS, WORKFLOW_CHECKS
from bayplan.core.diagnostics import Outcome, has_errors
from bayplan.model.formats import Context
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow
from bayplan.passes import Checked, CheckedTopology, Found, Origins, Request, then
from bayplan.planning.defaults import with_networks
from bayplan.planning.pools import name_accelerators, with_card_portions
from bayplan.planning.selection import (
    Given,
    complete,
    reattribute,
    select_backend,
    select_namespace,
    select_target,
    with_default_priority,
)
from bayplan.text.document import Document


def check_workflow(
    document: Document,
    name: str = "",
    context: Context = Context(),  # noqa: B008
    given: Given = Given(),  # noqa: B008
) -> tuple[Outcome[Workflow], Origins]:
    """Reads and checks a workflow, in the named format or in the one that recognizes it."""
    beside = {**context.beside, **document.beside}
    read = formats.workflow(document, name, context._replace(beside=beside, priority=given.priority))
    found = read.diagnostics
    if read.value is not None:
        found += tuple(d for each in WORKFLOW_CHECKS for d in each(read.value))
    checked = Outcome(None if has_errors(found) else read.value, found)
    return then(checked, lambda value: complete(given, value)), {"workflow": read.origins}


def check_topology(document: Document) -> CheckedTopology:
    """Reads and checks a cluster topology."""
    read = formats.topology(document)
    found = read.diagnostics
    if read.value is not None:
        found += topology_findings(read.value)
    return Outcome(None if has_errors(found) else read.value, found), {"topology": read.origins}


def topology_findings(topology: ClusterTopology) -> Found:
    """The diagnostics of a topology from any source."""
    return tuple(d for each in TOPOLOGY_CHECKS for d in each(topology))


def survey_topology(document: Document) -> tuple[Outcome[ClusterTopology], Origins]:
    """Reads and checks a cluster topology, with additional infos."""
    outcome, origins = check_topology(document)
    topology = outcome.value
    more = tuple(d for each in SURVEY_CHECKS for d in each(topology)) if topology else ()
    return Outcome(topology, (*outcome.diagnostics, *more)), origins


def check(request: Request) -> tuple[Outcome[Checked], Origins]:
    """Reads both documents, checks each by itself and both together, and reports all errors in one run."""
    topology, from_topology = request.judged or check_topology(request.topology)
    context = Context(topology.value, request.beside, request.render)
    workflow, from_workflow = check_workflow(request.workflow, request.workflow_format, context, request.given)
    workflow = then(workflow, lambda value: select_namespace(request.namespace, value))
    origins = {**from_workflow, **from_topology}
    found = (*workflow.diagnostics, *topology.diagnostics)
    if workflow.value is None or topology.value is None:
        return Outcome(None, found), origins
    completed = with_default_priority(workflow.value, topology.value)
    portioned = with_card_portions(name_accelerators(completed, topology.value), topology.value)
    connected = with_networks(portioned, topology.value)
    named = connected.value or portioned
    found += connected.diagnostics
    together = (d for each in TOGETHER for d in each(named, topology.value))
    found += reattribute(request.namespace, request.given, named, together)
    backend = select_backend(request.scheduler, named, topology.value, BACKENDS)
    target = select_target(request.target, topology.value)
    found += (*backend.diagnostics, *target.diagnostics)
    if backend.value is None or target.value is None or has_errors(found):
        return Outcome(None, found), origins
    found += tuple(d for each in TARGETED for d in each(named, topology.value, target.value))
    scheduler = backend.value.declared.name
    found += tuple(d for each in SCHEDULED for d in each(named, topology.value, target.value, scheduler))
    checked = Checked(named, fabrics.offering(topology.value), backend.value, target.value)
    return Outcome(None if has_errors(found) else checked, found), origins
