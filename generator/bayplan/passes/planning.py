"""The second stage: a checked workflow -> a plan with pools, levels, ComputeDomains, ranks and workloads."""

from bayplan import backends
from bayplan.core.diagnostics import Outcome
from bayplan.kube.kinds import CONTROLLED
from bayplan.model.backend import CHAINED, FEATURES, Backend
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.workflow import pod_sets, serves
from bayplan.passes import Checked, Draft, Request, then
from bayplan.planning import bind as ranks
from bayplan.planning import compute_domains
from bayplan.planning.bind import bind
from bayplan.planning.selection import assumed_versions, default_namespace, select_gangs
from bayplan.planning.shape import Offer, shape, without_waiting
from bayplan.planning.workload_checks import components, fitting


def begin(request: Request, checked: Checked) -> Outcome[Draft]:
    """The draft of the bound workflow."""
    bound = bind_workflow(request, checked)
    if bound.value is None:
        return Outcome(None, bound.diagnostics)
    return Outcome(Draft(request, checked, bound.value, bound.value, findings=bound.diagnostics))


def bind_workflow(request: Request, checked: Checked) -> Outcome[Plan]:
    """The plan with pools, levels and ComputeDomains, without a shape yet."""
    workflow, topology = checked.workflow, checked.topology
    namespace = default_namespace(workflow, topology)
    queue = workflow.queue or topology.defaults.get("queue", "")
    selected = then(bind(workflow, topology, namespace, queue), lambda plan: select_gangs(plan, request.gangs))
    selected = then(selected, lambda plan: compute_domains.assign(plan._replace(occupied=request.occupied)))
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


def share_domains_of_controllers(draft: Draft) -> Draft:
    """A controller makes all copies of a gang from a few pod templates: the copies share ComputeDomains."""
    if not _has_controlled(draft.plan, draft.checked.target):
        return draft
    from bayplan.planning import existing

    findings = existing.own_shared_domains(draft.plan)
    return draft._replace(plan=existing.with_own_domains(draft.plan)).saying(*findings)


def _has_controlled(plan: Plan, target: Target) -> bool:
    """Whether a controller makes all copies of a gang from a few pod templates, or may make them."""
    launched = target.versions.get("mpiOperator") and any(place.pods.launcher for place in pod_sets(plan.workflow))
    return bool(launched) or any(serves(gang.gang) or gang.gang.workload in CONTROLLED for gang in plan.gangs)


def assign_ranks(draft: Draft) -> Draft:
    """Pods have ranks."""
    plan = with_ranks(draft.plan, draft.checked.backend)
    return draft._replace(asked=ranks.assign_ranks(draft.asked), plan=plan)


def choose_workloads(draft: Draft) -> Draft:
    """Gangs have kinds of workloads that the backend offers."""
    backend, target = draft.checked.backend, draft.checked.target
    declared = backend.declared
    features, name = {**FEATURES, **declared.features}, target.title(declared.component)
    offer = Offer(name, declared.kinds, declared.support, declared.folds, declared.kind_needs, features)
    if _has_controlled(draft.asked, target):
        from bayplan.planning import existing

        offer = offer._replace(placed=backends.existing(declared.name).support, placing=existing.own_needs)
    shaped = shape(draft.plan, offer, target)
    return draft._replace(shape=shaped.value).saying(*shaped.diagnostics)


def drop_waiting(draft: Draft) -> Draft:
    """Workloads whose controllers start pods in order need no pods that wait. Names must fit, and versions be known."""
    if draft.shape is None:
        return draft
    backend, target = draft.checked.backend, draft.checked.target
    asked, plan = (without_waiting(version, draft.shape) for version in (draft.asked, draft.plan))
    known = assumed_versions(target, components(plan, draft.shape, backend))
    return draft._replace(asked=asked, plan=plan).saying(*fitting(plan, draft.shape, target), *known)
