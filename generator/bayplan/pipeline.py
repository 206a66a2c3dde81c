"""All stages of bayplan: they read, check, plan, shape, compare, lower and assemble.

    check         Reads both documents, checks them, and selects backend and target.
    plan          Finds pools, ComputeDomains, ranks and workload kinds. Reports losses, and proves the fit.
    manifests     Makes the objects of the backend and the workloads with its marks, in the order to apply them.

`compile` runs all three. Every step is a function from values to an Outcome, and none names a scheduler.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bayplan import backends, fabrics, formats
from bayplan.backends import BACKENDS
from bayplan.checks import SCHEDULED, SURVEY_CHECKS, TARGETED, TOGETHER, TOPOLOGY_CHECKS, WORKFLOW_CHECKS
from bayplan.core.diagnostics import Diagnostic, Outcome, Route, has_errors
from bayplan.core.phrases import single_line
from bayplan.kube.kinds import CONTROLLED, SBATCH, TRAINJOB, WORKFLOW_LABEL
from bayplan.manifests.assemble import assemble, auxiliary_objects, priority_classes
from bayplan.manifests.order import collisions, in_apply_order, oversized, workflow_meta
from bayplan.model.backend import CHAINED, FEATURES, Backend, Need
from bayplan.model.formats import Context
from bayplan.model.manifest import File, Item, Lowered, Manifest, Object, Shape
from bayplan.model.plan import Occupant, Plan, plan_queues
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, named_queues
from bayplan.model.workflow import Workflow, pod_sets, serves, varies
from bayplan.planning import bind as ranks
from bayplan.planning import compute_domains, device_checks
from bayplan.planning.bind import bind
from bayplan.planning.fidelity import compare, find_row, firm, plan_needs, topology_needs
from bayplan.planning.fit import Fits, diagnose
from bayplan.planning.pools import name_accelerators, with_card_portions
from bayplan.planning.selection import (
    Given,
    assumed_versions,
    complete,
    default_namespace,
    nothing_to_export,
    reattribute,
    select_backend,
    select_gangs,
    select_namespace,
    select_target,
    with_default_priority,
)
from bayplan.planning.shape import Offer, shape, with_shared_objects, without_waiting
from bayplan.planning.workload_checks import (
    components,
    elsewhere,
    fitting,
    running,
    unmet_preferences,
    unmodelled_constraints,
)
from bayplan.text.document import Document
from bayplan.topologies import WRITTEN

if TYPE_CHECKING:
    from bayplan.model.formats import Exporter


Origins = Mapping[str, Mapping[Route, Route]]
Found = tuple[Diagnostic, ...]
Documents = tuple[Item, ...]
CheckedTopology = tuple[Outcome[ClusterTopology], Origins]
"""A topology file after reading and checking it."""


class Request(NamedTuple):
    """One workflow to compile on one topology, with the options of the command line."""

    workflow: Document
    topology: Document
    scheduler: str = ""
    namespace: str = ""
    given: Given = Given()
    target: Mapping[str, str] = {}
    gangs: tuple[str, ...] = ()
    cluster_objects: bool = False
    accept: frozenset[str] = frozenset()
    workflow_format: str = ""
    beside: Mapping[str, Document] = {}  # subject -> further documents for the workflow's format
    render: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None  # renders templates in another process
    judged: CheckedTopology | None = None  # the result of `check_topology`, if it is known already
    prove: bool = True  # whether to prove the fit, on which no manifest depends
    occupied: Mapping[str, tuple[Occupant, ...]] = {}  # what runs in the cluster


class Checked(NamedTuple):
    """A workflow and a topology without errors, by themselves and together."""

    workflow: Workflow
    topology: ClusterTopology
    backend: Backend
    target: Target


class Planned(NamedTuple):
    """A plan that fits, and its workloads."""

    plan: Plan
    shape: Shape
    backend: Backend
    target: Target
    accepted: tuple[str, ...] = ()  # codes of gaps that the user accepted
    fits: Fits | None = None  # the proof; None if the user accepted that there is none


class Compiled(NamedTuple):
    """The result: the plan, and the documents in the order to apply them."""

    planned: Planned
    documents: Documents


def compile(request: Request) -> tuple[Outcome[Compiled], Origins]:
    """Compiles documents to manifests. The origins lead from model routes back to routes of the source."""
    checked, origins = check(request)
    planned = _then(checked, lambda value: plan(request, value))
    return _then(planned, lambda value: manifests(request, value)), origins


A = TypeVar("A")
B = TypeVar("B")


def _then(outcome: Outcome[A], step: Callable[[A], Outcome[B]]) -> Outcome[B]:
    """The next step on the value, if there is one, with the diagnostics of both."""
    if outcome.value is None:
        return Outcome(None, outcome.diagnostics)
    following = step(outcome.value)
    return Outcome(following.value, (*outcome.diagnostics, *following.diagnostics))


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
    return _then(checked, lambda value: complete(given, value)), {"workflow": read.origins}


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
    workflow = _then(workflow, lambda value: select_namespace(request.namespace, value))
    origins = {**from_workflow, **from_topology}
    found = (*workflow.diagnostics, *topology.diagnostics)
    if workflow.value is None or topology.value is None:
        return Outcome(None, found), origins
    completed = with_default_priority(workflow.value, topology.value)
    named = with_card_portions(name_accelerators(completed, topology.value), topology.value)
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


def plan(request: Request, checked: Checked) -> Outcome[Planned]:
    """Resolves pools, levels, ComputeDomains, ranks and names, proves the fit, and compares needs with support."""
    backend, target = checked.backend, checked.target
    claimed = bind_workflow(request, checked)
    if claimed.value is None:
        return Outcome(None, claimed.diagnostics)
    asked = ranks.assign_ranks(claimed.value)
    declared = backend.declared
    features, name = {**FEATURES, **declared.features}, title(backend, target)
    offer = Offer(name, declared.kinds, declared.support, declared.folds, declared.kind_needs, features)
    found, own = [*claimed.diagnostics], claimed.value
    if _has_controlled(own, target):
        from bayplan.planning import existing

        offer = offer._replace(placed=backends.existing(declared.name).support, placing=existing.own_needs)
        found += existing.own_shared_domains(own)
        own = existing.with_own_domains(own)
    ranked = with_ranks(own, backend)
    shaped = shape(ranked, offer, target)
    found += shaped.diagnostics
    if shaped.value is not None:
        asked, ranked = (without_waiting(each, shaped.value) for each in (asked, ranked))
        found += [
            *fitting(ranked, shaped.value, target),
            *assumed_versions(target, components(ranked, shaped.value, backend)),
        ]
    return prove_and_compare(request, checked, Draft(asked, ranked, shaped.value, tuple(found)))


def _has_controlled(plan: Plan, target: Target) -> bool:
    """Whether a controller makes all copies of a gang from a few pod templates, or may make them."""
    launched = target.versions.get("mpiOperator") and any(place.pods.launcher for place in pod_sets(plan.workflow))
    return bool(launched) or any(serves(gang.gang) or gang.gang.workload in CONTROLLED for gang in plan.gangs)


def bind_workflow(request: Request, checked: Checked) -> Outcome[Plan]:
    """The plan with pools, levels and ComputeDomains, without a shape yet."""
    workflow, topology = checked.workflow, checked.topology
    namespace = default_namespace(workflow, topology)
    queue = workflow.queue or topology.defaults.get("queue", "")
    selected = _then(bind(workflow, topology, namespace, queue), lambda plan: select_gangs(plan, request.gangs))
    selected = _then(selected, lambda plan: compute_domains.assign(plan._replace(occupied=request.occupied)))
    if selected.value and CHAINED in checked.backend.declared.features and topology.has_quotas:
        from bayplan.planning import queues
        from bayplan.topologies import kueue

        enforced = kueue.enforced(topology, checked.target)
        return selected._replace(value=queues.without_chains(selected.value, enforced))
    return selected


def with_ranks(plan: Plan, backend: Backend) -> Plan:
    """The plan with ranks, and with the ComputeDomains that the backend can make."""
    shared = "all" in backend.declared.folds.values()
    return ranks.assign_ranks(compute_domains.merge(plan) if shared else plan)


class Draft(NamedTuple):
    """A plan before the proof: as requested, as it will be, its shape (or None), and the diagnostics."""

    asked: Plan
    plan: Plan
    shape: Shape | None
    found: Found


def prove_and_compare(request: Request, checked: Checked, draft: Draft) -> Outcome[Planned]:
    """Reports what the scheduler loses, and proves the fit. Gaps that the user accepts become warnings."""
    backend, target, plan = checked.backend, checked.target, draft.plan
    needs = (*plan_needs(draft.asked), *backend.needs(draft.asked))
    proof = diagnose(plan, enforces_quotas(plan, backend, target)) if request.prove else Outcome(None)
    found = [*draft.found, *device_checks.check(draft.asked), *proof.diagnostics, *gaps(needs, backend, target)]
    found += elsewhere(plan, draft.shape is not None and draft.shape.existing)
    found += device_checks.gaps(plan, backend.declared.name, title(backend, target), target)
    if request.prove and request.occupied:
        found += running(plan, request.occupied, has_errors(proof.diagnostics))
    if request.prove and not has_errors(proof.diagnostics) and any(varies(gang.gang) for gang in plan.gangs):
        from bayplan.planning.fit import explain

        found += explain.growing(plan)
    if request.prove and not has_errors(found):
        found += [*unmet_preferences(plan), *unmodelled_constraints(plan), *backend.prove(plan, target)]
    found += quotas(plan, backend, target)
    if draft.shape is None:
        return Outcome(None, tuple(found))
    found += dict.fromkeys(_notices(plan, draft.shape, backend, target))
    wanted = request.accept - firm({**FEATURES, **backend.declared.features}.values())
    taken = tuple(sorted({each.code for each in found if each.severity == "error" and each.code in wanted}))
    found = [each._replace(severity="warning") if each.code in taken else each for each in found]
    planned = Planned(plan, draft.shape, backend, target, taken, proof.value)
    return Outcome(None if has_errors(found) else planned, tuple(found))


def _notices(plan: Plan, shape: Shape, backend: Backend, target: Target) -> Iterator[Diagnostic]:
    """The backend's notices, for workloads whose controllers make the pods as if they existed already."""
    controlled = () if shape.existing else tuple(each for each in shape.workloads if each.kind in CONTROLLED)
    names = {gang.name for each in controlled for gang in each.gangs}
    rest = plan._replace(gangs=tuple(gang for gang in plan.gangs if gang.name not in names)) if names else plan
    plain = tuple(each for each in shape.workloads if each not in controlled)
    if plain:
        yield from backend.notices(rest, shape._replace(workloads=plain), target)
    for workload in controlled:
        names = {gang.name for gang in workload.gangs}
        own = plan._replace(gangs=tuple(gang for gang in plan.gangs if gang.name in names))
        yield from backend.notices(own, Shape((workload,), existing=True), target)


def quotas(plan: Plan, backend: Backend, target: Target) -> Found:
    """What the numbers of the queues in the topology do not allow."""
    if not enforces_quotas(plan, backend, target):
        return ()
    from bayplan.planning import queues

    return (*queues.too_small(plan), *queues.unmodelled(plan))


def enforces_quotas(plan: Plan, backend: Backend, target: Target) -> bool:
    """Whether the topology has numbers of queues, and the scheduler has queues."""
    if not plan.topology.has_quotas:
        return False
    row = find_row(Need("queue", 1, ()), backend.declared.support, target)
    return row is not None and row.fidelity == "exact"


def manifests(request: Request, planned: Planned) -> Outcome[Compiled]:
    """Lowers the plan, assembles workloads with the marks, and sorts everything into the order to apply it."""
    ranked, shaped, backend, target, accepted, _ = planned
    ranked = with_shared_objects(ranked, shaped)
    controlled: tuple[Lowered, ...] = ()
    if any(each.kind in CONTROLLED for each in shaped.workloads):
        from bayplan.planning.existing import one_of_each, with_parts

        ranked = with_parts(ranked, shaped)
        controlled = tuple(_placed(ranked, shaped, backend, target))
        ranked, shaped = one_of_each(ranked, shaped)
    if any(gang.gang.hosts for gang in ranked.gangs):
        from bayplan.manifests import pod_dns as hosts

        ranked, shaped = hosts.resolve(ranked, shaped)
    wrapped = any(gang.gang.barrier != "none" or gang.gang.ignore_nonlead_failures for gang in ranked.gangs)
    if wrapped or any(place.pods.launcher or any(place.pods.data) for place in pod_sets(ranked.workflow)):
        from bayplan.manifests import launchers

        ranked, shaped = launchers.expand(ranked, shaped)
    lowered = _lowered(ranked, shaped, backend, target, controlled)
    own = [*auxiliary_objects(ranked, shaped, target), *lowered.documents, *assemble(ranked, shaped, lowered)]
    if ranked.workflow.cleanup == "adopt":
        from bayplan.manifests.lifecycle import adopters

        own += adopters(ranked, shaped, own)
    lost: list[Diagnostic] = []
    old = not target.since("trainer", "2.2") and any(each.kind == TRAINJOB for each in shaped.workloads)
    if old or any(gang.gang.trainer for gang in ranked.gangs):
        from bayplan.manifests import runtime_patches

        own, lost = runtime_patches.refer(ranked, own, target)
    cluster = cluster_documents(backend, with_queue(ranked), target) if request.cluster_objects else ()
    documents = in_apply_order([*cluster, *own], ranked.namespace, workflow_meta(ranked, accepted))
    found = (*lost, *collisions(documents, ranked), *oversized(documents))
    return Outcome(None if has_errors(found) else Compiled(planned, documents), found)


def _placed(plan: Plan, shape: Shape, backend: Backend, target: Target) -> Iterator[Lowered]:
    """The documents and marks of workloads whose controllers make the pods, as for those that exist already."""
    from bayplan.planning.existing import own_marks, own_plan

    place = backends.existing(backend.declared.name).place
    for workload in (each for each in shape.workloads if each.kind in CONTROLLED):
        own = own_plan(plan, workload.gangs, workload.name)
        lowered = place(own, Shape((workload,), existing=True), target)
        documents = (_of_workflow(each, plan) for each in lowered.documents)
        yield Lowered(tuple(documents), own_marks(own, workload, lowered))


def _of_workflow(document: Manifest | File, plan: Plan) -> Manifest | File:
    """The document with the name of the whole workflow in its label."""
    labels = {} if isinstance(document, File) else document["metadata"].get("labels", {})
    if isinstance(document, File) or WORKFLOW_LABEL not in labels:
        return document
    return {**document, "metadata": {**document["metadata"], "labels": {**labels, WORKFLOW_LABEL: plan.workflow.name}}}


def _lowered(plan: Plan, shape: Shape, backend: Backend, target: Target, controlled: tuple[Lowered, ...]) -> Lowered:
    """The backend's documents and marks. `controlled`: those of workloads whose controllers make the pods."""
    if not controlled:
        return backend.lower(plan, shape, target)
    plain = tuple(each for each in shape.workloads if each.kind not in CONTROLLED)
    names = {gang.name for each in plain for gang in each.gangs}
    rest = plan._replace(gangs=tuple(gang for gang in plan.gangs if gang.name in names))
    parts = (*((backend.lower(rest, shape._replace(workloads=plain), target),) if plain else ()), *controlled)
    documents = tuple(document for each in parts for document in each.documents)
    return Lowered(documents, {key: marks for each in parts for key, marks in each.marks.items()})


def with_queue(plan: Plan) -> ClusterTopology:
    """The topology with the plan's queues, unless it lists all queues of the cluster."""
    topology = plan.topology
    named = dict.fromkeys(filter(None, (topology.defaults.get("queue", ""), plan.queue, *plan_queues(plan))))
    return topology if topology.queues is not None or not named else topology._replace(queues=named_queues(*named))


def cluster_documents(backend: Backend, topology: ClusterTopology, target: Target) -> Documents:
    """The cluster-scoped objects that workflows refer to. Slurm has no PriorityClasses."""
    own = backend.cluster.objects(topology, target)
    return own if SBATCH in backend.declared.kinds else (*priority_classes(topology), *own)


def _exported(name: str, topology: ClusterTopology, target: Target, found: Found) -> Outcome[Documents]:
    """The topology in another format than the objects of a scheduler."""
    row = WRITTEN[name]
    exporter: Exporter = import_module(f"bayplan.topologies.{row.writer}")
    whose = row.scheduler
    found += _unfit(BACKENDS[whose], topology, target) if whose and not has_errors(found) else ()
    found += exporter.judge(topology, target) if hasattr(exporter, "judge") else ()
    return Outcome(None if has_errors(found) else tuple(exporter.write(topology, target)), found)


def title(backend: Backend, target: Target) -> str:
    """For messages: `KAI 0.17`."""
    return target.title(backend.declared.component)


def gaps(needs: Iterable[Need], backend: Backend, target: Target) -> Found:
    """The needs that the backend does not support exactly."""
    declared = backend.declared
    features = {**FEATURES, **declared.features}
    return tuple(compare(needs, declared.support, target, title(backend, target), features))


def _unfit(backend: Backend, topology: ClusterTopology, target: Target) -> tuple[Diagnostic, ...]:
    """The parts of a topology that the cluster-scoped objects of a backend cannot express."""
    names = [pool.name for pool in topology.pools]
    needs = (*topology_needs(topology, names), *backend.cluster.needs(topology))
    return gaps(needs, backend, target)


class LintRequest(NamedTuple):
    """Manifests to lint as one set, with the options of the command line. No scheduler: the rules of all."""

    manifests: tuple[Document, ...]
    topology: Document | None = None
    scheduler: str = ""
    target: Mapping[str, str] = {}
    accept: frozenset[str] = frozenset()


def lint(request: LintRequest) -> tuple[Outcome[tuple[Object, ...]], Origins]:
    """The objects and their diagnostics, by the common rules and those of the schedulers.

    Without a topology, or if its pools have no nodes, rules about nodes report nothing.
    """
    from bayplan import linting
    from bayplan.checks import gangs, node_rules, queue_objects
    from bayplan.linting.objects import collect, lint_context

    read, origins = check_topology(request.topology) if request.topology else (Outcome(UNKNOWN), {})
    if read.value is None:
        return Outcome(None, read.diagnostics), origins
    target = select_target(request.target, read.value)
    backend = select_backend(request.scheduler, None, read.value, BACKENDS) if request.scheduler else Outcome(None)
    found = (*read.diagnostics, *target.diagnostics, *backend.diagnostics)
    if target.value is None or has_errors(found):
        return Outcome(None, found), origins
    objects, foreign = collect(request.manifests)
    context = lint_context(objects, read.value, target.value)._replace(scheduler=request.scheduler)
    names = (backend.value.declared.name,) if backend.value else tuple(BACKENDS)
    findings = [*foreign, *linting.lint(context)]
    findings += [each for name in names for each in backends.lint(name, context)]
    readers = {name: each for name, each in backends.asks().items() if name in (*names, "none")}
    every = gangs.members(objects, gangs.Cluster(read.value, target.value, readers))
    findings += (*gangs.faults(every), *queue_objects.check(every), *node_rules.check(every, read.value))
    accepted = (
        each._replace(severity="warning") if each.severity == "error" and each.code in request.accept else each
        for each in findings
    )
    return Outcome(objects, (*found, *dict.fromkeys(map(single_line, accepted)))), origins


UNKNOWN = ClusterTopology("", ())
"""A cluster without a topology file."""


def cluster_objects(
    document: Document, scheduler: str, versions: Mapping[str, str]
) -> tuple[Outcome[Documents], Origins]:
    """The cluster-scoped objects of a scheduler for a topology, or the topology in another format."""
    topology, origins = check_topology(document)
    return _then(topology, lambda value: _objects(value, scheduler, versions)), origins


def export(document: Document, name: str, versions: Mapping[str, str]) -> tuple[Outcome[Documents], Origins]:
    """The same for `topology export`, with diagnostics for everything that the other format cannot express."""
    topology, origins = check_topology(document)
    made = _then(topology, lambda value: _objects(value, name, versions))
    if topology.value is None or made.value is None or not (made.value or name in WRITTEN):
        return made, origins
    from bayplan.topologies import losses

    target = select_target(versions, topology.value).value
    lost = tuple(losses.report(name, topology.value, target, bool(made.value))) if target else ()
    return Outcome(made.value, (*made.diagnostics, *lost)), origins


def _objects(topology: ClusterTopology, scheduler: str, versions: Mapping[str, str]) -> Outcome[Documents]:
    target = select_target(versions, topology)
    if scheduler in WRITTEN and target.value is not None:
        return _exported(scheduler, topology, target.value, target.diagnostics)
    backend = select_backend(scheduler, None, topology, BACKENDS)
    found = (*backend.diagnostics, *target.diagnostics)
    if backend.value is not None and target.value is not None:
        found += _unfit(backend.value, topology, target.value)
    if backend.value is None or target.value is None or has_errors(found):
        return Outcome(None, found)
    objects = cluster_documents(backend.value, fabrics.offering(topology), target.value)
    if not objects and not any(each.code.startswith("F") for each in found):
        found += (nothing_to_export(backend.value.declared.name),)
    return Outcome(in_apply_order(objects, topology.defaults.get("namespace", "")), found)
