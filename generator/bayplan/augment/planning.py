"""The plan of an existing workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan import pipeline
from bayplan.backends import BACKENDS, existing
from bayplan.checks import accelerators, attachments, queue_objects, references
from bayplan.checks.templates import check_existing
from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors, warning
from bayplan.fabrics import offering
from bayplan.kube import cards
from bayplan.kube.objects import identity, items, kind, mapping, text
from bayplan.manifests.assemble import CHANNEL
from bayplan.model.augment import AugmentRequest, WorkloadTemplates
from bayplan.model.backend import FEATURES as SHARED
from bayplan.model.backend import Backend
from bayplan.model.existing import FEATURES
from bayplan.model.manifest import Object
from bayplan.model.plan import Plan, all_pods
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import OF_GROVE, PodSet, Workflow, pod_sets
from bayplan.pipeline import Checked, Draft, Planned, Request
from bayplan.planning import existing as existing_planning
from bayplan.planning.defaults import with_networks
from bayplan.planning.existing import renamed
from bayplan.planning.fidelity import compare
from bayplan.planning.node_selection import selection
from bayplan.planning.pools import name_accelerators, with_card_portions
from bayplan.planning.selection import Given, complete, reattribute, select_backend
from bayplan.workflows.existing import Selected


class Cluster(NamedTuple):
    """The context that all workloads of a request share: the topology, and the other objects."""

    topology: ClusterTopology
    target: Target
    claims: cards.Claims
    channels: frozenset[tuple[str, str]]
    described: frozenset[tuple[str, str]]  # all claim templates in the manifests
    objects: Mapping[tuple[str, str, str, str], Object]
    queues: tuple[Object, ...]  # with the namespaces


def cluster_of(request: AugmentRequest, topology: ClusterTopology, target: Target) -> Cluster:
    """The context from the topology and from all objects that bayplan read."""
    objects = {identity(each.data): each for each in reversed(request.objects)}
    claims, others = cards.claims(request.objects), cards.channels(request.objects)
    queues = tuple(each for each in request.objects if kind(each) in queue_objects.RELATED)
    described = frozenset({*claims, *cards.channels(request.objects, ours=True)})
    return Cluster(offering(topology), target, claims, others, described, objects, queues)


def template_data(templates: WorkloadTemplates) -> Iterator[Mapping[str, Any]]:
    """The pod templates of a workload."""
    return (mapping(templates.object.data, *slot.path) for slot in templates.slots)


# Claim templates that are not in the manifests: the devices of their pods are unknown.


class UnresolvedClaim(NamedTuple):
    """A podSet, its claim template, and the place of the reference."""

    pods: str
    template: str
    route: Route


def unresolved_claims(templates: WorkloadTemplates, namespace: str, cluster: Cluster) -> Iterator[UnresolvedClaim]:
    """The claims of a workload whose template is not in the manifests, and does not belong to a ComputeDomain there."""
    for slot in templates.slots:
        at = (*slot.path, "spec", "resourceClaims")
        for number, claim in enumerate(items(templates.object.data, *at)):
            template = text(claim, "resourceClaimTemplateName")
            described = (name == template and cards.meets(namespace, where) for where, name in cluster.described)
            if template and text(claim, "name") != CHANNEL and not any(described):
                route = (*templates.object.route, *at, number, "resourceClaimTemplateName")
                yield UnresolvedClaim(slot.name, template, route)


def uncounted_claims(claims: tuple[UnresolvedClaim, ...], plan: Plan) -> Iterator[Diagnostic]:
    """W514. An error if the pods would also get a channel from bayplan, because a node has only one."""
    with_channel = {pods.spec.name for gang in plan.gangs for pods in all_pods(gang.root) if pods.compute_domain}
    for each in claims:
        what = f'podSet "{each.pods}" uses the claim template "{each.template}", which is not in the manifests'
        if each.pods in with_channel:
            message = f"{what}; if it is the channel of a ComputeDomain, pods with a second channel never start"
            hint = "add its ComputeDomain to the manifests, or set `bayplan.dev/compute-domain: never`"
            yield error("W514", each.route, message, hint=hint)
        else:
            message = f"{what}; bayplan does not count the devices of this claim"
            hint = "add the ResourceClaimTemplate or ComputeDomain to the manifests"
            yield warning("W514", each.route, message, hint=hint)


class Candidate(NamedTuple):
    """A workload. `has_compute_domain`: its pods claim from an existing ComputeDomain, so bayplan adds none;
    `unresolved_claims`: claims with unknown devices."""

    selected: Selected
    has_compute_domain: bool
    unresolved_claims: tuple[UnresolvedClaim, ...]

    @property
    def templates(self) -> WorkloadTemplates:
        """The workload as its pods."""
        return self.selected.templates


def candidate_of(selected: Selected, cluster: Cluster) -> Candidate:
    """The workload in the context of the other objects."""
    where = selected.workflow.namespace
    specs = (mapping(each, "spec") for each in template_data(selected.templates))
    has_compute_domain = any(cards.claims_channel(spec, where, cluster.channels) for spec in specs)
    return Candidate(selected, has_compute_domain, tuple(unresolved_claims(selected.templates, where, cluster)))


# A workload's Workflow, completed from the cluster: the GPUs of its pods, their nodes, its queue.

CHECKED_FIELDS = ("affinity", "dnsPolicy", "hostNetwork", "nodeSelector", "overhead", "resources", "securityContext")
"""Fields of a pod that the checks of a podSet's template and the search for nodes read."""


def complete_workflow(candidate: Candidate, namespace: str, cluster: Cluster) -> Workflow:
    """The workload's Workflow with the GPUs of its pods, and one ComputeDomain if it already has one.

    `namespace`: the namespace of workloads without one.
    """
    workflow, templates = candidate.selected.workflow, candidate.templates
    where = workflow.namespace
    specs = {slot.name: mapping(templates.object.data, *slot.path, "spec") for slot in templates.slots}
    gangs = tuple(_with_cards(gang, specs, where, cluster) for gang in workflow.gangs)
    if candidate.has_compute_domain:
        gangs = tuple(gang._replace(compute_domain="gang") for gang in gangs)
    return workflow._replace(namespace=where or namespace, gangs=gangs)


def _with_cards(node: Any, specs: Mapping[str, Mapping[str, Any]], where: str, cluster: Cluster) -> Any:
    sets = tuple(with_own_cards(each, specs[each.name], where, cluster) for each in node.pod_sets)
    return node._replace(
        pod_sets=sets, groups=tuple(_with_cards(group, specs, where, cluster) for group in node.groups)
    )


def with_own_cards(pods: PodSet, spec: Mapping[str, Any], where: str, cluster: Cluster) -> PodSet:
    lists = {
        key: [cards.without(each, cluster.topology) for each in items(spec, key)]
        for key in ("containers", "initContainers")
        if items(spec, key)
    }
    kept = {key: spec[key] for key in CHECKED_FIELDS if spec.get(key)}
    if spread := items(spec, "topologySpreadConstraints"):
        kept["topologySpreadConstraints"] = spread
    accelerator = cards.accelerator(spec, where, cluster.topology, cluster.claims)
    pool = _own_pool(spec, cluster.topology)
    return pods._replace(accelerator=accelerator, pool=pool, template={"spec": {**lists, **kept}})


def _own_pool(spec: Mapping[str, Any], topology: ClusterTopology) -> str:
    """The only pool whose nodes the pods select themselves, if they exclude all others; empty without one."""
    if len(topology.pools) < 2 or not (spec.get("nodeSelector") or spec.get("affinity")):
        return ""
    chosen = {pool.name: selection(spec, pool) for pool in topology.pools}
    left = [name for name, each in chosen.items() if not each.none]
    return left[0] if len(left) == 1 and chosen[left[0]].selected else ""


def own_queue(templates: WorkloadTemplates, label: str) -> str:
    """The queue that the workload already names."""
    every = (templates.placed.data, *template_data(templates)) if label else ()
    named_queues = (text(each, "metadata", kind, label) for kind in ("labels", "annotations") for each in every)
    return templates.queue or next(filter(None, named_queues), "")


Plans = dict[str, Planned]
"""Plans without errors or warnings, by all their inputs except the workload's name."""


def planned(candidate: Candidate, request: AugmentRequest, cluster: Cluster, plans: Plans) -> Outcome[Planned]:
    """The plan. If `plans` has the plan of a workload that differs only in its name, bayplan reuses it, and reports
    infos only for the first of them.

    Values that the API server refuses come first: an invalid number of GPUs looks like none.
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
    given = Given(request.queue)
    queued = complete(given, workflow)
    if queued.value is None:
        return Outcome(None, queued.diagnostics)
    workflow = queued.value
    gangs = tuple(gang._replace(name=gang.name.removeprefix(workflow.name)) for gang in workflow.gangs)
    nameless = workflow._replace(name="", gangs=gangs)
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


ADDED = ("W630", "W631", "W632")
"""Checks of a namespace for pods on a fabric. Other permissions are up to the author of the workload."""


def _planned(
    candidate: Candidate, workflow: Workflow, backend: Backend, request: AugmentRequest, cluster: Cluster
) -> Outcome[Planned]:
    """The pipeline's check and plan for an existing workload."""
    templates = candidate.templates
    workflow = with_card_portions(name_accelerators(workflow, cluster.topology), cluster.topology)
    connected = with_networks(workflow, cluster.topology, others=True)
    workflow = connected.value or workflow
    gangs = tuple(gang._replace(workload="auto") for gang in workflow.gangs)
    unbuilt = workflow._replace(gangs=gangs)  # its kind already exists
    checks = (
        references.check,
        references.check_levels,
        accelerators.check,
        attachments.check,
    )
    found = (each for check in checks for each in check(unbuilt, cluster.topology))
    findings = (*connected.diagnostics, *found)
    if any(place.pods.fabric for place in pod_sets(unbuilt)):
        from bayplan.checks import security

        findings += tuple(each for each in security.check(unbuilt, cluster.topology) if each.code in ADDED)
    if candidate.has_compute_domain:
        findings += tuple(existing_planning.kept_domain(workflow.gangs[0]))
    findings = reattribute("", Given(request.queue), workflow, findings)
    if has_errors(findings):
        return Outcome(None, findings)
    own = Request(request.topology, request.topology, accept=request.accept, occupied=request.occupied)
    checked = Checked(workflow, cluster.topology, backend, cluster.target)
    bound = pipeline.bind_workflow(own, checked)
    for each in bound.diagnostics:  # pods run with the chart's own ComputeDomain, even if not optimally
        as_warning = candidate.has_compute_domain and each.code in ("P506", "P507")
        findings += (each._replace(severity="warning") if as_warning else each,)
    if bound.value is None:
        return Outcome(None, findings)
    plan = existing_planning.merge_compute_domains(bound.value, templates)
    shaped = existing_planning.existing_shape(plan, templates)
    findings += (
        *existing_planning.shared_domains(bound.value, templates.kind),
        *shaped.diagnostics,
        *uncounted_claims(candidate.unresolved_claims, plan),
    )
    if shaped.value is not None:
        rows, title = existing(backend.declared.name).support, pipeline.title(backend, cluster.target)
        lost = tuple(compare(existing_planning.needs(shaped.value, templates), rows, cluster.target, title, FEATURES))
        if templates.kind in OF_GROVE:
            offered = backend.declared
            asked = offered.kind_needs(plan, shaped.value.workloads[0])
            lost += tuple(compare(asked, offered.support, cluster.target, title, {**SHARED, **offered.features}))
        findings += lost
        if any(each.code == "F740" and each.severity == "error" for each in lost):
            return Outcome(None, tuple(each for each in lost if each.code == "F740"))  # others would not help
    outcome = pipeline.judge(Draft(own, checked, plan, plan, shaped.value, findings=findings))
    return Outcome(outcome.value, outcome.diagnostics)
