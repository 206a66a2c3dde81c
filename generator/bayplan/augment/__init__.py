"""Existing workloads -> the same workloads with their placement. Each is selected, planned and proven like a workflow.

select        annotations and policy name the workloads; each becomes a Workflow with one gang.
plan          the pipeline's plan, with the shape of the workload.
place         the backend's marks for shared pod templates, and its objects.
inject        adds the marks to the workload. Existing fields stay; a conflicting field is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan import fabrics, formats, pipeline
from bayplan.augment import twins
from bayplan.augment.planning import Candidate, Cluster, Plans, candidate_of, cluster_of, planned
from bayplan.backends import BACKENDS, asks
from bayplan.backends import existing as backends_existing
from bayplan.checks import gangs, queue_objects
from bayplan.checks.accelerators import CODES, HAMI
from bayplan.core.diagnostics import Diagnostic, Note, Outcome, Route, error, has_errors, info, origin
from bayplan.core.phrases import count, listing, single_line
from bayplan.fabrics import kinds
from bayplan.kube import grove, owners
from bayplan.kube.kinds import GANG_LABEL, WORKFLOW_LABEL
from bayplan.kube.life_cycle import NAMES, life_cycle
from bayplan.kube.objects import get, identity, items, mapping, text, title, without_annotations
from bayplan.kube.owners import OWNERS, Mark
from bayplan.kube.pod import network_claim_name
from bayplan.kube.templates import PodTemplate
from bayplan.kube.variables import broken_variables
from bayplan.manifests.assemble import compute_domain, labelled
from bayplan.manifests.inject import Conflict, Injected, SlotMarks, inject
from bayplan.manifests.order import head, in_apply_order
from bayplan.model.augment import Added, Augmented, AugmentRequest, Change, Path, TemplateSlot, WorkloadTemplates
from bayplan.model.manifest import Lowered, Manifest, Marks, Meta, Object, PodParts, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods
from bayplan.model.policy import Policy
from bayplan.model.target import Target
from bayplan.model.topology import makes_channels
from bayplan.model.workflow import OF_GROVE
from bayplan.pipeline import Origins, Planned
from bayplan.planning.selection import Given, select_backend, select_target, unused
from bayplan.workflows import existing
from bayplan.workflows.existing import Selected

# The objects that a workload needs, compared with the objects that exist.


def new_objects(
    templates: WorkloadTemplates, documents: Sequence[Manifest], cluster: Cluster
) -> tuple[Augmented, list[Diagnostic]]:
    """The objects that do not exist yet. Existing objects of bayplan change if they differ."""
    one = templates.placed
    where, labels = text(one.data, "metadata", "namespace"), mapping(one.data, "metadata", "labels")
    # labels that group the objects of a chart (Helm, "Standard Labels")
    passed_on = {k: str(v) for k, v in labels.items() if k.startswith("app.kubernetes.io/") or k == "helm.sh/chart"}
    changes, added, wrong = [], [], []
    meta = Meta(passed_on, life_cycle(mapping(one.data, "metadata", "annotations")))
    for document in map(head, in_apply_order(documents, where, meta)):
        there = cluster.objects.get(identity(document))
        if there is None:
            added.append(Added(document, one.route))
        elif get(there.data, "metadata", "labels", GANG_LABEL) is None:
            wrong.append(_name_taken(there, one))
        elif (whole := _kept(document, there)) != there.data:
            changes.append(Change(there.route, whole))
    return Augmented(tuple(changes), tuple(added)), wrong


def _kept(document: Manifest, current: Object) -> Manifest:
    """The object with the labels and annotations that others have added to the existing one."""
    own = document["metadata"]
    there = without_annotations(current.data, NAMES)
    kept = {key: {**mapping(there, "metadata", key), **own.get(key, {})} for key in ("labels", "annotations")}
    return {**document, "metadata": {**own, **{key: fields for key, fields in kept.items() if fields}}}


def _name_taken(there: Object, one: Object) -> Diagnostic:
    """A950: an object that bayplan did not write has the name."""
    _, kind, _, name = identity(there.data)
    message = f'{kind} "{name}" already exists, but the placement of "{identity(one.data)[3]}" adds one with this name'
    notes = (Note("the workload is here", (*one.route, "metadata", "name")),)
    return error("A950", (*there.route, "metadata", "name"), message, hint="rename or remove it", notes=notes)


# The marks of a plan on the pod templates of a workload, and the objects that it needs.


def slot_marks_of(candidate: Candidate, planned: Planned) -> tuple[list[SlotMarks], list[Manifest]]:
    """The marks of each pod template, and the objects that belong to the workload."""
    plan, target = planned.plan, planned.target
    own = candidate.has_compute_domain
    own |= candidate.templates.kind in OF_GROVE and makes_channels(plan.topology)
    lowered = backends_existing(planned.backend.declared.name).place(plan, planned.shape, target)
    slot_marks = [_slot_marks(slot, plan, planned.shape, lowered, own) for slot in candidate.templates.slots]
    labels = {WORKFLOW_LABEL: plan.workflow.name, GANG_LABEL: _gang_label(plan)}
    domains = [] if own else [each for gang in plan.gangs for each in gang.compute_domains]
    objects = [labelled(compute_domain(each, target), labels) for each in domains]
    objects += [labelled(each, labels) for each in _network_claims(plan, target)]
    return slot_marks, [*objects, *(each for each in lowered.documents if isinstance(each, Mapping))]


def _slot_marks(slot: TemplateSlot, plan: Plan, shape: Shape, lowered: Lowered, own: bool) -> SlotMarks:
    """The marks that all instances of a pod template share. Earlier checks refuse plans that need different marks."""
    gangs = (*plan.gangs, *shape.workloads[0].gangs)
    instances = [(gang, pods) for gang in gangs for pods in all_pods(gang.root) if pods.spec.name == slot.name]
    marks = [mark for gang, pods in instances if (mark := lowered.marks.get((gang.name, pods.name)))]
    if any(mark != marks[0] for mark in marks):
        raise AssertionError(f"marks of {slot.name!r} differ: {', '.join(map(repr, marks))}")
    pods = instances[0][1]
    pool = plan.topology.pool(pods.pool)
    parts = PodParts(node_selector=pool.node.node_selector, tolerations=pool.node.tolerations) if pool else PodParts()
    channel = "" if own else pods.compute_domain
    request = fabric_request_of(plan, instances[0][0], pods)
    network = kinds.parts(request)._replace(env=()) if request else PodParts()
    return SlotMarks(slot, marks[0] if marks else Marks(), parts, channel, _gang_label(plan), network)


def fabric_request_of(plan: Plan, gang: GangPlan, pods: Pods) -> fabrics.FabricRequest | None:
    """The request for the fabric. GPUs use a separate claim, if any."""
    name = network_claim_name(gang, pods)
    request = fabrics.fabric_request(pods.spec, plan.topology, plan.namespace, pods.pool, name)
    return request._replace(together=False) if request else None


def _network_claims(plan: Plan, target: Target) -> Iterator[Manifest]:
    """The claim templates of network cards, one for each pod template."""
    for gang, pods in _first_instances(plan).values():
        request = fabric_request_of(plan, gang, pods)
        if request and (claim := kinds.claim_template(request, None, target)):
            yield claim


def _first_instances(plan: Plan) -> dict[str, tuple[GangPlan, Pods]]:
    """The first gang and podSet instance of each pod template, by the podSet's name."""
    instances = [(gang, pods) for gang in plan.gangs for pods in all_pods(gang.root)]
    return {pods.spec.name: (gang, pods) for gang, pods in reversed(instances)}


def _gang_label(plan: Plan) -> str:
    """Gangs with the same templates share one label."""
    return plan.gangs[0].name if len(plan.gangs) == 1 else plan.workflow.name


# Accelerators that a pod requests and HAMi does not allocate.

OURS = ("privileged",)
"""Rules that the additions of a fabric can break. The linter, which sees all objects, checks the other rules."""


def privileged_containers(candidate: Candidate, every: Iterable[Injected], cluster: Cluster) -> Iterator[Diagnostic]:
    """W559: a privileged container with GPUs, by its template or because of its fabric."""
    kinds = cluster.topology.accelerators.values()
    if not any(HAMI in kind.allocators for kind in kinds):
        return
    from bayplan.accelerators.hami_rules import faults, hami_pod

    for each in (one for one in every if one.object is candidate.templates.object):
        for slot in candidate.templates.slots:
            for fault in faults(hami_pod(mapping(each.data, *slot.path), kinds, cluster.target)):
                if fault.rule in OURS:
                    route = (*each.object.route, *slot.path, *fault.path)
                    yield Diagnostic(CODES[fault.rule], fault.severity, fault.message, route, hint=fault.hint)


# Environment variables that a workload lacks, and variables that shells do not support.


def unresolved_shell_variables(templates: WorkloadTemplates) -> Iterator[Diagnostic]:
    """W573 for the first affected pod template. TorchX writes one template for each replica."""
    data = templates.object.data
    each_template = (PodTemplate(templates.object, slot.path, get(data, *slot.path), None) for slot in templates.slots)
    yield from next(filter(None, (tuple(broken_variables(each)) for each in each_template)), ())[:1]


def missing_env(candidate: Candidate, planned: Planned) -> Iterator[Diagnostic]:
    """W544: variables that a fabric needs. bayplan does not change the environment of existing workloads."""
    instances = _first_instances(planned.plan)
    missing: dict[tuple[str, ...], list[tuple[str, Pods]]] = {}
    for slot in candidate.templates.slots:
        instance = instances.get(slot.name)
        request = fabric_request_of(planned.plan, *instance) if instance else None
        if instance and request:
            spec = mapping(candidate.templates.object.data, *slot.path, "spec")
            if variables := tuple(_missing_variables(request, spec)):
                missing.setdefault(variables, []).append((slot.name, instance[1]))
    for variables, sets in missing.items():
        names = listing([name for name, _ in sets], "and", 5)
        more = count(len(variables), "more environment variable")
        message = f"the fabric of {names} needs {more}; bayplan does not change the environment of existing workloads"
        yield info("W544", (*sets[0][1].route, "fabric"), message, hint=f"set {'; '.join(variables)}")


def _missing_variables(request: fabrics.FabricRequest, spec: Mapping[str, Any]) -> Iterator[str]:
    """Variables that no container sets. torchrun, which the image may start itself, announces its host name, and other
    pods may be unable to resolve it."""
    present = {text(entry, "name") for each in items(spec, "containers") for entry in items(each, "env")}
    if "PET_LOCAL_ADDR" not in present:
        yield "PET_LOCAL_ADDR from the field status.podIP"
    for entry in kinds.parts(request).env:
        if entry["name"] not in present:
            yield f'{entry["name"]}: "{entry["value"]}"'


def augment(request: AugmentRequest) -> tuple[Outcome[Augmented], Origins]:
    """The changes of existing objects, and the new objects; None if there is an error."""
    topology, origins = pipeline.check_topology(request.topology)
    policy = formats.policy(request.policy) if request.policy else formats.Read[Policy](Policy())
    findings = (*topology.diagnostics, *policy.diagnostics)
    if policy.value is None:
        return Outcome(None, findings), origins
    picked = existing.select(request.objects, policy.value, request.hooks, request.namespace, "A943" in request.accept)
    findings += picked.diagnostics
    if topology.value is None or picked.value is None or has_errors(findings):
        return Outcome(None, findings), origins
    target = select_target(request.target, topology.value)
    findings += target.diagnostics
    if target.value is None:
        return Outcome(None, findings), origins
    cluster = cluster_of(request, topology.value, target.value)
    results = list(_all_placed(picked.value, request, cluster))
    findings += tuple(dict.fromkeys(single_line(d) for each in results for d in each.diagnostics))
    findings += tuple(_shared(picked.value, results))
    parts = [each.value for each in results if each.value]
    unneeded = tuple(_unneeded(picked.value, request, cluster))
    findings += tuple(_removal(each) for each in unneeded)
    whole = Augmented(
        tuple(change for part in parts for change in part.changes),
        tuple(new for part in parts for new in part.added),
        tuple(plan for part in parts for plan in part.plans),
        tuple(each.route for each in reversed(unneeded)),
    )
    findings += tuple(unused(Given(request.queue), (plan.workflow for plan in whole.plans), "workload"))
    return Outcome(None if has_errors(findings) else whole, findings), origins


def _all_placed(picked: Iterable[Selected], request: AugmentRequest, cluster: Cluster) -> Iterator[Outcome[Augmented]]:
    """All workloads. Of those that differ only in their name, two show what the results of the others are."""
    plans: Plans = {}
    first: dict[Any, tuple[Object, Augmented]] = {}
    known: dict[Any, twins.Forms | None] = {}
    for each in picked:
        key, one = twins.key(each), each.templates.object
        shared = known.get(key)
        outcome = Outcome(twins.filled(shared, one, cluster.objects)) if shared else Outcome[Augmented](None)
        if outcome.value is None:
            outcome = _placed(each, request, cluster, plans)
            if key and outcome.value and key in first and key not in known:
                known[key] = None if outcome.diagnostics else twins.forms(*first[key], one, outcome.value)
            elif key and outcome.value:
                first.setdefault(key, (one, outcome.value))
        yield outcome


def _placed(selected: Selected, request: AugmentRequest, cluster: Cluster, plans: Plans) -> Outcome[Augmented]:
    """One workload. Routes into the workflow become routes to the annotation, rule or field that they come from."""
    scheduler, marks = _foreign(selected, request, cluster)
    candidate = candidate_of(selected, cluster)
    outcome = planned(candidate, request, cluster, plans)
    findings = (
        *unresolved_shell_variables(candidate.templates),
        *(_relocated(each, selected) for each in outcome.diagnostics),
    )
    if not any(each.code == "F740" and each.severity == "error" for each in outcome.diagnostics):
        findings += tuple(_owned(selected, marks, scheduler))
    if outcome.value is None or (marks and not selected.adopt):
        return Outcome(None, findings)
    findings += tuple(_relocated(each, selected) for each in missing_env(candidate, outcome.value))
    slot_marks, documents = slot_marks_of(candidate, outcome.value)
    every = inject(selected.templates, slot_marks, cluster.topology, selected.adopt, marks)
    findings += tuple(_never_started(selected, every, documents, scheduler, cluster))
    findings += tuple(privileged_containers(candidate, every, cluster))
    if one := selected.templates.opened_from:
        every, lost = _closed(one, every, _request_route(selected))
        findings = (*findings, *lost)
    fresh, more = new_objects(selected.templates, documents, cluster)
    findings += (*(d for each in every for d in _contradictions(selected, each, outcome.value)), *more)
    if selected.templates.patched:
        from bayplan.manifests.runtime_patches import other_forms, patched  # few TrainJobs need it

        job, lost = patched(selected.templates, every, cluster.target)
        every, findings = (job,), (*findings, *other_forms(selected.templates, cluster.target), *lost)
    changed = tuple(Change(each.object.route, each.data) for each in every if each.data != each.object.data)
    whole = Augmented((*changed, *fresh.changes), fresh.added, (outcome.value.plan,))
    if one := selected.templates.opened_from:
        findings = tuple(grove.located(each, {one.route: one}) for each in findings)
    return Outcome(None if has_errors(findings) else whole, findings)


def _never_started(
    selected: Selected, every: Sequence[Injected], documents: Sequence[Manifest], scheduler: str, cluster: Cluster
) -> Iterator[Diagnostic]:
    """W512, as for manifests that request the same placement already."""
    placed = {one.route: one for one in (selected.templates.object, selected.templates.placed)}
    placed |= {each.object.route: each.object._replace(data=each.data) for each in every}
    at, slots = selected.templates.placed.route, {each.path for each in selected.templates.slots}
    made = [Object((*at, number), document) for number, document in enumerate(documents)]
    made += cluster.queues
    readers = {name: each for name, each in asks().items() if name in (scheduler, "none")}
    found = gangs.members((*placed.values(), *made), gangs.Cluster(cluster.topology, cluster.target, readers))
    after = len(selected.templates.object.route)
    mine = tuple(each for each in found.members if each.found.route[after:] in slots)
    own = found._replace(members=mine)
    yield from (*gangs.never_started(own, placed=True), *queue_objects.check(own))


def _closed(
    one: Object, every: Sequence[Injected], requested: Route
) -> tuple[tuple[Injected, ...], tuple[Diagnostic, ...]]:
    """The marks in the fields of an object of Grove itself. W518: constraints that only new objects can have, and
    marks for which it has no field."""
    (whole,) = every
    data, lost = grove.closed(one, whole.object.data, whole.data)
    findings = [
        error(
            "W518",
            requested,
            f"{title(one)} has no field for `{path[-1]}` of its placement",
            hint="require the level instead of preferring it, or write a PodCliqueSet",
        )
        for path in lost
    ]
    if any(grove.CONSTRAINT in path for path in _changed_paths(one.data, data)):
        message = f"Grove accepts the constraints of {title(one)} only when it is created"
        hint = "ignore this if the cluster does not have it yet; otherwise delete it before you apply the new one"
        findings.append(info("W518", (*one.route, "metadata", "name"), message, hint=hint))
    conflicts = tuple(each._replace(path=grove.place(one, each.path)) for each in whole.conflicts)
    replaced = tuple(each._replace(path=grove.place(one, each.path)) for each in whole.replaced)
    return (Injected(one, data, conflicts, replaced),), tuple(findings)


def _changed_paths(before: Any, after: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of new and changed values."""
    if isinstance(after, Mapping) and isinstance(before, Mapping):
        for key, each in after.items():
            yield from _changed_paths(before.get(key), each, (*path, key))
    elif isinstance(after, list) and isinstance(before, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _changed_paths(old, new, (*path, number))
    elif before != after:
        yield path


# Workloads that belong to another scheduler than the one of their placement.


def _foreign(selected: Selected, request: AugmentRequest, cluster: Cluster) -> tuple[str, tuple[Mark, ...]]:
    """The scheduler of the placement, and the marks of others on the workload and, if it has one, on its runtime."""
    backend = select_backend(request.scheduler, selected.workflow, cluster.topology, BACKENDS).value
    if backend is None:
        return "", ()
    templates, scheduler = selected.templates, backend.declared.name
    objects = (templates.placed,) if templates.placed is templates.object else (templates.placed, templates.object)
    found = (mark for one in objects for mark in owners.marks(one, owners.names(cluster.topology)))
    return scheduler, owners.foreign(found, scheduler)


def _owned(selected: Selected, marks: tuple[Mark, ...], scheduler: str) -> Iterator[Diagnostic]:
    """A950: an error for each other scheduler or, with `adopt`, an info that lists what bayplan removes."""
    if not selected.adopt:
        note = Note("the placement is requested here", _request_route(selected))
        hint = "place it with `-s {}`, remove what gives it away, or set `adopt: true` in a policy rule to remove it"
        yield from owners.belongs(marks, f"its placement is for {scheduler}", hint, notes=(note,))
        return
    for owner, own in owners.by_owner(marks).items():
        one = title(selected.templates.placed)
        message = f"bayplan removes what gives {one} to {OWNERS[owner].title}, in {count(len(own), 'place')}"
        yield info("A950", own[0].route, message, notes=tuple(Note(f"the {each.shown}", each.route) for each in own))


def _unneeded(picked: Iterable[Selected], request: AugmentRequest, cluster: Cluster) -> Iterator[Object]:
    """The objects of other schedulers that only adopted workloads name."""
    gone = [mark for each in picked if each.adopt for mark in _foreign(each, request, cluster)[1]]
    named = owners.named_by(gone, request.objects)
    if named:
        routes = {mark.route for mark in gone}
        rest = (mark for one in request.objects for mark in owners.marks(one) if mark.route not in routes)
        kept = owners.named_by(rest, request.objects)
        yield from (one for one in request.objects if one.route in named - kept)


def _removal(one: Object) -> Diagnostic:
    return info(
        "A950", (*one.route, "metadata", "name"), f"bayplan removes {title(one)}, which no workload names any more"
    )


def _relocated(finding: Diagnostic, selected: Selected) -> Diagnostic:
    notes = tuple(note._replace(route=_place_of(note.route, selected)) for note in finding.notes)
    return finding._replace(route=_place_of(finding.route, selected), notes=notes)


def _place_of(route: Route, selected: Selected) -> Route:
    """The place in the workload or the policy; by default the workload's name."""
    if route[:1] != ("workflow",):
        return route
    source = origin(route, selected.origins)
    return (*source[0], *source[1]) if source else (*selected.templates.placed.route, "metadata", "name")


def _contradictions(selected: Selected, whole: Injected, planned: Planned) -> Iterator[Diagnostic]:
    """A950: fields of the workload that conflict with its placement, and an info that lists those that are replaced."""
    one, by = whole.object, f"the placement by {planned.backend.declared.name}"
    notes = (Note("the placement is requested here", _request_route(selected)),)
    for path, there, wanted in whole.conflicts:
        needs = "allows none" if wanted is None else f"needs {_shown(wanted)}"
        hint = "remove the field, or set `adopt: true` in a policy rule to replace it"
        message = f"{_field(path)} is {_shown(there)}, but {by} {needs}"
        yield error("A950", (*one.route, *path), message, hint=hint, notes=notes)
    if whole.replaced:
        message = f"bayplan replaces {count(len(whole.replaced), 'field')} of {title(one)} for {by}"
        changes = tuple(Note(_replacement(each), (*one.route, *each.path)) for each in whole.replaced)
        yield info("A950", (*one.route, *whole.replaced[0].path), message, notes=changes)


def _replacement(change: Conflict) -> str:
    now = "is removed" if change.wanted is None else f"becomes {_shown(change.wanted)}"
    return f"{_field(change.path)}: {_shown(change.found)} {now}"


def _field(path: Path) -> str:
    return ".".join(str(key) for key in path)


def _shown(value: Any) -> str:
    """A string in quotes, or another value as JSON."""
    return f'"{value}"' if isinstance(value, str) else json.dumps(value, default=str)


def _request_route(selected: Selected) -> Route:
    """The first place that requests the placement."""
    routes = (route for route in selected.origins.values() if _is_placement_request(route))
    return next(routes, selected.templates.placed.route)


def _is_placement_request(route: Route) -> bool:
    """Whether the place requests a placement rather than describes a workload."""
    return route[:1] == ("policy",) or "annotations" in route


def _shared(picked: Iterable[Selected], results: Iterable[Outcome[Augmented]]) -> Iterator[Diagnostic]:
    """A950: objects that two workloads need."""
    owners: dict[tuple[str, str, str, str], Route] = {}
    for selected, each in zip(picked, results, strict=True):
        own = (*selected.templates.placed.route, "metadata", "name")
        added, changes = (each.value.added, each.value.changes) if each.value else ((), ())
        for key in (*(identity(one.data) for one in added), *(identity(one.data) for one in changes)):
            if owners.setdefault(key, own) != own:
                message = f'this workload and another one both need {key[1]} "{key[3]}"'
                note = Note("the other workload is here", owners[key])
                hint = "rename one of the workloads: bayplan names objects after their workloads"
                yield error("A950", own, message, hint=hint, notes=(note,))
