"""Workloads that are there -> the same with their placement: selected, planned and proven as workflows are; adorned.

select        annotations and policy name the workloads, each read as a Workflow of one gang
plan          the pipeline's own, with the shape that the workload has
place         the backend's marks for pod templates that are shared, and its objects
adorn         marks on the workload; what it says already is kept, and what contradicts is an error
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan import pipeline, reading
from bayplan.adorn import Adorned, Dressed, adorned
from bayplan.arrange import arrange, head
from bayplan.backends import BACKENDS
from bayplan.checks import given, levels, pending, references
from bayplan.companions import compute_domain
from bayplan.diagnostics import Diagnostic, Note, Outcome, Route, error, has_errors, origin
from bayplan.kube import cards
from bayplan.kube.kinds.parts import GANG_LABEL, WORKFLOW_LABEL
from bayplan.kube.safe import get, items, mapping, text
from bayplan.model.augment import Added, Augmented, AugmentRequest, Change, Roster, Seat
from bayplan.model.backend import Backend
from bayplan.model.given import FEATURES
from bayplan.model.manifest import Lowered, Manifest, Marks, Meta, Object, PodParts, Shape
from bayplan.model.plan import Plan, all_pods
from bayplan.model.policy import Policy
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import PodSet, Workflow
from bayplan.pipeline import Checked, Draft, Origins, Planned, Request
from bayplan.planning import seats
from bayplan.planning.fidelity import compare
from bayplan.planning.pools import name_accelerators
from bayplan.planning.rename import renamed
from bayplan.selection import select_backend, select_target
from bayplan.values import NamedTuple
from bayplan.words import lined
from bayplan.workflows import manifests
from bayplan.workflows.manifests import Selected


class Cluster(NamedTuple):
    """What all workloads of a request share: the topology, and what is known of the other objects."""

    topology: ClusterTopology
    target: Target
    claims: cards.Claims
    channels: frozenset[tuple[str, str]]
    objects: Mapping[tuple[str, str, str, str], Object]


def augment(request: AugmentRequest) -> tuple[Outcome[Augmented], Origins]:
    """What changes in the objects of a request, and what is new beside them; nothing where anything is wrong."""
    topology, origins = pipeline.check_topology(request.topology)
    policy = reading.policy(request.policy) if request.policy else reading.Read[Policy](Policy())
    found = (*topology.diagnostics, *policy.diagnostics)
    if policy.value is None:
        return Outcome(None, found), origins
    picked = manifests.select(request.objects, policy.value, request.hooks, request.namespace)
    found += picked.diagnostics
    if topology.value is None or picked.value is None or has_errors(found):
        return Outcome(None, found), origins
    target = select_target(request.target, topology.value)
    found += target.diagnostics
    if target.value is None:
        return Outcome(None, found), origins
    cluster = _cluster(request, topology.value, target.value)
    known: Known = {}
    results = [_placed(each, request, cluster, known) for each in picked.value]
    found += tuple(dict.fromkeys(lined(d) for each in results for d in each.diagnostics))
    found += tuple(_shared(results))
    return Outcome(None if has_errors(found) else _joined(each.value for each in results if each.value), found), origins


def _cluster(request: AugmentRequest, topology: ClusterTopology, target: Target) -> Cluster:
    known = {identity(each.data): each for each in reversed(request.objects)}
    return Cluster(topology, target, cards.claims(request.objects), cards.channels(request.objects), known)


def identity(data: Any) -> tuple[str, str, str, str]:
    """API group, kind, namespace and name."""
    group = text(data, "apiVersion").rpartition("/")[0]
    return group, text(data, "kind"), text(data, "metadata", "namespace"), text(data, "metadata", "name")


def _joined(each: Iterable[Augmented]) -> Augmented:
    """All of them as one."""
    parts = list(each)
    changes = tuple(change for part in parts for change in part.changes)
    return Augmented(changes, tuple(new for part in parts for new in part.added))


def _shared(results: Iterable[Outcome[Augmented]]) -> Iterator[Diagnostic]:
    """A952: objects that two workloads want."""
    owners: dict[tuple[str, str, str, str], Route] = {}
    for new in (new for each in results if each.value for new in each.value.added):
        key = identity(new.data)
        if key not in owners:
            owners[key] = new.beside
            continue
        message = f'{key[1]} "{key[3]}" of this workload would be that of another workload, too'
        notes = (Note("the other workload is here", (*owners[key], "metadata", "name")),)
        hint = "objects are called after their workloads: rename one of the two"
        yield error("A952", (*new.beside, "metadata", "name"), message, hint=hint, notes=notes)


Known = dict[str, Planned]
"""Plans without findings, by everything that went into them but the workload's name."""


def _placed(selected: Selected, request: AugmentRequest, cluster: Cluster, known: Known) -> Outcome[Augmented]:
    """One workload. Routes of the workflow are led back to where they were said."""
    made = _known(selected, request, cluster, known)
    found = tuple(_led_back(each, selected) for each in made.diagnostics)
    if made.value is None:
        return Outcome(None, found)
    dressed, documents = _dressed(selected, made.value, cluster)
    every = adorned(selected.roster, dressed, cluster.topology, selected.adopt)
    news, more = _news(selected, documents, cluster)
    found += (*(d for each in every for d in _contradictions(selected, each, made.value)), *more)
    changed = tuple(Change(each.object.route, each.data) for each in every if each.data != each.object.data)
    return Outcome(None if has_errors(found) else Augmented((*changed, *news.changes), news.added), found)


def _led_back(found: Diagnostic, selected: Selected) -> Diagnostic:
    notes = tuple(note._replace(route=_back(note.route, selected)) for note in found.notes)
    return found._replace(route=_back(found.route, selected), notes=notes)


def _back(route: Route, selected: Selected) -> Route:
    """The place in the workload or the policy; where nobody said it, the workload's name."""
    if route[:1] != ("workflow",):
        return route
    led = origin(route, selected.origins)
    return (*led[0], *led[1]) if led else (*selected.roster.placed.route, "metadata", "name")


def _known(selected: Selected, request: AugmentRequest, cluster: Cluster, known: Known) -> Outcome[Planned]:
    """The plan; of a workload that is alike but for its name, if that had no findings."""
    workflow, roster = _completed(selected, request, cluster), selected.roster
    backend = select_backend(request.scheduler, workflow, cluster.topology, BACKENDS)
    if backend.value is None:
        return Outcome(None, backend.diagnostics)
    if not workflow.queue:
        workflow = workflow._replace(queue=_own_queue(roster, backend.value.QUEUE_LABEL))
    nameless = workflow._replace(name="", gangs=(workflow.gangs[0]._replace(name=""),))
    key = repr((nameless, len(workflow.name), roster.seats, roster.gangs, _carries_domain(selected, cluster)))
    if key in known:
        found = known[key]
        plan, shape = renamed(found.plan, found.shape, workflow.name)
        return Outcome(found._replace(plan=plan, shape=shape))
    made = _planned(selected, workflow, backend.value, request, cluster)
    if made.value is not None and not made.diagnostics:
        known[key] = made.value
    return made


def _templates(roster: Roster) -> Iterator[Mapping[str, Any]]:
    return (mapping(roster.object.data, *seat.path) for seat in roster.seats)


def _planned(
    selected: Selected, workflow: Workflow, backend: Backend, request: AugmentRequest, cluster: Cluster
) -> Outcome[Planned]:
    """The pipeline's check and plan, for a workload whose shape is given."""
    roster = selected.roster
    workflow = name_accelerators(workflow, cluster.topology)
    unbuilt = workflow._replace(
        gangs=(workflow.gangs[0]._replace(workload="auto"),)
    )  # its kind is there, not asked for
    checks = (d for each in (references, levels, pending) for d in each.check(unbuilt, cluster.topology))
    found = (*given.check(roster), *checks)
    if has_errors(found):
        return Outcome(None, found)
    own = Request(request.topology, request.topology, accept=request.accept)
    checked = Checked(workflow, cluster.topology, backend, cluster.target)
    bound = pipeline.bound(own, checked)
    found += tuple(_milder(each, selected, cluster) for each in bound.diagnostics)
    if bound.value is None:
        return Outcome(None, found)
    plan = seats.merged(bound.value, roster)
    shaped = seats.seated(plan, roster)
    found += (*seats.shared_domains(bound.value), *shaped.diagnostics)
    if shaped.value is not None:
        rows, title = backend.GIVEN, pipeline.title(backend, cluster.target)
        lost = tuple(compare(seats.needs(shaped.value, roster), rows, cluster.target, title, FEATURES))
        found += lost
        if any(each.code == "F740" for each in lost):
            return Outcome(None, lost)  # whatever else there is to say would be of no use
    settled = pipeline.settled(own, checked, Draft(plan, plan, shaped.value, found))
    return Outcome(settled.value, settled.diagnostics)


def _milder(found: Diagnostic, selected: Selected, cluster: Cluster) -> Diagnostic:
    """P506 and P507 as warnings where the ComputeDomain is the chart's own: its pods run, if not as they could."""
    mild = found.code in ("P506", "P507") and _carries_domain(selected, cluster)
    return found._replace(severity="warning") if mild else found


def _carries_domain(selected: Selected, cluster: Cluster) -> bool:
    """Whether pods claim from a ComputeDomain that others wrote: then there is no second one."""
    roster, where = selected.roster, selected.workflow.namespace
    specs = (mapping(each, "spec") for each in _templates(roster))
    return any(cards.claims_channel(spec, where, cluster.channels) for spec in specs)


def _own_queue(roster: Roster, label: str) -> str:
    """The queue that the workload names already."""
    every = (roster.placed.data, *_templates(roster)) if label else ()
    told = (text(each, "metadata", kind, label) for kind in ("labels", "annotations") for each in every)
    return roster.queue or next(filter(None, told), "")


def _completed(selected: Selected, request: AugmentRequest, cluster: Cluster) -> Workflow:
    """The workload's Workflow with the cards of its pods, and one ComputeDomain where it has one already."""
    workflow, roster = selected.workflow, selected.roster
    where = workflow.namespace
    specs = {seat.name: mapping(roster.object.data, *seat.path, "spec") for seat in roster.seats}
    gang = _with_cards(workflow.gangs[0], specs, where, cluster)
    if _carries_domain(selected, cluster):
        gang = gang._replace(compute_domain="gang")
    return workflow._replace(namespace=where or request.namespace, gangs=(gang,))


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
    kept = {key: spec[key] for key in ("affinity", "overhead", "resources") if spec.get(key)}
    if selector := _own_selector(spec, cluster.topology):
        kept["nodeSelector"] = selector
    asked = cards.accelerator(spec, where, cluster.topology, cluster.claims)
    return pods._replace(accelerator=asked, template={"spec": {**lists, **kept}})


def _own_selector(spec: Mapping[str, Any], topology: ClusterTopology) -> dict[str, Any]:
    """The nodes that the pods choose themselves. What their pool asks for is no choice, and a second run finds it."""
    pools = [pool.node.node_selector for pool in topology.pools]
    chosen = mapping(spec, "nodeSelector").items()
    return {key: value for key, value in chosen if not any(each.get(key) == value for each in pools)}


def _dressed(selected: Selected, planned: Planned, cluster: Cluster) -> tuple[list[Dressed], list[Manifest]]:
    """What each pod template is to carry, and the objects that go with the workload."""
    plan, roster, target = planned.plan, selected.roster, planned.target
    lowered = planned.backend.place(plan, planned.shape, target)
    own = _carries_domain(selected, cluster)
    dressed = [_seat(seat, plan, planned.shape, lowered, own) for seat in roster.seats]
    labels = {WORKFLOW_LABEL: plan.workflow.name, GANG_LABEL: _gang_label(plan)}
    domains = [] if own else [each for gang in plan.gangs for each in gang.compute_domains]
    made = [_labelled(compute_domain(each, target), labels) for each in domains]
    return dressed, [*made, *(each for each in lowered.documents if isinstance(each, Mapping))]


def _labelled(document: Manifest, labels: Mapping[str, str]) -> Manifest:
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "labels": {**labels, **metadata.get("labels", {})}}}


def _seat(seat: Seat, plan: Plan, shape: Shape, lowered: Lowered, own: bool) -> Dressed:
    """The marks that all instances of a pod template have in common: the needs saw to it that there are no others."""
    gangs = (*plan.gangs, *shape.workloads[0].gangs)
    mine = [(gang, pods) for gang in gangs for pods in all_pods(gang.root) if pods.spec.name == seat.name]
    marks = {repr(mark): mark for gang, pods in mine if (mark := lowered.marks.get((gang.name, pods.name)))}
    if len(marks) > 1:
        raise AssertionError(f"marks of {seat.name!r} differ: {', '.join(marks)}")
    pods = mine[0][1]
    pool = plan.topology.pool(pods.pool)
    parts = PodParts(node_selector=pool.node.node_selector, tolerations=pool.node.tolerations) if pool else PodParts()
    channel = "" if own else pods.compute_domain
    return Dressed(seat, next(iter(marks.values()), Marks()), parts, channel, _gang_label(plan))


def _gang_label(plan: Plan) -> str:
    """Gangs of the same templates have one label."""
    return plan.gangs[0].name if len(plan.gangs) == 1 else plan.workflow.name


def _contradictions(selected: Selected, whole: Adorned, planned: Planned) -> Iterator[Diagnostic]:
    """A950: what the workload says against what it was to be given."""
    one = whole.object
    said = next((route for route in selected.origins.values() if _is_wish(route)), one.route)
    for path, there, wanted in whole.conflicts:
        field = ".".join(str(key) for key in path)
        message = f'{field} is "{there}", and its placement by {planned.backend.NAME} needs "{wanted}"'
        notes = (Note("the placement is asked for here", said),)
        hint = "remove it, or let a rule of a policy with `adopt: true` replace it"
        yield error("A950", (*one.route, *path), message, hint=hint, notes=notes)


def _is_wish(route: Route) -> bool:
    """Whether somebody asks for a placement there, rather than describes a workload."""
    return route[:1] == ("policy",) or "annotations" in route


def _news(selected: Selected, documents: list[Manifest], cluster: Cluster) -> tuple[Augmented, list[Diagnostic]]:
    """The objects that are not there yet; those of ours that are there and differ become what they should be."""
    one = selected.roster.placed
    where, labels = text(one.data, "metadata", "namespace"), mapping(one.data, "metadata", "labels")
    handed = Meta({key: str(value) for key, value in labels.items() if _passed_on(key)})
    changes, added, wrong = [], [], []
    for document in map(head, arrange(documents, where, handed)):
        there = cluster.objects.get(identity(document))
        if there is None:
            added.append(Added(document, one.route))
        elif get(there.data, "metadata", "labels", GANG_LABEL) is None:
            wrong.append(_taken(there, one))
        elif (whole := _kept(document, there)) != there.data:
            changes.append(Change(there.route, whole))
    return Augmented(tuple(changes), tuple(added)), wrong


def _kept(document: Manifest, there: Object) -> Manifest:
    """The object with the labels and annotations that others have put on the one that is there."""
    own = document["metadata"]
    kept = {key: {**mapping(there.data, "metadata", key), **own.get(key, {})} for key in ("labels", "annotations")}
    return {**document, "metadata": {**own, **{key: held for key, held in kept.items() if held}}}


def _passed_on(key: str) -> bool:
    """Labels by which charts and their users know what belongs together (Helm, "Standard Labels")."""
    return key.startswith("app.kubernetes.io/") or key == "helm.sh/chart"


def _taken(there: Object, one: Object) -> Diagnostic:
    """A951: somebody else's object has the name."""
    _, kind, _, name = identity(there.data)
    message = f'{kind} "{name}" is there already, and is not what the placement of "{identity(one.data)[3]}" needs'
    notes = (Note("the workload is here", (*one.route, "metadata", "name")),)
    return error("A951", (*there.route, "metadata", "name"), message, hint="rename or remove it", notes=notes)
