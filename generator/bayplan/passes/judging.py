"""The third stage: a plan -> the proof that it fits, and what the scheduler loses of it."""

from collections.abc import Iterable, Iterator

from bayplan.core.diagnostics import Diagnostic, has_errors
from bayplan.kube.kinds import CONTROLLED
from bayplan.model.backend import FEATURES, Backend, Need
from bayplan.model.manifest import Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import varies
from bayplan.passes import Draft, Found
from bayplan.planning import device_checks
from bayplan.planning.fidelity import compare, find_row, firm, plan_needs, topology_needs
from bayplan.planning.fit import diagnose
from bayplan.planning.workload_checks import elsewhere, running, unmet_preferences, unmodelled_constraints


def prove(draft: Draft) -> Draft:
    """The proof of the fit, unless the request needs none, and what the devices of the pods cannot do."""
    plan, (_, _, backend, target) = draft.plan, draft.checked
    draft = draft.saying(*device_checks.check(draft.asked))
    if not draft.request.prove:
        return draft
    proof = diagnose(plan, enforces_quotas(plan, backend, target))
    return draft._replace(proof=proof).saying(*proof.diagnostics)


def report_gaps(draft: Draft) -> Draft:
    """What the scheduler and its devices do not support exactly."""
    plan, (_, _, backend, target) = draft.plan, draft.checked
    needs = (*plan_needs(draft.asked), *backend.needs(draft.asked))
    draft = draft.saying(*gaps(needs, backend, target))
    draft = draft.saying(*elsewhere(plan, draft.shape is not None and draft.shape.existing))
    return draft.saying(*device_checks.gaps(plan, backend.declared.name, title(backend, target), target))


def report_running(draft: Draft) -> Draft:
    """What already runs takes room: applies with --occupied."""
    if not draft.request.prove or not draft.request.occupied:
        return draft
    return draft.saying(*running(draft.plan, draft.request.occupied, has_errors(draft.proof.diagnostics)))


def report_growth(draft: Draft) -> Draft:
    """Whether a gang fits that grows: applies where the number of pods varies."""
    varying = any(varies(gang.gang) for gang in draft.plan.gangs)
    if not draft.request.prove or not varying or has_errors(draft.proof.diagnostics):
        return draft
    from bayplan.planning.fit import explain

    return draft.saying(*explain.growing(draft.plan))


def report_unproven(draft: Draft) -> Draft:
    """What the proof leaves out: applies to a plan without errors."""
    if not draft.request.prove or has_errors(draft.findings):
        return draft
    plan, backend = draft.plan, draft.checked.backend
    draft = draft.saying(*unmet_preferences(plan), *unmodelled_constraints(plan))
    return draft.saying(*backend.prove(plan, draft.checked.target))


def report_quotas(draft: Draft) -> Draft:
    """What the numbers of the queues in the topology do not allow."""
    return draft.saying(*quotas(draft.plan, draft.checked.backend, draft.checked.target))


def report_notices(draft: Draft) -> Draft:
    """What the scheduler does with these workloads."""
    if draft.shape is None:
        return draft
    return draft.saying(*dict.fromkeys(_notices(draft.plan, draft.shape, draft.checked.backend, draft.checked.target)))


def accept(draft: Draft) -> Draft:
    """Gaps that the user accepts become warnings, if there is a plan at all."""
    if draft.shape is None:
        return draft
    wanted = draft.request.accept - firm({**FEATURES, **draft.checked.backend.declared.features}.values())
    failing = {finding.code for finding in draft.findings if finding.severity == "error"}
    accepted = tuple(sorted(failing & wanted))
    findings = (
        finding._replace(severity="warning") if finding.code in accepted else finding for finding in draft.findings
    )
    return draft._replace(accepted=accepted, findings=tuple(findings))


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


def title(backend: Backend, target: Target) -> str:
    """For messages: `KAI 0.17`."""
    return target.title(backend.declared.component)


def gaps(needs: Iterable[Need], backend: Backend, target: Target) -> Found:
    """The needs that the backend does not support exactly."""
    declared = backend.declared
    features = {**FEATURES, **declared.features}
    return tuple(compare(needs, declared.support, target, title(backend, target), features))


def unfit(backend: Backend, topology: ClusterTopology, target: Target) -> tuple[Diagnostic, ...]:
    """The parts of a topology that the cluster-scoped objects of a backend cannot express."""
    names = [pool.name for pool in topology.pools]
    needs = (*topology_needs(topology, names), *backend.cluster.needs(topology))
    return gaps(needs, backend, target)
