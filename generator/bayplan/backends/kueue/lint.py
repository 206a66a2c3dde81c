"""Rules for Kueue's cluster objects and for workloads that Kueue manages (Kueue 0.14 to 0.19)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bayplan.backends.kueue.lower import (
    LAYER_GATE,
    LAYERS,
    LEVEL_LENGTH,
    MOST_LAYERS,
    POD_COUNT,
    POD_GROUP,
    POD_SET_GROUP,
    PREFERRED,
    PREFIX,
    QUEUE,
    REQUIRED,
    SLICE_LEVEL,
    SLICE_SIZE,
    TOPOLOGY_ANNOTATIONS,
    UNCONSTRAINED,
)
from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.core.phrases import count, did_you_mean, listing, suggest
from bayplan.kube.networks import parsed
from bayplan.kube.objects import get, items, kind, mapping, number_in, text
from bayplan.kube.objects import name as name_of
from bayplan.kube.templates import Path, amount
from bayplan.linting.objects import LintContext, Rule
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import HOST, HOSTNAME_LABEL, ClusterTopology, Pool

API = "kueue.x-k8s.io"
MOST_LEVELS = 16
MOST_LABELS = 8
MOST_KEY = 316


def check_cluster_objects(context: LintContext) -> Iterator[Diagnostic]:
    """All findings in Topologies, ResourceFlavors, ClusterQueues and LocalQueues."""
    for each in context.among([known for known in context.kinds if known[0] == API]):
        yield from _version(each, context.target)
        if kind(each) in RULE_OF_KIND:
            yield from RULE_OF_KIND[kind(each)](each, context)


def _version(each: Object, target: Target) -> Iterator[Diagnostic]:
    """M780: Kueue 0.14 removed v1alpha1, and 0.20 v1beta1 (kueue#14558). Kueue 0.15 added v1beta2.

    KAI up to 0.11 has no Topology of its own and reads Kueue's v1alpha1.
    """
    version_here, version = text(each.data, "apiVersion").removeprefix(f"{API}/"), target.version("kueue")
    at = (*each.route, "apiVersion")
    newer = target.since("kueue", "0.15")
    best = "v1beta2" if newer else "v1beta1"
    if version_here == "v1alpha1" and "kai" in target.versions and not target.since("kai", "0.12"):
        return
    if version_here == "v1beta1" and target.between("kueue", "0.15", "0.20"):
        yield warning("M780", at, f"Kueue {version} still serves v1beta1, but deprecates it", hint="write v1beta2")
    elif version_here != best and text(each.data, "kind") in SERVED:
        yield error(
            "M780",
            at,
            f'Kueue {version} does not serve {text(each.data, "kind")} in "{version_here}"',
            hint=f"write {best}",
        )


SERVED = ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue", "Workload", "WorkloadPriorityClass")


def _topology(each: Object, context: LintContext) -> Iterator[Diagnostic]:
    levels, at = levels_of(each), (*each.route, "spec", "levels")
    if fault := _refused_by_crd(levels):
        hint = "list 1 to 16 different node labels, from coarse to fine"
        yield error("M713", at, f"Kueue refuses this Topology, because {fault}", hint=hint)
        return
    for number, label in enumerate(levels):
        if len(label) > LEVEL_LENGTH and context.target.since("kueue", "0.15"):
            message = f'no workload can request "{label}": it has {len(label)} characters, but at most {LEVEL_LENGTH} '
            message += "are allowed"
            hint = "copy the node label to one with a shorter key"
            yield warning("M713", (*at, number, "nodeLabel"), message, hint=hint)
    if levels[-1] != HOSTNAME_LABEL:
        message = f'the last level is not "{HOSTNAME_LABEL}", so Kueue ignores taints and cannot replace a single node'
        yield warning("M713", at, message, hint=f"add the level {HOSTNAME_LABEL}")
    yield from _against_pools(levels, at, context.topology)


def _refused_by_crd(levels: Sequence[str]) -> str:
    """Why the CRD refuses a list of levels; empty if it does not."""
    if not 1 <= len(levels) <= MOST_LEVELS:
        return f"it has {len(levels)} levels, but 1 to {MOST_LEVELS} are allowed"
    if not all(0 < len(label) <= MOST_KEY for label in levels):
        return f"every level needs a `nodeLabel` of at most {MOST_KEY} characters"
    if twice := sorted({label for label in levels if levels.count(label) > 1}):
        return f"it lists {listing(twice, 'and')} twice"
    if HOSTNAME_LABEL in levels[:-1]:
        return f'"{HOSTNAME_LABEL}" must be the last level'
    return ""


def _against_pools(levels: Sequence[str], at: Route, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """M714: labels that no node has, and levels in another order than in all pools."""
    labels_above_host = [label for label in levels if label != HOSTNAME_LABEL]
    lists = [tuple(level.label for level in pool.levels) for pool in _with_nodes(topology)]
    if not lists:
        return
    known = dict.fromkeys(label for labels in lists for label in labels)
    for label in (label for label in labels_above_host if label not in known):
        message = f'no node of the topology has the label "{label}", and Kueue ignores nodes without it'
        yield error("M714", (*at, levels.index(label), "nodeLabel"), message, hint=suggest(label, known, "labels"))
    if set(labels_above_host) <= set(known) and not any(is_ordered(labels_above_host, labels) for labels in lists):
        whole = [labels for labels in lists if set(labels_above_host) <= set(labels)]
        if whole:
            right = listing([label for label in whole[0] if label in labels_above_host], "and")
            hint = f"list the levels from coarse to fine: {right}"
            yield error("M714", at, "the levels are not in the order of the topology", hint=hint)
        else:
            message = "Kueue ignores all nodes, because no pool has all of these levels"
            yield error("M714", at, message, hint="write one Topology for the levels of each pool")


def _flavor(each: Object, context: LintContext) -> Iterator[Diagnostic]:
    """M714, M745: the nodes and the Topology of a flavor."""
    labels = mapping(each.data, "spec", "nodeLabels")
    name, at = text(each.data, "spec", "topologyName"), (*each.route, "spec")
    if name and not labels:
        message = "Kueue refuses a flavor that has `topologyName`, but no `nodeLabels`"
        yield error("M745", (*at, "topologyName"), message, hint="add a label that all its nodes have")
    counted = {
        "nodeLabels": len(labels),
        **{key: len(items(each.data, "spec", key)) for key in ("nodeTaints", "tolerations")},
    }
    for key in (key for key, number in counted.items() if number > MOST_LABELS):
        message = f"the flavor has {counted[key]} {key}, but Kueue accepts at most {MOST_LABELS}"
        yield error("M745", (*at, key), message, hint=f"remove {counted[key] - MOST_LABELS}")
    pools = _with_nodes(context.topology)
    if labels and pools and not any(_selects(labels, pool, strictly=False) for pool in pools):
        message = "these `nodeLabels` match no pool of the topology"
        yield warning("M745", (*at, "nodeLabels"), message, hint="compare them with `nodeSelector` of the pools")
    yield from _flavor_topology(each, name, context)


def _flavor_topology(each: Object, name: str, context: LintContext) -> Iterator[Diagnostic]:
    known = {name_of(other): other for other in context.of(API, "Topology")}
    at = (*each.route, "spec", "topologyName")
    if not name or name not in known:
        if name and known:
            message = f'the manifests have no Topology "{name}": workloads on this flavor stay pending without it'
            yield error("M745", at, message, hint=suggest(name, known, "Topologies"))
        return
    labels = mapping(each.data, "spec", "nodeLabels")
    wanted = [label for label in levels_of(known[name]) if label != HOSTNAME_LABEL]
    for pool in (pool for pool in _with_nodes(context.topology) if _selects(labels, pool, strictly=True)):
        lacking = [label for label in wanted if label not in {level.label for level in pool.levels}]
        if lacking:
            message = f'Kueue ignores the nodes of pool "{pool.name}", because they have no {listing(lacking)}'
            yield error("M714", at, message, hint="label those nodes, or give the flavor its own Topology")


def _with_nodes(topology: ClusterTopology) -> tuple[Pool, ...]:
    """The pools that list their nodes."""
    return tuple(pool for pool in topology.pools if pool.domains)


def _selects(labels: Mapping[str, object], pool: Pool, *, strictly: bool) -> bool:
    """Whether the nodes of a pool have a flavor's labels. If not strictly, an unknown label matches."""
    own = pool.node.node_selector
    if strictly:
        return bool(labels) and all(own.get(key) == value for key, value in labels.items())
    return all(own.get(key, value) == value for key, value in labels.items())


# ClusterQueues and LocalQueues (Kueue 0.14 to 0.19, `clusterqueue_webhook.go`)

MOST_GROUPS = 16
MOST = 64


def _cluster_queue(each: Object, context: LintContext) -> Iterator[Diagnostic]:
    """M745: queues that the webhook refuses or that no namespace may use, and missing flavors."""
    spec = mapping(each.data, "spec")
    at = (*each.route, "spec")
    if "namespaceSelector" not in spec:
        message = "the ClusterQueue has no `namespaceSelector`, so it admits workloads from no namespace"
        yield warning("M745", at, message, hint="add `namespaceSelector: {}` for all namespaces")
    groups = items(spec, "resourceGroups")
    if len(groups) > MOST_GROUPS:
        message = f"the ClusterQueue has {len(groups)} resource groups, but Kueue accepts at most {MOST_GROUPS}"
        yield error("M745", (*at, "resourceGroups"), message, hint="merge some of them")
    for number, group in enumerate(groups):
        yield from _resource_group(
            group, (*at, "resourceGroups", number), borrows="cohort" in spec or "cohortName" in spec
        )
    yield from _repeated(groups, (*at, "resourceGroups"))
    yield from _unknown_flavors(groups, (*at, "resourceGroups"), context)


def _resource_group(group: Any, at: Route, *, borrows: bool) -> Iterator[Diagnostic]:
    covered = [each for each in items(group, "coveredResources") if isinstance(each, str)]
    if not (1 <= len(covered) <= MOST and 1 <= len(items(group, "flavors")) <= MOST):
        message = f"a resource group must have 1 to {MOST} resources and 1 to {MOST} flavors"
        yield error("M745", at, message, hint="add or remove some")
    for number, flavor in enumerate(items(group, "flavors")):
        route = (*at, "flavors", number, "resources")
        listed = [text(each, "name") for each in items(flavor, "resources")]
        if listed != covered:
            same = "resources in another order" if sorted(listed) == sorted(covered) else "other resources"
            message = f'Kueue refuses flavor "{text(flavor, "name")}", which lists {same} than `coveredResources`'
            yield error("M745", route, message, hint=f"list {listing(covered, 'and')}")
        for index, each in enumerate(items(flavor, "resources")):
            if get(each, "borrowingLimit") is not None and not borrows:
                message = "Kueue refuses `borrowingLimit`, because the ClusterQueue has no cohort"
                hint = "name the cohort, or remove `borrowingLimit`"
                yield error("M745", (*route, index, "borrowingLimit", KEY), message, hint=hint)


def _repeated(groups: Sequence[Any], at: Route) -> Iterator[Diagnostic]:
    """M745: each flavor and each resource is in one group."""
    flavors = [text(flavor, "name") for group in groups for flavor in items(group, "flavors")]
    resources = [each for group in groups for each in items(group, "coveredResources") if isinstance(each, str)]
    for what, names in (("flavor", flavors), ("resource", resources)):
        for name in sorted({name for name in names if names.count(name) > 1}):
            message = f'Kueue refuses the resource groups, because they list {what} "{name}" twice'
            yield error("M745", at, message, hint="keep one of the two")


def _unknown_flavors(groups: Sequence[Any], at: Route, context: LintContext) -> Iterator[Diagnostic]:
    known = [name_of(each) for each in context.of(API, "ResourceFlavor")]
    for i, group in enumerate(groups):
        for j, flavor in enumerate(items(group, "flavors")):
            name = text(flavor, "name")
            if known and name not in known:
                message = f'the manifests have no ResourceFlavor "{name}": the queue is inactive without it'
                yield error("M745", (*at, i, "flavors", j, "name"), message, hint=suggest(name, known, "flavors"))


def _local_queue(each: Object, context: LintContext) -> Iterator[Diagnostic]:
    """M719: a ClusterQueue that does not exist."""
    known = [name_of(other) for other in context.of(API, "ClusterQueue")]
    name = text(each.data, "spec", "clusterQueue")
    if known and name not in known:
        message = f'the manifests have no ClusterQueue "{name}"'
        yield error("M719", (*each.route, "spec", "clusterQueue"), message, hint=suggest(name, known, "ClusterQueues"))


RULE_OF_KIND: Mapping[str, Callable[[Object, LintContext], Iterator[Diagnostic]]] = {
    "Topology": _topology,
    "ResourceFlavor": _flavor,
    "ClusterQueue": _cluster_queue,
    "LocalQueue": _local_queue,
}


# Workloads for Kueue: the places of labels and annotations, and rules for the pod templates of one workload.
#
# Kueue's webhooks refuse most of these mistakes (0.14 to 0.19, `tas_validation.go`). Only the scheduler checks the
# order of levels, and the workload then stays pending (`tas_flavor_snapshot.go`). Kueue ignores unknown annotations.

EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
ANNOTATIONS: Route = ("metadata", "annotations")
LABELS: Route = ("metadata", "labels")


def check_workloads(context: LintContext) -> Iterator[Diagnostic]:
    """All findings in workloads."""
    objects, topology, target = context.objects, context.topology, context.target
    lists = level_lists(objects, topology)
    gates: dict[str, bool] = dict(topology.gates("kueue"))
    queues = _queues(objects, topology)
    for each in objects:
        pod_sets = list(templates(each.data))
        if not pod_sets:
            continue
        for template in pod_sets:
            route = (*each.route, *template.path, *ANNOTATIONS)
            yield from check_template(TemplateContext(route, template, lists, target, gates))
        yield from _misplaced_annotations(each, pod_sets, target)
        yield from _queue(each, pod_sets, queues)
        yield from _exclusive_topology(each, pod_sets)
        yield from _pod_set_groups(each, pod_sets, target)
        yield from _pod_group(each)
        yield from _too_many_pod_sets(each, pod_sets, target)


def _queues(objects: Sequence[Object], topology: ClusterTopology) -> tuple[str, ...] | None:
    """The LocalQueues of the manifests and the queues of the topology; None if neither has any."""
    written = [text(each.data, "metadata", "name") for each in objects if each.data.get("kind") == "LocalQueue"]
    if topology.queues is None and not written:
        return None
    return tuple(dict.fromkeys([*written, *(topology.queue_names or ())]))


def _asks_for_topology(template: Template) -> bool:
    return any(key in template.annotations for key in TOPOLOGY_ANNOTATIONS)


def _misplaced_annotations(each: Object, pod_sets: Sequence[Template], target: Target) -> Iterator[Diagnostic]:
    """M719, M815: labels and annotations in a place that Kueue does not read."""
    own = mapping(each.data, *ANNOTATIONS) if pod_sets[0].path else {}
    for key in (key for key in TOPOLOGY_ANNOTATIONS if key in own):
        message = f'Kueue ignores "{key}" on the {each.data["kind"]}: it reads this annotation only on the pod template'
        yield error("M815", (*each.route, *ANNOTATIONS, key, KEY), message, hint="move it to the pod template")
    for template in pod_sets:
        for key in (key for key in TOPOLOGY_ANNOTATIONS if key in mapping(template.data, *LABELS)):
            message = f'Kueue ignores the label "{key}": it must be an annotation'
            yield error("M815", (*each.route, *template.path, *LABELS, key, KEY), message, hint="make it an annotation")
    yield from _misplaced_queue(each, pod_sets, target)


def _misplaced_queue(each: Object, pod_sets: Sequence[Template], target: Target) -> Iterator[Diagnostic]:
    on = f"the {each.data['kind']}"
    if QUEUE in mapping(each.data, *ANNOTATIONS):
        old = not target.since("kueue", "0.15")
        gone = "Kueue 0.15 no longer reads it" if old else "since 0.15, Kueue reads only the label"
        report = warning if old or QUEUE in mapping(each.data, *LABELS) else error
        message = f'"{QUEUE}" is an annotation of {on}, but {gone}'
        yield report("M719", (*each.route, *ANNOTATIONS, QUEUE, KEY), message, hint="make it a label")
    if QUEUE in mapping(each.data, *LABELS):
        return
    for template in pod_sets:
        if template.path and QUEUE in mapping(template.data, *LABELS):
            message = f'"{QUEUE}" is on the pod template, so Kueue admits each pod by itself instead of {on}'
            route = (*each.route, *template.path, *LABELS, QUEUE, KEY)
            yield error("M719", route, message, hint=f"move it to the labels of {on}")


def _queue(each: Object, pod_sets: Sequence[Template], queues: tuple[str, ...] | None) -> Iterator[Diagnostic]:
    """M719: a workload with Kueue's annotations, but without a queue that exists."""
    labels = mapping(each.data, *LABELS)
    marked = next((template for template in pod_sets if _asks_for_topology(template)), None)
    misplaced = QUEUE in mapping(each.data, *ANNOTATIONS) or any(QUEUE in mapping(t.data, *LABELS) for t in pod_sets)
    if marked and QUEUE not in labels and not misplaced:
        message = f'Kueue ignores this workload, because it has no label "{QUEUE}"'
        hint = "set the label to the queue, unless the namespace has a LocalQueue named default"
        yield warning("M719", (*each.route, *marked.path, *ANNOTATIONS), message, hint=hint)
    name = labels.get(QUEUE)
    if pod_sets and isinstance(name, str) and queues is not None and name not in queues:
        message = f'the queue "{name}" does not exist'
        yield error("M719", (*each.route, *LABELS, QUEUE), message, hint=suggest(name, queues, "queues"))


def _exclusive_topology(each: Object, pod_sets: Sequence[Template]) -> Iterator[Diagnostic]:
    """M706: JobSet and Kueue both choose domains for the Jobs."""
    if each.data.get("kind") != "JobSet" or not any(map(_asks_for_topology, pod_sets)):
        return
    jobs = range(len(items(each.data, "spec", "replicatedJobs")))
    places: list[Route] = [ANNOTATIONS, *(("spec", "replicatedJobs", n, "template", *ANNOTATIONS) for n in jobs)]
    for place in (place for place in places if EXCLUSIVE in mapping(each.data, *place)):
        message = f'JobSet and Kueue both choose domains for the pods, because "{EXCLUSIVE}" is set'
        hint = "remove this annotation or those of Kueue: pods may never fit both"
        yield error("M706", (*each.route, *place, EXCLUSIVE, KEY), message, hint=hint)


def _pod_set_groups(each: Object, pod_sets: Sequence[Template], target: Target) -> Iterator[Diagnostic]:
    """M750: podset-group-name joins two podSets, one of them with one pod (`tas_validation.go`)."""
    groups: dict[str, list[Template]] = {}
    for template in pod_sets:
        name = template.annotations.get(POD_SET_GROUP)
        if isinstance(name, str):
            groups.setdefault(name, []).append(template)
    for name, members in groups.items():
        slices = () if target.since("kueue", "0.20") else _slices_in_group(members)
        for fault in (*_group_faults(name, members, each.data.get("kind")), *slices):
            yield error("M750", (*each.route, *members[0].path, *ANNOTATIONS, POD_SET_GROUP), fault)


def _group_faults(name: str, members: Sequence[Template], kind: Any) -> Iterator[str]:
    if name.isdigit():
        yield f'the name of a podSet group must not be a number, but it is "{name}"'
    if len(members) != 2:
        yield f'group "{name}" has {count(len(members), "podSet")}, but Kueue accepts only groups of 2'
        return
    counts = [member.pods for member in members]
    if None not in counts and 1 not in counts:
        yield f'one of the 2 podSets in group "{name}" must have one pod, but they have {counts[0]} and {counts[1]}'
    levels = [[member.annotations.get(key) for key in (REQUIRED, PREFERRED)] for member in members]
    if levels[0] != levels[1]:
        yield f'the podSets of group "{name}" must request the same level'


def _slices_in_group(members: Sequence[Template]) -> Iterator[str]:
    """Since 0.20, podSets in a group may have slices (TASGroupedPodSetSlicing, kueue#15111)."""
    sliced = (SLICE_LEVEL, SLICE_SIZE, LAYERS)
    if clash := [key for key in sliced if any(key in member.annotations for member in members)]:
        yield f"podSets in a group cannot have slices, but have {listing(clash, 'and')}"
    if not all({REQUIRED, PREFERRED} & set(member.annotations) for member in members):
        yield "podSets in a group need a required or a preferred level"


def _pod_group(each: Object) -> Iterator[Diagnostic]:
    """M750: the group of a bare pod needs both a name and a count (`pod_webhook.go`)."""
    if each.data.get("kind") != "Pod":
        return
    named, counted = POD_GROUP in mapping(each.data, *LABELS), POD_COUNT in mapping(each.data, *ANNOTATIONS)
    if POD_GROUP in mapping(each.data, *ANNOTATIONS):
        return
    if named and not counted:
        message = f'Kueue refuses the pod, because it has the label "{POD_GROUP}" without the annotation "{POD_COUNT}"'
        yield error("M750", (*each.route, *LABELS, POD_GROUP, KEY), message, hint="add the annotation")
    if counted and not named:
        message = f'Kueue refuses the pod, because it has the annotation "{POD_COUNT}" without the label "{POD_GROUP}"'
        yield error("M750", (*each.route, *ANNOTATIONS, POD_COUNT, KEY), message, hint="add the label")
    count = get(each.data, *ANNOTATIONS, POD_COUNT)
    if counted and not (isinstance(count, str) and count.isascii() and count.isdigit() and count.strip("0")):
        message = "the count of a pod group must be a positive integer in quotes"
        yield error("M750", (*each.route, *ANNOTATIONS, POD_COUNT), message, hint='write a value such as "8"')


def _too_many_pod_sets(each: Object, pod_sets: Sequence[Template], target: Target) -> Iterator[Diagnostic]:
    """M750: a Workload has at most 8 podSets, 10 since 0.18, 18 since 0.19 (`workload_types.go`)."""
    most = 18 if target.since("kueue", "0.19") else 10 if target.since("kueue", "0.18") else 8
    if len(pod_sets) > most and QUEUE in mapping(each.data, *LABELS):
        version = target.version("kueue")
        message = f"the workload has {len(pod_sets)} pod templates, but Kueue {version} accepts at most {most}"
        yield error("M750", (*each.route, "spec"), message, hint="merge equal templates into one with more replicas")


# Annotations that request a topology, on one pod template


class TemplateContext(NamedTuple):
    """One template, and what its annotations are compared with."""

    route: Route  # of the annotations
    template: Template
    level_lists: tuple[Levels, ...]
    target: Target
    gates: dict[str, bool]

    @property
    def own(self) -> dict[str, str]:
        """The annotations that request a topology and are strings."""
        annotations = self.template.annotations
        return {key: annotations[key] for key in TOPOLOGY_ANNOTATIONS if isinstance(annotations.get(key), str)}

    def at(self, key: str) -> Route:
        """The route of an annotation."""
        return (*self.route, key)


def check_template(context: TemplateContext) -> Iterator[Diagnostic]:
    """All findings in the annotations of one template."""
    yield from _unknown_annotations(context)
    yield from _one_kind_of_level(context)
    yield from _slices(context)
    yield from _nested_slices(context)
    yield from _unknown_levels(context)


SPREADING = f"{PREFIX}podset-topology-spreading"
"""How slices spread over domains, behind a gate that is off (Kueue 0.20, kueue#14820)."""


def _unknown_annotations(context: TemplateContext) -> Iterator[Diagnostic]:
    """M815: an unknown name, or a value that is not a string."""
    for key, value in context.template.annotations.items():
        if not (isinstance(key, str) and key.startswith(f"{PREFIX}podset-")):
            continue
        if key not in TOPOLOGY_ANNOTATIONS and not (key == SPREADING and context.target.since("kueue", "0.20")):
            hint = did_you_mean(key, TOPOLOGY_ANNOTATIONS) or f"known: {listing(TOPOLOGY_ANNOTATIONS, 'and')}"
            yield error("M815", (*context.at(key), KEY), f'Kueue ignores the unknown annotation "{key}"', hint=hint)
        elif not isinstance(value, str) and key != SLICE_SIZE:
            message = f'the API server refuses "{key}", because its value is not a string'
            yield error("M815", context.at(key), message, hint="put the value in quotes")


def _one_kind_of_level(context: TemplateContext) -> Iterator[Diagnostic]:
    """M750: required, preferred and unconstrained exclude each other."""
    levels = [key for key in (REQUIRED, PREFERRED, UNCONSTRAINED) if key in context.template.annotations]
    if len(levels) > 1:
        message = f"Kueue refuses {listing(levels, 'and')} on one pod template, because they exclude each other"
        hint = "keep only the required level: Kueue packs as tightly as it can below it"
        yield error("M750", context.at(levels[1]), message, hint=hint)


def _slices(context: TemplateContext) -> Iterator[Diagnostic]:
    """M750: slices need a level and a size that divides the pods."""
    annotations = context.template.annotations
    if SLICE_LEVEL in annotations and SLICE_SIZE not in annotations:
        message = f'"{SLICE_LEVEL}" needs "{SLICE_SIZE}", which has no default'
        hint = f'set "{SLICE_SIZE}" to the number of pods in a slice'
        yield error("M750", context.at(SLICE_LEVEL), message, hint=hint)
    if SLICE_SIZE in annotations and SLICE_LEVEL not in annotations:
        message = f'"{SLICE_SIZE}" needs "{SLICE_LEVEL}"'
        hint = f'set "{SLICE_LEVEL}" to the level that each slice must share'
        yield error("M750", context.at(SLICE_SIZE), message, hint=hint)
    if SLICE_SIZE in annotations and (fault := _size_fault(annotations[SLICE_SIZE], context)):
        yield error("M750", context.at(SLICE_SIZE), *fault[:1], hint=fault[1])


def _size_fault(value: Any, context: TemplateContext) -> tuple[str, str] | None:
    """The message and the hint about a slice size; None if it is valid."""
    if not isinstance(value, str):
        return "the API server refuses the slice size, because it is not a string", f'write "{value}" in quotes'
    if not (value.isascii() and value.isdigit() and value.strip("0")):
        return f'the slice size "{value}" is not a positive integer', "write the number of pods of a slice, in quotes"
    return _division(int(value.lstrip("0")[:10]), context)


def _division(size: int, context: TemplateContext, layers: int = 1) -> tuple[str, str] | None:
    """Slices that Kueue refuses: its webhook of Jobs compares them with the pods of each Job (`job_webhook.go`).

    Since 0.20, slices of one layer need not divide the pods (TASPartialSlices, kueue#15640).
    """
    template, partial = context.template, layers == 1 and context.target.since("kueue", "0.20")
    pods, job = template.pods, template.job
    if pods and size > pods:
        message = f"Kueue refuses slices of {size} pods, because the podSet has only {count(pods, 'pod')}"
        return message, f"set {pods} or less"
    if job and size > job:
        message = f"Kueue refuses slices of {size} pods, because each Job of the JobSet has only {count(job, 'pod')}"
        return message, f"set {job} or less, or put the pods of a slice into one Job"
    if pods and pods % size and not partial:
        hint = "use a size that divides the pods: Kueue places the remaining pods as if there were no slices"
        return f"slices of {size} pods do not divide the {count(pods, 'pod')} of the podSet", hint
    return None


def _nested_slices(context: TemplateContext) -> Iterator[Diagnostic]:
    """M750: nested slices, a JSON list of levels and sizes since 0.17, behind a gate that is on since 0.19."""
    value = context.own.get(LAYERS)
    if value is None:
        return
    version = context.target.version("kueue")
    if not context.target.since("kueue", "0.17"):
        message = f"Kueue {version} ignores nested slices"
        hint = f"use Kueue 0.19 or later, or 0.17 with {LAYER_GATE}"
        yield error("M750", (*context.at(LAYERS), KEY), message, hint=hint)
    elif not context.gates.get(LAYER_GATE, context.target.since("kueue", "0.19")):
        message = f"Kueue {version} refuses nested slices unless the feature gate {LAYER_GATE} is on"
        hint = "enable it, and set it in `schedulers: {kueue: {featureGates}}` of the topology file"
        yield error("M750", (*context.at(LAYERS), KEY), message, hint=hint)
    both = [key for key in (SLICE_LEVEL, SLICE_SIZE) if key in context.template.annotations]
    if both:
        message = f"Kueue refuses nested slices together with {listing(both, 'and')}"
        yield error("M750", (*context.at(LAYERS), KEY), message, hint="keep only one form")
    if fault := _layer_fault(value, context):
        yield error("M750", context.at(LAYERS), fault[0], hint=fault[1])


LAYERS_HINT = 'write \'[{"topology": "example.com/spine", "size": 16}, {"topology": "example.com/rack", "size": 8}]\''


def _layer_fault(value: str, context: TemplateContext) -> tuple[str, str] | None:
    """The message and the hint about the JSON; None if it is valid."""
    layers = parse_layers(value)
    if layers is None:
        return "nested slices must be a JSON list of objects with `topology` and an integer `size`", LAYERS_HINT
    if not 1 <= len(layers) <= MOST_LAYERS:
        return f"nested slices must have 1 to {MOST_LAYERS} layers, but there are {len(layers)}", LAYERS_HINT
    sizes = [size for _, size in layers]
    if min(sizes) < 1:
        return "the size of a slice must be a positive integer", LAYERS_HINT
    uneven = next(((outer, inner) for outer, inner in pairwise(sizes) if outer % inner), None)
    if uneven and not _division(sizes[0], context, len(sizes)):
        return f"slices of {uneven[1]} pods do not divide slices of {uneven[0]}", LAYERS_HINT
    return _division(sizes[0], context, len(sizes))


def parse_layers(value: str) -> list[tuple[str, int]] | None:
    """The levels and sizes in the annotation; None if Kueue cannot read it."""
    layers = parsed(value)
    if not isinstance(layers, list):
        return None
    pairs = [(text(each, "topology"), number_in(each, "size")) for each in layers]
    complete = [(level, size) for level, size in pairs if level and size is not None]
    return complete if len(complete) == len(layers) else None


def _unknown_levels(context: TemplateContext) -> Iterator[Diagnostic]:
    """M713: level names that are too long for workloads. M750: levels that no Topology has, or in the wrong order."""
    named = _named_levels(context)
    if not named:
        return
    known = {label for levels in context.level_lists for label in levels}
    for key, label in named:
        if len(label) > LEVEL_LENGTH and context.target.since("kueue", "0.15"):
            message = f'"{label}" has {len(label)} characters, but a Workload accepts levels of at most {LEVEL_LENGTH}'
            yield error("M713", context.at(key), message, hint="copy the node label to one with a shorter key")
        if known and label not in known:
            message = f'the workload stays pending, because no level has the node label "{label}"'
            yield error("M750", context.at(key), message, hint=suggest(label, sorted(known), "levels"))
    labels = [label for _, label in named]
    if len(labels) < 2 or not known or not set(labels) <= known:
        return
    if not any(_coarse_to_fine(context, labels, levels) for levels in context.level_lists):
        message = f"the levels are not in order from coarse to fine: {listing(labels, 'and')}"
        hint = "name the levels from coarse to fine: that of the podSet, then those of its slices"
        yield error("M750", context.at(named[-1][0]), message, hint=hint)


def _named_levels(context: TemplateContext) -> list[tuple[str, str]]:
    """The levels in the annotations, outermost first, each with its annotation."""
    outer = [(key, context.own[key]) for key in (REQUIRED, PREFERRED) if key in context.own][:1]
    inner = [(SLICE_LEVEL, context.own[SLICE_LEVEL])] if SLICE_LEVEL in context.own else []
    layers = [(LAYERS, level) for level, _ in parse_layers(context.own.get(LAYERS, "")) or ()]
    return [*outer, *inner, *layers]


def _coarse_to_fine(context: TemplateContext, labels: list[str], levels: Levels) -> bool:
    """Whether levels are in order. The podSet and its slices may have the same level; layers must differ."""
    podset = bool({REQUIRED, PREFERRED} & set(context.own))
    if podset and not is_ordered(labels[:2], levels, strictly=False):
        return False
    return is_ordered(labels[1:] if podset else labels, levels)


# The levels that annotations may name, from the Topologies in the manifests and from the pools

Levels = tuple[str, ...]
"""Node labels, from coarse to fine."""


def level_lists(objects: Iterable[Object], topology: ClusterTopology) -> tuple[Levels, ...]:
    """The lists of levels of all Topologies and pools."""
    pools = [tuple(level.label for level in (*pool.levels, HOST)) for pool in topology.pools]
    return tuple(dict.fromkeys([*(levels_of(each) for each in objects if is_topology(each)), *pools]))


def is_topology(each: Object) -> bool:
    """Whether the object is a Topology of Kueue."""
    return each.data.get("kind") == "Topology" and text(each.data, "apiVersion").startswith("kueue.x-k8s.io/")


def levels_of(topology: Object) -> Levels:
    """The node labels of a Topology."""
    return tuple(text(level, "nodeLabel") for level in items(topology.data, "spec", "levels"))


def is_ordered(labels: Sequence[str], levels: Levels, *, strictly: bool = True) -> bool:
    """Whether all labels are levels, and in the order of the levels."""
    if not set(labels) <= set(levels):
        return False
    places = [levels.index(label) for label in labels]
    return all(a < b or (a == b and not strictly) for a, b in pairwise(places))


# The pod templates of a workload. Kueue makes a podSet of each (Kueue 0.19, `pkg/controller/jobs`)

EVERY = "*"
"""In a path: each entry of a list or mapping."""

JOBS: Path = ("replicatedJobs", EVERY, "template", "spec", "template")
REPLICA_SPECS: tuple[Path, ...] = tuple(
    ("spec", f"{word}ReplicaSpecs", EVERY, "template") for word in ("pytorch", "tf", "xgb", "paddle", "jax", "mpi")
)
"""The paths of pod templates in Kubeflow's kinds."""

TEMPLATE_PATHS: Mapping[str, tuple[Path, ...]] = {
    "Pod": ((),),
    **dict.fromkeys(("Job", "Deployment", "StatefulSet", "ReplicaSet"), (("spec", "template"),)),
    "CronJob": (("spec", "jobTemplate", "spec", "template"),),
    "JobSet": (("spec", *JOBS),),
    "LeaderWorkerSet": tuple(("spec", "leaderWorkerTemplate", f"{word}Template") for word in ("leader", "worker")),
    "TrainJob": (
        ("spec", "runtimePatches", EVERY, "trainingRuntimeSpec", "template", "spec", *JOBS),
        ("spec", "podTemplateOverrides", EVERY),  # Trainer 2.1
    ),
}


class Template(NamedTuple):
    """A pod template, its path in the object, and the number of pods of its podSet if the object has it.

    `job`: the number of pods of each Job of a replicatedJob.
    """

    path: Path
    data: Mapping[str, Any]
    pods: int | None = None
    job: int | None = None

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The annotations, with values of any type."""
        return mapping(self.data, "metadata", "annotations")


def templates(data: Mapping[str, Any]) -> Iterator[Template]:
    """All pod templates of an object; empty for kinds without pods and for unknown kinds, and without a kind (M703)."""
    kind = text(data, "kind")
    for pattern in TEMPLATE_PATHS.get(kind, REPLICA_SPECS if kind and "spec" in data else ()):
        for path in _paths(data, pattern):
            if isinstance(get(data, *path), dict):
                count = amount(data, path)  # each group of a LeaderWorkerSet is a Workload of its own
                pods = count.replicas if kind == "LeaderWorkerSet" else count.total
                pods = pods if path else None  # a bare pod may be one of a group, which is one Workload
                yield Template(path, mapping(data, *path), pods, count.replicas if kind == "JobSet" else None)


def _paths(data: Mapping[str, Any], pattern: Path) -> Iterator[Path]:
    """The paths that match a pattern with `EVERY`."""
    if EVERY not in pattern:
        yield pattern
        return
    depth = pattern.index(EVERY)
    entries = get(data, *pattern[:depth])
    keys = range(len(entries)) if isinstance(entries, list) else entries if isinstance(entries, dict) else ()
    for key in keys:
        yield from _paths(data, (*pattern[:depth], key, *pattern[depth + 1 :]))


RULES: tuple[Rule, ...] = (check_cluster_objects, check_workloads)
