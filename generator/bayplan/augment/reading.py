"""Manifests that exist -> plans: the gangs that they request of their scheduler, and where these fit.

find     the pods of all workloads, with their numbers.
ask      the backend of the scheduler reads the units around them, with levels and minimums.
build    a Workflow for each name, with alike units as replicas of one group.
plan     pools, levels and the proof, as for a workflow. Claims and names stay those of the manifests.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bayplan import backends, pipeline
from bayplan.augment.planning import Cluster, cluster_of, with_own_cards
from bayplan.backends import BACKENDS
from bayplan.checks import node_rules, queue_objects
from bayplan.checks.gangs import GROUPS_OF_PODS, Member, copies_of, never_started
from bayplan.checks.gangs import Cluster as Read
from bayplan.checks.gangs import members as members_of
from bayplan.core.diagnostics import Diagnostic, Note, Outcome, Route, error, has_errors, warning
from bayplan.core.phrases import shorten, suggest
from bayplan.kube import grove, quantity
from bayplan.kube.asked import PodsFound, Step, unit_of
from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL, POD_SET_LABEL, WORKFLOW_LABEL
from bayplan.kube.objects import (
    get,
    group,
    identity,
    items,
    kind,
    mapping,
    name,
    named,
    namespace,
    number_in,
    text,
    title,
)
from bayplan.kube.pod import APART, EXCLUSIVE, REQUIRED, WHOLE_NODE
from bayplan.kube.workloads import WORKLOADS
from bayplan.model.augment import AugmentRequest
from bayplan.model.manifest import Object, Shape, Workload
from bayplan.model.plan import ComputeDomain, GangPlan, Plan, Pods, Unit, all_pods, edit_unit, walk
from bayplan.model.topology import HOST, Pool
from bayplan.model.workflow import GANGS, Gang, Group, Placement, PodSet, Workflow
from bayplan.pipeline import CheckedTopology, Origins, Planned
from bayplan.planning.bind import bind
from bayplan.planning.fit import diagnose
from bayplan.planning.pools import name_accelerators, with_card_portions
from bayplan.planning.selection import default_namespace, select_backend, select_target
from bayplan.planning.workload_checks import unmet_preferences, unmodelled_constraints


class ReadPlan(NamedTuple):
    """One workflow of the manifests. `planned`: None if it does not fit.

    `origins`: route of the workflow -> place in the manifests; `route`: that of its first workload.
    """

    planned: Planned | None
    diagnostics: tuple[Diagnostic, ...]
    origins: Mapping[Route, Route]
    route: Route


def plans(
    request: AugmentRequest, judged: CheckedTopology | None = None
) -> tuple[Outcome[tuple[ReadPlan, ...]], Origins]:
    """The plans of all workloads in the objects. The policy and the annotations for placements do not count.

    `judged`: the topology, if it was checked before.

    W641: pods that bayplan cannot read. W642: a group without pods. W643: a group that is missing. W323: a level that
    the topology does not have. W301: a workload that the manifests have twice.
    """
    topology, origins = judged or pipeline.check_topology(request.topology)
    target = select_target(request.target, topology.value) if topology.value else None
    found = (*topology.diagnostics, *(target.diagnostics if target else ()))
    if topology.value is None or target is None or target.value is None:
        return Outcome(None, found), origins
    found += tuple(_duplicates(request.objects))
    if has_errors(found):
        return Outcome(None, found), origins
    cluster = cluster_of(request, topology.value, target.value)
    readers = backends.asks()
    every = members_of(
        request.objects,
        Read(topology.value, target.value, readers, partial(_pool, cluster=cluster), request.occupied),
    )
    wrong = [
        *dict.fromkeys(every.diagnostics),
        *never_started(every),
        *queue_objects.check(every),
        *node_rules.check(every, topology.value),
    ]
    for each in every.patched:
        from bayplan.manifests.runtime_patches import other_forms  # few TrainJobs need it

        wrong += other_forms(each, target.value)
    whole = request._replace(objects=every.objects)
    read = (_planned(each, whole, cluster) for each in _by_workflow(every.members))
    if made := {one.route: one for one in request.objects if grove.is_grove(one)}:
        wrong = [grove.located(each, made) for each in wrong]
        read = (_located(each, made) for each in read)
    return Outcome(tuple(read), (*found, *wrong)), origins


def _located(plan: ReadPlan, made: Mapping[Route, Object]) -> ReadPlan:
    """The plan with places in the objects of Grove themselves."""
    origins = {route: grove.real(there, made) for route, there in plan.origins.items()}
    return plan._replace(diagnostics=tuple(grove.located(each, made) for each in plan.diagnostics), origins=origins)


def _duplicates(objects: Sequence[Object]) -> Iterator[Diagnostic]:
    """W301 for each workload or group of pods whose name another of its kind has."""
    firsts: dict[object, Object] = {}
    for one in filter(name, objects):
        first = firsts.setdefault(identity(one.data), one)
        if first is not one and ((group(one), kind(one)) in WORKLOADS or kind(one) in GROUPS_OF_PODS):
            note = Note("the first is here", named(first))
            hint = "rename or remove one: the second replaces the first"
            yield error("W301", named(one), f"the manifests have {title(one)} twice", hint=hint, notes=(note,))


def _at_once(members: Sequence[Member], objects: Sequence[Object]) -> int | None:
    """How many copies run at the same time, if one Job makes them and limits them."""
    made = next((one for one in objects if one.route == members[0].found.workload.route), None)
    most = number_in(made.data, "spec", "parallelism") if made and copies_of(made) else None
    return most if made and most and most < copies_of(made) else None


def _pool(found: PodsFound, cluster: Cluster) -> Pool | None:
    """The pool that pods select, or the first with their accelerator."""
    topology = cluster.topology
    pods = with_own_cards(PodSet(""), mapping(found.template, "spec"), namespace(found.workload), cluster)
    fitting = (pool for pool in topology.pools if bool(pool.node.accelerator) == bool(pods.accelerator))
    return topology.pool(pods.pool) if pods.pool else next(fitting, topology.pools[0] if topology.pools else None)


# Members -> Workflows: a tree of units for each gang, in which alike units are replicas of one group.


class Branch(NamedTuple):
    """A unit with its pods and the units inside."""

    step: Step
    pods: list[tuple[Member, tuple[Step, ...]]]  # the steps that divide them
    inside: dict[str, Branch]


class Flow(NamedTuple):
    """The members of one workflow. `gangs`: their names, each with its members."""

    name: str
    namespace: str
    scheduler: str
    queue: str
    gangs: Mapping[str, Sequence[Member]]


def _by_workflow(members: Sequence[Member]) -> Iterator[Flow]:
    flows: dict[tuple[str, str, str, str], dict[str, list[Member]]] = {}
    for each in members:
        labelled = each.found.own(WORKFLOW_LABEL)
        flow, what = labelled or name(each.found.workload), "" if labelled else kind(each.found.workload)
        gang = each.found.label(GANG_LABEL) or each.asked.gang
        where = namespace(each.found.workload)
        flows.setdefault((where, flow, each.scheduler, what), {}).setdefault(gang, []).append(each)
    for where, flow, _, what in [key for key in flows if key[2] == "none"]:
        if (grouped := flows.get((where, flow, "native", what))) is not None:  # pods of Deployments have no PodGroup
            for gang, alone in flows.pop((where, flow, "none", what)).items():
                grouped.setdefault(gang, []).extend(alone)
    for (where, flow, scheduler, _), gangs in flows.items():
        queue = next((each.asked.queue for some in gangs.values() for each in some if each.asked.queue), "")
        yield Flow(flow, where, scheduler, queue, gangs)


def _branch(members: Sequence[Member]) -> Branch:
    root = Branch(members[0].asked.way[0], [], {})
    for each in members:
        here, cuts = root, []
        labelled = each.found.label(GROUP_LABEL)
        way = each.asked.way[1:]
        if labelled and not any(step.size or step.name == labelled for step in way):
            way += (Step(labelled),)  # a group that the scheduler need not know
        for step in way:
            if step.size and step.size < each.found.replicas:
                cuts.append(step)
            elif step.size:  # the pods are one unit
                unit = labelled or each.found.name
                here = here.inside.setdefault(unit, Branch(step._replace(name=unit, size=0), [], {}))
            else:
                here = here.inside.setdefault(step.name, Branch(step, [], {}))
        here.pods.append((each, tuple(cuts)))
    return root


class Built(NamedTuple):
    """A workflow with the places of its parts, and the names of its gangs in the manifests."""

    workflow: Workflow
    origins: Mapping[Route, Route]
    names: tuple[str, ...]
    units: Mapping[Route, str]  # units of groups with one instance, whose names have no number
    claims: Mapping[str, Mapping[Route, str]]  # gang -> route of a podSet in it -> the pods that it comes from


class _Builder:
    """Makes the groups of one gang. Levels become names of the pools' levels."""

    def __init__(self, cluster: Cluster, where: str, gang: Sequence[Member], objects: Sequence[Object]) -> None:
        self.cluster, self.where, self.gang, self.objects = cluster, where, gang, objects
        self.origins: dict[Route, Route] = {}
        self.names: dict[Route, str] = {}
        self.pods: dict[Route, str] = {}
        self.wrong: list[Diagnostic] = []

    def level(self, label: str, members: Sequence[Member]) -> str:
        """The name of a level by its label. W323: no pool of the members has it."""
        pools = [pool for each in members if (pool := each.found.pool)]
        levels = {level.label: level.name for pool in pools for level in (*pool.levels, HOST)}
        if label and label not in levels:
            message = f'the level "{label}" is not in the topology'
            hint = suggest(label, levels, "the labels of its levels are")
            if grove.is_grove(members[0].found.workload):
                hint = suggest(label, levels.values(), "its levels are")
            self.wrong.append(error("W323", self.place_of(label, members[0].asked.route), message, hint=hint))
        return levels.get(label, "")

    def place_of(self, value: str, route: Route) -> Route:
        """Where the object of that route has a value; the route itself if it does not have it as such."""
        own = (each for each in self.objects if each.route == route[: len(each.route)])
        return next(((*one.route, *path) for one in own for path, each in _leaves(one.data) if each == value), route)

    def placement(self, step: Step, members: Sequence[Member]) -> Placement:
        """The levels of a unit."""
        return Placement(self.level(step.required, members), self.level(step.preferred, members))

    def pod_set(self, member: Member, above: str, route: Route, replicas: int) -> PodSet:
        """The podSet of pods, with what the proof reads of their template."""
        found, least = member.found, member.asked.least
        own = found.name.removeprefix(above).removeprefix("-") or found.name
        own = found.label(POD_SET_LABEL) or own
        self.origins[route] = self.origins[*route, "template"] = found.route
        self.pods[route] = found.name
        pods = PodSet(own, replicas, least if least is not None and least < replicas else None)
        whole: PodSet = with_own_cards(pods, mapping(found.template, "spec"), self.where, self.cluster)
        spec = dict(whole.template["spec"])
        for key in ("containers", "initContainers"):
            if key in spec:
                spec[key] = [{k: each[k] for k in ("name", *_COUNTED) if each.get(k)} for each in spec[key]]
        spec["affinity"] = _other_affinity(member)
        kept: PodSet = whole._replace(
            template={"spec": {k: v for k, v in spec.items() if v}}, whole_node=_takes_node(found)
        )
        return kept

    def groups(self, branch: Branch, above: str, route: Route) -> tuple[Group, ...]:
        """The groups of a unit. Units that differ only in their number are replicas of one."""
        made: list[Group] = []
        divided = [pods for pods in branch.pods if pods[1]]
        plain = [pods for pods in branch.pods if not pods[1]] if branch.inside or divided else []
        for member, cuts in divided:
            made.append(self.divided(member, cuts, above, (*route, "groups", len(made))))
        for member, _ in plain:  # a gang has groups or podSets
            here: Route = (*route, "groups", len(made))
            inner = self.pod_set(member, above, (*here, "podSets", 0), member.found.replicas)
            made.append(Group(inner.name, pod_sets=(inner,)))
        stems: dict[str, list[tuple[str, Branch]]] = {}
        for unit, inside in branch.inside.items():
            own = unit.removeprefix(above).removeprefix("-")
            stem, _, number = own.rpartition("-")
            stems.setdefault(stem if number.isdigit() and stem else own, []).append((unit, inside))
        for stem, units in stems.items():
            made += self.alike(stem, above, units, route, len(made))
        return tuple(made)

    def alike(
        self, stem: str, above: str, units: Sequence[tuple[str, Branch]], route: Route, first: int
    ) -> Iterator[Group]:
        """One group for alike units, or one for each."""
        made = [self.unit(stem, unit, inside, (*route, "groups", first)) for unit, inside in units]
        least = units[0][1].step.least
        if all(each == made[0] for each in made):
            yield made[0]._replace(replicas=len(made), min_replicas=least if 0 < least < len(made) else None)
            return
        sizes = [each.pod_sets[0].replicas for each in made if len(each.pod_sets) == 1]
        same = [each._replace(pod_sets=(each.pod_sets[0]._replace(replicas=0),)) for each in made if each.pod_sets]
        alike = len(sizes) == len(made) and all(each == same[0] for each in same)
        if alike and len(set(sizes[:-1])) == 1 and sizes[-1] < sizes[0]:
            whole = made[0].pod_sets[0]._replace(replicas=sum(sizes))
            yield made[0]._replace(size=sizes[0], pod_sets=(whole,))
            return
        for number, (unit, inside) in enumerate(units):
            here = (*route, "groups", first + number)
            self.names[here] = unit
            yield self.unit(unit.removeprefix(above).removeprefix("-"), unit, inside, here)

    def unit(self, called: str, name: str, branch: Branch, route: Route) -> Group:
        """A unit as a group."""
        members = list(_below(branch))
        self.origins[route] = members[0].asked.route
        groups = self.groups(branch, name, route)
        pods: tuple[PodSet, ...] = ()
        if not groups:
            pods = tuple(
                self.pod_set(member, name, (*route, "podSets", n), member.found.replicas)
                for n, (member, _) in enumerate(branch.pods)
            )
        return Group(called, placement=self.placement(branch.step, members), groups=groups, pod_sets=pods)

    def divided(self, member: Member, cuts: tuple[Step, ...], above: str, route: Route) -> Group:
        """Pods that are divided by their numbers, into units and units inside these."""
        labelled = member.found.label(GROUP_LABEL).removeprefix(above).removeprefix("-")
        words = labelled.split("-")
        stem, rest = (words[0], "-".join(words[1:])) if len(words) == len(cuts) else (labelled or "slice", "slice")
        self.origins[route] = member.asked.route
        placement = self.placement(cuts[0], [member])
        sizes = [min(each.size, member.found.replicas) for each in cuts]
        if len(cuts) == 1:
            whole = self.pod_set(member, labelled, (*route, "podSets", 0), member.found.replicas)
            if member.found.replicas % sizes[0]:
                return Group(stem, size=sizes[0], placement=placement, pod_sets=(whole,))
            each = whole._replace(replicas=sizes[0], min_replicas=None)
            return Group(stem, member.found.replicas // sizes[0], placement=placement, pod_sets=(each,))
        labels = {**mapping(member.found.template, "metadata", "labels"), GROUP_LABEL: rest}
        template = {**member.found.template, "metadata": {"labels": labels}}
        part = member._replace(found=member.found._replace(replicas=sizes[0], template=template))
        inner = self.divided(part, cuts[1:], "", (*route, "groups", 0))
        return Group(stem, member.found.replicas // sizes[0], placement=placement, groups=(inner,))


def _takes_node(found: PodsFound) -> bool:
    """Whether pods of bayplan share their node with no other such pod."""
    return found.label(WHOLE_NODE) == "true" and APART in _terms(found.template, "podAntiAffinity")


def _terms(template: Mapping[str, Any], what: str) -> Sequence[Any]:
    return items(template, "spec", "affinity", what, REQUIRED)


def _other_affinity(member: Member) -> Mapping[str, Any]:
    """The affinity of pods without the required terms that are levels of the plan, or its whole nodes."""
    template, affinity = member.found.template, mapping(member.found.template, "spec", "affinity")
    levels = {(each.name, each.required) for each in member.asked.way} if member.scheduler == "none" else ()
    beside = [each for each in _terms(template, "podAffinity") if unit_of(each) not in levels]
    apart = [each for each in _terms(template, "podAntiAffinity") if each != APART or not _takes_node(member.found)]
    kept = {"podAffinity": {REQUIRED: beside} if beside else {}, "podAntiAffinity": {REQUIRED: apart} if apart else {}}
    return {key: each for key, each in {"nodeAffinity": affinity.get("nodeAffinity"), **kept}.items() if each}


def _exclusive(flow: Flow) -> Iterator[Diagnostic]:
    """P518 for each workload whose controller gives groups of pods a domain of their own."""
    workloads = {member.found.workload.route: member for members in flow.gangs.values() for member in members}
    for member in workloads.values():
        one = member.found.workload
        places = ((*one.route, "metadata"), one.data), ((*member.found.route, "metadata"), member.found.template)
        for (route, data), key in itertools.product(places, EXCLUSIVE):
            if label := text(data, "metadata", "annotations", key):
                message = f'the proof ignores `{key}` of {title(one)}: one "{shorten(label)}" for each group'
                hint = "remove it, or make sure that there are enough free domains; workflows have `separate` for this"
                yield warning("P518", (*route, "annotations", key), message, hint=hint)


_COUNTED = ("resources", "ports", "restartPolicy")
"""Fields of a container that the proof reads."""


def _leaves(data: Any) -> Iterator[tuple[Route, Any]]:
    """Every value that is neither a mapping nor a list, with its path."""
    parts = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ()
    for key, each in parts:
        if isinstance(each, Mapping | list):
            yield from (((key, *path), leaf) for path, leaf in _leaves(each))
        else:
            yield (key,), each


def _below(branch: Branch) -> Iterator[Member]:
    yield from (member for member, _ in branch.pods)
    for each in branch.inside.values():
        yield from _below(each)


SERVERS = ("LeaderWorkerSet", "StatefulSet", "Deployment")
"""Kinds whose pods never end, so that all copies run at the same time."""


def _built(flow: Flow, cluster: Cluster, namespace: str, objects: Sequence[Object]) -> Outcome[Built]:
    """The workflow. Alike gangs whose names differ only in their number are copies of one."""
    gangs: list[Gang] = []
    names: list[str] = []
    origins: dict[Route, Route] = {}
    units: dict[Route, str] = {}
    claims: dict[str, dict[Route, str]] = {}
    wrong: list[Diagnostic] = []
    copies: list[str] = []  # of the last gang
    for called in _by_number([*flow.gangs]):
        members = flow.gangs[called]
        at: Route = (*GANGS, len(gangs))
        builder = _Builder(cluster, namespace, members, objects)
        own = called.removeprefix(flow.name).removeprefix("-") or flow.name
        branch = _branch(members)
        whole = builder.unit(own, "", branch, at)
        after = tuple(dict.fromkeys(each for member in members for each in _waits(member, flow)))
        gang = Gang(
            own,
            after,
            whole.placement,
            lifecycle="service" if all(kind(each.found.workload) in SERVERS for each in members) else "job",
            at_once=_at_once(members, objects),
            rendezvous="none",
            compute_domain="never",
            groups=whole.groups,
            pod_sets=whole.pod_sets,
        )
        wrong += builder.wrong
        copy = _copy_of(gangs[-1], gang, copies) if gangs else None
        names.append(called)
        claims[called] = {route[len(at) :]: each for route, each in builder.pods.items()}
        if copy:
            gangs[-1] = copy
            copies.append(own)
            continue
        gangs.append(gang)
        copies = [own]
        origins |= builder.origins
        units |= builder.names
    workflow = Workflow(flow.name, flow.namespace, scheduler=flow.scheduler, queue=flow.queue, gangs=tuple(gangs))
    return Outcome(None if wrong else Built(workflow, origins, tuple(names), units, claims), tuple(wrong))


def _copy_of(before: Gang, gang: Gang, copies: Sequence[str]) -> Gang | None:
    """The gang before with one more copy, if this is its next copy. `copies`: the names of its copies.

    With `atOnce: n`, a copy waits until the copy n before it completes.
    """
    stem, _, number = gang.name.rpartition("-")
    name = stem or "copy"
    follows = quantity.whole(number, 9) == len(copies) and copies[0] in (f"{stem}-0" if stem else "0",)
    if not follows or _bare(before) != _bare(gang):
        return None
    at_once = before.at_once
    if gang.depends_on != before.depends_on:
        waits = len(gang.depends_on) == 1 and gang.depends_on[0] in copies
        at_once = len(copies) - copies.index(gang.depends_on[0]) if waits else 0
        if before.depends_on or at_once != (before.at_once or len(copies)):
            return None
    elif before.at_once != gang.at_once:
        return None
    return before._replace(name=name, replicas=len(copies) + 1, at_once=at_once)


def _bare(gang: Gang) -> Gang:
    """What the copies of a gang have in common."""
    return gang._replace(name="", replicas=1, depends_on=(), at_once=None)


def _by_number(names: Sequence[str]) -> list[str]:
    """The names in their order, those with one stem by their numbers."""
    parts = [(each.rpartition("-")[0], each.rpartition("-")[2], each) for each in names]
    stems = [stem if number.isdigit() else each for stem, number, each in parts]
    place = {stem: i for i, stem in enumerate(dict.fromkeys(stems))}
    keyed = ((place[stem], quantity.whole(part[1], 18), part[2]) for stem, part in zip(stems, parts, strict=True))
    return [each for _, _, each in sorted(keyed)]


def _waits(member: Member, flow: Flow) -> Iterator[str]:
    """The gangs that must complete before the Jobs of a replicatedJob start."""
    route = member.found.route
    if "replicatedJobs" not in route:
        return
    at = route.index("replicatedJobs")
    own = get(member.found.workload.data, "spec", "replicatedJobs", route[at + 1])
    jobs = {text(each, "name"): n for n, each in enumerate(items(member.found.workload.data, "spec", "replicatedJobs"))}
    for each in items(own, "dependsOn"):
        number = jobs.get(text(each, "name"))
        for called, others in flow.gangs.items():
            same = (x for x in others if x.found.workload is member.found.workload and x.found.route[at + 1] == number)
            if any(same) and text(each, "status") == "Complete":
                yield called.removeprefix(flow.name).removeprefix("-") or flow.name


# The plan.


def _planned(flow: Flow, request: AugmentRequest, cluster: Cluster) -> ReadPlan:
    where = flow.namespace or request.namespace
    at = next(iter(flow.gangs.values()))[0].found.workload.route
    built = _built(flow, cluster, where, request.objects)
    if built.value is None:
        return ReadPlan(None, built.diagnostics, {}, at)
    origins = {("workflow",): (*at, "metadata", "name"), **built.value.origins}
    workflow = name_accelerators(built.value.workflow, cluster.topology)
    workflow = with_card_portions(workflow, cluster.topology)
    backend = select_backend(request.scheduler or flow.scheduler, workflow, cluster.topology, BACKENDS)
    if backend.value is None:
        return ReadPlan(None, backend.diagnostics, origins, at)
    bound = bind(workflow, cluster.topology, where or default_namespace(workflow, cluster.topology), flow.queue)
    if bound.value is None:
        return ReadPlan(None, bound.diagnostics, origins, at)
    renamed = _named(bound.value, built.value)._replace(occupied=request.occupied)
    plan = _claiming(renamed, flow, built.value, request.objects)
    proof = diagnose(plan, pipeline.enforces_quotas(plan, backend.value, cluster.target))
    found = (*bound.diagnostics, *proof.diagnostics)
    if not has_errors(found):
        found += (*unmet_preferences(plan), *unmodelled_constraints(plan), *backend.value.prove(plan, cluster.target))
    found += (*_exclusive(flow),)
    found += pipeline.quotas(plan, backend.value, cluster.target)
    shape = Shape(tuple(_workloads(flow, plan)), existing=True)
    planned = Planned(plan, shape, backend.value, cluster.target, fits=proof.value)
    return ReadPlan(None if has_errors(found) else planned, found, origins, at)


def _named(plan: Plan, built: Built) -> Plan:
    """The plan with the names of gangs and units in the manifests."""
    renamed = {gang.name: called for gang, called in zip(plan.gangs, built.names, strict=True)}
    return plan._replace(
        gangs=tuple(
            gang._replace(
                name=renamed[gang.name],
                after=tuple(renamed.get(each, each) for each in gang.after),
                root=_renamed(gang.root, "", "", built.units),
            )
            for gang in plan.gangs
        )
    )


def _renamed(unit: Unit, before: str, now: str, names: Mapping[Route, str]) -> Unit:
    """A unit with its own name. `before` and `now`: the names of the unit around it."""

    def inside(called: str, old: str, new: str) -> str:
        return "-".join(filter(None, (new, called.removeprefix(old).removeprefix("-"))))

    own = names.get(unit.route) or inside(unit.name, before, now)
    groups = tuple(
        units._replace(
            name=inside(units.name, unit.name, own),
            members=tuple(_renamed(each, unit.name, own, names) for each in units.members),
        )
        for units in unit.groups
    )
    pods = tuple(each._replace(name=inside(each.name, unit.name, own)) for each in unit.pods)
    return unit._replace(name=own if unit.name else "", groups=groups, pods=pods)


def _claiming(plan: Plan, flow: Flow, built: Built, objects: Sequence[Object]) -> Plan:
    """The plan with the ComputeDomains from which the pods claim."""
    domains = {
        text(one.data, "spec", "channel", "resourceClaimTemplate", "name"): name(one)
        for one in objects
        if kind(one) == "ComputeDomain" and (not flow.namespace or namespace(one) in ("", flow.namespace))
    }
    gangs = (_gang(each, flow.gangs[each.name], built.claims[each.name], domains) for each in plan.gangs)
    return plan._replace(gangs=tuple(gangs))


def _gang(
    gang: GangPlan, members: Sequence[Member], sources: Mapping[Route, str], domains: Mapping[str, str]
) -> GangPlan:
    claims = {each.found.name: _claim(each.found, domains) for each in members}

    def claim(pods: Pods) -> Pods:
        source = pods.name if pods.name in claims else sources.get(pods.route[len(gang.route) :], "")
        own = claims.get(source, "")
        return pods._replace(compute_domain=own) if own and pods.spec.accelerator else pods

    root = edit_unit(gang.root, pods=claim)
    found = []
    for domain in dict.fromkeys(pods.compute_domain for pods in all_pods(root) if pods.compute_domain):
        *_, owner = (unit for unit in walk(root) if _holds(unit, root, domain))
        nodes = sum(pods.replicas for pods in all_pods(root) if pods.compute_domain == domain)
        found.append(ComputeDomain(domain, owner.name, nodes, owner.route))
    return gang._replace(root=root, compute_domains=tuple(found))


def _holds(unit: Unit, root: Unit, domain: str) -> bool:
    """Whether a unit has all pods that claim from a ComputeDomain."""
    mine = {pods.name for pods in all_pods(unit)}
    return all(pods.name in mine for pods in all_pods(root) if pods.compute_domain == domain)


def _claim(found: PodsFound, domains: Mapping[str, str]) -> str:
    claims = items(found.template, "spec", "resourceClaims")
    return next(
        (domains[each] for claim in claims if (each := text(claim, "resourceClaimTemplateName")) in domains), ""
    )


def _workloads(flow: Flow, plan: Plan) -> Iterator[Workload]:
    """The workloads of the manifests, each with its gangs. Bare Pods of a gang are one."""
    gangs = {gang.name: gang for gang in plan.gangs}
    owned: dict[tuple[str, str], dict[str, GangPlan]] = {}
    for called, members in flow.gangs.items():
        for each in members:
            what = _kind(each.found.workload)
            family = what in ("pods", "job") and each.found.label(GANG_LABEL)
            made = text(each.found.workload.data, "metadata", "labels", GANG_LABEL)
            base = made if copies_of(each.found.workload) else called
            key = what, base if family else name(each.found.workload)
            owned.setdefault(key, {})[called] = gangs[called]
    for (what, called), own in owned.items():
        yield Workload(what, called, tuple(own.values()))


def _kind(one: Object) -> str:
    if (group(one), kind(one)) == ("batch.volcano.sh", "Job"):
        return "volcano-job"
    return {"LeaderWorkerSet": "lws", "Pod": "pods"}.get(kind(one), kind(one).lower())
