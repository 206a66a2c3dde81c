"""Marks for Kueue: the queue on the workload, and the topology request of each podSet on its pod template.

bayplan writes no objects for Kueue: its controller makes a Workload of every Job, JobSet or group of pods that has a
queue (Kueue 0.14 to 0.19, `pkg/controller/jobs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.kube.kinds import NUMBER_COLUMN, instances
from bayplan.kube.objects import non_empty
from bayplan.model.manifest import Lowered, Marks, Meta, PodParts, Shape, Slot
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, gang_queue
from bayplan.model.target import Target
from bayplan.planning.shape import fold

# Labels and annotations (Kueue 0.14 to 0.19, `topology_types.go`, `constants.go` of controller and pod)

PREFIX = "kueue.x-k8s.io/"

QUEUE = f"{PREFIX}queue-name"
PRIORITY_CLASS = f"{PREFIX}priority-class"

REQUIRED = f"{PREFIX}podset-required-topology"
PREFERRED = f"{PREFIX}podset-preferred-topology"
UNCONSTRAINED = f"{PREFIX}podset-unconstrained-topology"
SLICE_LEVEL = f"{PREFIX}podset-slice-required-topology"
SLICE_SIZE = f"{PREFIX}podset-slice-size"
LAYERS = f"{PREFIX}podset-slice-required-topology-constraints"
POD_SET_GROUP = f"{PREFIX}podset-group-name"
TOPOLOGY_ANNOTATIONS = (REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_LEVEL, SLICE_SIZE, LAYERS, POD_SET_GROUP)

POD_GROUP = f"{PREFIX}pod-group-name"
POD_COUNT = f"{PREFIX}pod-group-total-count"
POD_INDEX = f"{PREFIX}pod-group-pod-index"
RETRIABLE = f"{PREFIX}retriable-in-group"

LAYER_GATE = "TASMultiLayerTopology"
MOST_LAYERS = 3
LEVEL_LENGTH = 63
"""Characters of a level in a workload: `maxLength` of the Workload CRD since v1beta2 (Kueue 0.15)."""


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """No documents; marks for each podSet instance of each workload."""
    requests_of = {gang.name: requests(plan, gang) for gang in plan.gangs}
    marks = {
        (gang.name, pods.name): _marks(plan, gang, pods, requests_of[gang.name][pods.name], workload.kind)
        for workload in shape.workloads
        for gang, pods in instances(workload)
    }
    return Lowered((), marks)


def _marks(plan: Plan, gang: GangPlan, pods: Pods, request: Request, kind: str) -> Marks:
    group = _pod_group(gang) if kind == "pods" else PodParts()
    # A WorkloadPriorityClass orders only the queue. Without one, the class of the pods orders the queue too.
    priority_class = non_empty(**{PRIORITY_CLASS: gang.gang.backends.get("kueue", {}).get("priorityClass", "")})
    return Marks(
        owner=Meta({QUEUE: gang_queue(plan, gang), **priority_class}, spec=non_empty(suspend=kind != "pods")),
        pod=group._replace(annotations={**group.annotations, **topology_annotations(_admitted(request, pods, kind))}),
    )


def _admitted(request: Request, pods: Pods, kind: str) -> Request:
    """The request without what Kueue's webhooks refuse, after the user accepted the loss.

    The Workload of a Job has one podSet, which cannot be in a pair (F616). A slice cannot have more pods than one Job
    of a JobSet (F638).
    """
    if kind == "job":
        return request._replace(pod_set_group="")
    if kind == "jobset":
        return request._replace(layers=tuple(layer for layer in request.layers if layer.size <= pods.replicas))
    return request


def topology_annotations(request: Request) -> dict[str, str]:
    """A podSet's request in Kueue's annotations."""
    return non_empty(
        **{
            REQUIRED: request.required,
            PREFERRED: request.preferred,
            **_slices(request),
            POD_SET_GROUP: request.pod_set_group,
        }
    )


def _slices(request: Request) -> Mapping[str, str]:
    """Annotations of one layer, or a JSON list of several, coarse to fine."""
    if len(request.layers) > 1:
        import json  # most gangs have one layer

        layers = [{"topology": layer.level, "size": layer.size} for layer in request.layers]
        return {LAYERS: json.dumps(layers, separators=(",", ":"))}
    return {
        key: text
        for layer in request.layers
        for key, text in ((SLICE_LEVEL, layer.level), (SLICE_SIZE, str(layer.size)))
    }


def _pod_group(gang: GangPlan) -> PodParts:
    """The bare pods of one gang are one Workload. The index orders them; Kueue does not replace failed pods."""
    labels: dict[str, Any] = {POD_GROUP: gang.name, POD_INDEX: Slot(NUMBER_COLUMN, "text")}
    total = sum(pods.total for pods in all_pods(gang.root))
    return PodParts(labels=labels, annotations={POD_COUNT: str(total), RETRIABLE: "false"})


# The topology request of each podSet: one level for the podSet, and levels for its slices.
#
# Kueue places podSets one by one. A placement over one podSet becomes its level, and placements inside become slices.
# A placement over two podSets needs a pair, one with a single pod (Kueue 0.14 to 0.19, `tas_validation.go`).

PAIR = 2


class Layer(NamedTuple):
    """Slices of so many pods, each of which must share one domain of a level (a node label)."""

    level: str
    size: int


class Request(NamedTuple):
    """The request of one podSet; levels are node labels."""

    required: str = ""
    preferred: str = ""
    layers: tuple[Layer, ...] = ()
    pod_set_group: str = ""  # the name that the two podSets of a pair share


class PodSet(NamedTuple):
    """A podSet as Kueue sees it, with its instances in the plan and the units around each."""

    pods: Pods
    names: tuple[str, ...]
    paths: tuple[tuple[Unit, ...], ...]  # of each instance: the units around it, the gang first

    def placements(self) -> Iterator[tuple[Unit, int]]:
        """Units with a placement from the gang down to the pods, and how many there are of each kind."""
        for rank in zip(*self.paths, strict=True):
            if rank[0].required or rank[0].preferred:
                yield rank[0], len({unit.name for unit in rank})


class PodSets(NamedTuple):
    """The podSets of a gang, and for each unit name those that have pods in it."""

    pod_sets: tuple[PodSet, ...]
    by_unit: Mapping[str, Mapping[str, PodSet]]

    def within(self, unit: Unit) -> tuple[PodSet, ...]:
        """The podSets that have pods in a unit."""
        return tuple(self.by_unit[unit.name].values())

    def expressible(self, pod_set: PodSet) -> Iterator[tuple[Unit, int]]:
        """The placements around a podSet that Kueue can express: over only this podSet, or over a pair."""
        for unit, count in pod_set.placements():
            members = self.within(unit)
            if len(members) == 1 or is_pair(members):
                yield unit, count


def pod_sets_of(gang: GangPlan) -> PodSets:
    """The podSets of a gang that is not folded yet."""
    paths = {pods.name: path for path in _paths(gang.root, ()) for pods in path[-1].pods}
    folded = [(pods, pods.instances or (pods.name,)) for pods in all_pods(fold(gang).root)]
    pod_sets = tuple(PodSet(pods, names, tuple(paths[name] for name in names)) for pods, names in folded)
    by_unit: dict[str, dict[str, PodSet]] = {}
    for pod_set in pod_sets:
        for unit in (unit for path in pod_set.paths for unit in path):
            by_unit.setdefault(unit.name, {})[pod_set.pods.name] = pod_set
    return PodSets(pod_sets, by_unit)


def _paths(unit: Unit, above: tuple[Unit, ...]) -> Iterator[tuple[Unit, ...]]:
    path = (*above, unit)
    yield path
    for units in unit.groups:
        for member in units.members:
            yield from _paths(member, path)


def is_pair(members: Sequence[PodSet]) -> bool:
    """Whether Kueue can keep two podSets together: one has one pod, none has slices, and both use one flavor.

    The units around them are the same, and there is one of each.
    """
    if len(members) != PAIR or all(pod_set.pods.total > 1 for pod_set in members):
        return False
    first, second = ([(unit.name, count) for unit, count in pod_set.placements()] for pod_set in members)
    same = first == second and all(count == 1 for _, count in first)
    return same and members[0].pods.pool == members[1].pods.pool


def requests(plan: Plan, gang: GangPlan) -> Mapping[str, Request]:
    """Name of a podSet instance -> the request of its podSet."""
    pod_sets = pod_sets_of(gang)
    pairs = ((pod_set, _pod_set_request(plan, gang, pod_set, pod_sets)) for pod_set in pod_sets.pod_sets)
    return {name: request for pod_set, request in pairs for name in (pod_set.pods.name, *pod_set.names)}


def _pod_set_request(plan: Plan, gang: GangPlan, pod_set: PodSet, pod_sets: PodSets) -> Request:
    placements = list(pod_sets.expressible(pod_set))
    if not placements:
        return Request()
    members = pod_sets.within(placements[-1][0])
    if len(members) == PAIR:  # the innermost placement implies the outer ones
        unit = next((unit for unit, _ in reversed(placements) if unit.required), placements[-1][0])
        return _top_level(plan, pod_set, unit)._replace(pod_set_group=f"{gang.name}-{members[0].pods.name}")
    outer, inner = levels(plan, pod_set, placements)
    top = _top_level(plan, pod_set, outer) if outer else Request()
    total = pod_set.pods.total
    return top._replace(layers=tuple(Layer(_label(plan, pod_set, unit.required), total // n) for unit, n in inner))


Placed = tuple[Unit, int]


def levels(plan: Plan, pod_set: PodSet, placements: Sequence[Placed]) -> tuple[Unit | None, tuple[Placed, ...]]:
    """The unit whose level the podSet requests, and the units that become layers of slices.

    Kueue refuses a level that is not finer than the one around it (`tas_flavor_snapshot.go`, buildSliceSizeAtLevel).
    Inside a unit that requires the same level it adds nothing.
    """
    outer = placements[0][0] if placements[0][1] == 1 else None
    if outer and prefers_below(plan, pod_set, placements):
        outer = None
    nearest, layers = outer.required if outer else "", []
    for unit, count in placements:
        if unit is not outer and unit.required and unit.required != nearest:
            nearest = unit.required
            layers.append((unit, count))
    return outer, tuple(layers)


def prefers_below(plan: Plan, pod_set: PodSet, placements: Sequence[Placed]) -> bool:
    """Whether the outermost unit prefers a finer level than its groups require, which Kueue never admits.

    The slices must not be above the level of the podSet (`tas_flavor_snapshot.go`, findTopologyAssignment).
    """
    pool, outer = plan.topology.pool(pod_set.pods.pool), placements[0][0]
    required = next((unit.required for unit, _ in placements if unit.required), "")
    return bool(pool and required and not outer.required and pool.depth(outer.preferred) > pool.depth(required))


def _top_level(plan: Plan, pod_set: PodSet, unit: Unit) -> Request:
    """A required level; Kueue refuses a preferred one beside it."""
    if unit.required:
        return Request(required=_label(plan, pod_set, unit.required))
    return Request(preferred=_label(plan, pod_set, unit.preferred))


def _label(plan: Plan, pod_set: PodSet, level: str) -> str:
    return plan.topology.level_label(pod_set.pods.pool, level)
