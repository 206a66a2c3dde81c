"""The plan of a workload whose shape is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan import pipeline
from bayplan.backends import BACKENDS, existing
from bayplan.checks import accelerators, attachments, references
from bayplan.checks.templates import check_existing
from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors, warning
from bayplan.core.values import NamedTuple
from bayplan.fabrics import offering
from bayplan.kube import cards
from bayplan.kube.objects import identity, items, mapping, text
from bayplan.manifests.assemble import CHANNEL
from bayplan.model.augment import AugmentRequest, WorkloadTemplates
from bayplan.model.backend import Backend
from bayplan.model.existing import FEATURES
from bayplan.model.manifest import Object
from bayplan.model.plan import Plan, all_pods
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import PodSet, Workflow, pod_sets
from bayplan.pipeline import Checked, Draft, Planned, Request
from bayplan.planning import existing as existing_planning
from bayplan.planning.existing import renamed
from bayplan.planning.fidelity import compare
from bayplan.planning.pools import name_accelerators, with_card_portions
from bayplan.planning.selection import select_backend
from bayplan.workflows.existing import Selected


class Cluster(NamedTuple):
    """What all workloads of a request share: the topology, and what is known of the other objects."""

    topology: ClusterTopology
    target: Target
    claims: cards.Claims
    channels: frozenset[tuple[str, str]]
    described: frozenset[tuple[str, str]]  # all templates that pods can claim by, as far as they were read
    objects: Mapping[tuple[str, str, str, str], Object]


def cluster_of(request: AugmentRequest, topology: ClusterTopology, target: Target) -> Cluster:
    """What is known of the cluster, and of everything that was read."""
    objects = {identity(each.data): each for each in reversed(request.objects)}
    claims, others = cards.claims(request.objects), cards.channels(request.objects)
    described = frozenset({*claims, *cards.channels(request.objects, ours=True)})
    return Cluster(offering(topology), target, claims, others, described, objects)


def template_data(templates: WorkloadTemplates) -> Iterator[Mapping[str, Any]]:
    """The pod templates of a workload."""
    return (mapping(templates.object.data, *slot.path) for slot in templates.slots)


# Claims by templates that are not among the manifests: what the pods get by them is unknown.


class UnresolvedClaim(NamedTuple):
    """A podSet, the template that it claims by, and where it says so."""

    pods: str
    template: str
    route: Route


def unresolved_claims(templates: WorkloadTemplates, namespace: str, cluster: Cluster) -> Iterator[UnresolvedClaim]:
    """The claims of a workload by templates that are neither there nor made for a ComputeDomain that is."""
    for slot in templates.slots:
        at = (*slot.path, "spec", "resourceClaims")
        for number, claim in enumerate(items(templates.object.data, *at)):
            template = text(claim, "resourceClaimTemplateName")
            described = (name == template and cards.meets(namespace, where) for where, name in cluster.described)
            if template and text(claim, "name") != CHANNEL and not any(described):
                route = (*templates.object.route, *at, number, "resourceClaimTemplateName")
                yield UnresolvedClaim(slot.name, template, route)


def uncounted_claims(claims: tuple[UnresolvedClaim, ...], plan: Plan) -> Iterator[Diagnostic]:
    """W514. An error where the pods would get a channel besides: a node has only one."""
    with_channel = {pods.spec.name for gang in plan.gangs for pods in all_pods(gang.root) if pods.compute_domain}
    for each in claims:
        what = f'podSet "{each.pods}" claims by the template "{each.template}", which is not among the manifests'
        if each.pods in with_channel:
            message = f"{what}; if that is the channel of a ComputeDomain, pods with a second one never start"
            hint = "read its ComputeDomain with it, or use `compute-domain: never`; else `--accept W514`"
            yield error("W514", each.route, message, hint=hint)
        else:
            message = f"{what}; cards that come by it are not counted"
            yield warning("W514", each.route, message, hint="read the ResourceClaimTemplate or ComputeDomain with it")


class Candidate(NamedTuple):
    """A workload. `has_compute_domain`: its pods claim from one that others wrote, so that there is no second;
    `unresolved_claims`: claims of which nobody can tell what the pods get."""

    selected: Selected
    has_compute_domain: bool
    unresolved_claims: tuple[UnresolvedClaim, ...]

    @property
    def templates(self) -> WorkloadTemplates:
        """The workload as its pods."""
        return self.selected.templates


def candidate_of(selected: Selected, cluster: Cluster) -> Candidate:
    """The workload among the other objects."""
    where = selected.workflow.namespace
    specs = (mapping(each, "spec") for each in template_data(selected.templates))
    has_compute_domain = any(cards.claims_channel(spec, where, cluster.channels) for spec in specs)
    return Candidate(selected, has_compute_domain, tuple(unresolved_claims(selected.templates, where, cluster)))


# A workload's Workflow, completed with what only the cluster knows: the cards of its pods, their nodes, its queue.

CHECKED_FIELDS = ("affinity", "dnsPolicy", "hostNetwork", "overhead", "resources", "securityContext")
"""Of a pod: what the checks of a podSet's template look at, and the search for nodes."""


def complete_workflow(candidate: Candidate, namespace: str, cluster: Cluster) -> Workflow:
    """The workload's Workflow with the cards of its pods, and one ComputeDomain where it has one already.

    `namespace`: that of workloads that name none.
    """
    workflow, templates = candidate.selected.workflow, candidate.templates
    where = workflow.namespace
    specs = {slot.name: mapping(templates.object.data, *slot.path, "spec") for slot in templates.slots}
    gang = _with_cards(workflow.gangs[0], specs, where, cluster)
    if candidate.has_compute_domain:
        gang = gang._replace(compute_domain="gang")
    return workflow._replace(namespace=where or namespace, gangs=(gang,))


def _with_cards(node: Any, specs: Mapping[str, Mapping[str, Any]], where: str, cluster: Cluster) -> Any:
    sets = tuple(_with_own_cards(each, specs[each.name], where, cluster) for each in node.pod_sets)
    return node._replace(
        pod_sets=sets, groups=tuple(_with_cards(group, specs, where, cluster) for group in node.groups)
    )


def _with_own_cards(pods: PodSet, spec: Mapping[str, Any], where: str, cluster: Cluster) -> PodSet:
    lists = {
        key: [cards.without(each, cluster.topology) for each in items(spec, key)]
        for key in ("containers", "initContainers")
        if items(spec, key)
    }
    kept = {key: spec[key] for key in CHECKED_FIELDS if spec.get(key)}
    if spread := items(spec, "topologySpreadConstraints"):
        kept["topologySpreadConstraints"] = spread
    if selector := _own_selector(spec, cluster.topology):
        kept["nodeSelector"] = selector
    accelerator = cards.accelerator(spec, where, cluster.topology, cluster.claims)
    return pods._replace(accelerator=accelerator, template={"spec": {**lists, **kept}})


def _own_selector(spec: Mapping[str, Any], topology: ClusterTopology) -> dict[str, Any]:
    """The nodes that the pods choose themselves. What their pool asks for is no choice, and a second run finds it."""
    pools = [pool.node.node_selector for pool in topology.pools]
    chosen = mapping(spec, "nodeSelector").items()
    return {key: value for key, value in chosen if not any(each.get(key) == value for each in pools)}


def own_queue(templates: WorkloadTemplates, label: str) -> str:
    """The queue that the workload names already."""
    every = (templates.placed.data, *template_data(templates)) if label else ()
    named_queues = (text(each, "metadata", kind, label) for kind in ("labels", "annotations") for each in every)
    return templates.queue or next(filter(None, named_queues), "")


Plans = dict[str, Planned]
"""Plans that are well, by everything that went into them but the workload's name."""


def planned(candidate: Candidate, request: AugmentRequest, cluster: Cluster, plans: Plans) -> Outcome[Planned]:
    """The plan, taken from `known` where a workload that differs only in its name was planned without errors or
    warnings. Infos are reported only for the first of them.

    What no API server takes is found first: cards that are no number look like none at all.
    """
    wrong = tuple(check_existing(candidate.templates))
    if has_errors(wrong):
        return Outcome(None, wrong)
    workflow, templates = complete_workflow(candidate, request.namespace, cluster), candidate.templates
    backend = select_backend(request.scheduler, workflow, cluster.topology, BACKENDS)
    if backend.value is None:
        return Outcome(None, backend.diagnostics)
    if not workflow.queue:
        workflow = workflow._replace(queue=own_queue(templates, existing(backend.value.declared.name).queue_label))
    nameless = workflow._replace(name="", gangs=(workflow.gangs[0]._replace(name=""),))
    facts = (candidate.has_compute_domain, candidate.unresolved_claims)
    key = repr((nameless, len(workflow.name), templates.slots, templates.gangs, *facts))
    if key in plans and not wrong:
        plan_of_twin = plans[key]
        plan, shape = renamed(plan_of_twin.plan, plan_of_twin.shape, workflow.name)
        return Outcome(plan_of_twin._replace(plan=plan, shape=shape))
    outcome = _planned(candidate, workflow, backend.value, request, cluster)
    outcome = outcome._replace(diagnostics=(*wrong, *outcome.diagnostics))
    if outcome.value is not None and all(each.severity == "info" for each in outcome.diagnostics):
        plans[key] = outcome.value
    return outcome


ADDED = ("W630", "W631", "W632", "W635")
"""What a namespace says to pods that are put on a fabric. What they may do besides is for whoever wrote them."""


def _planned(
    candidate: Candidate, workflow: Workflow, backend: Backend, request: AugmentRequest, cluster: Cluster
) -> Outcome[Planned]:
    """The pipeline's check and plan, for a workload whose shape is given."""
    templates = candidate.templates
    workflow = with_card_portions(name_accelerators(workflow, cluster.topology), cluster.topology)
    unbuilt = workflow._replace(gangs=(workflow.gangs[0]._replace(workload="auto"),))  # its kind exists already
    checks = (
        references.check,
        references.check_levels,
        accelerators.check,
        references.check_pending,
        attachments.check,
    )
    findings = tuple(each for check in checks for each in check(unbuilt, cluster.topology))
    if any(place.pods.fabric for place in pod_sets(unbuilt)):
        from bayplan.checks import security

        findings += tuple(each for each in security.check(unbuilt, cluster.topology) if each.code in ADDED)
    if candidate.has_compute_domain:
        findings += tuple(existing_planning.kept_domain(workflow.gangs[0]))
    if has_errors(findings):
        return Outcome(None, findings)
    own = Request(request.topology, request.topology, accept=request.accept)
    checked = Checked(workflow, cluster.topology, backend, cluster.target)
    bound = pipeline.bind_workflow(own, checked)
    for each in bound.diagnostics:  # pods run by the chart's own ComputeDomain, even if not as well as they could
        as_warning = candidate.has_compute_domain and each.code in ("P506", "P507")
        findings += (each._replace(severity="warning") if as_warning else each,)
    if bound.value is None:
        return Outcome(None, findings)
    plan = existing_planning.merge_compute_domains(bound.value, templates)
    shaped = existing_planning.existing_shape(plan, templates)
    findings += (
        *existing_planning.shared_domains(bound.value),
        *shaped.diagnostics,
        *uncounted_claims(candidate.unresolved_claims, plan),
    )
    if shaped.value is not None:
        rows, title = existing(backend.declared.name).support, pipeline.title(backend, cluster.target)
        lost = tuple(compare(existing_planning.needs(shaped.value, templates), rows, cluster.target, title, FEATURES))
        findings += lost
        if any(each.code == "F740" for each in lost):
            return Outcome(None, lost)  # whatever else there is to say would be of no use
    outcome = pipeline.prove_and_compare(own, checked, Draft(plan, plan, shaped.value, findings))
    return Outcome(outcome.value, outcome.diagnostics)
