"""Workloads of manifests -> their pods with what these request of their scheduler, and gangs that never start.

`lint`, `check`, `plan`, `post-render` and the functions read manifests here, so that they give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors, info, warning
from bayplan.core.phrases import count, shorten
from bayplan.kube import grove
from bayplan.kube.asked import Ask, Asked, PodsFound, beside
from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL, POD_SET_LABEL, WORKFLOW_LABEL
from bayplan.kube.objects import get, group, kind, mapping, name, namespace, number_in, pod_templates, text, title
from bayplan.kube.workloads import REFUSED, WORKLOADS
from bayplan.kube.workloads.parts import autoscalers, related
from bayplan.kube.workloads.start_order import present
from bayplan.model.augment import WorkloadTemplates
from bayplan.model.manifest import Object
from bayplan.model.plan import MOST_GANGS
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Pool

GROUPS_OF_PODS = frozenset({"PodGroup", "CompositePodGroup"})


class Member(NamedTuple):
    """Pods with what they request, and the scheduler that they request it of."""

    found: PodsFound
    asked: Asked
    scheduler: str


class Members(NamedTuple):
    """All pods of some manifests.

    `objects`: with those that Grove makes; `patched`: TrainJobs that change a runtime; `unread`: the labels and
    annotations of pods that bayplan cannot count.
    """

    members: tuple[Member, ...]
    diagnostics: tuple[Diagnostic, ...]
    objects: tuple[Object, ...]
    patched: tuple[WorkloadTemplates, ...] = ()
    unread: frozenset[str] = frozenset()


class Cluster(NamedTuple):
    """What the readers need besides the objects.

    `pool`: the one that pods probably run in; `occupied`: nodes whose pods count already.
    """

    topology: ClusterTopology
    target: Target
    readers: Mapping[str, Ask]
    pool: Callable[[PodsFound], Pool | None] = lambda _: None
    occupied: Container[str] = ()


def members(given: Sequence[Object], cluster: Cluster) -> Members:
    """The pods with what they request.

    W515: pods on a node. W641: pods that bayplan cannot read. W642: a group without pods. W643: a missing group. W647:
    pods that need no place.
    """
    pods: list[PodsFound] = []
    wrong: list[Diagnostic] = []
    patched: list[WorkloadTemplates] = []
    objects, near = list(given), related(given)
    for one in map(_called, given):
        if _is_helper(one):
            continue
        if left := _left_out(one, cluster.occupied):
            wrong.append(left)
        elif kind(one) == "Pod" and text(one.data, "spec", "nodeName"):
            continue  # it counts as an occupant
        elif (group(one), kind(one)) in WORKLOADS:
            read = _read(one, near)
            templates = read.value
            if templates and grove.is_grove(one):
                cliques, groups = grove.made(_scaled(one, near), given, cluster.topology)
                pods += (each for clique in cliques for each in _pods(clique, cluster.pool))
                objects += groups
                continue
            wrong += (*_bound(templates),) if templates else read.diagnostics
            patched += [templates] if templates and templates.patched else []
            pods += _pods(templates, cluster.pool) if templates else ()
        elif (group(one), kind(one)) in REFUSED or (any(pod_templates(one.data)) and kind(one) != "PodTemplate"):
            wrong.append(_unreadable(one))
    merged = list(_merged(pods))
    if not merged and not has_errors(wrong) and not any(kind(one) in GROUPS_OF_PODS for one in given):
        message = "the manifests have no pods to plan"
        wrong.append(error("W641", given[0].route if given else (), message, hint=_HINT))
    near_by = beside(objects, merged, cluster.topology, cluster.target)
    read_members: list[Member] = []
    for each in merged:
        answers = ((name, reader(each, near_by)) for name, reader in cluster.readers.items())
        scheduler, outcome = next((name, answer) for name, answer in answers if answer is not None)
        if scheduler == "none" and not _is_default(each.scheduler, cluster.topology):
            outcome = Outcome(None, (_unclaimed(each),))
        wrong += outcome.diagnostics
        asked = outcome.value and (outcome.value._replace(least=1) if _arecopies_of(each) else outcome.value)
        read_members += [Member(each, asked, scheduler)] if asked else []
    wrong += _without_pods(given, merged)
    counted = {each.workload.route for each in merged}
    templates_left = (each for one in given if one.route not in counted for _, each in pod_templates(one.data))
    unread = frozenset(str(value) for each in templates_left for value in _values(each))
    return Members(tuple(read_members), tuple(wrong), tuple(objects), tuple(patched), unread)


def faults(every: Members) -> Iterator[Diagnostic]:
    """What keeps gangs from starting."""
    yield from dict.fromkeys(each for each in every.diagnostics if each.code == "W642" and each.route[-1] != "name")
    yield from never_started(every)


def _called(one: Object) -> Object:
    """The object with a name like those that the API server makes of its `generateName`."""
    begin = text(one.data, "metadata", "generateName")
    if name(one) or not begin:
        return one
    return one._replace(data={**one.data, "metadata": {**one.data["metadata"], "name": f"{begin}xxxxx"}})


def _read(one: Object, near: Sequence[Object]) -> Outcome[WorkloadTemplates]:
    """The pods of a workload, with the copies of a gang that are Jobs or Deployments of bayplan."""
    copies = copies_of(one)
    read = WORKLOADS[group(one), kind(one)](_one_copy(one) if copies else _scaled(one, near), near)
    templates = read.value
    if templates and templates.kind == "deployment" and templates.slots and not _grouped(one):
        slot = templates.slots[0]
        copies = slot.total if slot.total <= MOST_GANGS else 1
        templates = templates._replace(slots=(slot._replace(replicas=slot.total // copies, late=None),))
    return read._replace(value=templates._replace(gangs=copies) if templates and copies > 1 else templates)


def _is_default(scheduler: str, topology: ClusterTopology) -> bool:
    """Whether a `schedulerName` is that of kube-scheduler, or of a scheduler that extends it."""
    from bayplan.accelerators.hami_rules import SCHEDULERS

    return scheduler in (*SCHEDULERS, topology.scheduler_name("native", ""))


def _unclaimed(found: PodsFound) -> Diagnostic:
    """W643: pods name a scheduler, but nothing that bayplan reads says what they request of it."""
    called = found.scheduler
    message = f'the pods of "{found.name}" name the scheduler "{called}", but neither a PodGroup nor a queue of it'
    hint = (
        "add their PodGroup, and name it in the pods; or if it is another name of a scheduler, add it to the topology:"
    )
    field = (*found.route, "spec", "schedulerName")
    at = field if get(found.template, "spec", "schedulerName") else found.route
    return error("W643", at, message, hint=f"{hint} `schedulers: {{kai: {{schedulerName: {called}}}}}`")


def _is_helper(one: Object) -> bool:
    """Whether it is a Job of bayplan beside the workloads (`cleanup: adopt`), which ends before or runs anywhere."""
    ours = WORKFLOW_LABEL in mapping(one.data, "metadata", "labels")
    own = text(one.data, "spec", "template", "spec", "serviceAccountName")
    return ours and kind(one) == "Job" and own == name(one)


FINISHED = ("Succeeded", "Failed")
APART_FROM_JOBS = {
    ("apps", "DaemonSet"): ("whose pods run on every node", ""),
    ("batch", "CronJob"): ("which creates its Jobs later", "to plan a run, write its `jobTemplate` as a Job"),
}
"""Kinds without pods to place now: why, and the hint."""


def _left_out(one: Object, occupied: Container[str]) -> Diagnostic | None:
    """W647: an object whose pods need no place, or have one already. `occupied`: nodes whose pods count."""
    what = f"bayplan does not plan {title(one)}"
    if (group(one), kind(one)) in APART_FROM_JOBS:
        why, hint = APART_FROM_JOBS[group(one), kind(one)]
        return info("W647", (*one.route, "kind"), f"{what}, {why}", hint=hint)
    if (group(one), kind(one)) != ("", "Pod"):
        return None
    if text(one.data, "status", "phase") in FINISHED:
        return info("W647", (*one.route, "status", "phase"), f"{what}, which has ended")
    node = text(one.data, "spec", "nodeName")
    if node and node not in occupied:
        message = f'{what}, which is on node "{shorten(node)}" already'
        hint = "pass the output of `kubectl get pods -A -o json` as `--occupied`, so that it counts there"
        return warning("W647", (*one.route, "spec", "nodeName"), message, hint=hint)
    return None


def _bound(templates: WorkloadTemplates) -> Iterator[Diagnostic]:
    """W515: pods that start on a node without a scheduler."""
    for slot in templates.slots:
        if node := text(templates.object.data, *slot.path, "spec", "nodeName"):
            message = f'the pods of {title(templates.placed)} name node "{shorten(node)}", so no scheduler places them'
            route = (*templates.object.route, *slot.path, "spec", "nodeName")
            yield error("W515", route, message, hint="remove `nodeName`, or select the node with `nodeSelector`")


_HINT = "add a workload, such as a Job, a JobSet or a LeaderWorkerSet"


def _unreadable(one: Object) -> Diagnostic:
    """W641."""
    message = f"bayplan does not know which pods {title(one)} creates, so the plan would lack them"
    return error("W641", (*one.route, "kind"), message, hint="remove it from the manifests to plan, or write its pods")


TEMPLATE = ("spec", "template")
GROUP_KEYS = ("pod-group-name", "scheduling.k8s.io/group-name", "pod-group.scheduling.sigs.k8s.io")
"""Annotations and labels by which pods name a PodGroup of KAI, Volcano or Koordinator."""


def _grouped(one: Object) -> bool:
    """Whether the pods of a Deployment name a group. Otherwise each is scheduled by itself."""
    marks = [mapping(one.data, *TEMPLATE, "metadata", word) for word in ("labels", "annotations")]
    return any(key in each for each in marks for key in GROUP_KEYS) or bool(
        get(one.data, *TEMPLATE, "spec", "schedulingGroup") or get(one.data, *TEMPLATE, "spec", "workloadRef")
    )


def _scaled(one: Object, objects: Sequence[Object]) -> Object:
    """The workload with the fewest copies that its autoscaler keeps, if it states no number of them."""
    if get(one.data, "spec", "replicas") is not None:
        return one
    least = next((get(each.data, "spec", "minReplicas") or 1 for each in autoscalers(one, objects)), None)
    return one._replace(data={**one.data, "spec": {**mapping(one.data, "spec"), "replicas": least}}) if least else one


def copies_of(one: Object) -> int:
    """How many copies of a gang a Job of bayplan makes, each of which fails by itself; 0 of another object."""
    ours = kind(one) == "Job" and GANG_LABEL in mapping(one.data, "metadata", "labels")
    apart = get(one.data, "spec", "backoffLimitPerIndex") is not None
    return (number_in(one.data, "spec", "completions") or 0) if ours and apart else 0


def _arecopies_of(found: PodsFound) -> bool:
    """Whether the pods of a Job in a JobSet of bayplan are copies of a gang, of which one is enough to start."""
    path = found.route[len(found.workload.route) : -1]
    ours = kind(found.workload) == "JobSet" and GANG_LABEL in mapping(found.workload.data, "metadata", "labels")
    return ours and get(found.workload.data, *path, "backoffLimitPerIndex") is not None


def _one_copy(one: Object) -> Object:
    """The Job with the pod of one copy."""
    return one._replace(data={**one.data, "spec": {**mapping(one.data, "spec"), "parallelism": 1, "completions": 1}})


def _pods(templates: WorkloadTemplates, pool: Callable[[PodsFound], Pool | None]) -> Iterator[PodsFound]:
    """The podSet instances of a workload; if several gangs have the same templates, those of each gang."""
    for number in range(templates.gangs):
        for slot in templates.slots:
            template = mapping(templates.object.data, *slot.path)
            labels = mapping(template, "metadata", "labels")
            own = "-".join(filter(None, (str(labels.get(GROUP_LABEL, "")), str(labels.get(POD_SET_LABEL, "")))))
            called = own if POD_SET_LABEL in labels else slot.name
            if templates.gangs > 1:
                base = labels.get(GANG_LABEL) if copies_of(templates.placed) else name(templates.placed)
                labelled = {**labels, GANG_LABEL: f"{base}-{number}"}
                template = {**template, "metadata": {**mapping(template, "metadata"), "labels": labelled}}
            size = slot.replicas if slot.copies > 1 else 0
            route = (*templates.object.route, *slot.path)
            more = size, slot.name, templates.made, slot.late
            found = PodsFound(called, slot.total, template, templates.placed, route, None, *more)
            yield found._replace(pool=pool(found))


def _merged(pods: Iterable[PodsFound]) -> Iterator[PodsFound]:
    """The pods, with bare Pods of one podSet instance as one."""
    bare: dict[tuple[str, str, str], PodsFound] = {}
    for each in pods:
        gang = each.label(GANG_LABEL)
        if kind(each.workload) != "Pod" or not (gang and each.label(POD_SET_LABEL)):
            yield each
            continue
        key = namespace(each.workload), gang, each.name
        bare[key] = each._replace(replicas=each.replicas + (bare[key].replicas if key in bare else 0))
    yield from bare.values()


def _without_pods(objects: Sequence[Object], pods: Sequence[PodsFound]) -> Iterator[Diagnostic]:
    """W642: PodGroups whose pods are not in the manifests."""
    texts = {str(value) for each in pods for value in _values(each.template)}
    parents = {text(one.data, "spec", "parentCompositePodGroupName") for one in objects}
    for one in objects:
        if kind(one) in GROUPS_OF_PODS and name(one) not in texts and name(one) not in parents:
            message = f"no pods in the manifests name {title(one)}, so bayplan does not know what it needs"
            yield error("W642", (*one.route, "metadata", "name"), message, hint="add the workload of the pods")


def _values(template: Mapping[str, Any]) -> Iterator[Any]:
    for word in ("labels", "annotations"):
        yield from mapping(template, "metadata", word).values()
    yield get(template, "spec", "schedulingGroup", "podGroupName")


# Gangs that never start.


def never_started(every: Members, placed: bool = False) -> Iterator[Diagnostic]:
    """W512: a gang that waits for pods that nobody creates before some of it runs.

    `placed`: whether bayplan makes the gangs, with room for no more than their pods.
    """
    known = (gang for gang in gangs_of(every) if gang[0].asked.gang not in every.unread)
    yield from dict.fromkeys(found for gang in known for found in _never_started(gang, placed))


def gangs_of(every: Members) -> Sequence[Sequence[Member]]:
    """The pods of each gang."""
    gangs: dict[object, list[Member]] = {}
    for each in every.members:
        made = each.asked.route == each.found.workload.route  # of no object of its own
        called = (made and each.found.label(GANG_LABEL)) or each.asked.gang
        key = each.scheduler, namespace(each.found.workload), called, each.found.workload.route if made else ()
        gangs.setdefault(key, []).append(each)
    return list(gangs.values())


def _never_started(gang: Sequence[Member], placed: bool) -> Iterator[Diagnostic]:
    if gang[0].asked.waits == 0:
        return
    slots = {(each.found.workload.route, each.found.slot) for each in gang}
    units: dict[str, list[Member]] = {}
    for each in gang:
        units.setdefault(each.asked.unit, []).append(each)
    short = []
    for unit in units.values():
        there = sum(_present(each, slots) for each in unit)
        wanted = unit[0].asked.waits or sum(each.asked.least or each.found.replicas for each in unit)
        late = next((each for each in unit if _present(each, slots) < each.found.replicas), unit[0])
        short += [_waiting(late, wanted, there)] if there < wanted else []
        for each in unit if there >= wanted else ():
            yield from _later(each, wanted, placed, len(unit) == 1)
    most = max(each.asked.units for each in gang)
    if short and (not most or len(units) - len(short) < most):
        yield short[0]


def _later(one: Member, wanted: int, placed: bool, single: bool) -> Iterator[Diagnostic]:
    """Pods that start after others have ended, or with a new version. The former are up to the workload's author, who
    stated the number and may know that the pods end one by one."""
    late = one.found.late
    if late and one.asked.alive and single and late.last is not None and late.last < wanted:
        message = f"{late.what}, but its gang waits for {count(wanted, 'pod')} that have not ended"
        message += f", so the last {'pod' if late.last == 1 else f'{late.last} pods'} may never start"
        report = warning if one.asked.stated and not placed else error
        yield report("W512", late.route, message, hint=late.hint)
    if late and late.rolls and placed and wanted > 1:
        yield error("W512", late.route, f"{late.what}, but its gang has only its `replicas`", hint=late.hint)


def _present(one: Member, slots: Container[tuple[Route, str]]) -> int:
    found = one.found
    inside = [each for each in (found.late.after if found.late else ()) if (found.workload.route, each) in slots]
    return present(found.late, found.replicas, inside)


def _waiting(one: Member, wanted: int, there: int) -> Diagnostic:
    late, at = one.found.late, one.asked.field or one.found.route
    what = f"the gang of {title(one.found.workload)} waits for {count(wanted, 'pod')}"
    if late is None or (late.first is None and not late.after):
        message = f"{what}, but only {there} can exist, so none would ever start"
        return error("W512", at, message, hint="lower the minimum of the gang, or raise the number of pods")
    message = f"{late.what}, but {what}, of which {there} can exist before, so none would ever start"
    return error("W512", late.route, message, hint=late.hint)
