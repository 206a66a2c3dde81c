"""Workloads that others wrote for Kueue: where labels and annotations stand, and what holds between pod templates.

Kueue's webhooks refuse most of these (0.14 to 0.19, `tas_validation.go`); what concerns the order of levels, only the
scheduler sees, and the workload waits (`tas_flavor_snapshot.go`). An annotation that Kueue does not know it ignores.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

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
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, items, mapping, number_in, text
from bayplan.linting.objects import LintContext
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import HOST, ClusterTopology

EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
ANNOTATIONS: Route = ("metadata", "annotations")
LABELS: Route = ("metadata", "labels")


def check_workloads(context: LintContext) -> Iterator[Diagnostic]:
    """Everything that is wrong with the workloads among the objects."""
    objects, topology, target = context.objects, context.topology, context.target
    lists = level_lists(objects, topology)
    gates: dict[str, bool] = dict(topology.gates("kueue"))
    queues = _queues(objects, topology)
    for each in objects:
        found = templates(each.data)
        for template in found:
            route = (*each.route, *template.path, *ANNOTATIONS)
            yield from check_template(TemplateContext(route, template, lists, target, gates))
        yield from _misplaced_annotations(each, found, target)
        yield from _queue(each, found, queues)
        yield from _exclusive_topology(each, found)
        yield from _pod_set_groups(each, found)
        yield from _pod_group(each)
        yield from _too_many_pod_sets(each, found, target)


def _queues(objects: Sequence[Object], topology: ClusterTopology) -> tuple[str, ...] | None:
    """The queues that exist, where the manifests or the topology say so."""
    written = [text(each.data, "metadata", "name") for each in objects if each.data.get("kind") == "LocalQueue"]
    if topology.queues is None and not written:
        return None
    return tuple(dict.fromkeys([*written, *(topology.queues or ())]))


def _asks_for_topology(template: Template) -> bool:
    return any(key in template.annotations for key in TOPOLOGY_ANNOTATIONS)


def _misplaced_annotations(each: Object, found: Sequence[Template], target: Target) -> Iterator[Diagnostic]:
    """M752, M753: marks that stand where Kueue does not look."""
    if not found:
        return
    own = mapping(each.data, *ANNOTATIONS) if found[0].path else {}
    for key in (key for key in TOPOLOGY_ANNOTATIONS if key in own):
        message = f'"{key}" stands on the {each.data["kind"]}; Kueue reads it on the pod template only'
        yield error("M752", (*each.route, *ANNOTATIONS, key, KEY), message, hint="move it to the pod template")
    for template in found:
        for key in (key for key in TOPOLOGY_ANNOTATIONS if key in mapping(template.data, *LABELS)):
            message = f'"{key}" is an annotation, not a label'
            yield error("M752", (*each.route, *template.path, *LABELS, key, KEY), message)
    yield from _misplaced_queue(each, found, target)


def _misplaced_queue(each: Object, found: Sequence[Template], target: Target) -> Iterator[Diagnostic]:
    on = f"the {each.data['kind']}"
    if QUEUE in mapping(each.data, *ANNOTATIONS):
        old = not target.since("kueue", "0.15")
        gone = "Kueue 0.15 reads it no more" if old else "Kueue reads the label only since 0.15"
        report = warning if old or QUEUE in mapping(each.data, *LABELS) else error
        message = f'"{QUEUE}" is an annotation of {on}; {gone}'
        yield report("M753", (*each.route, *ANNOTATIONS, QUEUE, KEY), message, hint="make it a label")
    if QUEUE in mapping(each.data, *LABELS):
        return
    for template in found:
        if template.path and QUEUE in mapping(template.data, *LABELS):
            message = f'"{QUEUE}" stands on the pod template; Kueue would take every pod by itself, not {on}'
            route = (*each.route, *template.path, *LABELS, QUEUE, KEY)
            yield error("M753", route, message, hint=f"move it to the labels of {on}")


def _queue(each: Object, found: Sequence[Template], queues: tuple[str, ...] | None) -> Iterator[Diagnostic]:
    """M753: placed work that Kueue does not manage. M747: a queue that is not there."""
    labels = mapping(each.data, *LABELS)
    marked = next((template for template in found if _asks_for_topology(template)), None)
    misplaced = QUEUE in mapping(each.data, *ANNOTATIONS) or any(QUEUE in mapping(t.data, *LABELS) for t in found)
    if marked and QUEUE not in labels and not misplaced:
        message = f'annotations of Kueue without the label "{QUEUE}": Kueue leaves such work alone'
        hint = "unless its namespace has a LocalQueue called default; name the queue"
        yield warning("M753", (*each.route, *marked.path, *ANNOTATIONS), message, hint=hint)
    name = labels.get(QUEUE)
    if found and isinstance(name, str) and queues is not None and name not in queues:
        message = f'there is no queue "{name}"'
        yield error("M747", (*each.route, *LABELS, QUEUE), message, hint=suggest(name, queues, "queues"))


def _exclusive_topology(each: Object, found: Sequence[Template]) -> Iterator[Diagnostic]:
    """M755: JobSet would pin each of its Jobs to a domain of its own choice, against Kueue's."""
    if each.data.get("kind") != "JobSet" or not any(map(_asks_for_topology, found)):
        return
    jobs = range(len(items(each.data, "spec", "replicatedJobs")))
    places: list[Route] = [ANNOTATIONS, *(("spec", "replicatedJobs", n, "template", *ANNOTATIONS) for n in jobs)]
    for place in (place for place in places if EXCLUSIVE in mapping(each.data, *place)):
        message = f'"{EXCLUSIVE}" fights with the placement that Kueue chooses: no pod may ever fit both'
        yield error("M755", (*each.route, *place, EXCLUSIVE, KEY), message, hint="leave one of them out")


def _pod_set_groups(each: Object, found: Sequence[Template]) -> Iterator[Diagnostic]:
    """M756: two podSets that share a domain, one of them of one pod (`tas_validation.go`)."""
    groups: dict[str, list[Template]] = {}
    for template in found:
        name = template.annotations.get(POD_SET_GROUP)
        if isinstance(name, str):
            groups.setdefault(name, []).append(template)
    for name, members in groups.items():
        for fault in (*_group_faults(name, members, each.data.get("kind")), *_slices_in_group(members)):
            yield error("M756", (*each.route, *members[0].path, *ANNOTATIONS, POD_SET_GROUP), fault)


def _group_faults(name: str, members: Sequence[Template], kind: Any) -> Iterator[str]:
    if name.isdigit():
        yield f'the name of a group of podSets is no number, as "{name}" is'
    if len(members) != 2:
        yield f'group "{name}" has {len(members)} podSets; Kueue takes groups of exactly 2'
        return
    counts = [member.pods for member in members]
    if None not in counts and 1 not in counts:
        yield f'one of the 2 podSets in group "{name}" must have one pod; they have {counts[0]} and {counts[1]}'
    levels = [[member.annotations.get(key) for key in (REQUIRED, PREFERRED)] for member in members]
    if levels[0] != levels[1]:
        yield f'the podSets of group "{name}" ask for different levels'


def _slices_in_group(members: Sequence[Template]) -> Iterator[str]:
    sliced = (SLICE_LEVEL, SLICE_SIZE, LAYERS)
    if clash := [key for key in sliced if any(key in member.annotations for member in members)]:
        yield f"podSets in a group have no slices, so {listing(clash, 'and')} must go"
    if not all({REQUIRED, PREFERRED} & set(member.annotations) for member in members):
        yield "podSets in a group need a required or a preferred level"


def _pod_group(each: Object) -> Iterator[Diagnostic]:
    """M757: a bare pod's group needs a name and a count, both (`pod_webhook.go`)."""
    if each.data.get("kind") != "Pod":
        return
    named, counted = POD_GROUP in mapping(each.data, *LABELS), POD_COUNT in mapping(each.data, *ANNOTATIONS)
    if POD_GROUP in mapping(each.data, *ANNOTATIONS):
        return
    if named and not counted:
        message = f'the label "{POD_GROUP}" without the annotation "{POD_COUNT}"'
        yield error("M757", (*each.route, *LABELS, POD_GROUP, KEY), message, hint="Kueue refuses such a pod")
    if counted and not named:
        message = f'the annotation "{POD_COUNT}" without the label "{POD_GROUP}"'
        yield error("M757", (*each.route, *ANNOTATIONS, POD_COUNT, KEY), message, hint="Kueue refuses such a pod")
    count = get(each.data, *ANNOTATIONS, POD_COUNT)
    if counted and not (isinstance(count, str) and count.isascii() and count.isdigit() and int(count) > 0):
        yield error("M757", (*each.route, *ANNOTATIONS, POD_COUNT), "the count of a pod group is a number in quotes")


def _too_many_pod_sets(each: Object, found: Sequence[Template], target: Target) -> Iterator[Diagnostic]:
    """M758: a Workload holds 8 podSets, 10 since 0.18, 18 since 0.19 (`workload_types.go`)."""
    most = 18 if target.since("kueue", "0.19") else 10 if target.since("kueue", "0.18") else 8
    if len(found) > most and QUEUE in mapping(each.data, *LABELS):
        version = target.version("kueue")
        message = f"{len(found)} pod templates; a Workload of Kueue {version} has {most} podSets at most"
        yield error("M758", (*each.route, "spec"), message, hint="merge equal ones into one of more replicas")


# Annotations that ask for a topology, on one pod template


class TemplateContext(NamedTuple):
    """One template with all that its annotations are compared with."""

    route: Route  # of the annotations
    template: Template
    level_lists: tuple[Levels, ...]
    target: Target
    gates: dict[str, bool]

    @property
    def own(self) -> dict[str, str]:
        """Those annotations that ask for a topology and are text."""
        found = self.template.annotations
        return {key: found[key] for key in TOPOLOGY_ANNOTATIONS if isinstance(found.get(key), str)}

    def at(self, key: str) -> Route:
        """Where one annotation stands."""
        return (*self.route, key)


def check_template(context: TemplateContext) -> Iterator[Diagnostic]:
    """Everything that is wrong with the annotations of one template."""
    yield from _unknown_annotations(context)
    yield from _one_kind_of_level(context)
    yield from _slices(context)
    yield from _nested_slices(context)
    yield from _unknown_levels(context)


def _unknown_annotations(context: TemplateContext) -> Iterator[Diagnostic]:
    """M759: a name that Kueue does not know, or a value that is no text."""
    for key, value in context.template.annotations.items():
        if not (isinstance(key, str) and key.startswith(f"{PREFIX}podset-")):
            continue
        if key not in TOPOLOGY_ANNOTATIONS:
            hint = did_you_mean(key, TOPOLOGY_ANNOTATIONS) or f"Kueue knows {listing(TOPOLOGY_ANNOTATIONS, 'and')}"
            yield error("M759", (*context.at(key), KEY), f'Kueue does not know the annotation "{key}"', hint=hint)
        elif not isinstance(value, str) and key != SLICE_SIZE:
            yield error(
                "M759", context.at(key), f'the value of "{key}" is no text', hint="annotations are text: quote it"
            )


def _one_kind_of_level(context: TemplateContext) -> Iterator[Diagnostic]:
    """M749: required, preferred and unconstrained exclude each other."""
    given = [key for key in (REQUIRED, PREFERRED, UNCONSTRAINED) if key in context.template.annotations]
    if len(given) > 1:
        message = f"Kueue refuses {listing(given, 'and')} on one pod template: they exclude each other"
        hint = "keep the required level; Kueue packs below it as tightly as it can"
        yield error("M749", context.at(given[1]), message, hint=hint)


def _slices(context: TemplateContext) -> Iterator[Diagnostic]:
    """M750: slices need a level and a size that divides the pods."""
    found = context.template.annotations
    if SLICE_LEVEL in found and SLICE_SIZE not in found:
        message, hint = f'"{SLICE_LEVEL}" without "{SLICE_SIZE}"', "say how many pods a slice has; there is no default"
        yield error("M750", context.at(SLICE_LEVEL), message, hint=hint)
    if SLICE_SIZE in found and SLICE_LEVEL not in found:
        message, hint = f'"{SLICE_SIZE}" without "{SLICE_LEVEL}"', "name the level that each slice must share"
        yield error("M750", context.at(SLICE_SIZE), message, hint=hint)
    if SLICE_SIZE in found and (fault := _size_fault(found[SLICE_SIZE], context.template.pods)):
        yield error("M750", context.at(SLICE_SIZE), *fault[:1], hint=fault[1])


def _size_fault(value: Any, pods: int | None) -> tuple[str, str] | None:
    """What is wrong with a slice size, and what to do."""
    if not isinstance(value, str):
        return "the slice size is no text, and Kubernetes takes only text in annotations", f'write "{value}" in quotes'
    if not value.isascii() or not value.removeprefix("-").isdigit() or int(value) < 1:
        return f'the slice size "{value}" is no number from 1 on', "write the pods of one slice, in quotes"
    return _division(int(value), pods)


def _division(size: int, pods: int | None) -> tuple[str, str] | None:
    if pods and size > pods:
        return f"a slice of {size} pods is larger than the podSet of {count(pods, 'pod')}", "Kueue refuses it"
    if pods and pods % size:
        left = "Kueue takes it and places the rest of the pods as if there were no slices"
        return f"slices of {size} pods do not divide the {count(pods, 'pod')} of the podSet", left
    return None


def _nested_slices(context: TemplateContext) -> Iterator[Diagnostic]:
    """M751: nested slices are a JSON list of levels and sizes, since 0.17 behind a gate, since 0.19 on by default."""
    value = context.own.get(LAYERS)
    if value is None:
        return
    version = context.target.version("kueue")
    if not context.target.since("kueue", "0.17"):
        yield error("M751", (*context.at(LAYERS), KEY), f"Kueue {version} does not read nested slices; 0.17 does")
    elif not context.gates.get(LAYER_GATE, context.target.since("kueue", "0.19")):
        message = f"Kueue {version} refuses nested slices unless the feature gate {LAYER_GATE} is on"
        hint = "switch it on, and say so in the topology's `schedulers: {kueue: {featureGates}}`"
        yield error("M751", (*context.at(LAYERS), KEY), message, hint=hint)
    both = [key for key in (SLICE_LEVEL, SLICE_SIZE) if key in context.template.annotations]
    if both:
        yield error("M751", (*context.at(LAYERS), KEY), f"nested slices exclude {listing(both, 'and')}")
    if fault := _layer_fault(value, context.template.pods):
        hint = 'write \'[{"topology": "example.com/spine", "size": 16}, {"topology": "example.com/rack", "size": 8}]\''
        yield error("M751", context.at(LAYERS), fault, hint=hint)


def _layer_fault(value: str, pods: int | None) -> str:
    """What Kueue refuses in the JSON."""
    layers = parse_layers(value)
    if layers is None:
        return "nested slices are a JSON list of objects with `topology` and `size`, the size a number"
    if not 1 <= len(layers) <= MOST_LAYERS:
        return f"nested slices have 1 to {MOST_LAYERS} layers, here there are {len(layers)}"
    sizes = [size for _, size in layers]
    if min(sizes) < 1:
        return "the size of a slice is a number from 1 on"
    if fault := _division(sizes[0], pods):
        return fault[0]
    uneven = next(((outer, inner) for outer, inner in pairwise(sizes) if outer % inner), None)
    return f"slices of {uneven[1]} pods do not divide slices of {uneven[0]}" if uneven else ""


def parse_layers(value: str) -> list[tuple[str, int]] | None:
    """The levels and sizes in the annotation; None when it is none that Kueue can read."""
    try:
        layers = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(layers, list):
        return None
    found = [(text(each, "topology"), number_in(each, "size")) for each in layers]
    whole = [(level, size) for level, size in found if level and size is not None]
    return whole if len(whole) == len(layers) else None


def _unknown_levels(context: TemplateContext) -> Iterator[Diagnostic]:
    """M754: levels that no Topology has, or in the wrong order. M744: levels that are too long for a workload."""
    named = _named_levels(context)
    known = {label for levels in context.level_lists for label in levels}
    for key, label in named:
        if len(label) > LEVEL_LENGTH and context.target.since("kueue", "0.15"):
            message = f'"{label}" has {len(label)} characters; a Workload takes levels of {LEVEL_LENGTH} at most'
            yield error("M744", context.at(key), message)
        if known and label not in known:
            message = f'no level has the node label "{label}", so the workload would wait for ever'
            yield error("M754", context.at(key), message, hint=suggest(label, sorted(known), "levels"))
    labels = [label for _, label in named]
    if len(labels) < 2 or not known or not set(labels) <= known:
        return
    if not any(_coarse_to_fine(context, labels, levels) for levels in context.level_lists):
        message = f"Kueue wants the levels from coarse to fine, and {listing(labels, 'and')} are not"
        yield error("M754", context.at(named[-1][0]), message, hint="a slice's level is below that of its podSet")


def _named_levels(context: TemplateContext) -> list[tuple[str, str]]:
    """The levels that are named, outermost first, each with its annotation."""
    outer = [(key, context.own[key]) for key in (REQUIRED, PREFERRED) if key in context.own][:1]
    inner = [(SLICE_LEVEL, context.own[SLICE_LEVEL])] if SLICE_LEVEL in context.own else []
    layers = [(LAYERS, level) for level, _ in parse_layers(context.own.get(LAYERS, "")) or ()]
    return [*outer, *inner, *layers]


def _coarse_to_fine(context: TemplateContext, labels: list[str], levels: Levels) -> bool:
    """The podSet's level may be the slices' too; layers must differ."""
    podset = bool({REQUIRED, PREFERRED} & set(context.own))
    if podset and not is_ordered(labels[:2], levels, strictly=False):
        return False
    return is_ordered(labels[1:] if podset else labels, levels)


# The lists of levels that annotations may name: of Topologies among the manifests, and of the pools

Levels = tuple[str, ...]
"""Node labels, coarse to fine."""


def level_lists(objects: Iterable[Object], topology: ClusterTopology) -> tuple[Levels, ...]:
    """Every list of levels there is."""
    pools = [tuple(level.label for level in (*pool.levels, HOST)) for pool in topology.pools]
    return tuple(dict.fromkeys([*(levels_of(each) for each in objects if is_topology(each)), *pools]))


def is_topology(each: Object) -> bool:
    """Whether the object is Kueue's Topology."""
    return each.data.get("kind") == "Topology" and text(each.data, "apiVersion").startswith("kueue.x-k8s.io/")


def levels_of(topology: Object) -> Levels:
    """The node labels of a Topology."""
    return tuple(text(level, "nodeLabel") for level in items(topology.data, "spec", "levels"))


def is_ordered(labels: Sequence[str], levels: Levels, *, strictly: bool = True) -> bool:
    """Whether the labels stand in the ladder from coarse to fine."""
    if not set(labels) <= set(levels):
        return False
    places = [levels.index(label) for label in labels]
    return all(a < b or (a == b and not strictly) for a, b in pairwise(places))


# The pod templates in a workload: Kueue makes one podSet of each (Kueue 0.19, `pkg/controller/jobs`)

REPLICA_SPECS = ("pytorch", "tf", "xgb", "paddle", "jax", "mpi")
"""Kubeflow's kinds keep their templates in `spec.<word>ReplicaSpecs.<role>`."""


class Template(NamedTuple):
    """A pod template: its path in the object, and how many pods the podSet has, where the object says it."""

    path: Route
    data: Mapping[str, Any]
    pods: int | None = None

    @property
    def annotations(self) -> Mapping[str, Any]:
        """Its annotations, whatever their values are."""
        return mapping(self.data, "metadata", "annotations")


def templates(data: Mapping[str, Any]) -> list[Template]:
    """All pod templates of an object; none of kinds that have no pods, or that are not known."""
    kind = text(data, "kind")
    if kind in READERS:
        return list(READERS[kind](data))
    return [each for word in REPLICA_SPECS for each in _replica_specs(data, f"{word}ReplicaSpecs")]


def _template_at(data: Mapping[str, Any], path: Route, count: int | None) -> Iterator[Template]:
    if isinstance(get(data, *path), dict):
        yield Template(path, mapping(data, *path), count)


def _job(data: Mapping[str, Any]) -> Iterator[Template]:
    yield from _template_at(data, ("spec", "template"), _parallel_pods(mapping(data, "spec")))


def _parallel_pods(spec: Mapping[str, Any]) -> int:
    """Pods of a Job that run at once."""
    parallelism, completions = number_in(spec, "parallelism"), number_in(spec, "completions")
    given = [each for each in (parallelism, completions) if each is not None]
    return min(given) if given else 1


def _cron_job(data: Mapping[str, Any]) -> Iterator[Template]:
    path = ("spec", "jobTemplate", "spec")
    yield from _template_at(data, (*path, "template"), _parallel_pods(mapping(data, *path)))


def _job_set(data: Mapping[str, Any]) -> Iterator[Template]:
    for index, job in enumerate(items(data, "spec", "replicatedJobs")):
        replicas = number_in(job, "replicas")
        pods = (1 if replicas is None else replicas) * _parallel_pods(mapping(job, "template", "spec"))
        yield from _template_at(data, ("spec", "replicatedJobs", index, "template", "spec", "template"), pods)


def _pod(data: Mapping[str, Any]) -> Iterator[Template]:
    yield Template((), data)


def _replicas(data: Mapping[str, Any]) -> Iterator[Template]:
    yield from _template_at(data, ("spec", "template"), number_in(data, "spec", "replicas"))


def _leader_worker_set(data: Mapping[str, Any]) -> Iterator[Template]:
    path = ("spec", "leaderWorkerTemplate")
    size = number_in(data, *path, "size") or 1
    yield from _template_at(data, (*path, "leaderTemplate"), 1)
    led = isinstance(get(data, *path, "leaderTemplate"), dict)
    yield from _template_at(data, (*path, "workerTemplate"), size - led)


def _replica_specs(data: Mapping[str, Any], word: str) -> Iterator[Template]:
    for role, spec in mapping(data, "spec", word).items():
        yield from _template_at(data, ("spec", word, role, "template"), number_in(spec, "replicas"))


def _train_job(data: Mapping[str, Any]) -> Iterator[Template]:
    for i, patch in enumerate(items(data, "spec", "runtimePatches")):
        jobs = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        for j, _ in enumerate(items(patch, *jobs)):
            yield from _template_at(data, ("spec", "runtimePatches", i, *jobs, j, "template", "spec", "template"), None)


READERS = {
    "Job": _job,
    "CronJob": _cron_job,
    "JobSet": _job_set,
    "Pod": _pod,
    "Deployment": _replicas,
    "StatefulSet": _replicas,
    "ReplicaSet": _replicas,
    "LeaderWorkerSet": _leader_worker_set,
    "TrainJob": _train_job,
}
